# Settings: what kwctl says of them before any request is judged, to the letter.

load host

@test "no settings are valid settings" {
    settings <<<'{}'
    pod "two words"
    decide
    expect <<'END'
{"allowed": false, "message": "Image 'two words' for container 'c1' is not an image reference: `two words` is not a repository name"}
END
}

@test "the settings in README.md are valid, and decide" {
    awk '/^```yaml settings$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ROOT/README.md" | settings
    pod ghcr.io/retired/app
    decide
    expect <<'END'
{"allowed": false, "message": "Pre-scan rejected. Reasons: Image 'ghcr.io/retired/app' REJECTED. Global custom policy (prefix 'ghcr.io/retired/')"}
END
    pod registry.example.com/team/app
    decide
    expect <<'END'
{"allowed": false, "message": "Image 'registry.example.com/team/app' for container 'c1' failed scan policy check: Image 'registry.example.com/team/app' REJECTED. Global default policy - scan failed\n'registry.example.com/team/app': registry `registry.example.com` isn't allowed (settings: `registries: ghcr.io, docker.io`); take the image from an allowed one, or add `registry.example.com`"}
END
}

@test "an action that isn't there is refused, with those that are" {
    settings <<<'preScanPolicies: {defaultPolicy: acept}'
    expect_refused <<<"preScanPolicies.defaultPolicy: Invalid value for defaultPolicy - 'acept'; use accept, reject or scan"
}

@test "every problem is told at once, with its path" {
    settings <<'END'
imageMatching: exact
maxImages: many
preScanPolicies: {customPolicies: [{prefix: "https://ghcr.io/", action: accept}]}
acceptance: {maxSeverity: {hihg: {total: 0}}}
exemptions: [{vulnerability: CVE-2024-0001, reason: "not reachable", expires: soon}]
END
    expect_refused <<'END'
imageMatching: `exact` is not a choice here; use canonical or raw
maxImages: expected a whole number from 0, but found the string `many`
preScanPolicies.customPolicies[0].prefix: no image's name starts with `https://ghcr.io/`; write a host, or a host and the beginning of a path, like `ghcr.io/team/`
acceptance.maxSeverity.hihg: unknown setting `hihg`; did you mean `high`?
exemptions[0].expires: `soon` is not a day like `2027-01-31`
END
}

@test "a setting that isn't there is refused, with the nearest that is" {
    settings <<<'preScanPolicy: {defaultPolicy: accept}'
    expect_refused <<'END'
preScanPolicy: unknown setting `preScanPolicy`; did you mean `preScanPolicies`?
END
}

@test "rules that are no Rego are refused, with line and column" {
    settings <<'END'
regoPolicies:
  - name: p
    kinds: [Pod]
    rego: |
      package p

      deny["no"] { input.metadata.name = }
END
    expect_refused <<'END'
regoPolicies: policy `p`: line 3, column 12: expecting }: `deny["no"] { input.metadata.name = }`
END
}

@test "rules that call what isn't there are refused" {
    settings <<'END'
regoPolicies:
  - name: p
    kinds: [Pod]
    rego: |
      package p

      deny["no"] { startwith(input.metadata.name, "x") }
END
    expect_refused <<'END'
regoPolicies: policy `p`: line 3, column 23: there is no function `startwith`; did you mean `startswith`?: `deny["no"] { startwith(input.metadata.name, "x") }`
END
}

@test "expressions with unknown variables are refused, with the nearest name" {
    settings <<'END'
imageVerification:
  - name: signed
    attestors: [{name: team, cosign: {keyless: {githubActions: {owner: team}}}}]
    verifications: [{expression: "images.all.all(i, verifyImageSignatures(i, [attestor.team]) > 0)"}]
END
    expect_refused <<'END'
imageVerification[0].verifications[0].expression: unknown variable `attestor`; did you mean `attestors`?
END
}

@test "a registry source without attestors is refused" {
    settings <<<'reports: {sources: [{registry: {}}]}'
    expect_refused <<'END'
reports.sources[0].registry.attestors: anybody who can push to the repository could write a report: name who must have signed it, or set `allowUnsigned: true`
END
}
