"""Targets of XLA that call functions by way of jax-tvm-ffi.

jax-tvm-ffi has 1,024 places for targets in a process and gives none back. So a target is not a function here but a *form* of
calls: for each parameter `r`, an argument, `u`, an argument whose memory a result gets, or `w`, a result. All functions of a
form share its target, and an attribute of the call says which is meant. The target is a function of this library, which
keeps what it has found (`cached`); it calls no Python.

The attribute is a text of seven digits to base 36. jax-tvm-ffi 0.1.3 keeps each number that comes as an attribute for the
rest of the process, 16 bytes per call, and frees longer texts before it calls.
"""

from __future__ import annotations

import collections
import ctypes
import hashlib
import threading

import jax_tvm_ffi
import tvm_ffi

from ._api import jit
from ._functions import Functions

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH = 7

_FIND = "tvm_ffi_codegen.jax_function"

# Guards the tables below.
_LOCK = threading.Lock()

# Functions by their keys, for the rest of the process, as programs of XLA may call them. Keys by the addresses of functions.
_FUNCTIONS: dict[str, tvm_ffi.Function] = {}
_KEYS: dict[int, str] = {}

# How many keys there are for a signature.
_COUNTS: collections.Counter[str] = collections.Counter()

# The functions of targets by their forms, and the targets and platforms that are registered.
_FORMS: dict[str, Functions] = {}
_TARGETS: set[tuple[str, str]] = set()


def target(
    function: tvm_ffi.Function, signature: str, form: str, platform: str, graph: bool, own: str | None
) -> tuple[str, str]:
    """Returns the name of a form's target, whose calls XLA may capture in graphs or not, and the attribute `function`
    with which it calls this function: that of a name of its own, if it has one."""
    # jax-tvm-ffi knows no other name of GPUs.
    platform = platform if platform == "cpu" else "gpu"
    with _LOCK:
        key = _key(function, signature) if own is None else _own_key(function, own)
        name = f"tvm_ffi_codegen.{form}{'.graph' if graph else ''}"
        if form not in _FORMS:
            _FORMS[form] = jit(_declarations(form), {"strtoll": ctypes.CDLL(None).strtoll}, metadata=False)
        if (name, platform) not in _TARGETS:
            call, spec = _FORMS[form]["call"], ["attrs.function", "args", "rets"]
            jax_tvm_ffi.register_ffi_target(name, call, spec, platform=platform, allow_cuda_graph=graph)
            _TARGETS.add((name, platform))
        # From here on the target knows the function. XLA's threads would have to wait for the interpreter.
        _FORMS[form]["find"](key)
        return name, key


def _key(function: tvm_ffi.Function, signature: str) -> str:
    """Returns the key of a function: the same in every process in which as many functions of its signature were asked
    for before."""
    if (key := _KEYS.get(function.__chandle__())) is not None:
        return key
    key = ""
    while not key or key in _FUNCTIONS:
        key = _digits(f"{signature}\n{_COUNTS[signature]}")
        _COUNTS[signature] += 1
    # The function is kept so that no other gets its address.
    _KEYS[function.__chandle__()], _FUNCTIONS[key] = key, function
    return key


def _own_key(function: tvm_ffi.Function, own: str) -> str:
    """Returns the key of a function that has a name of its own."""
    key = _digits(own)
    if _FUNCTIONS.setdefault(key, function).__chandle__() != function.__chandle__():
        raise ValueError(f"the target {own} is that of another function")
    return key


def _digits(text: str) -> str:
    """Returns digits of a hash of a text."""
    number, found = int.from_bytes(hashlib.sha256(text.encode()).digest(), "little"), ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        found += _DIGITS[digit]
    return found


def _declarations(form: str) -> str:
    """Returns the declarations of a form's target, `call`: it is given a key, the arguments and the results, and calls the
    function of the key with each tensor once, in the order of the parameters. What is updated is passed as the result, whose
    memory is that of the argument or a copy of it."""
    arguments = [f"a{index}" for index, one in enumerate(form) if one != "w"]
    results = [f"r{index}" for index, one in enumerate(form) if one != "r"]
    passed = [f"{'a' if one == 'r' else 'r'}{index}" for index, one in enumerate(form)]
    params = "".join(f", {name}: Any" for name in arguments + results)
    return (
        "find(key: str) -> Function = {"
        f" let number: int64 = strtoll(key.data, null, int32({len(_DIGITS)}));"
        f' let f: Function = cached (number) @"{_FIND}"(key);'
        " return f; };"
        f"call(key: str{params}) -> None = {{ let f: Function = @find(key); @(f)({', '.join(passed)}); }};"
    )


def _find(key: str) -> tvm_ffi.Function:
    """Returns the function of a key."""
    if (function := _FUNCTIONS.get(str(key))) is None:
        raise RuntimeError(
            f"no function of this process has the key {key}: a program that another process has compiled or exported calls "
            "the functions that `jax_target` has got there; it needs the same calls of `jax_target` here, those for equal "
            "signatures in the same order or with names, `target=`"
        )
    return function


tvm_ffi.register_global_func(_FIND, _find, override=True)
