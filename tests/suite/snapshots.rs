//! Wrappers to read, in `snapshots/<case>/`: two in every language and as resolved declarations, the others as host IR.
//! One test each.

mod folder;
mod native;

use std::path::{Path, PathBuf};

use abi_spec::library_bin;
use codegen::{Function, Library, Loader, Options, Routines, Unchecked, ir};
use insta::{Settings, assert_snapshot};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// Defines a test for each named function, and the list of their names.
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
    /// Functions with a snapshot in every language.
    every_language, super::BACKENDS;
    add_one integers
}

wrappers! {
    /// Functions with a snapshot of the host IR only.
    host_ir, &[];
    a_device a_stream a_thing above_int64 any_rank arms default_and_tail either element element_type entries extents fields
    float_constraint floor free give_float16 give_int8 give_str literal_text meaning none_result
    optional_int optional_tensor scalar_tensor scale terms two_devices two_outputs words
}

/// Functions that show as much as longer ones of the test table.
const DECLARED: &str = "
    arms(v: Union[int64, Function]) -> int64
        = { match v { i: int64 => { return i; } _: Function => { return 0; } } };
    element(xs: Array[int64], i: int64) -> None = record_1(xs[i]);
    integers(xs: Array[int64]) -> None = record_1(xs.size);
    entries(m: Map[Any, int64]) -> None = record_object(m);
    extents(s: Shape([n, 4, n * 2])) -> None = record_ints_int(s, s[2]);
    fields(t: Tuple[n: int64, m: int64]) -> None where t.n == t.m = record_2(t.n, t.m);
    terms(s: Shape([n * m]), n: int64, m: int64) -> None = record_2(n, m);
    two_devices(x: Tensor([], int8, device=any), y: Tensor([], int8, device=any)) -> None = record_0();
";

/// Snapshots of host IR with a test of their own.
const OTHERS: [&str; 4] = ["launch", "library", "routines", "unchecked"];

/// Returns the target of all snapshots, so that they are the same on every machine.
pub(crate) fn target() -> Triple {
    "x86_64-unknown-linux-gnu".parse().expect("a known target")
}

/// Returns the folder of the snapshots.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

/// Lowers a function and verifies the result.
pub(crate) fn lowered(function: &Function, options: &Options) -> ir::Module {
    let library = Library::from(vec![function.clone()]);
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
    let module = codegen::lower(&resolved, options);
    ir::verify(&module).unwrap();
    module
}

/// Returns options for a module of the wrapper alone.
pub(crate) fn bare() -> Options {
    Options { routines: Routines::Shared, metadata: false, ..Options::default() }
}

fn wrapper(case: &str, languages: &[&str]) {
    let declared: Library = DECLARED.parse().expect("the declarations are valid");
    let of_table = cases::table().into_iter().map(|case| case.function);
    let function =
        declared.functions.into_iter().chain(of_table).find(|f| f.signature.name == case);
    let function = function.unwrap_or_else(|| panic!("there is no function {case}"));
    snapshot(case, &lowered(&function, &bare()), &function.to_string(), languages);
    if !languages.is_empty() {
        let library = Library::from(vec![function.clone()]);
        let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
        let settings = settings(case, &function.to_string());
        settings.bind(|| assert_snapshot!("resolved", resolved.to_string()));
    }
}

/// Returns the settings of the snapshots of a case.
fn settings(case: &str, description: &str) -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(folder().join(case));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(description);
    settings
}

/// Compares the host IR and the given languages with the snapshots. Every language is verified.
fn snapshot(case: &str, module: &ir::Module, description: &str, languages: &[&str]) {
    settings(case, description).bind(|| {
        assert_snapshot!("ir", module.to_string());
        for backend in BACKENDS {
            let text = native::text(module, backend);
            if languages.contains(backend) {
                assert_snapshot!(*backend, text);
            }
        }
    });
}

/// A library with everything besides wrappers: metadata, documentation, an entry, imports, and the registration of a
/// system library.
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

/// A launch, with the data of its image and kernel. The image is printed as its size and a sum.
#[test]
fn launch() {
    let text = "image code; launch(x: Tensor([], float32, device=cuda), n: int64) -> None = { launch \
                code.\"kernel\"(x.data, struct(int32(n))) grid(ceildiv(n, 128)) block(128) cluster(2); };";
    let mut library: Library = text.parse().unwrap();
    library.images[0].bytes = Some(b".version 8.0\n".to_vec());
    let module = codegen::lower(&library.resolve().unwrap(), &bare());
    ir::verify(&module).unwrap();
    snapshot("launch", &module, &library.functions[0].to_string(), &[]);
}

/// A wrapper without the checks that callers may have made.
#[test]
fn unchecked() {
    let text = "unchecked(x: Tensor([n, 64], float32, strides=[s, 1], device=cuda, align=16)) -> None = record_2(n, s);";
    let function: Function = text.parse().unwrap();
    let unchecked = Unchecked { shape: true, strides: true, device: true, alignment: true };
    let module = lowered(&function, &Options { unchecked, ..bare() });
    snapshot("unchecked", &module, &function.to_string(), &[]);
}

/// One of the routines that wrappers share, with its texts; the others are declarations.
#[test]
fn routines() {
    let mut module = codegen::linker::routines(Loader::HOST);
    ir::verify(&module).unwrap();
    let is_shown =
        |symbol: &ir::SymbolData| symbol.name.trim_end_matches(".text") == "tvm_ffi_codegen.raise";
    let shown: Vec<bool> = module.symbols.iter().map(is_shown).collect();
    module.functions.retain(|function| shown[function.symbol.index()]);
    module.data.retain(|data| shown[data.symbol.index()]);
    assert_eq!(module.functions.len(), 1);
    for symbol in module.symbols.iter_mut().filter(|symbol| !is_shown(symbol)) {
        symbol.linkage = ir::Linkage::Import;
    }
    snapshot("routines", &module, "One of the routines that wrappers share.", &[]);
}
