//! The stand-in for the CUDA driver: a test program in C, and this process.

use std::ffi::{c_int, c_void};
use std::process::Command;

use libloading::os::unix::{Library, Symbol};
use tvm_ffi_codegen_tests::fake_cuda::{self, CUBIN, FATBIN, Live, PTX};
use tvm_ffi_codegen_tests::kernels::cc;

type GetCount = extern "C" fn(*mut c_int) -> c_int;
type GetName = extern "C" fn(c_int, *mut *const c_void) -> c_int;

/// The program compares records and refusals with the expected ones, and prints differences.
#[test]
fn a_program_in_c_finds_it_and_agrees_with_its_records() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("check");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]);
    compile.args(fake_cuda::in_c(&fake_cuda::sources().join("check")));
    cc(compile.args(["-ldl", "-lpthread", "-o"]).arg(&program));
    let mut check = Command::new(&program);
    check.env("LD_LIBRARY_PATH", fake_cuda::folder()).env_remove("FAKE_CUDA_DEVICES");
    let output = check.arg(fake_cuda::sources()).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "as expected\n", "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

/// Finds an entry point as generated code does: by the name of the library alone.
fn entry_point<T>(name: &str) -> Symbol<T> {
    // SAFETY: the library is loaded already.
    let library = unsafe { Library::new("libcuda.so.1") }.expect("it is found by its soname");
    // SAFETY: the caller knows the type.
    unsafe { library.get(name) }.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn this_process_finds_it_once_it_is_loaded() {
    let cuda = fake_cuda::exclusive();
    let init: Symbol<extern "C" fn(u32) -> c_int> = entry_point("cuInit");
    let get_count: Symbol<GetCount> = entry_point("cuDeviceGetCount");
    let get_name: Symbol<GetName> = entry_point("cuGetErrorName");
    let (mut count, mut name) = (0, std::ptr::null());
    cuda.set("devices", 3);
    assert_eq!((init(0), get_count(&mut count), count), (0, 0, 3));
    cuda.fail_at(1, 999);
    assert_eq!((get_count(&mut count), get_name(999, &mut name)), (999, 0));
    let record = "cuInit(flags=0)\ncuDeviceGetCount() -> 3\n\
        cuDeviceGetCount() = 999 CUDA_ERROR_UNKNOWN (as told)\n";
    assert_eq!((cuda.record().as_str(), cuda.calls()), (record, 3));
    assert_eq!(cuda.live(), Live::default());
    cuda.quiet(true);
    assert_eq!((get_count(&mut count), cuda.calls()), (0, 3));
    cuda.quiet(false);
}

/// The images are kept in the repository, so they must be small.
#[test]
fn the_images_are_what_their_names_say() {
    assert!(CUBIN.starts_with(b"\x7fELF") && CUBIN.len() < 20_000);
    assert!(FATBIN.starts_with(&0xba55_ed50_u32.to_le_bytes()) && FATBIN.len() < 20_000);
    assert!(PTX.contains(".target sm_80"));
}
