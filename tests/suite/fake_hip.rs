//! The stand-in for HIP: a test program in C, and this process.

use std::ffi::c_int;
use std::process::Command;

use libloading::os::unix::{Library, Symbol};
use tvm_ffi_codegen_tests::fake_cuda::{Live, in_c};
use tvm_ffi_codegen_tests::fake_hip::{self, BUNDLE, HSACO, SONAME};
use tvm_ffi_codegen_tests::kernels::cc;

/// The program compares records and refusals with the expected ones, and prints differences.
#[test]
fn a_program_in_c_finds_it_and_agrees_with_its_records() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("check");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]);
    compile.args(in_c(&fake_hip::sources().join("check")));
    cc(compile.args(["-ldl", "-o"]).arg(&program));
    let mut check = Command::new(&program);
    check.env("LD_LIBRARY_PATH", fake_hip::folder()).env_remove("FAKE_CUDA_DEVICES");
    let output = check.arg(fake_hip::sources()).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "as expected\n", "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn this_process_finds_it_once_it_is_loaded() {
    let hip = fake_hip::exclusive();
    // SAFETY: the library is loaded already.
    let library = unsafe { Library::new(SONAME) }.expect("it is found by its soname");
    // SAFETY: the stand-in defines the function with this type.
    let count: Symbol<extern "C" fn(*mut c_int) -> c_int> =
        unsafe { library.get("hipGetDeviceCount") }.expect("it is an entry point");
    let mut devices = 0;
    hip.set("devices", 3);
    assert_eq!((count(&mut devices), devices), (0, 3));
    hip.fail_at(1, 999);
    assert_eq!(count(&mut devices), 999);
    hip.set_device(2);
    let record = "hipGetDeviceCount() -> 3\n\
        hipGetDeviceCount() = 999 hipErrorUnknown (as told)\nhipSetDevice(2)\n";
    assert_eq!((hip.record().as_str(), hip.calls()), (record, 3));
    assert_eq!(hip.live(), Live { pushed: 2, ..Live::default() });
}

/// The images are kept in the repository, so they must be small.
#[test]
fn the_images_are_what_their_names_say() {
    assert!(HSACO.starts_with(b"\x7fELF\x02\x01\x01\x40") && HSACO.len() < 20_000);
    assert!(BUNDLE.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") && BUNDLE.len() < 20_000);
}
