# Which objects and requests are judged, and which of their images.

load host

setup() {
    settings <<<'preScanPolicies: {defaultPolicy: reject}'
}

rejected() {
    expect <<END
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image '$1' REJECTED. Global default policy"}
END
}

@test "the template of a Deployment, a ReplicaSet, a StatefulSet and a DaemonSet is judged" {
    for kind in Deployment ReplicaSet StatefulSet DaemonSet; do
        controller $kind nginx
        decide
        rejected nginx
    done
}

@test "the template of a ReplicationController, a Job and a CronJob is judged" {
    for kind in ReplicationController Job CronJob; do
        controller $kind nginx
        decide
        rejected nginx
    done
}

@test "a kind without a pod spec is admitted as it is" {
    object <<<'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"containers": [{"name": "c1", "image": "nginx"}]}}'
    decide
    expect <<<'{"allowed": true}'
    edit '.kind.kind = "Pod" | .object.kind = "Pod"'
    decide
    rejected nginx
}

@test "init containers, ephemeral containers and image volumes are judged" {
    pod
    edit '.object.spec.initContainers = [{name: "i1", image: "busybox"}]'
    decide
    rejected busybox
    pod
    edit '.object.spec.ephemeralContainers = [{name: "e1", image: "busybox:1"}]'
    decide
    rejected busybox:1
    pod
    edit '.object.spec.volumes = [{name: "v1", image: {reference: "team/model"}}]'
    decide
    rejected team/model
}

@test "containers that can't be read are rejected" {
    pod
    edit '.object.spec.containers = {"c1": "nginx"}'
    decide
    expect <<'END'
{"allowed": false, "message": "the object's `/spec/containers` is not a list"}
END
}

@test "an update is judged for the images that it brings" {
    pod nginx redis
    was nginx redis
    decide
    expect <<<'{"allowed": true}'
    was nginx
    decide
    rejected redis
}

@test "an image that moves to another list is judged" {
    pod
    was nginx
    edit '.object.spec.initContainers = .oldObject.spec.containers'
    decide
    rejected nginx
}

@test "an update without the old object, and a create with one, are judged in full" {
    pod nginx
    edit '.operation = "UPDATE"'
    decide
    rejected nginx
    was nginx
    edit '.operation = "CREATE"'
    decide
    rejected nginx
}

@test "an ephemeral container that is added to a running Pod is judged, the Pod's own aren't" {
    pod nginx
    was nginx
    edit '.subResource = "ephemeralcontainers" | .object.spec.ephemeralContainers = [{name: "debugger", image: "busybox"}]'
    decide
    rejected busybox
    edit '.oldObject = .object'
    decide
    expect <<<'{"allowed": true}'
}

@test "deletes and connects are admitted" {
    pod nginx
    decide
    rejected nginx
    edit '.operation = "DELETE" | .oldObject = .object | .object = null'
    decide
    expect <<<'{"allowed": true}'
    pod nginx
    edit '.operation = "CONNECT" | .subResource = "exec"'
    decide
    expect <<<'{"allowed": true}'
}

@test "the object's namespace counts, else the request's, a template's never" {
    settings <<<'preScanPolicies: {defaultPolicy: reject, byNamespace: {dev: {defaultPolicy: accept}}}'
    pod nginx
    edit '.namespace = "prod" | .object.metadata.namespace = "dev"'
    decide
    expect <<<'{"allowed": true}'
    edit '.namespace = "dev" | del(.object.metadata.namespace)'
    decide
    expect <<<'{"allowed": true}'
    controller Deployment nginx
    edit '.object.spec.template.metadata.namespace = "dev"'
    decide
    rejected nginx
}

@test "verboseLog writes the request and the decision, and no Secret's content" {
    settings <<'END'
verboseLog: true
regoPolicies: [{name: any, kinds: ["*"], rego: "package any\n\ndeny[msg] { input.kind == \"Pod\"; msg := \"never\" }"}]
END
    object <<<'{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}, "data": {"password": "aHVudGVyMg=="}, "stringData": {"token": "hunter2"}}'
    decide
    expect <<<'{"allowed": true}'
    [ "$(logged input)" = "$(jq -S '.object.data = "not logged" | .object.stringData = "not logged"' "$BATS_TEST_TMPDIR/request.json")" ]
    if grep -e aHVudGVyMg -e hunter2 "$BATS_TEST_TMPDIR/stderr"; then
        return 1
    fi
}
