# The ecosystem's names for targets. Each works on a fresh machine with rustup alone.
.DEFAULT_GOAL := policy.wasm
.PHONY: demo test fmt lint bench clean policy.wasm
CARGO ?= cargo
MODULE := target/wasm32-wasip1/release/image_admission_policy.wasm

policy.wasm:
	$(CARGO) build --locked --release --package image-admission-policy --target wasm32-wasip1
	@cmp -s $(MODULE) $@ || cp $(MODULE) $@
