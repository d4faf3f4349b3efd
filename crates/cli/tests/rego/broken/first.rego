package broken

deny[msg] {
	msg := sprintf("%v" ["a"])
}
