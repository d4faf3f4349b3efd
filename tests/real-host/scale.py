"""Asks the real `policy-server` about many images, and measures what reports cost.

1. `many`: 200 different images, some clean, some bad, some with no report: every decision must be right; of the host's calls
   only those that must be made may be made. A list of reports is needed only for references by digest.
2. `cost`: what a cold request costs among 10, 1,000 and 10,000 reports of others: where the name can be computed, and for a
   reference by digest alone, which needs the list.
3. `never`: the same for images that were never scanned, up to 50,000 reports: by tag, by digest, and with trivy-operator.
4. `retries`: what others wait while 200 Pods of images that were never scanned are tried again and again.

    python3 tests/real-host/scale.py [many] [cost] [never] [retries]

MODULE names an annotated module. It needs what `record.py` needs, but for the port.
"""
import os, statistics, sys, threading, time

from world import TRIVY_OPERATOR, World, build_module, pod, review

AMD64 = "linux/amd64"
# As many as a controller manager works at by itself.
RETRYING = 5


def others(world, number):
    for i in range(number):
        world.add_sbomscanner_report(f"other/x{i}", "1.0", AMD64, f"sha256:{i:064x}", counts={"HIGH": 5})


def many(module):
    """200 images in one cluster: the decisions, and the calls."""
    world = World()
    expected = {}
    for i in range(200):
        repo = f"many/app{i}"
        image = world.push(repo, "1", salt=str(i))
        kind = ("clean", "bad", "clean", "clean")[i % 4]
        world.add_sbomscanner_report(repo, "1", AMD64, image["digest"], counts={"CRITICAL": 1} if kind == "bad" else {"HIGH": 3})
        expected[repo] = kind == "clean"
    world.add_sbomscanner_registry("team")
    world.serve_cluster()
    world.serve_policies({"ours": {"module": module, "settings": {"registries": [world.registry]}}}, timeout=10)
    wrong = [repo for repo, right in expected.items() if world.ask("ours", review(pod([f"{world.registry}/{repo}:1"])))["allowed"] != right]
    named = world.asked_of_cluster()
    print(f"200 images with reports under computed names: {len(wrong)} wrong decisions, {named}", flush=True)
    assert not wrong and named["list"] == 0 and named["watch"] == 0, (wrong, named)
    # By digest alone, and without any report.
    pending = [world.push(f"many/new{i}", "1", salt=f"new{i}") and f"{world.registry}/many/new{i}:1" for i in range(50)]
    for repo, right in list(expected.items())[:50]:
        digest = next(o["imageMetadata"]["digest"] for o in world.objects if o["imageMetadata"]["repository"] == repo)
        assert world.ask("ours", review(pod([f"{world.registry}/{repo}@{digest}"])))["allowed"] == right, repo
    for image in pending:
        answer = world.ask("ours", review(pod([image])))
        assert not answer["allowed"] and answer["auditAnnotations"]["container-1.status"] == "report_not_available", answer
    listed = world.asked_of_cluster()
    print(f"and 50 by digest alone, and 50 without a report: {listed}", flush=True)
    # One watch each of VulnerabilityReport and Registry, however many images there were.
    assert listed["watching"] <= 2, listed
    world.stop()


def cost(module, number):
    """A cold request and a warm one among that many reports, by tag and by digest alone."""
    for what in ("tag", "digest"):
        world = World()
        image = world.push("team/app", "1.0")
        world.add_sbomscanner_report("team/app", "1.0", AMD64, image["digest"], counts={"HIGH": 40})
        others(world, number)
        world.serve_cluster()
        world.serve_policies({"ours": {"module": module, "settings": {"registries": [world.registry]}}}, timeout=30)
        reference = f"{world.registry}/team/app:1.0" if what == "tag" else f"{world.registry}/team/app@{image['digest']}"
        question = review(pod([reference]))
        start = time.time()
        answer = world.ask("ours", question)
        cold = time.time() - start
        assert answer["allowed"], answer
        warm = []
        for _ in range(20):
            start = time.time()
            world.ask("ours", question)
            warm.append(time.time() - start)
        print(f"{number} other reports, by {what}: cold {cold * 1000:.0f} ms, warm {statistics.median(warm) * 1000:.1f} ms, {world.asked_of_cluster()}", flush=True)
        world.stop()


def trivy_report(world, number):
    """As trivy-operator writes it, of an image of somebody else."""
    metadata = {"name": f"replicaset-x{number}-app", "namespace": "image-scans", "uid": f"uid-{number}", "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z",
                "labels": {"trivy-operator.resource.kind": "ReplicaSet", "trivy-operator.resource.name": f"x{number}", "trivy-operator.container.name": "app"}}
    artifact = {"repository": f"other/x{number}", "tag": "1.0", "digest": f"sha256:{number:064x}"}
    summary = dict.fromkeys(("criticalCount", "highCount", "mediumCount", "lowCount", "unknownCount", "noneCount"), 0)
    world.objects.append({"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport", "metadata": metadata, "report": {
        "updateTimestamp": "2026-11-01T00:00:00Z", "registry": {"server": world.registry}, "artifact": artifact, "summary": summary, "vulnerabilities": []}})


def never(module, number):
    """A request for an image that was never scanned, among that many reports: the first, and the next of other such images."""
    for what in ("tag", "digest", "trivy-operator"):
        world = World()
        images = [(f"new/app{i}", world.push(f"new/app{i}", "1.0", salt=f"new{i}")["digest"]) for i in range(22)]
        for i in range(number) if what == "trivy-operator" else ():
            trivy_report(world, i)
        if what != "trivy-operator":
            others(world, number)
            world.add_sbomscanner_registry("team")
        world.serve_cluster()
        source = {"trivyOperator": {"namespaces": ["image-scans"]}} if what == "trivy-operator" else {"sbomscanner": {}}
        settings = {"registries": [world.registry], "reports": {"sources": [source]}}
        world.serve_policies({"ours": {"module": module, "settings": settings}}, timeout=30)
        took = []
        for repository, digest in images:
            reference = f"{world.registry}/{repository}@{digest}" if what == "digest" else f"{world.registry}/{repository}:1.0"
            start = time.time()
            answer = world.ask("ours", review(pod([reference])))
            took.append((time.time() - start) * 1000)
            assert not answer["allowed"], answer
            said = answer.get("auditAnnotations", {}).get("container-1.state", answer["status"]["message"])
            assert said == "not_scanned" or number > 10_000 and what != "tag", answer
        again = []
        for _ in range(20):
            start = time.time()
            world.ask("ours", review(pod([reference])))
            again.append((time.time() - start) * 1000)
        print(f"never scanned among {number} reports, by {what}: the first {took[0]:.0f} ms, of others {statistics.median(took[1:]):.1f} ms, again {statistics.median(again):.1f} ms, "
              f"{said}, {world.asked_of_cluster()}, {world.megabytes():.0f} MB", flush=True)
        world.stop()


def retries(module, number):
    """What a Pod that may run waits among that many reports: alone, and while 200 Pods of images that were never scanned are tried again."""
    world = World()
    image = world.push("team/app", "1.0")
    world.add_sbomscanner_report("team/app", "1.0", AMD64, image["digest"], counts={"HIGH": 40})
    pending = [world.push(f"new/app{i}", "1.0", salt=f"new{i}") and review(pod([f"{world.registry}/new/app{i}:1.0"])) for i in range(200)]
    others(world, number)
    world.add_sbomscanner_registry("team")
    world.serve_cluster()
    world.serve_policies({"ours": {"module": module, "settings": {"registries": [world.registry]}}}, timeout=30)
    good = review(pod([f"{world.registry}/team/app:1.0"]))

    def measured():
        took = []
        for _ in range(200):
            start = time.time()
            assert world.ask("ours", good)["allowed"]
            took.append((time.time() - start) * 1000)
            time.sleep(0.01)
        took.sort()
        return f"p50 {took[100]:.1f} ms, p95 {took[190]:.1f} ms, p99 {took[198]:.1f} ms"

    ended, tries = threading.Event(), [0] * RETRYING

    def retry(own):
        while not ended.is_set():
            for question in pending[own::RETRYING]:
                assert not world.ask("ours", question)["allowed"]
                tries[own] += 1
                if ended.is_set():
                    return

    for question in pending:
        world.ask("ours", question)
    alone = measured()
    threads = [threading.Thread(target=retry, args=(own,)) for own in range(RETRYING)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    beside, start = sum(tries), time.time()
    together = measured()
    rate = (sum(tries) - beside) / (time.time() - start)
    ended.set()
    for thread in threads:
        thread.join()
    print(f"among {number} reports, a Pod that may run: alone {alone}; beside 200 that are tried again, {rate:.0f} times a second: {together}", flush=True)
    world.stop()


if __name__ == "__main__":
    module = os.environ.get("MODULE") or build_module()
    parts = sys.argv[1:] or ["many", "cost", "never", "retries"]
    if "many" in parts:
        many(module)
    for number in (10, 1000, 10000) if "cost" in parts else ():
        cost(module, number)
    for number in (1000, 10000, 50000) if "never" in parts else ():
        never(module, number)
    for number in (1000, 50000) if "retries" in parts else ():
        retries(module, number)
