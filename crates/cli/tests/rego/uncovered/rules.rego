package uncovered

level = "high" {
	input.score > 7
}

level = "low" {
	input.score <= 7
}
