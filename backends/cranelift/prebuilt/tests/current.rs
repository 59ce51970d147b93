//! The build script and this process, which were compiled with other settings, compile the routines to the same bytes.

use backend_cranelift::recorded::{Recorded, record};
use backend_cranelift::{Cranelift, Settings, isa};
use codegen::linker::{linked_routines, routines};
use codegen::{Backend, Loader};
use target_lexicon::Triple;
use tvm_ffi_codegen_prebuilt::{TARGET, in_process, objects};

#[test]
fn objects_are_current() {
    let triple: Triple = TARGET.parse().unwrap();
    let known = objects(TARGET).unwrap();
    let now = linked_routines(Loader::HOST);
    assert!(!now.is_empty() && known.len() == now.len());
    for (object, (name, module)) in known.iter().zip(now) {
        let bytes = Cranelift::new(triple.clone()).object(&module, &[]).unwrap();
        assert!(object.name == name && object.bytes == bytes, "{name}");
    }
}

/// The linker finds an object by the symbols that it is listed with.
#[test]
fn objects_define_what_they_are_listed_with() {
    for object in objects(TARGET).unwrap() {
        assert!(!object.defines.is_empty(), "{}", object.name);
        for symbol in object.defines {
            let name = format!("\0{symbol}\0");
            let has_name = object.bytes.windows(name.len()).any(|bytes| bytes == name.as_bytes());
            assert!(has_name, "{}: {symbol}", object.name);
        }
    }
}

#[test]
fn code_for_the_process_is_current() {
    let isa = isa(&Triple::host(), Settings::JIT).unwrap();
    let now = record(isa, &routines(Loader::HOST)).unwrap();
    let known = in_process().expect("there is a code generator for the host");
    assert!(known == now);
    assert!(Recorded::from_bytes(known).is_ok());
}

#[test]
fn other_machines_have_none() {
    assert_eq!(objects("riscv64gc-unknown-none-elf"), None);
    assert!(Recorded::from_bytes(b"").is_err());
}
