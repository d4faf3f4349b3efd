package kubernetes.test_admission

import data.kubernetes.admission

test_image_safety {
	unsafe_image := {"request": {
		"kind": {"kind": "Pod"},
		"object": {"spec": {"containers": [
			{"name": "proxy", "image": "registry.example.com/proxy:2"},
			{"name": "shell", "image": "busybox"},
		]}},
	}}
	count(admission.deny) == 1 with input as unsafe_image
}

test_exceptions_are_trusted {
	pod := {"request": {
		"kind": {"kind": "Pod"},
		"object": {"spec": {"containers": [{"name": "shell", "image": "busybox"}]}},
	}}
	count(admission.deny) == 0 with input as pod with data.exceptions as {"busybox": true}
}

test_other_kinds_are_not_judged {
	count(admission.deny) == 0 with input as {"request": {"kind": {"kind": "Service"}}}
}
