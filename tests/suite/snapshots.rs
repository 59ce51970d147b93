//! Wrappers to read, in `snapshots/<case>/`: a dozen in every language, the others as host IR. One test each.

mod folder;
mod native;

use std::path::{Path, PathBuf};

use abi_spec::library_bin;
use codegen::{Function, Library, Loader, Options, Routines, Unchecked, ir};
use insta::{Settings, assert_snapshot};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// A test for each function of the table that is named, and the list of their names.
macro_rules! wrappers {
    ($(#[$doc:meta])* $module:ident, $languages:expr; $($case:ident)*) => {
        $(#[$doc])*
        mod $module {
            pub(super) const CASES: &[&str] = &[$(stringify!($case)),*];
            $(
                #[test]
                fn $case() {
                    super::wrapper(stringify!($case), $languages);
                }
            )*
        }
    };
}

wrappers! {
    /// Two: each is four files.
    every_language, super::BACKENDS;
    add_one tensor_list
}

wrappers! {
    /// What else lowering does.
    host_ir, &[];
    scale free give_int8 float_constraint text named optional_tensor either one_output meaning none_result give_float16 scalar_tensor any_rank length_last product shared_stride
    any_device stream_of_any floor words give_str status_and_object two_outputs literal_text element_type a_device
    a_stream a_thing optional_int defaults default_and_tail mapping fixed_shape two_types
    above_int64
}

/// Host IR that is not the wrapper of a function of the table.
const OTHERS: [&str; 4] = ["launch", "library", "routines", "unchecked"];

/// The target of all snapshots, so that they are the same on every machine.
pub(crate) fn target() -> Triple {
    "x86_64-unknown-linux-gnu".parse().expect("a known target")
}

/// Where the snapshots are.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

/// Lowered, and checked by our own verifier.
pub(crate) fn lowered(function: &Function, options: &Options) -> ir::Module {
    let library = Library::from(vec![function.clone()]);
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
    let module = codegen::lower(&resolved, options);
    ir::verify(&module).unwrap();
    module
}

/// Only the wrapper.
pub(crate) fn bare() -> Options {
    Options { routines: Routines::Shared, metadata: false, ..Options::default() }
}

fn wrapper(case: &str, languages: &[&str]) {
    let table = cases::table();
    let function = table.iter().map(|case| &case.function).find(|f| f.signature.name == case);
    let function = function.unwrap_or_else(|| panic!("the table has no {case}"));
    snapshot(case, &lowered(function, &bare()), &function.to_string(), languages);
}

/// Compares the host IR and some of the other languages with the snapshots. Every language is verified.
fn snapshot(case: &str, module: &ir::Module, description: &str, languages: &[&str]) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(folder().join(case));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(description);
    settings.bind(|| {
        assert_snapshot!("ir", module.to_string());
        for backend in BACKENDS {
            let text = native::text(module, backend);
            if languages.contains(backend) {
                assert_snapshot!(*backend, text);
            }
        }
    });
}

/// All that a library can have besides wrappers: metadata, documentation, an entry, imports, and the
/// registration of a system library.
#[test]
fn library() {
    let text = "/// Echoes.\n@\"library.ffi\":2 echo(a: int8) -> int8 = echo_int8(a);";
    let function: Function = text.parse().unwrap();
    let custom = library_bin::Module::Custom { kind: "data".into(), bytes: b"bytes"[..].into() };
    let nodes = [(library_bin::Module::Library, vec![1]), (custom, vec![])];
    let node = |(module, children)| library_bin::Node { module, children };
    let library = Library::new([function.clone()])
        .with_imports(library_bin::ImportTree { nodes: nodes.map(node).into() })
        .with_entry("echo")
        .with_system_lib("my_");
    let options = Options { metadata: true, ..bare() };
    let module = codegen::lower(&library.resolve().unwrap(), &options);
    ir::verify(&module).unwrap();
    snapshot("library", &module, &function.to_string(), &[]);
}

/// A launch with what the module keeps of its image and its kernel. The image is printed by its size.
#[test]
fn launch() {
    let text = "image code; launch(x: Tensor([n], float32, device=cuda), a: float32) -> None = { launch \
                code.\"kernel\"(x.data, struct(int32(n), a)) grid(ceildiv(n, 128)) block(128) cluster(2); };";
    let mut library: Library = text.parse().unwrap();
    library.images[0].bytes = Some(b".version 8.0\n".to_vec());
    let module = codegen::lower(&library.resolve().unwrap(), &bare());
    ir::verify(&module).unwrap();
    snapshot("launch", &module, &library.functions[0].to_string(), &[]);
}

/// Without the checks that callers may have made already.
#[test]
fn unchecked() {
    let text = "unchecked(x: Tensor([n, 64], float32, device=cuda, align=16), y: Tensor([n], float32, strides=[s], \
                device=cuda)) -> None = record_2(n, s);";
    let function: Function = text.parse().unwrap();
    let unchecked = Unchecked { shape: true, strides: true, device: true, alignment: true };
    let module = lowered(&function, &Options { unchecked, ..bare() });
    snapshot("unchecked", &module, &function.to_string(), &[]);
}

/// Two of the routines that wrappers share, with their texts; the others are declared only.
#[test]
fn routines() {
    let mut module = codegen::routines(Loader::HOST);
    ir::verify(&module).unwrap();
    let is_shown = |symbol: &ir::SymbolData| {
        let name = symbol.name.strip_prefix("tvm_ffi_codegen.").unwrap_or_default();
        let name = name.strip_suffix(".text").unwrap_or(name);
        name == "raise" || name == "settle"
    };
    let shown: Vec<bool> = module.symbols.iter().map(is_shown).collect();
    module.functions.retain(|function| shown[function.symbol.index()]);
    module.data.retain(|data| shown[data.symbol.index()]);
    assert_eq!(module.functions.len(), 2);
    for symbol in module.symbols.iter_mut().filter(|symbol| !is_shown(symbol)) {
        symbol.linkage = ir::Linkage::Import;
    }
    snapshot("routines", &module, "Two of the routines that wrappers share.", &[]);
}
