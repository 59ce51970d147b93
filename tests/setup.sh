# What the scripts of this folder need of the machine. They source this file in the root of the repository.
# shellcheck shell=bash

packages=(gcc g++ libc6-dev python3 python3-venv)
llvm=(llvm-22-dev libmlir-22-dev mlir-22-tools clang-22 libpolly-22-dev libzstd-dev zlib1g-dev
    libffi-dev libxml2-dev libedit-dev libz3-dev)
cross=(qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstdc++6-arm64-cross)
requirements=(apache-tvm-ffi==0.1.15.post2 numpy==2.4.6)

say() { printf 'tests/%s: %s\n' "${0##*/}" "$*" >&2; }

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

missing() {
    for package in "$@"; do
        dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || printf '%s ' "$package"
    done
}

# Installs packages, or says which ones are missing and fails.
install() {
    local wanted
    wanted=$(missing "$@")
    [ -z "$wanted" ] && return 0
    say "installing $wanted"
    # shellcheck disable=SC2086
    root apt-get update -qq >/dev/null 2>&1 &&
        root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -qq -y --no-install-recommends $wanted >/dev/null && return 0
    say "could not install: $(missing "$@")"
    return 1
}

has_tools() { command -v cc >/dev/null && command -v c++ >/dev/null && python3 -c 'import ensurepip, venv' 2>/dev/null; }

# C and C++ compilers, Python.
install_tools() {
    has_tools && return 0
    command -v apt-get >/dev/null || { say "needs C and C++ compilers and python3 with venv"; exit 1; }
    install "${packages[@]}"
}

# The debugger that is to see compiled functions; its test says if there is none, and fails in CI.
install_debugger() {
    command -v gdb >/dev/null && return 0
    command -v apt-get >/dev/null && install gdb || true
}

# LLVM 22 with MLIR; fails where it cannot be had.
install_llvm() {
    if [ -n "$(missing "${llvm[@]}")" ] && command -v apt-get >/dev/null; then
        install "${llvm[@]}" || true
    fi
    [ -e "${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}/include/mlir-c/IR.h" ] && return 0
    say "LLVM 22 with MLIR is not here: the LLVM and MLIR backends and their tests are left out"
    return 1
}

# A virtual environment with the runtime and NumPy, at the head of PATH.
make_environment() {
    if [ "$(cat .venv/made-with 2>/dev/null)" != "${requirements[*]}" ]; then
        say "making .venv with ${requirements[*]}"
        rm -rf .venv
        python3 -m venv .venv
        .venv/bin/pip install -q --disable-pip-version-check "${requirements[@]}" ||
            { say "could not install ${requirements[*]}: needs Python 3.11 or newer, and pip a package index"; exit 1; }
        echo "${requirements[*]}" >.venv/made-with
    fi
    export PATH="$PWD/.venv/bin:$PATH"
}

# What compiles and runs C for aarch64, and the runtime for it, whose folder is in TVM_FFI_AARCH64; fails where they
# cannot be had.
install_cross() {
    local folder=target/cross/aarch64 wanted="${requirements[0]}"
    if [ -n "$(missing "${cross[@]}")" ]; then
        command -v apt-get >/dev/null && install "${cross[@]}" ||
            { say "no emulator and compiler for aarch64: its tests are left out"; return 1; }
    fi
    if [ "$(cat "$folder/made-with" 2>/dev/null)" != "$wanted" ]; then
        rm -rf "$folder"
        .venv/bin/pip download -q --disable-pip-version-check --only-binary=:all: --no-deps -d "$folder" \
            --platform manylinux_2_28_aarch64 --python-version 3.12 "$wanted" &&
            python3 -m zipfile -e "$folder"/*.whl "$folder" ||
            { say "no runtime for aarch64: its tests are left out"; return 1; }
        echo "$wanted" >"$folder/made-with"
    fi
    export TVM_FFI_AARCH64="$PWD/$folder/tvm_ffi/lib"
}
