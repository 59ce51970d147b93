//! Untrusted files: damaged objects are errors, never panics, and never exhaust memory.

use std::fs;

use abi_spec::library_bin::ImportTree;
use proptest::prelude::*;
use tvm_ffi_codegen_driver::inspect::Inspection;
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{Error, Form, ObjectFault, Request, inspect};

use crate::cli::fails;
use crate::support::{folder, full, object, tree, twice, undefined};

/// Makes an object or library of each known kind.
fn samples() -> Vec<Vec<u8>> {
    let kernel = object("kernel", "int kernel(int x) { return x; }");
    let targets = ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
    let emit = |target: &str| {
        let request = Request { target: target.parse().unwrap(), ..Request::default() };
        request.emit_module(&twice()).unwrap()
    };
    let mut samples: Vec<Vec<u8>> = targets.into_iter().map(emit).collect();
    let documented = "/// Docs.\nf() -> None = kernel();".parse().unwrap();
    let documented = Request::default().emit(&documented).unwrap();
    assert!(inspect(&documented).unwrap().to_string().contains("  f() -> None\n    Docs.\n    ("));
    samples.push(documented);
    samples.push(shared(std::slice::from_ref(&kernel)).unwrap());
    samples.push(kernel.bytes().to_vec());
    samples.push(full(&tree().encode().unwrap()).bytes().to_vec());
    samples
}

fn shared(inputs: &[Input]) -> Result<Vec<u8>, Error> {
    let (kernels, linker) = (inputs.to_vec(), Some(Linker::Wild));
    Request { kernels, linker, ..Request::new(Form::Shared) }.link()
}

/// Reads bytes in every way of the driver: whole, from a file as far as needed, and as an input of the linker. The test
/// is that it returns.
fn read(bytes: Vec<u8>) {
    let inspected = inspect(&bytes);
    assert_eq!(read_file(&bytes), inspected);
    if let Ok(found) = inspected {
        assert!(found.to_string().lines().count() >= 9);
        let blob = inspect::library_bin(&bytes).unwrap();
        let tree = blob.map(|blob| ImportTree::decode(blob).is_ok());
        assert_eq!(found.library_bin.map(|tree| tree.modules.is_ok()), tree);
    }
    let _ = Input::new("damaged", bytes);
}

/// Inspects a file with these bytes. `open` refuses files that do not begin like an object.
fn read_file(bytes: &[u8]) -> Result<Inspection, ObjectFault> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    match inspect::open(file.path()) {
        Ok(contents) => contents.inspect(),
        Err(Error::Link { source: link::Error::Object { fault, .. } }) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

/// Names may be longer than the beginning that is read first.
#[test]
fn long_names_are_read() {
    for length in [4095, 4096, 40_000] {
        let name = "a".repeat(length);
        let bytes = undefined(&[&name]);
        assert_eq!(read_file(&bytes).unwrap().undefined[0].name, name);
        read(bytes);
    }
}

#[test]
fn truncated_files_are_errors_or_read() {
    for sample in samples() {
        for length in (0..sample.len()).step_by(7) {
            read(sample[..length].to_vec());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn damaged_files_are_errors_or_read(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        header in prop::collection::vec((0..512usize, any::<u8>()), 0..4),
    ) {
        for mut sample in samples() {
            for (index, byte) in &damage {
                let index = index.index(sample.len());
                sample[index] = *byte;
            }
            for (index, byte) in &header {
                if let Some(place) = sample.get_mut(*index) {
                    *place = *byte;
                }
            }
            read(sample);
        }
    }
}

#[test]
fn overlapping_names_are_refused() {
    // The string table is one long name, in which a symbol starts at each byte.
    let name = "a".repeat(4000);
    let names: Vec<&str> = (0..name.len()).map(|start| &name[start..]).collect();
    let bytes = undefined(&names);
    assert!(bytes.len() < 200_000, "the writer does not share strings");
    let fault = inspect(&bytes).unwrap_err();
    assert_eq!(fault.to_string(), "malformed object file: names take more room than the file");
    assert_eq!(Input::new("a.o", bytes).unwrap_err().to_string(), format!("a.o: {fault}"));
}

/// If the linker panics, the error has the file and the text of the panic, and nothing else is printed.
#[test]
fn damaged_inputs_that_pass_the_check_do_not_bring_down_the_linker() {
    let sample = object("kernel", "int f(int); int kernel(int x) { return f(x) + 1; }");
    let sample = sample.bytes().to_vec();
    let good = object("good", "int other(int x) { return x; }");
    let mut panics = Vec::new();
    for offset in (0..sample.len()).step_by(3) {
        let mut bytes = sample.clone();
        bytes[offset] ^= 0x80;
        let Ok(input) = Input::new("damaged.o", bytes.clone()) else { continue };
        let Err(error) = shared(&[good.clone(), input]) else { continue };
        if let Some(said) = error.to_string().strip_prefix("linker wild: it panicked on ") {
            assert!(said.starts_with("damaged.o: ") && said.len() > 15, "{said}");
            panics.push(bytes);
        }
    }
    let folder = folder();
    fs::write(folder.path().join("f.ffi"), "f() -> None = { };").unwrap();
    assert!(!panics.is_empty(), "the linker has become careful: find other damage");
    for bytes in panics.iter().take(3) {
        fs::write(folder.path().join("damaged.o"), bytes).unwrap();
        let (code, said) =
            fails(folder.path(), "emit f.ffi --emit shared --link damaged.o -o f.so");
        let expected = "error: linker wild: it panicked on damaged.o: ";
        assert!(code == 1 && said.starts_with(expected) && said.lines().count() == 1, "{said}");
    }
}
