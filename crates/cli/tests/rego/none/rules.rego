package none

allow {
	true
}
