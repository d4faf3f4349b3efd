package duplicates["1.0"]

test_same {
	false
}

test_same {
	true
}
