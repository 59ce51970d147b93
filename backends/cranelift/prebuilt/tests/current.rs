//! Tests that the compiled routines equal those that would be compiled now.

use backend_cranelift::recorded::{Recorded, Recorder};
use backend_cranelift::{Cranelift, Settings, emit, isa};
use codegen::{Loader, linked_routines, routines};
use target_lexicon::Triple;
use tvm_ffi_codegen_prebuilt::{TARGET, in_process, objects};

#[test]
fn objects_are_current() {
    let triple: Triple = TARGET.parse().unwrap();
    let known = objects(TARGET).unwrap();
    let now = linked_routines();
    assert_eq!(known.len(), now.len());
    for (object, (name, module)) in known.iter().zip(now) {
        let bytes = Cranelift { triple: triple.clone() }.object(&module).unwrap();
        assert!(object.name == name && object.bytes == bytes, "{name}");
    }
}

#[test]
fn code_for_the_process_is_current() {
    let mut recorder = Recorder::new(isa(&Triple::host(), Settings::JIT).unwrap());
    emit(&mut recorder, &routines(Loader::HOST)).unwrap();
    let now = recorder.finish().unwrap().to_bytes().unwrap();
    assert!(in_process() == Some(&now[..]));
}

#[test]
fn other_machines_have_none() {
    assert_eq!(objects("riscv64gc-unknown-none-elf"), None);
    assert!(Recorded::from_bytes(b"").is_err());
}
