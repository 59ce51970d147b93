# Locations of the parts that tests/setup installs. Scripts of this folder source it in the root of the repository.
# shellcheck shell=bash
# shellcheck disable=SC2034

environment=.venv
aarch64=target/cross/aarch64
windows=target/cross/windows

say() { printf 'tests/%s: %s\n' "${0##*/}" "$*" >&2; }

# Runs a command and prints how long it took.
stage() {
    local start=$SECONDS status=0
    "$@" || status=$?
    printf '%s: %d s\n' "$*" $((SECONDS - start))
    return "$status"
}

# Every script answers `--help` with the comment at its head.
case " $* " in
    *" --help "*)
        (cd "$OLDPWD" && sed -n '2,/^[^#]/ { /^#/ s/^# \{0,1\}//p }' "$0")
        exit
        ;;
esac

has_tools() { command -v cc >/dev/null && command -v c++ >/dev/null && python3 -c 'import ensurepip, venv' 2>/dev/null; }

# Returns true if the tools and the environment with the runtime are there.
has_runtime() { has_tools && [ -e "$environment/made-with" ]; }

has_llvm() { [ -e "${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}/include/mlir-c/IR.h" ]; }

# Returns true if aarch64 has a C compiler, an emulator and a runtime.
has_cross() { [ -e "$aarch64/made-with" ]; }

# Returns true if Windows has a C compiler, an emulator and a runtime, and LLVM's linker is there.
has_windows() { [ -e "$windows/made-with" ]; }

# Makes a virtual environment in a folder with the requirements that follow, unless it has them, and puts it at the head of
# PATH.
enter_tools() {
    local folder=$1
    shift
    if [ "$(cat "$folder/made-with" 2>/dev/null)" != "$*" ]; then
        say "making $folder"
        rm -rf "$folder"
        python3 -m venv "$folder"
        "$folder/bin/python3" -m pip install -q --disable-pip-version-check "$@"
        echo "$*" >"$folder/made-with"
    fi
    export PATH="$folder/bin:$PATH"
}

# Puts the environment at the head of PATH, the runtimes of other machines into TVM_FFI_AARCH64 and TVM_FFI_WINDOWS, and
# LLVM's linker into LLD, and sets `workspace` to the packages and features that every command of cargo takes, with LLVM
# and MLIR if they are installed. Cargo resolves features anew for every selection and recompiles everything that differs,
# Cranelift and the linker for minutes; so all commands use the same selection. Commands that build no tests add
# `--examples`, of which there are none: that turns on the features that only tests ask for.
enter() {
    case $PATH in
        "$PWD/$environment/bin":*) ;;
        *) export PATH="$PWD/$environment/bin:$PATH" ;;
    esac
    if has_cross; then export TVM_FFI_AARCH64="$PWD/$aarch64/tvm_ffi/lib"; fi
    if has_windows; then export TVM_FFI_WINDOWS="$PWD/$windows/tvm_ffi/lib" LLD=${LLD:-lld-22}; fi
    # Packages whose tests need neither the runtime nor Python.
    alone=(-p tvm-ffi-abi-spec -p tvm-ffi-codegen -p tvm-ffi-codegen-routine
        -p tvm-ffi-codegen-cranelift -p tvm-ffi-codegen-prebuilt -p tvm-ffi-codegen-triton)
    # Optimises the dependencies in which the tests spend their time. All others take longer to optimise than it saves.
    optimized=()
    for package in cranelift-{assembler-x64,bforest,bitset,codegen,entity,frontend,jit,module,object} regalloc2 gimli \
        hashbrown object smallvec; do
        optimized+=(--config "profile.dev.package.$package.opt-level=1")
    done
    # Optimises our own crates too, as far as their instructions are counted, and leaves dependencies as the tests have
    # them: a release build of all takes half as long as the tests.
    measured=(--profile dev --config build.incremental=false)
    for package in tvm-ffi-abi-spec tvm-ffi-codegen tvm-ffi-codegen-{c,cranelift,jit,llvm,mlir,tests}; do
        measured+=(--config "profile.dev.package.$package.opt-level=2"
            --config "profile.dev.package.$package.debug-assertions=false")
    done
    workspace=("${optimized[@]}" --features tvm-ffi-codegen-examples/aot,tvm-ffi-codegen-examples/cranelift)
    if has_llvm; then
        workspace+=(--workspace --features tvm-ffi-codegen-examples/mlir,tvm-ffi-codegen-tests/mlir)
    fi
}
