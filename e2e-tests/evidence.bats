# Signatures and attested documents that the module verifies by itself. Real tools made them, for one image (crates/evidence/tests/made);
# they are beside it in a live registry, as `image-admission attach` puts them there, or in an object of the cluster, whose answer is recorded.

load host

MADE=$BATS_TEST_DIRNAME/../crates/evidence/tests/made
WORKFLOW=https://github.com/team/app/.github/workflows/release.yml@refs/tags/v1.0.0
SLSA=https://slsa.dev/provenance/v1

setup_file() {
    start_registry
    local file
    for file in sign-p256.json workflow-sign.json keyless-timestamped.json attest-slsaprovenance1.json att-p256.json notation-jws-p256.json notation-cose-p256.base64; do
        push_made "made/${file%.*}"
        keep_beside "made/${file%.*}" "$file"
        push "moved/${file%.*}:1.0"
        keep_beside "moved/${file%.*}" "$file"
    done
}

teardown_file() {
    stop_registry
}

# Pushes the image that the files are about into a repository.
push_made() {
    printf 'an image\n' | put_blob "$1"
    printf '{"os":"linux","architecture":"amd64","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$(printf 'an image\n' | sha256)" | put_blob "$1"
    put_manifest "$1" 1.0 <"$MADE/image.json"
}

# Puts a file beside the image of a repository: as an artifact's configuration, in the index at the tag of the image's digest.
keep_beside() {
    local digest type artifact=$BATS_FILE_TMPDIR/artifact.json config
    digest=$(digest "$1:1.0")
    type=$(media_type "$2")
    config=$(configuration "$2" | put_blob "$1")
    image_manifest "$config" "$type" "$(echo '{}' | put_blob "$1")" application/vnd.oci.empty.v1+json | jq --arg digest "$digest" '
        .artifactType = "application/vnd.image-admission.evidence.v1+json" | .subject = {mediaType, $digest, size: 1}' >"$artifact"
    put_manifest "$1" "sha256:$(sha256 <"$artifact")" <"$artifact"
    jq --arg digest "sha256:$(sha256 <"$artifact")" --argjson size "$(wc -c <"$artifact")" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [{mediaType, artifactType, $digest, $size}]}' "$artifact" | put_manifest "$1" "${digest/:/-}"
}

media_type() {
    case $1 in
    att-*) echo application/vnd.dsse.envelope.v1+json ;;
    notation-jws-*) echo application/jose+json ;;
    notation-cose-*) echo application/vnd.image-admission.cose.v1+json ;;
    *) echo application/vnd.dev.sigstore.bundle.v0.3+json ;;
    esac
}

# Hosts read configurations as JSON, which an envelope in CBOR isn't.
configuration() {
    case $1 in
    *.base64) jq -R '{data: .}' "$MADE/$1" ;;
    *) cat "$MADE/$1" ;;
    esac
}

# A file as a string in settings.
text() {
    jq -Rs . "$MADE/$1"
}

# Who must have signed a file.
attestor() {
    case $1 in
    workflow-*) echo "cosign: {keyless: {identities: [{issuerRegExp: '^http://127[.]0[.]0[.]1:[0-9]+/workflow$', subject: '$WORKFLOW'}]}, trustRoot: {data: $(text root.json)}}" ;;
    keyless-*) echo "cosign: {keyless: {identities: [{issuerRegExp: '^http://127[.]0[.]0[.]1:[0-9]+$', subject: someone@example.com}]}, trustRoot: {data: $(text root-timestamps.json)}}" ;;
    notation-*) echo "notary: {certs: $(text notary-p256-ca.pem), trustedIdentities: ['x509.subject: C=DE, ST=Berlin, O=Example']}" ;;
    *) echo "cosign: {key: {data: $(text p256.pub)}}" ;;
    esac
}

# Asks about a file beside the image $2; $3 is more fields of the settings.
ask() {
    local expression="verifyImageSignatures(i, [attestors.team]) > 0" file=$1
    case $file in
    att*) expression="verifyAttestationSignatures(i, attestations.slsa, [attestors.team]) > 0 && payload(i, attestations.slsa).predicate.runDetails.builder.id == 'https://ci.example'" ;;
    esac
    settings <<END
preScanPolicies: {defaultPolicy: accept}
imageVerification:
  - name: signed
    verifyPreScanAccepted: true
    attestors: [{name: team, ${ATTESTOR:-$(attestor "$file")}}]
    attestations: [{name: slsa, intoto: {type: "$SLSA"}}]
    verifications: [{expression: "images.all.all(i, $expression)", message: sign it}]
${3-}
END
    pod "$2"
}

# The image must be admitted as signed, and pinned.
accepts() {
    ask "$1" "$REGISTRY/made/${1%.*}:1.0"
    decide
    expect <<END
{"allowed": true, "patch": $(pins "$REGISTRY/made/${1%.*}:1.0" "$(digest "made/${1%.*}:1.0")"), "auditAnnotations": {
    "verdict": "allowed", "reason": "pre-scan accepts every image",
    "container-1.image": "$REGISTRY/made/${1%.*}:1.0", "container-1.pre-scan": "accept: Global default policy", "container-1.verified-by": "team ($2) (signed)"}}
END
}

# Another image that has the same beside it must be rejected for what $2 says.
rejects_moved() {
    ask "$1" "$REGISTRY/moved/${1%.*}:1.0"
    decide
    says "$2"
}

# The request must be rejected, and the message have this in it.
says() {
    local message
    message=$(jq -r 'select(.allowed == false).message' "$BATS_TEST_TMPDIR/answer.json")
    [[ $message == *"$1"* ]] || { echo "without \`$1\`: $message"; return 1; }
}

# Puts files beside the image of a repository with the project's own command line.
attach() {
    local repository=$1 file bundles=()
    shift
    for file; do
        bundles+=(--bundle "$MADE/$file")
    done
    "${CARGO:-cargo}" run --manifest-path "$ROOT/Cargo.toml" --locked --quiet --package image-admission-cli --bin image-admission -- attach "$REGISTRY/$repository:1.0" "${bundles[@]}"
}

# Asks by the reports, and by the VEX documents where there are any, that the key $2 attested about the image of a repository.
ask_reports() {
    local attestors="[{name: ci, cosign: {key: {data: $(text "$2")}}}]"
    settings <<END
reports:
  sources: [{attestation: {predicateType: "https://cosign.sigstore.dev/attestation/vuln/v1", attestors: $attestors}}]
  vex: [{predicateType: "https://openvex.dev/ns", attestors: $attestors}]
END
    pod "$REGISTRY/$1:1.0"
    decide
}

about() {
    echo "is refused: the bundle is about \`$(digest "made/$1:1.0")\`, not about this image; sign this image"
}

@test "a bundle by a key counts for its image alone" {
    accepts sign-p256.json evidence
    rejects_moved sign-p256.json "$(about sign-p256)"
    ATTESTOR="cosign: {key: {data: $(text other.pub)}}" ask sign-p256.json "$REGISTRY/made/sign-p256:1.0"
    decide
    says "is refused: the signature was made with another key, or what was signed was changed; sign again"
}

@test "a bundle by a workflow's certificate, with entries of logs, counts for its image alone" {
    accepts workflow-sign.json evidence
    rejects_moved workflow-sign.json "$(about workflow-sign)"
    ATTESTOR=$(attestor workflow-sign.json | sed 's/release.yml/dev.yml/') ask workflow-sign.json "$REGISTRY/made/workflow-sign:1.0"
    decide
    says "is by \`$WORKFLOW\` of http://127.0.0.1:"
}

@test "a bundle by a person's certificate, with a timestamp alone, counts for its image alone" {
    accepts keyless-timestamped.json evidence
    rejects_moved keyless-timestamped.json "$(about keyless-timestamped)"
    # The other root wants entries of logs.
    ATTESTOR=$(attestor keyless-timestamped.json | sed 's/, trustRoot.*//')", trustRoot: {data: $(text root.json)}}" ask keyless-timestamped.json "$REGISTRY/made/keyless-timestamped:1.0"
    decide
    says "names \`someone@example.com\` as its signer, and is refused: "
}

@test "statements count for their image alone, and are read" {
    accepts attest-slsaprovenance1.json slsa
    rejects_moved attest-slsaprovenance1.json "$(about attest-slsaprovenance1)"
    accepts att-p256.json slsa
    rejects_moved att-p256.json "is a statement about another image"
}

@test "signatures of Notary Project count for their image alone, in JSON and in CBOR" {
    local file
    for file in notation-jws-p256.json notation-cose-p256.base64; do
        accepts $file evidence
        rejects_moved $file "is refused: the signature is about the image \`$(digest "made/${file%.*}:1.0")\`; sign the image that is to run"
        ATTESTOR=$(attestor $file | sed 's/O=Example/O=Other/') ask $file "$REGISTRY/made/${file%.*}:1.0"
        decide
        says "names \`CN=p256-leaf,O=Example,L=Berlin,ST=Berlin,C=DE\` as its signer, and is refused: "
    done
}

@test "attested reports and VEX documents count as soon as they are attached" {
    push_made made/reports
    ask_reports made/reports reports.pub
    says "no scan report yet among its attestations of type https://cosign.sigstore.dev/attestation/vuln/v1"
    attach made/reports report-vuln-trivy-clean.json
    ask_reports made/reports reports.pub
    jq -e .allowed "$BATS_TEST_TMPDIR/answer.json"
    ask_reports made/reports other.pub
    says "the attestation of $REGISTRY/made/reports@$(digest made/reports:1.0) is not signed by ci (its key): "
    attach made/reports report-vuln-trivy.json
    ask_reports made/reports reports.pub
    says "1 critical finding, at most 0 accepted: CVE-2025-0001 in libssl3 (fixed in 3.5.5-r0) (attestation: Trivy report $REGISTRY/made/reports@sha256:"
    attach made/reports vex-openvex.json
    ask_reports made/reports reports.pub
    jq -e .allowed "$BATS_TEST_TMPDIR/answer.json"
    attach made/reports vex-affected.json
    ask_reports made/reports reports.pub
    says "CVE-2025-0001 in libssl3 (fixed in 3.5.5-r0; VEX of ci says affected)"
}

# Nothing listens at this registry.
@test "an object of the cluster decides while the registry is down" {
    local image
    image=localhost:5001/evidence/app@sha256:$(sha256 <"$MADE/image.json")
    ask sign-p256.json "$image" "evidence: {fromCluster: true}
registries: [localhost:5001]"
    replay evidence-by-key
    jq -e .allowed "$BATS_TEST_TMPDIR/answer.json"
    ask notation-cose-p256.base64 "$image" "evidence: {fromCluster: true}
registries: [localhost:5001]"
    replay evidence-by-notation
    jq -e .allowed "$BATS_TEST_TMPDIR/answer.json"
    ATTESTOR="cosign: {key: {data: $(text other.pub)}}" ask sign-p256.json "$image" "evidence: {fromCluster: true}
registries: [localhost:5001]"
    replay evidence-by-another
    jq -e '.allowed == false' "$BATS_TEST_TMPDIR/answer.json"
}
