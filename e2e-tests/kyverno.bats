# Whether expressions come to the same here as in Kyverno's ImageValidatingPolicy. `kyverno/cases.json` has those of Kyverno's own
# tests, and more of what its environment has, with the answers of Kyverno's own compiler (kyverno/record.py): true, false, error,
# or refused when it is deployed. Where this policy answers otherwise, `here` says how, and `why`.

load host

setup_file() {
    start_registry
    place everything
}

teardown_file() {
    stop_registry
}

# The answer of this policy to the case at a position.
answer() {
    local key
    key() { jq ".$1" "$BATS_TEST_DIRNAME/forms/keys.json"; }
    settings <<END
preScanPolicies: {defaultPolicy: accept}
imageVerification:
  - name: cases
    verifyPreScanAccepted: true
    attestors:
      - {name: notary, cosign: {key: {data: $(key team)}}}
      - {name: cosign, cosign: {key: {data: $(key team)}}}
      - {name: other, cosign: {key: {data: $(key other)}}}
    attestations: [{name: slsa, intoto: {type: "https://slsa.dev/provenance/v1"}, tagSuffix: slsa}]
    variables: $(jq -c ".[$1].variables // []" "$CASES")
    images: $(jq -c ".[$1].images // []" "$CASES")
    validations: $(jq -c "[.[$1] | {expression}]" "$CASES")
END
    run_kwctl --sources-path "$BATS_FILE_TMPDIR/sources.yaml" || {
        grep -q "Provided settings are not valid" "$BATS_TEST_TMPDIR/stderr" && echo refused || kwctl_failed
        return
    }
    jq -r 'if .allowed then "true" elif .status.message | startswith("Policy cases failed: ") then "false" else "error" end' "$BATS_TEST_TMPDIR/stdout"
}

@test "expressions come to what they come to in Kyverno, or are listed" {
    CASES=$BATS_TEST_DIRNAME/kyverno/cases.json
    pod_object "$REGISTRY/forms/everything:1.0" | jq '.metadata.labels = {env: "prod"}' | object
    local position expected said wrong=0
    for position in $(jq 'keys[]' "$CASES"); do
        expected=$(jq -r ".[$position] | .here // .kyverno" "$CASES")
        said=$(answer "$position")
        if [ "$said" != "$expected" ]; then
            wrong=$((wrong + 1))
            echo "$said, not $expected: $(jq -r ".[$position].expression" "$CASES"): $(jq -r '.status.message // ""' "$BATS_TEST_TMPDIR/stdout" | head -2 | tr '\n' ' ' | cut -c1-200) $(grep -o 'not valid: .*' "$BATS_TEST_TMPDIR/stderr" | cut -c1-200)"
        fi
    done
    [ "$wrong" = 0 ]
}
