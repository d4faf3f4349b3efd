package imported_test

import rego.v1

test_keywords if {
	every number in [1, 2] { number > 0 }
}
