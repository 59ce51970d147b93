//! Objects refer only to symbols that the host IR imports, not to functions of a C library or of a compiler.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::thread;

use abi_spec::c_library;
use codegen::backend::Machine;
use codegen::ir::{Function, Inst, Linkage, Module, Value};
use codegen::{Library, Loader, Options};
use driver::{Form, Optimize, Request};
use object::{BinaryFormat, Object, ObjectSymbol};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::cases::{self, Case};
use tvm_ffi_codegen_tests::gate::{Part, backends};
use tvm_ffi_codegen_tests::route::{BACKENDS, has_target, request};

use crate::snapshots::{bare, lowered};

const TARGETS: [&str; 7] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "riscv64gc-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
];

/// Symbols that LLVM refers to on Windows in any object: a number that makes the C library of Visual C++ support
/// floats, and the function that probes the pages of a large frame. Every program links the import library that defines
/// both.
const WINDOWS: [&str; 2] = ["_fltused", "__chkstk"];

/// Returns the levels that are tested with a backend and a target. Cranelift and C have one level here. LLVM has all
/// for one target, two for every other architecture, since levels differ in what is done before an architecture
/// matters, and one for further systems. MLIR yields the same code as LLVM, so one target shows that it does.
fn levels(backend: &str, target: &str) -> &'static [Optimize] {
    match backend {
        "llvm" if target == TARGETS[0] => &Optimize::ALL,
        "llvm" if target.ends_with("linux-gnu") => &[Optimize::O0, Optimize::O2],
        "mlir" if target != TARGETS[0] => &[],
        _ => &[Optimize::O2],
    }
}

/// Returns true if the whole table becomes an object: the operations of a slice are those of all, but their operands
/// are not.
fn is_whole(backend: &str, target: &str, level: Optimize) -> bool {
    let first = backend != "mlir" && target == TARGETS[0] && level == Optimize::O2;
    first || Part::Targets.runs()
}

/// Returns the operation of an instruction: what it does, and the types of its operands and its result, without their
/// names and numbers.
fn operation(function: &Function, inst: &Inst, result: Option<Value>) -> String {
    let mut text = format!("{inst:?}");
    text.retain(|c| !c.is_ascii_digit());
    inst.operands(|value| text += &format!(" {:?}", function.ty(value)));
    text + &format!(" {:?}", result.map(|value| function.ty(value)))
}

/// Returns the operations of a module and the names of the routines that it calls.
fn operations(module: &Module) -> impl Iterator<Item = String> {
    let blocks = module.functions.iter().flat_map(|f| f.blocks().map(move |(_, block)| (f, block)));
    let operations = blocks.flat_map(|(f, block)| {
        block.insts.iter().map(move |placed| operation(f, &placed.inst, placed.result))
    });
    let names = module.symbols.iter().map(|symbol| symbol.name.clone());
    operations.chain(names.filter(|name| name.starts_with("tvm_ffi_codegen.")))
}

/// Returns the functions of the table with an operation, or a routine, that none before them has.
fn slice(mut table: Vec<Case>) -> Vec<Case> {
    let mut known = HashSet::new();
    table.retain(|case| {
        let before = known.len();
        known.extend(operations(&lowered(&case.function, &bare())));
        known.len() > before
    });
    table
}

/// Returns the targets of a backend.
fn targets(backend: &str) -> impl Iterator<Item = &'static str> {
    TARGETS.into_iter().filter(move |target| has_target(backend, target))
}

#[test]
fn every_machine_is_a_target_in_each_format() {
    for machine in Machine::ALL {
        for &format in machine.facts().formats {
            let is_it = |triple: Triple| {
                Machine::of(&triple) == Ok(*machine) && triple.binary_format == format
            };
            let found = TARGETS.iter().any(|target| is_it(target.parse().unwrap()));
            assert!(found, "{machine:?} {format:?}");
        }
    }
}

#[test]
fn objects_refer_to_imports_only() {
    let lower = |library: Library, options| codegen::lower(&library.resolve().unwrap(), options);
    let (table, embedded) = (cases::table(), Options::default());
    let whole = lower(cases::library(&table), &embedded);
    let sliced = slice(table.clone());
    assert!(sliced.len() * 2 < table.len(), "{} of {}", sliced.len(), table.len());
    let part = lower(cases::library(&sliced), &embedded);
    let targets = BACKENDS.iter().flat_map(|b| targets(b).map(move |target| (*b, target)));
    let all =
        targets.flat_map(|(b, target)| levels(b, target).iter().map(move |&o| (b, target, o)));
    let next = Mutex::new(all);
    let work = || {
        let next = || next.lock().unwrap().next();
        while let Some((backend, target, level)) = next() {
            let module = if is_whole(backend, target, level) { &whole } else { &part };
            let others = others(module, backend, target, level);
            assert!(others.is_empty(), "{backend} {target} {level:?}: {others:?}");
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

/// Allocation without an allocator of the environment needs the C library.
#[test]
fn only_what_allocates_needs_the_c_library() {
    let kinds = [
        ("-> None = fill(x.data, n);", 0),
        ("-> out: Tensor([n], float32) = fill(out.data, n);", 2),
        ("-> None = { let t = alloc Tensor([n], float32); fill(t.data, n); };", 2),
    ];
    for (kind, expected) in kinds {
        let library: Library = format!("f(x: Tensor([n], float32)) {kind}").parse().unwrap();
        let module = codegen::lower(&library.resolve().unwrap(), &codegen::Options::default());
        for (backend, target) in
            backends().iter().flat_map(|b| targets(b).map(move |target| (b, target)))
        {
            let wanted = undefined(&module, backend, target, Optimize::O2);
            let found = wanted.iter().filter(|name| c_library::ALL.contains(&&***name)).count();
            assert_eq!(found, expected, "{backend} {target} {kind}: {wanted:?}");
        }
    }
}

/// Launches need the platform's loader, because no library of CUDA is linked.
#[test]
fn only_what_launches_opens_libraries() {
    let text = "image i; f(x: Tensor([n], float32, device=cuda)) -> None \
                = { launch i.\"k\"(tensormap(x, box=[4]), scratch(n, 16)) grid(n) block(1) smem(n) cluster(n) \
                pdl cooperative priority(1); };";
    let mut library: Library = text.parse().unwrap();
    library.images[0].bytes = Some(b".version 8.0\n".to_vec());
    for (backend, target) in
        backends().iter().flat_map(|b| targets(b).map(move |target| (b, target)))
    {
        let windows = target.contains("windows");
        let loader = if windows { Loader::Windows } else { Loader::Dl };
        let options = codegen::Options { loader, ..codegen::Options::default() };
        let module = codegen::lower(&library.resolve().unwrap(), &options);
        let wanted = undefined(&module, backend, target, Optimize::O2);
        let mut found =
            wanted.iter().filter(|name| !name.starts_with("TVMFFI")).collect::<Vec<_>>();
        found.retain(|name| !windows || !WINDOWS.contains(&&***name));
        found.sort();
        let expected: &[&str] = match windows {
            true => &["GetProcAddress", "LoadLibraryA"],
            false => &["dlerror", "dlopen", "dlsym"],
        };
        let allocates = ["free", "malloc"];
        assert_eq!(found, [expected, &allocates].concat(), "{backend} {target}");
    }
}

/// Returns the undefined symbols of an object that the module does not import.
fn others(module: &Module, backend: &str, target: &str, level: Optimize) -> Vec<String> {
    let imports = module.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Import);
    let imports: BTreeSet<&str> = imports.map(|symbol| symbol.name.as_str()).collect();
    let coff = target.contains("windows");
    let undefined = undefined(module, backend, target, level).into_iter();
    let known = |name: &str| imports.contains(name) || coff && WINDOWS.contains(&name);
    undefined.filter(|name| !known(name)).collect()
}

/// Returns the undefined symbols of an object.
fn undefined(module: &Module, backend: &str, target: &str, level: Optimize) -> Vec<String> {
    let request = Request {
        target: target.parse().unwrap(),
        optimization: level,
        ..request(backend, Form::Object)
    };
    let bytes = request.emit_module(module).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let under = if file.format() == BinaryFormat::MachO { "_" } else { "" };
    let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
    undefined
        .map(|symbol| symbol.name().unwrap().to_owned())
        // GCC names the table of addresses, which the linker makes.
        .filter(|name| !name.is_empty() && name != "_GLOBAL_OFFSET_TABLE_")
        .map(|name| name.strip_prefix(under).unwrap().to_owned())
        .collect()
}
