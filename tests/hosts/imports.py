"""Runs statements about libraries and what they import, and prints what each yields, one line for each.

Usage: imports.py RUNTIME FOLDER < STATEMENTS, where STATEMENTS is a JSON list of texts. An expression prints
its value, an error its class and the first line of its message, anything else an empty line.
"""

import ctypes
import json
import os
import sys

import tvm_ffi

LIBRARY_CTX = "__tvm_ffi__library_ctx"


def load(name):
    """Loads a library that is unloaded with the last reference to it."""
    return tvm_ffi.load_module(os.path.abspath(name), keep_module_alive=False)


def tree(module):
    """Returns the kinds of a module and of its imports."""
    imports = [tree(one) for one in module.imports]
    return (module.kind, *imports)


def context(name):
    """Returns whether the loader has written a context into a library; "none" if the library has no slot for it."""
    library = ctypes.CDLL(os.path.abspath(name))
    try:
        return bool(ctypes.c_void_p.in_dll(library, LIBRARY_CTX).value)
    except ValueError:
        return "none"


def system(blob):
    """Decodes an import tree with the runtime, as that of a new system library."""
    prefix = f"tree{len(blobs)}_"
    memory = ctypes.create_string_buffer(bytes.fromhex(blob)), ctypes.c_void_p()
    blobs.append(memory)
    register = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()).TVMFFIEnvModRegisterSystemLibSymbol
    for name, place in zip(["__tvm_ffi__library_bin", LIBRARY_CTX], memory):
        assert register((prefix + name).encode(), ctypes.byref(place)) == 0
    return tvm_ffi.system_lib(prefix)


def graph(root):
    """Returns for each module its `id`, or -1 for a library, and those of its imports."""
    number = lambda module: -1 if module.kind == "library" else module.id()
    found, left = {}, [root]
    while left:
        module = left.pop()
        if number(module) not in found:
            found[number(module)] = [number(one) for one in module.imports]
            left.extend(module.imports)
    return sorted(found.items())


def answer(name):
    """Returns the result of a function of a library that may not be completely loaded."""
    result = (ctypes.c_int64 * 2)()
    status = ctypes.CDLL(os.path.abspath(name)).__tvm_ffi_answer(None, None, 0, result)
    return status or result[1]


def callback(payload):
    """Registers a loader that runs statements while the library that asks for it is being loaded."""
    for statement in payload.decode().split("\n"):
        events.append(run(statement))
    return names["result"]


def run(statement):
    try:
        try:
            code = compile(statement, "statement", "eval")
        except SyntaxError:
            exec(statement, names)
            return ""
        return repr(eval(code, names))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


blobs = []
events = []
names = {"load": load, "tree": tree, "context": context, "system": system, "graph": graph}
names |= {"answer": answer, "events": events, "tvm_ffi": tvm_ffi}


def main():
    ctypes.CDLL(sys.argv[1])
    os.chdir(sys.argv[2])
    names["alive"] = tvm_ffi.get_global_func("tests.alive")
    tvm_ffi.register_global_func("ffi.Module.load_from_bytes.callback", callback)
    for statement in json.load(sys.stdin):
        print(run(statement))


main()
