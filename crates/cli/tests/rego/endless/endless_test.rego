package endless

test_endless {
	numbers := numbers.range(1, 3000)
	count([1 | numbers[_] + numbers[_] == 0]) == 0
}

test_after_it {
	true
}
