package uncovered

test_high {
	level == "high" with input as {"score": 9}
}
