"""Writes indexes as those tools spell them that aren't written in Go: python3 others.py <folder>

What is run is what these tools run: Perl's Mojo::JSON (Docker's official images), jq (their architectures' repositories; Bazel's rules_oci)
and Python's json (Red Hat's atomic-reactor). System.Text.Json (.NET's SDK) is not run: its bytes are made here, as its source has it.
It needs `perl` with Mojolicious (PERL5LIB may name it) and `jq`.
"""
import json, pathlib, subprocess, sys

FOLDER = pathlib.Path(sys.argv[1])
IMAGE, INDEX = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"
DOCKER_IMAGE, DOCKER_LIST = "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json"
AMD64 = "sha256:5861314d7fccb39c2192173240eab44fa35ca66426201ca2acd0630a6258dd51"
ARM64 = "sha256:f69162950f235e3cdbbad33f1f912d1a504be90d8a37d002c735d6f3e3882265"
ATTESTATION = "sha256:813a89a296973e35545cfa74fe3efd172a7d19443c97c625d699e9737229b0a2"


def entry(digest, arch, variant=None, system="linux", media_type=IMAGE, annotations=None):
    out = {"mediaType": media_type, "digest": digest, "size": 527, "platform": {"os": system, "architecture": arch}}
    if variant:
        out["platform"]["variant"] = variant
    if annotations:
        out["annotations"] = annotations
    return out


def images(**options):
    return [entry(AMD64, "amd64", **options), entry(ARM64, "arm64", "v8", **options)]


def official():
    source = {"com.docker.official-images.bashbrew.arch": "amd64", "org.opencontainers.image.authors": "Tom & \"Jerry\" <tom@example.org>",
              "org.opencontainers.image.source": "https://example.org/app.git#1234:1.0"}
    attested = {"vnd.docker.reference.digest": AMD64, "vnd.docker.reference.type": "attestation-manifest"}
    manifests = images(annotations=source)
    manifests.insert(1, entry(ATTESTATION, "unknown", system="unknown", annotations=attested))
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}


def run(argv, document):
    return subprocess.run(argv, input=json.dumps(document).encode(), stdout=subprocess.PIPE, check=True).stdout


def write(name, raw):
    (FOLDER / f"{name}.json").write_bytes(raw)


write("official-images-index", run(["perl", "-MMojo::JSON=decode_json,encode_json", "-0777", "-ne", "print encode_json(decode_json($_))"], official()))

# Cut out of the document for the pusher, with the blanks that it has there; a document of several lines gets a last line break.
deployed = run(["jq", "{type: \"manifest\", refs: [\"amd64/app:1.0\"], data: .}"], official())
start = deployed.index(b'"data": ') + len(b'"data": ')
write("official-images-deploy-index", deployed[start:deployed.rindex(b"}")].rstrip() + b"\n")

bazel = {"schemaVersion": 2, "mediaType": INDEX, "manifests": []}
for each in images():
    platform = each.pop("platform")
    bazel["manifests"].append({"mediaType": each["mediaType"], "digest": each["digest"], "size": each["size"], "platform": platform})
write("rules_oci-index", run(["jq", "."], bazel))
write("rules_oci-image", run(["jq", "."], {
    "schemaVersion": 2, "mediaType": IMAGE, "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "size": 1470, "digest": AMD64},
    "layers": [{"size": 120, "digest": ARM64, "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}]}))

write("atomic-reactor-index", json.dumps({"schemaVersion": 2, "mediaType": DOCKER_LIST, "manifests": images(media_type=DOCKER_IMAGE)}, indent=4, sort_keys=True, separators=(",", ": ")).encode())

dotnet = [{"mediaType": DOCKER_IMAGE, "size": 527, "digest": digest, "platform": {"architecture": arch, "os": "linux", "variant": None, "features": None, "os.version": None}}
          for digest, arch in ((AMD64, "amd64"), (ARM64, "arm64"))]
write("dotnet-sdk-index", json.dumps({"schemaVersion": 2, "mediaType": DOCKER_LIST, "manifests": dotnet}, separators=(",", ":")).replace("+", "\\u002B").encode())
