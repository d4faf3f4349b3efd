# Everything that people and CI do with this project. Each target works on a fresh machine with rustup alone; what
# else makes `test` look closer (docker-registry, kwctl), and what `e2e-tests` needs, is named where it is missing.

# cargo, with the toolchain, target and components that it needs.
CARGO ?= .ci/cargo
KWCTL ?= kwctl
MODULE := target/wasm32-wasip1/policy/image_admission_policy.wasm
CLI := $(CARGO) run --locked --quiet --package image-admission-cli --bin image-admission --
DEMO := $(CLI) run --settings examples/demo/settings.yaml --images examples/demo/images.yaml --cluster examples/demo/cluster

SCAFFOLD_PACKAGE := $(KWCTL) scaffold artifacthub --metadata-path policy-metadata.yml --questions-path questions-ui.yml
METADATA = $(shell sed -n 's/^  io\.kubewarden\.policy\.$(1): //p' policy-metadata.yml)
OCI_URL ?= $(call METADATA,ociUrl)

.DEFAULT_GOAL := policy.wasm
.PHONY: policy.wasm annotated-policy.wasm artifacthub-pkg.yml settings has-kwctl version-check push image-admission-linux-amd64 artifacthub release-notes demo demo-decisions test test-long test-libraries fuzz e2e-tests e2e-needs fmt lint deny bench clean

policy.wasm: ## the policy's module
	$(CARGO) build --locked --profile policy --package image-admission-policy --target wasm32-wasip1
	@cmp -s $(MODULE) $@ || cp $(MODULE) $@

annotated-policy.wasm: has-kwctl policy.wasm ## the module with its metadata in it, as it is pushed to a registry
	@mkdir -p target
	.ci/absolute-links README.md >target/README.md
	$(KWCTL) annotate -m policy-metadata.yml -u target/README.md -o $@ policy.wasm

artifacthub-pkg.yml: has-kwctl ## the policy's page on Artifact Hub, made of its metadata and its form
	$(SCAFFOLD_PACKAGE) --output $@

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

image-admission-linux-amd64: ## the command line as it is released, and its checksum
	$(CARGO) build --locked --release --package image-admission-cli --target x86_64-unknown-linux-gnu
	cp target/x86_64-unknown-linux-gnu/release/image-admission $@
	sha256sum $@ >$@.sha256

artifacthub: has-kwctl ## what Artifact Hub reads, in target/artifacthub: the package with the time it is made, and its documents
	rm -rf target/artifacthub
	mkdir -p target/artifacthub/policies/image-admission
	$(SCAFFOLD_PACKAGE) --output target/artifacthub/policies/image-admission/artifacthub-pkg.yml
	.ci/absolute-links README.md >target/artifacthub/policies/image-admission/README.md
	cp $(wildcard questions-ui.yml) target/artifacthub/policies/image-admission
	cp artifacthub-repo.yml target/artifacthub

release-notes: ## what CHANGELOG.md says of the newest version
	@awk '/^## / { section++; next } section == 1' CHANGELOG.md

demo: policy.wasm ## a Pod that is admitted and pinned, one rejected, one pending, one from a bad registry
	@$(CARGO) build --locked --package image-admission-cli
	@$(MAKE) --no-print-directory demo-decisions

demo-decisions:
	$(DEMO) -f examples/demo/admitted.yaml
	$(DEMO) -f examples/demo/rejected.yaml; test $$? -eq 2
	$(DEMO) -f examples/demo/pending.yaml; test $$? -eq 2
	$(DEMO) -f examples/demo/bad-registry.yaml; test $$? -eq 2
	$(CLI) test -v examples/demo

# The tests built the command line. Built by itself it has other features, and so a hundred crates are compiled again.
test: lint policy.wasm ## everything that must hold
	$(CARGO) test --locked --workspace
	$(MAKE) demo-decisions CLI=target/debug/image-admission

test-long: policy.wasm ## the property tests, with many more cases
	TWO_PHASES_CASES=100000 PROPTEST_CASES=100000 $(CARGO) test --locked --release --package image-admission-engine

test-libraries: ## policies of public libraries, from checkouts below REGO_LIBRARIES
	$(CARGO) test --locked --package image-admission-cli --test libraries -- --include-ignored --nocapture

TARGETS ?= reports attestations statements references requests manifests
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

fmt: ## format the code
	$(CARGO) fmt --all

lint: ## formatting, and clippy with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --package image-admission-policy --target wasm32-wasip1 -- -D warnings

deny: ## what may be linked: licences, sources, banned crates (advisories: `cargo deny --workspace check advisories`)
	$(CARGO) deny --workspace check bans licenses sources

bench: policy.wasm ## the module's own time and memory, in a clean instance for every request
	$(CARGO) run --locked --release --quiet --package image-admission-cli --bin image-admission -- bench

clean: ## what the targets above made
	$(CARGO) clean
	rm -f policy.wasm annotated-policy.wasm pushed.json image-admission-linux-amd64 image-admission-linux-amd64.sha256
