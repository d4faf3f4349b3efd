#!/bin/sh
# Installs a released version of the command line, image-admission, and the policy's module, which it decides with. Nothing
# is installed that isn't what was released: each file has the release's checksum, and a signature of the release's own
# workflow, which cosign verifies. What was downloaded is never run here. docs/install.md says more.
#
#     sh install.sh --version 0.1.0 --to "$HOME/.local/bin"

set -eu

# Whoever publishes the project writes its repository here, or names it in IMAGE_ADMISSION_REPOSITORY.
REPOSITORY=https://git.example.com/image-admission
VERSION=0.1.0

usage() {
    cat <<END
Installs image-admission and its module, policy.wasm.

Usage: install.sh [--version <version>] [--to <folder>] [--without-signature]

  --version <version>   the release, like 0.1.0; without it: $VERSION
  --to <folder>         where both files go; without it: ~/.local/bin
  --without-signature   install without knowing who signed; checksums are compared all the same
  --help                this text

Environment:
  IMAGE_ADMISSION_REPOSITORY   the project's repository, whose workflow must have signed
  IMAGE_ADMISSION_DOWNLOADS    where files come from, if not from the repository: a copy of its releases, https://… or
                               http:// on this machine
END
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Everything is in functions: of a script that came in part, nothing is run.
main() {
    version=$VERSION
    folder=
    is_signed=yes
    while [ $# -gt 0 ]; do
        case $1 in
        --version | --to)
            [ $# -gt 1 ] || fail "\`$1\` needs a value"
            [ -n "$2" ] || fail "\`$1\` needs a value"
            if [ "$1" = --to ]; then folder=$2; else version=${2#v}; fi
            shift 2
            ;;
        --without-signature) is_signed=no && shift ;;
        --help | -h) usage && exit 0 ;;
        *) fail "\`$1\` is no option: install.sh --help lists them" ;;
        esac
    done
    case $version in
    *[!0-9.]* | .* | *. | *..* | *.*.*.*) fail "\`$version\` is no version: write one like 0.1.0" ;;
    *.*.*) ;;
    *) fail "\`$version\` is no version: write one like 0.1.0" ;;
    esac
    if [ -z "$folder" ]; then
        [ -n "${HOME:-}" ] || fail "HOME is not set: name a folder with --to"
        folder=$HOME/.local/bin
    fi
    repository=${IMAGE_ADMISSION_REPOSITORY:-$REPOSITORY}
    repository=${repository%/}
    case $repository in
    https://*.example.com/*) fail "\`$repository\` is nobody's repository: name the project's in IMAGE_ADMISSION_REPOSITORY" ;;
    esac
    downloads=${IMAGE_ADMISSION_DOWNLOADS:-$repository/releases/download}
    downloads=${downloads%/}
    # Over anything else, checksums come from whoever is on the way.
    case $downloads in
    # What stands before an @ is no host.
    *@*) fail "\`$downloads\` is no address to download from: use https://" ;;
    https://*) protocol='=https' ;;
    http://127.0.0.1 | http://127.0.0.1[:/]* | http://localhost | http://localhost[:/]*) protocol='=http' ;;
    *) fail "\`$downloads\` is no address to download from: use https://" ;;
    esac
    platform=$(platform)
    has curl || fail "curl is not on PATH, which downloads: install it"
    if [ "$is_signed" = yes ] && ! has cosign; then
        fail "cosign is not on PATH, so nobody knows who signed: install it (https://docs.sigstore.dev), or say --without-signature"
    fi

    own=$(mktemp -d)
    trap 'rm -rf "$own"' EXIT
    trap 'exit 1' HUP INT TERM
    command=image-admission-$platform
    get "$command"
    get policy.wasm

    mkdir -p "$folder"
    folder=$(CDPATH='' cd -- "$folder" && pwd)
    for name in image-admission policy.wasm; do
        [ ! -d "$folder/$name" ] || fail "\`$folder/$name\` is a folder: remove it, or name another with --to"
    done
    copy "$command" image-admission 755
    copy policy.wasm policy.wasm 644
    mv -f "$folder/.image-admission.new" "$folder/image-admission"
    mv -f "$folder/.policy.wasm.new" "$folder/policy.wasm"
    printf 'installed image-admission %s: %s\n' "$version" "$folder/image-admission"
    printf 'it decides with the module %s; tell it so:\n    export IMAGE_ADMISSION_MODULE=%s\n' "$folder/policy.wasm" "$folder/policy.wasm"
}

# The platform, as releases name it.
platform() {
    system=$(uname -s)
    machine=$(uname -m)
    case $system in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no release for \`$system\`: build it, with cargo install --locked --path crates/cli" ;;
    esac
    case $machine in
    x86_64 | amd64) machine=amd64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no release for \`$machine\`: build it, with cargo install --locked --path crates/cli" ;;
    esac
    printf '%s-%s\n' "$system" "$machine"
}

# A file of the release, in our own folder, once it is the one that was released.
get() {
    download "$1"
    download "$1.sha256"
    wanted=$(sed -n '1s/^\([0-9a-f]\{64\}\)\( .*\)\{0,1\}$/\1/p' "$own/$1.sha256")
    [ -n "$wanted" ] || fail "$1.sha256 has no checksum"
    found=$(checksum "$own/$1")
    [ "$found" = "$wanted" ] || fail "$1 is not what was released: its checksum is \`$found\`, and should be \`$wanted\`"
    if [ "$is_signed" = no ]; then
        printf 'install.sh: who signed %s is not verified (--without-signature)\n' "$1" >&2
        return
    fi
    download "$1.bundle.sigstore"
    # Only the release's own workflow, at this tag, gets a certificate with this identity.
    cosign verify-blob --bundle "$own/$1.bundle.sigstore" \
        --certificate-identity "$repository/.github/workflows/release.yml@refs/tags/v$version" \
        --certificate-oidc-issuer https://token.actions.githubusercontent.com "$own/$1" >"$own/cosign" 2>&1 || {
        cat "$own/cosign" >&2
        fail "cosign finds no signature of the release workflow of $repository at v$version on $1 (cosign 3 or newer reads these signatures)"
    }
}

download() {
    curl --silent --show-error --fail --location --proto "$protocol" --proto-redir "$protocol" --retry 3 --max-time 600 \
        --output "$own/$1" "$downloads/v$version/$1" ||
        fail "cannot download $downloads/v$version/$1: is $version released, for this platform?"
}

checksum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    else
        fail "neither sha256sum nor shasum is on PATH: install one"
    fi | cut -d ' ' -f 1
}

# Puts a file beside the one that it replaces: one of another version, which may be running, stays until both are there.
copy() {
    cp "$own/$1" "$folder/.$2.new"
    chmod "$3" "$folder/.$2.new"
}

main "$@"
