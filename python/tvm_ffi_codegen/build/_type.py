"""Types of parameters, results and values of the body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import Any, Literal as Choice, TypeAlias, Union as Either

from . import _text
from ._expression import Expr, Name, Operand, expression
from ._operation import Cast
from ._part import Part, Writer, part, tuple_of
from ._text import lane_alignment, literal, quoted, reads_as_dtype, spelled

TypeLike: TypeAlias = Either["Type", str]
"""What stands for a type: one, or a word that is one, such as "int64", "str", "Function" or "Array"."""

DimLike: TypeAlias = Either["AnyDim", "Dots", "Folded", EllipsisType, Operand]
"""What stands for a dim: an expression, `any_dim`, `...` for leading dims, or `folded(name)` for their product."""

Value: TypeAlias = None | bool | int | float | str
"""A literal, in a type or as a default."""


class Type(Part):
    """A type of a value."""


def type_of(value: TypeLike) -> Type:
    """Returns the type that a value stands for.

    >>> print(type_of("int64"), type_of("Array"), type_of("Tensor"))
    int64 Array[Any] Tensor
    """
    if isinstance(value, Type):
        return value
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} stands for no type: {value!r}")
    if value in _text.SCALARS:
        return Scalar(value)
    if value in _text.LEAVES:
        return Leaf(value)
    if value in _text.CLASSES:
        return ObjectClass(value)
    bare = {"Shape": Shape, "Array": Array, "List": List, "Map": Map, "Dict": Dict}.get(value)
    if bare is None:
        raise ValueError(f"`{value}` is no word for a type")
    return bare()


def name_of(value: str | Name) -> str:
    """Returns a name, which may be given as an expression."""
    if isinstance(value, Name):
        return value.name
    if isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} is no name: {value!r}")


@part
class Scalar(Type):
    """A number or an address. As a function it builds a conversion.

    >>> from tvm_ffi_codegen.build import symbols
    >>> n, = symbols("n")
    >>> print(Scalar("int32"), Scalar("int32")(n + 1))
    int32 int32(n + 1)
    """

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name not in _text.SCALARS:
            raise ValueError(f"`{self.name}` is no scalar type")

    def __call__(self, value: Operand) -> Expr:
        return Cast(self.name, expression(value))

    def _print(self, out: Writer) -> None:
        out.put(self.name)


@part
class Leaf(Type):
    """A type without parts: `str`, `bytes`, `dtype`, `Device`, `Any` or `Stream`."""

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name not in _text.LEAVES:
            raise ValueError(f"`{self.name}` is no type without parts")

    def _print(self, out: Writer) -> None:
        out.put(self.name)


@part
class ObjectClass(Type):
    """Objects of a class: `Function`, `Module`, `Tensor`, `Object`, or `Object["my.Class"]` with a type key."""

    name: str = "Object"
    key: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name not in _text.CLASSES:
            raise ValueError(f"`{self.name}` is no class of objects")
        if self.key is not None and self.name != "Object":
            raise ValueError(f"`{self.name}` has no type key, `Object` has")

    @staticmethod
    def of(key: str) -> ObjectClass:
        """Builds the class with this type key, and classes derived from it."""
        return ObjectClass("Object", key)

    def _print(self, out: Writer) -> None:
        out.put(self.name if self.key is None else f"Object[{quoted(self.key)}]")


@part
class AnyDim(Part):
    """`_`: any number, as `any_dim`."""

    def _print(self, out: Writer) -> None:
        out.put("_")


@part
class Dots(Part):
    """`...`: any number of leading dims."""

    def _print(self, out: Writer) -> None:
        out.put("...")


@part
class Folded(Part):
    """`outer...`: all leading dims as one, whose extent is their product."""

    name: str

    def _print(self, out: Writer) -> None:
        out.put(spelled(self.name), "...")


Dim: TypeAlias = AnyDim | Dots | Folded | Expr

any_dim = AnyDim()
"""Any extent, stride or number."""


def folded(name: str | Name) -> Folded:
    """Builds `outer...`, the first entry of a tensor's shape."""
    return Folded(name_of(name))


def _dims(values: Iterable[DimLike], what: str) -> tuple[Dim, ...]:
    return tuple(map(_dim, tuple_of(values, what)))


def _dim(value: DimLike) -> Dim:
    if value is ...:
        return Dots()
    if isinstance(value, (AnyDim, Dots, Folded)):
        return value
    if isinstance(value, (str, bool)) or value is None:
        raise TypeError(f"a dim is a number or an expression, not {value!r}: `symbols` makes names")
    return expression(value)


@part
class Shape(Type):
    """A shape, or an array or list of integers; `Shape()` has any numbers.

    >>> from tvm_ffi_codegen.build import symbols
    >>> n, = symbols("n")
    >>> print(Shape(), Shape([n, 2, any_dim]))
    Shape Shape([n, 2, _])
    """

    dims: tuple[Dim, ...]

    def __init__(self, dims: Iterable[DimLike] = (...,)) -> None:
        self._set(dims=_dims(dims, "the numbers of a shape"))

    def _print(self, out: Writer) -> None:
        if [type(dim) for dim in self.dims] == [Dots]:
            return out.put("Shape")
        out.enclosed("Shape([", self.dims, "])")


@part
class Tensor(Type):
    """A tensor: its extents, element types and options, which hold their defaults where they are left out.

    `dtype` is an element type, several of which a call passes any, "any" for every one, or the name that an earlier
    tensor has given to its element type by `symbol`. `strides` are "contiguous", "any", or one for each declared dim, in elements. `align` is
    in bytes. `access` says what a function does with the elements that it is given.

    >>> from tvm_ffi_codegen.build import symbols
    >>> n, m, s, T = symbols("n m s T")
    >>> print(Tensor([n, m // 2 * 2 + 1], "float16", strides=[s, 1], device="cuda"))
    Tensor([n, m / 2 * 2 + 1], float16, strides=[s, 1], device=cuda)
    >>> print(Tensor([n], ["float16", "bfloat16"], symbol=T), Tensor([..., n], T, strides=[s]), sep="; ")
    Tensor([n], T: float16|bfloat16); Tensor([..., n], T, strides=[..., s])
    >>> print(Tensor([folded("rows"), 64], "float32", align=16))
    Tensor([rows..., 64], float32, align=16)
    >>> print(Tensor([n], "float32", access="read"))
    Tensor([n], float32, access=read)
    """

    shape: tuple[Dim, ...]
    dtype: tuple[str, ...]
    symbol: str | None
    strides: tuple[Dim, ...] | Choice["contiguous", "any"]
    device: str
    align: int | None
    storage: bool
    access: Choice["update", "read", "write"]

    def __init__(
        self,
        shape: Iterable[DimLike],
        dtype: str | Name | Sequence[str] = (),
        *,
        symbol: str | Name | None = None,
        strides: Iterable[DimLike] | Choice["contiguous", "any"] = "contiguous",
        device: str = "cpu",
        align: int | None = None,
        storage: bool = False,
        access: Choice["update", "read", "write"] = "update",
    ) -> None:
        if isinstance(dtype, Name):
            symbol, dtype = dtype, ()
        dtypes = (dtype,) if isinstance(dtype, str) else tuple_of(dtype, "the element types of a tensor")
        for one in dtypes:
            if not (isinstance(one, str) and (_text.is_dtype(one) or one == _text.ANY_DTYPE)):
                raise ValueError(f"{one!r} is no element type")
        if not dtypes and symbol is None:
            raise ValueError("a tensor has an element type, or the name of one")
        if device not in _text.DEVICES:
            raise ValueError(f"{device!r} is no type of device")
        if access not in _text.ACCESSES:
            raise ValueError(f'access is "update", "read" or "write", not {access!r}')
        natural = min(map(lane_alignment, dtypes), default=None)
        extents = _dims(shape, "the extents of a tensor")
        self._set(
            shape=extents,
            dtype=dtypes,
            symbol=None if symbol is None else name_of(symbol),
            strides=_strides(strides, extents),
            device=device,
            align=None if align == natural and align is not True else align,
            storage=storage,
            access=access,
        )

    def _print(self, out: Writer) -> None:
        out.enclosed("Tensor([", self.shape, "], ")
        if self.symbol is not None:
            out.put(f"`{self.symbol}`" if reads_as_dtype(self.symbol) else spelled(self.symbol))
            out.put(": " if self.dtype else "")
        out.join(self.dtype, "|")
        if isinstance(self.strides, tuple):
            dots = isinstance(self.shape[0], Dots) and len(self.shape) > 1 if self.shape else False
            out.enclosed(f", strides=[{'..., ' if dots else ''}", self.strides, "]")
        elif self.strides != "contiguous":
            out.put(f", strides={self.strides}")
        if self.device != "cpu":
            out.put(f", device={self.device}")
        if self.align is not None:
            out.put(f", align={self.align}")
        if self.storage:
            out.put(", dtypes=storage")
        if self.access != "update":
            out.put(f", access={self.access}")
        out.put(")")


def _strides(given: Any, extents: tuple[Dim, ...]) -> tuple[Dim, ...] | str:
    """Returns strides, without the dots of leading dims, which the extents have too."""
    if isinstance(given, str):
        if given not in ("contiguous", "any"):
            raise ValueError(f'strides are "contiguous", "any" or a list, not {given!r}')
        return given
    dims = _dims(given, "the strides of a tensor")
    if not (dims and isinstance(dims[0], Dots)):
        return dims
    if not (len(extents) > 1 and isinstance(extents[0], Dots)):
        raise ValueError("strides begin with `...` where the extents do, before others")
    return dims[1:]


@part
class Array(Type):
    """`Array[of]`, an immutable array."""

    of: Type

    def __init__(self, of: TypeLike = "Any") -> None:
        self._set(of=type_of(of))

    def _print(self, out: Writer) -> None:
        out.put("Array[", self.of, "]")


@part
class List(Type):
    """`List[of]`, a mutable list."""

    of: Type

    def __init__(self, of: TypeLike = "Any") -> None:
        self._set(of=type_of(of))

    def _print(self, out: Writer) -> None:
        out.put("List[", self.of, "]")


@part
class Map(Type):
    """`Map[key, value]`, an immutable map."""

    key: Type
    value: Type

    def __init__(self, key: TypeLike = "Any", value: TypeLike = "Any") -> None:
        self._set(key=type_of(key), value=type_of(value))

    def _print(self, out: Writer) -> None:
        out.enclosed("Map[", [self.key, self.value], "]")


@part
class Dict(Type):
    """`Dict[key, value]`, a mutable map."""

    key: Type
    value: Type

    def __init__(self, key: TypeLike = "Any", value: TypeLike = "Any") -> None:
        self._set(key=type_of(key), value=type_of(value))

    def _print(self, out: Writer) -> None:
        out.enclosed("Dict[", [self.key, self.value], "]")


@part
class Optional(Type):
    """`Optional[of]`: None or a value of the type."""

    of: Type

    def __init__(self, of: TypeLike) -> None:
        self._set(of=type_of(of))

    def _print(self, out: Writer) -> None:
        out.put("Optional[", self.of, "]")


@part
class NamedElement(Part):
    """`name: type`, an element of a tuple that has a name."""

    name: str
    type: Type

    def __init__(self, name: str | Name, type: TypeLike) -> None:
        self._set(name=name_of(name), type=type_of(type))

    def _print(self, out: Writer) -> None:
        out.put(spelled(self.name), ": ", self.type)


@part
class Tuple(Type):
    """`Tuple[a, b]`: an array with a fixed number of elements.

    >>> print(Tuple(["int64", NamedElement("f", "Function"), Union(["str", Literal([None, 2])])]))
    Tuple[int64, f: Function, Union[str, Literal[None, 2]]]
    """

    elements: tuple[Type | NamedElement, ...]

    def __init__(self, elements: Iterable[TypeLike | NamedElement]) -> None:
        given = tuple_of(elements, "the elements of a tuple")
        self._set(elements=tuple(one if isinstance(one, NamedElement) else type_of(one) for one in given))

    def _print(self, out: Writer) -> None:
        out.enclosed("Tuple[", self.elements, "]")


@part
class Union(Type):
    """`Union[a, b]`: a value of one of several types."""

    types: tuple[Type, ...]

    def __init__(self, types: Iterable[TypeLike]) -> None:
        self._set(types=tuple(map(type_of, tuple_of(types, "the types of a union"))))

    def _print(self, out: Writer) -> None:
        out.enclosed("Union[", self.types, "]")


@part
class Literal(Type):
    """`Literal[1, "a"]`: one of several literals."""

    values: tuple[Value, ...]

    def __init__(self, values: Iterable[Value]) -> None:
        self._set(values=tuple_of(values, "the values of a literal"))

    def _print(self, out: Writer) -> None:
        out.enclosed("Literal[", map(literal, self.values), "]")
