"""What users wait for, on the real `policy-server`.

1. After a deployment: until the policy server is ready and has answered once, and its memory, with one policy and with five of the
   same module.
2. One, 20 and 50 images: the first request, for which the host knows nothing yet, and the next ones, for which its caches have it all; and
   images that are new to a server that has answered before.
3. A hundred clients at a time: p50, p95 and p99.

    python3 tests/real-host/waits.py [--rounds N] [--new]

With `--new`, only images that are new to a running server, over TLS, with the requests that reach the registry. BEFORE may name another module,
which is asked in the same rounds.

Medians of the rounds. MODULE, IMAGE_CVE_POLICY and CEL_POLICY name annotated modules, as for `speed.py`; `calls` is the policy that makes
the host calls that judging can't do without, and `nothing` the same without any.
"""
import argparse, os, statistics, time

from speed import build_calls
from speed_cases import build_cases
from world import World, build_module, pod, review


def deployed(world, policies, question):
    """Seconds until the policy server is ready, and until each policy has answered once; its memory then, and after some load."""
    start = time.time()
    world.serve_policies(policies)
    ready = time.time() - start
    for name in policies:
        assert world.ask(name, question)["allowed"], name
    answered, memory = time.time() - start, world.megabytes()
    for name in policies:
        world.load(name, question, seconds=2)
    loaded = world.megabytes()
    world.stop_policies()
    return ready, answered, memory, loaded


def asked(world, policy, question):
    """The first request that a policy server gets, and the median of the next five, in milliseconds."""
    world.serve_policies({"asked": policy}, timeout=30)
    times = []
    for _ in range(6):
        start = time.time()
        answer = world.ask("asked", question)
        times.append((time.time() - start) * 1000)
        assert answer["allowed"], answer
    world.stop_policies()
    return times[0], statistics.median(times[1:])


def new_to_a_running_server(world, policy, images):
    """Milliseconds of each image but the first, which pays for what the server does once."""
    world.serve_policies({"asked": policy}, timeout=30)
    times = []
    for image in images:
        start = time.time()
        answer = world.ask("asked", review(pod([image])))
        times.append((time.time() - start) * 1000)
        assert answer["allowed"], answer
    world.stop_policies()
    return times[1:]


def new_over_tls(rounds):
    """The same over TLS, and what one image asks of the registry; then with warm caches."""
    world = World(tls=True)
    many = build_cases(world)["20-images"]
    world.serve_cluster()
    modules = {"now": os.environ.get("MODULE") or build_module()} | ({"before": os.environ["BEFORE"]} if "BEFORE" in os.environ else {})
    cold, warm, requests = ({name: [] for name in modules} for _ in range(3))
    for turn in range(rounds):
        for name in list(modules)[:: 1 if turn % 2 else -1]:
            policy = {"module": modules[name], "settings": many["settings"]}
            before = world.asked_of_registry()
            cold[name] += new_to_a_running_server(world, policy, many["images"])
            requests[name].append((world.asked_of_registry() - before) / len(many["images"]))
            warm[name] += asked(world, policy, review(pod(many["images"][:1])))[1:]
    for name in modules:
        print(f"over TLS, {name}: an image that is new to a running server p50 {statistics.median(cold[name]):.1f} ms of {len(cold[name])}, "
              f"{statistics.median(requests[name]):.1f} requests to the registry, warm {statistics.median(warm[name]):.2f} ms", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--new", action="store_true")
    given = arguments.parse_args()
    rounds = given.rounds
    if given.new:
        return new_over_tls(rounds)
    world = World()
    cases = build_cases(world)
    world.serve_cluster()
    ours, calls = os.environ.get("MODULE") or build_module(), build_calls(world)
    one = review(pod(cases["image"]["images"]))
    modules = {"ours": (ours, cases["image"]["settings"]), "calls": (calls, {"calls": cases["image"]["beside"]}), "nothing": (calls, {})}
    modules |= {name: (cases[name]["module"], cases[name]["settings"]) for name in ("image-cve-policy", "cel-policy") if name in cases}
    policies = {name: {"module": module, "settings": settings} for name, (module, settings) in modules.items()}

    medians = lambda rows: [statistics.median(column) for column in zip(*rows)]
    for count in (1, 5):
        for name, policy in policies.items():
            several = {f"{name}-{number}": policy for number in range(count)}
            ready, answered, memory, loaded = medians([deployed(world, several, one) for _ in range(rounds)])
            print(f"{count} of {name}: ready after {ready:.2f} s, answered after {answered:.2f} s, {memory:.0f} MB, {loaded:.0f} MB after load", flush=True)

    for case in ("image", "20-images", "50-images"):
        question = review(pod(cases[case]["images"]))
        both = {"ours": {"module": ours, "settings": cases[case]["settings"]}, "calls": {"module": calls, "settings": {"calls": cases[case]["beside"]}}}
        times = {name: [] for name in both}
        for _ in range(rounds):
            for name, policy in both.items():
                times[name].append(asked(world, policy, question))
        for name, said in times.items():
            cold, warm = medians(said)
            print(f"{case} by {name}: the first request {cold:.0f} ms, the next {warm:.1f} ms", flush=True)

    many = cases["20-images"]
    times = [ms for _ in range(rounds) for ms in new_to_a_running_server(world, {"module": ours, "settings": many["settings"]}, many["images"])]
    print(f"an image that is new to a running server: p50 {statistics.median(times):.1f} ms of {len(times)}", flush=True)

    world.serve_policies(policies, timeout=30)
    waited = {name: [] for name in policies}
    for turn in range(rounds + 1):
        for name in list(policies)[:: 1 if turn % 2 else -1]:
            # Of the others one answer takes seconds, and what isn't answered at the end isn't counted.
            said = world.waited(name, one, seconds=30 if "module" in cases.get(name, {}) else 5)
            # The first turn warms up.
            if turn:
                waited[name].append(said)
    for name, said in waited.items():
        print(f"100 clients of {name}: p50 {medians(said)[0]:.1f} ms, p95 {medians(said)[1]:.1f} ms, p99 {medians(said)[2]:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
