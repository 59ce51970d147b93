"""Stages of a route: hosts of two phases, which a submitter calls by the addresses that they hand out. It makes the
device of a stage's first tensor current, prepares every stage of a call, and then submits each on one stream."""

from __future__ import annotations

import cpp
import facts
from cpp import Unreadable
from execute import Executor
from facts import Number, Ref
from values import Cell, FunctionValue, Given, Pointer

# Exported functions that return the addresses of a stage's two phases.
ENTRIES = ("prepare_entry", "submit_entry")


def stage(
    host: Executor, prepare: cpp.Function, submit: cpp.Function, parameters: tuple[facts.Parameter, ...]
) -> facts.Function:
    """Returns the two phases as one function, which takes the parameters of the host that launches at once."""
    stream = Cell(facts.SUBMITTED)
    first = next((each.name for each in parameters if each.kind == "tensor"), None)
    if first is None:
        raise Unreadable("a stage without a tensor")
    host.write(host.current, Number("device_id", Ref(first)))
    host.call(phase(host, prepare), [Cell(Given(parameters)), Cell(facts.Count(), "i32"), stream], 0)
    with host.aside() as (steps, _):
        host.call(phase(host, submit), [stream], 0)
    host.note(facts.Later(tuple(steps)))
    return facts.Function("prepare", parameters, tuple(host.steps))


def phase(host: Executor, entry: cpp.Function) -> cpp.Function:
    """Returns the function whose address an entry returns."""
    address = host.call(entry, [], 0)
    if isinstance(address, Pointer) and isinstance(address.to.value, FunctionValue):
        return address.to.value.function
    raise Unreadable(f"{entry.name} returns something else than the address of a function")
