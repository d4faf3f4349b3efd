"""The hosts that the policy runs in, on this machine: a registry, the API of a cluster, `policy-server` and `kwctl`.

    world = World()
    image = world.push("team/app", "1.0", platforms=("linux/amd64", "linux/arm64"))
    for platform, digest in image["platforms"].items():
        world.add_sbomscanner_report("team/app", "1.0", platform, digest, index=image["index"], counts={"CRITICAL": 1})
    world.serve_cluster()
    world.serve_policies({"ours": {"module": build_module(), "settings": {"registries": [world.registry]}}})
    print(world.ask("ours", review(pod([f"{world.registry}/team/app:1.0"]))))

`policy-server`, `kwctl`, `docker-registry` and `wrk` are found on PATH, or by POLICY_SERVER, KWCTL, DOCKER_REGISTRY and
WRK. Everything listens on 127.0.0.1, and ends with the program.
"""
import atexit, base64, datetime, gzip, hashlib, io, ipaddress, json, os, shutil, socket, subprocess, sys, tarfile, tempfile, time, urllib.error, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

SBOMSCANNER = "storage.sbomscanner.kubewarden.io/v1alpha1"
TRIVY_OPERATOR = "aquasecurity.github.io/v1alpha1"
# What the cluster's API serves: the version, the kind, its plural.
NAMESPACED = [
    (SBOMSCANNER, "VulnerabilityReport", "vulnerabilityreports"),
    (SBOMSCANNER, "Image", "images"),
    ("sbomscanner.kubewarden.io/v1alpha1", "ScanJob", "scanjobs"),
    ("sbomscanner.kubewarden.io/v1alpha1", "Registry", "registries"),
    (TRIVY_OPERATOR, "VulnerabilityReport", "vulnerabilityreports"),
    ("v1", "Pod", "pods"),
    ("v1", "Service", "services"),
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Secret", "secrets"),
    ("networking.k8s.io/v1", "Ingress", "ingresses"),
    ("apps/v1", "ReplicaSet", "replicasets"),
    ("apps/v1", "Deployment", "deployments"),
]
OF_THE_CLUSTER = [("v1", "Namespace", "namespaces"), ("image-admission.kubewarden.io/v1alpha1", "ImageEvidence", "imageevidences")]

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
ENVELOPE = "application/vnd.dsse.envelope.v1+json"
COSE = "application/cose"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
# What `image-admission attach` pushes: an artifact whose configuration is an envelope, a bundle or another signature.
EVIDENCE = "application/vnd.image-admission.evidence.v1+json"

# The server reads the roots of TLS at each call to a registry. Its image names one file; a folder would be read beside it, with each root several times.
os.environ.pop("SSL_CERT_DIR", None)
ROOTS = {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}


def find_tool(name):
    """The path of a program that the hosts need."""
    path = os.environ.get(name.upper().replace("-", "_")) or shutil.which(name)
    if not path:
        sys.exit(f"{name} is not on PATH: install it, or name it with {name.upper().replace('-', '_')}=<path>")
    return path


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def http(url, body=None, method=None, headers=None, timeout=30):
    """What a request is answered with: the body and the headers. Other statuses than 2xx are errors."""
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read(), answer.headers


def build_module():
    """The path of the checkout's module, built and annotated. The file goes with the program."""
    subprocess.run(["make", "policy.wasm"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    return annotate(os.path.join(ROOT, "policy.wasm"), os.path.join(ROOT, "policy-metadata.yml"), os.path.join(folder, "policy.wasm"))


def annotate(module, metadata, annotated):
    readme = os.path.join(ROOT, "README.md")
    subprocess.run([find_tool("kwctl"), "annotate", "-m", metadata, "-u", readme, "-o", annotated, module], check=True, stdout=subprocess.DEVNULL)
    return annotated


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def made(file):
    """A file of `crates/evidence/tests/made`: what real tools signed, and whom to trust for it."""
    with open(os.path.join(ROOT, "crates/evidence/tests/made", file)) as text:
        return text.read()


def compact(document):
    """JSON as the writers in Go write it: the digest is that of these bytes."""
    return json.dumps(document, separators=(",", ":")).encode()


class World:
    """Images in a registry, and the objects of a cluster. `registry_port` is for records in which the address stands. With `tls` the
    policy server asks the registry over TLS, and what it asks is logged."""

    def __init__(self, registry_port=None, tls=False):
        self.folder = tempfile.mkdtemp(prefix="real-host-")
        self.processes = []
        atexit.register(self.stop)
        self.objects = []
        port = registry_port or free_port()
        self.registry = f"127.0.0.1:{port}"
        settings = self.write("registry.yml", f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {self.folder}/images}}, delete: {{enabled: true}}}}\nhttp: {{addr: \"127.0.0.1:{port}\"}}\n")
        self.start("registry", [find_tool("docker-registry"), "serve", settings])
        self.wait_for(f"http://{self.registry}/v2/")
        self.pushes_to, self.trusted = self.registry, None
        if tls:
            self.serve_over_tls(settings)

    def serve_over_tls(self, settings):
        """The same images at another port, from now on the registry's."""
        port = free_port()
        self.trusted, certificate, key = self.certificate()
        with open(settings) as file:
            rest, _ = file.read().split("http:")
        tls = self.write("registry-tls.yml", f"{rest}http: {{addr: \"127.0.0.1:{port}\", tls: {{certificate: {certificate}, key: {key}}}}}\n")
        self.start("registry-tls", [find_tool("docker-registry"), "serve", tls])
        self.registry = f"127.0.0.1:{port}"
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=5).close()
            except OSError:
                time.sleep(0.02)

    def certificate(self):
        """The files of an authority, and of a certificate of 127.0.0.1 by it with its key."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID

        now = datetime.datetime.now(datetime.timezone.utc)
        own, of_authority = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        name, authority = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("127.0.0.1", "authority"))

        def signed(subject, key, extension):
            made = x509.CertificateBuilder().subject_name(subject).issuer_name(authority).public_key(key.public_key()).serial_number(x509.random_serial_number())
            made = made.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=1))
            return made.add_extension(extension, critical=True).sign(of_authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

        key = own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
        certificate = signed(name, own, x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]))
        files = {"authority.pem": signed(authority, of_authority, x509.BasicConstraints(ca=True, path_length=None)), "registry.pem": certificate, "registry.key": key}
        return [self.write(file, text) for file, text in files.items()]

    def asked_of_registry(self):
        """How many requests the registry has answered over TLS."""
        with open(os.path.join(self.folder, "registry-tls.log")) as log:
            return sum('"GET /v2/' in line or '"HEAD /v2/' in line for line in log)

    # Processes.

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, name, arguments, environment=None):
        with open(os.path.join(self.folder, name + ".log"), "w") as log:
            process = subprocess.Popen(arguments, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **(environment or {})})
        self.processes.append(process)
        return process

    def wait_for(self, url, process=None, seconds=300):
        """Waits until somebody answers, whatever the answer is."""
        end = time.time() + seconds
        while time.time() < end:
            if process and process.poll() is not None:
                with open(os.path.join(self.folder, "policy-server.log")) as log:
                    sys.exit(f"policy-server ended: {log.read()[-300:]}")
            try:
                return http(url, timeout=5)
            except urllib.error.HTTPError as answer:
                if answer.code < 500:
                    return None
            except OSError:
                pass
            time.sleep(0.02)
        sys.exit(f"nobody answers at {url}")

    def stop(self):
        self.end(self.processes)
        self.processes = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self, processes):
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()

    # The registry.

    def blob(self, repository, data):
        """Pushes a blob; its descriptor, without a media type."""
        digest = "sha256:" + sha256(data)
        _, headers = http(f"http://{self.pushes_to}/v2/{repository}/blobs/uploads/", b"", "POST")
        place = headers["Location"]
        place = place if place.startswith("http") else f"http://{self.pushes_to}{place}"
        http(f"{place}{'&' if '?' in place else '?'}digest={digest}", data, "PUT", {"content-type": "application/octet-stream"})
        return {"digest": digest, "size": len(data)}

    def manifest(self, repository, reference, document):
        """Pushes a manifest or an index by its tag, or by its digest; the digest and the size."""
        data = compact(document)
        digest = "sha256:" + sha256(data)
        http(f"http://{self.pushes_to}/v2/{repository}/manifests/{reference or digest}", data, "PUT", {"content-type": document["mediaType"]})
        return digest, len(data)

    def push(self, repository, tag, platforms=("linux/amd64",), salt=""):
        """Pushes an image, with an index where it has several platforms: `{index, digest, platforms: {platform: digest}}`."""
        digests, entries = {}, []
        for platform in platforms:
            system, architecture = platform.split("/")[:2]
            content = f"{repository}:{tag} {platform} {salt}".encode()
            archive = io.BytesIO()
            with tarfile.open(fileobj=archive, mode="w") as tar:
                file = tarfile.TarInfo("content")
                file.size = len(content)
                tar.addfile(file, io.BytesIO(content))
            layer = self.blob(repository, gzip.compress(archive.getvalue(), mtime=0))
            rootfs = {"type": "layers", "diff_ids": ["sha256:" + sha256(archive.getvalue())]}
            config = json.dumps({"architecture": architecture, "os": system, "config": {"User": "1000"}, "rootfs": rootfs})
            manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": CONFIG, **self.blob(repository, config.encode())},
                        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **layer}]}
            digest, size = self.manifest(repository, tag if len(platforms) == 1 else None, manifest)
            digests[platform] = digest
            entries.append({"mediaType": MANIFEST, "digest": digest, "size": size, "platform": {"architecture": architecture, "os": system}})
        if len(platforms) == 1:
            return {"index": None, "digest": digests[platforms[0]], "platforms": digests}
        index, _ = self.manifest(repository, tag, {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries})
        return {"index": index, "digest": index, "platforms": digests}

    def sign(self, repository, digest, key):
        """A signature of an EC key (of `cryptography`), laid out as cosign does: `sha256-<hex>.sig`."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        image = {"identity": {"docker-reference": f"{self.registry}/{repository}"}, "image": {"docker-manifest-digest": digest}, "type": "cosign container image signature"}
        payload = json.dumps({"critical": image, "optional": None}).encode()
        signature = base64.b64encode(key.sign(payload, ec.ECDSA(hashes.SHA256()))).decode()
        layer = self.blob(repository, payload)
        config = json.dumps({"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}})
        layer = {"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", **layer, "annotations": {"dev.cosignproject.cosign/signature": signature}}
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": CONFIG, **self.blob(repository, config.encode())}, "layers": [layer]}
        return self.manifest(repository, digest.replace(":", "-") + ".sig", manifest)[0]

    def attach(self, repository, digest, document, suffix, artifact_type="application/vnd.aquasec.trivy.report+json", has_subject=True):
        """An artifact beside an image, `sha256-<hex>.<suffix>`, whose configuration is the document; its digest. Its manifest says what it is about."""
        config = self.blob(repository, document if isinstance(document, bytes) else json.dumps(document).encode())
        layer = {"mediaType": "application/vnd.oci.empty.v1+json", **self.blob(repository, b"{}")}
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": artifact_type, "config": {"mediaType": artifact_type, **config},
                    "layers": [layer]}
        if has_subject:
            manifest["subject"] = {"mediaType": INDEX, "digest": digest, "size": 1}
        return self.manifest(repository, f"{digest.replace(':', '-')}.{suffix}", manifest)[0]

    def push_made(self, repository):
        """Pushes the image that all of `crates/evidence/tests/made` is about, as `1.0`; its digest."""
        layer = b"an image\n"
        self.blob(repository, layer)
        self.blob(repository, compact({"os": "linux", "architecture": "amd64", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(layer)]}}))
        return self.manifest(repository, "1.0", json.loads(made("image.json")))[0]

    def attach_evidence(self, repository, digest, *evidence):
        """As `image-admission attach` does: artifacts whose configurations are the documents, each with its media type, in the index at the
        tag of the image's digest. The manifests by their digests, the index at the end."""
        empty = {"mediaType": "application/vnd.oci.empty.v1+json", **self.blob(repository, b"{}")}
        made, listed = {}, []
        for document, kind in evidence:
            artifact = {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": EVIDENCE, "config": {"mediaType": kind, **self.blob(repository, document.encode())},
                        "layers": [empty], "subject": {"mediaType": MANIFEST, "digest": digest, "size": 1}}
            own, size = self.manifest(repository, None, artifact)
            made[own] = artifact
            listed.append({"mediaType": MANIFEST, "digest": own, "size": size, "artifactType": EVIDENCE})
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}
        made[self.manifest(repository, digest.replace(":", "-"), index)[0]] = index
        return made

    # The cluster.

    def add_evidence(self, digest, *evidence):
        """The same in an object, as `image-admission evidence pull` writes it: media types with bytes in base64."""
        pieces = [{"mediaType": kind, "data": data} for kind, data in evidence]
        self.objects.append({"apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": "ImageEvidence", "spec": {"evidence": pieces},
                             "metadata": {"name": digest.replace(":", "-"), "uid": f"uid-{digest}", "resourceVersion": "1", "creationTimestamp": "2026-11-28T12:00:00Z"}})

    def add_sbomscanner_report(self, repository, tag, platform, digest, index=None, counts=None, entries=None, namespace="sbomscanner", registry=None, registry_resource=None):
        """A report as sbomscanner writes it: `counts` are findings by severity, `entries` whole ones."""
        registry = registry or self.registry
        if entries is None:
            entries = [finding(severity, number) for severity, many in (counts or {}).items() for number in range(many)]
        image = {"registry": registry_resource or workload_scan(registry), "registryURI": registry, "repository": repository, "tag": tag, "platform": platform, "digest": digest}
        if index:
            image["indexDigest"] = index
        summary = dict.fromkeys(("critical", "high", "medium", "low", "unknown", "suppressed"), 0)
        for entry in entries:
            summary["suppressed" if entry["suppressed"] else entry["severity"].lower()] += 1
        name = report_name(registry, repository, tag, digest, registry_resource)
        labels = {"app.kubernetes.io/managed-by": "sbomscanner", "app.kubernetes.io/part-of": "sbomscanner", "sbomscanner.kubewarden.io/scanjob-uid": "job-1"}
        self.objects.append({
            "apiVersion": SBOMSCANNER, "kind": "VulnerabilityReport",
            "metadata": {"name": name, "namespace": namespace, "uid": name[:32], "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z", "labels": labels},
            "imageMetadata": image,
            "report": {"summary": summary, "results": [{"target": "alpine", "class": "os-pkgs", "type": "alpine", "vulnerabilities": entries or None}]}})

    def add_sbomscanner_registry(self, name, uri=None, namespace="sbomscanner", labels=None):
        """What has sbomscanner look at the images of a registry."""
        metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": "1", "labels": labels or {}}
        self.objects.append({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": "Registry", "metadata": metadata, "spec": {"uri": uri or self.registry}})

    def serve_cluster(self, more_kinds=()):
        """Serves the objects as a Kubernetes API does. `more_kinds` are namespaced, like `NAMESPACED`."""
        kinds = [{"apiVersion": version, "kind": kind, "plural": plural, "namespaced": where is not OF_THE_CLUSTER}
                 for where in (NAMESPACED, list(more_kinds), OF_THE_CLUSTER) for version, kind, plural in where]
        self.kinds = [{"apiVersion": kind["apiVersion"], "kind": kind["kind"]} for kind in kinds]
        self.cluster = f"http://127.0.0.1:{free_port()}"
        objects = self.write("objects.json", json.dumps({"kinds": kinds, "objects": self.objects}))
        self.start("cluster", [sys.executable, os.path.join(HERE, "cluster.py"), self.cluster.rsplit(":", 1)[1], objects])
        self.wait_for(f"{self.cluster}/version")
        self.kubeconfig = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "context",
            "clusters": [{"name": "cluster", "cluster": {"server": self.cluster}}], "users": [{"name": "user", "user": {}}],
            "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}]}))
        of_registry = {"source_authorities": {self.registry: [{"type": "Path", "path": self.trusted}]}} if self.trusted else {"insecure_sources": [self.registry]}
        self.sources = self.write("sources.yml", json.dumps(of_registry))

    def asked_of_cluster(self):
        """How many GETs, lists and watches there were, and how many watches are open."""
        return json.loads(http(f"{self.cluster}/asked")[0])

    # The policy server.

    def serve_policies(self, policies, timeout=None):
        """Serves policies by name: `{module, settings, kinds}`; what isn't said of `kinds` is all that the cluster has. One whose
        settings are refused answers with an error."""
        port, readiness = free_port(), free_port()
        self.server = f"http://127.0.0.1:{port}"
        written = {name: {"module": f"file://{policy['module']}", "settings": policy.get("settings", {}), "allowedToMutate": True, "hostCapabilities": ["*"],
                          "contextAwareResources": policy.get("kinds", self.kinds)} for name, policy in policies.items()}
        arguments = [find_tool("policy-server"), "--addr", "127.0.0.1", "--port", str(port), "--readiness-probe-port", str(readiness), "--workers", "2",
                     "--policies", self.write("policies.yml", json.dumps(written)), "--policies-download-dir", os.path.join(self.folder, "modules"),
                     "--sigstore-cache-dir", os.path.join(self.folder, "sigstore"), "--sources-path", self.sources, "--log-level", "warn", "--continue-on-errors"]
        os.makedirs(os.path.join(self.folder, "modules"), exist_ok=True)
        if timeout:
            arguments += ["--policy-timeout", str(timeout)]
        self.policy_server = self.start("policy-server", arguments, {"KUBECONFIG": self.kubeconfig, **ROOTS})
        self.wait_for(f"http://127.0.0.1:{readiness}/readiness", self.policy_server)

    def stop_policies(self):
        """Ends the policy server; another may be started."""
        self.processes.remove(self.policy_server)
        self.end([self.policy_server])

    def ask(self, policy, review, timeout=30):
        """The AdmissionResponse to an AdmissionReview."""
        return json.loads(http(f"{self.server}/validate/{policy}", json.dumps(review).encode(), timeout=timeout)[0])["response"]

    def load(self, policy, review, seconds=5, connections=4):
        """Requests a second, by `wrk`, and the policy server's CPU time for one of them, in milliseconds."""
        before = self.cpu_seconds()
        rate, requests = self.load_at(f"{self.server}/validate/{policy}", review, seconds, connections)
        if not requests:
            sys.exit(f"{policy}: no answer within {seconds} s")
        return rate, (self.cpu_seconds() - before) * 1000 / requests

    def load_at(self, address, body, seconds=5, connections=4):
        """Requests a second, by `wrk`, and how many there were."""
        words = self.wrk(address, body, seconds, connections).split()
        return float(words[words.index("Requests/sec:") + 1]), int(words[words.index("requests") - 1])

    def waited(self, policy, review, seconds=5, connections=100):
        """How long clients waited for an answer, with so many of them at a time: p50, p95 and p99 in milliseconds."""
        words = self.wrk(f"{self.server}/validate/{policy}", review, seconds, connections).split()
        return [float(words[words.index(share) + 1]) / 1000 for share in ("p50", "p95", "p99")]

    def wrk(self, address, body, seconds, connections):
        """What `wrk` says of one body that is posted again and again; with p50, p95 and p99 in microseconds."""
        body = self.write("body.json", json.dumps(body))
        shares = "".join(f'io.write("p{share} " .. latency:percentile({share}) .. "\\n")\n' for share in (50, 95, 99))
        script = self.write("post.lua", f'''wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = io.open("{body}"):read("*a")
done = function(summary, latency)
{shares}end
''')
        said = subprocess.run([find_tool("wrk"), "-t1", f"-c{connections}", f"-d{seconds}", "--timeout", "30s", "-s", script, address], capture_output=True, text=True, check=True).stdout
        if "Non-2xx" in said:
            sys.exit(f"not every answer was 200: {said}")
        return said

    def megabytes(self, process=None):
        """The memory of a process, or of the policy server, that is resident."""
        return self.kilobytes(process) // 1024

    def kilobytes(self, process=None):
        """The same, for what grows little by little."""
        with open(f"/proc/{(process or self.policy_server).pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

    def cpu_seconds(self):
        with open(f"/proc/{self.policy_server.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def finding(severity, number):
    """A finding as sbomscanner writes it, with the id that its severity and number make."""
    first = {"CRITICAL": "10", "HIGH": "20", "MEDIUM": "30", "LOW": "40", "UNKNOWN": "50"}[severity]
    return {"cve": f"CVE-2025-{first}{number:03d}", "severity": severity, "packageName": f"pkg{number}", "purl": f"pkg:apk/alpine/pkg{number}@1", "installedVersion": "1",
            "fixedVersions": ["2"], "diffID": "", "references": [], "cvss": {"nvd": {"v3score": "9.8", "v3vector": ""}}, "suppressed": False}


def build_envelope(repository, digest, builder_id, sign, signed=None):
    """An envelope (DSSE) with the statement that somebody built an image. `sign` signs bytes; what it signs may name another builder."""
    said = lambda who: json.dumps({"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1", "subject": [{"name": repository, "digest": {"sha256": digest.split(":")[1]}}],
                                   "predicate": {"runDetails": {"builder": {"id": who}}}}).encode()
    kind, payload, to = "application/vnd.in-toto+json", said(builder_id), said(signed or builder_id)
    signature = sign(f"DSSEv1 {len(kind)} {kind} {len(to)} ".encode() + to)
    encode = lambda data: base64.b64encode(data).decode()
    return {"payloadType": kind, "payload": encode(payload), "signatures": [{"sig": encode(signature)}]}


def workload_scan(registry):
    """The Registry resource that sbomscanner's scan of workloads makes for a registry."""
    return "workloadscan-" + sha256(registry.encode())


def report_name(registry, repository, tag, digest, registry_resource=None):
    """The name that sbomscanner computes for a report."""
    return sha256(f"{registry_resource or workload_scan(registry)}/{registry}/{repository}:{tag}@{digest}".encode())


def pod(images, namespace="default"):
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": {"containers": containers}}


def review(pod):
    """The AdmissionReview of a new Pod."""
    kind, resource = {"group": "", "version": "v1", "kind": "Pod"}, {"group": "", "version": "v1", "resource": "pods"}
    metadata = pod["metadata"]
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "review", "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource, "name": metadata["name"], "namespace": metadata["namespace"],
        "operation": "CREATE", "userInfo": {"username": "someone"}, "object": pod, "oldObject": None, "dryRun": False}}
