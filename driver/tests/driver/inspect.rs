//! Reports on objects and libraries of every format.

use std::process::Command;

use ::object::{Object, ObjectSymbol};
use abi_spec::library_bin::{DecodeError, ImportTree};
use target_lexicon::Triple;
use tvm_ffi_codegen_driver::inspect::{Text, Undefined};
use tvm_ffi_codegen_driver::link::Linker;
use tvm_ffi_codegen_driver::{BackendName, Form, ObjectFault, Request, inspect};

use crate::support::{backends, folder, full, object, tree, twice, undefined};

/// Removes sizes of code, which depend on the compiler.
fn without_code_sizes(report: &str) -> String {
    let strip = |line: &str| match line
        .strip_prefix("    (")
        .and_then(|facts| facts.split_once(" bytes"))
    {
        Some((_, facts)) => format!("    (bytes{facts}\n"),
        None => format!("{line}\n"),
    };
    report.lines().map(strip).collect()
}

#[test]
fn report_lists_what_is_there() {
    let expected = "\
functions: 3
  f
    (bytes, metadata by a call, doc by a call)
  g
    (bytes, doc by a call)
  main
    (bytes)
import tree: 137 bytes
  0: _lib
    1: cuda, 3 bytes
      2: data, 2 bytes
    2: data, as above
module loaders: 2
  ffi.Module.load_from_bytes.cuda
  ffi.Module.load_from_bytes.data
library context: 8 bytes
other reserved symbols: 1
  __tvm_ffi__cubin_k
runtime functions: 2
  TVMFFIHandleInitOnce since 0.1.5
  TVMFFIObjectDecRef since 0.1.0
runtime release: 0.1.5 or newer
other undefined symbols: 2
  optional (weak)
  printf
needed libraries: none
";
    let input = full(&tree().encode().unwrap());
    let found = inspect(input.bytes()).unwrap();
    let report = without_code_sizes(&found.to_string());
    assert!(report.contains(expected), "{report}");
    assert_eq!(report, format!("ELF x86_64 object\n{expected}"));
    for linker in [Linker::Wild, Linker::Cc("cc".into())] {
        let request = Request {
            kernels: vec![input.clone()],
            linker: Some(linker.clone()),
            runtime_dependency: false,
            ..Request::new(Form::Shared)
        };
        let library = request.link().unwrap();
        let linked = inspect(&library).unwrap();
        // Linking keeps the size of code.
        assert_eq!(linked.functions, found.functions, "{linker:?}");
        assert_eq!(linked.library_bin, found.library_bin, "{linker:?}");
        assert_eq!((linked.library_ctx, &linked.reserved), (found.library_ctx, &found.reserved));
        assert_eq!((linked.kind, &linked.runtime), ("shared library", &found.runtime));
        assert_eq!(linked.needed, ["libc.so.6"], "{linker:?}");
    }
}

#[test]
fn damaged_import_trees_are_reported() {
    let tree = tree().encode().unwrap();
    for bytes in [&tree[..tree.len() - 1], b"\0", &[0; 8]] {
        let found = inspect(full(bytes).bytes()).unwrap();
        let error = ImportTree::decode(bytes).unwrap_err();
        let expected = format!("import tree: {} bytes, damaged: {error}\n", bytes.len());
        assert!(found.to_string().contains(&expected), "{expected}{found}");
    }
    let zeros = object("zeros", "char __tvm_ffi__library_bin[64];");
    let modules = inspect(zeros.bytes()).unwrap().library_bin.unwrap().modules;
    assert!(matches!(modules, Err(DecodeError { offset: 0, .. })), "{modules:?}");
}

#[test]
fn every_format_is_read() {
    let rows = [
        ("x86_64-unknown-linux-gnu", "ELF x86_64", true),
        ("riscv64gc-unknown-linux-gnu", "ELF riscv64", true),
        ("aarch64-apple-darwin", "Mach-O aarch64", false),
        ("x86_64-pc-windows-msvc", "COFF x86_64", false),
    ];
    for (target, machine, sized) in rows {
        let request = Request { target: target.parse().unwrap(), ..Request::default() };
        let found = inspect(&request.emit_module(&twice()).unwrap()).unwrap();
        assert_eq!((found.machine.as_str(), found.kind), (machine, "object"));
        assert_eq!(found.functions.len(), 1, "{target}");
        assert_eq!(found.functions[0].name, "twice", "{target}");
        assert_eq!(found.functions[0].size.is_some_and(|size| size > 0), sized, "{target}");
        assert_eq!(found.undefined, [Undefined { name: "kernel".to_owned(), weak: false }]);
    }
}

#[test]
fn runtime_functions_we_do_not_know_have_no_release() {
    let input = object("new", "int TVMFFINew(void); int __tvm_ffi_f(void) { return TVMFFINew(); }");
    let found = inspect(input.bytes()).unwrap();
    assert_eq!(found.runtime[0].name, "TVMFFINew");
    assert_eq!(found.release(), None);
    let report = found.to_string();
    assert!(report.contains("  TVMFFINew since an unknown release\nruntime release: unknown\n"));
}

#[test]
fn nothing_else_is_an_object() {
    for bytes in [&b""[..], b"\x7fEL", b"M", b"#!/bin/sh\necho hello\n"] {
        assert_eq!(inspect(bytes), Err(ObjectFault::Unrecognized), "{bytes:?}");
    }
    for (bytes, format) in [(&b"\x7fELF"[..], "ELF"), (b"MZ", "PE")] {
        let reason = format!("cut or damaged behind the mark of {format}");
        assert_eq!(inspect(bytes), Err(ObjectFault::Malformed { reason }));
    }
    assert_eq!(inspect(b"!<arch>\n0123456789abcdef"), Err(ObjectFault::Archive));
    assert_eq!(inspect(b"\xca\xfe\xba\xbe\0\0\0\x01\0\0\0\0\0\0\0\0"), Err(ObjectFault::Universal));
}

#[test]
fn names_cannot_move_the_cursor() {
    let found = inspect(&undefined(&["a\x1b[2Jb"])).unwrap();
    assert_eq!(found.undefined[0].name, "a\\u{1b}[2Jb");
}

#[test]
fn functions_are_shown_as_they_are_declared() {
    let text = "/// Adds.\n///\n/// Twice.\n@\"k.py\":7 f(x: Tensor([n], int8), *rest: Any) -> None where n > 1 = k(x);
        g(n: int64) -> int64 = l(n);";
    let object = Request::default().emit(&text.parse().unwrap()).unwrap();
    let found = inspect(&object).unwrap();
    let expected = "functions: 2
  f(x: Tensor([n], int8), *rest: Any) -> None where n > 1
    Adds.

    Twice.
    (bytes, from k.py:7)
  g(n: int64) -> int64
    (bytes)
import tree: none
";
    let report = without_code_sizes(&found.to_string());
    assert!(report.starts_with(&format!("ELF x86_64 object\n{expected}")), "{report}");
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    let f = &json["functions"][0];
    assert_eq!((&f["name"], &f["doc"]), (&"f".into(), &"Adds.\n\nTwice.".into()));
    assert_eq!(f["signature"], "f(x: Tensor([n], int8), *rest: Any) -> None where n > 1");
    assert_eq!(f["metadata"]["declaration"]["location"]["line"], 7);
    assert_eq!((&json["functions"][1]["doc"], &json["import_tree"]), (&().into(), &().into()));
    assert_eq!((&json["machine"], &json["release"]), (&"ELF x86_64".into(), &"0.1.0".into()));
    assert_eq!(json["undefined"][0], serde_json::json!({ "name": "k", "weak": false }));
    assert_eq!(json["runtime"][0]["since"], "0.1.0");
}

#[test]
fn import_trees_are_told_to_programs() {
    let found = inspect(full(&tree().encode().unwrap()).bytes()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    let modules = &json["import_tree"]["modules"];
    let expected = serde_json::json!([
        { "kind": "_lib", "size": null, "imports": [1, 2] },
        { "kind": "cuda", "size": 3, "imports": [2] },
        { "kind": "data", "size": 2, "imports": [] },
    ]);
    assert_eq!((modules, &json["library_context"]["size"]), (&expected, &8.into()));
    assert_eq!(json["functions"][0]["computed"], serde_json::json!(["metadata", "doc"]));
    let damaged = inspect(full(b"\0").bytes()).unwrap().to_json();
    assert!(damaged.contains("\"damaged\": "), "{damaged}");
}

#[test]
fn texts_about_functions_are_in_files_of_every_format() {
    let library = "/// Docs.\nf() -> None = k(); g() -> None = k();".parse().unwrap();
    for backend in backends() {
        for target in ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"]
        {
            let target = target.parse().unwrap();
            // C has a compiler of this machine.
            if backend == BackendName::C && target != Triple::host() {
                continue;
            }
            let request = Request { backend, target, ..Request::default() };
            let object = request.emit(&library).unwrap();
            let texts = |text: &Text| matches!(text, Text::Constant(_));
            let found = inspect(&object).unwrap().functions;
            let found: Vec<_> = found.iter().map(|f| (texts(&f.metadata), f.doc.clone())).collect();
            let docs = Text::Constant("Docs.".to_owned());
            assert_eq!(
                found,
                [(true, docs), (true, Text::Absent)],
                "{} {}",
                request.backend,
                request.target
            );
        }
    }
}

#[test]
fn stripped_libraries_keep_texts_and_export_wrappers_only() {
    let library = "/// Docs.\nf() -> None = k();".parse().unwrap();
    let kernels = vec![object("k", "void k(void) {}")];
    for linker in [Linker::Wild, Linker::Cc("cc".into())] {
        for backend in backends() {
            let (linker, kernels) = (Some(linker.clone()), kernels.clone());
            let request = Request { backend, linker, kernels, ..Request::new(Form::Shared) };
            let folder = folder();
            let path = folder.path().join("f.so");
            request.write(&library, &path).unwrap();
            assert!(Command::new("strip").arg("-s").arg(&path).status().unwrap().success());
            let bytes = std::fs::read(path).unwrap();
            let found = inspect(&bytes).unwrap().functions;
            assert_eq!(found[0].doc, Text::Constant("Docs.".to_owned()));
            assert!(matches!(&found[0].metadata, Text::Constant(text) if text.starts_with('{')));
            let file = ::object::File::parse(&*bytes).unwrap();
            let defined = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined());
            assert!(
                defined
                    .flat_map(|s| s.name().map(str::to_owned))
                    .all(|name| name.starts_with("__tvm_ffi_"))
            );
        }
    }
}
