package failing

test_that_passes {
	1 + 1 == 2
}

test_that_is_undefined {
	numbers := [1, 2, 3]
	print("there are", count(numbers), "numbers")
	some i
	numbers[i] > 5
	i == 0
}

test_that_is_false = false {
	true
}

test_that_is_no_boolean[x] {
	x := 1
}

test_that_goes_wrong {
	count("a", "b", "c") == 1
}

test_in_conflict {
	value
}

value = 1 {
	true
}

value = 2 {
	true
}

todo_test_later {
	false
}

not_a_test {
	true
}

test_function(x) = x {
	true
}
