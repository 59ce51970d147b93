//! The tables of figures in documents: which figure of the results stands in which cell.

/// Address of a figure. A part that is empty is that of the row, of the column or of the whole table.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// A part of the name of the processor; empty for the newest run.
    pub(super) run: &'static str,
    pub(super) table: &'static str,
    pub(super) row: &'static str,
    pub(super) column: &'static str,
    /// Name of the figure: `median`, `instructions`, `branches`, `taken`, or `ratio to ` and a column.
    pub(super) figure: &'static str,
    /// The column that stands for `{base}` in `column` and `figure`.
    pub(super) base: &'static str,
}

impl At {
    /// Replaces the parts that another address has.
    pub(super) fn with(self, inner: &At) -> At {
        let part = |outer, inner: &'static str| if inner.is_empty() { outer } else { inner };
        At {
            run: part(self.run, inner.run),
            table: part(self.table, inner.table),
            row: part(self.row, inner.row),
            column: part(self.column, inner.column),
            figure: part(self.figure, inner.figure),
            base: part(self.base, inner.base),
        }
    }
}

/// The label of a row or a column, and its part of the address.
pub(super) type Line = (&'static str, At);

/// A table of documents.
pub(super) struct Shown {
    pub(super) name: &'static str,
    /// The part of the address that all cells share.
    pub(super) all: At,
    pub(super) rows: &'static [Line],
    pub(super) columns: &'static [Line],
}

const fn shown(
    name: &'static str,
    all: At,
    rows: &'static [Line],
    columns: &'static [Line],
) -> Shown {
    Shown { name, all, rows, columns }
}

/// All tables.
pub(super) const TABLES: &[Shown] = &[
    shown(
        "calls in short",
        MEDIAN,
        SHORT,
        &[column("this library, LLVM", "LLVM .so"), CRANELIFT, HAND, TVM, CUTE_DSL],
    ),
    shown("times of calls", MEDIAN, CALLS, ALL),
    shown("ratios of calls", figure("ratio to {base}"), CALLS, OURS),
    shown("instructions of calls", figure("instructions"), CALLS, ALL),
    shown("branches of calls", figure("branches"), CALLS, ALL),
    shown("taken branches of calls", figure("taken"), CALLS, ALL),
    shown("a failing call", FAILING.1, WHO, FIGURES),
    shown("calls from Python", of(PACKAGE), PYTHON.split_at(3).0, CALLERS.split_at(2).0),
    shown("libraries from Python", of("Calls from Python"), &[NUMPY], LIBRARIES),
    shown("calls from Python on 25 November", BUSY, PYTHON, CALLERS),
    shown("ratios from Python on 25 November", BUSY_RATIO, PYTHON, CALLERS.split_at(1).0),
    shown("time to a function", of(CALLABLE), STAGES, &[("µs", ANY)]),
    shown("time to a library", of(FILES), TO_LIBRARY, &[("ms", ANY)]),
    shown("stages to a library", of(FILES), TO_FILE, &[("ms", ANY)]),
    shown("compilation of routines", of(EMITTED), ROUTINES, BACKENDS),
    shown("scale", MEDIAN, ITEMS, &[row("of 100, µs", "100"), row("of 1,000, µs", "1000")]),
    shown("large scale", MEDIAN, MANY_ITEMS, &[row("of 10,000, µs", "10000")]),
    shown("functions", row_of("functions, 10000"), FUNCTIONS, &[column("in process", "jit")]),
    shown(
        "code of a call",
        row_of("add_one"),
        SIZES.split_at(1).0,
        &[LLVM, MLIR, CRANELIFT, GCC, CLANG],
    ),
    shown(
        "size",
        row_of("add_one"),
        SIZES.split_at(1).1,
        &[LLVM, MLIR, CRANELIFT, GCC, CLANG, CXX],
    ),
    shown("stack", of("Stack that a call touches"), STACK, &[LLVM, MLIR, CRANELIFT, JIT, GCC, CXX]),
    shown("ratios to C on three processors", figure("ratio to C, gcc -O2"), ANYWHERE, PROCESSORS),
    shown(
        "ratios to CuTe DSL on three processors",
        figure("ratio to CuTe DSL"),
        ANYWHERE.split_at(10).0,
        PROCESSORS,
    ),
];

const ANY: At = At { run: "", table: "", row: "", column: "", figure: "", base: "" };
const MEDIAN: At = figure("median");
const BUSY: At = At { run: "a busy machine", ..of(PACKAGE) };
const BUSY_RATIO: At = At { figure: "ratio to tvm_ffi", ..BUSY };

const fn figure(figure: &'static str) -> At {
    At { figure, ..ANY }
}

const fn of(table: &'static str) -> At {
    At { table, ..MEDIAN }
}

const fn row_of(row: &'static str) -> At {
    At { row, ..MEDIAN }
}

const fn row(label: &'static str, row: &'static str) -> Line {
    (label, At { row, ..ANY })
}

const fn column(label: &'static str, column: &'static str) -> Line {
    (label, At { column, ..ANY })
}

const fn table(label: &'static str, table: &'static str) -> Line {
    (label, At { table, ..ANY })
}

const fn cell(label: &'static str, row: &'static str, column: &'static str) -> Line {
    (label, At { row, column, ..ANY })
}

const fn process(label: &'static str, row: &'static str, column: &'static str) -> Line {
    (label, At { table: PROCESSES, row, column, ..ANY })
}

const fn items(label: &'static str, table: &'static str, column: &'static str) -> Line {
    (label, At { table, column, ..ANY })
}

const fn on(label: &'static str, run: &'static str, column: &'static str) -> Line {
    (label, At { run, column, ..ANY })
}

const fn call(label: &'static str, row: &'static str) -> Line {
    (label, At { table: "Successful calls by symbol", row, base: C, ..ANY })
}

/// A call that the C++ macro is compared with.
const fn value(label: &'static str, row: &'static str) -> Line {
    (label, At { base: MACRO, ..call(label, row).1 })
}

const C: &str = "C, gcc -O2";
const MACRO: &str = "C++ macro, checked";
const PACKAGE: &str = "Calls by the package itself";
const CALLABLE: &str = "From text to a callable add_one";
const FILES: &str = "From text to a shared library with add_one";
const EMITTED: &str = "Emission and compilation of add_one by backend";
const PROCESSES: &str = "Processes: from start to a library, or to the first call, of add_one";
const WORDS: &str = "Time per item: words passed on, alone";
const STATEMENTS: &str = "Time per item: statements";
const BY_NAME: &str = "Time per item: calls by name";

const ADD_ONE: Line = call("checked call of `add_one`", "add_one");
const ADD_ONE_VIEW: Line = call("`add_one`, every tensor a `DLTensor*`", "add_one: DLTensor*");
const ADD_ONE_BOTH: Line =
    call("`add_one`, objects and `DLTensor*` in turn", "add_one: alternating");
const MATMUL: Line = call("`matmul`, three matrices", "matmul");
const EIGHT: Line = call("eight 4-D tensors", "strided8");
const EIGHT_VIEW: Line = call("eight 4-D tensors, every one a `DLTensor*`", "strided8: DLTensor*");
const STRIDES: Line = call("eight 4-D tensors, stride symbols", "stride_symbols8");
const STRIDES_VIEW: Line =
    call("stride symbols, every tensor a `DLTensor*`", "stride_symbols8: DLTensor*");
const MATRICES: Line = call("32 matrices", "many32");
const INTS: Line = call("sixteen `int32`", "ints16");
const LAUNCH: Line = call("launch, on a driver that does nothing", "axpy");
const PREPARED: Line = call("launch with three tensor maps, prepared once", "submit");
const NAME: Line = call("call by name, two matrices", "by_name");
const SYMBOL: Line = call("call by symbol", "by_symbol");
const MAP: Line = value("`Map` of 8", "map8");
const UNEQUAL: At = At { row: "add_one: unequal extents", base: C, ..ANY };
const FAILING: Line = ("failing call", At { table: "Failing calls by symbol", ..UNEQUAL });

const SHORT: &[Line] =
    &[ADD_ONE, STRIDES, INTS, LAUNCH, PREPARED, MAP, ("failing call", FAILING.1)];
const ANYWHERE: &[Line] = &[
    ADD_ONE,
    ADD_ONE_VIEW,
    ADD_ONE_BOTH,
    MATMUL,
    EIGHT,
    EIGHT_VIEW,
    STRIDES,
    STRIDES_VIEW,
    MATRICES,
    INTS,
    LAUNCH,
    NAME,
    SYMBOL,
];
const CALLS: &[Line] = &[
    ADD_ONE,
    ADD_ONE_VIEW,
    ADD_ONE_BOTH,
    MATMUL,
    EIGHT,
    EIGHT_VIEW,
    call("eight 4-D tensors, objects and `DLTensor*` in turn", "strided8: alternating"),
    STRIDES,
    STRIDES_VIEW,
    call("stride symbols, objects and `DLTensor*` in turn", "stride_symbols8: alternating"),
    MATRICES,
    INTS,
    LAUNCH,
    call("launch through HIP, likewise", "axpy_hip"),
    call("launch with three tensor maps, likewise", "tensor_maps"),
    PREPARED,
    NAME,
    SYMBOL,
    value("`Tuple` of two tensors", "pair"),
    value("`Union`, given a tensor", "union: tensor"),
    MAP,
];

const LLVM: Line = column("LLVM", "LLVM .so");
const MLIR: Line = column("MLIR", "MLIR .so");
const CRANELIFT: Line = column("Cranelift", "Cranelift .so");
const JIT: Line = column("JIT", "JIT");
const HAND: Line = column("by hand", "{base}");
const GCC: Line = column(C, C);
const CLANG: Line = column("C, clang -O2", "C, clang-22 -O2");
const CXX: Line = column("C++ macro", MACRO);
const TVM: Line = column("Apache TVM", "Apache TVM");
const CUTE_DSL: Line = column("CuTe DSL", "CuTe DSL");
const OURS: &[Line] = &[LLVM, MLIR, CRANELIFT, JIT, column("C backend", "c")];
const ALL: &[Line] = &[LLVM, MLIR, CRANELIFT, JIT, column("C backend", "c"), HAND, TVM, CUTE_DSL];
const WHO: &[Line] = &[LLVM, MLIR, CRANELIFT, JIT, column("C backend", "c"), GCC, TVM, CUTE_DSL];
const FIGURES: &[Line] = &[
    ("ns", figure("median")),
    ("instructions", figure("instructions")),
    ("branches", figure("branches")),
    ("taken", figure("taken")),
];
const LIBRARIES: &[Line] = &[LLVM, CRANELIFT, GCC, column("empty function", "empty")];
const PROCESSORS: &[Line] = &[
    on("LLVM: Intel 207", "model 207", "LLVM .so"),
    on("Intel 85", "model 85", "LLVM .so"),
    on("AMD", "AMD EPYC", "LLVM .so"),
    on("Cranelift: Intel 207", "model 207", "Cranelift .so"),
    on("Intel 85", "model 85", "Cranelift .so"),
    on("AMD", "AMD EPYC", "Cranelift .so"),
];

const NUMPY: Line = row("`add_one` with NumPy arrays", "add_one, from Python");
const CALLERS: &[Line] = &[
    column("the package", "native"),
    column("`tvm_ffi`", "tvm_ffi"),
    column("nanobind", "nanobind"),
];
const PYTHON: &[Line] = &[
    row("no arguments", "no arguments"),
    row("two integers and a float", "two integers and a float"),
    row("three NumPy arrays", "three NumPy arrays"),
    row("nine NumPy arrays", "nine NumPy arrays"),
    row("three PyTorch tensors", "three PyTorch tensors"),
    row("nine PyTorch tensors", "nine PyTorch tensors"),
    row("no arguments, the lock kept", "no arguments, the lock kept"),
    row("two integers and a float, the lock kept", "two integers and a float, the lock kept"),
    row("a failing call", "a failing call"),
];

const STAGES: &[Line] = &[
    cell("whole", "whole", "JIT"),
    cell("parse", "parse", "JIT"),
    cell("lower", "lower", "JIT"),
    cell("emit", "of that: emit", "JIT"),
    cell("compile", "of that: compile", "JIT"),
    cell("finalize", "finalize", "JIT"),
    cell("Cranelift alone, from finished CLIF", "whole", "Cranelift alone"),
];
const TO_LIBRARY: &[Line] = &[
    cell("Cranelift", "whole", "cranelift"),
    cell("LLVM `-O2`", "whole", "llvm -O2"),
    cell("MLIR `-O2`", "whole", "mlir -O2"),
    process("command line, Cranelift", "whole", "our command line"),
    process("C, gcc -O2", "whole", C),
    process("C, clang -O2", "whole", "C, clang-22 -O2"),
    process("C++ macro", "whole", MACRO),
    process("in process: from its start to the first call", "whole", "JIT, first call"),
    process("in process: from text to the first call", "text to first call", "JIT, first call"),
];
const TO_FILE: &[Line] = &[
    cell("object, Cranelift", "object", "cranelift"),
    cell("object, LLVM `-O1`", "object", "llvm -O1"),
    cell("object, LLVM `-O2`", "object", "llvm -O2"),
    cell("linker, Cranelift", "link", "cranelift"),
    cell("replacing the file, Cranelift", "write", "cranelift"),
];
const BACKENDS: &[Line] =
    &[column("Cranelift, µs", "cranelift"), column("LLVM `-O2`, µs", "llvm -O2")];
const ROUTINES: &[Line] = &[
    row("linked routines", "wrapper: compile"),
    row("routines of its own", "with routines: compile"),
];

const ITEMS: &[Line] = &[
    items("tensors", "Time per item: tensors", "jit: whole"),
    items("`str`", "Time per item: strings", "jit: whole"),
    items("optional tensors", "Time per item: optionals", "jit: whole"),
    items("constraints", "Time per item: constraints", "jit: whole"),
    items("calls by name", BY_NAME, "jit: whole"),
    items("words without checks, Cranelift", WORDS, "cranelift: whole"),
    items("words without checks, LLVM", WORDS, "llvm: whole"),
];
const MANY_ITEMS: &[Line] = &[
    items("calls by name", BY_NAME, "jit: whole"),
    items("statements", STATEMENTS, "jit: whole"),
    items("statements, LLVM", STATEMENTS, "llvm: whole"),
];
const FUNCTIONS: &[Line] = &[
    table("time per function, to that of 100", "Time per item beside that of 100"),
    table("bytes mapped per function", "Bytes of code and data per item"),
];

const SIZES: &[Line] = &[
    table("code up to the call of the kernel", "Code up to the call of the kernel"),
    table("all code of the library", "All code of a library"),
    table("the file", "Whole library as a file"),
];
const STACK: &[Line] = &[
    row("calls that succeed", "most, of calls that succeed"),
    row("calls that fail", "most, of calls that fail"),
];
