# What the tests and the benchmark need, to be sourced in the root of the repository: Debian packages, a virtual
# environment with the runtime and NumPy, and, where the machine offers it, LLVM 22 with MLIR. `llvm_is_here` says
# whether it does. May be sourced again at any time.

packages=(gcc g++ libc6-dev python3 python3-venv)
llvm=(llvm-22-dev libmlir-22-dev mlir-22-tools clang-22 libpolly-22-dev libzstd-dev zlib1g-dev
    libffi-dev libxml2-dev libedit-dev libz3-dev)
requirements=(apache-tvm-ffi==0.1.15.post2 numpy==2.4.6)

say() { printf '%s: %s\n' "$0" "$*" >&2; }

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
if ! has_tools; then
    command -v apt-get >/dev/null || { say "needs C and C++ compilers and python3 with venv"; exit 1; }
    install "${packages[@]}"
fi

if [ -n "$(missing "${llvm[@]}")" ] && command -v apt-get >/dev/null; then
    install "${llvm[@]}" || true
fi
llvm_is_here() { [ -e "${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}/include/mlir-c/IR.h" ]; }

# environment FOLDER REQUIREMENT...: makes a virtual environment unless it was made with just these.
environment() {
    local folder=$1
    shift
    [ "$(cat "$folder/made-with" 2>/dev/null)" = "$*" ] && return 0
    say "making $folder with $*"
    rm -rf "$folder"
    python3 -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check "$@" || return 1
    echo "$*" >"$folder/made-with"
}
environment .venv "${requirements[@]}" ||
    { say "could not install ${requirements[*]}: needs Python 3.11 or newer, and pip a package index"; exit 1; }
export PATH="$PWD/.venv/bin:$PATH"
