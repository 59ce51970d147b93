"""The parser: items, signatures, statements and calls."""

from __future__ import annotations

from collections.abc import Callable

from ._call import Call, FunctionCall, KernelCall, StatusError
from ._declaration import Closure, Constraint, Function, Image, Library, Param, Signature
from ._expression import OPERATORS, Expr
from ._launch import LetMap
from ._parse_expression import closed, expr
from ._parse_launch import COMMANDS, tensor_map
from ._parse_type import result, tensor, type_, value
from ._statement import NOTHING, Alloc, Arm, CallStatement, For, If, Let, Location, Match, Raise, Return, Statement
from ._text import is_reserved
from ._type import type_of
from ._token import Cursor


def library(at: Cursor) -> Library:
    """Parses images and functions."""
    images: list[Image] = []
    functions: list[Function] = []
    while at.token.kind != "end":
        if at.is_word("image") and not at.opens():
            at.take()
            images.append(_image(at))
        else:
            functions.append(function(at))
    return Library(functions, images)


def _image(at: Cursor) -> Image:
    """Parses the name of an image, and the function that is called after it is loaded, up to and including `;`."""
    name, on_load = at.word("the name of an image"), None
    if at.is_word("on"):
        at.take()
        if not at.is_word("load"):
            at.wrong("`load`")
        at.take()
        at.expect("@", "`@` and the name of a function in quotes")
        on_load = at.quoted("the name of a function in quotes")
    at.expect(";", "`on load` or `;`" if on_load is None else "`;`")
    return Image(name, on_load)


def function(at: Cursor) -> Function:
    """Parses documentation, location, `extern`, signature and body, up to and including `;`."""
    docs, location = _docs(at), _location(at)
    external = at.is_word("extern") and not at.opens()
    if external:
        at.take()
    if at.is_word("def", "fn", "fun", "func", "function") and at.next().kind == "word":
        at.wrong("the name of a function")
    signed = signature(at)
    at.expect("=", "an operator, `else`, `,` or `=`" if signed.constraints else "`where` or `=`")
    return Function(signed, _body(at), docs=docs, location=location, external=external)


def _body(at: Cursor) -> KernelCall | tuple[Statement, ...]:
    """Parses a body, up to and including `;`."""
    if at.is_sign("{"):
        body = block(at, "`{`")
        at.expect(";")
        return body
    expected = "the symbol to call or `{`"
    if _starts_statement(at) and not at.opens():
        at.wrong(expected)
    return _kernel_call(at, expected)


def closure(at: Cursor) -> Closure:
    """Parses a function that a body makes."""
    at.enter()
    signed = signature(at)
    at.leave()
    return Closure(signed, block(at, "an operator, `else`, `,` or `{`" if signed.constraints else "`where` or `{`"))


def _docs(at: Cursor) -> str:
    lines = []
    while at.token.kind == "doc":
        lines.append(at.take().removeprefix("///").removesuffix("\r").removeprefix(" "))
    return "\n".join(lines)


def _location(at: Cursor) -> Location | None:
    if not at.accept("@"):
        return None
    file = at.quoted("a file in quotes")
    at.expect(":")
    most = (1 << 31) - 1
    line = at.natural("the number of a line, up to 2147483647", most)
    return Location(file, line, at.natural("the number of a column, up to 2147483647", most) if at.accept(":") else 0)


def signature(at: Cursor) -> Signature:
    """Parses name, parameters, result and constraints."""
    name = at.label("the name of a function")
    at.expect("(")
    params = at.list(")", _param)
    at.expect("->")
    returned = result(at)
    where = []
    if at.accept_word("where"):
        where.append(_constraint(at))
        while at.accept(","):
            where.append(_constraint(at))
    return Signature(name, params, returned, where)


def _param(at: Cursor) -> Param:
    docs = _docs(at)
    variadic = at.accept("*")
    name = at.name("the name of a parameter")
    at.expect(":")
    ty = type_(at)
    default = value(at) if at.accept("=") else NOTHING
    return Param(name, ty, default=default, docs=docs, variadic=variadic)


def _constraint(at: Cursor) -> Constraint:
    condition = expr(at)
    return Constraint(condition, at.quoted("a message in quotes") if at.accept_word("else") else None)


def block(at: Cursor, expected: str) -> tuple[Statement, ...]:
    """Parses statements in braces; `expected` names what else may stand there."""
    at.expect("{", expected)
    at.blocks += 1
    statements = []
    while not at.accept("}"):
        is_location = at.is_sign("@") and at.next().kind == "quoted" and at.next(2).text == ":"
        location = _location(at) if is_location else None
        statement = _statement(at)
        if location is not None:
            statement = statement.at(location.file, location.line, location.column)
        statements.append(statement)
    at.blocks -= 1
    return tuple(statements)


def _statement(at: Cursor) -> Statement:
    """Parses a statement. Words of statements before `(` are C functions, except `if` and `return`, and unless an
    expression in parentheses goes on, as in `fill (p + 4) * 2, 1, n;`."""
    at.statement()
    if _starts_statement(at):
        return _STATEMENTS[at.take()](at)
    if at.is_word("while", "elif", "break", "assert", "continue") and not at.opens():
        at.wrong("a statement or `}`")
    return CallStatement(_call(at, "a statement or `}`"))


def _starts_statement(at: Cursor) -> bool:
    """Returns true where a statement other than a call starts."""
    word = at.token.text if at.token.kind == "word" else ""
    # An expression follows, which may begin with a parenthesis.
    is_call = at.is_call() if word in ("fill", "copy", "upload", "wait") else at.opens()
    return word in ("if", "return") or word in _STATEMENTS and not is_call


def _if(at: Cursor) -> Statement:
    branches = [_branch(at)]
    while at.accept_word("else"):
        if not at.accept_word("if"):
            return If(branches, block(at, "`if` or `{`"))
        branches.append(_branch(at))
    return If(branches)


def _branch(at: Cursor) -> tuple[Expr, tuple[Statement, ...]]:
    return expr(at), block(at, "an operator or `{`")


def _for(at: Cursor) -> Statement:
    name = at.name("the name of a counter")
    if not at.accept_word("in"):
        at.wrong("`in`")
    start = expr(at)
    at.expect("..", "an operator or `..`")
    return For(name, start, *_branch(at))


def _match(at: Cursor) -> Statement:
    matched = expr(at)
    at.expect("{", "an operator or `{`")
    arms = []
    while not at.accept("}"):
        arms.append(_arm(at))
    return Match(matched, arms)


def _arm(at: Cursor) -> Arm:
    name, ty = None, None
    if not at.accept_word("None"):
        name = None if at.accept_word("_") else at.name("the name of a value, `_`, `None` or `}`")
        at.expect(":")
        ty = type_(at)
    at.expect("=>")
    return Arm(name, ty, block(at, "`{`"))


def _return(at: Cursor) -> Statement:
    if at.accept(";"):
        return Return()
    returned = expr(at)
    at.expect(";", "an operator or `;`")
    return Return(returned)


def _error_kind(at: Cursor) -> str:
    """Skips the kind of an error: words with dots between them."""
    kind = at.word("a kind of error such as `ValueError`")
    while at.accept("."):
        kind += "." + at.word("the rest of a kind of error")
    return kind


def _raise(at: Cursor) -> Statement:
    return Raise(_error_kind(at), at.list(";", expr, "an operator, `,` or `;`"))


def _let(at: Cursor) -> Statement:
    name = at.name()
    if at.accept(":"):
        ty = type_(at)
        at.expect("=")
        expected = "a call, as an expression is named without a type"
        # A C function may have this name, but makes nothing of this type.
        if at.is_word("function") and ty == type_of("Function"):
            at.wrong(expected)
        return CallStatement(_call(at, expected), name, ty)
    at.expect("=", "`:` or `=`")
    if at.is_sign("@") and at.next().kind in ("word", "name"):
        return CallStatement(_call(at, "a call"), name)
    # `alloc` is a name if an operator or the end follows.
    if at.is_word("alloc") and at.next().kind == "word" and at.next().text not in OPERATORS:
        at.take()
        allocated = tensor(at) if at.is_word("Tensor") else at.wrong("`Tensor`")
        on = expr(at) if at.accept_word("on") else None
        at.expect(";", "`on` or `;`" if on is None else "an operator or `;`")
        return Alloc(name, allocated, on)
    if at.is_word("tensormap") and at.opens():
        named: Statement = LetMap(name, tensor_map(at))
    else:
        named = Let(name, expr(at))
    at.expect(";", "an operator or `;`")
    return named


_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    **{"if": _if, "return": _return, "let": _let, "for": _for, "match": _match, "raise": _raise},
    **COMMANDS,
}


def _call(at: Cursor, expected: str) -> Call:
    """Parses a call of any kind, up to and including `;`; `expected` names what may stand there."""
    keys: tuple[Expr, ...] = ()
    if at.is_word("cached") and at.opens():
        at.take()
        at.expect("(")
        keys = _arguments(at)
        # A C function may have this name.
        if not at.is_sign("@"):
            at.expect(";", "`@` or `;`")
            return KernelCall("cached", keys)
        if not keys:
            at.wrong("`;`, as a cached call has a key")
    if not at.accept("@"):
        return _kernel_call(at, expected)
    by_name = at.token.kind == "quoted"
    callee: str | Expr
    if by_name:
        callee = at.quoted()
    elif at.accept("("):
        callee = closed(at)
    else:
        callee = at.label("the name of a function, a name in quotes or `(`")
    at.expect("(")
    args = _arguments(at)
    into: tuple[Expr, ...] = ()
    if not at.accept_word("into"):
        at.expect(";", "`into` or `;`")
    elif at.is_sign(";"):
        at.wrong("a tensor")
    else:
        into = at.list(";", expr, "an operator, `,` or `;`")
    return FunctionCall(callee, args, into, by_name, keys)


def _arguments(at: Cursor) -> tuple[Expr, ...]:
    """Parses arguments, and the parenthesis that closes them."""
    return at.list(")", expr, "an operator, `,` or `)`")


def _kernel_call(at: Cursor, expected: str) -> KernelCall:
    """Parses a call of a C function, up to and including `;`; `expected` names what may stand there."""
    returns_status = at.accept_word("try")
    callee: str | Expr
    if at.accept("("):
        callee = closed(at)
    elif at.token.kind == "word" and not is_reserved(at.token.text):
        callee = at.take()
    else:
        callee = at.quoted("the symbol to call" if returns_status else expected)
    at.expect("(")
    args = _arguments(at)
    status: tuple[StatusError, ...] | None = () if returns_status else None
    if returns_status and at.accept_word("errors"):
        at.expect("{")
        status = at.list("}", _status_error)
    at.expect(";", "`errors` or `;`" if status == () else "`;`")
    return KernelCall(callee, args, status)


def _status_error(at: Cursor) -> StatusError:
    status = None if at.accept_word("_") else at.signed(32, "a status other than 0, or `_`")
    at.expect(":")
    kind = _error_kind(at)
    return StatusError(status, kind, at.quoted("a message in quotes"))
