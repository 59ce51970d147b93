"""Calls of functions of hosts: of those that do all at once, and of the two phases of a stage.

The second phase follows the first one if that has not refused, and SUBMIT stands between their records. What the
original's submitter does is done for both: the device of the first tensor is made current before, and a stream of that
device is handed on. The submitter submits once; here each stage is submitted three times, on two streams of which one
is the environment's. Ours holds what it needs: when it is submitted, nobody else has references to the tensors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TypeAlias

from calls import POINTER, Any, Kept, Machine, Outcome, Payload, Refusal
from evaluation import TensorValue, Value
from facts import Function
from original import Original
from ours import Ours
from stages import ENTRIES

# A value, with the kind of its parameter.
Values = Sequence[tuple[Value, str]]
Call = Callable[[Values], Outcome]
Pointer: TypeAlias = "ctypes._NamedFuncPointer"

# What stands in a record where a second phase begins.
SUBMIT = "submit"

PrepareStage = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Any), ctypes.c_int32, ctypes.c_void_p)
SubmitStage = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def of_original(library: Original, function: Function, machine: Machine) -> Call:
    """Returns what calls an original's function."""
    if not function.has_phases:
        return at_once(library.function(function.name), machine)
    first, second = addresses(library, machine)
    prepare_stage, submit_stage = PrepareStage(first), SubmitStage(second)

    def call(values: Values) -> Outcome:
        kept = Kept()
        given = objects(values, kept, machine)
        streams = begin(values, machine)
        status = prepare_stage(given, len(values), streams[0])
        record = machine.record()
        if not status:
            status = any(submit_stage(stream) for stream in streams)
            record = (*record, SUBMIT, *machine.record())
        refusal = machine.refusal() if status else None
        machine.release(kept)
        return Outcome(refusal, record)

    return call


def addresses(library: Original, machine: Machine) -> tuple[int, int]:
    """Returns where the two phases of an original are."""
    first, second = (machine.number(library.function(name)) for name in ENTRIES)
    return first, second


def of_ours(library: Ours, function: Function, machine: Machine) -> Call:
    """Returns what calls a function of ours."""
    pointer = library.function(function.name)
    if not function.has_phases:
        return at_once(pointer, machine)

    def call(values: Values) -> Outcome:
        streams = begin(values, machine)
        prepared = prepare(pointer, values, machine)
        record = machine.record()
        if isinstance(prepared, Refusal):
            return Outcome(prepared, record)
        refusals = (submit(prepared, stream, machine) for stream in streams)
        refusal = next(filter(None, refusals), None)
        give_back([prepared], machine)
        return Outcome(refusal, (*record, SUBMIT, *machine.record()))

    return call


def prepare(function: Pointer, values: Values, machine: Machine) -> int | Refusal:
    """Calls the first phase of ours; returns the function that is the second one."""
    kept, result = Kept(), Any()
    status = function(None, objects(values, kept, machine), len(values), ctypes.byref(result))
    machine.release(kept)
    return machine.refusal() if status else int(result.value.pointer)


def submit(prepared: int, stream: int | None, machine: Machine) -> Refusal | None:
    """Calls the second phase of ours."""
    handle, on, result = ctypes.c_void_p(prepared), Any(POINTER, 0, Payload(pointer=stream)), Any()
    status = machine.runtime.TVMFFIFunctionCall(handle, ctypes.byref(on), 1, ctypes.byref(result))
    return machine.refusal() if status else None


def give_back(prepared: Sequence[int], machine: Machine) -> None:
    for handle in prepared:
        machine.runtime.TVMFFIObjectDecRef(ctypes.c_void_p(handle))


def at_once(function: Pointer, machine: Machine) -> Call:
    """Returns what calls a function that does all at once."""
    return lambda values: machine.call(function, values)


def objects(values: Values, kept: Kept, machine: Machine) -> ctypes.Array[Any]:
    """Returns arguments whose tensors are objects, which a function may hold."""
    return (Any * max(len(values), 1))(*[machine.element(value, kind, kept) for value, kind in values])


def begin(values: Values, machine: Machine) -> Sequence[int | None]:
    """Makes the device of the first tensor current; returns the streams to submit on, one after the other."""
    device = next((value.device[1] for value, _ in values if isinstance(value, TensorValue)), 0)
    machine.record()
    machine.cudart.cudaSetDevice(device)
    environment = machine.stream(device)
    other = None if environment else machine.make_stream(device)
    return other, environment, other
