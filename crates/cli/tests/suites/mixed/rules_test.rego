package mixed

test_x { data.mixed.limit == 3 }
