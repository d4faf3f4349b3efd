"""Records the sessions of e2e-tests/sessions anew, with the real kwctl.

It pushes the images of the test world into a registry at localhost:5000 and serves the world's reports as a cluster, as
tests/real-host/record.py does, with the same needs. Then it runs the tests, whose `replay` records instead:

    KWCTL=kwctl python3 e2e-tests/record.py
"""
import os, shutil, socket, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/real-host"))
import record

with socket.socket() as s:
    if s.connect_ex(("127.0.0.1", 5000)) == 0:
        sys.exit("port 5000 is taken: whose registry is there would get the images")
world, _, _ = record.make_world()
world.objects.extend(record.load_all(os.path.join(ROOT, "tests/world/cluster/objects.yaml")))
# Of lists that hold reports of every image only those that tests name, to keep the sessions small.
with open(os.path.join(ROOT, "e2e-tests/reports.bats")) as f:
    tests = f.read()
named = lambda image: image is None or f"$image/{image['repository'].removeprefix('team/')}:" in tests
world.objects[:] = [o for o in world.objects if named(o.get("imageMetadata"))]
world.serve_cluster(record.MORE_KINDS)
sessions = os.path.join(ROOT, "e2e-tests/sessions")
shutil.rmtree(sessions, ignore_errors=True)
os.makedirs(sessions)
files = [os.path.join(ROOT, "e2e-tests", name) for name in ("reports.bats", "rego.bats", "evidence.bats")]
sys.exit(subprocess.run(["bats", *files], env={**os.environ, "RECORD": world.sources, "KUBECONFIG": world.kubeconfig}).returncode)
