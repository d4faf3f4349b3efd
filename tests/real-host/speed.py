"""Measures the module on the real `policy-server`: requests a second, and the server's CPU time for one of them.

    python3 tests/real-host/speed.py [--turns N] [--seconds N] [case …]

`speed_cases.py` has the cases: all are measured, or those that are named. Each is measured in turns with what it is compared with: mostly a
policy that makes the host calls that judging can't do without, and judges nothing. Machines have other things to do: the
median of the ratios of neighbouring turns says more than one figure, and CPU time more than requests a second.

MODULE names an annotated module; without it the checkout's is built. BASE names another, which is measured with the settings of `image`, `rules` and `signature`.
IMAGE_CVE_POLICY and CEL_POLICY name those policies of Kubewarden's, annotated.
"""
import argparse, os, statistics, subprocess, sys

from speed_cases import NOBODY, build_cases
from world import HERE, ROOT, World, annotate, build_module, pod, review


def build_calls(world):
    folder = os.path.join(HERE, "calls")
    subprocess.run([os.path.join(ROOT, ".ci/cargo"), "build", "--release", "--quiet", "--target", "wasm32-wasip1"], cwd=folder, check=True)
    return annotate(os.path.join(folder, "target/wasm32-wasip1/release/calls.wasm"), os.path.join(folder, "metadata.yml"), os.path.join(world.folder, "calls.wasm"))


def choose(cases, names):
    """Those that are named, and the cases that they are compared with."""
    unknown = set(names) - set(cases)
    if unknown:
        sys.exit(f"no case {', '.join(sorted(unknown))}: there are {', '.join(cases)}")
    chosen = set(names or cases)
    chosen |= {cases[name]["beside"] for name in chosen if isinstance(cases[name]["beside"], str)}
    return {name: case for name, case in cases.items() if name in chosen}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--turns", type=int, default=7)
    arguments.add_argument("--seconds", type=int, default=5, help="how long each is asked in a turn")
    arguments.add_argument("cases", nargs="*", metavar="case")
    arguments = arguments.parse_args()
    world = World()
    cases = choose(build_cases(world), arguments.cases)
    world.serve_cluster()
    module, calls = os.environ.get("MODULE") or build_module(), build_calls(world)
    # Policies by name, with the images that they are asked about; and what each case is compared with.
    policies, images, beside = {}, {}, {}
    for name, case in cases.items():
        policies[name], images[name] = {"module": case.get("module", module), "settings": case["settings"]}, case["images"]
        beside[name] = case["beside"]
        if isinstance(beside[name], list):
            bare = {"module": calls, "settings": {"calls": beside[name]}}
            # Cases with the same calls share them.
            beside[name] = next((other for other, policy in policies.items() if (policy, images[other]) == (bare, case["images"])), f"{name}-calls")
            policies[beside[name]], images[beside[name]] = bare, case["images"]
    world.serve_policies(policies, timeout=10)
    questions = {name: review(pod(asked)) for name, asked in images.items()}
    answers = {name: world.ask(name, question) for name, question in questions.items()}
    wrong = [f"{name}: {answer}" for name, answer in answers.items() if not answer["allowed"] or any("error" in warning and NOBODY not in warning for warning in answer.get("warnings") or [])]
    if wrong:
        sys.exit("\n".join(["not admitted:", *wrong]))
    measured = {name: [] for name in policies}
    for turn in range(arguments.turns + 1):
        names = list(policies) if turn % 2 else list(policies)[::-1]
        for name in names:
            said = world.load(name, questions[name], seconds=arguments.seconds)
            # The first turn warms up.
            if turn:
                measured[name].append(said)
    for name, said in measured.items():
        rates, cpu = zip(*said)
        print(f"{name}: {statistics.median(rates):.0f} requests/s ({min(rates):.0f} to {max(rates):.0f}), {statistics.median(cpu):.3f} ms of CPU time a request")
    for name, other in beside.items():
        rates = [ours[0] / others[0] for ours, others in zip(measured[name], measured[other])]
        cpu = [others[1] / ours[1] for ours, others in zip(measured[name], measured[other])]
        print(f"{name} of {other}: {statistics.median(rates):.3f} by requests/s ({min(rates):.3f} to {max(rates):.3f}), {statistics.median(cpu):.3f} by CPU time ({min(cpu):.3f} to {max(cpu):.3f})")


if __name__ == "__main__":
    main()
