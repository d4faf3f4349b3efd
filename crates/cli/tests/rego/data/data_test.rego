package limits_test

test_data_of_the_folder {
	data.team == "storage"
	data.limits.memory == 2
}

test_data_below_the_folder {
	data.limits.cpu == 4
	data.lists[1] == "b"
}

test_objects_are_no_data {
	not data.objects
}
