"""Records what the real hosts answer to the cases of `tests/cases`.

It pushes the images of the test world into a real registry at localhost:5000, serves the world's reports as a cluster,
asks the real `policy-server` and the real `kwctl run` every case, and writes

- `tests/world/`: the images as the registry has them, the reports, and the names that cases use for their digests;
- `examples/demo/`: those of the images and reports that the demo is about;
- `tests/real-host/answers.json`: each case's request and settings, and both hosts' answers, with their versions.

`make test` compares the native host with that file. Run this again after a case was added or a message changed; with
names of files of cases it asks those alone, and keeps the other answers:

    python3 tests/real-host/record.py [rego verification …]

It needs `policy-server`, `kwctl`, `docker-registry` (on PATH, or by POLICY_SERVER, KWCTL, DOCKER_REGISTRY), Python's
`yaml` and `cryptography`, and port 5000, which must be free.
"""
import base64, json, os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import yaml
from world import BUNDLE, CONFIG, COSE, ENVELOPE, INDEX, MANIFEST, SBOMSCANNER, TRIVY_OPERATOR, World, annotate, build_envelope, build_module, find_tool, http, made, sha256

REGISTRY = "localhost:5000"
CASES = ["prescan", "scan", "updates", "attacks", "demo", "acceptance", "sboms", "exemptions", "reports", "vex", "seeds_rego", "rego", "verification", "evidence", "attested-reports", "configurations", "break_glass", "message", "mirrors"]
DEMO = "examples/demo"
# What people read in the demo, by the package in the world's reports: its name, version and fixed version.
DEMO_PACKAGES = {"pkg0": ("openssl", "3.3.1-r0", "3.3.2-r1"), "pkg1": ("curl", "8.9.0-r0", "8.9.1-r1")}
AMD64, ARM64 = "linux/amd64", "linux/arm64"
TRIVY_JSON = "application/vnd.aquasec.trivy.report+json"
KUBESCAPE = "spdx.softwarecomposition.kubescape.io/v1beta1"
# Kinds that the cluster doesn't serve by itself.
MORE_KINDS = [(KUBESCAPE, "VulnerabilityManifest", "vulnerabilitymanifests"), (KUBESCAPE, "SBOMSyft", "sbomsyfts"),
              (SBOMSCANNER, "SBOM", "sboms"), (TRIVY_OPERATOR, "SbomReport", "sbomreports"),
              ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
              ("image-admission.kubewarden.io/v1alpha1", "ImageExemption", "imageexemptions")]
# Pods name their lists in this order, so that the shorthand of a case makes the same object everywhere.
LISTS = [("init", "initContainers", "i"), ("containers", "containers", "c"), ("ephemeral", "ephemeralContainers", "e"), ("volumes", "volumes", "v")]
GROUPS = {"Pod": "", "ReplicationController": "", "Job": "batch", "CronJob": "batch"}
KINDS = {"Pod": "pods", "ReplicationController": "replicationcontrollers", "ReplicaSet": "replicasets", "Deployment": "deployments", "StatefulSet": "statefulsets",
         "DaemonSet": "daemonsets", "Job": "jobs", "CronJob": "cronjobs", "Service": "services"}


def make_world():
    """The images and reports that cases are about."""
    world = World(registry_port=5000)
    world.registry = REGISTRY
    names, images, last = {}, {}, {}

    def push(name, platforms=(AMD64,), reports=None, **options):
        repo, tag = name.split(":")
        image = world.push(repo, tag, platforms=platforms)
        names[f"digest of {name}"] = image["digest"]
        entry = {"digest": image["digest"]}
        if image["index"]:
            # The whole document: its digest is that of these bytes, with the sizes that they have.
            entry["manifest"] = manifest_of(world, repo, image["index"])
        images[f"{REGISTRY}/{name}"] = entry
        for platform, digest in image["platforms"].items():
            if image["index"]:
                names[f"digest of {name} {platform}"] = digest
            counts = (reports or {}).get(platform)
            if counts is None:
                continue
            world.add_sbomscanner_report(repo, tag, platform, digest, index=image["index"], counts=counts or None, **options)
            report = last["report"] = world.objects[-1]
            suffix = f" {platform}" if image["index"] else ""
            names[f"report of {name}{suffix}"] = "VulnerabilityReport {namespace}/{name}".format(**report["metadata"])

    both = (AMD64, ARM64)
    push("team/app:1.0", both, {AMD64: {"HIGH": 40}, ARM64: {"HIGH": 40}})
    push("team/single:1.0", reports={AMD64: {"HIGH": 40}})
    push("team/bad:1.0", reports={AMD64: {"CRITICAL": 2, "HIGH": 1}})
    push("team/pending:1.0")
    push("team/half:1.0", both, {AMD64: {}})
    push("team/worse:1.0", both, {AMD64: {}, ARM64: {"CRITICAL": 1}})
    push("team/attested:1.0", (AMD64, "unknown/unknown"), {AMD64: {"LOW": 1}})
    push("team/listed:1.0", reports={AMD64: {"MEDIUM": 3}}, registry_resource="our-registry")
    push("team/own:1.0", reports={AMD64: {}}, namespace="team-a")
    push("team/broken:1.0", reports={AMD64: {}})
    del last["report"]["report"]["summary"]
    push("team/two:old", reports={AMD64: {}})
    # The same image under another tag, scanned when more was known.
    world.add_sbomscanner_report("team/two", "new", AMD64, names["digest of team/two:old"], counts={"CRITICAL": 4})
    names["report of team/two:new"] = "VulnerabilityReport {namespace}/{name}".format(**world.objects[-1]["metadata"])
    push("shop/web:2.1", both, {AMD64: {"HIGH": 2, "LOW": 1}, ARM64: {"HIGH": 1}})
    push("shop/legacy:1.4", reports={AMD64: {"CRITICAL": 1, "HIGH": 2}})
    push("shop/fresh:0.1")
    push("team/forged:1.0", reports={AMD64: {}})
    last["report"]["imageMetadata"]["repository"] = "team/app"
    add_findings(world, push, last)
    add_progress(world, push, names)
    add_registries(world, push)
    add_trivy_operator(world, push, names, images)
    add_sboms(world, push, names, last)
    add_artifacts(world, push, names, images)
    add_verified(world, push, names, images)
    add_evidence(world, push, names, images)
    add_configured(world, names, images)
    add_other_kinds(world, push, names)
    add_hidden(world, push, names, images)
    add_decoys(world, push, names, images)
    # A registry that is listed, and down: nothing listens there.
    down = ["localhost:5001/team/app:1.0", f"localhost:5001/vex/vex/cleared:{names['digest of vex/cleared:1.0'].replace(':', '-')}.vex"]
    refused = {"error": "Fail to interact with OCI registry: error sending request for url (http://localhost:5001/v2/)\n\nCaused by:\n    0: error sending request\n    1: client error (Connect)\n    2: tcp connect error\n    3: Connection refused (os error 111)"}
    images.update({image: refused for image in down})
    # Who verifies signatures says it otherwise.
    digest = names["digest of evidence/app:1.0"]
    images[f"localhost:5001/evidence/app@{digest}"] = {"error": f"failed to get image trusted layers: Cannot fetch manifest of localhost:5001/evidence/app@{digest}: error sending request for url (http://localhost:5001/v2/evidence/app/manifests/{digest})"}
    return world, names, images


def entry(cve, severity, package, fixed="2.0", suppressed=False, **more):
    """A finding as sbomscanner writes it."""
    return {"cve": cve, "severity": severity, "packageName": package, "purl": f"pkg:apk/alpine/{package}@1.0?arch=x86_64", "installedVersion": "1.0",
            "fixedVersions": [fixed] if fixed else None, "diffID": "", "suppressed": suppressed, **more}


def add_findings(world, push, last):
    """Images whose reports differ in what every setting of acceptance looks at."""
    score = lambda **sources: {"cvss": {source: {"v3score": score, "v3vector": ""} for source, score in sources.items()}}
    push("team/mixed:1.0", reports={AMD64: {}}, entries=[
        # One vulnerability in two packages.
        entry("CVE-2025-0001", "CRITICAL", "openssl", **score(nvd="9.8", redhat="7.5")),
        entry("CVE-2025-0001", "CRITICAL", "libssl", **score(nvd="9.8")),
        # Its score is not nvd's, which has none.
        entry("CVE-2025-0002", "HIGH", "busybox", fixed=None, **score(nvd="0", redhat="8.1")),
        entry("CVE-2025-0003", "HIGH", "zlib", **score(ghsa="6.9")),
        entry("CVE-2025-0004", "MEDIUM", "curl"),
        entry("CVE-2025-0005", "LOW", "bash", **score(vendor=4)),
        entry("CVE-2025-0006", "UNKNOWN", "tar"),
    ])
    # What a scanner says of exploits beside its severities.
    push("team/exploited:1.0", reports={AMD64: {}}, entries=[
        entry("CVE-2025-3001", "LOW", "nghttp2", knownExploited=True, epssScore="0.9", epssPercentile="0.99"),
        entry("CVE-2025-3002", "LOW", "tar", knownExploited=False, epssScore="0.001", epssPercentile="0.1"),
    ])
    push("team/unexploited:1.0", reports={AMD64: {}}, entries=[
        entry("CVE-2025-3003", "LOW", "tar", knownExploited=False, epssScore="0.001", epssPercentile="0.1"),
        entry("CVE-2025-3004", "LOW", "bash", knownExploited=False, epssScore="", epssPercentile=""),
    ])
    push("team/vex:1.0", reports={AMD64: {}}, entries=[
        entry("CVE-2025-0007", "CRITICAL", "openssl", suppressed=True, vexStatus={"repository": "r", "status": "not_affected", "statement": "s"}, **score(nvd="9.1")),
    ])
    push("team/nulls:1.0", reports={AMD64: {}})
    last["report"]["report"]["results"] = [{"target": "a", "class": "os-pkgs", "type": "alpine", "vulnerabilities": None}]
    push("team/empty:1.0", reports={AMD64: {}})
    del last["report"]["report"]
    push("team/lying:1.0", reports={AMD64: {}}, entries=[entry("CVE-2025-0008", "CRITICAL", "x")])
    last["report"]["report"]["summary"]["critical"] = 0


def add_registries(world, push):
    """A namespace whose Registries name all reports of a tag, one of them the companion's."""
    companions = "image-admission-" + sha256(f"{REGISTRY}/registry/asked:1.0".encode())[:32]
    labels = {"app.kubernetes.io/managed-by": "image-admission-companion"}
    world.add_sbomscanner_registry("elsewhere", "ghcr.io", namespace="registries")
    world.add_sbomscanner_registry("team", namespace="registries")
    world.add_sbomscanner_registry(companions, namespace="registries", labels=labels)
    of_team = {"namespace": "registries", "registry_resource": "team"}
    push("registry/clean:1.0", (AMD64, ARM64), {AMD64: {}, ARM64: {}}, **of_team)
    push("registry/bad:1.0", reports={AMD64: {"CRITICAL": 1}}, **of_team)
    push("registry/asked:1.0", reports={AMD64: {"CRITICAL": 1}}, namespace="registries", registry_resource=companions)
    push("registry/never:1.0")


def add_progress(world, push, names):
    """Images that the scanner knows, at every stage, and reports of every age."""
    group = "sbomscanner.kubewarden.io/v1alpha1"

    def job(name, registry, created, conditions=None, **status):
        spread = [{"type": t, "status": "True" if t == conditions else "False", "reason": "r", "message": status.pop("message", "") if t == conditions else ""} for t in ("Scheduled", "InProgress", "Complete", "Failed")]
        world.objects.append({"apiVersion": group, "kind": "ScanJob", "metadata": {"name": name, "namespace": "sbomscanner", "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": created},
                              "spec": {"registry": registry}, "status": {"conditions": spread, **status} if conditions else {}})

    def known(name, registry):
        """An Image without a report."""
        repo, tag = name.split(":")
        push(name)
        world.add_sbomscanner_report(repo, tag, AMD64, names[f"digest of {name}"], registry_resource=registry)
        report = world.objects.pop()
        names[f"image of {name}"] = report["metadata"]["name"]
        world.objects.append({**{k: report[k] for k in ("apiVersion", "metadata", "imageMetadata")}, "kind": "Image", "layers": []})

    known("team/scanning:1.0", "going")
    job("going-1", "going", "2026-11-01T09:00:00Z", "Failed", message="an older job's words")
    job("going-2", "going", "2026-11-02T09:00:00Z", "InProgress", startTime="2026-11-02T09:00:05Z")
    known("team/failing:1.0", "broken")
    job("broken-2", "broken", "2026-11-02T09:00:00Z", "Failed", message="failed to pull layer 3: unauthorized")
    job("broken-1", "broken", "2026-11-01T09:00:00Z", "Complete", completionTime="2026-11-01T09:30:00Z")
    known("team/known:1.0", "idle")
    known("team/skipped:1.0", "done")
    job("done-1", "done", "2026-11-01T09:00:00Z", "Complete", completionTime="2026-11-01T09:30:00Z")
    for name, uid in (("team/aged:1.0", "uid-done-1"), ("team/orphan:1.0", "uid-gone"), ("team/unlabelled:1.0", None)):
        push(name, reports={AMD64: {}})
        labels = world.objects[-1]["metadata"]["labels"]
        labels["sbomscanner.kubewarden.io/scanjob-uid"] = uid
        if uid is None:
            del labels["sbomscanner.kubewarden.io/scanjob-uid"]


def add_trivy_operator(world, push, names, images):
    """Reports of trivy-operator, each generation of them."""
    def report(namespace, name, repo, tag=None, digest=None, findings=(), server=REGISTRY, updated="2026-11-10T08:00:00Z"):
        count = lambda severity: sum(1 for f in findings if f["severity"] == severity)
        artifact = {"repository": repo, **({"tag": tag} if tag else {}), **({"digest": digest} if digest else {})}
        world.objects.append({"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z",
                         "labels": {"trivy-operator.container.name": "c1", "trivy-operator.resource.kind": "Pod", "trivy-operator.resource.name": "p"}},
            "report": {"updateTimestamp": updated, "scanner": {"name": "Trivy", "vendor": "Aqua Security", "version": "0.60.0"}, "registry": {"server": server}, "artifact": artifact,
                       "summary": {"criticalCount": count("CRITICAL"), "highCount": count("HIGH"), "mediumCount": count("MEDIUM"), "lowCount": count("LOW"), "unknownCount": count("UNKNOWN"), "noneCount": 0},
                       "vulnerabilities": list(findings)}})
        names[f"trivy {namespace}/{name}"] = f"VulnerabilityReport {namespace}/{name}"

    def finding(cve, severity, resource, fixed="", **more):
        return {"vulnerabilityID": cve, "severity": severity, "resource": resource, "installedVersion": "1.0", "fixedVersion": fixed, "title": "", "primaryLink": "", "links": [], "target": "", **more}

    critical = finding("CVE-2025-1001", "CRITICAL", "curl", "7.87", score=9.1, publishedDate="2026-01-01T00:00:00Z", packagePURL="pkg:apk/alpine/curl@7.86")
    high = finding("CVE-2025-1002", "HIGH", "zlib", "", score=7.4, publishedDate="")
    push("team/trivy:1.0", (AMD64, ARM64))
    push("team/trivy-bad:1.0")
    push("team/trivy-id:1.0")
    push("team/trivy-tag:1.0")
    push("team/trivy-elsewhere:1.0")
    digest = lambda name, platform="": names[f"digest of {name}{platform}"]
    report("trivy-good", "pod-p-c1", "team/trivy", "1.0", digest("team/trivy:1.0"), [high])
    report("trivy-bad", "pod-p-c1", "team/trivy-bad", "1.0", digest("team/trivy-bad:1.0"), [critical, high])
    # Systems that somebody still looks after, and one that nobody does.
    for name, system in (("supported", {"family": "alpine", "name": "3.22.1"}), ("ended", {"family": "debian", "name": "9.13", "eosl": True})):
        push(f"team/trivy-{name}:1.0")
        report(f"trivy-{name}", "pod-p-c1", f"team/trivy-{name}", "1.0", digest(f"team/trivy-{name}:1.0"), [high])
        world.objects[-1]["report"]["os"] = system
    # Up to v0.23 the image's id stood in the place of the digest.
    manifest = manifest_of(world, "team/trivy-id", digest("team/trivy-id:1.0"))
    images[f"{REGISTRY}/team/trivy-id:1.0"]["manifest"] = manifest
    config = manifest["config"]["digest"]
    report("trivy-id", "pod-p-c1", "team/trivy-id", "1.0", config, [high])
    report("trivy-tag", "pod-p-c1", "team/trivy-tag", "1.0", None, [high])
    # What stands under the workload's name is of the image that it ran before.
    report("trivy-before", "pod-p-c1", "team/trivy", "0.9", "sha256:" + "9" * 64, [high])
    # Two of one image: the names of the first are the Pod's to choose.
    push("team/trivy-claimed:1.0")
    claimed = digest("team/trivy-claimed:1.0")
    report("trivy-claimed", "pod-p-c1", "team/trivy-claimed", "1.0", claimed, [high])
    report("trivy-claimed", "replicaset-web-5d4c-c1", "team/trivy-claimed", "1.0", claimed, [critical], updated="2026-11-12T08:00:00Z")
    report("scans", "replicaset-web-5d4c-app", "team/trivy-elsewhere", "1.0", digest("team/trivy-elsewhere:1.0"), [high])
    report("scans", "replicaset-other-7f8-app", "evil/trivy-elsewhere", "1.0", digest("team/trivy-elsewhere:1.0"), [critical])


# What images are made of: purls with their licences.
LODASH = ("lodash", "4.17.21", "pkg:npm/lodash@4.17.21", "MIT")
OLD_LOG4J = ("log4j-core", "2.14.1", "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1", "Apache-2.0")
NEW_LOG4J = ("log4j-core", "2.17.1", "pkg:maven/org.apache.logging.log4j/log4j-core@2.17.1", "Apache-2.0")
BUSYBOX = ("busybox", "1.36.1-r2", "pkg:apk/alpine/busybox@1.36.1-r2?arch=x86_64", "GPL-2.0-only")
EITHER = ("node-forge", "1.3.1", "pkg:npm/node-forge@1.3.1", "(BSD-3-Clause OR GPL-2.0-only)")
BOTH = ("readline-wrapper", "1.0", "pkg:npm/readline-wrapper@1.0", "MIT AND GPL-3.0-or-later")
# One that is called by two purls, which are written with a space between, and one whose purl says a later version than it does itself.
TWO_NAMES = ("log4j-core", "2.14.1", f"{LODASH[2]} {OLD_LOG4J[2]}", "Apache-2.0")
TWO_VERSIONS = ("log4j-core", "2.14.1", NEW_LOG4J[2], "Apache-2.0")
UNTOLD = ("left-pad", "1.3.0", "pkg:npm/left-pad@1.3.0", "NOASSERTION")


def spdx(packages, root=None, created="2026-11-10T08:00:00Z", describes="SPDXRef-DocumentRoot-Image"):
    """An SBOM as SPDX has it, in the shape of Syft's; `root` is the digest that it says it is of, if that is what it describes."""
    package = lambda number, name, version, purls, license: {
        "SPDXID": f"SPDXRef-Package-{number}", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "licenseConcluded": "NOASSERTION", "licenseDeclared": license,
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl} for purl in purls.split()]}
    listed = [package(number, *of) for number, of in enumerate(packages)]
    relationships = []
    if root:
        listed.append({"SPDXID": "SPDXRef-DocumentRoot-Image", "name": "app", "versionInfo": root, "primaryPackagePurpose": "CONTAINER", "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                       "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:oci/app@{root.replace(':', '%3A')}?arch=amd64"}]})
        relationships.append({"spdxElementId": "SPDXRef-DOCUMENT", "relatedSpdxElement": describes, "relationshipType": "DESCRIBES"})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "app", "creationInfo": {"created": created, "creators": ["Tool: syft"]},
            "packages": listed, "relationships": relationships}


def spdx_of_old_trivy(packages, digest):
    """An SBOM in the shape of Trivy's before 0.35: SPDX 2.2, which has no purposes, and a relationship that SPDX calls otherwise."""
    other = lambda kind, name, **more: {"SPDXID": f"SPDXRef-{kind}-1", "filesAnalyzed": False, "name": name, **more}
    purl = lambda purl: [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    image = other("ContainerImage", "app", externalRefs=purl(f"pkg:oci/app@{digest}?repository_url=localhost%3A5000%2Fapp&arch=amd64"),
                  attributionTexts=["SchemaVersion: 2", f"RepoDigest: localhost:5000/app@{digest}"])
    listed = [{**package, "licenseConcluded": package["licenseDeclared"]} for package in spdx(packages)["packages"]]
    return {"spdxVersion": "SPDX-2.2", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "app",
            "creationInfo": {"created": "2026-11-10T08:00:00Z", "creators": ["Tool: trivy", "Organization: aquasecurity"]},
            "packages": [other("Application", "npm", sourceInfo="app/package-lock.json"), image, other("OperatingSystem", "alpine", versionInfo="3.16.0"), *listed],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relatedSpdxElement": "SPDXRef-ContainerImage-1", "relationshipType": "DESCRIBE"}]}


def add_sboms(world, push, names, last):
    """Images with what scanners say they are made of; each has a report in which nothing is wrong."""
    def sbom(name, document, **other):
        push(name, reports={AMD64: {}})
        report = last["report"]
        metadata = {key: value for key, value in report["metadata"].items() if key != "labels"}
        world.objects.append({"apiVersion": SBOMSCANNER, "kind": "SBOM", "metadata": metadata, "imageMetadata": {**report["imageMetadata"], **other}, "spdx": document})
        names[f"sbom of {name}"] = "SBOM {namespace}/{name}".format(**metadata)

    sbom("sbom/good:1.0", spdx([LODASH, NEW_LOG4J, EITHER]))
    sbom("sbom/denied:1.0", spdx([LODASH, OLD_LOG4J]))
    sbom("sbom/odd:1.0", spdx([("log4j-core", "2.14 build", "PKG:Maven/ORG.apache.logging.log4j/log4j%2Dcore@2.14%20build", "Apache-2.0")]))
    sbom("sbom/two-names:1.0", spdx([TWO_NAMES]))
    sbom("sbom/two-versions:1.0", spdx([TWO_VERSIONS]))
    sbom("sbom/copyleft:1.0", spdx([LODASH, BUSYBOX, BOTH]))
    sbom("sbom/untold:1.0", spdx([LODASH, UNTOLD]))
    sbom("sbom/empty:1.0", spdx([]))
    sbom("sbom/foreign:1.0", spdx([LODASH]), repository="sbom/good")
    sbom("sbom/ahead:1.0", spdx([LODASH], created="2999-01-01T00:00:00Z"))
    push("sbom/missing:1.0", reports={AMD64: {}})
    push("sbom/bad:1.0", reports={AMD64: {"CRITICAL": 1}})
    push("sbom/pending:1.0")
    # trivy-operator's, beside its report.
    push("sbom/operator:1.0")
    push("sbom/operator-denied:1.0")
    for namespace, name, packages in (("sbom-good", "sbom/operator", [LODASH, NEW_LOG4J]), ("sbom-denied", "sbom/operator-denied", [LODASH, OLD_LOG4J])):
        of = {"updateTimestamp": "2026-11-10T08:00:00Z", "scanner": {"name": "Trivy", "vendor": "Aqua Security", "version": "0.60.0"}, "registry": {"server": REGISTRY},
              "artifact": {"repository": name, "tag": "1.0", "digest": names[f"digest of {name}:1.0"]}}
        metadata = {"name": "pod-p-c1", "namespace": namespace, "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z"}
        world.objects.append({"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport", "metadata": {**metadata, "uid": f"uid-report-{namespace}"},
            "report": {**of, "summary": {"criticalCount": 0, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0}, "vulnerabilities": []}})
        world.objects.append({"apiVersion": TRIVY_OPERATOR, "kind": "SbomReport", "metadata": {**metadata, "uid": f"uid-sbom-{namespace}"},
            "report": {**of, "summary": {"componentsCount": len(packages), "dependenciesCount": 0}, "components": cyclonedx(packages)}})


def cyclonedx(packages, root=None):
    """An SBOM as CycloneDX has it."""
    component = lambda name, version, purl, license: {"bom-ref": purl, "type": "library", "name": name, "version": version, "purl": purl, "licenses": [{"expression": license}]}
    image = {"bom-ref": "image", "type": "container", "name": "app", **({"version": root} if root else {})}
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"timestamp": "2026-11-10T08:00:00Z", "component": image},
            "components": [component(*of) for of in packages] + [{"bom-ref": "os", "type": "operating-system", "name": "alpine", "version": "3.20.0"}], "dependencies": []}


def manifest_of(world, repo, digest):
    raw, _ = http(f"http://{world.registry}/v2/{repo}/manifests/{digest}", headers={"accept": ", ".join(f"application/vnd.oci.image.{kind}.v1+json" for kind in ("manifest", "index"))})
    return json.loads(raw)


def add_hidden(world, push, names, images):
    """Documents that show the host one thing and nodes another: clean images have a clean report, the others a bad one."""
    index_type = "application/vnd.oci.image.index.v1+json"

    def hide(name, make):
        repo, tag = name.split(":")
        push(f"{repo}:clean", reports={AMD64: {}})
        push(f"{repo}:evil", reports={AMD64: {"CRITICAL": 3}})
        clean, evil = (names[f"digest of {repo}:{kind}"] for kind in ("clean", "evil"))
        entry = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": clean, "size": 1, "platform": {"architecture": "amd64", "os": "linux"}}
        document = make({"schemaVersion": 2, "mediaType": index_type, "manifests": [entry]}, entry, evil)
        put(name, document)
        world.add_sbomscanner_report(repo, tag, AMD64, clean, index=names[f"digest of {name}"], counts={})

    def put(name, document):
        repo, tag = name.split(":")
        digest, _ = world.manifest(repo, tag, document)
        names[f"digest of {name}"] = digest
        # Its very bytes: the host's answer doesn't show all of them.
        images[f"{REGISTRY}/{name}"] = {"digest": digest, "manifest": json.dumps(document, separators=(",", ":"))}

    def second_digest(document, entry, evil):
        entry["Digest"] = evil
        return document

    def second_platform(document, entry, evil):
        document["manifests"].append({**entry, "digest": evil, "platform": {"architecture": "unknown", "os": "unknown"}, "Platform": {"architecture": "amd64", "os": "linux"}})
        document["manifests"].reverse()
        return document

    def second_list(document, entry, evil):
        return {**document, "Manifests": [{**entry, "digest": evil}]}

    hide("hidden/digest:1.0", second_digest)
    hide("hidden/platform:1.0", second_platform)
    hide("hidden/manifests:1.0", second_list)
    # An image's manifest with two configurations, and a report that names the one that the host shows.
    push("hidden/config:plain")
    push("hidden/config:other", (ARM64,))
    document = manifest_of(world, "hidden/config", names["digest of hidden/config:plain"])
    shown = document["config"]["digest"]
    document["Config"] = manifest_of(world, "hidden/config", names["digest of hidden/config:other"])["config"]
    put("hidden/config:1.0", document)
    world.objects.append({"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport",
        "metadata": {"name": "pod-p-c1", "namespace": "hidden-id", "uid": "uid-hidden-id", "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z"},
        "report": {"updateTimestamp": "2026-11-10T08:00:00Z", "registry": {"server": REGISTRY}, "artifact": {"repository": "hidden/config", "tag": "1.0", "digest": shown},
                   "summary": {"criticalCount": 0, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0}, "vulnerabilities": []}})


def add_decoys(world, push, names, images):
    """Indexes of a clean image that few nodes take, or that hides another: what the others take has a bad report, or none."""
    index_type, entry_type = "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"

    def index(name, *entries):
        repo, tag = name.split(":")
        document = {"schemaVersion": 2, "mediaType": index_type, "manifests": []}
        for kind, platform in entries:
            push(f"{repo}:{kind}")
            entry = {"mediaType": entry_type, "digest": names[f"digest of {repo}:{kind}"], "size": 1}
            document["manifests"].append({**entry, "platform": platform} if platform else entry)
        names[f"digest of {name}"], _ = world.manifest(repo, tag, document)
        images[f"{REGISTRY}/{name}"] = {"digest": names[f"digest of {name}"], "manifest": json.dumps(document, separators=(",", ":"))}

    def report(name, kind, platform, counts):
        repo, tag = name.split(":")
        world.add_sbomscanner_report(repo, tag, platform, names[f"digest of {repo}:{kind}"], index=names[f"digest of {name}"], counts=counts)

    def of(architecture, **more):
        return {"architecture": architecture, "os": "linux", **more}

    index("decoy/variant:1.0", ("clean", of("amd64", variant="v3")), ("evil", of("386")), ("arm", of("arm64")))
    report("decoy/variant:1.0", "clean", "linux/amd64/v3", {})
    report("decoy/variant:1.0", "evil", "linux/386", {"CRITICAL": 1})
    report("decoy/variant:1.0", "arm", "linux/arm64", {})
    index("decoy/features:1.0", ("clean", of("amd64", **{"os.features": ["sgx"]})), ("evil", None))
    report("decoy/features:1.0", "clean", "linux/amd64", {})
    index("decoy/armhf:1.0", ("evil", of("armhf", variant="v6")), ("clean", of("arm", variant="v7")))
    report("decoy/armhf:1.0", "clean", "linux/arm/v7", {})
    report("decoy/armhf:1.0", "evil", "linux/arm/v7", {"CRITICAL": 1})


def add_artifacts(world, push, names, images):
    """Reports beside images, signed and not, their own and others'."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    keys = {}
    for who, secret in (("ci", 1234567), ("other", 7654321)):
        key = ec.derive_private_key(secret, ec.SECP256R1())
        pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        keys[who] = key, pem
        # In the form that it has inside a quoted string.
        names[f"key of {who}"] = pem.replace("\n", "\\n")

    def attach(name, document, suffix, signer=None, to=None, subject=None, artifact_type=TRIVY_JSON, into=None, has_subject=True):
        """An artifact at the tag of an image's digest, in the image's repository or another; a copied one keeps another's subject."""
        repo = into or name.split(":")[0]
        to = to or names[f"digest of {name}"]
        if subject:
            # As `attach`, but for what it says that it is about.
            kept = world.attach(repo, subject, document, suffix, artifact_type)
            world.manifest(repo, f"{to.replace(':', '-')}.{suffix}", manifest_of(world, repo, kept))
            digest = kept
        else:
            digest = world.attach(repo, to, document, suffix, artifact_type, has_subject)
        known = {"digest": digest, "manifest": manifest_of(world, repo, digest), "config": document}
        if signer:
            world.sign(repo, digest, keys[signer][0])
            known["signedBy"] = [{"key": keys[signer][1]}]
        images[f"{REGISTRY}/{repo}:{to.replace(':', '-')}.{suffix}"] = known
        names[f"{suffix} of {name}"] = f"{REGISTRY}/{repo}@{digest}"
        return digest

    def trivy(findings, platform=("linux", "amd64"), digests=()):
        return {"SchemaVersion": 2, "CreatedAt": "2026-11-10T08:00:00Z", "ArtifactName": "app", "ArtifactType": "container_image",
                "Metadata": {"RepoDigests": [f"app@{d}" for d in digests], "ImageConfig": {"os": platform[0], "architecture": platform[1]}},
                "Results": [{"Target": "app (alpine 3.20)", "Class": "os-pkgs", "Type": "alpine", "Vulnerabilities": findings}]}

    critical = [{"VulnerabilityID": "CVE-2025-2001", "PkgName": "openssl", "PkgIdentifier": {"PURL": "pkg:apk/alpine/openssl@3.0"}, "InstalledVersion": "3.0", "FixedVersion": "3.1",
                 "Severity": "CRITICAL", "CVSS": {"nvd": {"V3Score": 9.8}}, "PublishedDate": "2026-01-01T00:00:00Z"}]
    for name in ("ci/clean:1.0", "ci/bad:1.0", "ci/unsigned:1.0", "ci/foreign:1.0", "ci/replayed:1.0", "ci/verdict:1.0", "ci/nonsense:1.0", "ci/none:1.0", "ci/oras:1.0"):
        push(name)
    # What `trivy sbom` writes of SBOMs that don't say whose they are, and what it writes of something else.
    scanned = lambda kind, findings: {**trivy(findings), "ArtifactName": "sbom.json", "ArtifactType": kind, "Metadata": {"OS": {"Family": "alpine", "Name": "3.20"}}}
    for name, document, other in (
            ("ci/of-cyclonedx:1.0", scanned("cyclonedx", []), {}),
            ("ci/of-spdx:1.0", scanned("spdx", critical), {}),
            ("ci/of-sbom-replayed:1.0", scanned("cyclonedx", []), {"subject": "sha256:" + "5" * 64}),
            ("ci/of-sbom-of-nobody:1.0", scanned("cyclonedx", []), {"has_subject": False}),
            ("ci/of-files:1.0", scanned("filesystem", []), {})):
        push(name)
        attach(name, document, "scan", "ci", **other)
    push("ci/multi:1.0", (AMD64, ARM64))
    attach("ci/clean:1.0", trivy([]), "scan", "ci")
    attach("ci/bad:1.0", trivy(critical), "scan", "ci")
    attach("ci/unsigned:1.0", trivy([]), "scan")
    attach("ci/foreign:1.0", trivy([]), "scan", "other")
    # A signed, clean report of another image, at this image's tag.
    attach("ci/replayed:1.0", trivy([]), "scan", "ci", subject="sha256:" + "8" * 64)
    attach("ci/verdict:1.0", {"status": "pass", "detail": {}}, "scan", "ci", artifact_type="application/vnd.scan+json")
    attach("ci/nonsense:1.0", {"hello": "world"}, "scan", "ci")
    attach("ci/multi:1.0", trivy([]), "scan", "ci")
    # A clean entry without a platform, before one with findings: scanners of the index take the first, nodes the other.
    for tag in ("clean", "evil"):
        push(f"ci/shadowed:{tag}")
    manifest = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1}
    entries = [{**manifest, "digest": names["digest of ci/shadowed:clean"]},
               {**manifest, "digest": names["digest of ci/shadowed:evil"], "platform": {"architecture": "amd64", "os": "linux"}}]
    index, _ = world.manifest("ci/shadowed", "1.0", {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries})
    names["digest of ci/shadowed:1.0"] = index
    images[f"{REGISTRY}/ci/shadowed:1.0"] = {"digest": index, "manifest": manifest_of(world, "ci/shadowed", index)}
    attach("ci/shadowed:1.0", trivy([], digests=[index]), "scan", "ci")
    # A clean image for another platform that says it is this one's; and one with findings that says it is for none.
    push("ci/swapped:1.0", (AMD64, ARM64))
    push("ci/odd:1.0", (AMD64, ARM64))
    attach("ci/odd:1.0", trivy(critical, ("linux", "amd65")), "scan", "ci", to=names[f"digest of ci/odd:1.0 {AMD64}"])
    # Images that nobody here may put anything beside, and what stands of them in another repository.
    for name, findings in (("foreign/clean:1.0", []), ("foreign/bad:1.0", critical), ("foreign/beside:1.0", [])):
        push(name)
        attach(name, trivy(findings), "scan", "ci", into=None if name == "foreign/beside:1.0" else f"reports/{name.split(':')[0]}")
    # Grype's, which knows what is exploited, and which systems are past their end of life.
    def grype(vulnerabilities, alerts=(), looks=True):
        return {"matches": [{"vulnerability": v, "artifact": {"name": "curl", "version": "7.0", "purl": "pkg:apk/alpine/curl@7.0"}} for v in vulnerabilities],
                "alertsByPackage": [{"package": {"name": "curl"}, "alerts": [{"type": kind, "message": "m"}]} for kind in alerts],
                "source": {"type": "image", "target": {"os": "linux", "architecture": "amd64"}}, "distro": {"name": "alpine", "version": "3.10", "idLike": []},
                "descriptor": {"name": "grype", "version": "0.121.2", "timestamp": "2026-11-10T08:00:00Z", "configuration": {"alerts": {"enable-eol-distro-warnings": looks}}}}

    known = {"id": "CVE-2025-4001", "severity": "Low", "risk": 80, "fix": {"versions": ["8.0"], "state": "fixed"},
             "knownExploited": [{"cve": "CVE-2025-4001", "dateAdded": "2026-11-01", "dueDate": "2026-12-01", "knownRansomwareCampaignUse": "Known"}],
             "epss": [{"cve": "CVE-2025-4001", "epss": 0.7, "percentile": 0.98, "date": "2026-11-10"}]}
    silent = {"id": "CVE-2025-4002", "severity": "Low", "fix": {"versions": [], "state": "not-fixed"}}
    for name, document in (("exploited", grype([known])), ("silent", grype([silent], looks=False)), ("ended", grype([], ["distro-eol"])), ("quiet", grype([{**silent, "risk": 0.1}]))):
        push(f"ci/grype-{name}:1.0")
        attach(f"ci/grype-{name}:1.0", document, "scan", "ci", artifact_type="application/vnd.anchore.grype.report+json")
    swapped = grype([])
    swapped["source"]["target"] |= {"manifestDigest": names[f"digest of ci/swapped:1.0 {ARM64}"], "repoDigests": [f"app@{names['digest of ci/swapped:1.0']}"]}
    attach("ci/swapped:1.0", swapped, "scan", "ci", artifact_type="application/vnd.anchore.grype.report+json")
    # By type, in the index of referrers; another's artifact stands there too.
    for name, findings in (("ci/referred:1.0", []), ("ci/referred-bad:1.0", critical)):
        push(name)
        repo, tag = name.split(":")
        digest = names[f"digest of {name}"]
        entries = [(attach(name, trivy(findings), "report", "ci"), TRIVY_JSON), (attach(name, {"hello": "world"}, "else", artifact_type="application/vnd.else+json"), "application/vnd.else+json")]
        referrers = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [
            {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": found, "size": 1, "artifactType": kind} for found, kind in entries]}
        tag = digest.replace(":", "-")
        images[f"{REGISTRY}/{repo}:{tag}"] = {"digest": world.manifest(repo, tag, referrers)[0], "manifest": referrers}
    add_vex(push, names, attach)
    # SBOMs beside images, whose report is there too.
    for name, document, signer, subject in (
            ("ci/sbom-spdx:1.0", lambda digest: spdx([LODASH], root=digest), "ci", None),
            ("ci/sbom-cyclonedx:1.0", lambda digest: cyclonedx([LODASH], root=digest), "ci", None),
            ("ci/sbom-denied:1.0", lambda digest: spdx([OLD_LOG4J], root=digest), "ci", None),
            ("ci/sbom-trivy-2.2:1.0", lambda digest: spdx_of_old_trivy([LODASH], digest), "ci", None),
            ("ci/sbom-trivy-2.2-denied:1.0", lambda digest: spdx_of_old_trivy([OLD_LOG4J], digest), "ci", None),
            ("ci/sbom-of-itself:1.0", lambda digest: spdx([LODASH], root=digest, describes="SPDXRef-DOCUMENT"), "ci", None),
            ("ci/sbom-foreign:1.0", lambda digest: spdx([LODASH], root=digest), "other", None),
            ("ci/sbom-replayed:1.0", lambda digest: spdx([LODASH]), "ci", "sha256:" + "6" * 64),
            ("ci/sbom-nonsense:1.0", lambda digest: {"hello": "world"}, "ci", None)):
        push(name)
        attach(name, trivy([]), "scan", "ci")
        attach(name, document(names[f"digest of {name}"]), "sbom", signer, subject=subject, artifact_type="application/spdx+json")
    # As a plain push has it: no subject, the report says whose it is.
    attach("ci/oras:1.0", trivy([], digests=[names["digest of ci/oras:1.0"]]), "scan", "ci", subject="sha256:" + "7" * 64)


def add_vex(push, names, attach):
    """Images with one critical finding, and what somebody says of it in a document beside them."""
    def openvex(name, *statements, time="2025-11-10T08:00:00Z", products=None):
        repo = name.split(":")[0]
        product = f"pkg:oci/{repo.split('/')[1]}@{names[f'digest of {name}'].replace(':', '%3A')}?repository_url=localhost:5000%2F{repo.replace('/', '%2F')}"
        return {"@context": "https://openvex.dev/ns/v0.2.0", "@id": f"https://openvex.dev/docs/public/{repo}", "author": "ci", "timestamp": time, "version": 1,
                "statements": [{"vulnerability": {"name": "CVE-2025-5001"}, "products": products or [{"@id": product}], **statement} for statement in statements]}

    reason = {"status": "not_affected", "justification": "vulnerable_code_not_in_execute_path"}
    affected = {"status": "affected", "action_statement": "Update openssl.", "timestamp": "2025-11-12T08:00:00Z"}
    found = [entry("CVE-2025-5001", "CRITICAL", "openssl")]
    for what in ("cleared", "unsigned", "foreign", "replayed", "unjustified", "undone", "version", "cyclonedx", "ahead", "none", "nonsense", "elsewhere"):
        push(f"vex/{what}:1.0", reports={AMD64: {}}, entries=found)
    push("vex/multi:1.0", (AMD64, ARM64), {AMD64: {}, ARM64: {}}, entries=found)
    kind = "application/vnd.openvex+json"

    def say(name, document, signer="ci", **more):
        attach(name, document, "vex", signer, artifact_type=kind, **more)

    say("vex/cleared:1.0", openvex("vex/cleared:1.0", reason))
    say("vex/unsigned:1.0", openvex("vex/unsigned:1.0", reason), None)
    say("vex/foreign:1.0", openvex("vex/foreign:1.0", reason), "other")
    # A signed document of another image, at this image's tag.
    package = [{"@id": "pkg:apk/alpine/openssl@1.0"}]
    say("vex/replayed:1.0", openvex("vex/replayed:1.0", reason, products=package), subject="sha256:" + "8" * 64)
    say("vex/unjustified:1.0", openvex("vex/unjustified:1.0", {"status": "not_affected", "impact_statement": "Nobody calls it."}))
    say("vex/undone:1.0", openvex("vex/undone:1.0", reason, affected))
    say("vex/version:1.0", openvex("vex/version:1.0", reason, products=[{"@id": "pkg:apk/alpine/openssl@0.9"}]))
    say("vex/cyclonedx:1.0", {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"timestamp": "2025-11-10T08:00:00Z"},
        "vulnerabilities": [{"id": "CVE-2025-5001", "analysis": {"state": "resolved"}, "affects": [{"ref": "pkg:apk/alpine/openssl@1.0"}]}]})
    say("vex/ahead:1.0", openvex("vex/ahead:1.0", reason, time="2999-01-01T00:00:00Z"))
    say("vex/nonsense:1.0", {"hello": "world"})
    # Beside the index: of all its platforms.
    say("vex/multi:1.0", openvex("vex/multi:1.0", reason))


def add_verified(world, push, names, images):
    """Images that somebody signed, and envelopes beside them. The envelopes' key makes the same signature each time."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    signers = {"ci": ec.derive_private_key(1234567, ec.SECP256R1()), "other": ec.derive_private_key(7654321, ec.SECP256R1())}
    builder = ed25519.Ed25519PrivateKey.from_private_bytes(b"a builder of images, for the tests"[:32])
    pem = lambda key: key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    names["key of builder"] = pem(builder).replace("\n", "\\n")

    def sign(name, signer):
        digest = names[f"digest of {name}"]
        world.sign(name.split(":")[0], digest, signers[signer])
        images[f"{REGISTRY}/{name}"]["signedBy"] = [{"key": pem(signers[signer])}]

    def attest(name, about, builder_id, signed=None, into=None):
        """An envelope about a digest, in the image's repository or another; what is signed may be another text."""
        repo = into or name.split(":")[0]
        envelope = build_envelope(repo, about, builder_id, builder.sign, signed)
        digest = names[f"digest of {name}"]
        artifact = world.attach(repo, digest, envelope, "slsa", ENVELOPE)
        images[f"{REGISTRY}/{repo}:{digest.replace(':', '-')}.slsa"] = {"digest": artifact, "manifest": manifest_of(world, repo, artifact), "config": envelope}
        names[f"slsa of {name}"] = f"{REGISTRY}/{repo}@{artifact}"

    for name in ("signed/app:1.0", "signed/none:1.0", "signed/foreign:1.0", "signed/replayed:1.0", "signed/forged:1.0"):
        push(name, (AMD64, ARM64) if name == "signed/app:1.0" else (AMD64,))
    # The index isn't signed, and one of its platforms is.
    push("signed/parts:1.0", (AMD64, ARM64))
    part = names["digest of signed/parts:1.0 linux/amd64"]
    world.sign("signed/parts", part, signers["ci"])
    images[f"{REGISTRY}/signed/parts@{part}"] = {"digest": part, "signedBy": [{"key": pem(signers["ci"])}]}
    for name in ("signed/foreign:1.0", "signed/forged:1.0"):
        names[f"tag of {name}"] = names[f"digest of {name}"].replace(":", "-")
    for name, signer in (("signed/app:1.0", "ci"), ("signed/foreign:1.0", "other"), ("signed/replayed:1.0", "ci"), ("signed/forged:1.0", "ci")):
        sign(name, signer)
    attest("signed/app:1.0", names["digest of signed/app:1.0"], "https://ci.example")
    attest("signed/none:1.0", names["digest of signed/none:1.0"], "https://ci.example", into="attestations/signed/none")
    attest("signed/replayed:1.0", names["digest of signed/app:1.0"], "https://ci.example")
    attest("signed/forged:1.0", names["digest of signed/forged:1.0"], "https://ci.example", signed="https://elsewhere.example")


def add_evidence(world, push, names, images):
    """An image that real tools signed, and what they wrote about it: beside it in its repositories, and in an object of the cluster."""
    pieces = {"bundle": ("sign-p256.json", BUNDLE), "keyless": ("workflow-sign.json", BUNDLE), "attested": ("attest-slsaprovenance1.json", BUNDLE),
              "envelope": ("att-p256.json", ENVELOPE), "jws": ("notation-jws-p256.json", "application/jose+json"), "cose": ("notation-cose-p256.base64", COSE)}

    def put_image(repo):
        digest = names[f"digest of {repo}:1.0"] = world.push_made(repo)
        images[f"{REGISTRY}/{repo}:1.0"] = {"digest": digest}
        return digest

    def attach(repo, digest, *pieces):
        documents = []
        for file, kind in pieces:
            document = made(file)
            if kind == COSE:
                kind, document = "application/vnd.image-admission.cose.v1+json", json.dumps({"data": document.strip()})
            documents.append((document, kind))
        *artifacts, index = world.attach_evidence(repo, digest, *documents).items()
        for (own, manifest), (document, _) in zip(artifacts, documents):
            images[f"{REGISTRY}/{repo}@{own}"] = {"digest": own, "manifest": manifest, "config": json.loads(document)}
        images[f"{REGISTRY}/{repo}:{digest.replace(':', '-')}"] = {"digest": index[0], "manifest": index[1]}
        for number, (own, _) in enumerate(artifacts):
            names[f"evidence of {repo}:1.0" if number == 0 else f"evidence {number} of {repo}:1.0"] = f"{REGISTRY}/{repo}@{own}"

    def in_object(file, kind):
        return kind, made(file).strip() if kind == COSE else base64.b64encode(made(file).encode()).decode()

    for what, piece in pieces.items():
        repo = f"evidence/{what}"
        attach(repo, put_image(repo), piece)
        # Another image, with what was signed about the first.
        repo = f"evidence/moved-{what}"
        push(f"{repo}:1.0")
        digest = names[f"digest of {repo}:1.0"]
        attach(repo, digest, piece)
        world.add_evidence(digest, in_object(*piece))
        names[f"object of {repo}:1.0"] = f"ImageEvidence {digest.replace(':', '-')}"
    # Reports, SBOMs and VEX documents that are attested.
    dirty, clean, sbom, clears, counts = (
        (file, BUNDLE) for file in ("report-vuln-trivy.json", "report-vuln-trivy-clean.json", "sbom-cyclonedx.json", "vex-openvex.json", "vex-affected.json"))
    for what, beside in {"clean": (clean, sbom), "dirty": (dirty,), "cleared": (dirty, clears), "counted": (dirty, clears, counts), "affected": (counts,),
                         "workflow": (("report-workflow.json", BUNDLE), ("sbom-workflow.json", BUNDLE))}.items():
        attach(f"attested/{what}", put_image(f"attested/{what}"), *beside)
    push("attested/moved:1.0")
    attach("attested/moved", names["digest of attested/moved:1.0"], clean)
    # Nothing is beside these, and the object is about every image with the digest, wherever it is.
    put_image("attested/app")
    objects = [*pieces.values(), dirty, clears, ("report-keyless.json", BUNDLE), sbom]
    world.add_evidence(put_image("evidence/app"), *(in_object(*piece) for piece in objects))
    names["object of evidence/app:1.0"] = "ImageEvidence " + names["digest of evidence/app:1.0"].replace(":", "-")
    for file in ("p256.pub", "reports.pub", "other.pub", "root.json", "root-reports.json", "notary-p256-ca.pem", "notary-other-ca.pem"):
        # In the form that it has inside a quoted string.
        names[f"{file} of evidence"] = json.dumps(made(file))[1:-1]


def add_configured(world, names, images):
    """Images that differ in their configurations: who they start as, when they were made, what they were built from."""
    def put(name, configs, annotations=None, kind=CONFIG):
        repo, tag = name.split(":")
        entries = []
        for platform, own in configs.items():
            system, architecture = platform.split("/")
            config = {"architecture": architecture, "os": system, "rootfs": {"type": "layers", "diff_ids": []}, **own}
            layer = {"mediaType": "application/vnd.oci.empty.v1+json", **world.blob(repo, b"{}")}
            manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": kind, **world.blob(repo, json.dumps(config).encode())}, "layers": [layer]}
            if annotations:
                manifest["annotations"] = annotations
            digest, size = world.manifest(repo, tag if len(configs) == 1 else None, manifest)
            key = f"{REGISTRY}/{name}" if len(configs) == 1 else f"{REGISTRY}/{repo}@{digest}"
            images[key] = {"digest": digest, "manifest": manifest_of(world, repo, digest), "config": config}
            names[f"digest of {name}" if len(configs) == 1 else f"digest of {name} {platform}"] = digest
            entries.append({"mediaType": MANIFEST, "digest": digest, "size": size, "platform": {"architecture": architecture, "os": system}})
        if len(configs) > 1:
            index, _ = world.manifest(repo, tag, {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries})
            names[f"digest of {name}"] = index
            images[f"{REGISTRY}/{name}"] = {"digest": index, "manifest": manifest_of(world, repo, index)}

    # Go writes the keys of a map in their order.
    base = {"org.opencontainers.image.base.digest": "sha256:" + "a" * 64, "org.opencontainers.image.base.name": "registry.example.com/base:12"}
    somebody = {"created": "2020-05-17T08:00:00.123+02:00", "config": {"User": "1000:1000", "Labels": {"team": "web"}, "Entrypoint": ["/app"], "ExposedPorts": {"8080/tcp": {}}}}
    put("configured/somebody:1.0", {AMD64: somebody, ARM64: {"config": {"User": "65532"}}})
    put("configured/half-root:1.0", {AMD64: {"config": {"User": "1000"}}, ARM64: {"config": {}}})
    put("configured/based:1.0", {AMD64: somebody}, annotations=base)
    put("configured/tomorrow:1.0", {AMD64: {**somebody, "created": "2999-01-01T00:00:00Z"}})
    put("configured/two-users:1.0", {AMD64: {"config": {"User": "1000", "user": "root"}}})
    put("configured/no-text:1.0", {AMD64: {"config": {"User": 1000}}})
    put("configured/artifact:1.0", {AMD64: somebody}, kind="application/vnd.cncf.helm.config.v1+json")


def add_other_kinds(world, push, names):
    """Kubescape's manifests, and reports that are read as objects of any kind."""
    def kubescape(name, matches, kind="VulnerabilityManifest", **annotations):
        repo, tag = name.split(":")
        digest = names[f"digest of {name}"]
        slug = f"{REGISTRY}/{repo}:{tag}".translate(str.maketrans("/:_@", "----")).lower() + "-" + digest[-6:]
        names[f"kubescape {name}"] = f"{kind} kubescape/{slug}"
        known = {"kubescape.io/image-id": f"{REGISTRY}/{repo}@{digest}", "kubescape.io/image-tag": f"{REGISTRY}/{repo}:{tag}", **annotations}
        spec = {"spec": {"payload": {"matches": matches, "source": {"type": "image"}, "descriptor": {"name": "grype"}}}} if kind == "VulnerabilityManifest" else {}
        world.objects.append({"apiVersion": KUBESCAPE, "kind": kind, "metadata": {"name": slug, "namespace": "kubescape", "uid": f"uid-{kind}-{slug}", "resourceVersion": "1",
                              "creationTimestamp": "2026-11-01T00:00:00Z", "annotations": known}, **spec})

    for name in ("team/kubescape:1.0", "team/kubescape-bad:1.0", "team/kubescape-new:1.0", "team/kubescape-large:1.0"):
        push(name)
    kubescape("team/kubescape:1.0", [])
    kubescape("team/kubescape-bad:1.0", [{"vulnerability": {"id": "CVE-2025-4001", "severity": "Critical", "cvss": [], "fix": {"versions": ["2"], "state": "fixed"}}, "artifact": {"name": "curl", "version": "1", "purl": "pkg:apk/curl@1"}}])
    kubescape("team/kubescape-new:1.0", [], "SBOMSyft", **{"kubescape.io/status": "initializing"})
    kubescape("team/kubescape-large:1.0", [], "SBOMSyft", **{"kubescape.io/status": "too-large"})
    # Somebody's own mirror of reports, by digest.
    push("team/mirrored:1.0")
    digest = names["digest of team/mirrored:1.0"]
    names["mirror of team/mirrored:1.0"] = "VulnerabilityReport mirror/" + digest.replace(":", ".")
    world.objects.append({"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport", "metadata": {"name": digest.replace(":", "."), "namespace": "mirror", "uid": "uid-mirror", "resourceVersion": "1", "labels": {"mirrored": "yes"}},
        "report": {"registry": {"server": REGISTRY}, "artifact": {"repository": "team/mirrored", "digest": digest}, "updateTimestamp": "2026-11-10T08:00:00Z",
                   "vulnerabilities": [{"vulnerabilityID": "CVE-2025-3001", "severity": "Important", "fixedVersion": "2"}]}})


def fill(value, names):
    """Puts digests and reports' names where a case has `{digest of …}` and `{report of …}`."""
    text = json.dumps(value)
    for name, known in names.items():
        text = text.replace("{" + name + "}", known)
    return json.loads(text)


def load(path):
    with open(path) as f:
        return yaml.safe_load(f)


def load_all(path):
    with open(path) as f:
        return list(yaml.safe_load_all(f))


class Plain(yaml.SafeDumper):
    """Writes equal values out instead of naming them once."""

    def ignore_aliases(self, data):
        return True


def dump(path, *documents):
    text = yaml.dump_all(documents, Dumper=Plain)
    with open(path, "w") as f:
        f.write("# Written by tests/real-host/record.py.\n" + text)


def pod_spec(workload):
    spec = {}
    for key, field, letter in LISTS:
        if key not in workload:
            continue
        named = [(f"{letter}{i + 1}", image) for i, image in enumerate(workload[key])]
        if key == "volumes":
            spec[field] = [{"name": name, "image": {"reference": image}} for name, image in named]
        else:
            spec[field] = [{"name": name, "image": image} for name, image in named]
    return spec


def workload_object(workload):
    kind = workload.get("kind", "Pod")
    group = GROUPS.get(kind, "apps")
    metadata = {"name": "p", "namespace": workload.get("namespace", "default")}
    if metadata["namespace"] is None:
        del metadata["namespace"]
    spec = pod_spec(workload)
    if kind != "Pod":
        template = {"spec": spec}
        if "templateNamespace" in workload:
            template["metadata"] = {"namespace": workload["templateNamespace"]}
        spec = {"template": template}
        if kind == "CronJob":
            spec = {"jobTemplate": {"spec": spec}}
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, "spec": spec}


def plural(kind):
    """The resource of a kind, as far as cases have them."""
    return KINDS.get(kind, kind.lower() + ("es" if kind.endswith("s") else "s"))


def request(case):
    """The AdmissionRequest of a case."""
    if "objectFile" in case:
        obj = load(case["objectFile"])
    else:
        obj = case["object"] if "object" in case else workload_object(case["workload"])
    old = workload_object(case["old"]) if "old" in case else None
    known = obj or old or {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
    group, _, version = known["apiVersion"].rpartition("/")
    made = {"uid": "case", "kind": {"group": group, "version": version, "kind": known["kind"]},
            "resource": {"group": group, "version": version, "resource": plural(known["kind"])},
            "operation": "CREATE", "userInfo": {"username": "someone"}, "name": known["metadata"].get("name", ""),
            "namespace": known["metadata"].get("namespace", "default"), "object": obj, "oldObject": old}
    made.update(case.get("request", {}))
    return made


def answer(response):
    """The parts of an AdmissionResponse that are the policy's, the patch decoded."""
    status = response.get("status") or {}
    patch = response.get("patch")
    return {"allowed": response["allowed"], "message": status.get("message"), "code": status.get("code"),
            "patch": json.loads(base64.b64decode(patch)) if patch else None, "warnings": response.get("warnings") or [],
            "auditAnnotations": dict(sorted((response.get("auditAnnotations") or {}).items()))}


def granting(folder, metadata):
    """The policy's module with other metadata: kwctl grants the kinds that a module asks for itself."""
    path = os.path.join(folder, "metadata.json")
    with open(path, "w") as f:
        json.dump(metadata, f)
    return annotate("policy.wasm", path, os.path.join(folder, "policy.wasm"))


def ask_kwctl(module, folder, world, case):
    files = {}
    for name, value in [("request", case["request"]), ("settings", case["settings"])]:
        files[name] = os.path.join(folder, name + ".json")
        with open(files[name], "w") as f:
            json.dump(value, f)
    out = subprocess.run([find_tool("kwctl"), "run", "--allow-context-aware", "--sources-path", world.sources, "--request-path", files["request"],
                          "--settings-path", files["settings"], module], capture_output=True, text=True, env={**os.environ, "KUBECONFIG": world.kubeconfig})
    try:
        return answer(json.loads(out.stdout.strip().splitlines()[-1]))
    except (IndexError, ValueError):
        sys.exit(f"kwctl said of `{case['name']}`: {out.stdout}{out.stderr}")


def with_real_packages(report):
    """A report of the demo."""
    report = json.loads(json.dumps(report))
    for result in report["report"]["results"]:
        for found in result["vulnerabilities"] or []:
            name, version, fixed = DEMO_PACKAGES[found["packageName"]]
            found.update(packageName=name, purl=f"pkg:apk/alpine/{name}@{version}", installedVersion=version, fixedVersions=[fixed])
    return report


def main():
    os.chdir(ROOT)
    world, names, images = make_world()
    folder = tempfile.mkdtemp()
    os.makedirs("tests/world/cluster", exist_ok=True)
    dump("tests/world/names.yaml", names)
    dump("tests/world/images.yaml", {"images": images})
    dump("tests/world/cluster/reports.yaml", *world.objects)
    os.makedirs(f"{DEMO}/cluster", exist_ok=True)
    dump(f"{DEMO}/images.yaml", {"images": {name: image for name, image in images.items() if "/shop/" in name}})
    shop = (o for o in world.objects if o.get("imageMetadata", {}).get("repository", "").startswith("shop/"))
    dump(f"{DEMO}/cluster/reports.yaml", *map(with_real_packages, shop))
    cases = []
    asked = sys.argv[1:] or CASES
    for name in asked:
        for case in fill(load(f"tests/cases/{name}.yaml"), names):
            if "settingsFile" in case:
                settings = load(case["settingsFile"])
            else:
                # As the tests do it: the test world's registry is on this machine, and asked only when it is named.
                settings = {"registries": load("tests/world/registries.yaml"), **case.get("settings", {})}
            cases.append({"name": case["name"], "settings": settings, "request": request(case)})
    # Objects that rules read; written by hand, so that they are not written out again.
    world.objects.extend(load_all("tests/world/cluster/objects.yaml"))
    world.serve_cluster(MORE_KINDS)
    metadata = load("policy-metadata.yml")
    # What isn't granted is told as well, so that nothing is granted but this.
    metadata["contextAwareResources"] += load("tests/world/granted.yaml")
    build_module()  # builds policy.wasm
    module = granting(folder, metadata)
    policies = {f"case-{i}": {"module": module, "settings": case["settings"], "kinds": metadata["contextAwareResources"]} for i, case in enumerate(cases)}
    world.serve_policies(policies, timeout=10)
    for i, case in enumerate(cases):
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": case["request"]}
        case["policy-server"] = answer(world.ask(f"case-{i}", review))
        case["kwctl"] = ask_kwctl(module, folder, world, case)
        print(f"{i + 1}/{len(cases)} {case['name']}", flush=True)
    version = lambda tool: subprocess.run([find_tool(tool), "--version"], capture_output=True, text=True).stdout.split("\n")[0].strip()
    if asked != CASES:
        with open("tests/real-host/answers.json") as f:
            before = json.load(f)
        named = [case["name"] for file in CASES for case in load(f"tests/cases/{file}.yaml")]
        answers = {case["name"]: case for case in before["cases"] + cases}
        cases = [answers[name] for name in named if name in answers]
    recorded = {"hosts": {"policy-server": version("policy-server"), "kwctl": version("kwctl")}, "cases": cases}
    with open("tests/real-host/answers.json", "w") as f:
        json.dump(recorded, f, indent=1, sort_keys=True, ensure_ascii=False)
        f.write("\n")


if __name__ == "__main__":
    main()
