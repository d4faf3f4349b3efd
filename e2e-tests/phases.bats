# Pre-scan: what the settings make of images' names. Nothing is asked of the host.

load host

@test "images that pre-scan accepts are admitted, and nothing is changed" {
    settings <<<'preScanPolicies: {defaultPolicy: accept}'
    pod nginx registry.example.com/team/app:1.0
    decide
    expect <<<'{"allowed": true, "auditAnnotations": {
        "verdict": "allowed", "reason": "pre-scan accepts every image",
        "container-1.image": "nginx", "container-1.pre-scan": "accept: Global default policy",
        "container-2.image": "registry.example.com/team/app:1.0", "container-2.pre-scan": "accept: Global default policy"}}'
}

@test "a rejection names the image and the policy, and has the code 403" {
    settings <<<'preScanPolicies: {defaultPolicy: reject}'
    pod nginx
    decide
    expect <<<'{"allowed": false, "code": 403, "message": "Pre-scan rejected. Reasons: Image '"'nginx'"' REJECTED. Global default policy"}'
}

@test "the first custom policy that matches decides, not the longest" {
    settings <<'END'
preScanPolicies:
  customPolicies:
    - {prefix: registry.example.com/, action: reject}
    - {prefix: registry.example.com/team/, action: accept}
END
    pod registry.example.com/team/app:1.0
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'registry.example.com/team/app:1.0' REJECTED. Global custom policy (prefix 'registry.example.com/')"}
END
}

@test "one rejected image rejects the workload, and every reason is told once" {
    settings <<'END'
preScanPolicies:
  customPolicies:
    - {prefix: bad.example.com/, action: reject}
    - {prefix: ghcr.io/team/, action: accept}
END
    pod bad.example.com/z ghcr.io/team/app:1.0 bad.example.com/a bad.example.com/a
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'bad.example.com/a' REJECTED. Global custom policy (prefix 'bad.example.com/'), Image 'bad.example.com/z' REJECTED. Global custom policy (prefix 'bad.example.com/')"}
END
}

@test "a namespace's list replaces the top-level list, an absent one doesn't" {
    settings <<'END'
preScanPolicies:
  customPolicies: [{prefix: ghcr.io/, action: reject}]
  byNamespace:
    dev: {defaultPolicy: accept, customPolicies: []}
    prod: {defaultPolicy: accept}
END
    pod ghcr.io/team/app:1.0
    in_namespace dev
    decide
    expect <<<'{"allowed": true}'
    in_namespace prod
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'ghcr.io/team/app:1.0' REJECTED. Global custom policy (prefix 'ghcr.io/')"}
END
}

@test "a namespace's default comes before the top level's, in that namespace only" {
    settings <<<'preScanPolicies: {defaultPolicy: accept, byNamespace: {prod: {defaultPolicy: reject}}}'
    pod nginx
    decide
    expect <<<'{"allowed": true}'
    in_namespace prod
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'nginx' REJECTED. Namespace 'prod' default policy"}
END
}

@test "every spelling of a name is compared as the one canonical name" {
    settings <<'END'
preScanPolicies:
  defaultPolicy: reject
  customPolicies:
    - {prefix: "docker.io/library/nginx:latest", action: accept}
    - {prefix: ghcr.io/team/, action: accept}
END
    pod nginx docker.io/nginx index.docker.io/library/nginx:latest registry-1.docker.io/nginx GHCR.IO:443/team/app:1.0
    decide
    expect <<<'{"allowed": true}'
    pod nginx:1.25
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'nginx:1.25' REJECTED. Global default policy"}
END
}

@test "compared raw, a name is the string in the Pod" {
    settings <<'END'
imageMatching: raw
preScanPolicies: {defaultPolicy: accept, customPolicies: [{prefix: docker.io/, action: reject}]}
END
    pod nginx
    decide
    expect <<<'{"allowed": true}'
    pod docker.io/nginx
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'docker.io/nginx' REJECTED. Global custom policy (prefix 'docker.io/')"}
END
}

@test "a tag beside a digest accepts nothing, and still rejects" {
    local digest=sha256:1111111111111111111111111111111111111111111111111111111111111111
    settings <<'END'
preScanPolicies:
  defaultPolicy: reject
  customPolicies: [{prefix: "ghcr.io/team/app:1.0", action: accept}]
END
    pod "ghcr.io/team/app:1.0@$digest"
    decide
    expect <<END
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'ghcr.io/team/app:1.0@$digest' REJECTED. Global default policy"}
END
    settings <<'END'
preScanPolicies:
  defaultPolicy: accept
  customPolicies: [{prefix: "ghcr.io/team/app:1.0", action: reject}]
END
    decide
    expect <<END
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'ghcr.io/team/app:1.0@$digest' REJECTED. Global custom policy (prefix 'ghcr.io/team/app:1.0')"}
END
}

@test "a prefix that ends inside a host lets in with a warning" {
    settings <<<'preScanPolicies: {customPolicies: [{prefix: registry.example.com, action: accept}]}'
    pod registry.example.com.evil.example/app:1.0
    decide
    expect <<'END'
{"allowed": true, "warnings": ["image 'registry.example.com.evil.example/app:1.0' is accepted by 'registry.example.com', which ends inside a host"]}
END
}

@test "what is no image reference is rejected, whatever the settings accept" {
    settings <<<'preScanPolicies: {defaultPolicy: accept}'
    pod "ghcr.io/Team/app"
    decide
    expect <<'END'
{"allowed": false, "message": "Image 'ghcr.io/Team/app' for container 'c1' is not an image reference: the repository `Team/app` must be in lower case"}
END
}

@test "more different images than maxImages are rejected, names of one image count once" {
    settings <<'END'
maxImages: 2
preScanPolicies: {defaultPolicy: accept}
END
    pod nginx docker.io/library/nginx:latest redis
    decide
    expect <<<'{"allowed": true}'
    pod nginx redis busybox
    decide
    expect <<'END'
{"allowed": false, "message": "the workload names 3 different images, the setting `maxImages` allows 2"}
END
}

@test "the phase scan rejects without a look-up where its settings do" {
    settings <<'END'
scanPolicies:
  defaultPolicy: reject
  byNamespace: {prod: {customPolicies: [{prefix: docker.io/, action: reject}]}}
END
    pod nginx
    decide
    expect <<'END'
{"allowed": false, "message": "Image 'nginx' for container 'c1' failed scan policy check: Image 'nginx' REJECTED. Global default policy - policy action is 'reject'"}
END
    in_namespace prod
    decide
    expect <<'END'
{"allowed": false, "message": "Image 'nginx' for container 'c1' failed scan policy check: Image 'nginx' REJECTED. Namespace 'prod' custom policy (prefix 'docker.io/') - policy action is 'reject'"}
END
}

@test "a registry that the settings don't list is never asked" {
    settings <<<'registries: [ghcr.io]'
    pod registry.example.com/team/app:1.0
    decide
    expect <<'END'
{"allowed": false, "message": "Image 'registry.example.com/team/app:1.0' for container 'c1' failed scan policy check: Image 'registry.example.com/team/app:1.0' REJECTED. Global default policy - scan failed\n'registry.example.com/team/app:1.0': registry `registry.example.com` isn't allowed (settings: `registries: ghcr.io`); take the image from an allowed one, or add `registry.example.com`"}
END
}
