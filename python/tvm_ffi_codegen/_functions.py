"""The functions of a library as attributes and items of one object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import tvm_ffi

from . import _calls


class Part(NamedTuple):
    """A function as the library has made it, with what is known of it."""

    name: str
    function: tvm_ffi.Function
    metadata: Mapping[str, Any] | None
    docs: str | None


class Functions:
    """The functions of a library: `m.f` or `m["f"]`, and `for name in m`. No method hides a function; `m["f"]` also finds
    one whose name is an attribute of every object, such as `__class__`.

    A function owns its code, which is freed with the last function, however that is held. `m()` calls the function that
    the option `entry` has named. As an argument of a function this is `m.module()`.
    """

    __slots__ = ("__dict__", "__weakref__", "__tvm_ffi_make__", "__tvm_ffi_parts__")

    __tvm_ffi_parts__: dict[str, Part]
    __tvm_ffi_make__: Callable[[], tvm_ffi.Module]

    def __init__(self, parts: Iterable[Part], make: Callable[[], tvm_ffi.Module]) -> None:
        by_name = {part.name: part for part in parts}
        object.__setattr__(self, "__tvm_ffi_parts__", by_name)
        object.__setattr__(self, "__tvm_ffi_make__", make)
        self.__dict__.update({name: _calls.native(*part) for name, part in by_name.items()})

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = self.__dict__[name]
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def __call__(self, *arguments: Any) -> Any:
        if "main" not in self:
            raise TypeError("no function to call: the option `entry` names one")
        return self["main"](*arguments)

    def __dir__(self) -> Iterable[str]:
        return [*self, *(name for name in ("module",) if name not in self)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Python asks for what is not there. The type is that of what is: checkers know no declarations.
        raise AttributeError(f"no function {name!r}: there is {', '.join(self) or 'none'}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"cannot set {name!r}: the functions are those of the declarations")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: the functions are those of the declarations")

    def __repr__(self) -> str:
        return f"<{', '.join(map(_signature, self.__tvm_ffi_parts__.values())) or 'no functions'}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Prints itself in a notebook: a line for each function, below it the first line of its documentation."""
        for index, part in enumerate(self.__tvm_ffi_parts__.values()):
            if index:
                printer.break_()
            printer.text(_signature(part))
            first = (part.docs or "").partition("\n")[0]
            if first:
                printer.break_()
                printer.text(f"    {first}")
        if not self.__tvm_ffi_parts__:
            printer.text("no functions")

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle functions: send the text of their declarations, or a shared library")

    def module(self) -> tvm_ffi.Module:
        """Returns a module of the functions, which the runtime keeps for the rest of the process. That of a library that was
        compiled into this process has its own copy of the code, made by the first call."""
        return self.__tvm_ffi_make__()

    def __tvm_ffi_object__(self) -> tvm_ffi.Module:
        return self.__tvm_ffi_make__()


def owning(rows: Iterable[Iterable[Any]], make: Callable[[], tvm_ffi.Module]) -> Functions:
    """Returns functions that the shared object has made without a module."""

    def part(row: Iterable[Any]) -> Part:
        name, function, metadata, docs = row
        return Part(str(name), function, None if metadata is None else json.loads(metadata), docs)

    return Functions(map(part, rows), make)


def of_module(module: tvm_ffi.Module, names: Iterable[str]) -> Functions:
    """Returns functions of a module, which they keep."""

    def part(name: str) -> Part:
        function = _calls.function_of(module.get_function(name))
        return Part(name, function, module.get_function_metadata(name), module.get_function_doc(name))

    return Functions(map(part, names), lambda: module)


def metadata(functions: Functions | tvm_ffi.Module, name: str) -> Any:
    """Returns the metadata of a function; `None` if it has none, or is not there."""
    if isinstance(functions, Functions):
        part = functions.__tvm_ffi_parts__.get(name)
        return None if part is None else part.metadata
    return functions.get_function_metadata(name)


def docs(functions: Functions | tvm_ffi.Module, name: str) -> str | None:
    """Returns the documentation of a function; `None` if it has none."""
    if isinstance(functions, Functions):
        return functions.__tvm_ffi_parts__[name].docs
    found: str | None = functions.get_function_doc(name)
    return found


def _signature(part: Part) -> str:
    """Returns the signature of a function, its name if that is not known."""
    return part.name if part.metadata is None else str(part.metadata["declaration"]["signature"])
