# What scanners say of an image, from objects of the cluster. The host's answers are recorded: sessions/, and README.md.

load host

image=localhost:5000/team
REGISTRIES=localhost:5000

# The first line of a rejection by the second phase: of image $1, because $2.
failed() {
    echo "Image '$1' for container 'c1' failed scan policy check: Image '$1' REJECTED. Global default policy - $2"
}

# Expects that the image $1 is admitted and pinned, and the audit annotations about its report: of the source $2, named $3,
# which is accepted because $4. It is pinned to the digest of $5 where that isn't the tag's.
expect_admitted() {
    expect <<END
{"allowed": true, "patch": $(pins "$image/$1" "$(known "digest of team/${5:-$1}")"), "auditAnnotations": {
    "verdict": "allowed", "reason": "every image's scan is accepted", "container-1.image": "$image/$1", "container-1.digest": "$(known "digest of team/$1")",
    "container-1.pre-scan": "scan: Global default policy", "container-1.scan": "scan-result: Global default policy",
    "container-1.status": "accepted", "container-1.state": "fresh", "container-1.source": "$2", "container-1.reports": "$3", "container-1.reason": "${4:-accepted by $3}"}}
END
}

# Expects that the image $1 is rejected because $2, and that the message ends with $3.
expect_rejected() {
    expect <<END
{"allowed": false, "message": "$(failed "$image/$1" "$2")\n'$image/$1': $3"}
END
}

@test "sbomscanner: an image whose platforms are all within the limits is admitted and pinned" {
    settings <<<'{}'
    pod $image/app:1.0
    replay sbomscanner-accepted
    expect_admitted app:1.0 sbomscanner "$(known "report of team/app:1.0 linux/amd64"), $(known "report of team/app:1.0 linux/arm64")" "each of its 2 platforms has a scan report that is accepted"
}

@test "sbomscanner: critical findings reject, by their names" {
    settings <<<'{}'
    pod $image/bad:1.0
    replay sbomscanner-rejected
    expect_rejected bad:1.0 "scan result is 'reject'" "2 critical findings, at most 0 accepted: CVE-2025-10000 in pkg0 (fixed in 2), CVE-2025-10001 in pkg1 (fixed in 2) (sbomscanner: $(known "report of team/bad:1.0"), first made 2026-11-01T00:00:00Z)"
}

@test "sbomscanner: the worst platform decides, of those that the settings ask for" {
    settings <<<'{}'
    pod $image/worse:1.0
    replay sbomscanner-platforms
    expect_rejected worse:1.0 "scan result is 'reject'" "linux/arm64: 1 critical finding, at most 0 accepted: CVE-2025-10000 in pkg0 (fixed in 2) (sbomscanner: $(known "report of team/worse:1.0 linux/arm64"), first made 2026-11-01T00:00:00Z)"
    settings <<<'reports: {platforms: [linux/amd64]}'
    replay sbomscanner-platform
    expect_admitted worse:1.0 sbomscanner "$(known "report of team/worse:1.0 linux/amd64")" "linux/amd64: accepted by $(known "report of team/worse:1.0 linux/amd64"), first made 2026-11-01T00:00:00Z" "worse:1.0 linux/amd64"
}

@test "sbomscanner: a report that isn't there yet rejects a Pod" {
    settings <<<'{}'
    pod $image/pending:1.0
    replay sbomscanner-pending
    expect_rejected pending:1.0 "scan report is pending" "no scan report yet from sbomscanner in namespace sbomscanner"
}

@test "sbomscanner: a report that isn't there yet is accepted where the settings say so, with a warning" {
    settings <<<'scanPolicies: {byNamespace: {default: {reportPending: accept}}}'
    pod $image/pending:1.0
    replay sbomscanner-pending-accepted
    expect <<END
{"allowed": true, "warnings": ["image '$image/pending:1.0' has no scan report yet, and \`reportPending\` is \`accept\`"], "patch": $(pins $image/pending:1.0 "$(known "digest of team/pending:1.0")")}
END
}

@test "sbomscanner: a Deployment doesn't wait for the report, its Pods do" {
    settings <<<'{}'
    controller Deployment $image/pending:1.0
    replay sbomscanner-pending-deployment
    expect <<END
{"allowed": true, "warnings": ["image '$image/pending:1.0' has no scan report yet: Pods of this Deployment wait for it"]}
END
}

@test "sbomscanner: a scan that failed rejects, with the scanner's words" {
    settings <<<'{}'
    pod $image/failing:1.0
    replay sbomscanner-failed
    expect_rejected failing:1.0 "scan failed" "the scan failed: the ScanJob sbomscanner/broken-2 says: failed to pull layer 3: unauthorized (Image sbomscanner/$(known "image of team/failing:1.0"))"
}

@test "sbomscanner: a report older than maxAge counts as none" {
    settings <<<'reports: {maxAge: 1s}'
    pod $image/single:1.0
    replay sbomscanner-stale
    expect_rejected single:1.0 "scan report is pending" "waiting for a new scan: the scan report $(known "report of team/single:1.0") is too old: the ScanJob that made it, which would know its time, is gone, so that it counts as older than 1s"
}

@test "sbomscanner: a report of another image under this image's name counts as none" {
    settings <<<'{}'
    pod $image/forged:1.0
    replay sbomscanner-forged
    expect_rejected forged:1.0 "scan report is pending" "no scan report yet: $(known "report of team/forged:1.0") is of another image, $image/app@$(known "digest of team/forged:1.0") for linux/amd64"
}

@test "trivyOperator: the report of the Pod that runs the image" {
    settings <<<'reports: {platforms: [linux/amd64], sources: [{trivyOperator: {}}]}'
    pod $image/trivy-bad:1.0
    in_namespace trivy-bad
    replay trivy-operator-rejected
    expect_rejected trivy-bad:1.0 "scan result is 'reject'" "1 critical finding, at most 0 accepted: CVE-2025-1001 in curl (fixed in 7.87) (trivyOperator: $(known "trivy trivy-bad/pod-p-c1") of 2026-11-10T08:00:00Z)"
}

@test "trivyOperator: a report in a namespace that is named" {
    settings <<<'reports: {sources: [{trivyOperator: {namespaces: [scans]}}]}'
    pod $image/trivy-elsewhere:1.0
    replay trivy-operator-named
    expect_admitted trivy-elsewhere:1.0 trivyOperator "$(known "trivy scans/replicaset-web-5d4c-app")"
}

@test "kubescape: the manifest of the image" {
    settings <<<'reports: {sources: [{kubescape: {}}]}'
    pod $image/kubescape:1.0
    replay kubescape-accepted
    expect_admitted kubescape:1.0 kubescape "$(known "kubescape team/kubescape:1.0")" "accepted by $(known "kubescape team/kubescape:1.0"), first made 2026-11-01T00:00:00Z"
    pod $image/kubescape-bad:1.0
    replay kubescape-rejected
    expect_rejected kubescape-bad:1.0 "scan result is 'reject'" "1 critical finding, at most 0 accepted: CVE-2025-4001 in curl (fixed in 2) (kubescape: $(known "kubescape team/kubescape-bad:1.0"), first made 2026-11-01T00:00:00Z)"
}

@test "kubescape: an image that is too large for it failed its scan" {
    settings <<<'reports: {sources: [{kubescape: {}}]}'
    pod $image/kubescape-large:1.0
    replay kubescape-failed
    expect_rejected kubescape-large:1.0 "scan failed" "the scan failed: the list of its packages is \`too-large\` ($(known "kubescape team/kubescape-large:1.0"))"
}

@test "custom: an object of any kind, by a name that is computed and fields that are told" {
    settings <<'END'
reports:
  sources:
    - custom:
        apiVersion: aquasecurity.github.io/v1alpha1
        kind: VulnerabilityReport
        namespaces: [mirror]
        name: sha256.{digestHex}
        fields: {registry: report.registry.server, repository: report.artifact.repository, digest: report.artifact.digest, time: report.updateTimestamp,
          findings: report.vulnerabilities, id: vulnerabilityID, severity: severity, fixedVersion: fixedVersion}
acceptance: {maxSeverity: {high: {total: 0}}}
END
    pod $image/mirrored:1.0
    replay custom-rejected
    expect_rejected mirrored:1.0 "scan result is 'reject'" "1 high finding, at most 0 accepted: CVE-2025-3001 (fixed in 2) (custom: $(known "mirror of team/mirrored:1.0") of 2026-11-10T08:00:00Z)"
}

@test "the first source that knows the image decides" {
    settings <<<'reports: {sources: [{sbomscanner: {}}, {trivyOperator: {namespaces: [scans]}}]}'
    pod $image/trivy-elsewhere:1.0
    replay sources-second
    expect_admitted trivy-elsewhere:1.0 trivyOperator "$(known "trivy scans/replicaset-web-5d4c-app")"
    settings <<<'reports: {sources: [{sbomscanner: {}}, {trivyOperator: {}}]}'
    pod $image/pending:1.0
    replay sources-none
    expect_rejected pending:1.0 "scan report is pending" "no scan report yet from sbomscanner in namespace sbomscanner, or from trivy-operator, which scans linux/amd64, in namespace default"
}

@test "rules of the scan phase see what the scanner reported" {
    settings <<'END'
customRules: |
  deny_image[msg] {
    high := input.ScanReport.InnerReport.report.summary.high
    high > 10
    msg := sprintf("%d high findings by %s", [high, input.ScanReport.Source])
  }
END
    pod $image/single:1.0
    replay rego-scan-report
    expect <<END
{"allowed": false, "message": "Image '$image/single:1.0' for container 'c1' failed scan policy check: 40 high findings by sbomscanner\n'$image/single:1.0': only the rule \`deny_image\` in \`customRules\` denies it; its scan passed: accepted by $(known "report of team/single:1.0"), first made 2026-11-01T00:00:00Z"}
END
}

@test "policies by kind see the reports of a controller's images, whatever pre-scan says" {
    settings <<'END'
preScanPolicies: {defaultPolicy: accept}
regoPolicies:
  - name: scanned
    kinds: [Workload]
    rego: |
      package scanned

      deny[msg] {
        report := input.scanReports[image]
        not report.Passed
        msg := sprintf("%s is %s (%s)", [image, report.Status, report.State])
      }
END
    controller CronJob $image/bad:1.0
    replay rego-scan-reports
    expect <<END
{"allowed": false, "message": "Policy 'scanned' rejected. Reasons: $image/bad:1.0 is rejected (fresh)"}
END
}
