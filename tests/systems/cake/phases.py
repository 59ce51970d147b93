"""Calls of functions of hosts: of those that do all at once, and of the two phases of a stage.

The second phase follows the first one if that has not refused, and SUBMIT stands between their records. What the
original's submitter does is done for both: the device of the first tensor is made current before, and a stream of that
device is handed on, here one that is not the environment's. Ours holds what it needs: when it is submitted, nobody else
has references to the tensors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from calls import POINTER, Any, Kept, Machine, Outcome, Payload
from evaluation import TensorValue, Value
from facts import Function
from original import Original
from ours import Ours
from stages import ENTRIES

# A value, with the kind of its parameter.
Values = Sequence[tuple[Value, str]]
Call = Callable[[Values], Outcome]

# What stands in a record where a second phase begins.
SUBMIT = "submit"

PrepareStage = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Any), ctypes.c_int32, ctypes.c_void_p)
SubmitStage = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def of_original(library: Original, function: Function, machine: Machine) -> Call:
    """Returns what calls an original's function."""
    if not function.has_phases:
        return at_once(library.function(function.name), machine)
    addresses = [machine.number(library.function(name)) for name in ENTRIES]
    prepare, submit = PrepareStage(addresses[0]), SubmitStage(addresses[1])

    def call(values: Values) -> Outcome:
        kept = Kept()
        given = objects(values, kept, machine)
        stream = begin(values, machine)
        status = prepare(given, len(values), stream)
        record = machine.record()
        if not status:
            status = submit(stream)
            record = (*record, SUBMIT, *machine.record())
        refusal = machine.refusal() if status else None
        machine.release(kept)
        return Outcome(refusal, record)

    return call


def of_ours(library: Ours, function: Function, machine: Machine) -> Call:
    """Returns what calls a function of ours."""
    pointer = library.function(function.name)
    if not function.has_phases:
        return at_once(pointer, machine)

    def call(values: Values) -> Outcome:
        kept = Kept()
        given = objects(values, kept, machine)
        stream = begin(values, machine)
        submit, result = Any(), Any()
        status = pointer(None, given, len(values), ctypes.byref(submit))
        machine.release(kept)
        record = machine.record()
        if not status:
            handle = ctypes.c_void_p(submit.value.pointer)
            on = Any(POINTER, 0, Payload(pointer=stream))
            status = machine.runtime.TVMFFIFunctionCall(handle, ctypes.byref(on), 1, ctypes.byref(result))
            machine.runtime.TVMFFIObjectDecRef(handle)
            record = (*record, SUBMIT, *machine.record())
        return Outcome(machine.refusal() if status else None, record)

    return call


def at_once(function: ctypes._NamedFuncPointer, machine: Machine) -> Call:
    return lambda values: machine.call(function, values)


def objects(values: Values, kept: Kept, machine: Machine) -> ctypes.Array[Any]:
    """Returns arguments whose tensors are objects, which a function may hold."""
    return (Any * max(len(values), 1))(*[machine.element(value, kind, kept) for value, kind in values])


def begin(values: Values, machine: Machine) -> int | None:
    """Makes the device of the first tensor current; returns the stream to submit on."""
    device = next((value.device[1] for value, _ in values if isinstance(value, TensorValue)), 0)
    machine.record()
    machine.cudart.cudaSetDevice(device)
    return None if machine.stream(device) else machine.make_stream(device)
