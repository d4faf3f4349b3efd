# A signed report beside the image, its limits and exemptions. The reports are made and signed here, and are in a live
# registry.

load host

setup_file() {
    start_registry
    make_key ci
    make_key other
    local name
    for name in clean bad unsigned foreign replayed none mixed referred; do
        push "ci/$name:1.0"
    done
    report | attach ci/clean:1.0 scan $trivy_json
    sign_report clean ci
    report "$critical" | attach ci/bad:1.0 scan $trivy_json
    sign_report bad ci
    report | attach ci/unsigned:1.0 scan $trivy_json
    report | attach ci/foreign:1.0 scan $trivy_json
    sign_report foreign other
    # The signed report of the clean image, copied beside another one, with its signature.
    report | put_blob ci/replayed
    echo '{}' | put_blob ci/replayed
    fetch "ci/clean:$(beside_tag clean)" | put_manifest ci/replayed "$(beside_tag replayed)"
    sign_report replayed ci
    # A report by its type, in the index of referrers.
    report "$critical" | attach ci/referred:1.0 scan $trivy_json
    sign_report referred ci
    fetch "ci/referred:$(beside_tag referred)" >"$BATS_FILE_TMPDIR/referred.json"
    jq -n --arg digest "$(beside ci/referred:1.0 scan)" --arg type $trivy_json --argjson size "$(wc -c <"$BATS_FILE_TMPDIR/referred.json")" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json", artifactType: $type, $digest, $size}]}' | put_manifest ci/referred "$(digest ci/referred:1.0 | tr : -)"
    # One vulnerability in two packages, one without a fix, and one that hardly matters.
    report "$critical" "$(finding CVE-2025-2001 CRITICAL libssl 3.1 9.8)" "$(finding CVE-2025-2002 HIGH busybox '' 8.1)" "$(finding CVE-2025-2003 LOW bash 5.3 3.1)" |
        attach ci/mixed:1.0 scan $trivy_json
}

teardown_file() {
    stop_registry
}

trivy_json=application/vnd.aquasec.trivy.report+json

# A finding as Trivy writes it: id, severity, package, the version that fixes it, score.
finding() {
    jq -cn --arg id "$1" --arg severity "$2" --arg package "$3" --arg fixed "$4" --argjson score "$5" '{VulnerabilityID: $id, Severity: $severity, PkgName: $package,
        PkgIdentifier: {PURL: "pkg:apk/alpine/\($package)@1.0"}, InstalledVersion: "1.0", FixedVersion: $fixed, CVSS: {nvd: {V3Score: $score}}}'
}

critical=$(finding CVE-2025-2001 CRITICAL openssl 3.1 9.8)

# A report as Trivy writes it, with these findings.
report() {
    printf '%s\n' "$@" | jq -s '{SchemaVersion: 2, CreatedAt: "2026-11-10T08:00:00Z", ArtifactName: "app", ArtifactType: "container_image",
        Metadata: {ImageConfig: {os: "linux", architecture: "amd64"}}, Results: [{Target: "app (alpine)", Class: "os-pkgs", Type: "alpine", Vulnerabilities: .}]}'
}

# The tag of the report beside ci/$1:1.0.
beside_tag() {
    local digest
    digest=$(digest "ci/$1:1.0")
    echo "${digest/:/-}.scan"
}

sign_report() {
    sign "ci/$1:$(beside_tag "$1")" "$2"
}

fetch() {
    curl --silent --fail -H "accept: application/vnd.oci.image.manifest.v1+json" "http://$REGISTRY/v2/${1%:*}/manifests/${1##*:}"
}

signed_by_ci() {
    settings <<END
reports: {sources: [{registry: {attestors: [{name: ci, cosign: {key: {data: $(public_key ci)}}}]}}]}
END
}

# Settings beside a source that takes reports that nobody signed.
limits() {
    settings <<END
reports: {sources: [{registry: {allowUnsigned: true}}]}
$1
END
}

# Expects that ci/$1:1.0 is admitted and pinned; $2 is more audit annotations than those of every admitted image.
expect_admitted() {
    local more=${2:-}
    expect <<END
{"allowed": true, "patch": $(pins "$REGISTRY/ci/$1:1.0" "$(digest "ci/$1:1.0")"), "auditAnnotations": {
    "verdict": "allowed", "reason": "every image's scan is accepted", "container-1.image": "$REGISTRY/ci/$1:1.0", "container-1.digest": "$(digest "ci/$1:1.0")",
    "container-1.pre-scan": "scan: Global default policy", "container-1.scan": "scan-result: Global default policy",
    "container-1.status": "accepted", "container-1.state": "fresh", "container-1.source": "registry",
    "container-1.reports": "$(report_of "$1")", "container-1.reason": "accepted by $(report_of "$1") of 2026-11-10T08:00:00Z" $more}}
END
}

# Expects that ci/$1:1.0 is rejected because $2, and that the message ends with $3.
expect_rejected() {
    local image=$REGISTRY/ci/$1:1.0
    expect <<END
{"allowed": false, "message": "Image '$image' for container 'c1' failed scan policy check: Image '$image' REJECTED. Global default policy - $2\n'$image': $3"}
END
}

# Expects that the findings in the report of ci/$1:1.0 reject: $2.
expect_findings() {
    expect_rejected "$1" "scan result is 'reject'" "$2 (registry: $(report_of "$1") of 2026-11-10T08:00:00Z)"
}

report_of() {
    echo "Trivy report $REGISTRY/ci/$1@$(beside "ci/$1:1.0" scan)"
}

@test "a clean report that CI signed admits, and the image is pinned" {
    signed_by_ci
    pod "$REGISTRY/ci/clean:1.0"
    decide
    expect_admitted clean
}

@test "findings in a report that CI signed reject" {
    signed_by_ci
    pod "$REGISTRY/ci/bad:1.0"
    decide
    expect_findings bad "1 critical finding, at most 0 accepted: CVE-2025-2001 in openssl (fixed in 3.1)"
}

@test "a report that nobody signed, or somebody else, counts as none" {
    signed_by_ci
    for name in unsigned foreign; do
        pod "$REGISTRY/ci/$name:1.0"
        decide
        case $name in
            unsigned) why='not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`); ci (its key) must sign it' ;;
            foreign) why="signed, but not by ci (its key)" ;;
        esac
        expect_rejected $name "scan report is pending" "no scan report: $REGISTRY/ci/$name@$(beside ci/$name:1.0 scan) is $why"
    done
}

@test "a report that nobody signed counts where the settings say so" {
    limits
    pod "$REGISTRY/ci/unsigned:1.0"
    decide
    expect_admitted unsigned
}

@test "a signed report of another image, copied beside this one, counts as none" {
    signed_by_ci
    pod "$REGISTRY/ci/replayed:1.0"
    decide
    expect_rejected replayed "scan report is pending" "no scan report yet: $(report_of replayed) is of another image, $(digest ci/clean:1.0)"
}

@test "a signed report by its type, in the index of referrers" {
    settings <<END
reports: {sources: [{registry: {artifactType: $trivy_json, attestors: [{name: ci, cosign: {key: {data: $(public_key ci)}}}]}}]}
END
    pod "$REGISTRY/ci/referred:1.0"
    decide
    expect_findings referred "1 critical finding, at most 0 accepted: CVE-2025-2001 in openssl (fixed in 3.1)"
}

@test "nothing beside the image" {
    signed_by_ci
    pod "$REGISTRY/ci/none:1.0"
    decide
    expect_rejected none "scan report is pending" "no scan report yet beside the image, at its tag sha256-….scan"
}

@test "by default a critical vulnerability is too many, and counts once for two packages" {
    limits
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_findings mixed "1 critical finding, at most 0 accepted: CVE-2025-2001 in libssl (fixed in 3.1)"
    limits 'acceptance: {maxSeverity: {critical: {total: 1}}}'
    decide
    expect_admitted mixed
    limits 'acceptance: {count: entries, maxSeverity: {critical: {total: 1}}}'
    decide
    expect_findings mixed "2 critical findings, at most 1 accepted: CVE-2025-2001 in libssl (fixed in 3.1), CVE-2025-2001 in openssl (fixed in 3.1)"
}

@test "limits of findings without a fix" {
    limits 'acceptance: {maxSeverity: {critical: {totalWithoutFixes: 0}, high: {totalWithoutFixes: 1}}}'
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_admitted mixed
    limits 'acceptance: {maxSeverity: {critical: {totalWithoutFixes: 0}, high: {totalWithoutFixes: 0}}}'
    decide
    expect_findings mixed "1 high finding without a fix, at most 0 accepted: CVE-2025-2002 in busybox (no fix)"
}

@test "a score counts from the threshold on" {
    limits 'acceptance: {cvssScore: {threshold: 8.1, maxCount: 1}}'
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_findings mixed "2 findings with a CVSS score from 8.1, at most 1 accepted: CVE-2025-2001 in libssl (fixed in 3.1), CVE-2025-2002 in busybox (no fix)"
    limits 'acceptance: {cvssScore: {threshold: 8.2, maxCount: 1}}'
    decide
    expect_admitted mixed
}

@test "what is always denied rejects, what is always allowed doesn't count" {
    limits 'acceptance: {maxSeverity: {critical: {total: 9}}, denyAlways: [CVE-2025-2003]}'
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_findings mixed "\`denyAlways\` names CVE-2025-2003 in bash (fixed in 5.3)"
    limits 'acceptance: {allowAlways: [CVE-2025-2001]}'
    decide
    expect_admitted mixed
}

@test "a namespace's limits replace the top level's" {
    limits 'acceptance: {maxSeverity: {critical: {total: 1}}, byNamespace: {prod: {maxSeverity: {low: {total: 0}}}}}'
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_admitted mixed
    in_namespace prod
    decide
    expect_findings mixed "1 low finding, at most 0 accepted: CVE-2025-2003 in bash (fixed in 5.3)"
}

@test "an exemption lets a finding through, and is told in the audit annotations" {
    limits 'exemptions: [{vulnerability: CVE-2025-2001, images: ["'"$REGISTRY"'/ci/"], reason: "not reachable, TICKET-7", expires: "2999-01-31"}]'
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_admitted mixed ', "container-1.exemptions": "CVE-2025-2001 until 2999-01-31: not reachable, TICKET-7"'
}

@test "an exemption of other images, namespaces or packages changes nothing" {
    pod "$REGISTRY/ci/bad:1.0"
    for other in 'images: [ghcr.io/team/]' 'namespaces: [prod]' 'packages: ["pkg:apk/alpine/libssl@"]'; do
        limits "exemptions: [{vulnerability: CVE-2025-2001, $other, reason: \"not reachable\", expires: \"2999-01-31\"}]"
        decide
        expect_findings bad "1 critical finding, at most 0 accepted: CVE-2025-2001 in openssl (fixed in 3.1)"
    done
}

@test "an exemption that has ended says so" {
    limits 'exemptions: [{vulnerability: CVE-2025-2001, reason: "not reachable", expires: "2026-01-31"}]'
    pod "$REGISTRY/ci/bad:1.0"
    decide
    expect_findings bad "1 critical finding, at most 0 accepted: CVE-2025-2001 in openssl (fixed in 3.1; its exemption ended 2026-01-31)"
}

@test "an exemption until there is a fix ends with it" {
    limits 'exemptions: [{vulnerability: "CVE-2025-200?", expireOnFix: true, reason: "no fix", expires: "2999-01-31"}]
acceptance: {maxSeverity: {high: {total: 0}}}'
    pod "$REGISTRY/ci/mixed:1.0"
    decide
    expect_admitted mixed ', "container-1.exemptions": "CVE-2025-2002 until 2999-01-31: no fix"'
    limits 'exemptions: [{vulnerability: "CVE-2025-200?", expireOnFix: true, reason: "no fix", expires: "2999-01-31"}]'
    decide
    expect_findings mixed "1 critical finding, at most 0 accepted: CVE-2025-2001 in libssl (fixed in 3.1; its exemption ended with the fix)"
}
