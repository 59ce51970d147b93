"""The syntax of generated hosts: the text of a file to its tree. Templates are read as their pattern."""

from __future__ import annotations

import re

from cpp import (
    Block,
    Braces,
    Break,
    Class,
    Declare,
    Evaluate,
    Expr,
    File,
    For,
    Function,
    If,
    Parameter,
    Return,
    Statement,
    Switch,
    Type,
    Unreadable,
)
from expressions import Expressions


class Parser(Expressions):
    """Reads the declarations and statements of a file."""

    def __init__(self, text: str, path: str):
        super().__init__(text, path)
        self.file = File(path, includes=re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M))
        self.template: tuple[str, ...] = ()

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


def parse(text: str, path: str) -> File:
    """Returns the tree of a file's text; raises Unreadable."""
    return Parser(text, path).parse()
