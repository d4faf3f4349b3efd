# Everything that people and CI do with this project. Each target works on a fresh machine with rustup alone; what
# else makes `test` look closer (docker-registry, kubectl, kwctl), and what `e2e-tests` needs, is named where it is missing.

# cargo, with the toolchain, target and components that it needs.
CARGO ?= .ci/cargo
KWCTL ?= kwctl
MODULE := target/wasm32-wasip1/policy/image_admission_policy.wasm
CLI := $(CARGO) run --locked --quiet --package image-admission-cli --bin image-admission --
DEMO := $(CLI) run --settings examples/demo/settings.yaml --images examples/demo/images.yaml --cluster examples/demo/cluster

ARTIFACTHUB_PACKAGE := KWCTL="$(KWCTL)" .ci/artifacthub-package
METADATA = $(shell sed -n 's/^  io\.kubewarden\.policy\.$(1): //p' policy-metadata.yml)
OCI_URL ?= $(call METADATA,ociUrl)

COMMANDS := $(addprefix image-admission-,linux-amd64 linux-arm64 darwin-amd64 darwin-arm64)
SHA256SUM := $(if $(shell command -v sha256sum),sha256sum,shasum -a 256)

BUILDAH ?= buildah
IMAGE_PLATFORMS ?= amd64 arm64
CA_CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt
CLI_IMAGE = $(OCI_URL)-cli:v$(call METADATA,version)

.DEFAULT_GOAL := policy.wasm
.PHONY: policy.wasm playground playground-tests site site-tests annotated-policy.wasm artifacthub-pkg.yml settings verify-release sbom has-kwctl version-check push $(COMMANDS) policy.wasm.sha256 image push-image artifacthub release-notes demo demo-decisions files-command test test-long test-libraries test-opa test-evidence test-vendor vendor test-monitoring fuzz e2e-tests e2e-needs cluster-tests cluster-soak cluster-programs cluster-peers cluster-harness kubectl fmt lint deny bench clean

# Panics name the files that they come from. Without the folders of who builds, the module has the same bytes everywhere.
NAMED_EVERYWHERE = --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo","--remap-path-prefix=$(CURDIR)=/image-admission
BUILD_MODULE = $(CARGO) build --config 'target.wasm32-wasip1.rustflags=["$(NAMED_EVERYWHERE)"]' --locked --profile policy --package image-admission-policy --target wasm32-wasip1

policy.wasm: ## the policy's module
	$(BUILD_MODULE)
	@cmp -s $(MODULE) $@ || cp $(MODULE) $@

# With the compiler that releases are built with, and nothing from the environment that would change what it writes.
RELEASED ?= policy.wasm
RELEASE_TOOLCHAIN = $(shell sed -n 's/^  RUSTUP_TOOLCHAIN: "\(.*\)"$$/\1/p' .github/workflows/release.yml)
verify-release: ## builds this checkout's module as a release does, and says whether RELEASED, a release's module, is the same
	@test -f "$(RELEASED)" || { echo "\`$(RELEASED)\` is no file: name a release's module with RELEASED=<policy.wasm>" >&2; exit 1; }
	env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_RUSTFLAGS RUSTUP_TOOLCHAIN=$(RELEASE_TOOLCHAIN) $(BUILD_MODULE)
	@$(SHA256SUM) $(RELEASED) $(MODULE)
	@cmp $(RELEASED) $(MODULE) || { echo "\`$(RELEASED)\` isn't what this checkout gives: check out the release's tag, with nothing changed" >&2; exit 1; }

annotated-policy.wasm: has-kwctl policy.wasm ## the module with its metadata in it, as it is pushed to a registry
	@mkdir -p target
	.ci/absolute-links README.md >target/README.md
	$(KWCTL) annotate -m policy-metadata.yml -u target/README.md -o $@ policy.wasm

artifacthub-pkg.yml: has-kwctl ## the policy's page on Artifact Hub, made of its metadata and its form
	$(ARTIFACTHUB_PACKAGE) $@

settings: ## settings.schema.json, questions-ui.yml and docs/settings.md, made of the settings' types
	BLESS=1 $(CARGO) test --locked --package image-admission-schema --test files

has-kwctl:
	@command -v $(KWCTL) >/dev/null || { echo "kwctl, Kubewarden's command line, is not on PATH: install it, or name it with KWCTL=<path>" >&2; exit 1; }

version-check: ## whether all files name one version; with TAG=v1.2.3, whether that is the tag's
	@.ci/version-check

push: annotated-policy.wasm ## the annotated module to OCI_URL, tagged with its version; its immutable reference to pushed.json
	@case "$(OCI_URL)" in registry.example.com/*) echo "\`$(OCI_URL)\` is nobody's registry: write yours into policy-metadata.yml (ociUrl), or name it with OCI_URL=<registry>/<repository>" >&2; exit 1;; esac
	$(KWCTL) push --output json $(PUSH_OPTIONS) annotated-policy.wasm registry://$(OCI_URL):v$(call METADATA,version) >pushed.json
	@cat pushed.json

# Linux' are linked with musl, so that they run on any of them, and in an image that has nothing else.
image-admission-linux-amd64: TRIPLE := x86_64-unknown-linux-musl
image-admission-linux-arm64: TRIPLE := aarch64-unknown-linux-musl
image-admission-darwin-amd64: TRIPLE := x86_64-apple-darwin
image-admission-darwin-arm64: TRIPLE := aarch64-apple-darwin
$(COMMANDS): ## the command line as it is released for a platform, and its checksum
	$(CARGO) build --locked --release --package image-admission-cli --target $(TRIPLE)
	cp target/$(TRIPLE)/release/image-admission $@
	$(SHA256SUM) $@ >$@.sha256

# It writes a file beside every crate's manifest.
sbom: ## what the module and the command line are made of, as CycloneDX: policy-sbom.cdx.json, image-admission-sbom.cdx.json
	SOURCE_DATE_EPOCH=0 $(CARGO) cyclonedx --quiet --format json --override-filename sbom --target wasm32-wasip1
	mv sbom.json policy-sbom.cdx.json
	SOURCE_DATE_EPOCH=0 $(CARGO) cyclonedx --quiet --format json --override-filename sbom
	mv crates/cli/sbom.json image-admission-sbom.cdx.json
	rm -f sbom.json crates/*/sbom.json

policy.wasm.sha256: policy.wasm
	$(SHA256SUM) policy.wasm >$@

# Of what was built before: `make image-admission-linux-amd64 policy.wasm image IMAGE_PLATFORMS=amd64`.
image: ## the command line as an image, for each of IMAGE_PLATFORMS; needs buildah, and nothing that must be pulled
	@command -v $(BUILDAH) >/dev/null || { echo "buildah, which builds images, is not on PATH: install it (Debian: apt-get install buildah)" >&2; exit 1; }
	rm -rf target/image
	mkdir -p target/image
	cp Containerfile policy.wasm $(IMAGE_PLATFORMS:%=image-admission-linux-%) target/image
	cp $(CA_CERTIFICATES) target/image/ca-certificates.crt
	@$(BUILDAH) manifest rm $(CLI_IMAGE) >/dev/null 2>&1 || true
	for platform in $(IMAGE_PLATFORMS); do \
		$(BUILDAH) build --platform linux/$$platform --build-arg TARGETARCH=$$platform --timestamp 0 --manifest $(CLI_IMAGE) target/image || exit 1; \
	done

push-image: image ## the image to OCI_URL with `-cli` behind it; its immutable reference to pushed-image.txt
	@case "$(OCI_URL)" in registry.example.com/*) echo "\`$(OCI_URL)\` is nobody's registry: write yours into policy-metadata.yml (ociUrl), or name it with OCI_URL=<registry>/<repository>" >&2; exit 1;; esac
	$(BUILDAH) manifest push --all --format oci --digestfile target/image/digest $(IMAGE_PUSH_OPTIONS) $(CLI_IMAGE) docker://$(CLI_IMAGE)
	echo "$(OCI_URL)-cli@$$(cat target/image/digest)" >pushed-image.txt
	@cat pushed-image.txt

artifacthub: has-kwctl ## what Artifact Hub reads, in target/artifacthub: the package with the time it is made, and its documents
	rm -rf target/artifacthub
	mkdir -p target/artifacthub/policies/image-admission
	$(ARTIFACTHUB_PACKAGE) target/artifacthub/policies/image-admission/artifacthub-pkg.yml
	.ci/absolute-links README.md >target/artifacthub/policies/image-admission/README.md
	cp $(wildcard questions-ui.yml) target/artifacthub/policies/image-admission
	cp artifacthub-repo.yml target/artifacthub

release-notes: ## what CHANGELOG.md says of the newest version
	@awk '/^## / { section++; next } section == 1' CHANGELOG.md

# The module and the command line have no crate in common that is compiled once for both: they are built side by side.
demo: ## a Pod that is admitted and pinned, one rejected, one pending, one from a bad registry
	@$(CARGO) --version >/dev/null
	@$(MAKE) --no-print-directory $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j2) policy.wasm files-command
	@$(MAKE) --no-print-directory demo-decisions CLI=target/debug/image-admission

files-command:
	$(CARGO) build --locked --package image-admission-cli --no-default-features

demo-decisions:
	$(DEMO) -f examples/demo/admitted.yaml
	$(DEMO) -f examples/demo/rejected.yaml; test $$? -eq 2
	$(DEMO) -f examples/demo/pending.yaml; test $$? -eq 2
	$(DEMO) -f examples/demo/bad-registry.yaml; test $$? -eq 2
	$(CLI) test -v examples/demo

# The tests built the command line, with its clients.
test: lint policy.wasm ## everything that must hold
	$(CARGO) lint test --locked --workspace
	$(MAKE) demo-decisions CLI=target/debug/image-admission

playground: ## the engine and the command line for a browser, in target/playground-module
	$(CARGO) lint build --locked --profile playground --package image-admission-playground --target wasm32-unknown-unknown
	CARGO_TARGET_DIR=target/bindgen $(CARGO) run --locked --quiet --manifest-path crates/playground/bindgen/Cargo.toml -- target/wasm32-unknown-unknown/playground/image_admission_playground.wasm target/playground-module
	@echo '{"type": "module"}' >target/playground-module/package.json

playground-tests: playground ## the same answers in a browser's module, in Node
	$(CARGO) lint test --locked --workspace --test all -- --ignored cases_are_written_for_the_playground
	node --test crates/playground/tests/page.test.mjs

NODE_MODULES := site/node_modules/.package-lock.json

site: playground $(NODE_MODULES) ## the documentation as a site, with the playground in it, in target/site
	npm --prefix site run --silent check
	npm --prefix site run --silent build

$(NODE_MODULES): site/package-lock.json
	@command -v npm >/dev/null || { echo "npm is not on PATH, which builds the site: install Node.js 20 or newer (Debian: apt-get install npm)" >&2; exit 1; }
	npm --prefix site ci --ignore-scripts --no-audit --no-fund
	@touch $@

site-tests: site ## what the site and the playground do in Chromium, which $CHROMIUM names if it isn't /usr/bin/chromium
	@test -x "$${CHROMIUM:-/usr/bin/chromium}" || { echo "Chromium is missing, which the tests drive: install it (Debian: apt-get install chromium), or name another with CHROMIUM=<path>" >&2; exit 1; }
	npm --prefix site test

test-long: policy.wasm ## the property tests, with many more cases
	TWO_PHASES_CASES=100000 PROPTEST_CASES=100000 LAWS_CASES=20000 $(CARGO) test --locked --release --package image-admission-engine

test-libraries: ## policies of public libraries and their own tests, from checkouts below REGO_LIBRARIES; GATOR and OPA may name judges
	$(CARGO) test --locked --package image-admission-cli --test libraries -- --include-ignored --nocapture

# OPA itself is the judge, and its own cases, from the Go module that e2e-tests/opa names.
test-opa: ## OPA's conformance cases, and OPA_GENERATED generated modules from OPA_SEED on that OPA answers too
	@command -v go >/dev/null || { echo "go is not on PATH, which builds OPA: install Go 1.26 or newer" >&2; exit 1; }
	cd e2e-tests/opa && go mod download github.com/open-policy-agent/opa && go build -o ../../target/opa-judge .
	OPA_CASES="$$(cd e2e-tests/opa && go list -m -f '{{.Dir}}' github.com/open-policy-agent/opa)/v1/test/cases/testdata" OPA_JUDGE="$(CURDIR)/target/opa-judge" $(CARGO) lint test --locked --package image-admission-cli --test opa -- --include-ignored --nocapture

# sigstore-conformance is fetched with git, since module proxies need not have it.
SIGSTORE_CONFORMANCE ?= $(CURDIR)/target/sigstore-conformance
SIGSTORE_CONFORMANCE_COMMIT := a73de4970176d258e0154c530b89d20b89444e4d
EVIDENCE_MODULE = $(shell cd e2e-tests/evidence && go list -m -f '{{.Dir}}' github.com/$(1))
test-evidence: ## signatures that others made: sigstore-conformance's cases, those of sigstore-go, gh and notation-go; SIGSTORE_CONFORMANCE may name a checkout
	@command -v go >/dev/null || { echo "go is not on PATH, which brings the modules with bundles: install Go 1.26 or newer" >&2; exit 1; }
	@test -d "$(SIGSTORE_CONFORMANCE)" || { \
		git init --quiet "$(SIGSTORE_CONFORMANCE)" && \
		git -C "$(SIGSTORE_CONFORMANCE)" fetch --quiet --depth 1 https://github.com/sigstore/sigstore-conformance $(SIGSTORE_CONFORMANCE_COMMIT) && \
		git -C "$(SIGSTORE_CONFORMANCE)" checkout --quiet FETCH_HEAD; \
	} || { rm -rf "$(SIGSTORE_CONFORMANCE)"; echo "sigstore-conformance can't be fetched: name a checkout with SIGSTORE_CONFORMANCE=<folder>" >&2; exit 1; }
	cd e2e-tests/evidence && go mod download github.com/cli/cli/v2 github.com/notaryproject/notation-go github.com/notaryproject/tspclient-go github.com/sigstore/sigstore-go
	$(CARGO) fetch --locked --manifest-path e2e-tests/evidence/Cargo.toml
	SIGSTORE_CONFORMANCE="$(SIGSTORE_CONFORMANCE)" SIGSTORE_GO="$(call EVIDENCE_MODULE,sigstore/sigstore-go)" GH="$(call EVIDENCE_MODULE,cli/cli/v2)" NOTATION_GO="$(call EVIDENCE_MODULE,notaryproject/notation-go)" TSPCLIENT_GO="$(call EVIDENCE_MODULE,notaryproject/tspclient-go)" \
		GITHUB_TRUST_ROOT="$$($(CARGO) metadata --locked --format-version 1 --manifest-path e2e-tests/evidence/Cargo.toml | sed 's/.*"\([^"]*sigstore-trust-root-[0-9.]*\)\/Cargo.toml".*/\1/')/src/trusted_root_github.json" \
		$(CARGO) lint test --locked --package image-admission-evidence --test conformance --test notation -- --include-ignored --nocapture

vendor: ## vendor/regorus anew, of the published crate and the patches in vendor/regorus/patches
	.ci/vendor make

test-vendor: ## whether vendor/regorus is what `vendor` makes, and its own tests
	.ci/vendor check
	CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=target/regorus $(CARGO) test --locked --manifest-path vendor/regorus/Cargo.toml

test-monitoring: ## alerts, dashboard and queries of the pages, asked of Prometheus' own engine
	@command -v go >/dev/null || { echo "go is not on PATH, which builds Prometheus' engine: install Go 1.26 or newer" >&2; exit 1; }
	cd e2e-tests/monitoring && go vet ./... && go test ./...

TARGETS ?= reports attestations statements references requests manifests configurations bundles notary timestamps certificates github settings worlds evidence
TIME ?= 60
fuzz: ## what reads foreign bytes: each of TARGETS for TIME seconds; needs nightly Rust and cargo-fuzz
	@command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is not on PATH: cargo install cargo-fuzz" >&2; exit 1; }
	@rustc +nightly --version >/dev/null 2>&1 || { echo "nightly Rust is missing: rustup toolchain install nightly" >&2; exit 1; }
	@set -e; cd fuzz; for target in $(TARGETS); do \
		mkdir -p corpus/$$target; \
		cargo +nightly fuzz run $$target corpus/$$target seeds/$$target -- -max_total_time=$(TIME) -max_len=65536; \
	done

e2e-tests: e2e-needs annotated-policy.wasm ## the annotated module in the real kwctl, with a registry on loopback: e2e-tests/README.md
	@$(CARGO) build --locked --package image-admission-cli
	CARGO="$(or $(realpath $(CARGO)),$(CARGO))" KWCTL="$(KWCTL)" MAKE="$(MAKE)" bats e2e-tests

e2e-needs:
	@missing=; for tool in bats jq curl openssl git "$(KWCTL)" "$${DOCKER_REGISTRY:-docker-registry}"; do \
		command -v "$$tool" >/dev/null || missing="$$missing $$tool"; \
	done; \
	if [ -n "$$missing" ]; then echo "the e2e tests need what is not on PATH:$$missing (see e2e-tests/README.md)" >&2; exit 1; fi

# Kubernetes is built from its modules, which have no version but the one that is said here.
KUBERNETES = $(shell sed -n 's/^.*[[:space:]]k8s.io\/kubernetes \(v[0-9.]*\).*/\1/p' e2e-tests/cluster/$(1)go.mod)
KUBERNETES_FLAGS = -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(1) -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(1)))"

kubectl: ## kubectl alone, into target/cluster/newest
	@command -v go >/dev/null || { echo "go is not on PATH, which builds kubectl: install Go 1.26 or newer, or kubectl" >&2; exit 1; }
	mkdir -p target/cluster/newest
	cd e2e-tests/cluster && go build $(call KUBERNETES_FLAGS,$(call KUBERNETES)) -o ../../target/cluster/newest/ k8s.io/kubernetes/cmd/kubectl

cluster-harness: ## what the cluster tests are made of, without a cluster: it compiles, and measures right
	cd e2e-tests/cluster && test -z "$$(gofmt -l .)" && go vet . && go test -count=1 ./harness

cluster-programs: ## etcd, Kubernetes (the newest and the oldest version), kubectl and helm, built from their Go modules into target/cluster
	@command -v go >/dev/null || { echo "go is not on PATH, which builds Kubernetes: install Go 1.26 or newer" >&2; exit 1; }
	mkdir -p target/cluster/newest target/cluster/oldest target/cluster/gitops
	cd e2e-tests/cluster && go build -C gitops -o ../../../target/cluster/gitops/ ./...
	cd e2e-tests/cluster && go build -ldflags "-s -w" -o ../../target/cluster/newest/etcd go.etcd.io/etcd/server/v3
	cd e2e-tests/cluster && go build -ldflags "-s -w" -o ../../target/cluster/newest/ helm.sh/helm/v4/cmd/helm
	cd e2e-tests/cluster && go build $(call KUBERNETES_FLAGS,$(call KUBERNETES)) -o ../../target/cluster/newest/ k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl
	cd e2e-tests/cluster/oldest && go build $(call KUBERNETES_FLAGS,$(call KUBERNETES,oldest/)) -o ../../../target/cluster/oldest/ k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager

cluster-peers: ## Kyverno and sigstore's policy-controller, built from their Go modules into target/cluster/peers, for `TestBesideOthers`
	@command -v go >/dev/null || { echo "go is not on PATH, which builds them: install Go 1.26 or newer" >&2; exit 1; }
	mkdir -p target/cluster/peers
	cd e2e-tests/cluster/peers/kyverno && go build -ldflags "-s -w" -o ../../../../target/cluster/peers/kyverno github.com/kyverno/kyverno/cmd/kyverno
	cd e2e-tests/cluster/peers/policy-controller && go build -ldflags "-s -w" -o ../../../../target/cluster/peers/policy-controller github.com/sigstore/policy-controller/cmd/webhook

KUBERNETES_VERSION ?= newest
cluster-tests: ## what users do, and what breaks, in a real cluster on loopback: e2e-tests/cluster/README.md
	cd e2e-tests/cluster && KUBERNETES_VERSION=$(KUBERNETES_VERSION) go test -count=1 -timeout 40m $(CLUSTER_TESTS) .

CLUSTER_SOAK ?= 2h
cluster-soak: ## a cluster in which everything changes, for as long as CLUSTER_SOAK says
	cd e2e-tests/cluster && KUBERNETES_VERSION=$(KUBERNETES_VERSION) CLUSTER_SOAK=$(CLUSTER_SOAK) go test -count=1 -timeout 24h -v -run TestSoak .

fmt: ## format the code
	$(CARGO) fmt --all

lint: ## formatting, and clippy with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) lint build --locked --workspace --all-targets
	$(CARGO) lint build --locked --package image-admission-policy --target wasm32-wasip1

deny: ## what may be linked: licences, sources, banned crates (advisories: `cargo deny --workspace check advisories`)
	$(CARGO) deny --workspace check bans licenses sources

bench: policy.wasm ## the module's own time and memory, in a clean instance for every request
	$(CARGO) run --locked --release --quiet --package image-admission-cli --bin image-admission -- bench

clean: ## what the targets above made
	$(CARGO) clean
	rm -f policy.wasm policy.wasm.sha256 annotated-policy.wasm pushed.json pushed-image.txt $(COMMANDS) $(COMMANDS:%=%.sha256)
