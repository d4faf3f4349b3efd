# The rules of the scan phase that the settings stand for; custom rules may use and extend every one of them.
#
# One rule a paragraph, since a paragraph is what is left out where nothing uses its rule. The comments on top of this
# file explain; comments below cost time at every request, and there are few.
#
# They are evaluated for one image at a time, `input.ScanReport.ImageAndTag`. `ns` is true where a namespace's settings
# decide, and false where those of the top level do; `prefix` is null where no custom policy decides.
package imageadmission

policies := data.policies

namespace = ns {
	ns := input.AdmissionRequest.object.metadata.namespace
	is_string(ns)
	ns != ""
} else = ns {
	ns := input.AdmissionRequest.namespace
	is_string(ns)
} else = "" {
	true
}

namespace_str(ns) = text {
	ns == true
	text := sprintf("Namespace '%s'", [namespace])
} else = "Global" {
	true
}

policy_str(prefix) = text {
	prefix != null
	text := sprintf("custom policy (prefix '%s')", [prefix])
} else = "default policy" {
	true
}

scope_str(ns, prefix) = text {
	text := concat(" ", [namespace_str(ns), policy_str(prefix)])
}

first_matching_custom_policy(list, image) = first {
	matching := [entry | entry := list[_]; image_has_prefix(image, entry.prefix, object.get(entry, "action", null))]
	first := matching[0]
}

custom_image_policy(image) = policy {
	entry := first_matching_custom_policy(policies.byNamespace[namespace].customPolicies, image)
	policy := {"ns": true, "prefix": entry.prefix, "action": object.get(entry, "action", "<empty>")}
} else = policy {
	not policies.byNamespace[namespace].customPolicies
	entry := first_matching_custom_policy(policies.customPolicies, image)
	policy := {"ns": false, "prefix": entry.prefix, "action": object.get(entry, "action", "<empty>")}
}

default_image_policy(image) = policy {
	policy := {"ns": true, "prefix": null, "action": policies.byNamespace[namespace].defaultPolicy}
} else = policy {
	policy := {"ns": false, "prefix": null, "action": policies.defaultPolicy}
}

final_image_policy(image) = policy {
	policy := custom_image_policy(image)
} else = policy {
	policy := default_image_policy(image)
}

image := input.ScanReport.ImageAndTag

imagePolicy := final_image_policy(image)

report_pending_action = action {
	action := policies.byNamespace[namespace].reportPending
} else = action {
	action := policies.reportPending
} else = "reject" {
	true
}

scan_failed_action = "reject" {
	input.ScanReport.Forgivable == false
} else = action {
	value := policies.byNamespace[namespace].scanFailed
	forgiving := {true: "accept", false: "reject"}[object.get(input.ScanReport, "Outage", true)]
	action := object.get({"accept-outages": forgiving}, value, value)
} else = action {
	value := policies.scanFailed
	forgiving := {true: "accept", false: "reject"}[object.get(input.ScanReport, "Outage", true)]
	action := object.get({"accept-outages": forgiving}, value, value)
} else = "reject" {
	true
}

valid_policy_value[value] {
	value := ["accept", "reject", "scan-result"][_]
}

config_error["AdmissionRequest is missing in input"] {
	not input.AdmissionRequest
}

config_error["AdmissionRequest is missing in input"] {
	not is_object(input.AdmissionRequest)
}

config_error["Invalid value for defaultPolicy - '<empty>'"] {
	not policies.defaultPolicy
}

config_error[msg] {
	not valid_policy_value[policies.defaultPolicy]
	msg := sprintf("Invalid value for defaultPolicy - '%s'", [policies.defaultPolicy])
}

config_error[msg] {
	value := policies.byNamespace[namespace].defaultPolicy
	not valid_policy_value[value]
	msg := sprintf("Invalid value for defaultPolicy for namespace '%s' - '%s'", [namespace, value])
}

config_error[msg] {
	imagePolicy.prefix != null
	not valid_policy_value[imagePolicy.action]
	list := {true: sprintf("namespace '%s' customPolicy", [namespace]), false: "customPolicy"}[imagePolicy.ns]
	msg := sprintf("Invalid value for %s with prefix '%s' - '%s'", [list, imagePolicy.prefix, imagePolicy.action])
}

config_error["ScanReport is missing in input"] {
	not image
}

config_error["ScanReport is missing in input"] {
	not is_string(image)
}

config_error[msg] {
	key := ["reportPending", "scanFailed"][_]
	value := policies[key]
	not {"reportPending": {"accept", "reject"}, "scanFailed": {"accept", "accept-outages", "reject"}}[key][value]
	msg := sprintf("Invalid value for %s - '%s'", [key, value])
}

config_error[msg] {
	key := ["reportPending", "scanFailed"][_]
	value := policies.byNamespace[namespace][key]
	not {"reportPending": {"accept", "reject"}, "scanFailed": {"accept", "accept-outages", "reject"}}[key][value]
	msg := sprintf("Invalid value for %s for namespace '%s' - '%s'", [key, namespace, value])
}

scan_result_rejected {
	input.ScanReport.Status == "rejected"
}

scan_result_failed {
	input.ScanReport.Status == "scan_failed"
}

scan_result_not_available {
	input.ScanReport.Status == "report_not_available"
}

image_action_scan_result[[imagePolicy.ns, imagePolicy.prefix]] {
	imagePolicy.action == "scan-result"
}

image_action_reject[[imagePolicy.ns, imagePolicy.prefix]] {
	imagePolicy.action == "reject"
}

deny_image_reason[[ns, prefix, "policy action is 'reject'"]] {
	[ns, prefix] := image_action_reject[_]
}

deny_image_reason[[ns, prefix, "scan result is 'reject'"]] {
	[ns, prefix] := image_action_scan_result[_]
	scan_result_rejected
}

deny_image_reason[[ns, prefix, "scan report is pending"]] {
	[ns, prefix] := image_action_scan_result[_]
	scan_result_not_available
	report_pending_action == "reject"
}

deny_image_reason[[ns, prefix, "scan failed"]] {
	[ns, prefix] := image_action_scan_result[_]
	scan_result_failed
	scan_failed_action == "reject"
}

deny_image_reason[[ns, prefix, reason]] {
	[ns, prefix] := image_action_scan_result[_]
	status := object.get(input.ScanReport, "Status", "<empty>")
	not {"accepted", "rejected", "report_not_available", "scan_failed"}[status]
	reason := sprintf("unexpected ScanReport.Status value '%s'", [status])
}

deny_image[msg] {
	msg := config_error[_]
}

deny_image[msg] {
	[ns, prefix, reason] := deny_image_reason[_]
	msg := sprintf("Image '%s' REJECTED. %s - %s", [image, scope_str(ns, prefix), reason])
}
