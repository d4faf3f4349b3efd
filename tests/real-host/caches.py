"""What the caches of the real `policy-server` keep: its memory, while it decides about images that it has never seen.

Each image has a report of its own, so each decision has three keys that are new to the host: the tag, the manifest, the report. Hosts
before Kubewarden 1.38 drop none of them. Beside it: as many decisions about one image, and what is left after the caches' time is over.

    python3 tests/real-host/caches.py [--images N] [findings …]

For each number of findings that a report has (0, 10 and 100 where none is named), the bytes that one decision leaves. MODULE names
an annotated module, as for `speed.py`.
"""
import argparse, concurrent.futures, os, time

from world import MANIFEST, CONFIG, World, build_module, finding, pod, review

# The longest time that a cache of the host says that it keeps anything, and a little more.
KEPT = 65


def entry(number):
    """A finding with the words that scanners give it: some 700 bytes."""
    words = "A flaw was found in the way that the package handles its input, so that a crafted document makes it read what lies behind a buffer. "
    references = [f"https://advisories.example.com/{place}/CVE-2025-20{number:03d}" for place in ("distribution", "vendor", "database")]
    return {**finding("HIGH", number), "title": words[:90], "description": words * 2, "references": references}


def push(world, count):
    """So many images in one repository, which differ in an annotation, with their tags."""
    layer, config = world.blob("many/app", b"layer"), world.blob("many/app", b'{"architecture":"amd64","os":"linux","config":{"User":"1000"},"rootfs":{"type":"layers","diff_ids":[]}}')
    for number in range(count):
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": CONFIG, **config}, "annotations": {"number": str(number)},
                    "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **layer}]}
        yield f"v{number}", world.manifest("many/app", f"v{number}", manifest)[0]


def decide(world, tags):
    """Asks about these, four at a time."""
    def ask(tag):
        answer = world.ask("ours", review(pod([f"{world.registry}/many/app:{tag}"])))
        assert answer["allowed"], answer
    with concurrent.futures.ThreadPoolExecutor(4) as clients:
        list(clients.map(ask, tags))


def measure(module, count, findings):
    world = World()
    entries = [entry(number) for number in range(findings)]
    tags = []
    for tag, digest in push(world, count):
        world.add_sbomscanner_report("many/app", tag, "linux/amd64", digest, entries=entries)
        tags.append(tag)
    world.serve_cluster()
    world.objects.clear()
    world.serve_policies({"ours": {"module": module, "settings": {"registries": [world.registry]}}}, timeout=10)
    # What the server needs for itself it has after the first tenth.
    first, rest = tags[: count // 10], tags[count // 10 :]
    decide(world, first)
    time.sleep(KEPT)
    start = world.kilobytes()
    decide(world, first[:1] * len(rest))
    known = world.kilobytes()
    decide(world, rest)
    new = world.kilobytes()
    time.sleep(KEPT)
    # A key that nobody asks for again stays: these questions are about others.
    decide(world, first)
    kept = world.kilobytes()
    each = (kept - known) * 1024 / len(rest)
    print(f"{findings} findings: {start // 1024} MB, after {len(rest)} decisions about one image {known // 1024} MB, about {len(rest)} new ones {new // 1024} MB, "
          f"{KEPT} s later {kept // 1024} MB: {each / 1000:.1f} kB each, {each / 1000:.0f} GB a million", flush=True)
    world.stop()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--images", type=int, default=20000, help="how many images there are")
    arguments.add_argument("findings", nargs="*", type=int, default=[0, 10, 100])
    arguments = arguments.parse_args()
    module = os.environ.get("MODULE") or build_module()
    for findings in arguments.findings:
        # A report of many findings takes memory of everybody here.
        measure(module, arguments.images // (1 + findings // 10), findings)


if __name__ == "__main__":
    main()
