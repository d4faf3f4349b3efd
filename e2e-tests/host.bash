# How the tests ask the real host. A test says what the settings and the request are, lets kwctl decide, and compares its
# whole answer with the one that it expects:
#
#     settings <<<'preScanPolicies: {defaultPolicy: reject}'
#     pod nginx
#     decide
#     expect <<<'{"allowed": false, "message": "…"}'
#
# Host answers come from a live registry on loopback (`start_registry`, `push`), or from a recorded session (`replay`).
# Without either there are none: a test whose policy asks the host all the same fails.

HERE=$BATS_TEST_DIRNAME
ROOT=${HERE%/*}
KWCTL=${KWCTL:-kwctl}
POLICY=$ROOT/annotated-policy.wasm
if [ ! -f "$POLICY" ]; then
    echo "there is no $POLICY: make annotated-policy.wasm" >&2
    exit 1
fi

# What is asked.

# The settings of this test, YAML on stdin. Registries on this machine are asked only when they are named: a file whose tests
# have one names it in REGISTRIES, and the settings get it unless they say themselves who is asked.
settings() {
    local text
    text=$(cat)
    if [ -n "${REGISTRIES-}" ] && [[ $text != *registries:* ]]; then
        [ "$text" != '{}' ] || text=
        text+=$'\n'"registries: [\"$REGISTRIES\"]"
    fi
    printf '%s\n' "$text" >"$BATS_TEST_TMPDIR/settings.yaml"
}

# A request to create an object, JSON on stdin.
object() {
    jq '{
        uid: "e2e", operation: "CREATE", userInfo: {username: "someone"}, name: .metadata.name, namespace: (.metadata.namespace // "default"),
        kind: ((.apiVersion | split("/")) as $v | {group: (if $v[1] then $v[0] else "" end), version: $v[-1], kind: .kind}), object: .
    } | .resource = {group: .kind.group, version: .kind.version, resource: (.kind.kind | ascii_downcase + (if endswith("s") then "es" else "s" end))}' \
        >"$BATS_TEST_TMPDIR/request.json"
}

# A request to create a Pod with a container for each image: c1, c2, …
pod() {
    pod_object "$@" | object
}

# The same as the template of a controller: `controller Deployment nginx`.
controller() {
    local kind=$1 group=apps/v1
    shift
    case $kind in
    ReplicationController) group=v1 ;;
    Job | CronJob) group=batch/v1 ;;
    esac
    pod_object "$@" | jq --arg kind "$kind" --arg group "$group" '{apiVersion: $group, kind: $kind, metadata: .metadata, spec: {template: {spec: .spec}}}
        | if $kind == "CronJob" then .spec = {jobTemplate: {spec: .spec}} else . end' | object
}

# Makes an update of the request: of a Pod that ran these images before.
was() {
    local old
    old=$(pod_object "$@")
    edit --argjson old "$old" '.operation = "UPDATE" | .oldObject = $old'
}

# Changes the request, by arguments for jq.
edit() {
    local request=$BATS_TEST_TMPDIR/request.json
    jq "$@" "$request" >"$request.new"
    mv "$request.new" "$request"
}

in_namespace() {
    edit --arg namespace "$1" '.namespace = $namespace | .object.metadata.namespace = $namespace'
}

pod_object() {
    jq -n --args '{apiVersion: "v1", kind: "Pod", metadata: {name: "p", namespace: "default"},
        spec: {containers: [$ARGS.positional | to_entries[] | {name: "c\(.key + 1)", image: .value}]}}' "$@"
}

# What is answered.

# Lets kwctl decide by the live registry, where there is one, and else without any host answer.
decide() {
    if [ -n "${REGISTRY:-}" ]; then
        run_kwctl --sources-path "$BATS_FILE_TMPDIR/sources.yaml" || kwctl_failed
    else
        echo '[]' >"$BATS_TEST_TMPDIR/nothing.yml"
        run_kwctl --replay-host-capabilities-interactions "$BATS_TEST_TMPDIR/nothing.yml" || kwctl_failed
    fi
    read_answer
}

# Lets kwctl decide by the host answers that were recorded as `sessions/$1.yml`; with RECORD set it records them.
replay() {
    local session=$HERE/sessions/$1.yml
    if [ -n "${RECORD:-}" ]; then
        rm -f "$session"
        run_kwctl --allow-context-aware --sources-path "$RECORD" --record-host-capabilities-interactions "$session" || kwctl_failed
    else
        run_kwctl --allow-context-aware --replay-host-capabilities-interactions "$session" || kwctl_failed
        if grep -q "recorded exchanges have not been replayed" "$BATS_TEST_TMPDIR/stderr"; then
            echo "the policy asks for less than in $session"
            return 1
        fi
    fi
    read_answer
}

# Compares the answer with the one on stdin, JSON. Without `message`, `patch` and `warnings` there must be none;
# `auditAnnotations` and `code` are compared where they are expected.
expect() {
    local want got
    want=$(jq -S '{message: null, patch: null, warnings: []} + .')
    got=$(jq -S --argjson want "$want" 'with_entries(select(.key as $key | $want | has($key)))' "$BATS_TEST_TMPDIR/answer.json")
    diff -u --label expected <(echo "$want") --label answered <(echo "$got")
}

# A digest or a report's name in the recorded sessions, by its name in tests/world: `known "digest of team/app:1.0"`.
known() {
    awk -v name="$1: " 'index($0, name) == 1 { print substr($0, length(name) + 1) }' "$ROOT/tests/world/names.yaml"
}

# The patch that pins the first image of a Pod: `pins IMAGE DIGEST`.
pins() {
    jq -n --arg image "$1" --arg pinned "$1@$2" '[
        {op: "add", path: "/metadata/annotations", value: {
            "admission.sysdig.com/container-1-original-image": $image, "admission.sysdig.com/container-1-mutated-image": $pinned}},
        {op: "replace", path: "/spec/containers/0/image", value: $pinned}]'
}

# The settings must be refused, with the text on stdin.
expect_refused() {
    object <<<'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}'
    if run_kwctl; then
        echo "the settings are valid"
        return 1
    fi
    diff -u --label expected - --label answered <(sed -n '/^Error: /,/^$/p' "$BATS_TEST_TMPDIR/stderr" | sed -e '$d' -e '1s/^Error: Provided settings are not valid: //')
}

# What the policy logged with this beginning, JSON.
logged() {
    sed -n "s/.*policy_log: $1: \(.*\) data={}\$/\1/p" "$BATS_TEST_TMPDIR/stderr" | jq -S .
}

run_kwctl() {
    # Without a trust root of its own kwctl fetches the public one; signatures by key need none. TRUST is a file with one.
    cat "${TRUST:-/dev/null}" >"$BATS_TEST_TMPDIR/trust.json"
    [ -s "$BATS_TEST_TMPDIR/trust.json" ] || echo '{}' >"$BATS_TEST_TMPDIR/trust.json"
    "$KWCTL" --no-color run --sigstore-trust-config "$BATS_TEST_TMPDIR/trust.json" "$@" --settings-path "$BATS_TEST_TMPDIR/settings.yaml" \
        --request-path "$BATS_TEST_TMPDIR/request.json" "${MODULE:-$POLICY}" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr"
}

# What kwctl says when it doesn't come to an answer.
kwctl_failed() {
    sed -n '/^Error: /,/^$/p' "$BATS_TEST_TMPDIR/stderr"
    return 1
}

# The parts of the answer that are the policy's, in one form.
read_answer() {
    jq '{
        allowed, message: .status.message, code: .status.code, warnings: (.warnings // []), auditAnnotations,
        patch: (if .patch then .patch | @base64d | fromjson | sort_by(.path) else null end)
    }' "$BATS_TEST_TMPDIR/stdout" >"$BATS_TEST_TMPDIR/answer.json"
}

# The registry.

# Starts a registry on a free port, for the tests of a file; images are named by $REGISTRY. Belongs in setup_file.
start_registry() {
    local try
    for try in 1 2 3 4 5 6 7 8 9 10; do
        export REGISTRY=localhost:$((20000 + RANDOM % 20000))
        export REGISTRIES=$REGISTRY
        cat >"$BATS_FILE_TMPDIR/registry.yml" <<END
version: 0.1
storage: {filesystem: {rootdirectory: "$BATS_FILE_TMPDIR/registry"}}
http: {addr: "127.0.0.1:${REGISTRY#*:}"}
END
        "${DOCKER_REGISTRY:-docker-registry}" serve "$BATS_FILE_TMPDIR/registry.yml" >"$BATS_FILE_TMPDIR/registry.log" 2>&1 3>&- &
        export REGISTRY_PID=$!
        # Where the port is taken it ends at once, and whoever has the port may answer.
        while sleep 0.1 && kill -0 "$REGISTRY_PID" 2>/dev/null; do
            if curl --silent --fail --max-time 5 "http://$REGISTRY/v2/" >/dev/null && kill -0 "$REGISTRY_PID"; then
                echo "insecure_sources: [\"$REGISTRY\"]" >"$BATS_FILE_TMPDIR/sources.yaml"
                return
            fi
        done
    done
    cat "$BATS_FILE_TMPDIR/registry.log"
    return 1
}

# Belongs in teardown_file.
stop_registry() {
    kill "$REGISTRY_PID"
}

# Pushes an image, with an index where there are several platforms: `push team/app:1.0 linux/amd64 linux/arm64`.
push() {
    local name=$1 platform config layer manifest reference manifests=()
    shift
    for platform in "${@:-linux/amd64}"; do
        layer=$(echo "$name for $platform" | put_blob "${name%:*}")
        config=$(jq -n --arg platform "$platform" --argjson layer "$layer" '($platform | split("/")) as [$os, $architecture]
            | {$os, $architecture, config: {}, rootfs: {type: "layers", diff_ids: [$layer.digest]}}' | put_blob "${name%:*}")
        manifest=$BATS_FILE_TMPDIR/manifest.json
        image_manifest "$config" application/vnd.oci.image.config.v1+json "$layer" application/vnd.oci.image.layer.v1.tar >"$manifest"
        reference=${name##*:}
        [ $# -lt 2 ] || reference=sha256:$(sha256 <"$manifest")
        put_manifest "${name%:*}" "$reference" <"$manifest"
        manifests+=("$(jq -n --arg platform "$platform" --arg digest "sha256:$(sha256 <"$manifest")" --argjson size "$(wc -c <"$manifest")" '($platform | split("/")) as [$os, $architecture]
            | {mediaType: "application/vnd.oci.image.manifest.v1+json", $digest, $size, platform: {$os, $architecture}}')")
    done
    if [ $# -ge 2 ]; then
        printf '%s\n' "${manifests[@]}" | jq -s '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}' | put_manifest "${name%:*}" "${name##*:}"
    fi
}

# Puts into the registry what stands in a recording, as the repository `forms/<name>`.
place() {
    local recorded=$HERE/forms/$1.json position reference
    for position in $(jq '.blobs | keys[]' "$recorded"); do
        jq -j ".blobs[$position]" "$recorded" | put_blob "forms/$1" >/dev/null
    done
    # An index comes after what it names.
    for reference in $(jq -r '.manifests | to_entries | sort_by(.value.body | fromjson | has("manifests"))[].key' "$recorded"); do
        jq -j --arg reference "$reference" '.manifests[$reference].body' "$recorded" >"$BATS_FILE_TMPDIR/put.json"
        curl --silent --fail -X PUT -H "content-type: $(jq -r --arg reference "$reference" '.manifests[$reference].type' "$recorded")" \
            --data-binary "@$BATS_FILE_TMPDIR/put.json" "http://$REGISTRY/v2/forms/$1/manifests/$reference"
    done
}

# The digest of what was pushed under this name.
digest() {
    curl --silent --fail --head -H "accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json" \
        "http://$REGISTRY/v2/${1%:*}/manifests/${1##*:}" | header docker-content-digest
}

# An artifact beside an image, whose configuration is the document on stdin: `attach team/app:1.0 scan TYPE`.
attach() {
    local repository=${1%:*} digest config empty
    digest=$(digest "$1")
    config=$(put_blob "$repository")
    empty=$(echo '{}' | put_blob "$repository")
    image_manifest "$config" "$3" "$empty" application/vnd.oci.empty.v1+json |
        jq --arg digest "$digest" --arg type "$3" '.artifactType = $type | .subject = {mediaType: "application/vnd.oci.image.manifest.v1+json", $digest, size: 1}' |
        put_manifest "$repository" "${digest/:/-}.$2"
}

# The digest of an artifact beside an image: `beside team/app:1.0 scan`.
beside() {
    local digest
    digest=$(digest "$1")
    digest "${1%:*}:${digest/:/-}.$2"
}

# Makes a key: `$BATS_FILE_TMPDIR/$1.key`, and `.pub`.
make_key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$BATS_FILE_TMPDIR/$1.key"
    openssl ec -in "$BATS_FILE_TMPDIR/$1.key" -pubout -out "$BATS_FILE_TMPDIR/$1.pub" 2>/dev/null
}

# A public key as a string in settings.
public_key() {
    jq -Rs . "$BATS_FILE_TMPDIR/$1.pub"
}

# Signs what is on stdin by a key.
signature() {
    openssl dgst -sha256 -sign "$BATS_FILE_TMPDIR/$1.key" | openssl base64 -A
}

# Signs an image as cosign does, optionally with annotations: `sign team/app:1.0 KEY '{"env": "prod"}'`.
sign() {
    local repository=${1%:*} payload=$BATS_FILE_TMPDIR/payload.json digest layer config
    digest=$(digest "$1")
    jq -cn --arg name "$REGISTRY/$repository" --arg digest "$digest" --argjson optional "${3:-null}" \
        '{critical: {identity: {"docker-reference": $name}, image: {"docker-manifest-digest": $digest}, type: "cosign container image signature"}, $optional}' >"$payload"
    layer=$(put_blob "$repository" <"$payload")
    config=$(jq -n --argjson layer "$layer" '{architecture: "", os: "", config: {}, rootfs: {type: "layers", diff_ids: [$layer.digest]}}' | put_blob "$repository")
    image_manifest "$config" application/vnd.oci.image.config.v1+json "$layer" application/vnd.dev.cosign.simplesigning.v1+json |
        jq --arg signature "$(signature "$2" <"$payload")" '.layers[0].annotations = {"dev.cosignproject.cosign/signature": $signature}' |
        put_manifest "$repository" "${digest/:/-}.sig"
}

image_manifest() {
    jq -n --argjson config "$1" --arg configType "$2" --argjson layer "$3" --arg layerType "$4" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
        config: ($config + {mediaType: $configType}), layers: [$layer + {mediaType: $layerType}]}'
}

# Uploads stdin, and writes its descriptor.
put_blob() {
    local blob=$BATS_FILE_TMPDIR/blob location digest
    cat >"$blob"
    digest=sha256:$(sha256 <"$blob")
    location=$(curl --silent --fail --head -X POST "http://$REGISTRY/v2/$1/blobs/uploads/" | header location)
    curl --silent --fail -X PUT -H "content-type: application/octet-stream" --data-binary "@$blob" "$location&digest=$digest"
    jq -cn --arg digest "$digest" --argjson size "$(wc -c <"$blob")" '{$digest, $size}'
}

put_manifest() {
    local manifest=$BATS_FILE_TMPDIR/put.json
    cat >"$manifest"
    curl --silent --fail -X PUT -H "content-type: $(jq -r .mediaType "$manifest")" --data-binary "@$manifest" "http://$REGISTRY/v2/$1/manifests/$2"
}

# The value of a header of the answer on stdin.
header() {
    tr -d '\r' | awk -v name="$1:" 'tolower($1) == name { print $2 }'
}

sha256() {
    openssl dgst -sha256 -r | cut -d' ' -f1
}
