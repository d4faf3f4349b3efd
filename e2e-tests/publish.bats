# The way of a release, with the commands that it has: the module is annotated, pushed to a live registry, signed, pulled
# back, verified and run from there; what Artifact Hub gets is made, and pushed to a repository on this disk.

bats_require_minimum_version 1.5.0
load host

setup_file() {
    start_registry
    export REFERENCE=$REGISTRY/policies/image-admission
    # kwctl keeps what it pulls here, and finds nothing that was pulled before.
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    VERSION=$(metadata | jq -r '.annotations["io.kubewarden.policy.version"]')
    export VERSION
    make_key release
    make_key other
    trust_root >"$BATS_FILE_TMPDIR/trust.json"
    release annotated-policy.wasm >"$BATS_FILE_TMPDIR/annotated" 2>&1 || { cat "$BATS_FILE_TMPDIR/annotated"; return 1; }
    release -o annotated-policy.wasm push OCI_URL="$REFERENCE" PUSH_OPTIONS="--sources-path $BATS_FILE_TMPDIR/sources.yaml"
    mv "$ROOT/pushed.json" "$BATS_FILE_TMPDIR/pushed.json"
    sign "policies/image-admission:v$VERSION" release
}

teardown_file() {
    stop_registry
}

# A target of the Makefile, with the module that is there.
release() {
    "${MAKE:-make}" --silent --directory "$ROOT" -o policy.wasm KWCTL="$KWCTL" "$@"
}

# YAML as JSON.
json() {
    "${CARGO:-cargo}" run --manifest-path "$ROOT/Cargo.toml" --locked --quiet --package image-admission-cli --bin image-admission -- eval --input "$1" -o raw input
}

metadata() {
    json "$ROOT/policy-metadata.yml"
}

# What the tests' own kwctl says of the pushed policy.
of_policy() {
    local command=$1
    shift
    "$KWCTL" --no-color $command --sources-path "$BATS_FILE_TMPDIR/sources.yaml" "$@" 2>"$BATS_TEST_TMPDIR/stderr"
}

# A trust root with an authority that nothing comes from: kwctl wants one, also for signatures by key.
trust_root() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=nobody -days 2 -keyout "$BATS_FILE_TMPDIR/authority.key" \
        -outform DER -out "$BATS_FILE_TMPDIR/authority.der" 2>/dev/null
    jq -n --arg certificate "$(openssl base64 -A -in "$BATS_FILE_TMPDIR/authority.der")" '{
        mediaType: "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json", signingConfig: {}, trustedRoot: {
            mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1", tlogs: [], ctlogs: [], timestampAuthorities: [],
            certificateAuthorities: [{subject: {organization: "nobody", commonName: "nobody"}, uri: "https://nobody.example.com",
                certChain: {certificates: [{rawBytes: $certificate}]}, validFor: {start: "2020-01-01T00:00:00Z"}}]}}'
}

verify() {
    of_policy verify --sigstore-trust-config "$BATS_FILE_TMPDIR/trust.json" "$@"
}

# Both must be the same JSON: expected, and found.
same() {
    diff -u --label expected <(jq -S . <<<"$1") --label found <(jq -S . <<<"$2")
}

@test "annotating warns of nothing: the metadata names the capabilities that the module has, and no others" {
    diff -u --label nothing /dev/null "$BATS_FILE_TMPDIR/annotated"
}

@test "a capability that the metadata doesn't name is warned of" {
    grep -v 'oci/v2/verify' "$ROOT/policy-metadata.yml" >"$BATS_TEST_TMPDIR/metadata.yml"
    "$KWCTL" --no-color annotate -m "$BATS_TEST_TMPDIR/metadata.yml" -o "$BATS_TEST_TMPDIR/module.wasm" "$ROOT/policy.wasm" 2>"$BATS_TEST_TMPDIR/stderr"
    grep WARN "$BATS_TEST_TMPDIR/stderr" | grep --fixed-strings oci/v2/verify
}

@test "nothing is pushed to the registry that stands in the metadata for nobody's" {
    run ! release -o annotated-policy.wasm push OCI_URL=registry.example.com/image-admission
    [[ $output == *"\`registry.example.com/image-admission\` is nobody's registry"* ]]
    [ ! -e "$ROOT/pushed.json" ]
}

@test "the immutable reference names what the registry has" {
    same "{\"immutable_ref\": \"$REFERENCE@$(digest "policies/image-admission:v$VERSION")\"}" "$(cat "$BATS_FILE_TMPDIR/pushed.json")"
    [ "$(of_policy digest "registry://$REFERENCE:v$VERSION")" = "registry://$REFERENCE:v$VERSION@$(digest "policies/image-admission:v$VERSION")" ]
}

@test "the manifest in the registry has the module's digest and the metadata's annotations" {
    local manifest annotations
    manifest=$(curl --silent --fail -H "accept: application/vnd.oci.image.manifest.v1+json" "http://$REGISTRY/v2/policies/image-admission/manifests/v$VERSION")
    annotations=$(metadata | jq --arg kwctl "$("$KWCTL" --version | sed -n '1s/kwctl //p')" '.annotations + {"io.kubewarden.kwctl": $kwctl}')
    same "$(jq -n --argjson annotations "$annotations" --arg digest "sha256:$(sha256 <"$POLICY")" --argjson size "$(wc -c <"$POLICY")" '
        {annotations: $annotations, layers: [{mediaType: "application/vnd.wasm.content.layer.v1+wasm", digest: $digest, size: $size}]}')" \
        "$(jq '{annotations, layers}' <<<"$manifest")"
}

@test "what is pulled, by tag or by digest, is what was pushed" {
    of_policy pull --output-path "$BATS_TEST_TMPDIR/tag.wasm" "registry://$REFERENCE:v$VERSION"
    cmp "$POLICY" "$BATS_TEST_TMPDIR/tag.wasm"
    of_policy pull --output-path "$BATS_TEST_TMPDIR/digest.wasm" "registry://$(jq -r .immutable_ref "$BATS_FILE_TMPDIR/pushed.json")"
    cmp "$POLICY" "$BATS_TEST_TMPDIR/digest.wasm"
}

@test "what kwctl keeps of it is the same, and is found by its checksum" {
    of_policy pull "registry://$REFERENCE:v$VERSION"
    cmp "$POLICY" "$XDG_CACHE_HOME/kubewarden/store/registry/$REFERENCE:v$VERSION"
    "$KWCTL" inspect --output yaml "$(sha256 <"$POLICY" | cut -c 1-12)" >"$BATS_TEST_TMPDIR/inspected.yaml"
    [ "$(json "$BATS_TEST_TMPDIR/inspected.yaml" | jq -r '.annotations["io.kubewarden.policy.version"]')" = "$VERSION" ]
}

@test "inspecting it shows the metadata, and README.md as what there is to say of settings" {
    of_policy inspect --output yaml "registry://$REFERENCE:v$VERSION" >"$BATS_TEST_TMPDIR/inspected.yaml"
    local found ordered='.contextAwareResources |= sort_by(.apiVersion, .kind) | .hostCapabilities |= sort'
    found=$(json "$BATS_TEST_TMPDIR/inspected.yaml")
    same "$(metadata | jq --arg kwctl "$("$KWCTL" --version | sed -n '1s/kwctl //p')" '. + {protocolVersion: "v1"} | .annotations["io.kubewarden.kwctl"] = $kwctl | '"$ordered")" \
        "$(jq "del(.annotations[\"io.kubewarden.policy.usage\"]) | $ordered" <<<"$found")"
    # Its links lead somewhere from wherever it is shown.
    jq -j '.annotations["io.kubewarden.policy.usage"]' <<<"$found" | cmp - <("$ROOT/.ci/absolute-links" "$ROOT/README.md")
}

@test "run from the registry, by tag and by digest, it accepts and rejects" {
    push team/app:1.0
    settings <<'END'
preScanPolicies: {customPolicies: [{prefix: docker.io/, action: reject}]}
scanPolicies: {defaultPolicy: accept}
END
    for MODULE in "registry://$REFERENCE:v$VERSION" "registry://$(jq -r .immutable_ref "$BATS_FILE_TMPDIR/pushed.json")"; do
        pod "$REGISTRY/team/app:1.0"
        decide
        expect <<END
{"allowed": true, "patch": $(pins "$REGISTRY/team/app:1.0" "$(digest team/app:1.0)"),
    "warnings": ["image '$REGISTRY/team/app:1.0' is admitted by policy, its scan status is 'scan_failed'"]}
END
        pod nginx
        decide
        expect <<<"{\"allowed\": false, \"message\": \"Pre-scan rejected. Reasons: Image 'nginx' REJECTED. Global custom policy (prefix 'docker.io/')\"}"
    done
}

@test "the release's key verifies it, and what is pulled by it; another key doesn't" {
    verify --verification-key "$BATS_FILE_TMPDIR/release.pub" "registry://$REFERENCE:v$VERSION"
    of_policy pull --sigstore-trust-config "$BATS_FILE_TMPDIR/trust.json" --verification-key "$BATS_FILE_TMPDIR/release.pub" \
        --output-path "$BATS_TEST_TMPDIR/verified.wasm" "registry://$REFERENCE:v$VERSION"
    cmp "$POLICY" "$BATS_TEST_TMPDIR/verified.wasm"
    run ! verify --verification-key "$BATS_FILE_TMPDIR/other.pub" "registry://$REFERENCE:v$VERSION"
    grep --fixed-strings 'Image verification failed: missing signatures' "$BATS_TEST_TMPDIR/stderr"
    run ! of_policy pull --sigstore-trust-config "$BATS_FILE_TMPDIR/trust.json" --verification-key "$BATS_FILE_TMPDIR/other.pub" \
        --output-path "$BATS_TEST_TMPDIR/foreign.wasm" "registry://$REFERENCE:v$VERSION"
    [ ! -e "$BATS_TEST_TMPDIR/foreign.wasm" ]
}

@test "a policy server's verification settings take it, and nothing else that is put at its tag" {
    jq -n --rawfile key "$BATS_FILE_TMPDIR/release.pub" '{apiVersion: "v1", allOf: [{kind: "pubKey", owner: "release", key: $key}]}' >"$BATS_TEST_TMPDIR/verification.yaml"
    verify --verification-config-path "$BATS_TEST_TMPDIR/verification.yaml" "registry://$REFERENCE:v$VERSION"
    # A signature is of a digest: what the tag names later needs its own.
    "$KWCTL" annotate -m "$ROOT/policy-metadata.yml" -o "$BATS_TEST_TMPDIR/another.wasm" "$ROOT/policy.wasm"
    of_policy push "$BATS_TEST_TMPDIR/another.wasm" "registry://$REGISTRY/policies/moved:v1"
    run ! verify --verification-config-path "$BATS_TEST_TMPDIR/verification.yaml" "registry://$REGISTRY/policies/moved:v1"
    sign policies/moved:v1 release
    verify --verification-config-path "$BATS_TEST_TMPDIR/verification.yaml" "registry://$REGISTRY/policies/moved:v1"
    of_policy push "$POLICY" "registry://$REGISTRY/policies/moved:v1"
    run ! verify --verification-config-path "$BATS_TEST_TMPDIR/verification.yaml" "registry://$REGISTRY/policies/moved:v1"
}

@test "the verification settings in docs/releasing.md are read, and ask for the workflow's signature" {
    awk '/^  verification-config: \|/ { inside = 1; next } /^---/ { inside = 0 } inside { sub(/^    /, ""); print }' "$ROOT/docs/releasing.md" >"$BATS_TEST_TMPDIR/verification.yaml"
    local identity
    identity=$(json "$BATS_TEST_TMPDIR/verification.yaml" | jq -er '.allOf[0].subject.equal')
    [[ $identity == */.github/workflows/release.yml@refs/tags/v$VERSION ]]
    run ! verify --verification-config-path "$BATS_TEST_TMPDIR/verification.yaml" "registry://$REFERENCE:v$VERSION"
    # The signature that is there is by a key.
    sed -n '/^Image verification failed/,/^$/p' "$BATS_TEST_TMPDIR/stderr" >"$BATS_TEST_TMPDIR/unsatisfied"
    diff -u - "$BATS_TEST_TMPDIR/unsatisfied" <<END
Image verification failed: missing signatures
The following constraints were not satisfied:
kind: genericIssuer
issuer: https://token.actions.githubusercontent.com
subject: !equal $identity
annotations: null

END
}

@test "the manifest that kwctl makes of it has the rules of deploy/, and every kind that deploy/ lets it read" {
    of_policy "scaffold manifest" --allow-context-aware --type ClusterAdmissionPolicy "registry://$REFERENCE:v$VERSION" >"$BATS_TEST_TMPDIR/made.yaml"
    local made ours kinds
    made=$(json "$BATS_TEST_TMPDIR/made.yaml")
    ours=$(json "$ROOT/deploy/cluster-admission-policy.yaml")
    same "$(jq '{apiVersion, kind, name: .metadata.name, annotations: .metadata.annotations, rules: .spec.rules, mutating: .spec.mutating}' <<<"$ours")" \
        "$(jq '{apiVersion, kind, name: .metadata.name, annotations: .metadata.annotations, rules: .spec.rules, mutating: .spec.mutating}' <<<"$made")"
    [ "$(jq -r .spec.module <<<"$made")" = "registry://$REFERENCE:v$VERSION" ]
    # Each source adds its own, and so does what the metadata lists beside them.
    sed -n 's,^ *- {op: add\, path: /spec/contextAwareResources/-\, value: \({.*}\)}$,- \1,p' "$ROOT"/deploy/{sources/{sbomscanner,trivy-operator,kubescape},exemptions,evidence,sboms-sbomscanner,sboms-trivy-operator}/kustomization.yaml >"$BATS_TEST_TMPDIR/kinds.yaml"
    kinds=$(json "$BATS_TEST_TMPDIR/kinds.yaml" | jq 'unique')
    same "$kinds" "$(jq '.spec.contextAwareResources | unique' <<<"$made")"
}

@test "what Artifact Hub gets is what is committed, but for when it was made" {
    release artifacthub
    local folder=$ROOT/target/artifacthub files='artifacthub-repo.yml policies/image-admission/README.md policies/image-admission/artifacthub-pkg.yml'
    [ ! -e "$ROOT/questions-ui.yml" ] || files+=' policies/image-admission/questions-ui.yml'
    [ "$(cd "$folder" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort | tr '\n' ' ')" = "$files " ]
    cmp <("$ROOT/.ci/absolute-links" "$ROOT/README.md") "$folder/policies/image-admission/README.md"
    same "$(json "$ROOT/artifacthub-pkg.yml" | jq 'del(.createdAt)')" "$(json "$folder/policies/image-admission/artifacthub-pkg.yml" | jq 'del(.createdAt)')"
    json "$folder/policies/image-admission/artifacthub-pkg.yml" | jq -e '(.createdAt[:19] + "Z" | fromdate) > now - 600' >"$BATS_TEST_TMPDIR/recent"
}

@test "the branch for Artifact Hub begins, and goes on, with these files alone" {
    local work=$BATS_TEST_TMPDIR/work remote=$BATS_TEST_TMPDIR/remote.git
    export GIT_AUTHOR_NAME=release GIT_AUTHOR_EMAIL=release@example.com GIT_COMMITTER_NAME=release GIT_COMMITTER_EMAIL=release@example.com
    git init --quiet --bare "$remote"
    git init --quiet "$work"
    cd "$work"
    git remote add origin "$remote"
    mkdir -p made/policies
    echo /made >.gitignore
    echo code >code
    git add --all
    git commit --quiet --message code
    echo 1 >made/policies/old
    "$ROOT/.ci/artifacthub-branch" made 'the first'
    echo 2 >made/policies/new
    rm made/policies/old
    "$ROOT/.ci/artifacthub-branch" made 'the second'
    # Once more, nothing is new.
    "$ROOT/.ci/artifacthub-branch" made 'the third'
    [ "$(git -C "$remote" log --format=%s artifacthub | tr '\n' ,)" = 'the second,the first,' ]
    [ "$(git -C "$remote" ls-tree -r --name-only artifacthub)" = policies/new ]
    [ "$(git -C "$remote" show artifacthub:policies/new)" = 2 ]
    [ -z "$(git status --porcelain)" ]
    git remote set-url origin "$BATS_TEST_TMPDIR/nowhere"
    run ! "$ROOT/.ci/artifacthub-branch" made 'the fourth'
}

@test "each version of the site stays, and the top leads to the newest" {
    local work=$BATS_TEST_TMPDIR/work remote=$BATS_TEST_TMPDIR/remote.git
    export GIT_AUTHOR_NAME=release GIT_AUTHOR_EMAIL=release@example.com GIT_COMMITTER_NAME=release GIT_COMMITTER_EMAIL=release@example.com
    git init --quiet --bare "$remote"
    git init --quiet "$work"
    cd "$work"
    git remote add origin "$remote"
    version() { # its number, and what it says
        rm -rf built
        mkdir -p "built/v$1"
        echo "$2" | tee "built/v$1/index.html" >"built/v$1/404.html"
        "$ROOT/.ci/site-branch" built "site $1"
    }
    version 0.9.0 first
    version 0.10.0 second
    # Once more, nothing is new; and a version that was mended.
    version 0.10.0 second
    version 0.9.0 mended
    [ "$(git -C "$remote" log --format=%s gh-pages | tr '\n' ,)" = 'site 0.9.0,site 0.10.0,site 0.9.0,' ]
    [ "$(git -C "$remote" show gh-pages:v0.9.0/index.html)" = mended ]
    [ "$(git -C "$remote" show gh-pages:v0.10.0/index.html)" = second ]
    [ "$(git -C "$remote" show gh-pages:versions.json)" = '["0.10.0","0.9.0"]' ]
    git -C "$remote" show gh-pages:index.html | grep -qF 'url=v0.10.0/'
}

@test "kwctl measures it from the registry" {
    settings <<<'preScanPolicies: {defaultPolicy: reject}'
    pod nginx
    of_policy bench --sigstore-trust-config "$BATS_FILE_TMPDIR/trust.json" --warm-up-time 1 --measurement-time 1 --settings-path "$BATS_TEST_TMPDIR/settings.yaml" \
        --request-path "$BATS_TEST_TMPDIR/request.json" "registry://$REFERENCE:v$VERSION" >"$BATS_TEST_TMPDIR/measured"
    # A line of times for each of the two functions, with more than one sample.
    [ "$(grep -c 'iterations in .* samples\]' "$BATS_TEST_TMPDIR/measured")" = 2 ]
}
