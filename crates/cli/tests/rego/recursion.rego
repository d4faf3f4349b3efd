package recursion

test_a {
	b
}

b {
	test_a
}
