"""Writes anew what Kyverno answers to each expression of e2e-tests/kyverno/cases.json.

    JUDGE=kyverno-judge python3 e2e-tests/kyverno/record.py

JUDGE is `judge.go`, put into a folder below `cmd` of the Go module github.com/kyverno/kyverno (1.19.1) and built there. The
image that is asked about is the form `everything` of e2e-tests/forms, in a registry of this program.
"""
import json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/real-host"))
import world as hosts

FORMS = os.path.join(ROOT, "e2e-tests/forms")
CASES = os.path.join(HERE, "cases.json")


def load(path):
    with open(path) as file:
        return json.load(file)


def place(registry, name):
    form, base = load(os.path.join(FORMS, f"{name}.json")), f"http://{registry}/v2/forms/{name}"
    for blob in form["blobs"]:
        data = blob.encode()
        _, headers = hosts.http(f"{base}/blobs/uploads/", b"", "POST")
        location = headers["location"]
        hosts.http(f"{location}{'&' if '?' in location else '?'}digest=sha256:{hosts.sha256(data)}", data, "PUT", {"content-type": "application/octet-stream"})
    for reference, manifest in sorted(form["manifests"].items(), key=lambda item: "manifests" in json.loads(item[1]["body"])):
        hosts.http(f"{base}/manifests/{reference}", manifest["body"].encode(), "PUT", {"content-type": manifest["type"]})


def attestor(name, key):
    ignored = {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}
    return {"name": name, "cosign": {"key": {"data": key}, "ctlog": ignored}}


world = hosts.World()
place(world.registry, "everything")
keys, cases = load(os.path.join(FORMS, "keys.json")), load(CASES)
policy = {
    "metadata": {"name": "cases"},
    "spec": {
        "attestors": [attestor("notary", keys["team"]), attestor("cosign", keys["team"]), attestor("other", keys["other"])],
        "attestations": [{"name": "slsa", "intoto": {"type": "https://slsa.dev/provenance/v1"}}],
    },
}
pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": {"env": "prod"}},
       "spec": {"containers": [{"name": "c1", "image": f"{world.registry}/forms/everything:1.0"}]}}
asked = {"Policy": policy, "Object": pod, "Namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}, "Cases": cases}
done = subprocess.run([hosts.find_tool("judge")], input=json.dumps(asked), capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr[-2000:])
for case, answer in zip(cases, json.loads(done.stdout), strict=True):
    case["kyverno"] = answer.split(":")[0]
    if os.environ.get("VERBOSE"):
        print(case["kyverno"], "|", case["expression"][:90], "|", answer[:200])
with open(CASES, "w") as file:
    json.dump(cases, file, indent=1, ensure_ascii=False)
    file.write("\n")
