"""Measures the module on the real `policy-server`: requests a second, and the server's CPU time for one of them.

It asks about one image of two platforms with a report each, in turns with the ten lines of `rule.rego` as `customRules`, with gates for
what is exploited and past its end, with a policy that makes the same host calls and nothing else, and with another module where BASE
names one (annotated). Machines have other things to do: the median of the
ratios of neighbouring turns says more than one figure, and CPU time more than requests a second.

    python3 tests/real-host/speed.py [turns]

MODULE names an annotated module; without it the checkout's is built.
"""
import os, statistics, subprocess, sys

from world import HERE, ROOT, SBOMSCANNER, TRIVY_OPERATOR, World, annotate, build_module, finding, pod, report_name, review


SUMMARY = ["imageMetadata", "report.summary"]
GATED = [*SUMMARY, *(f"report.results.vulnerabilities.{field}" for field in ("severity", "suppressed", "cve", "knownExploited", "epssScore"))]
# Nothing has this name: asking for it tells whether the kind can be read, which an empty list doesn't.
NOBODY = "image-admission-asks-whether-this-can-be-read"
LIST = {"namespace": "security", "name": "kev"}


def bare_calls(world, image, fields=SUMMARY, listed=False):
    """The host calls that judging the image can't do without."""
    name = f"{world.registry}/team/app"
    call = lambda namespace, operation, payload: {"namespace": namespace, "operation": operation, "payload": payload}
    reports = [{"api_version": SBOMSCANNER, "kind": "VulnerabilityReport", "namespace": "sbomscanner", "disable_cache": False, "field_masks": fields,
                "name": report_name(world.registry, "team/app", "1.0", digest)} for digest in image["platforms"].values()]
    lists = [{"api_version": "v1", "kind": "ConfigMap", **LIST, "disable_cache": False, "field_masks": ["data"]}] if listed else []
    return [call("oci", "v1/manifest_digest", f"{name}:1.0"), call("oci", "v1/oci_manifest", f"{name}@{image['index']}"), *(call("kubernetes", "get_resource", report) for report in [*reports, *lists])]


def gated_calls(world, image):
    """The same with a report of trivy-operator, which a list leads to, and what is exploited."""
    name = f"{world.registry}/team/app"
    call = lambda namespace, operation, payload: {"namespace": namespace, "operation": operation, "payload": payload}
    report = {"api_version": TRIVY_OPERATOR, "kind": "VulnerabilityReport", "namespace": "image-scans"}
    known = ["report.artifact", "report.registry"]
    fields = [*known, "report.summary", "report.os", *(f"report.vulnerabilities.{field}" for field in ("severity", "vulnerabilityID", "fixedVersion", "publishedDate"))]
    return [call("oci", "v1/manifest_digest", f"{name}:1.0"), call("oci", "v1/oci_manifest", f"{name}@{image['index']}"),
            call("kubernetes", "get_resource", {**report, "name": NOBODY, "disable_cache": False, "field_masks": []}),
            call("kubernetes", "list_resources_by_namespace", {**report, "label_selector": None, "field_selector": None, "field_masks": known}),
            call("kubernetes", "get_resource", {**report, "name": "pod-p-amd64", "disable_cache": False, "field_masks": fields}),
            call("kubernetes", "get_resource", {"api_version": "v1", "kind": "ConfigMap", **LIST, "disable_cache": False, "field_masks": ["data"]})]


def catalogue(count):
    """CISA's catalogue as deploy/known-exploited keeps it, with as many ids as it has."""
    entries = "".join(f"CVE-2024-{number:05d} 2026-12-01\n" for number in range(count))
    return f"count: {count}\n{entries}"


def trivy_report(world, platform, digest):
    """A report of trivy-operator's with 40 findings, each with the day on which it was published."""
    findings = [{"vulnerabilityID": f"CVE-2025-{number:04d}", "severity": "HIGH", "resource": f"pkg{number}", "installedVersion": "1.0", "fixedVersion": "2.0", "title": "", "primaryLink": "",
                 "links": [], "target": "", "publishedDate": "2026-01-01T00:00:00Z", "packagePURL": f"pkg:apk/alpine/pkg{number}@1.0"} for number in range(40)]
    return {"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport",
            "metadata": {"name": f"pod-p-{platform}", "namespace": "image-scans", "uid": f"uid-{platform}", "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z",
                         "labels": {"trivy-operator.container.name": "c1"}},
            "report": {"updateTimestamp": "2026-11-10T08:00:00Z", "os": {"family": "alpine", "name": "3.22"}, "scanner": {"name": "Trivy", "vendor": "Aqua Security", "version": "0.60.0"},
                       "registry": {"server": world.registry}, "artifact": {"repository": "team/app", "tag": "1.0", "digest": digest},
                       "summary": {"criticalCount": 0, "highCount": 40, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0}, "vulnerabilities": findings}}


def build_calls(world):
    folder = os.path.join(HERE, "calls")
    subprocess.run([os.path.join(ROOT, ".ci/cargo"), "build", "--release", "--quiet", "--target", "wasm32-wasip1"], cwd=folder, check=True)
    return annotate(os.path.join(folder, "target/wasm32-wasip1/release/calls.wasm"), os.path.join(folder, "metadata.yml"), os.path.join(world.folder, "calls.wasm"))


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    world = World()
    image = world.push("team/app", "1.0", platforms=("linux/amd64", "linux/arm64"))
    for platform, digest in image["platforms"].items():
        world.add_sbomscanner_report("team/app", "1.0", platform, digest, index=image["index"], entries=[{**finding("HIGH", number), "knownExploited": False, "epssScore": "0.001", "epssPercentile": "0.1"} for number in range(40)])
    world.objects.append(trivy_report(world, "amd64", image["platforms"]["linux/amd64"]))
    world.objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**LIST, "uid": "kev", "resourceVersion": "1"}, "data": {"known-exploited": catalogue(1400)}})
    world.serve_cluster()
    settings = {"registries": [world.registry]}
    with open(os.path.join(HERE, "rule.rego")) as file:
        ruled = {**settings, "regoVersion": "v0", "customRules": file.read()}
    module = os.environ.get("MODULE") or build_module()
    policies = {"ours": {"module": module, "settings": settings}, "with-rules": {"module": module, "settings": ruled}, "calls": {"module": build_calls(world), "settings": {"calls": bare_calls(world, image)}}}
    listed = {"action": "reject", "from": {"configMap": LIST}}
    trivy = {**settings, "reports": {"sources": [{"trivyOperator": {"namespaces": ["image-scans"], "workloadNamespace": False}}], "platforms": ["linux/amd64"]}}
    for name, own in {
        "exploited": {**settings, "acceptance": {"knownExploited": "reject", "epss": {"score": 0.5}}},
        "exploited-by-list": {**settings, "acceptance": {"knownExploited": listed}},
        "trivy": trivy,
        "trivy-gated": {**trivy, "acceptance": {"knownExploited": listed, "endOfLife": "reject", "fixGracePeriod": {"critical": "3d"}, "maxSeverity": {"high": {"total": 40}}}},
        "trivy-ended-and-grace": {**trivy, "acceptance": {"endOfLife": "reject", "fixGracePeriod": {"critical": "3d"}, "maxSeverity": {"high": {"total": 40}}}},
    }.items():
        policies[name] = {"module": module, "settings": own}
    policies["trivy-gated-calls"] = {"module": policies["calls"]["module"], "settings": {"calls": gated_calls(world, image)}}
    policies["exploited-calls"] = {"module": policies["calls"]["module"], "settings": {"calls": bare_calls(world, image, GATED)}}
    policies["exploited-by-list-calls"] = {"module": policies["calls"]["module"], "settings": {"calls": bare_calls(world, image, GATED[:5], listed=True)}}
    if "BASE" in os.environ:
        policies["base"] = {"module": os.environ["BASE"], "settings": settings}
        policies["base-with-rules"] = {"module": os.environ["BASE"], "settings": ruled}
    world.serve_policies(policies)
    question = review(pod([f"{world.registry}/team/app:1.0"]))
    answers = {name: world.ask(name, question) for name in policies}
    wrong = [name for name, answer in answers.items() if not answer["allowed"] or any("error" in warning and NOBODY not in warning for warning in answer.get("warnings") or [])]
    if wrong:
        sys.exit(f"not admitted: {[answers[name] for name in wrong]}")
    measured = {name: [] for name in policies}
    for turn in range(turns + 1):
        names = list(policies) if turn % 2 else list(policies)[::-1]
        for name in names:
            said = world.load(name, question)
            # The first turn warms up.
            if turn:
                measured[name].append(said)
    for name, said in measured.items():
        rates, cpu = zip(*said)
        print(f"{name}: {statistics.median(rates):.0f} requests/s ({min(rates):.0f} to {max(rates):.0f}), {statistics.median(cpu):.3f} ms of CPU time a request")
    pairs = [(own, other) for own, other in (("ours", "calls"), ("with-rules", "calls"), ("exploited", "exploited-calls"), ("exploited-by-list", "exploited-by-list-calls"), ("trivy-ended-and-grace", "trivy"), ("trivy-gated", "trivy-gated-calls"), ("ours", "base"), ("with-rules", "base-with-rules")) if other in policies]
    for own, name in pairs:
        rates = [ours[0] / other[0] for ours, other in zip(measured[own], measured[name])]
        cpu = [other[1] / ours[1] for ours, other in zip(measured[own], measured[name])]
        print(f"{own} of {name}: {statistics.median(rates):.3f} by requests/s, {statistics.median(cpu):.3f} by CPU time ({min(cpu):.3f} to {max(cpu):.3f})")


if __name__ == "__main__":
    main()
