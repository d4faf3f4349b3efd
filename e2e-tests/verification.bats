# Who signed an image, and what was attested of it. Keys, signatures and envelopes are made here, and are in a live registry.

load host

setup_file() {
    start_registry
    make_key team
    make_key other
    push signed/app:1.0 linux/amd64 linux/arm64
    sign signed/app:1.0 team '{"env": "prod"}'
    push signed/none:1.0
    push signed/foreign:1.0
    sign signed/foreign:1.0 other
    attest signed/app:1.0 "$(digest signed/app:1.0)" https://ci.example.com
    push signed/replayed:1.0
    attest signed/replayed:1.0 "$(digest signed/app:1.0)" https://ci.example.com
    push signed/forged:1.0
    attest signed/forged:1.0 "$(digest signed/forged:1.0)" https://ci.example.com https://elsewhere.example.com
}

teardown_file() {
    stop_registry
}

# An envelope beside an image, by the team's key: about a digest, built by $3. With $4 that is what was signed.
attest() {
    local type=application/vnd.in-toto+json payload signed
    payload=$(statement "$2" "$3")
    signed=$(statement "$2" "${4:-$3}")
    jq -n --arg type "$type" --arg payload "$payload" --arg signature "$(printf 'DSSEv1 %d %s %d %s' ${#type} "$type" ${#signed} "$signed" | signature team)" \
        '{payloadType: $type, payload: ($payload | @base64), signatures: [{sig: $signature}]}' | attach "$1" slsa application/vnd.dsse.envelope.v1+json
}

statement() {
    jq -cn --arg digest "${1#sha256:}" --arg builder "$2" '{_type: "https://in-toto.io/Statement/v1", predicateType: "https://slsa.dev/provenance/v1",
        subject: [{name: "app", digest: {sha256: $digest}}], predicate: {runDetails: {builder: {id: $builder}}}}'
}

# Settings of one policy about signatures; $1 is more fields of it.
signed() {
    settings <<END
preScanPolicies: {defaultPolicy: accept}
imageVerification:
  - name: signed
    verifyPreScanAccepted: true
    attestors:
      - {name: team, cosign: {key: {data: $(public_key team)}}}
      - {name: prod, cosign: {key: {data: $(public_key team)}, annotations: {env: prod}}}
      - {name: dev, cosign: {key: {data: $(public_key team)}, annotations: {env: dev}}}
    attestations: [{name: slsa, intoto: {type: "https://slsa.dev/provenance/v1"}, tagSuffix: slsa}]
    verifications:
      - {expression: "${1:-images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)}", message: sign it}
    ${2:-}
END
}

attested() {
    signed "images.all.all(i, verifyAttestationSignatures(i, attestations.slsa, [attestors.team]) > 0 && payload(i, attestations.slsa).predicate.runDetails.builder.id == 'https://$1')"
}

# The answer that admits the image, verified by $2, and pins it.
expect_pinned() {
    expect <<END
{"allowed": true, "patch": $(pins "$REGISTRY/$1" "$(digest "$1")"), "auditAnnotations": {
    "verdict": "allowed", "reason": "pre-scan accepts every image",
    "container-1.image": "$REGISTRY/$1", "container-1.pre-scan": "accept: Global default policy", "container-1.verified-by": "$2"}}
END
}

@test "a signed image is admitted, and pinned to the digest that was signed" {
    signed
    pod "$REGISTRY/signed/app:1.0"
    decide
    expect_pinned signed/app:1.0 'team (signed)'
}

@test "an image that nobody signed is rejected" {
    signed
    pod "$REGISTRY/signed/app:1.0" "$REGISTRY/signed/none:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/none:1.0': not signed in a form that can be read (after \`cosign sign\` or \`notation sign\`, run \`image-admission attach\`); team (its key) must sign $REGISTRY/signed/none@$(digest signed/none:1.0)"}
END
}

@test "an image that another key signed is rejected" {
    signed
    pod "$REGISTRY/signed/foreign:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/foreign:1.0': signed, but not by team (its key)"}
END
}

@test "an annotation that an attestor asks for must be in the signature" {
    signed "images.all.all(i, verifyImageSignatures(i, [attestors.prod]) > 0)"
    pod "$REGISTRY/signed/app:1.0"
    decide
    expect_pinned signed/app:1.0 'prod (signed)'
    signed "images.all.all(i, verifyImageSignatures(i, [attestors.dev]) > 0)"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/app:1.0': signed, but not by dev (its key, with \`env: dev\`)"}
END
}

@test "an attestation is verified, and its payload read" {
    attested ci.example.com
    pod "$REGISTRY/signed/app:1.0"
    decide
    expect_pinned signed/app:1.0 'team (slsa) (signed)'
    attested other.example.com
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it"}
END
}

@test "an attestation that is missing, about another image, or forged, is none" {
    attested ci.example.com
    pod "$REGISTRY/signed/none:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/none:1.0': no attestation slsa of team: there is none at $REGISTRY/signed/none:$(digest signed/none:1.0 | tr : -).slsa"}
END
    pod "$REGISTRY/signed/replayed:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/replayed:1.0': no attestation slsa of team: $REGISTRY/signed/replayed@$(beside signed/replayed:1.0 slsa) is a statement about another image"}
END
    pod "$REGISTRY/signed/forged:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/forged:1.0': no attestation slsa of team: $REGISTRY/signed/forged@$(beside signed/forged:1.0 slsa) is refused: no signature of the envelope was made with \`team\`; sign it with such a key, or add the key it was signed with"}
END
}

@test "a resource of Kyverno's is read" {
    settings <<END
preScanPolicies: {defaultPolicy: accept}
imageVerification:
  - apiVersion: policies.kyverno.io/v1alpha1
    kind: ImageValidatingPolicy
    metadata: {name: check-images}
    spec:
      verifyPreScanAccepted: true
      validationActions: [Deny]
      matchConstraints:
        resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
      matchImageReferences: [{glob: "$REGISTRY/signed/*"}]
      attestors: [{name: team, cosign: {key: {data: $(public_key team)}}}]
      validations:
        - expression: images.containers.map(image, verifyImageSignatures(image, [attestors.team])).all(e, e > 0)
          message: failed image signature verification
END
    pod "$REGISTRY/signed/foreign:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy check-images failed: failed image signature verification\n'$REGISTRY/signed/foreign:1.0': signed, but not by team (its key)"}
END
    pod "$REGISTRY/signed/app:1.0"
    decide
    expect_pinned signed/app:1.0 'team (check-images)'
}

@test "an image that pre-scan accepts needs no signature, unless the policy says so" {
    signed
    pod "$REGISTRY/signed/none:1.0"
    decide
    jq -e '.allowed == false' "$BATS_TEST_TMPDIR/answer.json"
    sed -i.bak 's/verifyPreScanAccepted: true/verifyPreScanAccepted: false/' "$BATS_TEST_TMPDIR/settings.yaml"
    decide
    expect <<<'{"allowed": true}'
}

@test "a policy may only warn, or only write into the audit log" {
    signed "" "validationActions: [Warn]
    mutateDigest: false"
    pod "$REGISTRY/signed/none:1.0"
    decide
    expect <<<'{"allowed": true, "warnings": ["Policy signed failed: sign it"]}'
    signed "" "validationActions: [Audit]
    mutateDigest: false"
    decide
    expect <<END
{"allowed": true, "auditAnnotations": {
    "verdict": "allowed", "reason": "pre-scan accepts every image", "container-1.image": "$REGISTRY/signed/none:1.0", "container-1.pre-scan": "accept: Global default policy",
    "verification.signed": "Policy signed failed: sign it; '$REGISTRY/signed/none:1.0': not signed in a form that can be read (after \`cosign sign\` or \`notation sign\`, run \`image-admission attach\`); team (its key) must sign $REGISTRY/signed/none@$(digest signed/none:1.0)"}}
END
}

@test "images that no policy looked at are named in a warning" {
    signed "" "matchConstraints: {imageRules: {references: ['*/signed/app*']}}"
    pod "$REGISTRY/signed/none:1.0"
    decide
    expect <<END
{"allowed": true, "warnings": ["image '$REGISTRY/signed/none:1.0' is one that no verification policy looked at"]}
END
}

@test "what a running Pod has needs no signature to be updated" {
    signed
    pod "$REGISTRY/signed/none:1.0"
    was "$REGISTRY/signed/none:1.0"
    decide
    expect <<<'{"allowed": true}'
    was "$REGISTRY/signed/app:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed failed: sign it\n'$REGISTRY/signed/none:1.0': not signed in a form that can be read (after \`cosign sign\` or \`notation sign\`, run \`image-admission attach\`); team (its key) must sign $REGISTRY/signed/none@$(digest signed/none:1.0)"}
END
}

@test "an image that the registry doesn't have is an error of the policy" {
    signed
    pod "$REGISTRY/signed/gone:1.0"
    decide
    expect <<END
{"allowed": false, "message": "Policy signed error: imageVerification[0].verifications[0].expression: verifyImageSignatures: its digest can't be looked up: the registry has no such manifest"}
END
}
