"""Asks the real `policy-server` about indexes that honest tools and attackers write, and the runtimes' own code what nodes would run.

It writes 1,000 indexes (the same ones each time), pushes them into a real registry, or where that refuses them into one that
stores any bytes, and asks about a Pod with each: by tag and by digest, with several settings. Clean reports exist of the CLEAN
images only. What a node runs of an admitted image must be one of them: containerd, containers/image (CRI-O, podman) and
go-containerregistry say what that is. Honest indexes must be admitted. Exit status 1 if either isn't so.

    cd tests/real-host/runtimes && go build -tags containers_image_openpgp -o /tmp/runtimes .
    RUNTIMES=/tmp/runtimes python3 tests/real-host/indexes.py [seed]

MODULE names an annotated module; without it the checkout's is built. COUNT asks of fewer indexes, EXAMPLES=1 shows one of each kind
that went wrong. It needs what `record.py` needs, and loopback only.
"""
import base64, collections, concurrent.futures, hashlib, http.server, json, os, random, subprocess, sys, threading, urllib.error

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if "RUNTIMES" not in os.environ:
    sys.exit("RUNTIMES is not set: see the first lines of this file")
from world import World, build_module, http as ask_http, pod, review

COUNT = int(os.environ.get("COUNT", "1000"))
HONEST_OF_TEN = 3
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 15
# Reports of one digest in one repository are all read: few indexes share one.
OF_ONE_REPOSITORY = 10

OCI_INDEX, OCI_IMAGE = "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG, OCI_LAYER = "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_LIST, DOCKER_IMAGE = "application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG, DOCKER_LAYER = "application/vnd.docker.container.image.v1+json", "application/vnd.docker.image.rootfs.diff.tar.gzip"

AMD64, ARM64, ARM64_V8, ARM, I386, S390X = "linux/amd64", "linux/arm64", "linux/arm64/v8", "linux/arm/v7", "linux/386", "linux/s390x"

VARIANTS = {  # name: (settings, platforms of the nodes)
    "default": ({}, (AMD64, ARM64)),
    "amd64 only": ({"reports": {"platforms": [AMD64]}}, (AMD64,)),
    "two platforms": ({"reports": {"platforms": [AMD64, ARM64]}}, (AMD64, ARM64)),
    "accept-outages": ({"scanPolicies": {"scanFailed": "accept-outages"}}, (AMD64, ARM64)),
    "accept-outages, amd64 only": ({"scanPolicies": {"scanFailed": "accept-outages"}, "reports": {"platforms": [AMD64]}}, (AMD64,)),
    "unprovenIndexes: warn": ({"reports": {"unprovenIndexes": "warn"}}, (AMD64, ARM64)),
}
# The owner's way out: what it lets in is not counted as wrong.
MAY_BE_WRONG = "unprovenIndexes: warn"
# What scanners see: it runs on no node.
SCANNER = "goContainerregistry"


class Pairs(list):
    """An object as it is written: keys in their order, as often as they stand there."""

    def set(self, key, value):
        for at, (k, _) in enumerate(self):
            if k == key:
                self[at] = (key, value)
                return
        self.append((key, value))

    def get(self, key):
        return next((v for k, v in self if k == key), None)

    def put(self, key, value, rng):
        """At any place."""
        self.insert(rng.randint(0, len(self)), (key, value))


class Escaped(str):
    """A key that is written as it is, without quoting it again."""


def copied(value):
    if isinstance(value, Pairs):
        return Pairs((k, copied(v)) for k, v in value)
    return [copied(v) for v in value] if isinstance(value, list) else value


class Spelling:
    """How a tool writes JSON."""

    def __init__(self, name, indent="", html=True, slash=False, end="", index=(), entry=(), platform=()):
        self.name, self.indent, self.html, self.slash, self.end = name, indent, html, slash, end
        self.orders = {"index": index, "entry": entry, "platform": platform}

    def text(self, text):
        out = json.dumps(text, ensure_ascii=False)
        if self.html:
            for c in "<>&\u2028\u2029":
                out = out.replace(c, f"\\u{ord(c):04x}")
        return out.replace("/", "\\/") if self.slash else out

    def write(self, value, depth=0):
        if isinstance(value, (Pairs, dict)):
            items = sorted(value.items()) if isinstance(value, dict) else value
            inner, brackets = [(k if isinstance(k, Escaped) else self.text(k)) + (": " if self.indent else ":") + self.write(v, depth + 1) for k, v in items], "{}"
        elif isinstance(value, list):
            inner, brackets = [self.write(v, depth + 1) for v in value], "[]"
        else:
            return self.text(value) if isinstance(value, str) else json.dumps(value)
        if not inner:
            return brackets
        if not self.indent:
            return brackets[0] + ",".join(inner) + brackets[1]
        line = "\n" + self.indent * (depth + 1)
        return brackets[0] + line + ("," + line).join(inner) + "\n" + self.indent * depth + brackets[1]

    def bytes(self, document):
        return (self.write(document) + self.end).encode()

    def ordered(self, fields, kind):
        order = self.orders[kind]
        return Pairs((k, fields[k]) for k in (sorted(fields) if order == "sorted" else order) if k in fields)


A = dict(index=("schemaVersion", "mediaType", "artifactType", "manifests", "annotations"), entry=("mediaType", "digest", "size", "annotations", "platform", "artifactType"),
         platform=("architecture", "os", "os.version", "os.features", "variant"))
B = {**A, "index": ("schemaVersion", "mediaType", "manifests", "annotations", "artifactType"), "entry": ("mediaType", "size", "digest", "annotations", "platform", "artifactType")}
D = {**A, "index": ("mediaType", "schemaVersion", "manifests", "annotations")}
SORTED = dict(index="sorted", entry="sorted", platform="sorted")
SPELLINGS = [
    Spelling("buildkit", "  ", **A), Spelling("buildkit 0.11", "  ", **D), Spelling("buildkit 0.10", "   ", **D), Spelling("docker manifest", "   ", **B),
    Spelling("go-containerregistry", **B), Spelling("containers/image", **A), Spelling("umoci", end="\n", **A), Spelling("jib", html=False, **A),
    Spelling("official images", html=False, slash=True, **SORTED), Spelling("atomic-reactor", "    ", html=False, **SORTED),
    Spelling("rules_oci", "  ", html=False, end="\n", index=A["index"], entry=("mediaType", "digest", "size", "platform"), platform=("os", "architecture", "variant", "os.version")),
]


class Anything(http.server.BaseHTTPRequestHandler):
    """A registry that stores whatever bytes it is given, under whatever type."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    manifests, blobs = {}, {}

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        parts = self.path.split("?")[0].split("/")
        if self.path.rstrip("/") == "/v2":
            return self.answer(200, b"{}")
        found = {"manifests": self.manifests, "blobs": self.blobs}.get(parts[-2], {}).get(parts[-1])
        if not found:
            return self.answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
        content_type, raw = found
        self.answer(200, raw, Content_Type=content_type, Docker_Content_Digest=digest_of(raw))

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def digest_of(raw):
    return "sha256:" + hashlib.sha256(raw).hexdigest()


class Registries:
    """The real registry, and the one that takes anything. Both have the same images."""

    def __init__(self, world):
        self.world, self.images = world, []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Anything)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # clients that are done close their connections
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.anything = f"127.0.0.1:{server.server_address[1]}"

    def put(self, repository, reference, raw, content_type):
        ask_http(f"http://{self.world.registry}/v2/{repository}/manifests/{reference}", raw, method="PUT", headers={"content-type": content_type})

    def store(self, reference, raw, content_type):
        Anything.manifests[reference] = Anything.manifests[digest_of(raw)] = (content_type, raw)

    def image(self, name, platform, docker=False):
        """An image of its own: its manifest's digest and size."""
        system, arch, *variant = platform.split("/")
        layer = name.encode()  # stands in for a layer: nothing unpacks it
        config = json.dumps({"architecture": arch, "os": system, **({"variant": variant[0]} if variant else {}), "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]}}).encode()
        raw = json.dumps({"schemaVersion": 2, "mediaType": DOCKER_IMAGE if docker else OCI_IMAGE,
                          "config": {"mediaType": DOCKER_CONFIG if docker else OCI_CONFIG, "digest": digest_of(config), "size": len(config)},
                          "layers": [{"mediaType": DOCKER_LAYER if docker else OCI_LAYER, "digest": digest_of(layer), "size": len(layer)}]}, separators=(",", ":")).encode()
        content_type = DOCKER_IMAGE if docker else OCI_IMAGE
        for blob in (layer, config):
            Anything.blobs[digest_of(blob)] = ("application/octet-stream", blob)
        self.images.append((raw, content_type, (layer, config)))
        self.store(digest_of(raw), raw, content_type)
        return {"mediaType": content_type, "digest": digest_of(raw), "size": len(raw)}

    def fill(self, repository):
        """Puts every image into a repository."""
        self.repository = repository
        for raw, content_type, blobs in self.images:
            for blob in blobs:
                self.world.blob(repository, blob)
            self.put(repository, digest_of(raw), raw, content_type)

    def document(self, raw, content_type):
        try:
            self.put(self.repository, digest_of(raw), raw, content_type)
        except urllib.error.HTTPError:
            pass  # the other registry has it
        self.store(digest_of(raw), raw, content_type)
        return {"mediaType": content_type, "digest": digest_of(raw), "size": len(raw)}

    def index(self, tag, raw, content_type):
        """The registry that took it."""
        self.store(tag, raw, content_type)
        try:
            self.put(self.repository, tag, raw, content_type)
            return self.world.registry
        except urllib.error.HTTPError:
            return self.anything


class Images:
    """CLEAN and EVIL images of each platform, Docker's and OCI's."""

    def __init__(self, registries):
        self.clean, self.evil, self.reported = {}, {}, []
        for docker in (False, True):
            for platform in (AMD64, ARM64, ARM64_V8, ARM, I386, S390X):
                for kind, into in (("clean", self.clean), ("evil", self.evil)):
                    # Names of one length, so that sizes don't tell them apart.
                    into[platform, docker] = registries.image(f"{kind:5} {platform} {docker}", platform, docker)
        self.attestation = registries.image("attestation", "unknown/unknown")
        self.clean_digests = {d["digest"] for d in self.clean.values()} | {self.attestation["digest"]}


def platform_fields(platform):
    system, arch, *variant = platform.split("/")
    return {"os": system, "architecture": arch, **({"variant": variant[0]} if variant else {})}


class Generator:
    """Indexes, honest and not."""

    def __init__(self, rng, images, registries):
        self.rng, self.images, self.registries = rng, images, registries
        self.attacks = [getattr(self, name) for name in dir(self) if name.startswith("attack_")]

    def entry(self, spelling, image, platform, **more):
        fields = {**image, **more}
        if platform:
            fields["platform"] = spelling.ordered(platform if isinstance(platform, dict) else platform_fields(platform), "platform")
        return spelling.ordered(fields, "entry")

    def honest(self):
        """An index as a tool writes it: spelling, document, platforms, whether of Docker's types."""
        rng, spelling = self.rng, self.rng.choice(SPELLINGS)
        docker = spelling.name in ("docker manifest", "atomic-reactor", "buildkit 0.10") or (spelling.name in ("go-containerregistry", "containers/image", "jib") and rng.random() < 0.4)
        arm64 = rng.choice([ARM64, ARM64_V8])
        platforms = [AMD64, arm64] + rng.sample([ARM, I386, S390X], rng.choice([0, 0, 1, 3]))
        rng.shuffle(platforms)
        annotated = not docker and spelling.name != "rules_oci"
        words = {"org.opencontainers.image.title": rng.choice(["app", "a < b & c", "ünïcode \\ \"x\"", "https://example.org/"])}
        manifests = [self.entry(spelling, self.images.clean[p, docker], p, **({"annotations": words} if annotated and rng.random() < 0.4 else {})) for p in platforms]
        if annotated and rng.random() < 0.5:
            manifests.append(self.entry(spelling, self.images.attestation, "unknown/unknown", annotations={
                "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": manifests[0].get("digest")}))
        fields = {"schemaVersion": 2, "mediaType": DOCKER_LIST if docker else OCI_INDEX, "manifests": manifests}
        if annotated and rng.random() < 0.4:
            fields["annotations"] = {**words, "b": "2", "a": "1"}
        return spelling, spelling.ordered(fields, "index"), platforms, docker

    def amd64_entry(self, document):
        return next(e for e in document.get("manifests") if e.get("platform").get("architecture") == "amd64")

    def evil(self, platform, docker):
        return self.images.evil[platform, docker]

    def other_case(self, key):
        """Another spelling of a key that Go takes for the same."""
        choices = [key.capitalize(), key.upper(), key[:-1] + key[-1].upper(), key[0] + key[1].upper() + key[2:]]
        if "s" in key:
            choices.append(key.replace("s", "\u017f", 1))
        if "k" in key:
            choices.append(key.replace("k", "\u212a", 1))
        return self.rng.choice([c for c in choices if c != key])

    def escaped(self, key):
        at = self.rng.randrange(len(key))
        return Escaped('"' + key[:at] + f"\\u{ord(key[at]):04x}" + key[at + 1:] + '"')

    # Each gets an honest index and makes it lie. What it returns instead of None is the type that it is pushed as.

    def attack_digest_case(self, spelling, document, docker):
        entry, evil = self.amd64_entry(document), self.evil(AMD64, docker)
        entry.put(self.other_case("digest"), evil["digest"], self.rng)

    def attack_digest_and_size_case(self, spelling, document, docker):
        entry, evil = self.amd64_entry(document), self.evil(AMD64, docker)
        entry.append((self.other_case("digest"), evil["digest"]))
        entry.append((self.other_case("size"), evil["size"]))

    def attack_digest_escaped(self, spelling, document, docker):
        self.amd64_entry(document).put(self.escaped("digest"), self.evil(AMD64, docker)["digest"], self.rng)

    def attack_digest_twice(self, spelling, document, docker):
        self.amd64_entry(document).put("digest", self.evil(AMD64, docker)["digest"], self.rng)

    def attack_platform_case(self, spelling, document, docker):
        lie = self.entry(spelling, self.evil(AMD64, docker), "unknown/unknown")
        lie.append((self.other_case("platform"), Pairs([("os", "linux"), ("architecture", "amd64")])))
        document.get("manifests").insert(0, lie)

    def attack_architecture_case(self, spelling, document, docker):
        lie = self.entry(spelling, self.evil(AMD64, docker), "unknown/unknown")
        lie.get("platform").extend([(self.other_case("os"), "linux"), (self.other_case("architecture"), "amd64")])
        document.get("manifests").insert(0, lie)

    def attack_clean_platform_hidden(self, spelling, document, docker):
        self.amd64_entry(document).append((self.other_case("platform"), Pairs([("os", "windows"), ("architecture", "arm")])))
        document.get("manifests").append(self.entry(spelling, self.evil(AMD64, docker), "unknown/unknown") + [("Platform", None)])

    def attack_platform_null(self, spelling, document, docker):
        lie = self.entry(spelling, self.evil(AMD64, docker), "unknown/unknown")
        lie.append((self.rng.choice(["Platform", "platform", "PLATFORM"]), None))
        document.get("manifests").insert(0, lie)
        if self.rng.random() < 0.5:
            document.set("manifests", [e for e in document.get("manifests") if e.get("platform").get("architecture") != "amd64"])

    def attack_manifests_case(self, spelling, document, docker):
        lies = [self.entry(spelling, self.evil(p, docker), p) for p in (AMD64, ARM64)]
        document.put(self.other_case("manifests"), lies, self.rng)

    def attack_manifests_twice(self, spelling, document, docker):
        lies = [self.entry(spelling, self.evil(p, docker), p) for p in (AMD64, ARM64)]
        document.put(self.rng.choice(["manifests", self.escaped("manifests")]), lies, self.rng)

    def attack_manifests_merged(self, spelling, document, docker):
        # Go reads the second list into the elements of the first.
        document.append((self.other_case("manifests"), [Pairs([("digest", self.evil(AMD64, docker)["digest"])]) for _ in document.get("manifests")]))

    def attack_manifests_null(self, spelling, document, docker):
        document.append(("Manifests", None))
        document.append(("MANIFESTS", [self.entry(spelling, self.evil(AMD64, docker), AMD64)]))

    def attack_media_type_case(self, spelling, document, docker):
        entry = self.amd64_entry(document)
        nested = self.nested(spelling, docker)
        entry.append((self.other_case("mediaType"), nested["mediaType"]))
        entry.append((self.other_case("digest"), nested["digest"]))
        entry.append((self.other_case("size"), nested["size"]))

    def nested(self, spelling, docker):
        manifests = [self.entry(spelling, self.evil(p, docker), p) for p in (AMD64, ARM64)]
        content_type = DOCKER_LIST if docker else OCI_INDEX
        return self.registries.document(spelling.bytes(spelling.ordered({"schemaVersion": 2, "mediaType": content_type, "manifests": manifests}, "index")), content_type)

    def attack_nested(self, spelling, document, docker):
        entry = self.entry(spelling, self.nested(spelling, docker), self.rng.choice([None, AMD64, "unknown/unknown"]))
        document.get("manifests").insert(self.rng.choice([0, 99]), entry)

    def attack_nested_called_image(self, spelling, document, docker):
        nested = {**self.nested(spelling, docker), "mediaType": DOCKER_IMAGE if docker else OCI_IMAGE}
        document.get("manifests").insert(0, self.entry(spelling, nested, AMD64))

    def attack_no_platform(self, spelling, document, docker):
        document.get("manifests").insert(self.rng.choice([0, 99]), self.entry(spelling, self.evil(AMD64, docker), None))
        if self.rng.random() < 0.5:
            document.set("manifests", [e for e in document.get("manifests") if not e.get("platform") or e.get("platform").get("architecture") != "amd64"])

    def attack_same_platform(self, spelling, document, docker):
        document.get("manifests").insert(self.rng.choice([0, 99]), self.entry(spelling, self.evil(AMD64, docker), AMD64))

    def attack_preferred_by_annotation(self, spelling, document, docker):
        lie = self.entry(spelling, self.evil(AMD64, docker), AMD64)
        lie.put("annotations", {"io.github.containers.compression.zstd": "true"}, self.rng)
        document.get("manifests").append(spelling.ordered(dict(lie), "entry") if spelling.name != "rules_oci" else lie)

    def attack_platform_alias(self, spelling, document, docker):
        """Names that containerd takes for linux/amd64."""
        alias = self.rng.choice([{"os": "linux", "architecture": "x86_64"}, {"os": "linux", "architecture": "AMD64"}, {"os": "LINUX", "architecture": "amd64"}, {"os": "", "architecture": "amd64"},
                                 {"os": "linux", "architecture": "amd64", "variant": "v1"}, {"os": "linux", "architecture": "x86-64"}, {"os": "linux", "architecture": "amd64", "os.version": "1"},
                                 {"os": "linux", "architecture": "amd64", "variant": ""}, {"os": "linux", "architecture": "amd64", "os.features": ["x"]}])
        document.get("manifests").insert(0, self.entry(spelling, self.evil(AMD64, docker), alias))
        if self.rng.random() < 0.5:
            document.set("manifests", [e for e in document.get("manifests") if e.get("platform").get("architecture") != "amd64" or e.get("digest") == self.evil(AMD64, docker)["digest"]])

    def attack_arm64_alias(self, spelling, document, docker):
        alias = self.rng.choice([{"os": "linux", "architecture": "aarch64"}, {"os": "linux", "architecture": "arm64", "variant": "8"}, {"os": "linux", "architecture": "arm64", "variant": "v8.0"},
                                 {"os": "linux", "architecture": "arm64", "variant": "v7"}, {"os": "linux", "architecture": "ARM64"}, {"os": "linux", "architecture": "arm", "variant": "v8"}])
        document.get("manifests").insert(0, self.entry(spelling, self.evil(ARM64, docker), alias))

    def attack_lesser_platform(self, spelling, document, docker):
        """Nodes run these where the index has nothing better."""
        wanted, lesser = self.rng.choice([("amd64", I386), ("arm64", ARM)])
        document.set("manifests", [e for e in document.get("manifests") if e.get("platform").get("architecture") != wanted] + [self.entry(spelling, self.evil(lesser, docker), lesser)])

    def attack_called_attestation(self, spelling, document, docker):
        fields = {**self.evil(AMD64, docker), "annotations": {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": self.images.clean[AMD64, docker]["digest"]}}
        lie = self.entry(spelling, fields, AMD64)
        if not lie.get("annotations"):
            lie.append(("annotations", fields["annotations"]))
        document.get("manifests").insert(0, lie)

    def attack_called_artifact(self, spelling, document, docker):
        lie = self.entry(spelling, {**self.evil(AMD64, docker), "artifactType": "application/spdx+json"}, AMD64)
        document.get("manifests").insert(0, lie)

    def attack_called_something_else(self, spelling, document, docker):
        kind = self.rng.choice(["application/vnd.in-toto+json", "application/json", "", DOCKER_LIST, OCI_INDEX, OCI_LAYER, "application/vnd.docker.distribution.manifest.v1+json"])
        document.get("manifests").insert(0, self.entry(spelling, {**self.evil(AMD64, docker), "mediaType": kind}, AMD64))

    def attack_both_image_and_index(self, spelling, document, docker):
        image = json.loads(Anything.manifests[(self.images.clean if self.rng.random() < 0.5 else self.images.evil)[AMD64, docker]["digest"]][1])
        document.set("manifests", [self.entry(spelling, (self.images.evil if self.rng.random() < 0.7 else self.images.clean)[p, docker], p) for p in (AMD64, ARM64)])
        for key in ("config", "layers"):
            document.append((self.rng.choice([key, self.other_case(key)]), image[key]))
        if self.rng.random() < 0.3:
            document.set("mediaType", DOCKER_IMAGE if docker else OCI_IMAGE)
        return self.rng.choice([DOCKER_IMAGE, OCI_IMAGE, DOCKER_LIST, OCI_INDEX])

    def attack_other_content_type(self, spelling, document, docker):
        document.get("manifests").insert(0, self.entry(spelling, self.evil(AMD64, docker), AMD64))
        if self.rng.random() < 0.5:
            document[:] = [(k, v) for k, v in document if k != "mediaType"]
        return self.rng.choice([OCI_IMAGE, DOCKER_IMAGE, DOCKER_LIST, OCI_INDEX, "application/json", "application/vnd.docker.distribution.manifest.v1+json"])

    def attack_top_media_type_case(self, spelling, document, docker):
        document.append((self.other_case("mediaType"), self.rng.choice([OCI_IMAGE, DOCKER_IMAGE, OCI_INDEX, DOCKER_LIST])))
        document.append((self.other_case("manifests"), [self.entry(spelling, self.evil(AMD64, docker), AMD64)]))

    def attack_unknown_keys(self, spelling, document, docker):
        document.put("x", {"manifests": [self.entry(spelling, self.evil(AMD64, docker), AMD64)]}, self.rng)

    def attack_two_at_once(self, spelling, document, docker):
        for attack in self.rng.sample([self.attack_digest_case, self.attack_platform_case, self.attack_manifests_case, self.attack_architecture_case], 2):
            attack(spelling, document, docker)

    def harmless_order(self, spelling, document, docker):
        """Nothing is hidden, but no tool writes it like this: both answers are right."""
        for each in (document, *document.get("manifests")):
            self.rng.shuffle(each)

    def harmless_blanks(self, spelling, document, docker):
        spelling.indent, spelling.end = self.rng.choice([" ", "  \t", "     "]), self.rng.choice(["", "\n\n", " "])

    def make(self, number):
        spelling, document, platforms, docker = self.honest()
        content_type = document.get("mediaType")
        if number % 10 < HONEST_OF_TEN:
            return f"honest: {spelling.name}", spelling.bytes(document), content_type, platforms, docker
        document = copied(document)
        attack = (self.harmless_order if self.rng.random() < 0.5 else self.harmless_blanks) if number % 10 == 9 and self.rng.random() < 0.3 else self.attacks[number % len(self.attacks)]
        written = Spelling(**{k: v for k, v in vars(spelling).items() if k != "orders"}, **spelling.orders)
        content_type = attack(written, document, docker) or content_type
        return attack.__name__.replace("_", " "), written.bytes(document), content_type, platforms, docker


def patched(response, asked):
    """The image that the admitted Pod names."""
    for change in json.loads(base64.b64decode(response["patch"])) if response.get("patch") else []:
        if change["path"] == "/spec/containers/0/image":
            asked = change["value"]
        elif change["path"] in ("", "/spec", "/spec/containers", "/spec/containers/0"):
            sys.exit(f"a patch of {change['path']}: this script doesn't read it")
    return asked


def judge(questions):
    out = subprocess.run([os.environ["RUNTIMES"]], input="".join(json.dumps({"ref": r, "platform": p}) + "\n" for r, p in questions), capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"the runtimes' judge: {out.stderr}")
    return {(a["ref"], a["platform"]): {k: v for k, v in a.items() if k not in ("ref", "platform")} for a in map(json.loads, out.stdout.splitlines())}


def main():
    rng = random.Random(SEED)
    os.chdir(ROOT)
    module = os.environ.get("MODULE") or build_module()
    world = World()
    registries = Registries(world)
    images = Images(registries)
    generator = Generator(rng, images, registries)

    cases, where = [], collections.Counter()
    for number in range(COUNT):
        if number % OF_ONE_REPOSITORY == 0:
            repository = f"team/app{number // OF_ONE_REPOSITORY}"
            registries.fill(repository)
        kind, raw, content_type, platforms, docker = generator.make(number)
        tag, index = f"t{number}", digest_of(raw)
        registry = registries.index(tag, raw, content_type)
        where["took" if registry == world.registry else "refused"] += 1
        for platform in {AMD64, ARM64, *platforms}:
            world.add_sbomscanner_report(repository, tag, platform, images.clean[platform, docker]["digest"], index=index, registry=registry)
        cases.append((kind, registry, repository, tag, index, raw, [f"{registry}/{repository}:{tag}", f"{registry}/{repository}:{tag}@{index}"] + ([f"{registry}/{repository}@{index}"] if number % 25 == 0 else [])))
    print(f"seed {SEED}: {COUNT} indexes, {where['took']} in docker-registry, {where['refused']} that it refused in the other", flush=True)

    # A scanner reported on the index as one thing: well, where it saw the clean image. It is written in Go.
    seen = judge([(refs[0], AMD64) for *_, refs in cases])
    for _, registry, repository, tag, index, _, refs in cases:
        if seen[refs[0], AMD64]["goContainerregistry"].get("digest") in images.clean_digests:
            world.add_sbomscanner_report(repository, tag, AMD64, index, registry=registry)

    world.serve_cluster()
    with open(world.sources, "w") as f:
        f.write(f'insecure_sources: ["{world.registry}", "{registries.anything}"]\n')
    policies = {f"p{n}": {"module": module, "settings": {"registries": [world.registry, registries.anything], **settings}} for n, (settings, _) in enumerate(VARIANTS.values())}
    os.environ.update(RUST_BACKTRACE="0", RUST_LIB_BACKTRACE="0")  # a trace for each missing report takes longer than the policy
    world.serve_policies(policies, timeout=20)

    def ask(question):
        policy, reference = question
        return world.ask(policy, review(pod([reference])))

    wrong, refused, table, examples = 0, 0, collections.defaultdict(collections.Counter), {}
    for (name, (_, nodes)), policy in zip(VARIANTS.items(), policies):
        questions = [(kind, raw, ref) for kind, *_, raw, refs in cases for ref in refs]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, ((policy, ref) for _, _, ref in questions)))
        if len({a["status"]["message"] if not a["allowed"] else None for a in answers}) == 1 and not answers[0]["allowed"]:
            print(f"{name}: not asked, {answers[0]['status']['message'][:200]}", flush=True)
            continue
        print(f"{name}: asked", flush=True)
        admitted = [(kind, raw, ref, patched(a, ref)) for (kind, raw, ref), a in zip(questions, answers) if a["allowed"]]
        verdicts = judge(sorted({(run, node) for _, _, _, run in admitted for node in nodes}))
        for (kind, _, ref), answer in zip(questions, answers):
            table[name, kind]["asked"] += 1
            if not answer["allowed"] and kind.startswith("honest"):
                table[name, kind]["honest, refused"] += 1
                refused += 1
                examples.setdefault((name, kind), f"{ref}: {answer['status']['message'][:300]}")
        for kind, raw, ref, run in admitted:
            table[name, kind]["admitted"] += 1
            bad = [(node, runtime, v) for node in nodes for runtime, v in verdicts[run, node].items() if runtime != SCANNER and v.get("digest") not in images.clean_digests | {None}]
            silent = [(node, runtime, v) for node in nodes for runtime, v in verdicts[run, node].items() if "error" in v]
            if bad:
                table[name, kind]["wrong"] += 1
                wrong += name != MAY_BE_WRONG
                examples.setdefault((name, kind), f"{ref} admitted as {run}, {bad[0]}\n{raw.decode(errors='replace')}")
            elif silent and kind.startswith("honest"):
                sys.exit(f"the judge can't read an honest index: {ref} as {run}: {silent}")

    asked = list(dict.fromkeys(name for name, _ in table))
    print("\nadmitted, and of these wrong (a node runs what nobody judged), with each settings:")
    print(f"{'kind':34}{'asked':>6}" + "".join(f"{n:>{len(n) + 2}}" for n in asked))
    for kind in sorted({kind for _, kind in table}):
        counts = [table[name, kind] for name in asked]
        print(f"{kind:34}{max(c['asked'] for c in counts):6}" + "".join(f"{str(c['admitted']) + (' / ' + str(c['wrong']) if c['wrong'] else ''):>{len(n) + 2}}" for n, c in zip(asked, counts)))
    for (name, kind), example in list(examples.items())[: None if os.environ.get("EXAMPLES") else 3]:
        print(f"\n{name}, {kind}: {example}")
    print(f"\n{wrong} admitted of which a node runs what nobody judged; {refused} honest ones refused")
    sys.exit(1 if wrong or refused else 0)


if __name__ == "__main__":
    main()
