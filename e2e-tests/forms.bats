# What cosign and oras write beside an image, and which of it counts. The files in `forms` hold what the real tools wrote, each
# with its commands (forms/record.py); the table "What counts" in forms/README.md says what becomes of each.

load host

FORMS=$BATS_TEST_DIRNAME/forms
SLSA=https://slsa.dev/provenance/v1

setup_file() {
    start_registry
    local form
    for form in $(forms); do
        place "$form"
    done
}

teardown_file() {
    stop_registry
}

# The names of all recorded forms.
forms() {
    local file
    for file in "$FORMS"/*.json; do
        file=$(basename "$file" .json)
        [ "$file" = keys ] || [ "$file" = trust ] || echo "$file"
    done
}

# Asks about the image of a form: $2 is who must have signed (or a name of forms/keys.json), $3 the attestation, if it is about one,
# and $4 more of the expression.
ask() {
    local attestor=$2 expression="verifyImageSignatures(i, [attestors.team]) > 0"
    [[ $attestor == *:* ]] || attestor="key: {data: $(jq --arg key "$attestor" '.[$key]' "$FORMS/keys.json")}"
    [ -z "${3-}" ] || expression="verifyAttestationSignatures(i, attestations.it, [attestors.team]) > 0"
    settings <<END
preScanPolicies: {defaultPolicy: accept}
imageVerification:
  - name: signed
    verifyPreScanAccepted: true
    attestors: [{name: team, cosign: {$attestor}}]
    attestations: [${3:+{name: it, $3\}}]
    verifications:
      - {expression: "images.all.all(i, $expression${4-})", message: sign it}
END
    pod "$REGISTRY/forms/$1:1.0"
    decide
}

# Asks about a form what it is meant for.
ask_about() {
    local certificates
    case $1 in
    *-keyless-attest) TRUST=$FORMS/trust.json ask "$1" team "intoto: {type: '$SLSA'}" ;;
    *-keyless*) TRUST=$FORMS/trust.json ask "$1" "keyless: {identities: [{issuer: 'http://127.0.0.1:3044', subject: someone@example.com}]}" ;;
    *-logged) TRUST=$FORMS/trust.json ask "$1" team ;;
    *-certificate-*)
        certificates=$(jq -r '"cert: \(.leaf | tojson), certChain: \(.ca | tojson)"' "$FORMS/keys.json")
        ask "$1" "certificate: {$certificates}, ctlog: {ignoreTlog: true}"
        ;;
    *-sign-oras) ask "$1" team "intoto: {type: 'https://sigstore.dev/cosign/sign/v1'}, tagSuffix: signed" ;;
    *-ed25519-oras) ask "$1" ed25519 "intoto: {type: '$SLSA'}, tagSuffix: slsa" ;;
    everything | *-oras) ask "$1" team "intoto: {type: '$SLSA'}, tagSuffix: slsa" ;;
    *-vuln) ask "$1" team "intoto: {type: 'https://cosign.sigstore.dev/attestation/vuln/v1'}" ;;
    *-custom) ask "$1" team "intoto: {type: 'https://cosign.sigstore.dev/attestation/v1'}" ;;
    *-attest*) ask "$1" team "intoto: {type: '$SLSA'}" ;;
    oras-push-signed) ask "$1" team "referrer: {type: application/spdx+json}" " && payload(i, attestations.it).spdxVersion == 'SPDX-2.3'" ;;
    oras-attach*) ask "$1" team "referrer: {type: application/spdx+json}" ;;
    cosign2-attach-sbom) ask "$1" team "referrer: {type: text/spdx}, tagSuffix: sbom" ;;
    *-rsa | *-p384 | *-ed25519) ask "$1" "${1##*-}" ;;
    *) ask "$1" team ;;
    esac
}

# The message must have this in it; $1 is none where the request must be allowed.
says() {
    local message
    message=$(jq -r '.message // ""' "$BATS_TEST_TMPDIR/answer.json")
    if [ -z "$1" ]; then
        jq -e .allowed "$BATS_TEST_TMPDIR/answer.json" >/dev/null || { echo "$message"; return 1; }
    elif [[ $message != *"$1"* ]]; then
        echo "without \`$1\`: $message"
        return 1
    fi
}

# The rows of the table: `<yes or no> <form>`.
table() {
    sed -n '/^### What counts/,/^#/p' "$ROOT/e2e-tests/forms/README.md" | awk -F'|' '/^\| `/ {
        split($5, words, /[^a-z]/); answer = words[2]
        gsub(/[`,]/, " ", $2); count = split($2, names, " ")
        for (i = 1; i <= count; i++) print answer, names[i]
    }'
}

@test "the table says of each form what the host says" {
    diff -u --label recorded <(forms | sort) --label "in the table" <(table | cut -d' ' -f2 | sort)
    local expected form answer
    while read -r expected form; do
        ask_about "$form"
        answer=$(jq -r 'if .allowed then "yes" else "no" end' "$BATS_TEST_TMPDIR/answer.json")
        [ "$answer" = "$expected" ] || { echo "$form: the guide says $expected, the host $answer: $(jq -r .message "$BATS_TEST_TMPDIR/answer.json")"; return 1; }
    done < <(table)
}

@test "a signature that cosign 3 wrote as a bundle is named, with the way out" {
    ask cosign3-sign team
    says "not signed by team (its key): what was pushed as \`application/vnd.dev.sigstore.bundle.v0.3+json\` can't be read: it is a layer, which hosts don't hand out: \`image-admission attach $REGISTRY/forms/cosign3-sign@$(digest forms/cosign3-sign:1.0)\` makes it readable"
    # So is the old format among the referrers.
    ask cosign3-sign-classic-referrers team
    says "not signed by team (its key): what was pushed as \`application/vnd.dev.cosign.artifact.sig.v1+json\` can't be read: it is a layer, which hosts don't hand out: "
    ask cosign3-sign-classic other
    says "signed, but not by team (its key)"
}

@test "an attestation that cosign wrote as a bundle is named, with the way out" {
    ask cosign3-attest team "intoto: {type: '$SLSA'}"
    says "it is a layer, which hosts don't hand out: \`image-admission attach $REGISTRY/forms/cosign3-attest@$(digest forms/cosign3-attest:1.0)\` makes it readable"
    ask cosign3-download-oras team "intoto: {type: '$SLSA'}, tagSuffix: slsa" " && payload(i, attestations.it).predicate.runDetails.builder.id == 'https://ci.example'"
    says ""
    ask cosign3-download-oras other "intoto: {type: '$SLSA'}, tagSuffix: slsa"
    says "is refused: no signature of the envelope was made with \`team\`"
}

@test "a document that oras attach wrote as a layer is signed, and can't be read" {
    ask oras-attach-signed team "referrer: {type: application/spdx+json}"
    says ""
    ask oras-attach-signed team "referrer: {type: application/spdx+json}" " && payload(i, attestations.it).spdxVersion == 'SPDX-2.3'"
    says "its configuration is empty: the document may be a layer, as \`oras attach\` writes it"
}

@test "an annotation that cosign signed is one that an attestor may ask for" {
    ask cosign3-sign-classic-annotated "key: {data: $(jq .team "$FORMS/keys.json")}, annotations: {env: prod}"
    says ""
    ask cosign3-sign-classic "key: {data: $(jq .team "$FORMS/keys.json")}, annotations: {env: prod}"
    says "signed, but not by team (its key, with \`env: prod\`)"
}

# With a trust root, an entry of another log makes a signature by key one that can't be verified.
@test "a signature with an entry of a log that the host doesn't know doesn't count" {
    ask cosign3-sign-classic-logged team
    says ""
    jq '.trustedRoot.tlogs[0].logId.keyId = "AAAA"' "$FORMS/trust.json" >"$BATS_TEST_TMPDIR/other.json"
    TRUST=$BATS_TEST_TMPDIR/other.json ask cosign3-sign-classic-logged team
    says "signed, but no signature is of this digest and can be verified"
    TRUST=$BATS_TEST_TMPDIR/other.json ask cosign3-sign-classic team
    says ""
}

@test "a keyless signature counts for its identity alone" {
    TRUST=$FORMS/trust.json ask cosign3-keyless-classic "keyless: {identities: [{issuer: 'http://127.0.0.1:3044', subject: other@example.com}]}"
    says "signed, but not by team (\`other@example.com\` of http://127.0.0.1:3044)"
}
