//! Metadata of functions: as Python reads it from a loaded library, and as inspection reads it from the file.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::inspect::Text;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{build, has_target, request};

const DECLARATIONS: &str = "
    /// Gives back what it gets.
    ///
    /// Not \"more\": µ.
    @\"k.dsl\":7
    documented(a: int8) -> int8 where a > 0 = echo_int8(a);
    plain(x: Tensor([n], float32), p: ptr, b: bool) -> None = record_0();
    paired(pair: Object[\"demo.Pair\"], n: int64) -> None = record_0();
";

/// Prints the metadata of a library's functions.
const READER: &str = "
import json, sys
import tvm_ffi
from tvm_ffi.core import TypeSchema
module = tvm_ffi.load_module(sys.argv[1])
for name in ['documented', 'plain', 'paired', 'recorded', 'absent']:
    metadata = module.get_function_metadata(name)
    schema = metadata and repr(TypeSchema.from_json_str(metadata['type_schema']))
    print(json.dumps([schema, metadata, module.get_function_doc(name)]))
";

fn python(script: &str, library: &Path) -> String {
    let output = Command::new("python3").arg("-c").arg(script).arg(library).output();
    let output = output.unwrap_or_else(|error| panic!("python3: {error}; use tests/run"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("the output is text")
}

#[test]
fn python_reads_metadata_and_docs() {
    let library: Library = DECLARATIONS.parse().unwrap();
    let resolved = library.resolve().unwrap();
    let schemas = [
        Some("Callable[[int], int]"),
        Some("Callable[[Tensor, ctypes.c_void_p, bool], None]"),
        Some("Callable[[Object, int], None]"),
        Some("Callable[[], ctypes.c_void_p]"),
        None,
    ];
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.so");
        build(&library, backend, &path);
        let answers = python(READER, &path);
        let answers = answers.lines().map(|line| serde_json::from_str(line).unwrap());
        let answers: Vec<[serde_json::Value; 3]> = answers.collect();
        let docs = &library.functions[0].docs;
        let expected_docs = [Some(docs.as_str()), None, None, None, None];
        for (i, [schema, metadata, doc]) in answers.iter().enumerate() {
            assert_eq!(
                (schema.as_str(), doc.as_str()),
                (schemas[i], expected_docs[i]),
                "{backend}"
            );
            let own = (i < library.functions.len()).then(|| resolved.metadata(i));
            let own = own.map(|text| serde_json::from_str(&text).unwrap());
            assert!(own.is_none_or(|own: serde_json::Value| own == *metadata), "{backend}");
        }
        assert_eq!(answers.len(), schemas.len());
    }
}

#[test]
fn files_tell_metadata_and_docs() {
    let library: Library = DECLARATIONS.parse().unwrap();
    let resolved = library.resolve().unwrap();
    let module = driver::lower(&library, &codegen::Options::default()).unwrap();
    let targets = ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
    let documented = &library.functions[0];
    let constant = |text: &str| Text::Constant(text.to_owned());
    let mut files = Vec::new();
    for backend in backends() {
        for target in targets.into_iter().filter(|target| has_target(backend, target)) {
            let target = target.parse().unwrap();
            let request = driver::Request { target, ..request(backend, driver::Form::Object) };
            files.push(request.emit_module(&module).unwrap());
        }
        let folder = tempfile::tempdir().unwrap();
        build(&library, backend, &folder.path().join("library.so"));
        files.push(std::fs::read(folder.path().join("library.so")).unwrap());
    }
    for file in files {
        let found = driver::inspect(&file).unwrap();
        let of = |name| found.functions.iter().find(|f| f.name == name).unwrap();
        assert_eq!(of("documented").metadata, constant(&resolved.metadata(0)));
        assert_eq!(of("documented").doc, constant(&documented.docs));
        assert_eq!(of("plain").metadata, constant(&resolved.metadata(1)));
        assert_eq!(of("plain").doc, Text::Absent);
        let report = found.to_string();
        assert!(report.contains("    Not \"more\": µ.\n    ("), "{report}");
        assert!(report.contains("from k.dsl:7)\n"), "{report}");
    }
}

/// A file for the stub generator to fill in.
const STUB: &str = "\
# tvm-ffi-stubgen(begin): global/ours
# tvm-ffi-stubgen(end)
";

#[test]
fn the_stub_generator_knows_the_types() {
    let library: Library = DECLARATIONS.parse().unwrap();
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let (path, stub) = (folder.path().join("library.so"), folder.path().join("stub.py"));
        build(&library, backend, &path);
        std::fs::write(&stub, STUB).unwrap();
        let mut generate = Command::new("tvm-ffi-stubgen");
        generate.args(["--imports", "extension"]).arg(&stub).env("LIBRARY", &path);
        generate
            .env("FUNCTIONS", "documented plain paired recorded")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        generate.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/hosts"));
        let output = generate.output();
        let output =
            output.unwrap_or_else(|error| panic!("tvm-ffi-stubgen: {error}; use tests/run"));
        let text = std::fs::read_to_string(&stub).unwrap();
        let stubs: Vec<&str> = text.lines().filter(|line| line.contains("def ")).collect();
        let expected = [
            "    def documented(_0: int, /) -> int: ...",
            "    def paired(_0: Object, _1: int, /) -> None: ...",
            "    def plain(_0: Tensor, _1: c_void_p, _2: bool, /) -> None: ...",
            "    def recorded() -> c_void_p: ...",
        ];
        assert_eq!(stubs, expected, "{backend}: {output:?}");
    }
}
