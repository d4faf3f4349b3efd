# What is written into the object: the digest of each image that was judged. The registry is live.

load host

setup_file() {
    start_registry
    push team/app:1.0 linux/amd64 linux/arm64
    push team/tool:1.0
}

teardown_file() {
    stop_registry
}

# Every image is looked up and admitted, whatever is known of it.
setup() {
    settings <<<'scanPolicies: {defaultPolicy: accept}
reports: {sources: [{registry: {allowUnsigned: true}}]}'
}

warning() {
    echo "\"image '$REGISTRY/$1' is admitted by policy, its scan status is 'report_not_available'\""
}

@test "an image is pinned to its index, with the original name in annotations" {
    pod "$REGISTRY/team/app:1.0"
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)], "patch": $(pins "$REGISTRY/team/app:1.0" "$(digest team/app:1.0)"), "auditAnnotations": {
    "verdict": "allowed", "reason": "every image is admitted, with warnings", "container-1.image": "$REGISTRY/team/app:1.0", "container-1.digest": "$(digest team/app:1.0)",
    "container-1.pre-scan": "scan: Global default policy", "container-1.scan": "accept: Global default policy",
    "container-1.status": "report_not_available", "container-1.state": "not_scanned",
    "container-1.reason": "linux/amd64, linux/arm64: no scan report yet beside the image, at its tag sha256-….scan"}}
END
}

@test "every list is pinned, with annotations of its own" {
    pod "$REGISTRY/team/app:1.0"
    edit --arg registry "$REGISTRY" '.object.spec.initContainers = [{name: "i1", image: "\($registry)/team/tool:1.0"}] | .object.spec.volumes = [{name: "v1", image: {reference: "\($registry)/team/tool:1.0"}}]'
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/tool:1.0), $(warning team/app:1.0)], "patch": [
    {"op": "add", "path": "/metadata/annotations", "value": {
        "admission.sysdig.com/init-container-1-original-image": "$REGISTRY/team/tool:1.0",
        "admission.sysdig.com/init-container-1-mutated-image": "$REGISTRY/team/tool:1.0@$(digest team/tool:1.0)",
        "admission.sysdig.com/container-1-original-image": "$REGISTRY/team/app:1.0",
        "admission.sysdig.com/container-1-mutated-image": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)",
        "admission.sysdig.com/volume-1-original-image": "$REGISTRY/team/tool:1.0",
        "admission.sysdig.com/volume-1-mutated-image": "$REGISTRY/team/tool:1.0@$(digest team/tool:1.0)"}},
    {"op": "replace", "path": "/spec/containers/0/image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"},
    {"op": "replace", "path": "/spec/initContainers/0/image", "value": "$REGISTRY/team/tool:1.0@$(digest team/tool:1.0)"},
    {"op": "replace", "path": "/spec/volumes/0/image/reference", "value": "$REGISTRY/team/tool:1.0@$(digest team/tool:1.0)"}]}
END
}

@test "annotations of others stay, the policy's own are overwritten" {
    pod "$REGISTRY/team/app:1.0"
    edit '.object.metadata.annotations = {"team": "a", "admission.sysdig.com/container-1-original-image": "forged"}'
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)], "patch": [
    {"op": "add", "path": "/metadata/annotations/admission.sysdig.com~1container-1-mutated-image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"},
    {"op": "replace", "path": "/metadata/annotations/admission.sysdig.com~1container-1-original-image", "value": "$REGISTRY/team/app:1.0"},
    {"op": "replace", "path": "/spec/containers/0/image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"}]}
END
}

@test "annotations can be left alone" {
    echo 'pin: {annotations: false}' >>"$BATS_TEST_TMPDIR/settings.yaml"
    pod "$REGISTRY/team/app:1.0"
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)], "patch": [
    {"op": "replace", "path": "/spec/containers/0/image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"}]}
END
}

@test "pinning can be turned off" {
    echo 'pin: {enabled: false}' >>"$BATS_TEST_TMPDIR/settings.yaml"
    pod "$REGISTRY/team/app:1.0"
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)]}
END
}

@test "an image that carries a digest is left as it is" {
    local digest
    digest=$(digest team/app:1.0)
    pod "$REGISTRY/team/app@$digest"
    decide
    # A warning has 120 characters at most.
    expect <<END
{"allowed": true, "warnings": [$(warning "team/app@${digest:0:21}…")]}
END
}

@test "a controller is pinned only where the settings name its kind" {
    controller CronJob "$REGISTRY/team/app:1.0"
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)]}
END
    echo 'pin: {kinds: [CronJob], annotations: false}' >>"$BATS_TEST_TMPDIR/settings.yaml"
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)], "patch": [
    {"op": "replace", "path": "/spec/jobTemplate/spec/template/spec/containers/0/image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"}]}
END
}

@test "of an update only the new image is pinned" {
    pod "$REGISTRY/team/tool:1.0" "$REGISTRY/team/app:1.0"
    was "$REGISTRY/team/tool:1.0"
    edit '.object.metadata.annotations = {}'
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)], "patch": [
    {"op": "add", "path": "/metadata/annotations/admission.sysdig.com~1container-2-mutated-image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"},
    {"op": "add", "path": "/metadata/annotations/admission.sysdig.com~1container-2-original-image", "value": "$REGISTRY/team/app:1.0"},
    {"op": "replace", "path": "/spec/containers/1/image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"}]}
END
}

@test "an ephemeral container is pinned without annotations" {
    pod "$REGISTRY/team/tool:1.0"
    was "$REGISTRY/team/tool:1.0"
    edit --arg image "$REGISTRY/team/app:1.0" '.subResource = "ephemeralcontainers" | .object.spec.ephemeralContainers = [{name: "debugger", image: $image}]'
    decide
    expect <<END
{"allowed": true, "warnings": [$(warning team/app:1.0)], "patch": [
    {"op": "replace", "path": "/spec/ephemeralContainers/0/image", "value": "$REGISTRY/team/app:1.0@$(digest team/app:1.0)"}]}
END
}

@test "an image that the registry doesn't have failed its scan" {
    settings <<<'{}'
    pod "$REGISTRY/team/gone:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Image '$REGISTRY/team/gone:1.0' for container 'c1' failed scan policy check: Image '$REGISTRY/team/gone:1.0' REJECTED. Global default policy - scan failed\n'$REGISTRY/team/gone:1.0': its digest can't be looked up: the registry has no such manifest"}
END
    # It could be pushed afterwards: only an outage is forgiven.
    settings <<<'scanPolicies: {scanFailed: accept-outages}'
    decide
    expect <<END
{"allowed": false, "message": "Image '$REGISTRY/team/gone:1.0' for container 'c1' failed scan policy check: Image '$REGISTRY/team/gone:1.0' REJECTED. Global default policy - scan failed\n'$REGISTRY/team/gone:1.0': its digest can't be looked up: the registry has no such manifest"}
END
}
