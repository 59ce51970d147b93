"""The syntax of the subset of C++ that generated hosts use: text to a tree.

Preprocessor lines are left out; of an `#if` both sides stand, since the hosts only guard declarations with them.
Templates are read as their pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Union

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#(?:[^\n\\]|\\\n|\\.)*)
      | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?|\d+[eE][-+]?\d+[fF]?|\d+[uUlL]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign><<=|>>=|\|=|&=|\^=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|::|\.\.\.|[-+*/%&|^~!<>=?:;,.(){}\[\]])""",
    re.X | re.S,
)


class Unreadable(Exception):
    """Why a host cannot be read: one line."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int


def tokens(text: str) -> list[Token]:
    found, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Unreadable(f"line {line}: {text[at]!r} starts no token")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match.group(), line))
        line += match.group().count("\n")
        at = match.end()
    found.append(Token("end", "", line))
    return found


# Types: names without qualifiers, and what stands after them.


@dataclass(frozen=True)
class Type:
    """A type: its name without namespace, the arguments of its template, whether it is a pointer or a reference, and
    `static` if its variable outlives the call."""

    name: str
    arguments: tuple[Type | Expr, ...] = ()
    pointer: bool = False
    reference: bool = False
    static: bool = False


# Expressions.


@dataclass(frozen=True)
class Literal:
    text: str
    line: int


@dataclass(frozen=True)
class Text:
    value: str


@dataclass(frozen=True)
class Name:
    """A name without its namespace; `scope` is the last one, for members of types."""

    name: str
    line: int
    scope: str = ""
    arguments: tuple[Type | Expr, ...] = ()


@dataclass(frozen=True)
class Call:
    function: Expr
    arguments: tuple[Expr, ...]
    line: int


@dataclass(frozen=True)
class Member:
    of: Expr
    name: str
    line: int
    arguments: tuple[Type | Expr, ...] = ()


@dataclass(frozen=True)
class Index:
    of: Expr
    index: Expr
    line: int


@dataclass(frozen=True)
class Prefix:
    """`-`, `!`, `~`, `&`, `*`, `++` and `--`, also behind their operand, where the result is not used."""

    op: str
    value: Expr
    line: int


@dataclass(frozen=True)
class Infix:
    """A binary operator, `=` and its kin among them."""

    op: str
    left: Expr
    right: Expr
    line: int


@dataclass(frozen=True)
class Conditional:
    condition: Expr
    then: Expr
    otherwise: Expr
    line: int


@dataclass(frozen=True)
class Convert:
    """A cast of any form."""

    type: Type
    value: Expr
    line: int


@dataclass(frozen=True)
class Braces:
    """A braced list, of a type where one stands before it."""

    items: tuple[Expr, ...]
    line: int
    type: Type | None = None


@dataclass(frozen=True)
class Opaque:
    """`new`, `sizeof` and lambdas, whose inside is not read; `type` is that of `sizeof` and `new`."""

    what: str
    type: Type | None
    line: int


Expr = Union[Literal, Text, Name, Call, Member, Index, Prefix, Infix, Conditional, Convert, Braces, Opaque]


# Statements.


@dataclass(frozen=True)
class Declare:
    """A variable; `extent` is that of an array, whose number of items may be left to its initial value."""

    type: Type
    name: str
    extent: Expr | None
    is_array: bool
    value: Expr | None
    line: int
    built: bool = False


@dataclass(frozen=True)
class Evaluate:
    expr: Expr
    line: int


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class For:
    start: Statement | None
    condition: Expr | None
    step: Expr | None
    body: tuple[Statement, ...]
    line: int


@dataclass(frozen=True)
class Switch:
    """Each case is its value, None for `default`, and its statements."""

    value: Expr
    cases: tuple[tuple[Expr | None, tuple[Statement, ...]], ...]
    line: int


@dataclass(frozen=True)
class Return:
    value: Expr | None
    line: int


@dataclass(frozen=True)
class Break:
    line: int


@dataclass(frozen=True)
class Block:
    body: tuple[Statement, ...]
    line: int


Statement = Union[Declare, Evaluate, If, For, Switch, Return, Break, Block]


# Declarations.


@dataclass(frozen=True)
class Parameter:
    type: Type
    name: str


@dataclass(frozen=True)
class Function:
    """A function; that of a class has its name in `scope`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...] | None
    line: int
    scope: str = ""
    template: tuple[str, ...] = ()


@dataclass(frozen=True)
class Class:
    name: str
    fields: tuple[Declare, ...]
    line: int
    template: tuple[str, ...] = ()


@dataclass
class File:
    """A file: its functions by name (those of classes `Class::name`), classes, constants, kernels with their
    parameters, includes, and the exported names with the functions behind them."""

    path: str
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    variables: dict[str, Declare] = field(default_factory=dict)
    kernels: dict[str, Function] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)


QUALIFIERS = {"const", "constexpr", "inline", "static", "thread_local", "extern", "explicit", "volatile", "typename", "mutable"}
DECORATIONS = {"__global__", "__device__", "__forceinline__", "__host__", "__restrict__", "__grid_constant__", "noexcept", "override"}
WORDS = {"unsigned", "signed", "long", "short", "int", "char", "double", "float", "bool", "void", "auto"}
CASTS = {"static_cast", "reinterpret_cast", "const_cast"}
TEMPLATES = {"cast", "Optional", "Array", "vector", "min", "max", "unordered_map", "atomic", "lock_guard", "Tuple", "map", "array", "pair", "numeric_limits", "tuple", "optional", "unique_lock", "get"}
SCALARS = {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "uintptr_t"}
POINTERS = {"cudaStream_t", "CUstream", "CUdeviceptr", "cudaEvent_t"}

# Precedence of binary operators, loosest first.
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "|=", "&=", "^=")


class Parser:
    """Reads the tokens of one file by recursive descent."""

    def __init__(self, text: str, path: str):
        self.tokens = tokens(text)
        self.at = 0
        self.file = File(path, includes=re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M))
        self.templates = set(TEMPLATES)
        self.template: tuple[str, ...] = ()

    # Tokens.

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, offset: int = 1) -> str:
        return self.tokens[min(self.at + offset, len(self.tokens) - 1)].text

    def sees(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind != "text"

    def take(self, *texts: str) -> bool:
        if self.sees(*texts):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self.token
        if not self.take(text):
            raise self.error(text)
        return token

    def error(self, wanted: str) -> Unreadable:
        return Unreadable(f"{self.file.path}:{self.token.line}: expected {wanted} but got {self.token.text!r}")

    def name(self) -> str:
        token = self.token
        if token.kind != "name":
            raise self.error("a name")
        self.at += 1
        return token.text

    def skip(self, opening: str, closing: str) -> None:
        """Skips what stands between a pair, nested ones included."""
        self.expect(opening)
        depth = 1
        while depth:
            if self.token.kind == "end":
                raise self.error(closing)
            depth += self.sees(opening)
            depth -= self.sees(closing)
            if closing == ">" and self.sees(">>"):
                depth -= 2
            self.at += 1

    # Files.

    def parse(self) -> File:
        self.items("")
        if self.token.kind != "end":
            raise self.error("the end")
        return self.file

    def items(self, end: str) -> None:
        while not self.sees(end) and self.token.kind != "end":
            self.item()

    def item(self) -> None:
        """Reads a declaration of a file or namespace."""
        if self.take("namespace"):
            self.namespace()
        elif self.take("using", "typedef", "static_assert", "friend"):
            while not self.take(";"):
                self.at += 1
        elif self.take(";"):
            pass
        elif self.take("template"):
            self.template = self.template_parameters()
        elif self.sees("TVM_FFI_DLL_EXPORT_TYPED_FUNC"):
            self.export()
        elif self.sees("struct", "class") and self.is_class():
            self.class_()
        elif self.sees("extern") and self.tokens[self.at + 1].kind == "text":
            self.at += 2
            if self.take("{"):
                self.items("}")
                self.expect("}")
        else:
            self.function_or_variable("")

    def namespace(self) -> None:
        while not self.take("{"):
            if self.take(";"):
                return
            self.at += 1
        self.items("}")
        self.expect("}")

    def template_parameters(self) -> tuple[str, ...]:
        start = self.at
        self.skip("<", ">")
        inside = self.tokens[start + 1 : self.at - 1]
        ends = [*(i for i, token in enumerate(inside) if token.text in ",="), len(inside)]
        return tuple(inside[end - 1].text for end in ends if end and inside[end - 1].kind == "name")

    def export(self) -> None:
        self.at += 1
        self.expect("(")
        exported = self.name()
        self.expect(",")
        path = [self.name()]
        while self.take("::"):
            path.append(self.name())
        self.expect(")")
        self.take(";")
        self.file.exports[exported] = path[-1]

    def is_class(self) -> bool:
        """Whether `struct` starts a declaration of a type rather than a variable of one."""
        at = self.at + 1
        while self.tokens[at].text not in ("{", ";", "(", "=", "end", ")"):
            if self.tokens[at].text in ("alignas", "__align__"):
                at += 3
            at += 1
        return self.tokens[at].text in ("{", ";")

    def class_(self) -> None:
        template, self.template = self.template, ()
        line = self.token.line
        self.at += 1
        while self.take("alignas", "__align__"):
            self.skip("(", ")")
        name = self.name()
        if self.take(";"):
            return
        if template:
            self.templates.add(name)
        while not self.sees("{"):
            self.at += 1
        self.expect("{")
        fields: list[Declare] = []
        while not self.take("}"):
            self.member(name, fields)
        self.take(";")
        self.file.classes[name] = Class(name, tuple(fields), line, template)

    def member(self, scope: str, fields: list[Declare]) -> None:
        if self.sees("public", "private", "protected") and self.peek() == ":":
            self.at += 2
        elif self.take("template"):
            self.template = self.template_parameters()
        elif self.take("using", "static_assert", "friend"):
            while not self.take(";"):
                self.at += 1
        elif self.take(";"):
            pass
        else:
            fields.extend(self.function_or_variable(scope))

    def function_or_variable(self, scope: str) -> list[Declare]:
        """Reads a function, which is noted, or variables, which are noted too outside of classes."""
        template, self.template = self.template, ()
        line = self.token.line
        decorations = self.decorations()
        self.take("explicit")
        destroys = self.take("~")
        if scope and self.sees(scope) and self.peek() == "(":
            type_, name = Type("void"), ("~" if destroys else "") + self.name()
        else:
            type_ = self.type()
            decorations |= self.decorations()
            if self.take("operator"):
                name = "operator" + self.operator()
            else:
                name = self.name()
        if self.sees("(") and not self.constructs():
            self.function(name, scope, template, "__global__" in decorations, line)
            return []
        declared = self.declarators(type_, name, line)
        if not scope:
            self.file.variables.update({each.name: each for each in declared})
        return declared

    def constructs(self) -> bool:
        """Whether a parenthesis after a name starts arguments: a number or text stands in it."""
        return self.tokens[self.at + 1].kind in ("number", "text")

    def operator(self) -> str:
        text = ""
        while not self.sees("(") or not text:
            text += self.token.text
            self.at += 1
            if text == "(":
                self.expect(")")
                return "()"
        return text

    def decorations(self) -> set[str]:
        found = set()
        while self.sees(*DECORATIONS, "__launch_bounds__", "[") or self.sees("alignas", "__align__"):
            found.add(self.token.text)
            if self.sees("["):
                self.skip("[", "]")
                continue
            self.at += 1
            if self.sees("("):
                self.skip("(", ")")
        return found

    def function(self, name: str, scope: str, template: tuple[str, ...], is_kernel: bool, line: int) -> None:
        if template:
            self.templates.add(name)
        parameters = self.parameters()
        while self.sees("const", "noexcept", "override"):
            self.at += 1
        if self.take("="):
            self.at += 1
        if self.take(":"):
            while not self.sees("{"):
                self.at += 1
        body: tuple[Statement, ...] | None = None
        if is_kernel and self.sees("{"):
            self.skip("{", "}")
        elif self.sees("{"):
            body = self.block()
        else:
            self.expect(";")
        function = Function(name, parameters, body, line, scope, template)
        if is_kernel:
            self.file.kernels[name] = function
        elif body is not None:
            self.file.functions[f"{scope}::{name}" if scope else name] = function

    def parameters(self) -> tuple[Parameter, ...]:
        self.expect("(")
        found: list[Parameter] = []
        while not self.take(")"):
            if self.take("..."):
                continue
            self.decorations()
            type_ = self.type()
            self.decorations()
            if self.take("("):  # a reference to an array: (&maps)[N]
                self.take("&")
                name = self.name()
                self.expect(")")
                self.skip("[", "]")
            else:
                name = self.name() if self.token.kind == "name" else ""
            while self.sees("["):
                self.skip("[", "]")
            if self.take("="):
                self.assignment()
            found.append(Parameter(type_, name))
            self.take(",")
        return tuple(found)

    # Types.

    def type(self) -> Type:
        static = self.qualifiers()
        if self.take("struct", "enum"):
            pass
        words = []
        while self.sees(*WORDS):
            words.append(self.name())
            static |= self.qualifiers()
        arguments: tuple[Type | Expr, ...] = ()
        if not words:
            self.take("::")
            words = [self.name()]
            while True:
                if self.sees("<"):
                    arguments = self.template_arguments()
                if not self.take("::"):
                    break
                words = [self.name()]
        static |= self.qualifiers()
        pointer = reference = False
        while self.sees("*", "&", "&&"):
            pointer |= self.sees("*")
            reference |= self.sees("&", "&&")
            self.at += 1
            self.qualifiers()
            self.decorations()
        return Type(" ".join(words), arguments, pointer, reference, static)

    def qualifiers(self) -> bool:
        static = False
        while self.sees(*QUALIFIERS, *DECORATIONS):
            static |= self.sees("static", "thread_local")
            self.at += 1
        return static

    def template_arguments(self) -> tuple[Type | Expr, ...]:
        self.expect("<")
        found: list[Type | Expr] = []
        while not self.take(">"):
            if self.sees(">>"):
                self.tokens[self.at] = Token("sign", ">", self.token.line)
                break
            if self.token.kind == "number" or self.sees("sizeof"):
                found.append(self.binary(len(LEVELS) - 2))
            else:
                found.append(self.type())
                if self.sees("("):
                    self.skip("(", ")")
            self.take(",")
        return tuple(found)

    # Statements.

    def block(self) -> tuple[Statement, ...]:
        self.expect("{")
        body: list[Statement] = []
        while not self.take("}"):
            body.extend(self.statement())
        return tuple(body)

    def body(self) -> tuple[Statement, ...]:
        return self.block() if self.sees("{") else tuple(self.statement())

    def statement(self) -> list[Statement]:
        line = self.token.line
        if self.sees("{"):
            return [Block(self.block(), line)]
        if self.take(";"):
            return []
        if self.take("if"):
            return [self.if_(line)]
        if self.take("for"):
            return [self.for_(line)]
        if self.take("switch"):
            return [self.switch(line)]
        if self.take("return"):
            value = None if self.sees(";") else self.expr()
            self.expect(";")
            return [Return(value, line)]
        if self.take("break"):
            self.expect(";")
            return [Break(line)]
        if self.take("using", "static_assert"):
            while not self.take(";"):
                self.at += 1
            return []
        if self.sees("asm"):
            while not self.take(";"):
                self.at += 1
            return []
        declared = self.declaration()
        if declared is not None:
            return list(declared)
        expr = self.expr()
        if not self.take(";") and not self.sees("}"):
            raise self.error(";")
        return [Evaluate(expr, line)]

    def if_(self, line: int) -> If:
        self.take("constexpr")
        self.expect("(")
        condition = self.expr()
        self.expect(")")
        then = self.body()
        otherwise = self.body() if self.take("else") else ()
        return If(condition, then, otherwise, line)

    def for_(self, line: int) -> For:
        self.expect("(")
        start = None
        if not self.take(";"):
            [start] = self.statement()
        condition = None if self.sees(";") else self.expr()
        self.expect(";")
        step = None if self.sees(")") else self.expr()
        self.expect(")")
        return For(start, condition, step, self.body(), line)

    def switch(self, line: int) -> Switch:
        self.expect("(")
        value = self.expr()
        self.expect(")")
        self.expect("{")
        cases: list[tuple[Expr | None, tuple[Statement, ...]]] = []
        while not self.take("}"):
            label = None
            if not self.take("default"):
                self.expect("case")
                label = self.expr()
            self.expect(":")
            body: list[Statement] = []
            while not self.sees("case", "default", "}"):
                body.extend(self.statement())
            cases.append((label, tuple(body)))
        return Switch(value, tuple(cases), line)

    def declaration(self) -> list[Declare] | None:
        """Reads variables, or returns None where an expression stands."""
        start = self.at
        if self.token.kind != "name":
            return None
        try:
            self.decorations()
            type_ = self.type()
            line = self.token.line
            name = self.name()
        except Unreadable:
            self.at = start
            return None
        if not self.sees("=", ";", "(", "[", "{", ","):
            self.at = start
            return None
        return self.declarators(type_, name, line)

    def declarators(self, type_: Type, name: str, line: int) -> list[Declare]:
        found = []
        while True:
            extent, is_array, value, built = None, False, None, False
            if self.take("["):
                is_array = True
                extent = None if self.sees("]") else self.expr()
                self.expect("]")
            if self.take("="):
                value = self.braces() if self.sees("{") else self.assignment()
            elif self.sees("{"):
                value = self.braces()
            elif self.sees("("):
                value, built = Braces(self.arguments(), line), True
            found.append(Declare(type_, name, extent, is_array, value, line, built))
            if not self.take(","):
                break
            name = self.name()
        self.expect(";")
        return found

    # Expressions.

    def expr(self) -> Expr:
        return self.assignment()

    def assignment(self) -> Expr:
        left = self.conditional()
        if self.sees(*ASSIGNMENTS):
            token = self.token
            self.at += 1
            right = self.braces() if self.sees("{") else self.assignment()
            return Infix(token.text, left, right, token.line)
        return left

    def conditional(self) -> Expr:
        condition = self.binary(0)
        line = self.token.line
        if not self.take("?"):
            return condition
        then = self.assignment()
        self.expect(":")
        return Conditional(condition, then, self.assignment(), line)

    def binary(self, level: int) -> Expr:
        if level == len(LEVELS):
            return self.prefix()
        left = self.binary(level + 1)
        while self.sees(*LEVELS[level]):
            token = self.token
            self.at += 1
            left = Infix(token.text, left, self.binary(level + 1), token.line)
        return left

    def prefix(self) -> Expr:
        token = self.token
        if self.take("-", "!", "~", "&", "*", "++", "--", "+"):
            return Prefix(token.text, self.prefix(), token.line)
        if self.take("sizeof"):
            self.expect("(")
            start = self.at
            type_ = self.type()
            if not self.take(")"):
                self.at = start
                self.expr()
                self.expect(")")
            return Opaque("sizeof", type_, token.line)
        if self.take("new"):
            type_ = self.type()
            if self.sees("("):
                self.arguments()
            elif self.sees("{"):
                self.braces()
            return Opaque("new", type_, token.line)
        cast = self.cast()
        return cast if cast is not None else self.postfix()

    def cast(self) -> Expr | None:
        """Reads a cast in C's form, or returns None."""
        start = self.at
        if not self.take("("):
            return None
        try:
            type_ = self.type()
        except Unreadable:
            self.at = start
            return None
        known = type_.pointer or type_.name in SCALARS | POINTERS or set(type_.name.split()) <= WORDS
        if not known or not self.take(")"):
            self.at = start
            return None
        return Convert(type_, self.prefix(), self.tokens[start].line)

    def postfix(self) -> Expr:
        expr = self.atom()
        while True:
            token = self.token
            if self.sees("("):
                expr = Call(expr, self.arguments(), token.line)
            elif self.take("["):
                index = self.expr()
                self.expect("]")
                expr = Index(expr, index, token.line)
            elif self.take(".", "->"):
                self.take("template")
                name = self.name()
                arguments = self.template_arguments() if name in self.templates and self.sees("<") else ()
                expr = Member(expr, name, token.line, arguments)
            elif self.take("++", "--"):
                expr = Prefix(token.text, expr, token.line)
            else:
                return expr

    def arguments(self) -> tuple[Expr, ...]:
        self.expect("(")
        found = []
        while not self.take(")"):
            found.append(self.braces() if self.sees("{") else self.assignment())
            self.take(",")
        return tuple(found)

    def braces(self, type_: Type | None = None) -> Braces:
        line = self.expect("{").line
        found: list[Expr] = []
        while not self.take("}"):
            found.append(self.braces() if self.sees("{") else self.assignment())
            self.take(",")
        return Braces(tuple(found), line, type_)

    def atom(self) -> Expr:
        token = self.token
        if token.kind == "number":
            self.at += 1
            return Literal(token.text, token.line)
        if token.kind == "text":
            text = ""
            while self.token.kind in ("text", "name"):  # a name is a macro for text
                text += self.token.text[1:-1]
                self.at += 1
            return Text(text)
        if self.take("("):
            expr = self.expr()
            self.expect(")")
            return expr
        if self.sees("["):
            self.skip("[", "]")
            if self.sees("("):
                self.skip("(", ")")
            while not self.sees("{"):
                self.at += 1
            self.skip("{", "}")
            return Opaque("lambda", None, token.line)
        return self.qualified()

    def qualified(self) -> Expr:
        """Reads a name with its namespaces, a cast of C++ or a type with braces."""
        token = self.token
        self.take("::")
        scope, name = "", self.name()
        if name in WORDS:
            self.at -= 1
            type_ = self.type()
            if self.sees("{"):
                return self.braces(type_)
            [value] = self.arguments()
            return Convert(type_, value, token.line)
        if name in CASTS:
            self.expect("<")
            type_ = self.type()
            self.expect(">")
            self.expect("(")
            value = self.expr()
            self.expect(")")
            return Convert(type_, value, token.line)
        arguments = self.instance(name)
        while self.take("::"):
            scope, name = name, self.name()
            arguments = self.instance(name)
        if self.sees("{"):
            return self.braces(Type(name, arguments))
        return Name(name, token.line, scope, arguments)

    def instance(self, name: str) -> tuple[Type | Expr, ...]:
        return self.template_arguments() if name in self.templates and self.sees("<") else ()


def parse(text: str, path: str) -> File:
    """Returns the tree of a file's text; raises Unreadable."""
    return Parser(text, path).parse()
