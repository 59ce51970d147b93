"""Apache TVM: functions in TVMScript that call the kernels, compiled by its LLVM target."""

import sys

import peer
from cases import CASES, Tensor, arguments

# This file has the name of the package that it imports.
sys.path.remove(str(peer.HERE))

try:
    import tvm
    import tvm_ffi
    from tvm.script import from_source
except (ImportError, OSError) as error:
    peer.absent(f"no Apache TVM: {error}")

UNCHECKED = (
    "does not check alignment (its own kernels assume 64 bytes), extents that are negative, a shape or an object "
    "that is NULL; takes any object for a tensor; refuses byte offsets, and empty tensors of several dims"
)
UNCHECKED_INTEGERS = "does not check that integers fit into 32 bits, it cuts them off"

# Stages up to a module of LLVM.
MODULE = ("TVMScript to TIR", "TIR to LLVM, optimised")


def script(name):
    """Writes a function in TVMScript, for cases without tuples."""
    case = CASES[name]
    symbols = {symbol for tensor in case.tensors() for symbol in tensor.symbols()}
    lines = [f"{symbol} = T.int64()" for symbol in sorted(symbols)]
    params, kernel_args = [], []
    for param, kind in case.params.items():
        is_tensor = isinstance(kind, Tensor)
        params.append(f"{param}: {'T.handle' if is_tensor else 'T.' + kind}")
        kernel_args.append(f"{param}_.data" if is_tensor else param)
        if is_tensor:
            lines.append(buffer(param, kind))
    call = ", ".join([f'"int64", "{name}_kernel"', *kernel_args, *case.symbols])
    lines.append(f"return T.call_extern({call})")
    body = "".join(f"    {line}\n" for line in lines)
    return f"@T.prim_func\ndef {name}({', '.join(params)}) -> T.int64:\n{body}"


def buffer(param, tensor):
    shape = "".join(f"{symbol}, " for symbol in tensor.shape)
    strides = "".join("T.int64(1), " if stride == 1 else f"{stride}, " for stride in tensor.strides)
    free = f", strides=({strides})" if strides else ""
    return f'{param}_ = T.match_buffer({param}, ({shape}), "float32"{free})'


def compile_function(name, stages):
    text = script(name)
    function = stages.take(MODULE[0], lambda: from_source(text))
    module = tvm.IRModule({name: function})
    return stages.take(MODULE[1], lambda: tvm.compile(module, target="llvm"))


def in_process(name):
    stages = peer.Stages()
    compiled = compile_function(name, stages)
    function = stages.take("LLVM JIT", lambda: compiled[name])
    stages.sum(peer.WHOLE, *MODULE, "LLVM JIT")
    return stages, function


def to_file(name, path, kernels):
    stages = peer.Stages()
    compiled = compile_function(name, stages)
    options = [str(kernels)]
    stages.take("object, g++ links", lambda: compiled.export_library(str(path), options=options))
    stages.sum(peer.FILE, *MODULE, "object, g++ links")
    stages.take("load", lambda: getattr(tvm_ffi.load_module(str(path)), name))
    return stages


def build(folder):
    linked, opened = peer.build_kernels(folder)
    peer.open_global(opened)
    times, unchecked = {}, {}
    for name, case in CASES.items():
        if any(isinstance(param, tuple) for param in case.params.values()):
            continue
        peer.check(in_process(name)[1], name)
        path = folder / f"{name}.so"
        times[name] = peer.repeat(lambda: to_file(name, path, linked))
        times[name] |= peer.repeat(lambda: in_process(name)[0])
        peer.check_library(path, name)
        unchecked[name] = UNCHECKED if case.tensors() else UNCHECKED_INTEGERS
    times["add_one"][peer.FIRST] = peer.cold(__file__, "add_one", opened)
    peer.write(folder, times, unchecked)


def first(name, kernels):
    peer.open_global(kernels)
    in_process(name)[1](*arguments(name))


if __name__ == "__main__":
    peer.main(build, first)
