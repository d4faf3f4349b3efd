# Rules in Rego: those of the two phases, and policies by kind.

load host

admitted='preScanPolicies: {defaultPolicy: accept}'

@test "deny_pod rejects beside the rules of the settings, allow_pod beats them all" {
    settings <<'END'
preScanPolicies: {defaultPolicy: reject}
preCustomRules: |
  allow_pod { input.PodObject.metadata.labels.trusted == "yes" }
  deny_pod["nobody asked for it"] { true }
END
    pod nginx
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'nginx' REJECTED. Global default policy, nobody asked for it"}
END
    edit '.object.metadata.labels = {trusted: "yes"}'
    decide
    expect <<<'{"allowed": true}'
}

@test "without generated rules the custom ones alone decide" {
    settings <<'END'
preScanPolicies: {autoGenerate: false, defaultPolicy: reject}
preCustomRules: |
  allow_pod { namespace == "dev"; policies.defaultPolicy == "reject" }
  deny_pod["not in prod"] { namespace == "prod" }
END
    pod nginx
    in_namespace dev
    decide
    expect <<<'{"allowed": true}'
    in_namespace prod
    decide
    expect <<<'{"allowed": false, "message": "Pre-scan rejected. Reasons: not in prod"}'
}

@test "rules in the syntax of v1" {
    settings <<END
$admitted
regoVersion: v1
preCustomRules: |
  deny_pod contains msg if {
    some image in input.Images
    endswith(image, ":latest")
    msg := sprintf("%s is not a version", [image])
  }
END
    pod nginx:latest nginx:1.25
    decide
    expect <<<'{"allowed": false, "message": "Pre-scan rejected. Reasons: nginx:latest is not a version"}'
}

@test "an error in a rule rejects, and says where" {
    settings <<END
$admitted
preCustomRules: |
  package imageadmission
  limit = 1 { input.PodObject.kind == "Pod" }
  limit = 2 { input.PodObject.kind == "Pod" }
  deny_pod["too many"] { count(input.Images) > limit }
END
    pod nginx
    decide
    expect <<<'{"allowed": false, "message": "Pre-scan rejected. Reasons: Evaluation error: preCustomRules:3:1: rule conflicts with rule at preCustomRules:2:1"}'
}

@test "rules that don't end are stopped, and reject" {
    settings <<END
$admitted
regoPolicies:
  - name: endless
    kinds: [Pod]
    rego: |
      package endless

      deny["never"] { n := numbers.range(1, 1000); a := n[_]; b := n[_]; c := n[_]; a + b + c < 0 }
END
    pod nginx
    decide
    expect <<<'{"allowed": false, "message": "Policy '"'endless'"' rejected. Evaluation error: stopped: the Rego of one request has 450 ms"}'
}

@test "violations with parameters, as in Gatekeeper" {
    settings <<'END'
regoPolicies:
  - name: required-labels
    kinds: [Namespace]
    parameters: {labels: [owner, cost-center]}
    rego: |
      package required_labels

      violation[{"msg": msg, "details": {"missing_labels": missing}}] {
        provided := {label | input.review.object.metadata.labels[label]}
        required := {label | label := input.parameters.labels[_]}
        missing := required - provided
        count(missing) > 0
        msg := sprintf("you must provide labels: %v", [concat(", ", missing)])
      }
END
    object <<<'{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"owner": "a"}}}'
    decide
    expect <<'END'
{"allowed": false, "message": "Policy 'required-labels' rejected. Reasons: you must provide labels: cost-center"}
END
    edit '.object.metadata.labels["cost-center"] = "7"'
    decide
    expect <<<'{"allowed": true}'
}

@test "a policy judges the kinds that it names, and others not" {
    settings <<END
$admitted
regoPolicies: [{name: p, kinds: [apps/Deployment, CronJob], rego: "package p\n\ndeny[\"judged\"] { true }"}]
END
    for kind in Deployment CronJob; do
        controller $kind nginx
        decide
        expect <<<'{"allowed": false, "message": "Policy '"'p'"' rejected. Reasons: judged"}'
    done
    pod nginx
    decide
    expect <<<'{"allowed": true}'
}

@test "a delete is judged by policies, though no phase looks at it" {
    settings <<'END'
preScanPolicies: {defaultPolicy: reject}
regoPolicies:
  - name: keep
    kinds: [Pod]
    rego: |
      package keep

      deny[msg] { input.review.operation == "DELETE"; msg := sprintf("%s stays", [input.review.object.metadata.name]) }
END
    pod nginx
    edit '.operation = "DELETE" | .oldObject = .object | .object = null'
    decide
    expect <<'END'
{"allowed": false, "message": "Policy 'keep' rejected. Reasons: p stays"}
END
}

@test "warn is a warning" {
    settings <<END
$admitted
regoPolicies:
  - name: tags
    kinds: [Workload]
    rego: |
      package tags

      warn[msg] { image := input.images.containers[_]; not contains(image, ":"); msg := sprintf("%s has no tag", [image]) }
END
    controller Deployment nginx redis:7
    decide
    expect <<<'{"allowed": true, "warnings": ["tags: nginx has no tag"]}'
}

@test "patches change the object, with the parents that are missing" {
    settings <<END
$admitted
regoPolicies:
  - name: labels
    kinds: [Pod]
    rego: |
      package labels

      patch[{"op": "add", "path": "/metadata/labels/team", "value": "a"}] { not input.metadata.labels.team }
END
    pod nginx
    decide
    expect <<<'{"allowed": true, "patch": [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]}'
    edit '.object.metadata.labels = {team: "b"}'
    decide
    expect <<<'{"allowed": true}'
}

@test "an image that a patch writes is judged" {
    settings <<'END'
preScanPolicies: {defaultPolicy: accept, customPolicies: [{prefix: bad.example.com/, action: reject}]}
regoPolicies:
  - name: mirror
    kinds: [Pod]
    rego: |
      package mirror

      patch[{"op": "replace", "path": "/spec/containers/0/image", "value": "bad.example.com/nginx"}] { true }
END
    pod nginx
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'bad.example.com/nginx' REJECTED. Global custom policy (prefix 'bad.example.com/')"}
END
}

@test "policies share libraries" {
    settings <<END
$admitted
regoPolicies:
  - name: privileged
    kinds: [Pod]
    rego: |
      package privileged
      import data.lib.pods

      deny[msg] { container := pods.containers[_]; container.securityContext.privileged; msg := sprintf("%s is privileged", [container.name]) }
regoLibraries:
  - name: pods
    rego: |
      package lib.pods

      containers[container] { container := input.spec.containers[_] }
      containers[container] { container := input.spec.initContainers[_] }
END
    pod nginx
    edit '.object.spec.initContainers = [{name: "i1", image: "busybox", securityContext: {privileged: true}}]'
    decide
    expect <<'END'
{"allowed": false, "message": "Policy 'privileged' rejected. Reasons: i1 is privileged"}
END
}

@test "system.main answers for itself, and patches" {
    settings <<END
$admitted
regoPolicies:
  - name: main
    kinds: [Pod]
    rego: |
      package system

      main = {"response": {"allowed": false, "status": {"message": "nobody owns it"}}} {
        not input.request.object.metadata.labels.owner
      } else = {"response": {"allowed": true, "patchType": "JSONPatch", "patch": base64.encode(json.marshal(patches))}} {
        true
      }

      patches = [{"op": "add", "path": "/metadata/annotations/example.com~1checked", "value": "yes"}]
END
    pod nginx
    decide
    expect <<'END'
{"allowed": false, "message": "Policy 'main' rejected. Reasons: nobody owns it"}
END
    edit '.object.metadata.labels = {owner: "a"}'
    decide
    expect <<<'{"allowed": true, "patch": [{"op": "add", "path": "/metadata/annotations", "value": {"example.com/checked": "yes"}}]}'
}

@test "a Conftest ConfigMap is taken as it is" {
    settings <<END
$admitted
regoPolicies:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: conftest, namespace: trivy-system}
  data:
    conftest.policy.tags.kinds: Workload
    conftest.policy.tags.rego: |
      package main

      import data.images

      deny[res] {
        image := images.all[_]
        endswith(image, ":latest")
        res := {"msg": sprintf("%s has the tag latest", [image])}
      }
    conftest.library.images.rego: |
      package images

      all[image] { image := input.images[_][_] }
END
    controller DaemonSet nginx:latest redis:7
    decide
    expect <<'END'
{"allowed": false, "message": "Policy 'tags' rejected. Reasons: nginx:latest has the tag latest"}
END
}

@test "policies see the cluster's objects of the kinds that context lists" {
    # The module asks for the kinds of policy-metadata.yml; whoever deploys such a rule grants Namespace as well.
    awk '{ print } /^contextAwareResources:/ { print "  - {apiVersion: v1, kind: Namespace}" }' "$ROOT/policy-metadata.yml" >"$BATS_TEST_TMPDIR/metadata.yml"
    MODULE=$BATS_TEST_TMPDIR/policy.wasm
    "$KWCTL" annotate -m "$BATS_TEST_TMPDIR/metadata.yml" -u "$ROOT/README.md" -o "$MODULE" "$ROOT/policy.wasm"
    settings <<END
$admitted
context: [{apiVersion: v1, kind: Namespace}]
regoPolicies:
  - name: owner
    kinds: [Workload]
    rego: |
      package owner

      deny[msg] {
        not data.kubernetes.namespaces[input.metadata.namespace].metadata.labels.owner
        msg := sprintf("nobody owns the namespace %s", [input.metadata.namespace])
      }
END
    pod nginx
    replay rego-context-nobody
    expect <<'END'
{"allowed": false, "message": "Policy 'owner' rejected. Reasons: nobody owns the namespace default"}
END
    in_namespace team-a
    replay rego-context-owned
    expect <<<'{"allowed": true}'
}
