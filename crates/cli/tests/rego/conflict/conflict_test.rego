package conflict

test_x {
	true
}
