"""The values of expressions of a generated host, and the variables that hold them. What the host takes from CUDA and
from the runtime is in `runtime.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import cpp
import facts
import runtime
from cpp import Unreadable
from facts import Const, Expr, Item, Ref
from notes import Notes
from program import Program
from values import (
    TYPES,
    ArrayArg,
    Cell,
    Choice,
    Code,
    FunctionValue,
    Given,
    Hidden,
    Kernel,
    ListValue,
    OptionalArg,
    Packed,
    Pointer,
    StructValue,
    TensorArg,
    Text,
    Untyped,
    Value,
    convert,
    copied,
    expr,
    infix,
    is_expr,
    literal,
    negate,
    select,
    simple,
    status,
)


class Evaluator(Notes, ABC):
    """The state of a function that is followed: its names and its notes."""

    def __init__(self, program: Program, path: str):
        super().__init__(path)
        self.program = program
        self.names: dict[str, Cell] = {}
        self.statics: dict[int, Cell] = {}
        self.current: Cell = Cell(facts.Current(), "i32")
        self.encoders = 0
        # True while a variable is made that has no value in its declaration.
        self.is_unset = False
        self.loops = 0

    # Functions, which are followed by the heir.

    @abstractmethod
    def call(
        self, function: cpp.Function, arguments: Sequence[Cell], line: int, template: Sequence[Value] = ()
    ) -> Value:
        """Enters a function of the host; returns its value."""

    @abstractmethod
    def enter(self, function: cpp.Function, arguments: Sequence[Cell], fields: dict[str, Cell], line: int) -> None:
        """Follows a constructor, which sees the fields."""

    # New values.

    @contextmanager
    def making(self, is_unset: bool) -> Iterator[None]:
        """Makes numbers without a value, or zeros."""
        outer, self.is_unset = self.is_unset, is_unset
        try:
            yield
        finally:
            self.is_unset = outer

    def declare(self, statement: cpp.Declare) -> None:
        """Makes a variable. One that outlives the call has its first value."""
        if statement.type.reference and statement.value is not None and not statement.is_array:
            self.names[statement.name] = self.cell(statement.value)
            return
        with self.making(not statement.type.static):
            cell = Cell(self.initial(statement), simple(statement.type))
        if statement.type.pointer and not statement.is_array:
            cell.step = self.pointee(statement)
        self.names[statement.name] = cell

    def pointee(self, statement: cpp.Declare) -> int:
        """Returns the size of that to which a new pointer points, or 0."""
        try:
            if statement.type.name == "auto" and statement.value is not None:
                return self.step(statement.value)
            return runtime.size(self, cpp.Type(statement.type.name))
        except Unreadable:
            return 0

    def initial(self, statement: cpp.Declare) -> Value:
        """Returns what a variable or a field holds at first."""
        with self.making(self.is_unset and statement.value is None):
            return self.declared(statement)

    def declared(self, statement: cpp.Declare) -> Value:
        type_, value = statement.type, statement.value
        if statement.is_array:
            return self.array(statement)
        if isinstance(value, cpp.Braces) and value.type is None:
            return self.construct(type_, value.items, statement.line)
        if value is None:
            return self.construct(type_, (), statement.line)
        result = self.value(value)
        number = simple(type_)
        return convert(expr(result), number) if number and is_expr(result) else result

    def array(self, statement: cpp.Declare) -> Value:
        items = statement.value.items if isinstance(statement.value, cpp.Braces) else ()
        values = [self.value(item) for item in items]
        number = simple(statement.type)
        extent = self.constant(statement.extent) if statement.extent else len(values)
        while len(values) < extent:
            values.append(self.construct(statement.type, (), statement.line))
        if number:
            values = [convert(expr(value), number) if is_expr(value) else value for value in values]
        return ListValue([Cell(value, number) for value in values])

    def construct(self, type_: cpp.Type, items: Sequence[cpp.Expr], line: int) -> Value:
        """Makes a value of a type from the values in its braces or parentheses, or its first value without them."""
        number = simple(type_)
        if number:
            if items:
                return convert(expr(self.value(items[0])), number)
            return facts.Unset(number) if self.is_unset else Const(0, number)
        constructor = self.program.functions.get(f"{type_.name}::{type_.name}")
        if type_.name in self.program.classes:
            return self.build(self.program.classes[type_.name], type_, items, constructor, line)
        return runtime.construct(self, type_.name, [self.value(item) for item in items], line)

    def build(
        self,
        class_: cpp.Class,
        type_: cpp.Type,
        items: Sequence[cpp.Expr],
        constructor: cpp.Function | None,
        line: int,
    ) -> Value:
        """Makes a value of a class of the host."""
        if class_.name in runtime.HIDDEN:
            return Hidden(class_.name)
        if class_.name == "CakeParamArray":
            element, count = (self.value(each) if isinstance(each, cpp.Literal) else each for each in type_.arguments)
            if isinstance(element, cpp.Type) and isinstance(count, Const):
                return Packed(runtime.size(self, element) * int(count.value))
        arguments = [self.cell(item) for item in items]
        outer = self.names
        self.names = outer | {name: Cell(self.value(value)) for name, value in zip(class_.template, of_template(type_))}
        fields = {each.name: Cell(self.initial(each), simple(each.type)) for each in class_.fields}
        self.names = outer
        if constructor is not None:
            self.names = outer | fields
            with self.making(False):
                self.enter(constructor, arguments, fields, line)
            self.names = outer
        else:
            for cell, argument in zip(fields.values(), arguments):
                cell.value = convert(expr(argument.value), cell.type) if cell.type else argument.value
        return StructValue(class_.name, fields)

    # Expressions.

    def evaluate(self, tree: cpp.Expr, line: int) -> None:
        """Follows an expression that stands as a statement; checks are such."""
        first = tree
        while isinstance(first, cpp.Infix) and first.op == "<<":
            first = first.left
        if isinstance(first, cpp.Call) and isinstance(first.function, cpp.Name):
            if runtime.checks(self, first.function.name, first.arguments, first.function.line):
                return
        self.value(tree)

    def condition(self, tree: cpp.Expr) -> Expr:
        return convert(expr(self.value(tree), "a condition"), "bool")

    def constant(self, tree: cpp.Expr) -> int:
        value = self.value(tree)
        if not isinstance(value, Const):
            raise Unreadable("a number that is no constant")
        return int(value.value)

    def value(self, tree: cpp.Expr | cpp.Type) -> Value:
        match tree:
            case cpp.Type():
                return self.value(cpp.Name(tree.name, 0)) if tree.name in self.names else Text(tree.name)
            case cpp.Literal():
                return literal(tree.text)
            case cpp.Text():
                return Text(tree.value)
            case cpp.Infix(op="=") | cpp.Infix(op="+=") | cpp.Infix(op="-=") | cpp.Infix(op="*=") | cpp.Infix(op="|="):
                return self.assign(tree)
            case cpp.Infix():
                return self.infix(tree)
            case cpp.Prefix():
                return self.prefix(tree)
            case cpp.Conditional():
                return self.conditional(tree)
            case cpp.Convert():
                return self.cast(tree)
            case cpp.Braces():
                return self.braces(tree)
            case cpp.Call():
                return self.called(tree)
            case cpp.Opaque(what="sizeof"):
                return Const(runtime.size(self, tree.type), "u64")
            case cpp.Opaque():
                return Hidden(tree.what)
            case cpp.Name() | cpp.Member() | cpp.Index():
                return self.cell(tree).value
        raise Unreadable(f"{tree}")

    def cell(self, tree: cpp.Expr) -> Cell:
        """Returns the variable that an expression names, or a new one that holds its value."""
        match tree:
            case cpp.Name():
                return self.named(tree)
            case cpp.Member():
                return self.member(tree)
            case cpp.Index():
                return self.item(tree)
            case cpp.Prefix(op="*"):
                value = self.value(tree.value)
                if isinstance(value, Pointer):
                    return value.to
                if isinstance(value, OptionalArg):
                    return Cell(runtime.inner(value))
                return Cell(value)
        return Cell(self.value(tree))

    def named(self, tree: cpp.Name) -> Cell:
        name = tree.name
        if name in self.names:
            return self.names[name]
        if name in self.program.variables:
            return self.outside(self.program.variables[name])
        if name in self.program.kernels:
            return Cell(Kernel(name + self.instance(tree.arguments), self.program.kernels[name]))
        if name in self.program.functions:
            return Cell(FunctionValue(self.program.functions[name]))
        return Cell(runtime.named(name))

    def outside(self, declared: cpp.Declare) -> Cell:
        """Returns a variable of the file. One that is static stays what it is from one function to the next."""
        if id(declared) in self.statics:
            return self.statics[id(declared)]
        with self.making(False):
            cell = Cell(self.initial(declared), simple(declared.type))
        if declared.type.static:
            self.statics[id(declared)] = cell
        return cell

    def instance(self, arguments: Sequence[cpp.Type | cpp.Expr]) -> str:
        """Returns the arguments of a template as they stand in a kernel's name."""
        values = [self.value(argument) for argument in arguments]
        words = [str(value.value) if isinstance(value, (Const, Text)) else "?" for value in values]
        return f"<{', '.join(words)}>" if words else ""

    def member(self, tree: cpp.Member) -> Cell:
        of = self.value(tree.of)
        if isinstance(of, Pointer):
            of = of.to.value
        if isinstance(of, StructValue):
            if tree.name not in of.fields:
                raise Unreadable(f"line {tree.line}: {of.type} has no {tree.name}")
            return of.fields[tree.name]
        if isinstance(of, Hidden):
            return Cell(Hidden(tree.name))
        raise Unreadable(f"line {tree.line}: .{tree.name} of {type(of).__name__}")

    def item(self, tree: cpp.Index) -> Cell:
        of, index = self.value(tree.of), self.value(tree.index)
        if isinstance(of, Hidden):
            return Cell(Hidden("an item"))
        if isinstance(of, ArrayArg):
            if of.numbers:
                return Cell(Item("at", of.ref, convert(expr(index), "i64")))
            if not isinstance(index, Const):
                raise Unreadable(f"line {tree.line}: an element of {of.ref} at an index that is no constant")
            return Cell(TensorArg(Ref(of.ref.name, int(index.value))))
        if isinstance(of, Given):
            if not isinstance(index, Const) or index.value >= len(of.parameters):
                raise Unreadable(f"line {tree.line}: an argument that is none of the parameters")
            return Cell(Untyped(of.parameters[int(index.value)]))
        if isinstance(of, ListValue):
            if not isinstance(index, Const):
                return self.pick(of, expr(index), tree.line)
            if not 0 <= int(index.value) < len(of.items):
                raise Unreadable(f"line {tree.line}: item {index.value} of {len(of.items)}")
            return of.items[int(index.value)]
        raise Unreadable(f"line {tree.line}: an item of {type(of).__name__}")

    def pick(self, of: ListValue, index: Expr, line: int) -> Cell:
        """Returns the item at an index that is known only at the call, of a list of numbers."""
        values = [item.value for item in of.items]
        if all(value == values[0] for value in values):
            return Cell(values[0])
        raise Unreadable(f"line {line}: an item at an index that is no constant")

    def assign(self, tree: cpp.Infix) -> Value:
        cell = self.cell(tree.left)
        value = self.value(tree.right)
        if isinstance(cell.value, Hidden):
            return value
        if tree.op != "=":
            value = infix(tree.op[:-1], expr(cell.value), expr(value))
        if cell.type and is_expr(value):
            value = convert(expr(value), cell.type)
        self.write(cell, copied(value))
        return cell.value

    def infix(self, tree: cpp.Infix) -> Value:
        left: Value = self.value(tree.left)
        if tree.op in ("&&", "||") and isinstance(left, Const) and bool(left.value) == (tree.op == "||"):
            return left
        right = self.value(tree.right)
        codes = [value for value in (left, right) if isinstance(value, Code)]
        if codes and tree.op in ("==", "!="):
            code = next((code for code in codes if code.function), codes[0])
            return status(code) if tree.op == "==" else negate(status(code))
        if isinstance(left, Hidden) and isinstance(right, Hidden) and tree.op in ("==", "!="):
            return Const(int(tree.op == "=="), "bool")  # a search of what has been kept finds nothing
        what = f"line {tree.line}: a side of {tree.op}"
        first, second = expr(left, what), expr(right, what)
        if tree.op in ("+", "-") and first.type == "ptr" and second.type != "ptr":
            second = infix("*", convert(second, "i64"), Const(self.step(tree.left), "i64"))
            return convert(infix(tree.op, first, second), "ptr")
        return infix(tree.op, first, second)

    def step(self, tree: cpp.Expr) -> int:
        """Returns the size of that to which a pointer points."""
        if isinstance(tree, cpp.Convert):
            return runtime.size(self, cpp.Type(tree.type.name))
        if isinstance(tree, cpp.Infix):
            return self.step(tree.left)
        if isinstance(tree, cpp.Name) and tree.name in self.names and self.names[tree.name].step:
            return self.names[tree.name].step
        raise Unreadable("a pointer to something of unknown size")

    def prefix(self, tree: cpp.Prefix) -> Value:
        if tree.op == "&":
            return Pointer(self.cell(tree.value))
        if tree.op == "*":
            return self.cell(tree).value
        if tree.op in ("++", "--"):
            cell = self.cell(tree.value)
            if not isinstance(cell.value, Hidden):
                self.write(cell, convert(infix(tree.op[0], expr(cell.value), Const(1, "i32")), cell.type))
            return cell.value
        value = self.value(tree.value)
        if isinstance(value, Hidden):
            return value
        if tree.op == "!":
            return negate(expr(value))
        if tree.op == "-":
            return infix("-", Const(0, expr(value).type), expr(value))
        return facts.Unary(tree.op, expr(value), expr(value).type)

    def conditional(self, tree: cpp.Conditional) -> Value:
        condition = self.condition(tree.condition)
        if isinstance(condition, Const):
            return self.value(tree.then if condition.value else tree.otherwise)
        then, otherwise = self.value(tree.then), self.value(tree.otherwise)
        if isinstance(then, Kernel) and isinstance(otherwise, Kernel):
            return Choice(condition, then, otherwise)
        return select(condition, expr(then), expr(otherwise))

    def cast(self, tree: cpp.Convert) -> Value:
        value = self.value(tree.value)
        number = simple(tree.type)
        if number and is_expr(value) and not isinstance(value, facts.Map):
            return convert(expr(value), number)
        return value

    def braces(self, tree: cpp.Braces) -> Value:
        if tree.type is not None:
            return self.construct(tree.type, tree.items, tree.line)
        return ListValue([Cell(self.value(item)) for item in tree.items])

    def called(self, tree: cpp.Call) -> Value:
        """Follows a call: of the runtime or CUDA, of a member, or of a function of the host."""
        if isinstance(tree.function, cpp.Member):
            of = self.value(tree.function.of)
            given = [self.cell(argument) for argument in tree.arguments]
            return runtime.method(self, of, tree.function, given, tree.line)
        if not isinstance(tree.function, cpp.Name):
            raise Unreadable(f"line {tree.line}: a call of another form")
        name = tree.function.name
        arguments = [self.cell(argument) for argument in tree.arguments]
        if name in runtime.FUNCTIONS:
            return runtime.FUNCTIONS[name](self, arguments, tree.function.line)
        if name in TYPES:
            return convert(expr(arguments[0].value), TYPES[name])
        held = self.names[name].value if name in self.names else None
        if isinstance(held, FunctionValue):
            return self.call(held.function, arguments, tree.line)
        if name not in self.program.functions:
            return runtime.construct(self, name, [cell.value for cell in arguments], tree.line)
        template = [self.value(argument) for argument in tree.function.arguments]
        return self.call(self.program.functions[name], arguments, tree.function.line, template)


def of_template(type_: cpp.Type) -> list[cpp.Expr | cpp.Type]:
    return list(type_.arguments)
