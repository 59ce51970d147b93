//! Routines that a linker adds.

use std::collections::BTreeSet;

use tvm_ffi_codegen::{Extent, Library, Options, Routines, ir, linked_routines, lower};

/// Declarations, and how much the routines of each must know.
const DECLARATIONS: [(&str, Extent); 7] = [
    ("f(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);", Extent::TENSORS),
    ("f(x: Tensor([8, n], float16, device=cuda), a: float32, n: int64, p: ptr) -> None = k(x.data, a, p);", Extent::TENSORS),
    (
        "f(x: Tensor([m, n], float16, device=cuda), a: float32, n: int64, flag: bool) -> None where m % 16 == 0
             = try k(x.data, a, ceildiv(m, n), flag);",
        Extent::EXPRESSIONS,
    ),
    ("f(a: str, b: Array[int64], c: Map[str, Any], d: Union[str, dtype]) -> None = k(a.data);", Extent::VALUES),
    ("f(x: Tensor([n], float32)) -> y: Tensor([n], float32) = k(x.data, y.data);", Extent::ALLOCATIONS),
    ("f(x: Any) -> Any = { let r: Any = \"g\"(x); return r; };", Extent::VALUES),
    (
        "image i; f(x: Tensor([n], float32, device=cuda)) -> None = { launch i.\"k\"(x.data, n) grid(n) block(128); };",
        Extent::LAUNCHES,
    ),
];

fn linked(text: &str) -> ir::Module {
    let mut library: Library = text.parse().unwrap();
    library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
    let options = Options { routines: Routines::Linked, ..Options::default() };
    let module = lower(&library.resolve().unwrap(), &options);
    ir::verify(&module).unwrap();
    module
}

/// The names of all data that code may write to.
fn variables(module: &ir::Module) -> BTreeSet<&str> {
    let variables = module.data.iter().filter(|data| data.writable);
    variables.map(|data| module.name(data.symbol)).collect()
}

#[test]
fn modules_want_the_smallest_extent_that_will_do() {
    for (text, extent) in DECLARATIONS {
        let (module, offered) = (linked(text), linked_routines(extent));
        let imports = module.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Import);
        let wanted: Vec<_> = imports.filter(|s| Extent::of_symbol(&s.name).is_some()).collect();
        assert!(!wanted.is_empty(), "{text}");
        for symbol in wanted {
            assert_eq!(Extent::of_symbol(&symbol.name), Some(extent), "{text}: {}", symbol.name);
            let found = offered.find(&symbol.name).map(|found| &offered.symbols[found.index()]);
            let found = found.unwrap_or_else(|| panic!("{text}: {}", symbol.name));
            assert_eq!((found.linkage, &found.kind), (ir::Linkage::Once, &symbol.kind));
        }
    }
}

#[test]
fn every_extent_can_be_linked() {
    for (_, extent) in Extent::KNOWN {
        let module = linked_routines(extent);
        ir::verify(&module).unwrap();
        let offered = module.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Once);
        assert!(offered.clone().count() > 5);
        assert!(offered.into_iter().all(|symbol| Extent::of_symbol(&symbol.name) == Some(extent)));
    }
}

/// Only libraries that allocate want an allocator.
#[test]
fn extents_want_no_more_of_the_platform() {
    let wants = |extent: Extent| {
        let module = linked_routines(extent);
        let imports = module.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Import);
        let names = imports.map(|symbol| symbol.name.clone());
        names.filter(|name| !name.starts_with("TVMFFI")).collect::<BTreeSet<String>>()
    };
    let rows =
        Extent::KNOWN.map(|(_, extent)| wants(extent).into_iter().collect::<Vec<_>>().join(" "));
    let wanted = ["", "free malloc", "dlopen dlsym", "dlopen dlsym free malloc"];
    assert_eq!(rows[..5], ["", wanted[0], wanted[1], wanted[2], wanted[3]]);
    assert_eq!(rows[5..], wanted);
}

/// What a routine remembers is remembered once, where the linker puts it.
#[test]
fn routines_that_stay_with_a_module_share_no_state() {
    let offered = linked_routines(Extent::ALL);
    let shared = variables(&offered);
    assert!(shared.contains("tvm_ffi_codegen.driver"));
    for (text, _) in DECLARATIONS {
        let module = linked(text);
        let both: Vec<_> = variables(&module).intersection(&shared).copied().collect::<Vec<_>>();
        assert_eq!(both, [""; 0], "{text}");
    }
}
