//! Device variables of images: found once per image and device, and the memory that kernels and commands get.

use std::ptr;
use std::sync::Barrier;
use std::thread;

use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{
    Driver, Fake, Session, assert_same, cuda, error_of, int, library, sessions, shared,
    take_loading,
};
use super::table::brief;

const X: &str = "x: Tensor([n], float32, device=cuda)";

/// Calls a function that returns a number; an address is one.
pub(super) fn number(session: &Session, function: &str, args: &[Any]) -> Result<u64, String> {
    session.value(function, args).map(|value| value.bits().cast_unsigned())
}

fn vector(device: i32) -> Fake {
    Fake::new(0x1000, &[3]).on(cuda(device))
}

/// The driver is asked once for each variable and device; the size needs no second call.
#[test]
fn a_variable_is_found_once_per_device() {
    let stand_in = fake_cuda::exclusive();
    stand_in.set("devices", 2);
    for image in ["cubin", "ptx"] {
        let text = format!(
            "state({X}) -> ptr = {{ return {image}.global(\"state\"); }};
             size({X}) -> int64 = {{ return {image}.global(\"state\").size; }};
             factors({X}) -> int64 = {{ return {image}.global(\"factors\").size + int64({image}.global(\"state\")) % 8; }};"
        );
        for session in sessions(&library(&text)) {
            let place = format!("{} {image}", session.name);
            let mut addresses = Vec::new();
            for device in [0, 1] {
                session.set_stream(device, ptr::null_mut());
                stand_in.reset();
                let x = vector(device);
                let address = number(&session, "state", &[x.arg()]).unwrap();
                let loads = take_loading(&stand_in);
                let asked = format!(
                    "cuLibraryGetGlobal(lib \"state\") -> size=64 context=primary{device}\n"
                );
                assert!(loads.contains(&asked), "{place}\n{loads}");
                assert_eq!(loads.contains("cuLibraryLoadData"), device == 0, "{place}\n{loads}");
                assert_eq!(number(&session, "state", &[x.arg()]), Ok(address), "{place}");
                assert_eq!(number(&session, "size", &[x.arg()]), Ok(64), "{place}");
                assert_same(&take_loading(&stand_in), "", &place);
                assert_eq!(number(&session, "factors", &[x.arg()]), Ok(12), "{place}");
                assert!(!addresses.contains(&address), "{place}");
                addresses.push(address);
                assert_eq!(stand_in.live().pushed, 0, "{place}");
            }
        }
    }
}

/// Kernels and commands work on the memory of the variable.
#[test]
fn a_variable_is_memory_of_the_device() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let text = format!(
        "state({X}) -> ptr = {{ return cubin.global(\"state\"); }};
         f({X}) -> None = {{
            fill cubin.global(\"state\"), cubin.global(\"state\").size, 7;
            copy cubin.global(\"state\") + 8, x.data, n * 4;
            upload cubin.global(\"factors\") (float32(1.0), float32(2.0), float32(3.0));
            launch cubin.\"state_kernel\"(cubin.global(\"state\")) grid(1) block(1);
         }};
         g({X}) -> None = {{ @\"test.globals.take\"(cubin.global(\"state\"), cubin.global(\"state\").size); }};
         one({X}) -> ptr = {{ let p = cubin.global(\"state\"); return p + 4; }};"
    );
    let memory = driver.allocate(0, 12);
    for (at, byte) in [1_u8, 2, 3].into_iter().enumerate() {
        // SAFETY: the allocation has 12 bytes.
        unsafe { memory.add(at).write(byte) };
    }
    for session in sessions(&library(&text)) {
        session.set_stream(0, ptr::null_mut());
        let x = Fake::new(memory.expose_provenance(), &[3]);
        let address = number(&session, "state", &[x.arg()]).unwrap();
        stand_in.reset();
        session.call("f", &[x.arg()]).unwrap();
        let launched = brief(&take_loading(&stand_in));
        let bytes = address.to_le_bytes().map(|byte| format!("{byte:02x}")).concat();
        let expected = format!("parameters=[{bytes}]");
        assert!(launched.contains(&expected), "{}: {expected}\n{launched}", session.name);
        let state = ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the memory of the stand-in is that of the process; the variable has 64 bytes.
        let found = unsafe { std::slice::from_raw_parts(state, 64) };
        let (head, rest) = found.split_at(8);
        assert_eq!((head, &rest[..4]), (&[7; 8][..], &[1, 2, 3, 0][..]), "{}", session.name);
        assert_eq!(rest[12..], [7; 44], "{}", session.name);
        assert_eq!(number(&session, "one", &[x.arg()]), Ok(address + 4), "{}", session.name);
    }
    driver.free(0, memory);
}

/// An image that can be read is asked before; of PTX only the driver knows.
#[test]
fn images_have_what_is_asked_for() {
    let stand_in = fake_cuda::exclusive();
    let text =
        |image: &str| format!("f({X}) -> ptr = {{ let p = {image}.global(\"none\"); return p; }};");
    let known = [
        (
            "cubin",
            "f: statement 0: image `cubin` has no variable `none`: it has `state`, `factors`",
        ),
        ("fatbin", "f: statement 0: image `fatbin` has no variable `none`: it has none"),
    ];
    for (image, expected) in known {
        let error = library(&text(image)).resolve().expect_err(image).to_string();
        assert_eq!(error, expected, "{image}");
    }
    let call = format!("f({X}) -> int64 = k(n, cubin.global(\"none\"));");
    let error = library(&call).resolve().expect_err("a call").to_string();
    assert!(error.starts_with("f: call argument 1: image `cubin` has no"), "{error}");
    let unknown = library(&text("ptx"));
    let expected = "RuntimeError: Failed cuLibraryGetGlobal for none of image ptx …, CUDA_ERROR_NOT_FOUND (500): named symbol not found, device = cuda:0";
    for session in sessions(&unknown) {
        session.set_stream(0, ptr::null_mut());
        for _ in 0..2 {
            let error = number(&session, "f", &[vector(0).arg()]);
            assert_eq!(error, Err(error_of(&unknown, "f", expected)), "{}", session.name);
            assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
        }
    }
}

/// A message lists a size as it lists other numbers, and a launch says whose variable is meant.
#[test]
fn sizes_are_numbers() {
    let _stand_in = fake_cuda::exclusive();
    let text = "
        f(x: Tensor([n], float32, device=cuda)) -> int64 = { return n / (cubin.global(\"state\").size - 64); };
        g(x: Tensor([n], float32, device=any), y: Tensor([n], float32, device=any)) -> None
            = { launch cubin.\"state_kernel\"(cubin.global(\"state\")) grid(cubin.global(\"state\").size) block(1) on y; };
    ";
    let library = library(text);
    let expected = "ValueError: Division by zero in n / (cubin.global(\"state\").size - 64) …, n = 3, cubin.global(\"state\").size = 64";
    let on_cpu = vector(0).on(abi_spec::Device { ty: abi_spec::DeviceType::CPU, id: 0 });
    for session in sessions(&library) {
        session.set_stream(0, ptr::null_mut());
        let error = number(&session, "f", &[vector(0).arg()]);
        assert_eq!(error, Err(error_of(&library, "f", expected)), "{}", session.name);
        let ended = session.call("g", &[on_cpu.arg(), vector(0).arg()]);
        assert_eq!(ended, Ok(()), "{}", session.name);
    }
}

/// Devices beyond the tables are no devices, and a tensor on the cpu has no variable.
#[test]
fn devices_have_places() {
    let stand_in = fake_cuda::exclusive();
    let text =
        "f(x: Tensor([n], float32, device=any)) -> ptr = { return cubin.global(\"state\"); };";
    let library = library(text);
    for session in sessions(&library) {
        for device in [2, 63, 64, 128, -1] {
            let error = number(&session, "f", &[vector(device).arg()]).unwrap_err();
            // Other devices have no place, so that the driver is not asked.
            let call = if device < 64 && device > 0 { "cuDevicePrimaryCtxRetain for " } else { "" };
            let expected = format!(
                "RuntimeError: Failed {call}state of image cubin …, CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal, device = cuda:{device}"
            );
            assert_eq!(error, error_of(&library, "f", &expected), "{}", session.name);
            assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
        }
        let on_cpu = vector(0).on(abi_spec::Device { ty: abi_spec::DeviceType::CPU, id: 0 });
        let error = number(&session, "f", &[on_cpu.arg()]).unwrap_err();
        assert!(error.contains("expected cuda but got cpu"), "{}: {error}", session.name);
    }
}

pub(super) const WORK: &str = "f(x: Tensor([n], float32, device=DEVICE)) -> None = {
    copy code.global(\"factors\"), code.global(\"state\"), code.global(\"factors\").size;
    launch code.\"state_kernel\"(code.global(\"state\")) grid(1) block(1);
};";

/// Every call of the driver fails once, in a fresh library: the error says which, no context is left, and the next call
/// works.
#[test]
fn failures_leave_nothing_behind() {
    let stand_in = fake_cuda::exclusive();
    let library = library(&WORK.replace("code", "cubin").replace("DEVICE", "cuda"));
    for make in shared(&library) {
        for fault in 1.. {
            let session = make();
            session.set_stream(0, ptr::null_mut());
            stand_in.reset();
            stand_in.fail_at(fault, 999);
            let ended = session.call("f", &[vector(0).arg()]);
            let (record, calls) = (stand_in.record(), stand_in.calls());
            stand_in.reset();
            if calls < fault {
                assert_eq!(ended, Ok(()), "{}", session.name);
                break;
            }
            let place = format!("{}: call {fault}: {record}", session.name);
            if let Err(error) = ended {
                let is_known = error.contains(", CUDA_ERROR_UNKNOWN (999): unknown error")
                    || error.contains("Mismatched parameters");
                assert!(is_known, "{place}: {error}");
            }
            let not_popped = record
                .lines()
                .any(|line| line.starts_with("cuCtxPopCurrent") && line.ends_with("(as told)"));
            assert_eq!(stand_in.live().pushed, i64::from(not_popped), "{place}");
            stand_in.pop_all();
            assert_eq!(session.call("f", &[vector(0).arg()]), Ok(()), "{place}");
        }
    }
}

/// A variable that was prepared can be used while a graph is captured; one that was not cannot be found then.
#[test]
fn variables_are_prepared() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let library = library(&WORK.replace("code", "cubin").replace("DEVICE", "cuda"));
    let library = library.with_prepare("ready");
    let stream = driver.create_stream(0);
    for session in sessions(&library) {
        session.set_stream(0, stream);
        let x = vector(0);
        let mut ended = Ok(());
        let status = driver.capture(stream, || ended = session.call("f", &[x.arg()]));
        assert_eq!(status, 901, "{}", session.name);
        assert!(ended.unwrap_err().contains("_CAPTURE_UNSUPPORTED"), "{}", session.name);
        session.call("ready", &[int(0)]).unwrap();
        let mut ended = Ok(());
        let status = driver.capture(stream, || ended = session.call("f", &[x.arg()]));
        assert_eq!((ended, status), (Ok(()), 0), "{}", session.name);
        assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
        let wrong = session.call("ready", &[int(7)]).unwrap_err();
        assert!(wrong.ends_with("device = cuda:7"), "{}: {wrong}", session.name);
    }
    driver.destroy_stream(0, stream);
}

/// Threads that look for a variable at once find the same one.
#[test]
fn threads_find_the_same_variable() {
    let stand_in = fake_cuda::exclusive();
    let text = format!("state({X}) -> ptr = {{ return cubin.global(\"state\"); }};");
    for session in sessions(&library(&text)) {
        let before = stand_in.live().libraries;
        let barrier = Barrier::new(8);
        let function = session.function("state");
        let work = || {
            let (x, mut result) = (vector(0), Any::NONE);
            let args = [x.arg()];
            barrier.wait();
            // SAFETY: the arguments are valid, and the code is alive.
            let status = unsafe { function(ptr::null_mut(), args.as_ptr(), 1, &mut result) };
            (status, result.bits())
        };
        let found: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(found[0].1 != 0 && found.iter().all(|one| *one == (0, found[0].1)), "{found:x?}");
        assert_eq!(stand_in.live().libraries, before + 1, "{}", session.name);
    }
}

/// A closure keeps the launch with the address, which is the same in every call.
#[test]
fn closures_keep_addresses() {
    let stand_in = fake_cuda::exclusive();
    let text = format!(
        "f({X}) -> Function = {{ return function() -> None {{
            launch cubin.\"state_kernel\"(cubin.global(\"state\")) grid(n) block(1) on x;
        }}; }};"
    );
    for session in sessions(&library(&text)) {
        session.set_stream(0, ptr::null_mut());
        let x = super::session::FakeObject::new(vector(0));
        let held = super::closures::Held::new(&session, "f", &[x.arg()]).unwrap();
        let launch = || {
            stand_in.reset();
            held.call(&[]).unwrap();
            take_loading(&stand_in)
        };
        let first = launch();
        assert!(first.contains("cuLibraryGetGlobal"), "{}: {first}", session.name);
        let later = [launch(), launch()];
        assert!(first.ends_with(&later[0]) && later[0] == later[1], "{}: {later:?}", session.name);
    }
}

/// Unloading forgets the addresses.
#[test]
fn unloaded_variables_are_found_again() {
    let stand_in = fake_cuda::exclusive();
    let text = format!("state({X}) -> ptr = {{ return cubin.global(\"state\"); }};");
    let library = library(&text);
    for session in sessions(&library) {
        let Some(compiled) = session.compiled() else { continue };
        session.set_stream(0, ptr::null_mut());
        let found = |stand_in: &FakeCuda| {
            stand_in.reset();
            number(&session, "state", &[vector(0).arg()]).unwrap();
            take_loading(stand_in).contains("cuLibraryGetGlobal")
        };
        assert_eq!([found(&stand_in), found(&stand_in)], [true, false], "{}", session.name);
        // SAFETY: no function and no kernel is running.
        unsafe { compiled.unload_images() };
        assert_eq!([found(&stand_in), found(&stand_in)], [true, false], "{}", session.name);
    }
}
