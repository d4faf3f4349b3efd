"""Asks the real `policy-server` about the largest inputs that are promised, and some that are larger: what users get.

    python3 tests/real-host/memory.py [an annotated module in the place of the checkout's]

The host gives an evaluation 256 MiB since Kubewarden 1.38; the module itself declares 128.
It needs what `record.py` needs, but for the port.
"""
import json, sys

from world import World, build_module, compact, http, pod, review

AMD64 = "linux/amd64"
BY_ENTRIES = {"acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 500_000}}}}
ACCEPT = {"preScanPolicies": {"defaultPolicy": "accept"}}
RULE = {**ACCEPT, "regoPolicies": [{"name": "a", "kinds": ["*"], "rego": 'package a\ndeny[msg] { input.review.object.x == 1; msg := "x" }'}]}


def findings(count):
    """As sbomscanner writes them."""
    return [{
        "cve": f"CVE-2026-{i:05}", "severity": "HIGH", "packageName": f"package-{i}", "purl": f"pkg:apk/alpine/package-{i}@1.0",
        "installedVersion": "1.0", "fixedVersions": ["1.1"], "suppressed": False,
        "cvss": {"nvd": {"v3score": "7.5", "v3vector": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N"}},
    } for i in range(count)]


def containers(images):
    return {**pod([]), "spec": {"containers": [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]}}


def holding(image, value, size):
    """A Pod with a list of a value, of so many bytes together."""
    part = len(json.dumps(value, separators=(",", ":"))) + 1
    return {**pod([image]), "x": [value] * (size // part)}


def main():
    world = World()
    image = world.push("team/app", "1.0")
    world.add_sbomscanner_report("team/app", "1.0", AMD64, image["digest"], counts={"HIGH": 100_000}, entries=findings(100_000))
    larger = world.push("team/larger", "1.0")
    world.add_sbomscanner_report("team/larger", "1.0", AMD64, larger["digest"], counts={"HIGH": 400_000}, entries=findings(400_000))
    small = world.push("team/small", "1.0", salt="small")
    world.add_sbomscanner_report("team/small", "1.0", AMD64, small["digest"], counts={"HIGH": 1_000}, entries=findings(1_000))
    world.serve_cluster()
    module = sys.argv[1] if len(sys.argv) > 1 else build_module()
    registries = {"registries": [world.registry]}
    policies = {"entries": BY_ENTRIES, "accept": ACCEPT, "rule": RULE}
    world.serve_policies({name: {"module": module, "settings": {**registries, **settings}} for name, settings in policies.items()}, timeout=60)
    named = f"{world.registry}/team/small:1.0"
    for name, policy, object in (
        ("a report of 100,000 findings", "entries", pod([f"{world.registry}/team/app:1.0"])),
        ("a report of 400,000", "entries", pod([f"{world.registry}/team/larger:1.0"])),
        ("500 containers of one image", "entries", containers([named] * 500)),
        ("an object of 1.5 MB, texts", "rule", holding(named, "a" * 100, 1_500_000)),
        ("an object of 1.5 MB, small objects", "accept", holding(named, {"": 0}, 1_500_000)),
        ("the same with a rule", "rule", holding(named, {"": 0}, 1_500_000)),
        ("an object of 1.9 MB, small objects, with a rule", "rule", holding(named, {"": 0}, 1_900_000)),
    ):
        # As an API server writes it, so that no byte of what a policy server reads is lost.
        answer = json.loads(http(f"{world.server}/validate/{policy}", compact(review(object)), timeout=120)[0])["response"]
        print(f"{name}: {'admitted' if answer['allowed'] else answer['status']['message'][:150]!r}", flush=True)
    world.stop()


if __name__ == "__main__":
    main()
