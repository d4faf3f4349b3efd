package fresh

test_this_must_fail if { 1 == 2 }
