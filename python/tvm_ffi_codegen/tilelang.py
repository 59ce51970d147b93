"""TileLang with host functions of this library: kernels stay TileLang's, for the CPU, CUDA and ROCm.

    with tvm_ffi_codegen.tilelang.Plugin() as plugin:
        kernel = tilelang.compile(function, target="cuda")
    kernel(x, y)

Inside the context TileLang's execution backends for C++, CUDA and HIP lower a function as before and compile its device
code; its host becomes a declaration, which is compiled in this process: checks, tensor maps, launches, results. No
compiler of C++, CUDA or HIP sees a host. Kernels that cannot be declared go TileLang's way.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import tilelang
from tilelang import tvm
from tilelang.engine.lower import lower_with_context
from tilelang.env import TILELANG_TEMPLATE_PATH
from tilelang.jit.adapter.base import BaseKernelAdapter
from tilelang.jit.kernel import JITKernel

from . import _api
from ._tir import Declaration, Left, dtype_of
from .build import Function, Launch, LetMap, Library, Name, Scalar, TensorMap, checked, try_kernel
from .build._map import MAP_OPTIONS

_PLATFORMS = {
    "c": ("cpu", ""),
    "cuda": ("cuda", "tilelang_callback_cuda_compile"),
    "hip": ("rocm", "tilelang_callback_hip_compile"),
}
"""The device of each kind of target, and TileLang's function that compiles its code."""

_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
"""Bytes of an element of a tensor map, by the driver's number of its type."""

_IMAGE = "device"
"""The name of the image of device code."""


class Plugin:
    """A context in which TileLang makes host functions by this library.

    `declared` has the declarations so far, `left` the names of the functions that went TileLang's way, with reasons.
    """

    def __init__(self) -> None:
        self.declared: list[Function] = []
        self.left: list[tuple[str, str]] = []

    def __enter__(self) -> Plugin:
        self._stock = stock = JITKernel._compile_and_create_adapter
        self._cached = tilelang.env.is_cache_enabled()
        # TileLang's cache keeps the shared libraries of its own hosts.
        tilelang.disable_cache()

        def compile_and_create_adapter(kernel: Any, func: Any, out_idx: Any) -> Any:
            try:
                adapter = _Adapter(kernel, func, out_idx)
            except Left as why:
                self.left.append((str(func.attrs["global_symbol"]), str(why)))
                return stock(kernel, func, out_idx)
            self.declared.append(adapter.declaration)
            return adapter

        JITKernel._compile_and_create_adapter = compile_and_create_adapter
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        JITKernel._compile_and_create_adapter = self._stock
        if self._cached:
            tilelang.enable_cache()


class _Adapter(BaseKernelAdapter):  # type: ignore[misc]
    """What TileLang calls a kernel by: the function of this library, and the texts that TileLang shows."""

    def __init__(self, kernel: Any, func: Any, out_idx: Any) -> None:
        context = kernel.backend_context
        if context.target.kind.name not in _PLATFORMS:
            raise Left(f"the target is {context.target.kind.name}")
        config = dict(kernel.pass_configs or {})
        with tvm.transform.PassContext(opt_level=3, config=config), context.target:
            artifact = kernel.artifact = lower_with_context(func, context)
        self.params, self.kernel_source = artifact.params, str(artifact.kernel_source)
        self.result_idx = self._legalize_result_idx(out_idx)
        device, compiler = _PLATFORMS[context.target.kind.name]
        self.declaration = _Host(func, artifact, device, self.result_idx).function()
        self.text = checked(Library([self.declaration], [_IMAGE] if compiler else []))
        if compiler:
            code = tvm.get_global_func(compiler)(self.kernel_source, context.target)
            functions = _api.jit(self.text, images={_IMAGE: bytes(code)})
        else:
            with tempfile.TemporaryDirectory() as folder:
                functions = _api.jit(self.text, link=[_compiled(self.kernel_source, Path(folder), kernel.compile_flags)])
        self.functions = functions
        self._post_init()

    def _convert_torch_func(self) -> Callable[..., Any]:
        function: Callable[..., Any] = self.functions[self.declaration.name]
        if len(self.result_idx) < 2:
            return function
        return lambda *args: list(function(*args))

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        return self.kernel_source if kernel_only else self.text

    def get_host_source(self) -> str:
        return self.text


def _compiled(source: str, folder: Path, flags: Iterable[str] | None) -> Path:
    """Compiles kernels in C++ with TileLang's compiler to an object."""
    from tilelang.contrib.cc import get_cplus_compiler

    text, made = folder / "kernels.cc", folder / "kernels.o"
    text.write_text(source)
    words = [get_cplus_compiler(), "-std=c++17", "-O2", "-fPIC", f"-I{TILELANG_TEMPLATE_PATH}", *(flags or ())]
    done = subprocess.run([*words, "-c", str(text), "-o", str(made)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the compiler of kernels has failed: {done.stderr}")
    return made


class _Host:
    """A host function of TileLang's as a declaration: the signature is that of the function, the body that of its host
    behind its checks."""

    def __init__(self, func: Any, artifact: Any, device: str, results: list[int]) -> None:
        self._declaration = declaration = Declaration(str(func.attrs["global_symbol"]))
        self._device_functions = {str(var.name_hint): one for var, one in artifact.device_mod.functions.items()}
        self._maps: dict[Any, Name] = {}
        self._tensors: dict[Any, Name] = {}
        self._body: list[Any] = []
        buffers = func.buffer_map
        (host,) = artifact.host_mod.functions.values()
        body = _compute_scope(host.body)
        written = self._written(body, [buffer.data for buffer in buffers.values()])
        scalars = [param for param in func.params if param not in buffers and dtype_of(param) != "handle"]
        for param in scalars:
            declaration.reserve_scalar(param)
        for index, param in enumerate(func.params):
            if param in buffers:
                buffer = buffers[param]
                dtypes = _ALIASES.get(str(buffer.dtype), ())
                is_result = index in results
                is_read = not is_result and buffer.data not in written
                name = declaration.add_tensor(buffer, buffer.data, device, dtypes, is_result, is_read)
                self._tensors[buffer.data] = name
            elif param in scalars:
                declaration.add_scalar(param)
            else:
                declaration.add_handle(param)
        if results and not any(index not in results for index, param in enumerate(func.params) if param in buffers):
            raise Left("no tensor among the arguments says who allocates the results")
        self._add(body)

    def function(self) -> Function:
        return self._declaration.function(self._body)

    def _written(self, body: Any, datas: list[Any]) -> list[Any]:
        """Returns the addresses that a host's body gives to anything but parameters from which TileLang knows that kernels only
        read. A host has no other statements that use them."""
        written: list[Any] = []

        def note(node: Any) -> None:
            if type(node).__name__ != "Call":
                return
            arguments, name = list(node.args), str(getattr(node.op, "name_hint", ""))
            if getattr(node.op, "name", "") == "tirx.tvm_call_packed":
                name, arguments = str(getattr(arguments[0], "value", "")), arguments[1:]
            device = self._device_functions.get(name)
            read = [] if device is None else device.attrs.get("tl.readonly_param_indices", [])
            read = [int(index) for index in read]
            written.extend(
                argument for index, argument in enumerate(arguments) if index not in read and argument in datas
            )

        tvm.tirx.stmt_functor.post_order_visit(body, note)
        return written

    def _add(self, statement: Any) -> None:
        """Adds a statement of TileLang's; raises `Left` for one that has no counterpart."""
        kind = type(statement).__name__
        if kind == "SeqStmt":
            for one in statement.seq:
                self._add(one)
        elif kind == "AttrStmt":
            self._add(statement.body)
        elif kind in ("Bind", "LetStmt"):
            self._add_bound(statement)
        elif kind == "Evaluate" and getattr(statement.value.op, "name", "") == "tirx.tvm_call_packed":
            self._add_call(str(statement.value.args[0].value), list(statement.value.args[1:]))
        elif not (kind == "AssertStmt" and "kernel_error_code" in str(statement.condition)) and not _is_nothing(statement):
            raise Left(f"its host has a statement {kind}: {statement}")

    def _add_bound(self, statement: Any) -> None:
        """Adds a call of a kernel in C++, whose status is bound; memory for a tensor map needs no statement."""
        callee = getattr(statement.value, "op", None)
        name = getattr(callee, "name_hint", None)
        if name in self._device_functions:
            params = self._device_functions[name].params
            arguments = [self._argument(one, dtype_of(param)) for one, param in zip(statement.value.args, params)]
            failed = ("RuntimeError", "Error executing compute kernel")
            self._body.append(try_kernel(name, *arguments, errors={None: failed}))
        elif getattr(callee, "name", "") != "tirx.tvm_stack_alloca":
            raise Left(f"its host binds {statement.value}")
        if type(statement).__name__ == "LetStmt":
            self._add(statement.body)

    def _add_call(self, name: str, arguments: list[Any]) -> None:
        """Adds a call of one of TileLang's functions by name."""
        if name == "__tvm_tensormap_create_tiled":
            self._add_map(arguments)
        elif name in self._device_functions:
            self._add_launch(name, arguments)
        elif name != "__tvm_set_device":
            raise Left(f"its host calls `{name}`")

    def _add_map(self, arguments: list[Any]) -> None:
        """Adds a tensor map, whose numbers are the driver's: dims from the innermost, strides in bytes."""
        memory, dtype, rank, address = arguments[0], int(arguments[1]), int(arguments[2]), arguments[3]
        if address not in self._tensors:
            raise Left(f"a tensor map describes `{address}`")
        numbers = [self._declaration.expression(one) for one in arguments[4:]]
        dims, strides, box, steps = (numbers[rank * part : rank * (part + 1)][::-1] for part in range(4))
        options = ("interleave", "swizzle", "l2", "fill")
        words = {option: MAP_OPTIONS[option][int(one)] for option, one in zip(options, arguments[4 + 4 * rank :])}
        name = self._maps[memory] = self._declaration.new_name(memory.name)
        elements = [stride // _BYTES[dtype] for stride in strides[:-1]] + [1]
        kind = MAP_OPTIONS["dtype"][dtype]
        made = TensorMap(
            self._tensors[address], box, dims=dims, strides=elements, steps=steps, dtype=kind, **words
        )
        self._body.append(LetMap(name, made))

    def _add_launch(self, name: str, arguments: list[Any]) -> None:
        """Adds a launch: the kernel's arguments are followed by numbers that its attributes name."""
        device = self._device_functions[name]
        count = len(device.params)
        values = [self._argument(one, dtype_of(param)) for one, param in zip(arguments, device.params)]
        extents: dict[str, list[Any]] = {axis: [1, 1, 1] for axis in ("blockIdx", "threadIdx", "clusterIdx")}
        attributes: dict[str, Any] = {}
        memory, given = None, iter(arguments[count:])
        for tag in map(str, device.attrs["tirx.kernel_launch_params"]):
            axis, _, letter = tag.partition(".")
            if axis in extents:
                extents[axis]["xyz".index(letter)] = self._declaration.expression(next(given))
                attributes |= {"cluster": extents[axis]} if axis == "clusterIdx" else {}
            elif tag == "tirx.use_dyn_shared_memory":
                memory = self._declaration.expression(next(given))
            elif tag in _FLAGS:
                attributes[_FLAGS[tag]] = True
            else:
                raise Left(f"the launch of `{name}` has {tag}")
        grid, block = extents["blockIdx"], extents["threadIdx"]
        self._body.append(Launch(_IMAGE, name, values, grid=grid, block=block, smem=memory, attributes=attributes))

    def _argument(self, node: Any, dtype: str) -> Any:
        """Returns an argument of a kernel, of the type of its parameter."""
        if node in self._maps:
            return self._maps[node]
        if node in self._declaration.values:
            return self._declaration.values[node]
        return Scalar(dtype)(self._declaration.expression(node))


_ALIASES = {
    "bool": ("bool", "int8", "uint8"),
    "float8_e4m3": ("float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz"),
    "float8_e4m3fn": ("float8_e4m3fn", "float8_e4m3", "float8_e4m3fnuz"),
    "float8_e5m2": ("float8_e5m2", "float8_e5m2fnuz"),
}
"""Element types that TileLang takes one for the other."""

_FLAGS = {"tirx.use_programtic_dependent_launch": "pdl", "tirx.use_cooperative_launch": "cooperative"}
"""Attributes of launches, by TileLang's names."""


def _compute_scope(statement: Any) -> Any:
    """Returns the part of a host that is behind its checks."""
    if getattr(statement, "attr_key", "") == "compute_scope":
        return statement.body
    parts = [*getattr(statement, "seq", ()), *([statement.body] if hasattr(statement, "body") else [])]
    return next((found for found in map(_compute_scope, parts) if found is not None), None)


def _is_nothing(statement: Any) -> bool:
    """Returns true for `T.evaluate(0)` and for returning."""
    return type(statement).__name__ in ("Evaluate", "Return") and type(statement.value).__name__ == "IntImm"
