"""Apache TVM with host functions of this library: bodies stay TVM's, arguments are checked and unpacked by ours.

    with tvm_ffi_codegen.tvm.Plugin() as plugin:
        built = tvm.compile(module, target="llvm")
    print(plugin.declared, plugin.left)

Inside the context the pass `MakePackedAPI` makes C functions of bodies and declares them, and the code generators for
the targets `llvm` and `c` add the wrappers of the declarations to TVM's module. Nothing else changes: the result is
a module of TVM's, which runs, is exported, imported and linked as any. Functions that cannot be declared go TVM's way.
"""

from __future__ import annotations

import os
import tempfile
from types import TracebackType
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import buffer_data_pointer_type, is_buffer_var

from . import _api
from ._tir import Declaration, Left, dtype_of
from .build import Function, Library, Name, Scalar, check

_ATTRIBUTE = "tvm_ffi_codegen.declaration"
"""The attribute of a kernel that holds the text of its declaration."""

_KERNEL = "_compute_"
"""The end of the name of a kernel, as that of the function in which TVM itself puts the body."""

_PREFIX = "__tvm_ffi_"
"""The beginning of the symbols of functions."""

_DEVICES = {1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 15: "webgpu", 16: "hexagon"}
"""Names of the types of devices by their numbers."""

_SET_DEVICE = ("cuda", "rocm")
"""Devices of which TVM makes one current before the body."""

_PURE = 1
"""The greatest of TVM's kinds of effects, `CallEffectKind`, of operations that only compute."""

_MACHINES = ("x86_64", "amd64", "aarch64", "arm64", "riscv64")


class Plugin:
    """A context in which TVM makes host functions by this library.

    `declared` has the declarations so far, `left` the names of the functions that went TVM's way, with reasons.
    """

    def __init__(self) -> None:
        self.declared: list[Function] = []
        self.left: list[tuple[str, str]] = []
        self._restore: list[Any] = []

    def __enter__(self) -> Plugin:
        stock, builders = tirx.transform.MakePackedAPI, {"llvm": _build_llvm, "c": _build_c}
        tirx.transform.MakePackedAPI = self.make_packed_api
        self._restore.append(lambda: setattr(tirx.transform, "MakePackedAPI", stock))
        for kind, build in builders.items():
            name = f"target.build.{kind}"
            generate = tvm_ffi.get_global_func(name)
            wrapped = lambda module, target, build=build, generate=generate: build(module, target, generate)
            tvm_ffi.register_global_func(name, wrapped, override=True)
            self._restore.append(
                lambda name=name, generate=generate: tvm_ffi.register_global_func(name, generate, override=True)
            )
        self._stock = stock
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._restore:
            self._restore.pop()()

    def make_packed_api(self) -> Any:
        """Returns the pass that takes the place of `MakePackedAPI`."""
        stock = self._stock()

        def make(module: Any, _context: Any) -> Any:
            return stock(self._with_kernels(module))

        return ir.transform.module_pass(make, opt_level=0, name="tvm_ffi_codegen.MakePackedAPI")

    def _with_kernels(self, module: Any) -> Any:
        """Returns the module with a kernel in the place of each function that can be declared."""
        made: dict[Any, tuple[Function, Any, str]] = {}
        prefix = str(module.attrs.get("system_lib_prefix", ""))
        packed = {var: func for var, func in module.functions.items() if _is_packed(func)}
        names = [str(func.attrs["global_symbol"]) for func in packed.values()]
        called = _called(module)
        for (var, func), name in zip(packed.items(), names, strict=True):
            try:
                if names.count(name) > 1:
                    raise Left("another function has its symbol")
                if var in called or name in called:
                    # TVM's code generators know only functions of TVM's by their symbols.
                    raise Left("another function of the module calls it")
                made[var] = (*_kernel(name, prefix, func), name)
            except Left as why:
                self.left.append((name, str(why)))
        if any(found.severity == "error" for found in check(Library([one for one, *_ in made.values()]))):
            for var, (function, *_) in list(made.items()):
                errors = [found.message for found in check(Library([function])) if found.severity == "error"]
                if errors:
                    self.left.append((function.name, errors[0]))
                    del made[var]
        self.declared += [function for function, *_ in made.values()]
        changed = module.clone()
        for var, (function, kernel, name) in made.items():
            func = module[var]
            changed[var] = kernel.with_attr(_ATTRIBUTE, str(function))
            if name != "main" and func.attrs.get("tirx.is_entry_func"):
                entry = _entry(name, func.attrs["target"].host)
                changed[ir.GlobalVar(str(entry.attrs["global_symbol"]))] = entry
        return changed


def _is_packed(func: Any) -> bool:
    """Returns true for functions that `MakePackedAPI` changes."""
    if not isinstance(func, tirx.PrimFunc) or "global_symbol" not in func.attrs:
        return False
    target = func.attrs.get("target")
    return target is not None and target.host is not None and int(func.attrs.get("calling_conv", 0)) == 0


def _kernel(name: str, prefix: str, func: Any) -> tuple[Function, Any]:
    """Returns the declaration of a function, without the prefix of a system library, and the C function that it calls,
    which returns a status and has the result as its last parameter. Raises `Left`."""
    target = func.attrs["target"]
    host, device_type = target.host, int(target.get_target_device_type())
    _check_host(host)
    if device_type not in _DEVICES:
        raise Left(f"no device of the language is of type {device_type}")
    declaration = Declaration(name.removeprefix(prefix))
    tensors = [param for param in func.params if is_buffer_var(param)]
    datas = {param: tirx.Var(param.name, buffer_data_pointer_type(param)) for param in tensors}
    read = _only_loaded(func.body, tensors)
    names = _add_params(declaration, func.params, datas, _DEVICES[device_type], read)
    body, result = _with_status(func.body)
    index: Any = tirx.IntImm("int32", 0)
    if device_type != 1 and tensors:
        index = tirx.Var("dev_id", "int32")
        declaration.values[index] = Scalar("int32")(names[0].device_id)
        if _DEVICES[device_type] in _SET_DEVICE:
            current = tirx.call_packed("__tvm_set_device", device_type, index)
            body = tirx.SeqStmt([tirx.Evaluate(current), body])
    if tensors:
        body = tirx.AttrStmt("default", "device_type", tirx.IntImm("int32", device_type), body)
        body = tirx.AttrStmt("default", "device_id", index, body)
    decls = [tirx.DeclBuffer(param, data=datas[param]) for param in tensors]
    results = []
    if result is not None:
        results = [tirx.Var("result", buffer_data_pointer_type(result))]
        decls.append(tirx.DeclBuffer(result, data=results[0]))
        declaration.result = str(result.dtype)
    parts = [*decls, body, tirx.Return(tirx.IntImm("int32", 0))]
    args = [var for var in tirx.analysis.undefined_vars(tirx.SeqStmt(parts), []) if var not in results]
    function = declaration.function(declaration.call(name + _KERNEL, args), func.span)
    # C passes a truth as a byte, TVM as a bit.
    bytes_of = {var: tirx.Var(var.name, "int8") for var in args if dtype_of(var) == "bool"}
    truths = [tirx.Bind(var, byte != tirx.IntImm("int8", 0)) for var, byte in bytes_of.items()]
    attrs = {**func.attrs, "calling_conv": 1, "global_symbol": name + _KERNEL, "target": host, "tirx.noalias": True}
    attrs.pop("tirx.is_entry_func", None)
    params = [*(bytes_of.get(var, var) for var in args), *results]
    attributes = ir.make_node("ir.DictAttrs", **attrs)
    kernel = tirx.PrimFunc(params, tirx.SeqStmt([*truths, *parts]), ir.PrimType("int32"), attributes, func.span)
    return function, kernel


def _entry(name: str, host: Any) -> Any:
    """Returns a function that TVM exports as `main`, weakly, as it does its own: it calls a wrapper of this library."""
    types = {"self": "handle", "args": "handle", "num_args": "int32", "result": "handle"}
    params = [tirx.Var(one, dtype) for one, dtype in types.items()]
    zero = tirx.IntImm("int32", 0)
    failed = tirx.call_extern("int32", _PREFIX + name, *params) != zero
    fail = tirx.Evaluate(tirx.call_intrin("int32", "tirx.tvm_throw_last_error"))
    body: Any = tirx.SeqStmt([tirx.IfThenElse(failed, fail, None), tirx.Return(zero)])
    if host.kind.name == "c":
        prototype = f"int32_t {_PREFIX}{name}(void*, void*, int32_t, void*);"
        guarded = f'#ifdef __cplusplus\nextern "C"\n#endif\n{prototype}\n'
        body = tirx.AttrStmt(zero, "pragma_import_c", ir.StringImm(guarded), body)
    attrs = {"calling_conv": 1, "global_symbol": name + "_entry_", "target": host, "tirx.is_entry_func": True}
    return tirx.PrimFunc(params, body, ir.PrimType("int32"), ir.make_node("ir.DictAttrs", **attrs))


def _check_host(host: Any) -> None:
    """Raises `Left` for a host that the code generators of this library do not know."""
    kind = host.kind.name
    if kind not in ("llvm", "c"):
        raise Left(f"the host is {kind}, not llvm or c")
    triple = str(host.attrs.get("mtriple", ""))
    if triple and triple.split("-")[0] not in _MACHINES:
        raise Left(f"no target of this library is {triple}")
    if str(host.attrs.get("jit", "orcjit")) != "orcjit":
        raise Left("a module that is loaded is compiled by LLVM's ORC only")


def _only_loaded(body: Any, buffers: list[Any]) -> set[Any]:
    """Returns the buffers from which a body does nothing but load. Others are stored to, or something gets their address."""
    # The buffer that each name of one stands for.
    origins = {buffer: buffer for buffer in buffers}
    # How often its names occur in other places than a load.
    others = dict.fromkeys(buffers, 0)

    def note(node: Any) -> None:
        kind = type(node).__name__
        if kind == "Var" and node in origins:
            others[origins[node]] += 1
        elif kind == "DeclBuffer" and _op(node.data) == "tirx.buffer_data" and node.data.args[0] in origins:
            # Another name, whose definition has been passed already.
            origin = origins[node.buffer] = origins[node.data.args[0]]
            others[origin] -= 1
        elif kind == "TensorLoad" and node.source in origins:
            others[origins[node.source]] -= 1
        elif kind == "Call" and not _is_pure(node):
            for one in node.args:
                if type(one).__name__ == "TensorLoad" and one.source in origins:
                    others[origins[one.source]] += 1

    tvm_ffi.structural_walk(body, note)
    return {buffer for buffer, count in others.items() if count == 0}


def _op(node: Any) -> str:
    """Returns the name of the operation that a node calls; no text for another node."""
    return str(getattr(getattr(node, "op", None), "name", ""))


def _is_pure(call: Any) -> bool:
    """Returns true for a call that takes the values of its arguments and has no effect."""
    effect = call.op.get_attr("TCallEffectKind") if _op(call) else None
    return _op(call) != "tirx.address_of" and effect is not None and int(effect) <= _PURE


def _add_params(
    declaration: Declaration, params: Any, datas: dict[Any, Any], device: str, read: set[Any]
) -> list[Name]:
    """Adds parameters, of which some are only read; returns the names of tensors."""
    scalars = [param for param in params if isinstance(param.ty, ir.PrimType)]
    for param in scalars:
        declaration.reserve_scalar(param)
    names = []
    for param in params:
        if param in datas:
            names.append(declaration.add_tensor(param, datas[param], device, is_read=param in read))
        elif param in scalars:
            declaration.add_scalar(param)
        else:
            declaration.add_handle(param)
    return names


def _with_status(body: Any) -> tuple[Any, Any]:
    """Returns a body that returns 0 where the given one returns a value, and the buffer into which it writes the value
    before that; None if it returns none. Raises `Left` for values that it returns on some paths only."""
    dtypes: set[str] = set()

    def note(returned: Any) -> None:
        dtypes.add(_result_dtype(returned.value))

    tvm_ffi.structural_walk(body, (tirx.stmt.Return, note))
    if not dtypes:
        return body, None
    if len(dtypes) > 1 or not _returns(body):
        raise Left("it returns values of several types, or on some paths only")
    result = tirx.decl_buffer((1,), dtypes.pop(), "result")
    zero = tirx.IntImm("int32", 0)

    def write(returned: Any) -> Any:
        value = tirx.Cast(str(result.dtype), returned.value)
        return tirx.SeqStmt([tirx.BufferStore(result, value, [zero], returned.span), tirx.Return(zero, returned.span)])

    # `structural_map` visits what it has made.
    return tvm_ffi.structural_map(body, (tirx.stmt.Return, write)), result


def _result_dtype(value: Any) -> str:
    """Returns the type of the number of the FFI that TVM makes of a result."""
    dtype = dtype_of(value) if isinstance(value.ty, ir.PrimType) else str(value.ty)
    for prefix, made in (("bool", "bool"), ("int", "int64"), ("uint", "int64"), ("float", "float64")):
        if dtype.startswith(prefix):
            return made
    raise Left(f"it returns a {dtype}")


def _returns(body: Any) -> bool:
    """Returns true for statements after which nothing is done."""
    if isinstance(body, tirx.SeqStmt):
        return any(map(_returns, body.seq))
    if isinstance(body, tirx.IfThenElse):
        return body.else_case is not None and _returns(body.then_case) and _returns(body.else_case)
    return isinstance(body, tirx.stmt.Return) or isinstance(body, tirx.AttrStmt) and _returns(body.body)


def _called(module: Any) -> set[Any]:
    """Returns the functions of a module that others call, as variables and as symbols."""
    called: set[Any] = set()
    kinds = ((ir.GlobalVar, called.add), (ir.StringImm, lambda text: called.add(str(text.value))))
    for func in module.functions.values():
        if isinstance(func, tirx.PrimFunc):
            tvm_ffi.structural_walk(func.body, kinds)
    return called


def _kernels(module: Any) -> list[Any]:
    """Returns the kernels of a module that is compiled, which have declarations."""
    return [func for func in module.functions.values() if _ATTRIBUTE in func.attrs]


def _emit(module: Any, form: Any, **options: Any) -> Any:
    """Emits the wrappers for the kernels of a module that is compiled; returns None if it has none."""
    kernels = _kernels(module)
    if not kernels:
        return None
    prefix = module.attrs.get("system_lib_prefix")
    if prefix is not None:
        options["system_lib"] = str(prefix)
    if ir.transform.PassContext.current().config.get("tirx.disable_assert"):
        options["unchecked"] = ("shape", "strides", "device", "alignment")
    return _api.emit("\n".join(str(func.attrs[_ATTRIBUTE]) for func in kernels), form, **options)


class _Memory:
    """A file in memory, for code that reads and writes only files; a temporary one where the system has none in memory."""

    def __enter__(self) -> _Memory:
        if hasattr(os, "memfd_create"):
            self._file = os.memfd_create("tvm_ffi_codegen")
            self.path = f"/proc/self/fd/{self._file}"
        else:
            self._file, self.path = tempfile.mkstemp()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        if not self.path.startswith("/proc/"):
            os.unlink(self.path)

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def write(self, contents: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(contents)


def _machine(target: Any) -> dict[str, Any]:
    """Returns the options of `emit` for the machine of a target: LLVM inlines only among functions for one processor."""
    named = {"target": "mtriple", "cpu": "mcpu"}
    machine: dict[str, Any] = {option: str(target.attrs[name]) for option, name in named.items() if name in target.attrs}
    return machine | {"features": [str(one) for one in target.attrs.get("mattr", ())]}


def _build_llvm(module: Any, target: Any, generate: Any) -> Any:
    """Builds a module of TVM's for LLVM, with our wrappers beside its kernels."""
    built = generate(module, target)
    with _Memory() as memory:
        built.write_to_file(memory.path, "bc")
        kernels = memory.read()
    # Most of the code is that of errors, on which TVM's code generator would spend most of its time.
    code = _emit(module, "bitcode", backend="llvm", into=kernels, optimization=1, **_machine(target))
    if code is None:
        return built
    with _Memory() as memory:
        memory.write(code)
        return tvm_ffi.get_global_func("ffi.Module.load_from_file.ll")(memory.path, "ll")


def _build_c(module: Any, target: Any, generate: Any) -> Any:
    """Builds a module of TVM's for C, which imports our wrappers: one text of both would define structs of the runtime
    twice."""
    built = generate(module, target)
    text = _emit(module, "native", backend="c")
    if text is not None:
        names = [_PREFIX + str(func.attrs["global_symbol"]).removesuffix(_KERNEL) for func in _kernels(module)]
        built.import_module(tvm_ffi.get_global_func("runtime.CSourceModuleCreate")(text, "c", names, []))
    return built
