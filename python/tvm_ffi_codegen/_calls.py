"""Calls of functions by the native caller, a module beside the shared object. Where it is not, `tvm_ffi` calls them.

A function that the library has made becomes a builtin of Python: with the names of its parameters, their defaults, and a
signature. Its `__self__` has the function of `tvm_ffi` as `function`, for hosts that take no other, and `release_gil`.
Without the native caller it becomes an object that is written in Python, with all of these.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import tvm_ffi

from ._access import is_fixed, lent, refusal
from ._dlpack import address_in
from ._library import library_path
from ._literals import literal
from ._words import is_word

FILE = "libtvm_ffi_codegen_call.so"

# Kinds of types, as `state.rs` reads them. Greater numbers are addresses of exchange APIs, and negative ones those of
# tensors of PyTorch, which the caller reads itself.
_OTHER, _OBJECT, _ARRAY, _FIXED = 0, 1, 2, 3

# The ways in which a function borrows a tensor, as `callable.rs` reads them.
_NO, _MEMORY, _READ_ONLY = 0, 1, 2


def native(
    name: str, function: tvm_ffi.Function, metadata: Mapping[str, Any] | None, docs: str | None
) -> Callable[..., Any]:
    """Returns a builtin of a name that calls the function; the function itself if the library has not made it."""
    caller = _caller()
    declared = None if metadata is None else metadata.get("declaration")
    if declared is None:
        return function
    try:
        params = [_Param(param) for param in declared["params"]]
    except (SyntaxError, ValueError):
        return function
    variadic = any(param.variadic for param in params)
    convert, refuse = _lending(function, params), refusal(function, declared)
    if caller is None:
        return _Written(_signature(name, params), _text(declared["signature"], docs), function, convert, refuse)
    made: Callable[..., Any] = caller.callable(
        name,
        _doc(name, params, declared["signature"], docs),
        tuple(param.fact for param in params if not param.variadic),
        variadic,
        _signature(name, params),
        function,
        convert,
        refuse,
        function.release_gil,
    )
    return made


def attach(module: tvm_ffi.Module) -> tvm_ffi.Module:
    """Makes look-ups of functions in a module yield builtins, and with them attributes and items. Returns the module."""
    look_up, metadata, doc = module.get_function, module.get_function_metadata, module.get_function_doc

    def get_function(name: str, query_imports: bool = False) -> Any:
        function = look_up(name, query_imports)
        return native(name, function, metadata(name, query_imports), doc(name, query_imports))

    setattr(module, "get_function", get_function)  # noqa: B010
    return module


def function_of(callable_: Any) -> Any:
    """Returns the function of `tvm_ffi` that a callable of this package calls; anything else as it is."""
    return getattr(getattr(callable_, "__self__", None), "function", callable_)


class _Param:
    """A parameter in the metadata of a function."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self.name = sys.intern(declared["name"])
        self.variadic = bool(declared.get("variadic"))
        # A tensor that the function may keep is passed as an object that can be kept.
        if "tensor" not in declared or declared.get("kept"):
            self.borrows = _NO
        else:
            self.borrows = _READ_ONLY if declared["tensor"].get("access") == "read" else _MEMORY
        default = declared.get("default")
        self.default = () if default is None else (literal(default),)
        self.fact = (self.name, self.borrows, *self.default)

    def __str__(self) -> str:
        default = "".join(f"={value!a}" for value in self.default)
        return f"{'*' if self.variadic else ''}{self.name}{default}"


def _lending(function: tvm_ffi.Function, params: Sequence[_Param]) -> Callable[..., Any]:
    """Returns a callable that calls the function as `tvm_ffi` does, with read-only arrays where it only reads."""
    reading = {index for index, param in enumerate(params) if param.borrows == _READ_ONLY}
    if not reading:
        return function

    def call(*arguments: Any) -> Any:
        return function(*(lent(one) if index in reading else one for index, one in enumerate(arguments)))

    return call


def _doc(name: str, params: Iterable[_Param], signature: str, docs: str | None) -> str:
    """Returns the documentation of a builtin. Its first line is the signature that Python shows, if it has a syntax for it,
    which `inspect` reads as ASCII."""
    text = _text(signature, docs)
    if all(is_word(param.name) and param.name.isascii() for param in params):
        # Of a name with dots Python expects what stands behind the last one.
        text = f"{name.rpartition('.')[2]}({', '.join(map(str, params))})\n--\n\n{text}"
    return text.replace("\0", "\\0")


def _text(signature: str, docs: str | None) -> str:
    return f"{signature}\n\n{docs}" if docs else signature


def _signature(name: str, params: list[_Param]) -> types.FunctionType:
    """Makes a Python function of the same signature: calling it with arguments that do not fit raises the error of a `def`,
    and with others returns them in order."""
    # Names of parameters may be words of Python, so they take the place of others in the code.
    names = tuple(param.name for param in params)
    code = _code(tuple(param.variadic for param in params)).replace(co_varnames=names, co_name=name, co_qualname=name)
    defaults = tuple(value for param in params for value in param.default)
    return types.FunctionType(code, {}, name, defaults)


@functools.lru_cache(maxsize=64)
def _code(variadic: tuple[bool, ...]) -> types.CodeType:
    """Returns the code of a function that returns its arguments in order. Compiling it takes a tenth of compiling a small
    declaration, whose functions have the same code as others with as many parameters."""
    listed = "".join(f"{'*' if one else ''}p{index}, " for index, one in enumerate(variadic))
    code: types.CodeType = eval(f"lambda {listed}: ({listed})").__code__  # noqa: S307
    return code


class _Written:
    """A function of `tvm_ffi` with the parameters of its declaration, in the place of a builtin."""

    def __init__(
        self,
        ordered: types.FunctionType,
        docs: str,
        function: tvm_ffi.Function,
        convert: Callable[..., Any],
        refuse: Callable[[Sequence[Any], bool], None],
    ) -> None:
        self.__name__ = self.__qualname__ = ordered.__name__
        self.__doc__ = docs
        self._ordered, self.function, self._convert, self._refuse = ordered, function, convert, refuse

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        ordered = self._ordered(*arguments, **named)
        if any(is_fixed(type(argument)) for argument in ordered):
            self._refuse(ordered, False)
        try:
            return self._convert(*ordered)
        except BufferError as error:
            failed = error
        self._refuse(ordered, True)
        raise failed

    def __repr__(self) -> str:
        return f"<function {self.__name__} of tvm_ffi>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {self!r}")

    @property
    def __self__(self) -> _Written:
        return self

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._ordered)

    @property
    def release_gil(self) -> bool:
        return bool(self.function.release_gil)

    @release_gil.setter
    def release_gil(self, released: bool) -> None:
        self.function.release_gil = released


@functools.cache
def _caller() -> Any:
    """Loads the native caller and prepares it; `None` if it is not there or does not fit this process."""
    # It takes a millisecond to import, which not every process needs.
    import sysconfig

    path = library_path().with_name(FILE)
    if not path.is_file() or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    loader = importlib.machinery.ExtensionFileLoader("tvm_ffi_codegen._call", str(path))
    spec = importlib.util.spec_from_file_location(loader.name, path, loader=loader)
    offset = _handle_offset()
    if spec is None or offset is None:
        return None
    caller = importlib.util.module_from_spec(spec)
    loader.exec_module(caller)
    finish = tvm_ffi.Function.__from_extern_c__(caller.HAND_OVER)
    finish.release_gil = False
    try:
        caller.setup(finish, _kind, offset)
    except ValueError:
        return None
    return caller


def _handle_offset() -> int | None:
    """Finds the place of the object's address in wrappers of `tvm_ffi`; `None` if it is not where it is in every release."""
    wrapper = tvm_ffi.convert([])
    size = ctypes.sizeof(ctypes.c_size_t)
    words = (ctypes.c_size_t * (type(wrapper).__basicsize__ // size)).from_address(id(wrapper))
    found = [index for index, word in enumerate(words) if word == wrapper.__chandle__()]
    return found[0] * size if len(found) == 1 else None


def _kind(cls: type) -> int:
    """Tells how arguments of a type are converted; `tvm_ffi` looks at a type in the same order."""
    core = tvm_ffi.core
    if issubclass(cls, core.CObject):
        return _OTHER if issubclass(cls, core.CContainerBase) else _OBJECT
    if cls is getattr(sys.modules.get("numpy"), "ndarray", None):
        _add_elements(sys.modules["numpy"])
        return _ARRAY
    if is_fixed(cls):
        return _FIXED
    if issubclass(cls, core.ObjectRValueRef) or hasattr(cls, "__tvm_ffi_object__"):
        return _OTHER
    if os.environ.get("TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API", "0") == "1":
        return _OTHER
    address = _address(getattr(cls, "__dlpack_c_exchange_api__", None))
    torch = sys.modules.get("torch")
    is_plain = torch is not None and cls in (torch.Tensor, torch.nn.Parameter)
    return -address if is_plain and address and _reads_tensors(torch, address) else address


# Kinds of element types of NumPy, and their codes in DLPack.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def _add_elements(numpy: Any) -> None:
    """Tells the caller NumPy's objects for element types, if arrays have their fields where NumPy's C API has them."""
    array = numpy.zeros((2, 3), "float32")
    word, half = ctypes.c_ssize_t, ctypes.c_int
    # The reference count and the type.
    head = 2 * ctypes.sizeof(word)

    def field(kind: Any, index: int) -> int:
        return int(kind.from_address(id(array) + head + index * 8).value)

    found = [field(word, 0), field(half, 1), field(word, 5), field(half, 6)]
    if found != [array.ctypes.data, 2, id(array.dtype), array.flags.num]:
        return
    extents = [list((word * 2).from_address(field(word, index))) for index in (2, 3)]
    if extents != [list(array.shape), list(array.strides)]:
        return
    for name in numpy.typecodes["AllInteger"] + numpy.typecodes["AllFloat"] + "?":
        dtype = numpy.dtype(name)
        # `longdouble` is none of DLPack's types.
        if dtype.char not in "gG":
            _caller().element(dtype, _CODES[dtype.kind], dtype.itemsize * 8)


# Functions of PyTorch's stable C API that read tensors, in the order of `handle.rs`.
_GETTERS = (
    "torch_get_mutable_data_ptr",
    "aoti_torch_get_dim",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_dtype",
    "aoti_torch_get_device_type",
    "aoti_torch_get_device_index",
    "torch_get_const_data_ptr",
)


@functools.cache
def _reads_tensors(torch: Any, api: int) -> bool:
    """Lets the caller read PyTorch's tensors, if objects have the tensor of C++ behind their head, and if the C API says of
    several kinds of tensors what the exchange API says."""
    try:
        # Functions are looked up in the libraries that the module depends on, too.
        library = ctypes.CDLL(torch._C.__file__)
        getters = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _GETTERS]
        samples = _samples(torch)
    except (AttributeError, OSError, RuntimeError, TypeError):
        return False
    word = ctypes.c_size_t
    head = 2 * ctypes.sizeof(word)
    for sample in samples:
        # Where a mode of PyTorch is active, tensors may be of other types.
        is_plain = type(sample) in (torch.Tensor, torch.nn.Parameter)
        if not is_plain or word.from_address(id(sample) + head).value != sample._cdata:
            return False
    caller = _caller()
    caller.reader(*getters)
    return all(caller.agrees(sample, api) for sample in samples)


def _samples(torch: Any) -> list[Any]:
    """Makes tensors that callers of C might treat differently. PyTorch reads them all: it logs what it cannot read."""
    plain = torch.zeros((4, 3), device="cpu")
    pairs = torch.zeros(3, dtype=torch.complex64, device="cpu")
    needing = torch.zeros(2, device="cpu", requires_grad=True)
    with torch.enable_grad():
        derived = needing * 2
    return [
        plain,
        plain.t()[1:],
        plain[1:, ::2],
        plain[0, 0],
        torch.zeros((2, 0), device="cpu"),
        torch.zeros((2,) * 7, device="cpu"),
        pairs.conj(),
        pairs.conj().imag,
        needing,
        derived,
        torch.nn.Parameter(plain),
    ]


def _address(exchange: Any) -> int:
    """Returns the address of an exchange API, which is a number or a capsule."""
    if exchange is None or isinstance(exchange, int):
        return exchange or _OTHER
    return address_in(exchange, b"dlpack_exchange_api")
