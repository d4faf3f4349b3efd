package mocks

allowed(user) {
	lookup(user) == "admin"
}

lookup(user) = role {
	role := data.roles[user]
}

always_admin(_) = "admin"

test_own_function {
	allowed("joe") with data.mocks.lookup as always_admin
}

test_function_by_value {
	not allowed("joe") with data.mocks.lookup as "guest"
}

test_builtin_function {
	split("a.b", ".") == ["mocked"] with split as mock_split
}

mock_split(_, _) = ["mocked"]

test_data {
	allowed("joe") with data.roles as {"joe": "admin"}
	allowed("eve") with data.roles.eve as "admin"
}

test_nothing_is_left_behind {
	not allowed("joe")
	not input
}
