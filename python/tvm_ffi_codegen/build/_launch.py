"""Launches of GPU kernels, tensor maps, and commands on memory and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, Union

from ._expression import Expr, Name, Operand, expression, expressions
from ._map import TensorMap
from ._part import Part, Writer, part, tuple_of
from ._statement import Statement
from ._text import label, quoted, spelled
from ._type import name_of

ArgLike: TypeAlias = Union["LaunchArg", Operand]
"""What stands for an argument of a launch: one, or an operand."""

Fields: TypeAlias = Union[Operand, "list[Operand]", "tuple[Operand, ...]"]
"""Extents, or the fields of an attribute: one, or a sequence."""

ATTRIBUTES = {
    **{"cluster": range(1, 4), "preferred_cluster": range(1, 4), "cooperative": range(1), "pdl": range(1)},
    **{"priority": range(1, 2), "mem_sync_domain": range(1, 2)},
}
"""The attributes that have a word, with the numbers of their fields."""

@part
class Struct(Part):
    """`struct(a, b)`: a struct with C layout."""

    fields: tuple[LaunchArg, ...]

    def __init__(self, fields: Iterable[ArgLike]) -> None:
        self._set(fields=launch_args(fields))

    def _print(self, out: Writer) -> None:
        out.enclosed("struct(", self.fields, ")")


@part
class Scratch(Part):
    """`scratch(bytes, align)`: the address of device memory that is released after the launch; sizes in bytes."""

    bytes: Expr
    align: int

    def __init__(self, bytes: Operand, align: int) -> None:
        self._set(bytes=expression(bytes), align=align)

    def _print(self, out: Writer) -> None:
        out.put("scratch(", self.bytes, f", {self.align})")


@part
class BytesOf(Part):
    """`bytes(x, 64)`: a struct whose bytes are the first of a contiguous tensor on the cpu."""

    tensor: Expr
    size: int

    def __init__(self, tensor: Operand, size: int) -> None:
        self._set(tensor=expression(tensor), size=size)

    def _print(self, out: Writer) -> None:
        out.put("bytes(", self.tensor, f", {self.size})")


LaunchArg: TypeAlias = Expr | Struct | Scratch | TensorMap | BytesOf


def launch_args(args: Iterable[ArgLike]) -> tuple[LaunchArg, ...]:
    """Returns the arguments of a launch that values stand for."""
    given = tuple_of(args, "the arguments of a launch")
    return tuple(one if isinstance(one, (Struct, Scratch, TensorMap, BytesOf)) else expression(one) for one in given)


@part
class LetMap(Statement):
    """`let m = tensormap(x, box=[64, 64]);`: a tensor map that launches take by its name."""

    name: str
    map: TensorMap

    def __init__(self, name: str | Name, map: TensorMap) -> None:
        self._set(name=name_of(name), map=map)

    def _print(self, out: Writer) -> None:
        out.put(f"let {spelled(self.name)} = ", self.map, ";")


@part
class Attribute(Part):
    """A launch attribute by its word, `cluster(2)`, or by its number, `attribute(13, int32(1))`."""

    kind: str | int
    fields: tuple[Expr, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.kind, str) and self.kind not in ATTRIBUTES:
            raise ValueError(f"{self.kind!r} is no attribute, expected one of {', '.join(ATTRIBUTES)} or a number")

    def _print(self, out: Writer) -> None:
        if isinstance(self.kind, int):
            return out.enclosed("attribute(", [str(self.kind), *self.fields], ")")
        out.put(self.kind)
        if self.fields:
            out.enclosed("(", self.fields, ")")


@part
class Launch(Statement):
    """`launch image."kernel"(args) grid(n) block(128);`: starts a GPU kernel. Grid and block have one to three extents.

    `smem` is in bytes. `attributes` maps words (`cluster`, `preferred_cluster`, `cooperative`, `pdl`, `priority`,
    `mem_sync_domain`), or numbers of other attributes, to their fields: one, a list, or True for a flag.

    >>> from tvm_ffi_codegen.build import ceildiv, symbols
    >>> x, n = symbols("x n")
    >>> print(Launch("code", "k", [x.data, Scratch(n * 4, 16)], grid=ceildiv(n, 128), block=128,
    ...              attributes={"cluster": [2, 1], "pdl": True}, on=x))
    launch code."k"(x.data, scratch(n * 4, 16)) grid(ceildiv(n, 128)) block(128) cluster(2, 1) pdl on x;
    """

    image: str
    gpu_kernel: str
    args: tuple[LaunchArg, ...]
    grid: tuple[Expr, ...]
    block: tuple[Expr, ...]
    smem: Expr | None
    attributes: tuple[Attribute, ...]
    on: Expr | None
    stream: Expr | None

    def __init__(
        self,
        image: str,
        gpu_kernel: str,
        args: Iterable[ArgLike],
        *,
        grid: Fields,
        block: Fields,
        smem: Operand = None,
        attributes: Mapping[str, Fields] | Mapping[int, Fields] | Mapping[str | int, Fields] | Iterable[Attribute] = (),
        on: Expr | None = None,
        stream: Expr | None = None,
    ) -> None:
        listed = attributes.items() if isinstance(attributes, Mapping) else ()
        given = tuple(_attribute(kind, fields) for kind, fields in listed)
        self._set(
            image=image,
            gpu_kernel=gpu_kernel,
            args=launch_args(args),
            grid=_extents(grid, "the extents of a grid"),
            block=_extents(block, "the extents of a block"),
            smem=None if smem is None else expression(smem),
            attributes=given if isinstance(attributes, Mapping) else tuple_of(attributes, "attributes"),
            on=on,
            stream=stream,
        )

    def _print(self, out: Writer) -> None:
        out.put(f"launch {label(self.image)}.{quoted(self.gpu_kernel)}")
        out.enclosed("(", self.args, ")")
        out.enclosed(" grid(", self.grid, ")")
        out.enclosed(" block(", self.block, ")")
        if self.smem is not None:
            out.put(" smem(", self.smem, ")")
        for attribute in self.attributes:
            out.put(" ", attribute)
        _put_target(out, self.on, self.stream)
        out.put(";")


def _extents(given: Fields, what: str) -> tuple[Expr, ...]:
    several = isinstance(given, (list, tuple))
    extents = expressions(given, what) if several else (expression(given),)  # type: ignore[arg-type]
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"{what} are one to three, not {len(extents)}")
    return extents


def _attribute(kind: str | int, given: Fields) -> Attribute:
    """Returns the attribute of an entry of a mapping."""
    if given is True:
        fields: tuple[Expr, ...] = ()
    elif isinstance(given, (list, tuple)):
        fields = expressions(given, "the fields of an attribute")
    else:
        fields = (expression(given),)
    attribute = Attribute(kind, fields)
    if isinstance(kind, str) and len(fields) not in ATTRIBUTES[kind]:
        raise ValueError(f"the attribute {kind} has not {len(fields)} fields")
    return attribute


def _put_target(out: Writer, on: Expr | None, stream: Expr | None) -> None:
    """Prints device and stream of a command."""
    if on is not None:
        out.put(" on ", on)
    if stream is not None:
        out.put(" stream ", stream)


@part
class Upload(Statement):
    """`upload p (a, b) on x;`: writes values into device memory, laid out as C lays out a struct."""

    to: Expr
    values: tuple[LaunchArg, ...]
    on: Expr | None
    stream: Expr | None

    def __init__(
        self, to: Expr, values: Iterable[ArgLike], *, on: Expr | None = None, stream: Expr | None = None
    ) -> None:
        self._set(to=expression(to), values=launch_args(values), on=on, stream=stream)

    def _print(self, out: Writer) -> None:
        out.put("upload ", self.to)
        out.enclosed(" (", self.values, ")")
        _put_target(out, self.on, self.stream)
        out.put(";")


@part
class Fill(Statement):
    """`fill p, bytes, value on x;`: sets every byte of device memory to a value."""

    to: Expr
    bytes: Expr
    value: Expr
    on: Expr | None
    stream: Expr | None

    def __init__(
        self, to: Expr, bytes: Operand, value: Operand, *, on: Expr | None = None, stream: Expr | None = None
    ) -> None:
        self._set(to=expression(to), bytes=expression(bytes), value=expression(value), on=on, stream=stream)

    def _print(self, out: Writer) -> None:
        out.enclosed("fill ", [self.to, self.bytes, self.value], "")
        _put_target(out, self.on, self.stream)
        out.put(";")


@part
class Copy(Statement):
    """`copy to, from, bytes on x;`: copies memory. Both addresses are valid on the device."""

    to: Expr
    source: Expr
    bytes: Expr
    on: Expr | None
    stream: Expr | None

    def __init__(
        self, to: Expr, source: Expr, bytes: Operand, *, on: Expr | None = None, stream: Expr | None = None
    ) -> None:
        self._set(to=expression(to), source=expression(source), bytes=expression(bytes), on=on, stream=stream)

    def _print(self, out: Writer) -> None:
        out.enclosed("copy ", [self.to, self.source, self.bytes], "")
        _put_target(out, self.on, self.stream)
        out.put(";")


@part
class Wait(Statement):
    """`wait a, b;`: makes stream `a` wait for the work that stream `b` has been given so far."""

    waiter: Expr
    other: Expr
    on: Expr | None

    def __init__(self, waiter: Expr, other: Expr, *, on: Expr | None = None) -> None:
        self._set(waiter=expression(waiter), other=expression(other), on=on)

    def _print(self, out: Writer) -> None:
        out.enclosed("wait ", [self.waiter, self.other], "")
        _put_target(out, self.on, None)
        out.put(";")
