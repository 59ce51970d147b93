# What tests/setup has installed, for the scripts of this folder. They source this file in the root of the repository.
# shellcheck shell=bash
# shellcheck disable=SC2034

environment=.venv
aarch64=target/cross/aarch64

say() { printf 'tests/%s: %s\n' "${0##*/}" "$*" >&2; }

has_llvm() { [ -e "${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}/include/mlir-c/IR.h" ]; }

# What compiles and runs C for aarch64, and the runtime for it.
has_cross() { [ -e "$aarch64/made-with" ]; }

# Puts the runtime at the head of PATH, and where the one for aarch64 is into TVM_FFI_AARCH64.
enter() {
    export PATH="$PWD/$environment/bin:$PATH"
    if has_cross; then export TVM_FFI_AARCH64="$PWD/$aarch64/tvm_ffi/lib"; fi
}
