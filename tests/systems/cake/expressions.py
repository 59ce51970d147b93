"""Types and expressions: the lower half of the parser."""

from __future__ import annotations

from cpp import (
    Braces,
    Call,
    Conditional,
    Convert,
    Expr,
    Index,
    Infix,
    Literal,
    Member,
    Name,
    Opaque,
    Prefix,
    Text,
    Type,
    Unreadable,
)
from tokens import Token, Tokens

QUALIFIERS = set("const constexpr inline static thread_local extern explicit volatile typename mutable".split())
DECORATIONS = set(
    "__global__ __device__ __host__ __forceinline__ __restrict__ __grid_constant__ noexcept override".split()
)
WORDS = set("unsigned signed long short int char double float bool void auto".split())
CASTS = {"static_cast", "reinterpret_cast", "const_cast"}
SCALARS = set("int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t uintptr_t".split())
POINTERS = {"cudaStream_t", "CUstream", "CUdeviceptr", "cudaEvent_t"}

# Templates of the standard library and of the runtime; a `<` after any other name compares.
TEMPLATES = set(
    "cast Optional Array Tuple vector map unordered_map array pair tuple optional atomic lock_guard unique_lock get"
    " min max numeric_limits".split()
)

# Precedence of binary operators, loosest first.
LEVELS = [level.split() for level in ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")]
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "|=", "&=", "^=")


class Expressions(Tokens):
    """Reads types and expressions by recursive descent."""

    def __init__(self, text: str, path: str):
        super().__init__(text, path)
        self.templates = set(TEMPLATES)

    # Types.

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
