"""CuTe DSL: its builder of wrappers, driven on the CPU, around calls of the kernels.

The DSL itself compiles kernels for GPUs; what is measured here is the part that makes the host function, with
a call of a C function in place of a launch.
"""

import peer
from cases import CASES, Tensor, arguments

try:
    import tvm_ffi
    from cutlass._mlir import ir
    from cutlass._mlir._mlir_libs._cutlass_ir import _aot_support
    from cutlass._mlir._mlir_libs._cutlass_ir._execution_engine import BinaryExecutionEngine
    from cutlass._mlir.dialects import llvm
    from cutlass.base_dsl.tvm_ffi_builder import CallProvider, attach_ffi_func, spec
except (ImportError, OSError) as error:
    peer.absent(f"no CuTe DSL: {error}")

UNCHECKED = (
    "does not check extents that are negative, data that is NULL; crashes where strides, a shape, a `DLTensor*` or "
    "an object is NULL; refuses empty tensors of several dims, and a List for a tuple; returns nothing"
)
UNCHECKED_INTEGERS = "checks as ours does; returns nothing"

# Stages up to an object.
OBJECT = ("MLIR context", "wrapper in MLIR", "MLIR to object")


class CallKernel(CallProvider):
    """Calls a C function with the data of all tensors, all integers, then some symbols."""

    def __init__(self, name, args):
        self.name, self.args = name, args

    def __call__(self, current_block, context):
        values = [context.matched_var_binding[arg] for arg in self.args]
        result = ir.IntegerType.get_signless(64)
        types = [value.type for value in values]
        context.builder.find_or_declare_extern_func(self.name, types, result)
        with ir.InsertionPoint(current_block):
            llvm.call(
                result=result,
                callee=self.name,
                callee_operands=values,
                op_bundle_sizes=[],
                op_bundle_operands=[],
            )
        return current_block


def declare(name):
    """Parameters of a function, and the arguments of its kernel."""
    case, symbols, args = CASES[name], {}, []

    def symbol(text):
        return symbols.setdefault(text, spec.Var(text, "int64"))

    def declare_param(param, kind):
        if isinstance(kind, tuple):
            inner = [declare_param(f"{param}{i}", entry) for i, entry in enumerate(kind)]
            return spec.TupleParam(param, inner)
        if isinstance(kind, Tensor):
            strides = [stride if stride == 1 else symbol(stride) for stride in kind.strides]
            declared = spec.Tensor(
                param,
                [symbol(extent) for extent in kind.shape],
                "float32",
                device_type="cpu",
                strides=strides or None,
                data_alignment=4,
            )
            args.append(declared.data)
            return declared
        args.append(spec.Var(param, kind))
        return args[-1]

    params = [declare_param(param, kind) for param, kind in case.params.items()]
    return params, args + [symbol(text) for text in case.symbols]


def build_object(name, stages):
    def attach(module):
        params, args = declare(name)
        attach_ffi_func(module, name, params, CallKernel(f"{name}_kernel", args), name)
        module.operation.verify()

    with stages.take("MLIR context", ir.Context), ir.Location.unknown():
        module = ir.Module.create()
        stages.take("wrapper in MLIR", lambda: attach(module))
        return stages.take(
            "MLIR to object",
            lambda: _aot_support.export_module_to_bytes(
                module, format="o", opt_level=3, enable_pic=True
            ),
        )


def in_process(name, kernels):
    stages = peer.Stages()
    code = build_object(name, stages)

    def link():
        engine = BinaryExecutionEngine(code, [str(kernels)], True)
        address = engine.lookup(f"__tvm_ffi_{name}")
        return tvm_ffi.Function.__from_extern_c__(address, keep_alive_object=engine)

    function = stages.take("JITLink", link)
    stages.sum(peer.WHOLE, *OBJECT, "JITLink")
    return stages, function


def to_file(name, path, kernels):
    stages = peer.Stages()
    code = build_object(name, stages)

    def link():
        path.with_suffix(".o").write_bytes(code)
        peer.run("gcc", "-shared", path.with_suffix(".o"), kernels, "-o", path)

    stages.take("gcc links", link)
    stages.sum(peer.FILE, *OBJECT, "gcc links")
    stages.take("load", lambda: getattr(tvm_ffi.load_module(str(path)), name))
    return stages


def build(folder):
    linked, opened = peer.build_kernels(folder)
    times, unchecked = {}, {}
    for name, case in CASES.items():
        peer.check(in_process(name, opened)[1], name)
        path = folder / f"{name}.so"
        times[name] = peer.repeat(lambda: to_file(name, path, linked))
        times[name] |= peer.repeat(lambda: in_process(name, opened)[0])
        peer.check_library(path, name)
        unchecked[name] = UNCHECKED if case.tensors() else UNCHECKED_INTEGERS
    times["add_one"][peer.FIRST] = peer.cold(__file__, "add_one", opened)
    peer.write(folder, times, unchecked)


def first(name, kernels):
    in_process(name, kernels)[1](*arguments(name))


if __name__ == "__main__":
    peer.main(build, first)
