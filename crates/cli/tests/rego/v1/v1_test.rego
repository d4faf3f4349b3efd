package v1_test

deny contains "always" if true

test_deny if {
	"always" in deny
}
