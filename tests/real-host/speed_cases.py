"""What `speed.py` measures: requests, the settings that they are judged by, and what each is compared with.

A case is `{"settings", "images", "beside"}`. `beside` is a list of host calls, those that judging can't do without, or the name of
another case. A case of another policy names its `module`.
"""
import base64, os

from opa import RULE
from world import BUNDLE, ENVELOPE, HERE, SBOMSCANNER, TRIVY_OPERATOR, build_envelope, finding, made, report_name

AMD64, ARM64, ARM = "linux/amd64", "linux/arm64", "linux/arm"
SUMMARY = ["imageMetadata", "report.summary"]
GATED = [*SUMMARY, *(f"report.results.vulnerabilities.{field}" for field in ("severity", "suppressed", "cve", "knownExploited", "epssScore"))]
# What scores and exemptions by package read.
SCORED = [*SUMMARY, *(f"report.results.vulnerabilities.{field}" for field in ("severity", "suppressed", "cve", "purl", "cvss"))]
# Nothing has this name: asking for it tells whether the kind can be read, which an empty list doesn't.
NOBODY = "image-admission-asks-whether-this-can-be-read"
LIST = {"namespace": "security", "name": "kev"}


def call(namespace, operation, payload):
    return {"namespace": namespace, "operation": operation, "payload": payload}


def get(**resource):
    return call("kubernetes", "get_resource", {"disable_cache": False, **resource})


def image_calls(world, repository, image, fields=SUMMARY, listed=False):
    """The calls for one image whose reports have names that can be computed."""
    name = f"{world.registry}/{repository}"
    reports = [get(api_version=SBOMSCANNER, kind="VulnerabilityReport", namespace="sbomscanner", field_masks=fields, name=report_name(world.registry, repository, "1.0", digest)) for digest in image["platforms"].values()]
    lists = [get(api_version="v1", kind="ConfigMap", field_masks=["data"], **LIST)] if listed else []
    return [call("oci", "v1/oci_manifest", f"{name}:1.0"), *reports, *lists]


def trivy_calls(world, image, gated):
    """The calls for an image with a report of trivy-operator, which a list leads to; of gates, what they read, and what is exploited."""
    name = f"{world.registry}/team/app"
    report = {"api_version": TRIVY_OPERATOR, "kind": "VulnerabilityReport", "namespace": "image-scans"}
    known = ["report.artifact", "report.registry"]
    fields, exploited = [*known, "report.summary"], []
    if gated:
        fields += ["report.os", *(f"report.vulnerabilities.{field}" for field in ("severity", "vulnerabilityID", "fixedVersion", "publishedDate"))]
        exploited = [get(api_version="v1", kind="ConfigMap", field_masks=["data"], **LIST)]
    return [call("oci", "v1/manifest_digest", f"{name}:1.0"), call("oci", "v1/oci_manifest", f"{name}@{image['index']}"), get(**report, name=NOBODY, field_masks=[]),
            call("kubernetes", "list_resources_by_namespace", {**report, "label_selector": None, "field_selector": None, "field_masks": known}),
            get(**report, name="pod-p-amd64", field_masks=fields), *exploited]


def catalogue(count):
    """CISA's catalogue as deploy/known-exploited keeps it, with as many ids as it has."""
    entries = "".join(f"CVE-2024-{number:05d} 2026-12-01\n" for number in range(count))
    return f"count: {count}\n{entries}"


def trivy_report(world, platform, digest, name=None, namespace="image-scans"):
    """A report of trivy-operator's with 40 findings, each with the day on which it was published. Its name is `pod-p-<platform>`, or another."""
    name = name or f"pod-p-{platform}"
    findings = [{"vulnerabilityID": f"CVE-2025-{number:04d}", "severity": "HIGH", "resource": f"pkg{number}", "installedVersion": "1.0", "fixedVersion": "2.0", "title": "", "primaryLink": "",
                 "links": [], "target": "", "publishedDate": "2026-01-01T00:00:00Z", "packagePURL": f"pkg:apk/alpine/pkg{number}@1.0"} for number in range(40)]
    return {"apiVersion": TRIVY_OPERATOR, "kind": "VulnerabilityReport",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": "1", "creationTimestamp": "2026-11-01T00:00:00Z",
                         "labels": {"trivy-operator.container.name": "c1"}},
            "report": {"updateTimestamp": "2026-11-10T08:00:00Z", "os": {"family": "alpine", "name": "3.22"}, "scanner": {"name": "Trivy", "vendor": "Aqua Security", "version": "0.60.0"},
                       "registry": {"server": world.registry}, "artifact": {"repository": "team/app", "tag": "1.0", "digest": digest},
                       "summary": {"criticalCount": 0, "highCount": 40, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0}, "vulnerabilities": findings}}


def push_scanned(world, repository, platforms):
    """An image with a report of 40 findings for each platform."""
    image = world.push(repository, "1.0", platforms=platforms)
    for platform, digest in image["platforms"].items():
        entries = [{**finding("HIGH", number), "knownExploited": False, "epssScore": "0.001", "epssPercentile": "0.1"} for number in range(40)]
        world.add_sbomscanner_report(repository, "1.0", platform, digest, index=image["index"], entries=entries)
    return image


def keys():
    """A key of each kind that envelopes may be signed with, by its name: of `cryptography`, and its PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    signers = {"p256": ec.generate_private_key(ec.SECP256R1()), "p384": ec.generate_private_key(ec.SECP384R1()), "ed25519": ed25519.Ed25519PrivateKey.generate()}
    pem = lambda key: key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    return {name: (key, pem(key)) for name, key in signers.items()}


def sign(key):
    """How a key signs an envelope: with the hash that goes with its curve."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign
    hashed = hashes.SHA384() if key.key_size == 384 else hashes.SHA256()
    return lambda signed: key.sign(signed, ec.ECDSA(hashed))


def verification(world, pem, *expressions, attestations=()):
    """Settings by which an image that pre-scan accepts is verified all the same."""
    policy = {"name": "signed", "verifyPreScanAccepted": True, "attestors": [{"name": "team", "cosign": {"key": {"data": pem}}}], "attestations": list(attestations),
              "verifications": [{"expression": f"images.containers.all(i, {expression})"} for expression in expressions]}
    return {"registries": [world.registry], "preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": [policy]}


def policies_in_rego(count):
    """So many policies in Rego, the first two of them for Pods: the rule that OPA is asked about, with a registry of this machine."""
    kinds = ["Pod", "Pod", *(["Service", "ConfigMap", "Ingress", "Secret", "Namespace"] * count)][:count]
    rego = RULE.replace("registry.example/", "127.0.0.1:")
    policies = [{"name": f"p{number}", "kinds": [kind], "rego": rego} for number, kind in enumerate(kinds)]
    return {"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": policies}


def build_cases(world):
    """Pushes the images and writes the reports of all cases; the cases by their names."""
    image = push_scanned(world, "team/app", (AMD64, ARM64))
    # Beside it, another scanner's report, and what is exploited.
    world.objects.append(trivy_report(world, "amd64", image["platforms"][AMD64]))
    world.objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**LIST, "uid": "kev", "resourceVersion": "1"}, "data": {"known-exploited": catalogue(1400)}})
    one, digest_call = [f"{world.registry}/team/app:1.0"], call("oci", "v1/manifest_digest", f"{world.registry}/team/app:1.0")
    settings = {"registries": [world.registry]}
    with open(os.path.join(HERE, "rule.rego")) as file:
        rule = file.read()
    calls = image_calls(world, "team/app", image)
    cases = {
        "image": {"settings": settings, "beside": calls},
        "rules": {"settings": {**settings, "regoVersion": "v0", "customRules": rule}, "beside": calls},
        "pre-rule": {"settings": {**settings, "regoVersion": "v0", "preCustomRules": 'deny_pod[msg] { input.review.object.spec.hostNetwork; msg := "no" }'}, "beside": calls},
        "scores": {"settings": {**settings, "acceptance": {"cvssScore": {"threshold": 9.9}, "maxSeverity": {"high": {"total": 50}}},
                                "exemptions": [{"vulnerabilities": ["CVE-2025-20001"], "packages": ["pkg:apk/alpine/pkg1"], "reason": "nobody calls it", "expires": "2099-01-31"}]}, "beside": image_calls(world, "team/app", image, SCORED)},
    }

    # What is exploited, past its end, or fixed for long.
    listed = {"action": "reject", "from": {"configMap": LIST}}
    trivy = {**settings, "reports": {"sources": [{"trivyOperator": {"namespaces": ["image-scans"], "workloadNamespace": False}}], "platforms": [AMD64]}}
    aged = {"endOfLife": "reject", "fixGracePeriod": {"critical": "3d"}, "maxSeverity": {"high": {"total": 40}}}
    cases |= {
        "exploited": {"settings": {**settings, "acceptance": {"knownExploited": "reject", "epss": {"score": 0.5}}}, "beside": image_calls(world, "team/app", image, GATED)},
        "exploited-by-list": {"settings": {**settings, "acceptance": {"knownExploited": listed}}, "beside": image_calls(world, "team/app", image, GATED[:5], listed=True)},
        "trivy": {"settings": trivy, "beside": trivy_calls(world, image, gated=False)},
        "trivy-ended-and-grace": {"settings": {**trivy, "acceptance": aged}, "beside": "trivy"},
        "trivy-gated": {"settings": {**trivy, "acceptance": {"knownExploited": listed, **aged}}, "beside": trivy_calls(world, image, gated=True)},
    }

    # Its own report of trivy-operator, beside so many others: of other images, or of the same. What is compared is what it would take
    # if the report's name were known, and no other report counted.
    one_get = [*calls[:2], get(api_version=TRIVY_OPERATOR, kind="VulnerabilityReport", namespace="image-scans", name="pod-p-amd64", field_masks=["report.artifact", "report.registry", "report.summary"])]
    for name, others, is_same in (("trivy-0-others", 0, False), ("trivy-9-others", 9, False), ("trivy-199-others", 199, False), ("trivy-10-of-it", 9, True), ("trivy-200-of-it", 199, True)):
        digests = [image["platforms"][AMD64] if is_same else f"sha256:{number:064x}" for number in range(others)]
        world.objects += [trivy_report(world, "amd64", image["platforms"][AMD64], namespace=name), *(trivy_report(world, "amd64", digest, f"other-{number}", name) for number, digest in enumerate(digests))]
        source = {"trivyOperator": {"namespaces": [name], "workloadNamespace": False}}
        cases[name] = {"settings": {**settings, "reports": {"sources": [source], "platforms": [AMD64]}}, "beside": one_get}

    # Signatures, which the host verifies, and envelopes, which the policy verifies.
    signers = keys()
    world.sign("team/app", image["index"], signers["p256"][0])
    pub_keys = {"type": "SigstorePubKeyVerify", "image": f"{world.registry}/team/app@{image['index']}", "pub_keys": [signers["p256"][1]], "annotations": None}
    cases["signature"] = {"settings": verification(world, signers["p256"][1], "verifyImageSignatures(i, [attestors.team]) > 0"), "beside": [digest_call, call("oci", "v2/verify", pub_keys)]}
    cases["expression"] = {"settings": verification(world, signers["p256"][1], "true"), "beside": "accepted"}
    cases["accepted"] = {"settings": {**settings, "preScanPolicies": {"defaultPolicy": "accept"}}, "beside": []}
    for name, (key, pem) in signers.items():
        envelope = build_envelope("team/app", image["index"], "https://ci.example", sign(key))
        artifact = world.attach("team/app", image["index"], envelope, name, ENVELOPE)
        slsa = {"name": "slsa", "intoto": {"type": "https://slsa.dev/provenance/v1"}, "tagSuffix": name}
        verified = ("verifyAttestationSignatures(i, attestations.slsa, [attestors.team]) > 0", 'payload(i, attestations.slsa).predicate.runDetails.builder.id == "https://ci.example"')
        tag = f"{world.registry}/team/app:{image['index'].replace(':', '-')}.{name}"
        cases[f"envelope-{name}"] = {"settings": verification(world, pem, *verified, attestations=[slsa]),
                                     "beside": [digest_call, call("oci", "v1/manifest_digest", tag), call("oci", "v1/oci_manifest_config", f"{world.registry}/team/app@{artifact}")]}

    # The same by a bundle of cosign 3, which the policy verifies: beside the image, and in an object of the cluster.
    own = world.push_made("team/made")
    beside = world.attach_evidence("team/made", own, (made("sign-p256.json"), BUNDLE))
    world.add_evidence(own, (BUNDLE, base64.b64encode(made("sign-p256.json").encode()).decode()))
    name = f"{world.registry}/team/made"
    signed, tag_call = verification(world, made("p256.pub"), "verifyImageSignatures(i, [attestors.team]) > 0"), call("oci", "v1/manifest_digest", f"{name}:1.0")
    artifact, index = beside
    places = {"bundle": [call("oci", "v1/manifest_digest", f"{name}:{own.replace(':', '-')}"),
                         call("oci", "v1/oci_manifest", f"{name}@{index}"), call("oci", "v1/oci_manifest_config", f"{name}@{artifact}")],
              "bundle-in-object": [get(api_version="image-admission.kubewarden.io/v1alpha1", kind="ImageEvidence", name=own.replace(":", "-"), field_masks=None)]}
    for place, asked in places.items():
        where = {"evidence": {"fromCluster": True}} if place == "bundle-in-object" else {}
        cases[place] = {"settings": {**signed, **where}, "images": [f"{name}:1.0"], "beside": [tag_call, *asked]}

    # Many images.
    for name, count, platforms in (("20-images", 20, (AMD64, ARM64)), ("50-images", 50, (AMD64, ARM64, ARM))):
        pushed = {f"{name}/app{number}": push_scanned(world, f"{name}/app{number}", platforms) for number in range(count)}
        every = [asked for repository, image in pushed.items() for asked in image_calls(world, repository, image)]
        cases[name] = {"settings": settings, "images": [f"{world.registry}/{repository}:1.0" for repository in pushed], "beside": every}
    cases["20-images-and-rules"] = {**cases["20-images"], "settings": cases["rules"]["settings"], "beside": "20-images"}

    # Policies in Rego, without images to look up.
    cases |= {"2-policies": {"settings": policies_in_rego(2), "beside": []}, "30-policies": {"settings": policies_in_rego(30), "beside": "2-policies"}}

    # Others, where their modules are named.
    if "IMAGE_CVE_POLICY" in os.environ:
        cases["image-cve-policy"] = {"module": os.environ["IMAGE_CVE_POLICY"], "settings": {"maxSeverity": {"critical": {"total": 0}}, "vulnerabilityReportNamespace": "sbomscanner"}, "beside": "image"}
    if "CEL_POLICY" in os.environ:
        cases["cel-policy"] = {"module": os.environ["CEL_POLICY"], "settings": {"validations": [{"expression": "object.spec.containers.all(c, c.image.startsWith('127.0.0.1:'))", "message": "no"}]}, "beside": "accepted"}
    if "BASE" in os.environ:
        cases |= {f"base-{name}": {**cases[name], "module": os.environ["BASE"], "beside": name} for name in ("image", "rules", "signature")}
    return {name: {"images": one, **case} for name, case in cases.items()}
