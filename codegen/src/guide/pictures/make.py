"""Draws the pictures of the guide as SVG: python3 make.py [--check].

With --check it writes nothing and fails if a file differs from what it draws.
"""

import pathlib
import sys

# Cargo builds the crate anew whenever a file in its sources appears.
sys.dont_write_bytecode = True
from drawing import Picture  # noqa: E402

HERE = pathlib.Path(__file__).parent


def wrapper() -> str:
    """A declaration, the checks that follow from it, and the hosts that call the function."""
    p = Picture(1000, 372, "A declaration becomes a function that checks its arguments, which every host can call")
    p.text(12, 24, "you declare", 15)
    p.box(12, 36, 318, 148)
    for row, line in enumerate(
        ["add_one(", "    x: Tensor([n], float32),", "    y: Tensor([n], float32),", ") -> None", "    = add_one_kernel(x.data, y.data, n);"]
    ):
        p.text(26, 64 + 24 * row, line, 12.5, mono=True)
    p.text(12, 222, "you bring", 15)
    p.box(12, 234, 318, 60)
    p.text(26, 259, "the kernel: object code, a cubin,", 13)
    p.text(26, 280, "an address, LLVM IR, C", 13)

    p.text(372, 24, "__tvm_ffi_add_one", 14, mono=True)
    p.box(372, 36, 346, 258, "key")
    checks = [
        ("2 arguments", "TypeError"),
        ("x and y: tensors of float32", "TypeError"),
        ("1 dim each, both on one device", "ValueError"),
        ("x.shape[0] is n, y.shape[0] equals it", "ValueError"),
        ("compact strides, aligned data", "ValueError"),
        ("call the kernel, its errors passed on", ""),
        ("write the result, release what is owned", ""),
    ]
    for row, (check, error) in enumerate(checks):
        p.text(388, 66 + 34 * row, check, 13)
        p.text(706, 66 + 34 * row, error, 11, "bad", anchor="end")
    p.arrow((330, 110), (372, 110))
    p.arrow((330, 264), (372, 264))

    p.text(760, 24, "anybody calls", 15)
    hosts = ["Python: NumPy, PyTorch, JAX", "C++ with TVM FFI", "C and Rust", "another library, by name", "Apache TVM's VM"]
    for row, host in enumerate(hosts):
        p.box(760, 36 + 53 * row, 228, 42)
        p.text(774, 62 + 53 * row, host, 13)
        p.arrow((760, 57 + 53 * row), (718, 57 + 53 * row), tip="left")

    p.text(12, 328, "as", 13, "dim")
    p.text(36, 328, "LLVM IR · MLIR LLVM dialect · Cranelift code · C · an object · a shared library · a function in this process", 13)
    p.text(12, 354, "ValueError: Mismatched y.shape[0] on argument #1 …, expected 5 (= x.shape[0]) but got 4", 12.5, "bad", mono=True)
    return p.done()


def checks() -> str:
    """The loads of a wrapper in their order, what each is compared with, and the error otherwise."""
    rows = [
        ("num_args", "3", "TypeError: Mismatched number of arguments"),
        ("args[0].type_index, .v_ptr", "a tensor object or a DLTensor*, not NULL", "TypeError: Mismatched type of a"),
        ("a->ndim, a->dtype", "2 and float32, compared as one word", "ValueError: a.ndim, TypeError: a.dtype"),
        ("a->device", "cpu", "ValueError: Mismatched a.device"),
        ("a->shape[0], a->shape[1]", "not negative; they are m and k", "ValueError: Mismatched a.shape[0]"),
        ("a->strides[0], a->strides[1]", "the last is 1, the first is s", "ValueError: Mismatched a.strides[1]"),
        ("a->data + a->byte_offset", "not NULL, a multiple of 4", "ValueError: Misaligned a.data"),
        ("args[1] …, b->shape[0]", "all this for b, and its rows are k", "ValueError: Mismatched b.shape[0] … (= a.shape[1])"),
        ("args[2].type_index, .v_int64", "a number that fits int32", "ValueError: Out of range scale"),
        ("k", "k % 8 is 0", "ValueError: Violated k % 8 == 0"),
    ]
    p = Picture(1000, 118 + 38 * len(rows), "The order in which a wrapper loads and checks what it is given")
    p.text(12, 24, "f(a: Tensor([m, k], float32, strides=[s, 1]), b: Tensor([k, n], float32), scale: int32)", 12.5, mono=True)
    p.text(12, 44, "    -> c: Tensor([m, n], float32) where k % 8 == 0", 12.5, mono=True)
    for x, head in [(40, "loads"), (310, "goes on if it is"), (640, "or else")]:
        p.text(x, 72, head, 13, "dim")
    for row, (load, check, error) in enumerate(rows):
        y = 82 + 38 * row
        p.panel(28, y, 256, 32, ["`" + load], size=12.5)
        p.panel(298, y, 316, 32, [check], "key")
        p.arrow((284, y + 16), (298, y + 16))
        p.arrow((614, y + 16), (640, y + 16), bad=True)
        p.text(646, y + 21, error, 12, "bad")
    end = 82 + 38 * len(rows)
    p.arrow((14, 84), (14, end + 18), (298, end + 18))
    p.text(306, end + 23, "allocates c and calls the kernel", 13)
    return p.done()


def call() -> str:
    """A call from the caller to the kernel and back, and the way of an error."""
    p = Picture(1000, 530, "The life of a call: from the caller through the wrapper to the kernel and back")
    for x, width, name in [(12, 230, "caller"), (282, 400, "wrapper __tvm_ffi_f"), (742, 246, "kernel, libtvm_ffi")]:
        p.text(x, 24, name, 15)
    p.panel(12, 40, 230, 76, ["packs its arguments:", "`TVMFFIAny args[3]", "~borrowed for the call"])
    p.panel(282, 40, 400, 76, ["checks each load before the next one,", "binds the symbols m, k, n, s,", "evaluates the conditions"], "key")
    p.panel(742, 136, 246, 56, ["`TVMFFIEnvTensorAlloc", "~the caller's allocator"])
    p.panel(282, 136, 400, 56, ["allocates the results;", "what it makes, it owns until it returns it"], "key")
    p.panel(742, 212, 246, 76, ["`kernel(a.data, …, n, scale)", "~only values that were checked;", "~a status, or an error of its own"], size=12)
    p.panel(282, 212, 400, 76, ["calls the kernel with values of C types;", "after try compares its status with 0"], "key")
    p.panel(282, 308, 400, 56, ["writes *result, releases everything else,", "returns 0"], "key")
    p.panel(12, 308, 230, 56, ["owns the result"])
    p.arrow((242, 78), (282, 78))
    p.arrow((482, 116), (482, 136), tip="down")
    p.arrow((682, 164), (742, 164))
    p.arrow((482, 192), (482, 212), tip="down")
    p.arrow((682, 250), (742, 250))
    p.arrow((482, 288), (482, 308), tip="down")
    p.arrow((282, 336), (242, 336), tip="left")

    p.panel(282, 404, 400, 112, ["exit of the check: a cold block", "`fail routine(record, number found)", "composes the message, raises the error,", "adds one frame, releases what is owned,", "returns -1"])
    p.panel(742, 432, 246, 56, ["`TVMFFIErrorSetRaised", "~the error of this thread"])
    p.panel(12, 432, 230, 56, ["`TVMFFIErrorMoveFromRaised", "throws it in its own language"], size=12)
    for y in (78, 164, 250):
        p.arrow((682, y + 20), (712, y + 20), tip="", bad=True)
    p.arrow((712, 98), (712, 418), (682, 418), tip="left", bad=True)
    p.arrow((682, 460), (742, 460), bad=True)
    p.arrow((282, 460), (242, 460), tip="left", bad=True)
    return p.done()


def floors() -> str:
    """The floors of the crate `codegen`, and what each hands to the next one."""
    p = Picture(1000, 640, "The floors of codegen: text to declarations, resolved, host IR, and the backends")
    left = [
        ("text, or values of Rust", ["~nothing is known yet"], "box"),
        ("language/", ["parser and printer: text ⇄ declarations"], "key"),
        ("resolve/", ["ids for names, kinds of terms, the order", "of checks; every error of a declaration"], "key"),
        ("lower/", ["all policy of the ABI: cannot fail"], "key"),
        ("backends/*", ["~know no type index, offset or message"], "box"),
    ]
    handed = ["characters", "Library", "Resolved", "ir::Module"]
    y = 40
    for at, (name, lines, kind) in enumerate(left):
        height = 44 + 20 * len(lines)
        p.panel(12, y, 380, height, ["`" + name, *lines], kind)
        if at < len(handed):
            p.arrow((70, y + height), (70, y + height + 52), tip="down")
            p.text(84, y + height + 32, handed[at], 13, mono=True)
        y += height + 52
    p.text(12, 24, "what becomes of a declaration", 15)
    p.text(452, 24, "the floors of lower/: each uses those below it only", 15)
    rooms = [
        ("lower/body/", "statements, calls, launches, results", "Body: consumes the checker"),
        ("lower/prologue/", "the arguments in their order, what a closure holds", "Checker: made and handed up"),
        ("lower/checks/", "each check: a comparison and a branch", "Checker = emitter + exits"),
        ("lower/failure/", "records, messages, exits, releases", "Exits: \"the exit of this check\""),
        ("lower/emitter/", "the code so far, what is known, the frame", "Emitter: code that cannot fail"),
        ("lower/routines/", "the shared routines, written in Rust", "calls of routines"),
        ("declaration/ · backend/ · ir/", "declarations, facts of targets, host IR", "Module, Function, Inst"),
    ]
    for at, (name, holds, context) in enumerate(rooms):
        y = 40 + 84 * at
        p.panel(452, y, 536, 66, ["`" + name, holds], "key" if at < 6 else "box")
        p.text(976, y + 23, context, 12, "dim", anchor="end", room=330)
        if at:
            p.arrow((480, y - 18), (480, y), tip="down")
    return p.done()


def memory() -> str:
    """The sections of a library, and what in the process they refer to."""
    p = Picture(1000, 530, "Memory of a library: its sections, and what the loader and calls fill in")
    p.text(12, 24, "axpy.so", 15)
    p.text(620, 24, "the process", 15)
    sections = [
        (".text", "box", ["`__tvm_ffi_axpy            exported: the wrapper", "~its exits are cold blocks at the end", "`tvm_ffi_codegen.*         routines, local"]),
        (".rodata", "box", ["`tvm_ffi_codegen.records   names and texts of checks", "`tvm_ffi_codegen.image.*   code for the GPU", "`__tvm_ffi__library_bin    exported: the import tree"]),
        (".tvm_ffi.texts", "box", ["~metadata and documentation, kept by strip;", "~`inspect` reads them without loading anything"]),
        (".data", "store", ["`__tvm_ffi__library_ctx    the module itself", "`…callee.NAME              a function that was found", "`…driver, …contexts        functions of the driver", "`…library.*, …kernel.*     loaded images, kernels", "`…map_cache.*              the last tensor maps"]),
    ]
    y = 40
    for name, kind, lines in sections:
        height = 16 + 20 * len(lines)
        p.text(12, y + 23, name, 12.5, mono=True)
        p.panel(136, y, 424, height, lines, kind, size=12.5)
        y += height + 18
    p.text(136, y + 12, ".data is filled in when a part of it is needed first;", 12.5, "dim")
    p.text(136, y + 30, "not there without launches, lookups, closures, imports.", 12.5, "dim")
    p.panel(620, 40, 368, 76, ["libtvm_ffi", "~raises errors, makes objects, looks names up.", "~The only library that is needed"], size=12.5)
    p.panel(620, 146, 368, 56, ["`ffi.Module.load_from_bytes.KIND", "~makes imported modules of the tree's bytes"], size=12.5)
    p.panel(620, 232, 368, 56, ["tools and readers of metadata", "`tvm-ffi-codegen inspect"], size=12.5)
    p.panel(620, 318, 368, 36, ["the loader, before the first call"], size=12.5)
    p.panel(620, 370, 368, 36, ["imports of the module, then the registry"], size=12.5)
    p.panel(620, 422, 368, 56, ["the driver, opened at the first launch:", "`libcuda.so.1, libamdhip64.so"], size=12.5)
    p.arrow((560, 78), (620, 78))
    p.arrow((560, 172), (620, 172))
    p.arrow((620, 258), (560, 258), tip="left")
    p.arrow((620, 336), (560, 336), tip="left")
    p.arrow((620, 388), (590, 388), (590, 358), (560, 358), tip="left")
    p.arrow((620, 450), (575, 450), (575, 396), (560, 396), tip="left")
    return p.done()


def launch() -> str:
    """The steps of a launch, what each keeps for the next calls, and what the driver is asked otherwise."""
    rows = [
        (["checks the arguments,", "evaluates the grid"], [], ""),
        (["has the functions of the driver"], ["once per library"], "dlopen, dlsym, cuDriverGetVersion"),
        (["has each tensor map"], ["the last one made at this place,", "by its address and numbers"], "cuTensorMapEncodeTiled"),
        (["has the kernel;", "its parameters fit the arguments"], ["once per image and kernel,", "never unloaded"], "cuLibraryLoadData, cuLibraryGetKernel"),
        (["may use so much shared memory"], ["once per kernel and device,", "where the launch asks for more"], "cuKernelSetAttribute"),
        (["has the stream, and its context", "if it is the default stream"], ["the primary context of each device,", "never released"], "cuCtxGetDevice, …PrimaryCtxRetain"),
        (["launches"], [], "cuLaunchKernelEx"),
    ]
    p = Picture(1000, 122 + 70 * len(rows), "A launch: its steps, what each keeps, and what the driver is asked if nothing is kept")
    for x, head in [(12, "each call"), (340, "kept"), (690, "the driver is asked")]:
        p.text(x, 24, head, 15)
    for at, (step, kept, asked) in enumerate(rows):
        y = 36 + 70 * at
        p.panel(12, y, 264, 54, step, "key")
        if at:
            p.arrow((60, y - 16), (60, y), tip="down")
        if asked:
            p.panel(690, y, 298, 54, ["`" + asked], size=12)
            p.arrow((276, y + 27), (690, y + 27))
        if kept:
            p.panel(340, y, 286, 54, kept, "store")
            p.text(631, y + 20, "if not", 11.5, "dim")
    y = 36 + 70 * len(rows)
    p.panel(12, y + 8, 976, 62, ["A function that prepare(…) returns holds its tensors and maps: submit(step) checks step only, and from the second call on",
        "takes the grid, the attributes and the arguments that do not depend on step as the first one has left them."], "box", size=12.5)
    return p.done()


PICTURES = {
    "wrapper.svg": wrapper,
    "checks.svg": checks,
    "call.svg": call,
    "floors.svg": floors,
    "memory.svg": memory,
    "launch.svg": launch,
}

if __name__ == "__main__":
    stale = []
    for name, draw in PICTURES.items():
        path, drawn = HERE / name, draw()
        if "--check" not in sys.argv[1:]:
            path.write_text(drawn)
        elif not path.exists() or path.read_text() != drawn:
            stale.append(name)
    if stale:
        sys.exit(f"python3 {pathlib.Path(__file__).name} draws other pictures: {', '.join(stale)}")
