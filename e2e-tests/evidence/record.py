"""Signs an image with the real cosign and notation, in each form that they write, as the files of crates/evidence/tests/made.

    python3 e2e-tests/evidence/record.py [--reports] [NAME…]

The tools are on PATH, or named by variables: COSIGN (version 3), COSIGN2 (the last of version 2), NOTATION, FULCIO, TIMESTAMP_SERVER,
REKOR_SERVER_POSIX (Rekor version 2 with files for its storage), REKOR_SERVER (version 1), and TRILLIAN, SERVICES and AUTHORITY, which
are built of the folders here. The README.md among the files
says how to build them. This program starts a private Sigstore on loopback, and ends it. Each file is made by the command that
stands in `index.json`; the tool then verifies it, and must refuse it with another key or another identity. All keys are made anew, and go
with the program. With names, what they start is made and judged, and no file is written.

With `--reports` it makes the attested reports, SBOMs and VEX documents, of `documents` here. They have a key and a trust root of their
own, so either kind can be made without the other: tests and examples hold copies of what the keys of the other files signed.
"""
import atexit, base64, datetime, glob, hashlib, json, os, re, shutil, subprocess, sys, tempfile, time, urllib.parse, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MADE = os.path.join(ROOT, "crates/evidence/tests/made")
sys.path.insert(0, os.path.join(ROOT, "tests/real-host"))
import world as hosts

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
TOOLS = ["cosign", "cosign2", "notation", "authority", "fulcio", "timestamp-server", "rekor-server-posix", "rekor-server", "trillian", "services"]

SINCE = "start-time=2025-01-01T00:00:00Z"
IDENTITY = "someone@example.com"
WORKFLOW = "https://github.com/team/app/.github/workflows/release.yml@refs/tags/v1.0.0"
# What a workflow's token says, as GitHub documents it.
CLAIMS = {
    "sub": "repo:team/app:ref:refs/tags/v1.0.0", "repository": "team/app", "repository_id": "1001", "repository_owner": "team",
    "repository_owner_id": "101", "repository_visibility": "public", "ref": "refs/tags/v1.0.0", "sha": "1" * 40, "event_name": "push",
    "workflow": "release", "workflow_ref": "team/app/.github/workflows/release.yml@refs/tags/v1.0.0", "workflow_sha": "1" * 40,
    "job_workflow_ref": "team/app/.github/workflows/release.yml@refs/tags/v1.0.0", "job_workflow_sha": "1" * 40,
    "runner_environment": "github-hosted", "run_id": "42", "run_attempt": "1",
}
# What Fulcio makes of them, as its own configuration has it.
EXTENSIONS = {
    "github-workflow-trigger": "event_name", "github-workflow-sha": "sha", "github-workflow-name": "workflow", "github-workflow-repository": "repository",
    "github-workflow-ref": "ref", "build-signer-uri": "{{ .url }}/{{ .job_workflow_ref }}", "build-signer-digest": "job_workflow_sha",
    "runner-environment": "runner_environment", "source-repository-uri": "{{ .url }}/{{ .repository }}", "source-repository-digest": "sha",
    "source-repository-ref": "ref", "source-repository-identifier": "repository_id", "source-repository-owner-uri": "{{ .url }}/{{ .repository_owner }}",
    "source-repository-owner-identifier": "repository_owner_id", "build-config-uri": "{{ .url }}/{{ .workflow_ref }}",
    "build-config-digest": "workflow_sha", "build-trigger": "event_name",
    "run-invocation-uri": "{{ .url }}/{{ .repository }}/actions/runs/{{ .run_id }}/attempts/{{ .run_attempt }}",
    "source-repository-visibility-at-signing": "repository_visibility",
}

# What is attested, by cosign's name of its type: the type's URI, and a document.
PREDICATES = {
    "slsaprovenance1": ("https://slsa.dev/provenance/v1", {
        "buildDefinition": {"buildType": "https://ci.example/v1", "externalParameters": {}, "resolvedDependencies": []},
        "runDetails": {"builder": {"id": "https://ci.example"}, "metadata": {"invocationId": "1"}}}),
    "vuln": ("https://cosign.sigstore.dev/attestation/vuln/v1", {
        "invocation": {"uri": "", "event_id": "", "builder.id": ""}, "scanner": {"uri": "https://scanner.example", "version": "1", "db": {"uri": "", "version": ""}, "result": {}},
        "metadata": {"scanStartedOn": "2026-01-01T00:00:00Z", "scanFinishedOn": "2026-01-01T00:00:00Z"}}),
    "spdxjson": ("https://spdx.dev/Document", {
        "spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": "app", "dataLicense": "CC0-1.0", "documentNamespace": "https://example.com/app", "packages": []}),
    "cyclonedx": ("https://cyclonedx.org/bom", {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": []}),
    "openvex": ("https://openvex.dev/ns", {
        "@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://example.com/vex/1", "author": "team", "timestamp": "2026-01-01T00:00:00Z", "version": 1,
        "statements": [{"vulnerability": {"name": "CVE-2026-0001"}, "products": [{"@id": "pkg:oci/app"}], "status": "not_affected", "justification": "component_not_present"}]}),
}
SIGNED = "https://sigstore.dev/cosign/sign/v1"
# SPDX as GitHub's `actions/attest-sbom` calls it. cosign's name for it has no version.
SPDX_OF_GITHUB = "https://spdx.dev/Document/v2.3"

KEYS = {"p256": "EC -pkeyopt ec_paramgen_curve:P-256", "p384": "EC -pkeyopt ec_paramgen_curve:P-384", "p521": "EC -pkeyopt ec_paramgen_curve:P-521",
        "rsa2048": "RSA -pkeyopt rsa_keygen_bits:2048", "rsa3072": "RSA -pkeyopt rsa_keygen_bits:3072", "rsa4096": "RSA -pkeyopt rsa_keygen_bits:4096",
        "ed25519": "ED25519", "other": "EC -pkeyopt ec_paramgen_curve:P-256"}
REPORT_KEYS = {"reports": KEYS["p256"], "other": KEYS["other"]}
# The subject that notation's certificates have. It wants a country, a state and an organisation.
SUBJECT = "/C=DE/ST=Berlin/L=Berlin/O=Example/CN="
NAME = "CN={0},O=Example,L=Berlin,ST=Berlin,C=DE"

NO_SERVICES = "--signing-config no-services.json"
IDENTIFIED = "--certificate-identity {identity} --certificate-oidc-issuer {issuer} --trusted-root {root}"
# The trust root of each set of services. That of timestamps names no logs, as GitHub's doesn't.
ROOTS = {"services": "root.json", "log1": "root.json", "services1": "root.json", "timestamps": "root-timestamps.json", None: "root.json"}
REPORTS_ROOT = "root-reports.json"


def by_key(key, command, judge, **more):
    """A file that `key` signed. `judge` is the command that verifies it, to which a key is added."""
    # cosign signs with the digest that fits the key, and verifies with SHA-256 unless it's told.
    judge += {"p384": " --signature-digest-algorithm sha384", "p521": " --signature-digest-algorithm sha512"}.get(key, "")
    return {"trust": {"key": f"{key}.pub"}, "command": f"{command.format(key=f'--key {key}.key')}",
            "judge": f"{judge} --key {key}.pub", "refused": f"{judge} --key other.pub", **more}


def by_identity(identity, services, command, judge, root=None, **more):
    """A file that somebody signed with a certificate of Fulcio."""
    issuer, token = ("$ISSUER/workflow", "workflow-token") if identity == WORKFLOW else ("$ISSUER", "token")
    root = root or ROOTS[services]
    # cosign 2 knows no configuration of services.
    signing = f"--signing-config {services}.json --trusted-root {root}" if services else "--fulcio-url $FULCIO_URL --rekor-url $REKOR_URL"
    identified = lambda identity: f"{judge} {IDENTIFIED.format(identity=identity, issuer=issuer, root=root)}"
    return {"trust": {"trustedRoot": root}, "identity": identity,
            "command": command.format(key=f"{signing} --identity-token {token}").replace(NO_SERVICES, "").replace("  ", " "),
            "judge": identified(identity), "refused": identified("another@example.com"), **more}


def by_certificate(chain, command, judge, **more):
    """A file that somebody signed with a certificate of their own, with a timestamp."""
    judge += f" --trusted-root root-own.json --allow-certificate-chain --certificate-oidc-issuer-regexp '.*'{UNLISTED} --certificate-identity "
    signing = f"--key p256.key --certificate {chain}.crt --certificate-chain {chain}.chain --signing-config timestamps.json --trusted-root root-own.json"
    return {"trust": {"trustedRoot": "root-own.json"}, "identity": IDENTITY, "command": command.format(key=signing).replace(NO_SERVICES, "").replace("  ", " "),
            "judge": judge + IDENTITY, "refused": judge + "another@example.com", "time": True, **more}


MEDIA_TYPES = {"jws": "application/jose+json", "cose": "application/cose"}
STAMPED = "--timestamp-url $TIMESTAMPS --timestamp-root-cert timestamps.pem "
SIGN = {"command": "cosign sign --yes {key} " + NO_SERVICES + " $IMAGE", "judge": "cosign verify $IMAGE", "predicateType": SIGNED}
BLOB = {"command": "cosign sign-blob --yes {key} " + NO_SERVICES + " --bundle made.json image.json", "judge": "cosign verify-blob --bundle made.json image.json", "from": "made.json"}
UNLOGGED = " --insecure-ignore-tlog"


def attest(kind, tool="cosign", more=NO_SERVICES, document=None):
    """`kind` is cosign's name of a type, or a type's URI. `document` is what is attested, if not that of `PREDICATES`."""
    return {"command": f"{tool} attest --yes {{key}} {more} --type {kind} --predicate {document or kind}.json $IMAGE",
            "judge": f"{tool} verify-attestation --type {kind} $IMAGE", "predicateType": PREDICATES[kind][0] if kind in PREDICATES else kind}


def judged(form, flags):
    return {**form, "judge": form["judge"] + flags}


def logged(key, services, form, flags=""):
    """By a key, with an entry in a log, a timestamp, or both."""
    root = ROOTS[services]
    form = {**form, "command": form["command"].replace(NO_SERVICES, f"--signing-config {services}.json --trusted-root {root}"),
            "judge": f"{form['judge']} --trusted-root {root}{flags}"}
    return {**by_key(key, **form, time=True), "trust": {"key": f"{key}.pub", "trustedRoot": root}}


def notary(format, key, flags="", chain="leaf", **more):
    verify = "cp policies/{0}.json config/notation/trustpolicy.json && notation verify -v --insecure-registry $IMAGE"
    tsa = {"tsa": "timestamps.pem"} if flags == STAMPED else {}
    return {"form": f"notary-{format}", "command": f"notation sign --insecure-registry --signature-format {format} --key {key}-{chain} {flags}$IMAGE".replace("  ", " "),
            "trust": {"ca": f"notary-{key}-ca.pem", **tsa}, "signer": NAME.format(f"{key}-{chain}"),
            "judge": verify.format(f"{key}-timestamped" if flags == STAMPED else key), "refused": verify.format("other"), **more}


def authority(format, attribute=""):
    form = notary(format, "p256")
    return {**form, "trust": {"signingAuthority": form["trust"]["ca"]}, "command": f"authority {format} p256.pem p256-leaf.chain image.json{attribute} >made.{format}", "push": MEDIA_TYPES[format],
            "judge": form["judge"].replace("p256.json", "p256-authority.json"), "refused": form["refused"].replace("other.json", "other-authority.json"), "from": f"made.{format}",
            **({"unverifiable": "a critical attribute that nobody knows"} if attribute else {})}


NO_LOG = "--tlog-upload=false"
TIMESTAMPED = " --use-signed-timestamps --insecure-ignore-tlog"
UNLISTED = TIMESTAMPED + " --insecure-ignore-sct"

# Signatures that cosign makes, and neither it nor anybody else verifies who knows the image's digest alone.
OF_THE_BYTES = {"unverifiable": "the signature is of another digest than the image's"}
CHAINED = {"unverifiable": "its certificate is written in a form that bundles of version 0.3 can't have"}
PREHASHED = {"unverifiable": "cosign signs envelopes with Ed25519ph, and verifies Ed25519"}

# By name: how the file is made.
FORMS = {
    **{f"sign-{key}": by_key(key, **judged(SIGN, UNLOGGED)) for key in ("p256", "p384", "p521", "rsa2048", "rsa3072", "rsa4096")},
    "sign-ed25519": by_key("ed25519", **judged(SIGN, UNLOGGED), **PREHASHED),
    **{f"attest-{kind}": by_key("p256", **judged(attest(kind), UNLOGGED)) for kind in PREDICATES},
    **{f"blob-{key}": by_key(key, **judged(BLOB, UNLOGGED)) for key in ("p256", "rsa2048")},
    **{f"blob-{key}": by_key(key, **judged(BLOB, UNLOGGED), **OF_THE_BYTES) for key in ("p384", "ed25519")},
    # cosign 2: an attestation as a layer of `.att`, and as a bundle.
    **{f"att-{key}": by_key(key, **judged(attest("slsaprovenance1", "cosign2", NO_LOG), UNLOGGED), form="dsse") for key in ("p256", "rsa3072")},
    "att-ed25519": by_key("ed25519", **judged(attest("slsaprovenance1", "cosign2", NO_LOG), UNLOGGED), form="dsse", **PREHASHED),
    "cosign2-attest-p256": by_key("p256", **judged(attest("vuln", "cosign2", f"{NO_LOG} --new-bundle-format"), " --new-bundle-format --trusted-root root.json" + UNLOGGED)),
    # By a key, with services: Rekor version 2 and a timestamp, and a timestamp alone.
    "sign-p256-logged": logged("p256", "services", SIGN),
    "attest-p256-logged": logged("p256", "services", attest("slsaprovenance1")),
    "sign-rsa2048-logged": logged("rsa2048", "services", SIGN),
    "blob-p256-logged": logged("p256", "services", BLOB),
    "sign-p256-timestamped": logged("p256", "timestamps", SIGN, TIMESTAMPED),
    # The same with Rekor version 1, which promises an entry and tells the time.
    "sign-p256-logged1": logged("p256", "log1", SIGN),
    "attest-p256-logged1": logged("p256", "log1", attest("slsaprovenance1")),
    "blob-rsa2048-logged1": logged("rsa2048", "log1", BLOB),
    # By a certificate of Fulcio.
    "keyless-sign": by_identity(IDENTITY, "services", **SIGN, time=True),
    "keyless-attest": by_identity(IDENTITY, "services", **attest("slsaprovenance1"), time=True),
    "keyless-blob": by_identity(IDENTITY, "services", **BLOB, time=True),
    "keyless-timestamped": by_identity(IDENTITY, "timestamps", **judged(SIGN, UNLISTED), time=True),
    "workflow-sign": by_identity(WORKFLOW, "services", **SIGN, time=True),
    "workflow-attest": by_identity(WORKFLOW, "services", **attest("slsaprovenance1"), time=True),
    "workflow-attest-timestamped": by_identity(WORKFLOW, "timestamps", **judged(attest("slsaprovenance1"), UNLISTED), time=True),
    "keyless-sign-logged1": by_identity(IDENTITY, "log1", **SIGN, time=True),
    "keyless-blob-logged1": by_identity(IDENTITY, "log1", **BLOB, time=True),
    "workflow-attest-logged1": by_identity(WORKFLOW, "log1", **attest("slsaprovenance1"), time=True),
    "workflow-attest-logged1-timestamped": by_identity(WORKFLOW, "services1", **attest("slsaprovenance1"), time=True),
    "cosign2-keyless-attest": by_identity(IDENTITY, None, **judged(attest("slsaprovenance1", "cosign2", "--new-bundle-format"), " --new-bundle-format"), time=True),
    # By a certificate of one's own: of an authority, and of one below it.
    "certificate-sign": by_certificate("own", **SIGN, **CHAINED),
    "certificate-attest": by_certificate("own", **attest("slsaprovenance1"), **CHAINED),
    "certificate-intermediate": by_certificate("own-below", **SIGN, **CHAINED),
    # Notary Project.
    **{f"notation-{format}-{key}": notary(format, key) for format in ("jws", "cose") for key in ("p256", "p384", "p521", "rsa2048", "rsa3072", "rsa4096")},
    **{f"notation-{format}-expiry": notary(format, "rsa3072", "--expiry 24h ", expires=True) for format in ("jws", "cose")},
    **{f"notation-{format}-timestamped": notary(format, "p256", STAMPED, time=True) for format in ("jws", "cose")},
    **{f"notation-{format}-metadata": notary(format, "p256", "--user-metadata build=42 ") for format in ("jws", "cose")},
    **{f"notation-{format}-intermediate": notary(format, "p384", chain="below") for format in ("jws", "cose")},
    # By a signing authority, which notation verifies and doesn't sign as.
    **{f"authority-{format}": authority(format) for format in ("jws", "cose")},
    **{f"authority-{format}-critical": authority(format, " com.example.unknown") for format in ("jws", "cose")},
}

# By name: how an attested report, SBOM or VEX document is made.
REPORT_FORMS = {
    **{name: by_key("reports", **judged(attest(kind, document=f"documents/{document}"), UNLOGGED)) for name, kind, document in (
        ("report-vuln-trivy", "vuln", "trivy"),
        ("report-vuln-trivy-clean", "vuln", "trivy-clean"),
        ("sbom-cyclonedx", "cyclonedx", "cyclonedx"),
        ("sbom-spdxjson", "spdxjson", "spdx"),
        ("vex-openvex", "openvex", "openvex"),
        ("vex-affected", "openvex", "openvex-affected"))},
    **{name: by_identity(identity, "services", **attest(kind, document=f"documents/{document}"), root=REPORTS_ROOT, time=True) for name, identity, kind, document in (
        ("report-keyless", IDENTITY, "vuln", "trivy-clean"),
        ("report-workflow", WORKFLOW, "vuln", "trivy-clean"),
        ("sbom-workflow", WORKFLOW, SPDX_OF_GITHUB, "spdx"))},
}


class Folder:
    """Where the tools run: their configuration, their keys, and the private Sigstore that they talk to."""

    def __init__(self):
        self.tools = {name: hosts.find_tool(name) for name in TOOLS}
        self.path = tempfile.mkdtemp()
        self.services = []
        atexit.register(self.end)
        os.makedirs(os.path.join(self.path, "bin"))
        for name, tool in self.tools.items():
            os.symlink(os.path.abspath(tool), os.path.join(self.path, "bin", name))
        self.env = {**os.environ, "PATH": os.path.join(self.path, "bin") + ":" + os.environ["PATH"], "COSIGN_PASSWORD": "", "HOME": self.path,
                    "XDG_CONFIG_HOME": os.path.join(self.path, "config")}

    def end(self):
        for process in self.services:
            process.terminate()
            process.wait()
        shutil.rmtree(self.path, True)

    def write(self, name, content):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(content, bytes) else "w") as f:
            f.write(content)

    def read(self, name, mode="r"):
        with open(os.path.join(self.path, name), mode) as f:
            return f.read()

    def run(self, command, **more):
        return subprocess.run(["sh", "-c", command], cwd=self.path, env={**self.env, **more}, text=True, capture_output=True)

    def must(self, command, **more):
        done = self.run(command, **more)
        if done.returncode:
            sys.exit(f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, command, url):
        """Starts a service, and waits until `url` answers."""
        log = open(os.path.join(self.path, command.split()[0] + ".log"), "w")
        process = subprocess.Popen(["sh", "-c", "exec " + command], cwd=self.path, env=self.env, stdout=log, stderr=log)
        self.services.append(process)
        for _ in range(150):
            try:
                return hosts.http(url)[0]
            except OSError as error:
                if process.poll() is not None:
                    break
                time.sleep(0.2)
        sys.exit(f"{command}: {self.read(command.split()[0] + '.log')[-3000:]}")


def start_services(folder):
    """Starts everything. What the tools need of it stands in variables afterwards."""
    ports = {name: hosts.free_port() for name in ("issuer", "referrers", "plain", "fulcio", "fulcio_grpc", "fulcio_metrics", "timestamps", "rekor1", "rekor", "rekor_grpc", "rekor_metrics")}
    at = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    folder.start(f"services {ports['issuer']} {ports['referrers']} {ports['plain']} ctlog.pub", at["issuer"] + "/keys")
    hosts_registry = {"referrers": f"127.0.0.1:{ports['referrers']}", "plain": f"127.0.0.1:{ports['plain']}"}

    issuer = {"issuer-url": at["issuer"], "client-id": "sigstore", "type": "email"}
    # The same issuer by another name, whose tokens are a workflow's.
    workflow = {"issuer-url": at["issuer"] + "/workflow", "client-id": "sigstore", "type": "ci-provider", "ci-provider": "github-workflow"}
    # The names are YAML's, which Fulcio reads only from what isn't JSON.
    folder.write("fulcio.yaml", "# YAML\n" + json.dumps({
        "oidc-issuers": {entry["issuer-url"]: entry for entry in (issuer, workflow)},
        "ci-issuer-metadata": {"github-workflow": {"default-template-values": {"url": "https://github.com"}, "extension-templates": EXTENSIONS,
                                                   "subject-alternative-name-template": "{{ .url }}/{{ .job_workflow_ref }}"}}}))
    trust = json.loads(folder.start(
        f"fulcio serve --ca ephemeralca --ct-log-url {at['issuer']}/ctlog --config-path fulcio.yaml --host 127.0.0.1 --port {ports['fulcio']} --grpc-host 127.0.0.1 "
        f"--grpc-port {ports['fulcio_grpc']} --metrics-port {ports['fulcio_metrics']} --legacy-unix-domain-socket {folder.path}/fulcio.socket", at["fulcio"] + "/api/v2/trustBundle"))
    folder.write("fulcio.crt", "".join(trust["chains"][0]["certificates"]))
    start_timestamps(folder, ports["timestamps"], "")
    folder.must("openssl genpkey -algorithm ED25519 -out rekor.pem && openssl pkey -in rekor.pem -pubout -out rekor.pub")
    folder.start(f"rekor-server-posix serve --hostname 127.0.0.1 --storage-dir log --signer-filepath rekor.pem --checkpoint-interval 1s --http-address 127.0.0.1 --http-port {ports['rekor']} "
                 f"--grpc-address 127.0.0.1 --grpc-port {ports['rekor_grpc']} --http-metrics-port {ports['rekor_metrics']}", at["rekor"] + "/healthz")
    start_first_rekor(folder, ports["rekor1"])

    timestamps = folder.env["TIMESTAMPS"]
    logs = {"services": (at["rekor"], 2), "services1": (at["rekor1"], 1)}
    service = lambda url, version: f"url={url},api-version={version},{SINCE},operator=example.com"
    for command in [
        "cosign signing-config create --out no-services.json",
        *(f"cosign signing-config create --fulcio {service(at['fulcio'], 1)} --rekor {service(*log)} --rekor-config ANY --tsa {service(timestamps, 1)} --tsa-config ANY --out {name}.json" for name, log in logs.items()),
        f"cosign signing-config create --fulcio {service(at['fulcio'], 1)} --rekor {service(*logs['services1'])} --rekor-config ANY --out log1.json",
        f"cosign signing-config create --fulcio {service(at['fulcio'], 1)} --tsa {service(timestamps, 1)} --tsa-config ANY --out timestamps.json",
        f"cosign trusted-root create --fulcio url={at['fulcio']},certificate-chain=fulcio.crt --rekor url={at['rekor']},public-key=rekor.pub,{SINCE},origin=127.0.0.1 --rekor url={at['rekor1']},public-key=rekor1.pub,{SINCE} "
        f"--ctfe url={at['issuer']}/ctlog,public-key=ctlog.pub,{SINCE} --tsa url={timestamps},certificate-chain=timestamps.crt --out root.json",
        f"cosign trusted-root create --fulcio url={at['fulcio']},certificate-chain=fulcio.crt --tsa url={timestamps},certificate-chain=timestamps.crt --out root-timestamps.json",
    ]:
        folder.must(command)
    folder.env |= {"ISSUER": at["issuer"], "FULCIO_URL": at["fulcio"], "REKOR_URL": at["rekor1"], "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE": f"{folder.path}/ctlog.pub",
                   "SIGSTORE_REKOR_PUBLIC_KEY": f"{folder.path}/rekor1.pub", "SIGSTORE_ROOT_FILE": f"{folder.path}/fulcio.crt"}
    return hosts_registry


def start_first_rekor(folder, port):
    """Rekor version 1, and Trillian that it keeps its entries in."""
    trillian = subprocess.Popen([os.path.join(folder.path, "bin/trillian")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    folder.services.append(trillian)
    address, _, trillian_port = trillian.stdout.readline().strip().rpartition(":")
    url = f"http://127.0.0.1:{port}"
    folder.write("rekor1.pub", folder.start(
        f"rekor-server serve --trillian_log_server.address {address} --trillian_log_server.port {trillian_port} --rekor_server.address 127.0.0.1 --port {port} "
        f"--rekor_server.hostname 127.0.0.1 --rekor_server.signer memory --enable_retrieve_api=false", url + "/api/v1/log/publicKey"))


def start_timestamps(folder, port, flags):
    url = f"http://127.0.0.1:{port}/api/v1/timestamp"
    folder.write("timestamps.crt", folder.start(f"timestamp-server serve --host 127.0.0.1 --port {port} --disable-ntp-monitoring{flags}", url + "/certchain"))
    folder.env |= {"TIMESTAMPS": url}


def start_notary_timestamps(folder):
    """Notation wants the whole chain in a timestamp, which Sigstore's authority leaves out. Only one of them can run at a time."""
    process = next(process for process in folder.services if "timestamp-server" in process.args[2])
    process.terminate()
    process.wait()
    start_timestamps(folder, hosts.free_port(), " --include-chain-in-response")
    certificates = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", folder.read("timestamps.crt"), re.S)
    folder.write("timestamps.pem", certificates[-1])
    folder.must("mkdir -p config/notation/truststore/x509/tsa/timestamps && cp timestamps.pem config/notation/truststore/x509/tsa/timestamps/")


def make_keys(folder, keys):
    for name, how in keys.items():
        folder.must(f"openssl genpkey -algorithm {how} -out {name}.pem && openssl pkey -in {name}.pem -pubout -out {name}.pub")
        folder.must(f"cosign import-key-pair --yes --key {name}.pem --output-key-prefix imported && mv imported.key {name}.key && mv imported.pub {name}.pub")


def make_certificates(folder):
    """An authority and what it signs with, for each key; and notation's configuration."""
    folder.write("ca.ext", "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n")
    folder.write("leaf.ext", "basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning\n")
    request = "openssl req -new -key {key}.pem -subj '" + SUBJECT + "{name}' -out {name}.csr"
    ca, leaf = "-days 3650 -extfile ca.ext", "-days 3650 -extfile leaf.ext"
    keys = [key for key in KEYS if key != "ed25519"]
    for key in keys:
        how = KEYS[key]
        for name in ("ca", "between"):
            folder.must(f"openssl genpkey -algorithm {how} -out {key}-{name}.pem")
            folder.must(request.format(key=f"{key}-{name}", name=f"{key}-{name}"))
        folder.must(f"openssl x509 -req -in {key}-ca.csr -signkey {key}-ca.pem {ca} -out {key}-ca.crt")
        for name, signer, extensions in (("between", "ca", ca), ("leaf", "ca", leaf), ("below", "between", leaf)):
            if name != "between":
                folder.must(request.format(key=key, name=f"{key}-{name}"))
            folder.must(f"openssl x509 -req -in {key}-{name}.csr -CA {key}-{signer}.crt -CAkey {key}-{signer}.pem -CAcreateserial {extensions} -out {key}-{name}.crt")
        folder.must(f"cat {key}-leaf.crt {key}-ca.crt >{key}-leaf.chain; cat {key}-below.crt {key}-between.crt {key}-ca.crt >{key}-below.chain")
        for kind in ("ca", "signingAuthority"):
            folder.must(f"mkdir -p config/notation/truststore/x509/{kind}/{key} && cp {key}-ca.crt config/notation/truststore/x509/{kind}/{key}/")
        # A policy that names timestamping authorities refuses signatures without a timestamp.
        for name, stores in ((key, [f"ca:{key}"]), (f"{key}-timestamped", [f"ca:{key}", "tsa:timestamps"]), (f"{key}-authority", [f"signingAuthority:{key}"])):
            folder.write(f"policies/{name}.json", json.dumps({"version": "1.0", "trustPolicies": [{
                "name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"}, "trustStores": stores,
                "trustedIdentities": ["x509.subject: C=DE, ST=Berlin, O=Example"]}]}))
    folder.write("own.ext", f"keyUsage=critical,digitalSignature\nextendedKeyUsage=codeSigning\nsubjectAltName=email:{IDENTITY}\n")
    for name, signer, chain in (("own", "ca", "p256-ca.crt"), ("own-below", "between", "p256-between.crt p256-ca.crt")):
        folder.must(f"openssl x509 -req -in p256-leaf.csr -CA p256-{signer}.crt -CAkey p256-{signer}.pem -CAcreateserial -days 3650 -extfile own.ext -out {name}.crt; cat {chain} >{name}.chain")
    folder.must(f"cosign trusted-root create --fulcio url=https://own.example.com,certificate-chain=own.chain --fulcio url=https://own.example.com,certificate-chain=own-below.chain "
                f"--tsa url={folder.env['TIMESTAMPS']},certificate-chain=timestamps.crt --out root-own.json")
    named = [{"name": f"{key}-{chain}", "keyPath": f"{folder.path}/{key}.pem", "certPath": f"{folder.path}/{key}-{chain}.chain"} for key in keys for chain in ("leaf", "below")]
    folder.write("config/notation/signingkeys.json", json.dumps({"keys": named}))


def token(folder, name, path, **claims):
    folder.write(name, hosts.http(f"{folder.env['ISSUER']}{path}/token?" + urllib.parse.urlencode(claims))[0])


def made(folder, registry, repository, digest, name, form):
    """The bytes that a tool wrote: a file, the layer of the one referrer, or the layer of cosign 2's tag."""
    if "from" in form:
        return folder.read(form["from"], "rb")
    base = f"http://{registry}/v2/{repository}"
    read = lambda path: hosts.http(f"{base}/{path}", headers={"accept": "*/*"})[0]
    if form.get("form") == "dsse":
        manifest = json.loads(read(f"manifests/{digest.replace(':', '-')}.att"))
    else:
        referrers = json.loads(read(f"referrers/{digest}"))["manifests"] or json.loads(read(f"manifests/{digest.replace(':', '-')}"))["manifests"]
        [referrer] = referrers
        manifest = json.loads(read(f"manifests/{referrer['digest']}"))
    [layer] = manifest["layers"]
    return read(f"blobs/{layer['digest']}")


def proven_time(folder, form, data):
    """When a timestamp says that it was signed, or else the log of Rekor version 1, in seconds since 1970."""
    if form.get("form", "").startswith("notary"):
        inspected = json.loads(folder.must("notation inspect --insecure-registry --output json $IMAGE"))
        stamp = inspected["Signatures"][0]["unsignedAttributes"]["timestampSignature"]["timestamp"]
        # The first and the last second that it may be, which its accuracy is between.
        times = [datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() for time in re.findall(r"[\dT:-]+Z", stamp)]
        return int(sum(times) / len(times))
    material = json.loads(data)["verificationMaterial"]
    stamps = material.get("timestampVerificationData", {}).get("rfc3161Timestamps", [])
    if not stamps:
        [entry] = material["tlogEntries"]
        return int(entry["integratedTime"])
    [stamp] = stamps
    folder.write("stamp", base64.b64decode(stamp["signedTimestamp"]))
    said = re.search(r"Time stamp: (.*) GMT", folder.must("openssl ts -reply -in stamp -text"))[1]
    return int(datetime.datetime.strptime(said, "%b %d %H:%M:%S %Y").replace(tzinfo=datetime.timezone.utc).timestamp())


def reason(said):
    """The line that says why, of what a tool said."""
    lines = [line for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "level=error" in line or line.startswith("Error")), lines[-1] if lines else "")


def put_blob(base, data):
    digest = "sha256:" + hosts.sha256(data)
    location = urllib.parse.urljoin(base, hosts.http(f"{base}/blobs/uploads/", b"", "POST")[1]["location"])
    hosts.http(f"{location}{'&' if '?' in location else '?'}digest={digest}", data, "PUT", {"content-type": "application/octet-stream"})
    return {"digest": digest, "size": len(data)}


def push_image(registry, repository):
    base = f"http://{registry}/v2/{repository}"
    layer = put_blob(base, b"an image\n")
    config = put_blob(base, hosts.compact({"os": "linux", "architecture": "amd64", "config": {}, "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}))
    manifest = hosts.compact({"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config},
                              "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", **layer}]})
    hosts.http(f"{base}/manifests/1.0", manifest, "PUT", {"content-type": MANIFEST})
    return manifest


def push_signature(registry, repository, manifest, signature, media_type):
    """Puts a signature of Notary Project where notation finds it."""
    base = f"http://{registry}/v2/{repository}"
    referrer = hosts.compact({"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": "application/vnd.cncf.notary.signature", **put_blob(base, b"{}")},
                              "layers": [{"mediaType": media_type, **put_blob(base, signature)}],
                              "subject": {"mediaType": MANIFEST, "digest": "sha256:" + hosts.sha256(manifest), "size": len(manifest)}})
    hosts.http(f"{base}/manifests/sha256:{hosts.sha256(referrer)}", referrer, "PUT", {"content-type": MANIFEST})


def main():
    of_reports = "--reports" in sys.argv
    only = [name for name in sys.argv[1:] if name != "--reports"]
    folder = Folder()
    registries = start_services(folder)
    if of_reports:
        make_keys(folder, REPORT_KEYS)
        folder.must(f"cp root.json {REPORTS_ROOT}")
        shutil.copytree(os.path.join(HERE, "documents"), os.path.join(folder.path, "documents"))
    else:
        make_keys(folder, KEYS)
        make_certificates(folder)
        for kind, (_, document) in PREDICATES.items():
            folder.write(f"{kind}.json", hosts.compact(document))
    files, entries, failed = {}, [], []
    for name, form in (REPORT_FORMS if of_reports else FORMS).items():
        if only and not any(name.startswith(wanted) for wanted in only):
            continue
        if form.get("form", "").startswith("notary") and "timestamps.pem" not in os.listdir(folder.path):
            start_notary_timestamps(folder)
        repository = f"made/{name}"
        manifest = push_image(registries["referrers"], repository)
        digest = "sha256:" + hosts.sha256(manifest)
        folder.write("image.json", manifest)
        token(folder, "token", "", email=IDENTITY, sub="1")
        token(folder, "workflow-token", "/workflow", **CLAIMS)
        folder.env |= {"IMAGE": f"{registries['referrers']}/{repository}@{digest}"}
        kind = form.get("form", "sigstore")
        done = folder.run(form["command"])
        if done.returncode:
            failed.append(f"{name}: {form['command']}\n{done.stdout}{done.stderr}")
            print(failed[-1], flush=True)
            continue
        if form.get("push"):
            push_signature(registries["referrers"], repository, manifest, folder.read(form["from"], "rb"), form["push"])
        data = made(folder, registries["referrers"], repository, digest, name, form)
        accepted, refused = folder.run(form["judge"]), folder.run(form["refused"])
        # What the tool says to signatures that nobody should accept is shown, and isn't asserted.
        if (accepted.returncode and "unverifiable" not in form) or not refused.returncode:
            failed.append(f"{name}: judged {accepted.returncode} {refused.returncode}\n{form['judge']}\n{accepted.stderr}")
            print(failed[-1], flush=True)
        print(f"{name}: {len(data)} bytes; {f'REFUSED: {reason(accepted.stderr)}; ' if accepted.returncode else ''}refused: {reason(refused.stderr)}", flush=True)
        binary = kind == "notary-cose"
        file = f"{name}.{'base64' if binary else 'json'}"
        files[file] = base64.b64encode(data) + b"\n" if binary else data
        entry = {"file": file, "form": kind, "trust": form["trust"]}
        if form.get("identity"):
            entry["identity"] = form["identity"]
        if form.get("identity") and form["trust"]["trustedRoot"] != "root-own.json":
            entry |= {"issuer": folder.env["ISSUER"] + ("/workflow" if form["identity"] == WORKFLOW else "")}
        entry |= {field: form[field] for field in ("signer", "predicateType", "unverifiable") if form.get(field)}
        if form.get("identity") == WORKFLOW:
            entry["extensions"] = {"buildTrigger": "push", "runnerEnvironment": "github-hosted", "sourceRepositoryURI": "https://github.com/team/app"}
        if form.get("expires"):
            entry["expires"] = True
        if form.get("time"):
            entry["time"] = proven_time(folder, form, data)
        entry["command"] = form["command"]
        entries.append(entry)
    if failed:
        sys.exit(f"{len(failed)} failed: {[line.splitlines()[0] for line in failed]}")
    if only:
        return
    if of_reports:
        files |= {name: folder.read(name, "rb") for name in ("reports.pub", REPORTS_ROOT)}
    else:
        files |= trust(folder)
    write(files, entries, of_reports)


def trust(folder):
    """What the signatures are verified with, and the image."""
    named = {name: name for name in ("root.json", "root-timestamps.json", "root-own.json", "timestamps.pem", "image.json", *(f"{key}.pub" for key in KEYS))}
    named |= {f"notary-{key}-ca.pem": f"{key}-ca.crt" for key in KEYS if key != "ed25519"}
    return {target: folder.read(source, "rb") for target, source in named.items()}


def write(files, entries, of_reports):
    """Replaces the files of one kind, and their entries in the index, whose `made` is of the signatures."""
    with open(os.path.join(MADE, "index.json")) as f:
        index = json.load(f)
    is_report = lambda entry: entry["file"].removesuffix(".json") in REPORT_FORMS
    for old in index["files"]:
        if is_report(old) == of_reports:
            os.remove(os.path.join(MADE, old["file"]))
    kept = [entry for entry in index["files"] if is_report(entry) != of_reports]
    index["files"] = kept + entries if of_reports else entries + kept
    if not of_reports:
        index |= {"image": "sha256:" + hosts.sha256(files["image.json"]), "made": int(time.time())}
    files["index.json"] = (json.dumps(index, indent=1) + "\n").encode()
    for name, content in files.items():
        with open(os.path.join(MADE, name), "wb") as f:
            f.write(content)


if __name__ == "__main__":
    main()
