package untouched

default allow = false

allow {
	input.user == "admin"
}
