//! Routines that a linker adds.

use std::collections::BTreeSet;

use tvm_ffi_codegen::linker::{is_linked_routine, linked_routines};
use tvm_ffi_codegen::lower;
use tvm_ffi_codegen::{Library, Loader, Options, Routines, ir};

/// Declarations of all kinds.
const DECLARATIONS: [&str; 7] = [
    "f(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
    "f(x: Tensor([8, n], float16, device=cuda), a: float32, n: int64, p: ptr) -> None = k(x.data, a, p);",
    "f(x: Tensor([m, n], float16, device=cuda), a: float32, n: int64, flag: bool) -> None where m % 16 == 0
             = try k(x.data, a, ceildiv(m, n), flag);",
    "f(a: str, b: Array[int64], c: Map[str, Any], d: Union[str, dtype]) -> None = k(a.data);",
    "f(x: Tensor([n], float32)) -> y: Tensor([n], float32) = k(x.data, y.data);",
    "f(x: Any) -> Any = { let r: Any = \"g\"(x); return r; };",
    "image i; f(x: Tensor([n], float32, device=cuda)) -> None = { launch i.\"k\"(x.data, n) grid(n) block(128); };",
];

fn linked(text: &str) -> ir::Module {
    lowered(text, Routines::Linked)
}

fn lowered(text: &str, routines: Routines) -> ir::Module {
    let mut library: Library = text.parse().unwrap();
    library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
    let options = Options { routines, ..Options::default() };
    let module = lower(&library.resolve().unwrap(), &options);
    ir::verify(&module).unwrap();
    module
}

/// The names of all data that code may write to.
fn variables(module: &ir::Module) -> BTreeSet<&str> {
    let variables = module.data.iter().filter(|data| data.writable);
    variables.map(|data| module.name(data.symbol)).collect()
}

/// The symbols of a module with some linkage that are linked routines.
fn routines(module: &ir::Module, linkage: ir::Linkage) -> BTreeSet<&str> {
    let symbols = module.symbols.iter().filter(|symbol| symbol.linkage == linkage);
    symbols.map(|symbol| &symbol.name[..]).filter(|name| is_linked_routine(name)).collect()
}

/// All routines that a module reaches.
fn reached<'m>(module: &ir::Module, all: &'m [(String, ir::Module)]) -> Vec<&'m ir::Module> {
    let mut modules: Vec<&ir::Module> = Vec::new();
    let mut left: Vec<String> =
        routines(module, ir::Linkage::Import).into_iter().map(str::to_owned).collect();
    while let Some(name) = left.pop() {
        let defines = |(_, module): &&(String, ir::Module)| {
            routines(module, ir::Linkage::Once).contains(&name[..])
        };
        let (_, found) = all.iter().find(defines).unwrap_or_else(|| panic!("{name}"));
        if !modules.iter().any(|known| std::ptr::eq(*known, found)) {
            modules.push(found);
            left.extend(routines(found, ir::Linkage::Import).into_iter().map(str::to_owned));
        }
    }
    modules
}

#[test]
fn every_routine_is_in_one_module() {
    let (all, mut names) = (linked_routines(Loader::Dl), BTreeSet::new());
    for (name, module) in &all {
        ir::verify(module).unwrap_or_else(|error| panic!("{name}: {error}"));
        for routine in routines(module, ir::Linkage::Once) {
            assert!(names.insert(routine), "{routine}");
        }
    }
    assert!(names.len() > 50);
    for text in DECLARATIONS {
        assert!(!reached(&linked(text), &all).is_empty(), "{text}");
    }
}

/// Libraries that do not allocate need no allocator, and those that do not launch open no libraries.
#[test]
fn libraries_want_no_more_of_the_platform_than_they_use() {
    let [unix, windows] = [Loader::Dl, Loader::Windows].map(linked_routines);
    let wants = |all: &[(String, ir::Module)], text: &str| {
        let imports = reached(&linked(text), all).into_iter().flat_map(|module| {
            let imports = module.symbols.iter();
            imports.filter(|symbol| symbol.linkage == ir::Linkage::Import)
        });
        let names = imports.map(|symbol| symbol.name.clone());
        let others = names.filter(|name| !name.starts_with("TVMFFI") && !is_linked_routine(name));
        others.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    let expected = |of_launches| ["", "", "", "", "free malloc", "", of_launches];
    assert_eq!(DECLARATIONS.map(|text| wants(&unix, text)), expected("dlerror dlopen dlsym"));
    let of_windows = expected("GetProcAddress LoadLibraryA");
    assert_eq!(DECLARATIONS.map(|text| wants(&windows, text)), of_windows);
}

/// The variables of routines exist once, in the objects of the linker.
#[test]
fn routines_that_stay_with_a_module_share_no_state() {
    let all = linked_routines(Loader::Dl);
    let shared: Vec<&str> = all.iter().flat_map(|(_, module)| variables(module)).collect();
    let distinct: BTreeSet<&str> = shared.iter().copied().collect();
    assert_eq!(distinct.len(), shared.len());
    assert!(distinct.contains("tvm_ffi_codegen.driver"));
    for text in DECLARATIONS {
        let module = linked(text);
        let both: Vec<_> = variables(&module).intersection(&distinct).copied().collect::<Vec<_>>();
        assert_eq!(both, [""; 0], "{text}");
    }
}

/// A module defines every routine that it uses, under the name that linked ones have, and shares what they refer to.
#[test]
fn modules_may_bring_their_routines() {
    for text in DECLARATIONS {
        let module = lowered(text, Routines::Once);
        let linked = linked(text);
        let once = routines(&module, ir::Linkage::Once);
        assert!(once.is_superset(&routines(&linked, ir::Linkage::Import)), "{text}");
        assert!(routines(&module, ir::Linkage::Import).is_empty(), "{text}");
        for function in &module.functions {
            let is_once =
                |symbol: ir::Symbol| module.symbols[symbol.index()].linkage == ir::Linkage::Once;
            let insts = function.blocks.iter().flat_map(|block| &block.insts);
            for used in insts.filter_map(|placed| placed.inst.symbol()) {
                let is_shared =
                    is_once(used) || module.symbols[used.index()].linkage != ir::Linkage::Local;
                assert!(!is_once(function.symbol) || is_shared, "{text}: {}", module.name(used));
            }
        }
    }
}
