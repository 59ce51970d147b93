//! Import trees on the command line and in files.

use std::fs;
use std::os::unix;
use std::path::Path;

use abi_spec::library_bin::{ImportTree, Module, Node};
use tvm_ffi_codegen_driver::imports::{extract, read_tree};
use tvm_ffi_codegen_driver::link::Linker;
use tvm_ffi_codegen_driver::{BackendName, Error, Form, Request, inspect};

use crate::cli::{fails, quiet};
use crate::support::{folder, full, object, tree};

const DECLARATIONS: &str = "answer() -> int64 = answer_kernel();";
const KERNEL: &str = "long answer_kernel(void) { return 42; }";

/// Backends of this build.
const BACKENDS: &[&str] = BackendName::BUILT;

/// Makes a folder with declarations, a kernel, two files to import, and a tree of them.
fn sources() -> tempfile::TempDir {
    let folder = folder();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("answer.ffi", DECLARATIONS.as_bytes());
    write("kernel.o", object("kernel", KERNEL).bytes());
    fs::create_dir(folder.path().join("parts")).unwrap();
    write("parts/a.bin", b"AAA");
    write("parts/b.bin", b"BB");
    write("parts/empty.bin", b"");
    let tree = r#"
        # A root of our own, the library below it, and a module that both share.
        [[module]]
        kind = "router"
        file = "a.bin"
        imports = [1, 2]

        [[module]]
        kind = "_lib"
        imports = [2]

        [[module]]
        kind = "weights"
        file = "b.bin"
    "#;
    write("parts/tree.toml", tree.as_bytes());
    folder
}

fn custom(kind: &'static str, bytes: &'static [u8], children: &[usize]) -> Node<'static> {
    let module = Module::Custom { kind: kind.into(), bytes: bytes.into() };
    Node { module, children: children.to_vec() }
}

fn library(children: &[usize]) -> Node<'static> {
    Node { module: Module::Library, children: children.to_vec() }
}

/// Returns the tree that a file embeds.
fn embedded(path: &Path) -> ImportTree<'static> {
    let bytes = fs::read(path).unwrap();
    let blob = inspect::library_bin(&bytes).unwrap().expect("a tree");
    let nodes = ImportTree::decode(blob).unwrap().nodes.into_iter().map(|node| Node {
        module: match node.module {
            Module::Library => Module::Library,
            Module::Custom { kind, bytes } => {
                Module::Custom { kind: kind.into_owned().into(), bytes: bytes.into_owned().into() }
            }
        },
        children: node.children,
    });
    ImportTree { nodes: nodes.collect() }
}

#[test]
fn files_are_embedded_as_the_command_line_says() {
    let children = ImportTree {
        nodes: vec![library(&[1, 2]), custom("a", b"AAA", &[]), custom("b.c", b"BB", &[])],
    };
    let shared = ImportTree {
        nodes: vec![
            custom("router", b"AAA", &[1, 2]),
            library(&[2]),
            custom("weights", b"BB", &[]),
        ],
    };
    let rows = [
        ("--import a=parts/a.bin --import b.c=parts/b.bin", children),
        ("--import-tree parts/tree.toml", shared),
    ];
    let folder = sources();
    for (options, tree) in rows {
        for backend in BACKENDS {
            let emit = format!("emit answer.ffi --backend {backend} {options}");
            quiet(folder.path(), &format!("{emit} -o answer.o"));
            assert_eq!(embedded(&folder.path().join("answer.o")), tree, "{emit}");
            for linker in ["wild", "cc"] {
                let link = "--emit shared --link kernel.o -o answer.so --linker";
                quiet(folder.path(), &format!("{emit} {link} {linker}"));
                assert_eq!(embedded(&folder.path().join("answer.so")), tree, "{emit} {linker}");
            }
        }
    }
    for target in ["aarch64-apple-darwin", "x86_64-pc-windows-msvc", "riscv64gc-linux-gnu"] {
        let emit = format!("emit answer.ffi --import-tree parts/tree.toml --target {target}");
        quiet(folder.path(), &format!("{emit} -o answer.o"));
        let expected = read_tree(&folder.path().join("parts/tree.toml")).unwrap();
        assert_eq!(embedded(&folder.path().join("answer.o")), expected, "{target}");
    }
}

#[test]
fn what_is_extracted_can_be_embedded_again() {
    let folder = sources();
    let emit = "emit answer.ffi --emit shared --link kernel.o -o";
    quiet(folder.path(), &format!("{emit} first.so --import-tree parts/tree.toml"));
    let report = quiet(folder.path(), "inspect first.so --extract out/of/it");
    assert_eq!(report, quiet(folder.path(), "inspect first.so"));
    let out = folder.path().join("out/of/it");
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["0.router", "2.weights", "tree.toml"]);
    assert_eq!(fs::read(out.join("0.router")).unwrap(), b"AAA");
    let toml = "\
[[module]]
kind = \"router\"
file = \"0.router\"
imports = [1, 2]

[[module]]
kind = \"_lib\"
imports = [2]

[[module]]
kind = \"weights\"
file = \"2.weights\"
";
    assert_eq!(fs::read_to_string(out.join("tree.toml")).unwrap(), toml);
    quiet(folder.path(), &format!("{emit} second.so --import-tree out/of/it/tree.toml"));
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("first.so") == read("second.so"));
}

#[test]
fn faults_of_descriptions_are_named() {
    const FIELDS: &str = "expected one of `kind`, `file`, `imports`";
    let module = |body: &str| format!("[[module]]\nkind = \"a\"\nfile = \"a.bin\"\n{body}");
    let rows = [
        ("", "1:1: missing field `module`".to_owned()),
        ("module = []", "the import tree has no modules".into()),
        ("moduel = []", "1:1: unknown field `moduel`, expected `module`".into()),
        ("[[module]]\nkind = 7", "2:8: invalid type: integer `7`, expected a string".into()),
        ("[[module]]\nfile = \"a.bin\"", "1:1: missing field `kind`".into()),
        ("[[module]]\nkind = \"a\"", "module 0 has no file".into()),
        (&module("imports = [-1]"), "4:12: invalid value: integer `-1`, expected usize".into()),
        (&module("imports = [0]"), "module 0 imports itself".into()),
        (&module("imports = [1]"), "module 0 imports module 1, which does not exist".into()),
        (&module("import = [1]"), format!("4:1: unknown field `import`, {FIELDS}")),
        (&module("file = \"b.bin\""), "4:1: duplicate key".into()),
        ("[[module]]\nkind = \"\"\nfile = \"a.bin\"", "the kind of module 0 is empty".into()),
        ("[[module]]\nkind = \"a\"\nfile = \"empty.bin\"", "module 0 has no bytes".into()),
        (
            "[[module]]\nkind = \"_lib\"\nfile = \"a.bin\"",
            "module 0 is the library, which has no file".into(),
        ),
        (
            "[[module]]\nkind = \"_lib\"\n[[module]]\nkind = \"_lib\"",
            "module 1 is the library, which the tree already holds".into(),
        ),
    ];
    let folder = sources();
    for (text, message) in rows {
        fs::write(folder.path().join("parts/bad.toml"), text).unwrap();
        let command = "emit answer.ffi -o answer.o --import-tree parts/bad.toml";
        let separator = if message.starts_with(|c: char| c.is_ascii_digit()) { ":" } else { ": " };
        let expected = format!("error: parts/bad.toml{separator}{message}\n");
        assert_eq!(fails(folder.path(), command), (1, expected), "{text}");
    }
}

#[test]
fn faults_of_options_are_named() {
    let rows = [
        ("--import a=parts/empty.bin", 1, "error: parts/empty.bin: module 1 has no bytes\n"),
        (
            "--import _lib=parts/a.bin",
            1,
            "error: parts/a.bin: the kind of module 1 is `_lib`, which stands for the library\n",
        ),
        ("--import =parts/a.bin", 1, "error: parts/a.bin: the kind of module 1 is empty\n"),
        ("--import a=gone", 1, "error: cannot read gone: No such file or directory (os error 2)\n"),
        (
            "--import-tree gone.toml",
            1,
            "error: cannot read gone.toml: No such file or directory (os error 2)\n",
        ),
        ("--import parts/a.bin", 2, "expected KIND=FILE"),
        ("--import a=parts/a.bin --import-tree parts/tree.toml", 2, "cannot be used with"),
    ];
    let folder = sources();
    for (options, code, message) in rows {
        let (found, stderr) = fails(folder.path(), &format!("emit answer.ffi -o x.o {options}"));
        assert_eq!(found, code, "{options}: {stderr}");
        let as_said = if code == 1 { stderr == message } else { stderr.contains(message) };
        assert!(as_said, "{options}: {stderr}");
    }
}

#[test]
fn names_of_files_stay_in_the_folder() {
    let kinds = ["../../up", "/root", "a/b", "c:\\d", "..", ".", "nul\0\n", "é", "tree.toml", "x"];
    let long = "k".repeat(5000);
    let custom = |kind: &&'static str| custom(kind, b"x", &[]);
    let mut nodes: Vec<Node<'_>> = kinds.iter().map(custom).collect();
    nodes.push(Node {
        module: Module::Custom { kind: long.as_str().into(), bytes: b"x"[..].into() },
        children: vec![0, 1],
    });
    let tree = ImportTree { nodes };
    let (outer, name) = (folder(), "inner");
    let inner = outer.path().join(name);
    extract(&tree, &inner).unwrap();
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&inner).unwrap().count(), kinds.len() + 2);
    for entry in fs::read_dir(&inner).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.len() < 40 && name != "." && name != "..", "{name}");
    }
    assert_eq!(read_tree(&inner.join("tree.toml")).unwrap(), tree);
}

#[test]
fn nothing_is_overwritten() {
    let outer = folder();
    let inner = outer.path().join("inner");
    let files = || fs::read_dir(&inner).unwrap().count();
    for name in ["1.cuda", "2.data", "tree.toml"] {
        for link in [false, true] {
            fs::create_dir(&inner).unwrap();
            if link {
                unix::fs::symlink(outer.path().join("elsewhere"), inner.join(name)).unwrap();
            } else {
                fs::write(inner.join(name), "mine").unwrap();
            }
            let error = extract(&tree(), &inner).unwrap_err();
            assert!(matches!(&error, Error::Write { path, .. } if path.ends_with(name)), "{error}");
            assert_eq!(files(), 1, "what was written before is gone");
            assert!(!outer.path().join("elsewhere").exists());
            assert!(link || fs::read(inner.join(name)).unwrap() == b"mine");
            fs::remove_dir_all(&inner).unwrap();
        }
    }
    fs::write(&inner, "a file").unwrap();
    assert!(matches!(extract(&tree(), &inner), Err(Error::Write { .. })));
}

#[test]
fn only_trees_are_extracted() {
    let folder = sources();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("damaged.o", full(&[0; 8]).bytes());
    let rows = [
        ("kernel.o", "kernel.o: there is no import tree to extract\n"),
        (
            "damaged.o",
            "damaged.o: malformed import tree at byte 0x8: expected 8 more bytes, found 0\n",
        ),
        ("answer.ffi", "answer.ffi: not an object file\n"),
    ];
    for (file, message) in rows {
        let outcome = fails(folder.path(), &format!("inspect {file} --extract out"));
        assert_eq!(outcome, (1, format!("error: {message}")));
    }
}

#[test]
fn trees_of_system_libraries_are_read() {
    let folder = sources();
    for backend in BACKENDS {
        let emit = format!("emit answer.ffi --backend {backend} --system-lib mine_ -o mine.o");
        quiet(folder.path(), &format!("{emit} --import-tree parts/tree.toml"));
        let expected = read_tree(&folder.path().join("parts/tree.toml")).unwrap();
        assert_eq!(embedded(&folder.path().join("mine.o")), expected, "{backend}");
        let report = String::from_utf8(quiet(folder.path(), "inspect mine.o")).unwrap();
        let size = expected.encoded_len();
        let title = format!("\nimport tree of system library mine_: {size} bytes\n  0: router");
        assert!(report.contains(&title), "{report}");
        assert!(report.contains("\nlibrary context: 8 bytes\n"), "{report}");
    }
}

/// C code from Apache TVM has its tree in an array of unknown alignment, without other symbols of ours.
#[test]
fn trees_in_c_are_read() {
    let blob = tree().encode().unwrap();
    let bytes: Vec<String> = blob.iter().map(|byte| format!("{byte:#04x}")).collect();
    let array = format!("__tvm_ffi__library_bin[{}] = {{{}}};", bytes.len(), bytes.join(","));
    let assembly: String = format!(
        "asm(\".data\\n.byte 1,2,3\\n.globl __tvm_ffi__library_bin\\n\
         __tvm_ffi__library_bin: .byte {}\\n.byte 0,0\");",
        bytes.join(",")
    );
    let padding = "const char before[] = {1, 2, 3};";
    let sources = [
        format!("{padding} const unsigned char {array}"),
        format!("{padding} __attribute__((section(\".lrodata\"))) const unsigned char {array}"),
        format!("unsigned char {array}"),
        assembly,
    ];
    for source in sources {
        let input = object("model", &source);
        let library = || {
            let (kernels, linker) = (vec![input.clone()], Some(Linker::Cc("cc".into())));
            Request { kernels, linker, ..Request::new(Form::Shared) }.link().unwrap()
        };
        for bytes in [input.bytes(), &library()] {
            assert_eq!(inspect::library_bin(bytes), Ok(Some(&*blob)), "{source}");
            let report = inspect(bytes).unwrap().to_string();
            assert!(report.contains("  0: _lib\n    1: cuda, 3 bytes"), "{report}");
        }
    }
}
