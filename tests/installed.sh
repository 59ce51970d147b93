# What tests/setup has installed, for the scripts of this folder. They source this file in the root of the repository.
# shellcheck shell=bash
# shellcheck disable=SC2034

environment=.venv
aarch64=target/cross/aarch64

say() { printf 'tests/%s: %s\n' "${0##*/}" "$*" >&2; }

has_llvm() { [ -e "${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}/include/mlir-c/IR.h" ]; }

# What compiles and runs C for aarch64, and the runtime for it.
has_cross() { [ -e "$aarch64/made-with" ]; }

# Puts the runtime at the head of PATH, and where the one for aarch64 is into TVM_FFI_AARCH64; says in `workspace` what
# commands of cargo take: packages and features, those of LLVM and MLIR where they are. All take the same, since cargo
# resolves features anew for every choice, and compiles what then differs and all that stands on it, Cranelift and the
# linker for minutes. Commands that build no tests take `--examples` besides: there are none, but then the features that
# only tests ask for are there too.
enter() {
    export PATH="$PWD/$environment/bin:$PATH"
    if has_cross; then export TVM_FFI_AARCH64="$PWD/$aarch64/tvm_ffi/lib"; fi
    workspace=(--features tvm-ffi-codegen-examples/aot,tvm-ffi-codegen-examples/cranelift)
    if has_llvm; then
        workspace+=(--workspace --features tvm-ffi-codegen-examples/mlir,tvm-ffi-codegen-tests/mlir)
    fi
}
