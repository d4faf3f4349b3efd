# The rules of pre-scan that the settings stand for; custom rules may use and extend every one of them.
#
# One rule a paragraph, since a paragraph is what is left out where nothing uses its rule. The comments on top of this
# file explain; comments below cost time at every request, and there are few.
#
# `ns` is true where a namespace's settings decide, and false where those of the top level do; `prefix` is null where
# no custom policy decides.
#
# `input.Images` are the images that the request brings: on an update only those that are new or changed, because what
# runs already is not judged again, and a rule can't tell from `PodObject` which those are. Without that key, as in
# a rule that is tried by hand, they are all the images of `PodObject`.
package imageadmission

policies := data.preScanPolicies

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

final_image_policies[policy] {
	image := input.Images[_]
	policy := object.union({"image": image}, final_image_policy(image))
}

final_image_policies[policy] {
	not input.Images
	lists := ["initContainers", "containers", "ephemeralContainers"]
	image := input.PodObject.spec[lists[_]][_].image
	policy := object.union({"image": image}, final_image_policy(image))
}

final_image_policies[policy] {
	not input.Images
	image := input.PodObject.spec.volumes[_].image.reference
	policy := object.union({"image": image}, final_image_policy(image))
}

valid_policy_value[value] {
	value := ["accept", "reject", "scan"][_]
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
	policy := final_image_policies[_]
	policy.prefix != null
	not valid_policy_value[policy.action]
	list := {true: sprintf("namespace '%s' customPolicy", [namespace]), false: "customPolicy"}[policy.ns]
	msg := sprintf("Invalid value for %s with prefix '%s' - '%s'", [list, policy.prefix, policy.action])
}

image_action_reject[[policy.ns, policy.prefix, policy.image]] {
	policy := final_image_policies[_]
	policy.action == "reject"
}

any_image_action_scan {
	final_image_policies[_].action == "scan"
}

no_denied_pod {
	count(deny_pod) == 0
}

allow_pod {
	no_denied_pod
	not any_image_action_scan
}

deny_pod[msg] {
	msg := config_error[_]
}

deny_pod[msg] {
	[ns, prefix, image] := image_action_reject[_]
	msg := sprintf("Image '%s' REJECTED. %s", [image, scope_str(ns, prefix)])
}
