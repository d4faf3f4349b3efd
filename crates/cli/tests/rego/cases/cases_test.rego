package cases

import data.cases.limits
import rego.v1

limit := limits.most["the limit"]

# Every case holds.
test_all[name] if {
	some name, given in {"one": 1, "two": 2}
	given < limit
}

# One doesn't, and that is no case which there isn't.
test_some[given.note] if {
	some given in [{"note": "small", "n": 1}, {"note": "large", "n": 20}]
	given.n < limit
}

# Cases in groups; none of one group holds.
test_groups[group][name] if {
	some group, cases in {"names": {"a": "a", "b": "B"}, "numbers": {"one": 1}}
	some name, given in cases
	given == lower(name)
}

# A name that is known only after it has been used.
test_late[name] if {
	some i
	text := ["a", "b"][i]
	name := sprintf("case %s", [text])
	text == "a"
}

# No case at all, as `opa` has it.
test_none[name] if {
	some name, given in {}
	given < limit
}
