"""Records what the real hosts answer to the cases of `tests/cases`.

It pushes the images of the test world into a real registry at localhost:5000, serves the world's reports as a cluster,
asks the real `policy-server` and the real `kwctl run` every case, and writes

- `tests/world/`: the images as the registry has them, the reports, and the names that cases use for their digests;
- `examples/demo/`: those of the images and reports that the demo is about;
- `tests/real-host/answers.json`: each case's request and settings, and both hosts' answers, with their versions.

`make test` compares the native host with that file. Run this again after a case was added or a message changed:

    REALHOST=<folder with kw.py> python3 tests/real-host/record.py

It needs `policy-server`, `kwctl`, `docker-registry` (on PATH, or by POLICY_SERVER, KWCTL, DOCKER_REGISTRY), Python's
`yaml`, a free port 5000, and the harness `kw.py`.
"""
import base64, json, os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if "REALHOST" not in os.environ:
    sys.exit("REALHOST is not set: it names the folder with kw.py, the harness that starts the hosts")
sys.path.insert(0, os.environ["REALHOST"])
import yaml
import kw

REGISTRY = "localhost:5000"
CASES = ["prescan", "scan", "updates", "attacks", "demo"]
DEMO = "examples/demo"
AMD64, ARM64 = "linux/amd64", "linux/arm64"
# Pods name their lists in this order, so that the shorthand of a case makes the same object everywhere.
LISTS = [("init", "initContainers", "i"), ("containers", "containers", "c"), ("ephemeral", "ephemeralContainers", "e"), ("volumes", "volumes", "v")]
GROUPS = {"Pod": "", "ReplicationController": "", "Job": "batch", "CronJob": "batch"}
KINDS = {"Pod": "pods", "ReplicationController": "replicationcontrollers", "ReplicaSet": "replicasets", "Deployment": "deployments", "StatefulSet": "statefulsets",
         "DaemonSet": "daemonsets", "Job": "jobs", "CronJob": "cronjobs", "Service": "services"}


def make_world():
    """The images and reports that cases are about."""
    ports = iter([5000])
    free_port = kw.port
    kw.port = lambda: next(ports, None) or free_port()
    world = kw.World()
    world.registry = REGISTRY
    names, images, last = {}, {}, {}

    def push(name, platforms=(AMD64,), reports=None, **options):
        repo, tag = name.split(":")
        image = world.push(repo, tag, platforms=platforms)
        names[f"digest of {name}"] = image["digest"]
        entry = {"digest": image["digest"]}
        if image["index"]:
            entry["platforms"] = image["platforms"]
        images[f"{REGISTRY}/{name}"] = entry
        for platform, digest in image["platforms"].items():
            if image["index"]:
                names[f"digest of {name} {platform}"] = digest
            counts = (reports or {}).get(platform)
            if counts is None:
                continue
            world.sbomscanner_report(repo, tag, platform, digest, index=image["index"], counts=counts, **options)
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
    push("team/listed:1.0", reports={AMD64: {"MEDIUM": 3}}, registry_cr="our-registry")
    push("team/own:1.0", reports={AMD64: {}}, namespace="team-a")
    push("team/broken:1.0", reports={AMD64: {}})
    del last["report"]["report"]["summary"]
    push("team/two:old", reports={AMD64: {}})
    # The same image under another tag, scanned when more was known.
    world.sbomscanner_report("team/two", "new", AMD64, names["digest of team/two:old"], counts={"CRITICAL": 4})
    names["report of team/two:new"] = "VulnerabilityReport {namespace}/{name}".format(**world.objects[-1]["metadata"])
    push("shop/web:2.1", both, {AMD64: {"HIGH": 2, "LOW": 1}, ARM64: {"HIGH": 1}})
    push("shop/legacy:1.4", reports={AMD64: {"CRITICAL": 1, "HIGH": 2}})
    push("shop/fresh:0.1")
    push("team/forged:1.0", reports={AMD64: {}})
    last["report"]["imageMetadata"]["repository"] = "team/app"
    return world, names, images


def fill(value, names):
    """Puts digests and reports' names where a case has `{digest of …}` and `{report of …}`."""
    text = json.dumps(value)
    for name, known in names.items():
        text = text.replace("{" + name + "}", known)
    return json.loads(text)


def load(path):
    with open(path) as f:
        return yaml.safe_load(f)


def dump(path, *documents):
    with open(path, "w") as f:
        f.write("# Written by tests/real-host/record.py.\n" + yaml.safe_dump_all(documents))


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
            "resource": {"group": group, "version": version, "resource": KINDS[known["kind"]]},
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


def ask_kwctl(module, folder, world, case):
    files = {}
    for name, value in [("request", case["request"]), ("settings", case["settings"])]:
        files[name] = os.path.join(folder, name + ".json")
        with open(files[name], "w") as f:
            json.dump(value, f)
    out = subprocess.run([kw.tool("kwctl"), "run", "--allow-context-aware", "--sources-path", world.sources, "--request-path", files["request"],
                          "--settings-path", files["settings"], module], capture_output=True, text=True, env={**os.environ, "KUBECONFIG": world.kubeconfig})
    try:
        return answer(json.loads(out.stdout.strip().splitlines()[-1]))
    except (IndexError, ValueError):
        sys.exit(f"kwctl said of `{case['name']}`: {out.stdout}{out.stderr}")


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
    dump(f"{DEMO}/cluster/reports.yaml", *(o for o in world.objects if o["imageMetadata"]["repository"].startswith("shop/")))
    cases = []
    for name in CASES:
        for case in fill(load(f"tests/cases/{name}.yaml"), names):
            settings = load(case["settingsFile"]) if "settingsFile" in case else case.get("settings", {})
            cases.append({"name": case["name"], "settings": settings, "request": request(case)})
    world.serve_cluster()
    module = kw.module()
    policies = {f"case-{i}": {"module": module, "settings": case["settings"]} for i, case in enumerate(cases)}
    world.serve_policies(policies, timeout=10)
    for i, case in enumerate(cases):
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": case["request"]}
        case["policy-server"] = answer(world.ask(f"case-{i}", review))
        case["kwctl"] = ask_kwctl(module, folder, world, case)
        print(f"{i + 1}/{len(cases)} {case['name']}", flush=True)
    version = lambda tool: subprocess.run([kw.tool(tool), "--version"], capture_output=True, text=True).stdout.split("\n")[0].strip()
    recorded = {"hosts": {"policy-server": version("policy-server"), "kwctl": version("kwctl")}, "cases": cases}
    with open("tests/real-host/answers.json", "w") as f:
        json.dump(recorded, f, indent=1, sort_keys=True, ensure_ascii=False)
        f.write("\n")


if __name__ == "__main__":
    main()
