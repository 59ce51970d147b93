//! Libraries with imports: their behaviour in Python, with a runtime library in C++ that registers a kind of module,
//! and inspection of a library that Apache TVM exported.

mod by_name;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use abi_spec::library_bin::{ImportTree, MAX_CHAIN, Module, Node};
use codegen::Library;
use driver::imports::extract;
use driver::link::Input;
use driver::{Form, Request, inspect};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;
use tvm_ffi_codegen_tests::ffi::{config, includes};
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

const ANSWER: &str = "answer() -> int64 = answer_kernel();";
const ANSWERER: &str = "long answer_kernel(void) { return 42; }";

const DECLARATIONS: &str = "
    answer() -> int64 = answer_kernel();
    through_context(n: int64) -> int64 = through_context_kernel(n);
";

/// Kernels: one without dependencies, and one that calls `twice` of an imported module with its argument.
const KERNELS: &str = r#"
    #include <tvm/ffi/c_api.h>
    #include <tvm/ffi/extra/c_env_api.h>
    extern void* __tvm_ffi__library_ctx;
    int64_t answer_kernel(void) { return 42; }
    int64_t through_context_kernel(int64_t n) {
        TVMFFIObjectHandle twice = NULL;
        TVMFFIAny argument = {0}, result = {0};
        if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "twice", &twice) != 0) return -1;
        argument.type_index = kTVMFFIInt;
        argument.v_int64 = n;
        if (TVMFFIFunctionCall(twice, &argument, 1, &result) != 0) return -2;
        return result.v_int64;
    }
"#;

/// A folder for libraries.
struct Workshop(TempDir);

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("modules").join(name)
}

/// Compiles the runtime library at the first call.
fn runtime() -> &'static Path {
    static RUNTIME: OnceLock<TempDir> = OnceLock::new();
    let folder = RUNTIME.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let options = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"];
        cc(Command::new("c++")
            .args(options)
            .arg(folder.path().join("runtime.so"))
            .arg("-std=c++17")
            .args(includes())
            .arg(file("runtime.cc"))
            .args([format!("-L{}", config("--libdir")), "-ltvm_ffi".to_owned()]));
        folder
    });
    folder.path()
}

impl Workshop {
    fn new() -> Workshop {
        Workshop(tempfile::tempdir().expect("a folder can be made"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles C.
    fn kernels(&self, source: &str) -> Input {
        let (text, object) = (self.path("kernels.c"), self.path("kernels.o"));
        fs::write(&text, source).expect("a file can be written");
        let options = ["-Wall", "-Werror", "-O2", "-fPIC", "-c", "-o"];
        cc(Command::new("cc").args(options).arg(&object).args(includes()).arg(&text));
        Input::read(&object).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Compiles and links a library that imports a tree.
    fn library(&self, name: &str, backend: &str, nodes: &[Node<'static>]) {
        // A library that its tree does not mention gets no context.
        let in_context = nodes.iter().any(|node| node.module == Module::Library);
        let (text, kernels) = if in_context { (DECLARATIONS, KERNELS) } else { (ANSWER, ANSWERER) };
        let kernels = vec![self.kernels(kernels)];
        let library: Library = text.parse().expect("the declarations are valid");
        let library = library.with_imports(ImportTree { nodes: nodes.to_vec() });
        let request = Request { kernels, ..request(backend, Form::Shared) };
        request
            .write(&library, &self.path(name))
            .unwrap_or_else(|error| panic!("{backend}: {error}"));
    }

    /// Runs statements in one process and compares each value with the expected one.
    fn expect(&self, rows: &[(&str, &str)]) {
        let mut child = Command::new("python3")
            .arg(host("imports.py"))
            .arg(runtime().join("runtime.so"))
            .arg(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("use tests/run");
        let statements: Vec<&str> = rows.iter().map(|(statement, _)| *statement).collect();
        let text = serde_json::Value::from(statements).to_string();
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("Python reads all of it first");
        drop(stdin);
        let output = child.wait_with_output().expect("Python ends");
        assert!(output.status.success(), "imports.py: {}", output.status);
        let text = String::from_utf8(output.stdout).expect("the output is text");
        let found: Vec<(&str, &str)> =
            rows.iter().map(|(statement, _)| *statement).zip(text.lines()).collect();
        assert_eq!(found, rows);
    }
}

fn library(children: &[usize]) -> Node<'static> {
    Node { module: Module::Library, children: children.to_vec() }
}

fn custom(kind: &'static str, text: &str, children: &[usize]) -> Node<'static> {
    let module = Module::Custom { kind: kind.into(), bytes: text.as_bytes().to_vec().into() };
    Node { module, children: children.to_vec() }
}

#[test]
fn imported_modules_are_found_called_and_released() {
    let workshop = Workshop::new();
    let nodes =
        [library(&[1, 2]), custom("table", "one=1\ntwo=2", &[2]), custom("table", "s=7", &[])];
    for backend in backends() {
        workshop.library("lib.so", backend, &nodes);
        workshop.expect(&[
            ("m = load('lib.so')", ""),
            ("tree(m)", "('library', ('table', ('table',)), ('table',))"),
            ("alive()", "2"),
            ("m.answer()", "42"),
            ("m.imports[0].one()", "1"),
            ("m.imports[0].two(40)", "42"),
            ("m.imports[1].s()", "7"),
            ("m.imports[0].imports[0] == m.imports[1]", "True"),
            ("m.one()", "AttributeError: Module has no function 'one'"),
            ("m.implements_function('one')", "False"),
            ("m.implements_function('one', query_imports=True)", "True"),
            ("m.get_function('one', query_imports=True)(9)", "10"),
            ("m.get_function('s', query_imports=True)()", "7"),
            ("f = m.get_function('s', query_imports=True)", ""),
            ("del m", ""),
            ("alive()", "1"),
            ("f(1)", "8"),
            ("del f", ""),
            ("alive()", "0"),
        ]);
    }
}

#[test]
fn kernels_reach_imports_by_the_context() {
    let workshop = Workshop::new();
    let nodes = [library(&[1]), custom("table", "twice=100", &[])];
    for backend in backends() {
        workshop.library("lib.so", backend, &nodes);
        workshop.expect(&[
            ("m = load('lib.so')", ""),
            ("context('lib.so')", "True"),
            ("m.through_context(11)", "111"),
            ("del m", ""),
            ("alive()", "0"),
        ]);
    }
}

#[test]
fn trees_of_every_shape_load() {
    let table = |text: &str, children: &[usize]| custom("table", text, children);
    let leaf = table("a=1", &[]);
    let deep: Vec<Node<'_>> = (1..=MAX_CHAIN)
        .map(|next| table(&format!("f{next}=1"), &[next][..usize::from(next < MAX_CHAIN)]))
        .collect();
    let rows: [(&[Node<'_>], &str, &str, &str); 7] = [
        (&[library(&[])], "('library',)", "True", "0"),
        (
            &[library(&[1]), table("b=1", &[2]), leaf.clone()],
            "('library', ('table', ('table',)))",
            "True",
            "2",
        ),
        (
            &[table("r=1", &[1]), library(&[2]), leaf.clone()],
            "('table', ('library', ('table',)))",
            "True",
            "2",
        ),
        (
            &[library(&[1, 2]), table("b=1", &[3]), table("c=1", &[3]), leaf.clone()],
            "('library', ('table', ('table',)), ('table', ('table',)))",
            "True",
            "3",
        ),
        (&[table("r=1", &[1]), leaf.clone()], "('table', ('table',))", "'none'", "2"),
        (&[library(&[1, 1]), leaf.clone()], "('library', ('table',), ('table',))", "True", "1"),
        (&deep, "", "'none'", "256"),
    ];
    let workshop = Workshop::new();
    for (nodes, tree, context, alive) in rows {
        workshop.library("lib.so", backends()[0], nodes);
        let tree = if tree.is_empty() { ("''", "''") } else { ("tree(m)", tree) };
        workshop.expect(&[
            ("m = load('lib.so')", ""),
            tree,
            ("context('lib.so')", context),
            ("alive()", alive),
            ("m.implements_function('nowhere', query_imports=True)", "False"),
            ("del m", ""),
            ("alive()", "0"),
        ]);
    }
}

#[test]
fn what_cannot_be_loaded_says_so_and_leaves_nothing_behind() {
    let table = custom("table", "a=1", &[]);
    let rows: [(&[Node<'_>], &str); 3] = [
        (
            &[library(&[1, 2]), table.clone(), custom("unheard.of", "x", &[])],
            "RuntimeError: Library binary was created using {unheard.of} but a loader of that name is \
             not registered. Make sure to have runtime that registers \
             ffi.Module.load_from_bytes.unheard.of",
        ),
        (
            &[library(&[1, 2]), table.clone(), custom("broken", "x", &[])],
            "ValueError: broken: 1 bytes",
        ),
        (
            &[library(&[1, 2]), table, custom("table", "nothing", &[])],
            "ValueError: no table: nothing",
        ),
    ];
    let workshop = Workshop::new();
    for (nodes, message) in rows {
        workshop.library("lib.so", backends()[0], nodes);
        workshop.expect(&[("m = load('lib.so')", message), ("alive()", "0")]);
    }
    workshop.library("lib.so", backends()[0], rows[0].0);
    let found = inspect(&fs::read(workshop.path("lib.so")).unwrap()).unwrap();
    let loaders = ["table", "unheard.of"].map(|kind| format!("ffi.Module.load_from_bytes.{kind}"));
    assert_eq!(found.loaders(), loaders);
}

#[test]
fn loaders_may_call_back() {
    let other = [library(&[1]), custom("table", "inner=5", &[])];
    let statements = "\
context('lib.so')
alive()
answer('lib.so')
result = load('other.so')
result.answer()
result.imports[0].inner()";
    let nodes =
        [library(&[1, 2]), custom("table", "a=1", &[]), custom("callback", statements, &[])];
    let workshop = Workshop::new();
    for backend in backends() {
        workshop.library("lib.so", backend, &nodes);
        workshop.library("other.so", backend, &other);
        workshop.expect(&[
            ("m = load('lib.so')", ""),
            ("tree(m)", "('library', ('table',), ('library', ('table',)))"),
            ("events", "['True', '1', '42', '', '42', '5']"),
            ("m.imports[1].imports[0].inner()", "5"),
        ]);
    }
}

/// Generates trees of up to 12 modules, each of which imports some later ones in any order.
fn trees() -> impl Strategy<Value = ImportTree<'static>> {
    let shape = (1..=12_usize).prop_flat_map(|count| {
        let imports = prop::collection::vec(prop::collection::vec(0..count, 0..4), count);
        (imports, Just((1..count).collect::<Vec<_>>()).prop_shuffle(), 0..count + 1)
    });
    shape.prop_map(|(imports, order, library)| {
        let place = |at: usize| if at == 0 { 0 } else { order[at - 1] };
        let mut nodes = vec![self::library(&[]); imports.len()];
        for (at, children) in imports.iter().enumerate() {
            let node = &mut nodes[place(at)];
            node.children =
                children.iter().filter(|child| **child > at).map(|c| place(*c)).collect();
            if at != library {
                node.module = custom("table", &format!("id={}", place(at)), &[]).module;
            }
        }
        ImportTree { nodes }
    })
}

/// Returns the expected output of `graph` of `imports.py`.
fn graph(tree: &ImportTree<'_>) -> String {
    let number = |node: usize| match tree.nodes[node].module {
        Module::Library => -1,
        Module::Custom { .. } => node as i64,
    };
    let (mut found, mut left) = (BTreeMap::new(), vec![0]);
    while let Some(node) = left.pop() {
        let children = &tree.nodes[node].children;
        let numbers: Vec<i64> = children.iter().map(|child| number(*child)).collect();
        if found.insert(number(node), numbers).is_none() {
            left.extend(children);
        }
    }
    let entries: Vec<String> = found.iter().map(|entry| format!("{entry:?}")).collect();
    format!("[{}]", entries.join(", "))
}

#[test]
fn the_runtime_reads_what_is_encoded() {
    let mut runner = TestRunner::deterministic();
    let trees: Vec<_> =
        (0..500).map(|_| trees().new_tree(&mut runner).expect("a tree").current()).collect();
    assert!(trees.iter().any(|tree| tree.nodes.iter().all(|n| n.module != Module::Library)));
    let rows: Vec<(String, String)> = trees
        .iter()
        .map(|tree| {
            let blob: String =
                tree.encode().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
            (format!("graph(system('{blob}'))"), graph(tree))
        })
        .collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(s, e)| (s.as_str(), e.as_str())).collect();
    Workshop::new().expect(&rows);
}

/// The tree in a library that Apache TVM exported by `modules/apache_tvm.py`.
#[test]
fn trees_of_apache_tvm_are_read() {
    let tree = "import tree: 553 bytes
  0: _lib
    1: const_loader, 123 bytes
    2: const_loader, 127 bytes
      3: const_loader, 119 bytes
module loaders: 1
  ffi.Module.load_from_bytes.const_loader
";
    let folder = tempfile::tempdir().expect("a folder can be made");
    let compiled = folder.path().join("apache_tvm.o");
    let shared = folder.path().join("apache_tvm.so");
    cc(Command::new("cc").args(["-fPIC", "-c", "-o"]).arg(&compiled).arg(file("apache_tvm.c")));
    cc(Command::new("cc").args(["-shared", "-o"]).arg(&shared).arg(&compiled));
    let blobs = [file("apache_tvm.o"), compiled, shared].map(|path| {
        let bytes = fs::read(path).unwrap();
        let report = inspect(&bytes).unwrap().to_string();
        assert!(report.contains(tree), "{report}");
        inspect::library_bin(&bytes).unwrap().unwrap().to_vec()
    });
    assert!(blobs.iter().all(|blob| *blob == blobs[0]));
    // A tree of the same parts encodes to the same bytes.
    extract(&ImportTree::decode(&blobs[0]).unwrap(), &folder.path().join("parts")).unwrap();
    let read = driver::imports::read_tree(&folder.path().join("parts/tree.toml")).unwrap();
    let library = Library::default().with_imports(read);
    for backend in backends() {
        let object = request(backend, Form::Object).emit(&library).unwrap();
        assert_eq!(inspect::library_bin(&object), Ok(Some(&*blobs[0])));
    }
}
