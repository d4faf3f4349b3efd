"""Asks the real `policy-server` about many images, and measures what reports cost.

1. 200 different images, some clean, some bad, some with no report: every decision must be right; of the host's calls
   only those that must be made may be made. A list is needed only for images without a report under a computed name.
2. What a cold request costs among 10, 1,000 and 10,000 reports of others: where the name can be computed, and for a
   reference by digest alone, which needs the list.

    python3 tests/real-host/scale.py

It needs what `record.py` needs, but for the port.
"""
import statistics, time

from world import World, build_module, pod, review

AMD64 = "linux/amd64"


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
    # One watch each of VulnerabilityReport and Image, however many images there were.
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


if __name__ == "__main__":
    module = build_module()
    many(module)
    for number in (10, 1000, 10000):
        cost(module, number)
