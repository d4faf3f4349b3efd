"""Asks the same rule of ten lines of this policy in the real `policy-server`, of `opa run --server`, and of Gatekeeper's engine by
`gator bench`, in turns: requests a second, and memory.

`opa` and `gator` must be on PATH. Each is asked about the same Pod, which the rule doesn't deny. OPA compiled the rule when it was started,
and keeps it in memory; the policy gets a clean instance for each request, reads the rule in it, and judges images besides.
`gator bench` evaluates within its own process: no request is read, and none is answered.

    python3 tests/real-host/opa.py [turns]

MODULE names an annotated module; without it the checkout's is built.
"""
import json, os, statistics, subprocess, sys

from world import World, build_module, find_tool, free_port, http, pod, review

RULE = """package kubernetes.admission

deny[msg] {
  container := input.request.object.spec.containers[_]
  not startswith(container.image, "registry.example/")
  msg := sprintf("%v is not from our registry", [container.image])
}

deny[msg] {
  container := input.request.object.spec.containers[_]
  container.securityContext.privileged
  msg := sprintf("%v is privileged", [container.name])
}
"""


def gatekeeper(world, object):
    """What `gator bench` says of the rule as a ConstraintTemplate: reviews a second, one after another."""
    rego = RULE.replace("kubernetes.admission", "ours").replace("deny[msg]", 'violation[{"msg": msg}]').replace("input.request.object", "input.review.object")
    template = {"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "ours"},
                "spec": {"crd": {"spec": {"names": {"kind": "Ours"}}}, "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}]}}
    constraint = {"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Ours", "metadata": {"name": "ours"}, "spec": {"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}}}
    written = [world.write(f"{name}.json", json.dumps(what)) for name, what in (("template", template), ("constraint", constraint), ("pod", object))]
    files = [argument for path in written for argument in ("--filename", path)]
    said = subprocess.run([find_tool("gator"), "bench", "--engine", "rego", "--iterations", "5000", "--output", "json", *files], capture_output=True, text=True, check=True).stdout
    return json.loads(said)


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    world = World()
    world.serve_cluster()
    settings = {"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "ours", "kinds": ["Pod"], "rego": RULE}]}
    world.serve_policies({"ours": {"module": os.environ.get("MODULE") or build_module(), "settings": settings}})
    port = free_port()
    opa = world.start("opa", [find_tool("opa"), "run", "--server", "--v0-compatible", "--addr", f"127.0.0.1:{port}", "--log-level", "error", world.write("rule.rego", RULE)])
    at_opa = f"http://127.0.0.1:{port}/v1/data/kubernetes/admission/deny"
    world.wait_for(f"http://127.0.0.1:{port}/health", opa)

    good, bad = ({"input": review(pod([f"{host}/team/app:1.0"]))} for host in ("registry.example", "elsewhere.example"))
    for question, denied in ((good, False), (bad, True)):
        said = {"ours": not world.ask("ours", question["input"])["allowed"], "opa": bool(json.loads(http(at_opa, json.dumps(question).encode())[0])["result"])}
        if said != {"ours": denied, "opa": denied}:
            sys.exit(f"denied, where {denied} is right: {said}")

    measured = {"ours": [], "opa": []}
    for turn in range(turns + 1):
        # The first turn warms up.
        said = {"ours": world.load("ours", good["input"])[0], "opa": world.load_at(at_opa, good)[0]}
        if turn:
            for name, rate in said.items():
                measured[name].append(rate)
    for name, process in (("ours", world.policy_server), ("opa", opa)):
        rates = measured[name]
        print(f"{name}: {statistics.median(rates):.0f} requests/s ({min(rates):.0f} to {max(rates):.0f}), {world.megabytes(process)} MB")
    print(f"ours of opa: {statistics.median(ours / other for ours, other in zip(measured['ours'], measured['opa'])):.3f}")
    print(f"gator bench: {json.dumps(gatekeeper(world, good['input']['request']['object']))}")


if __name__ == "__main__":
    main()
