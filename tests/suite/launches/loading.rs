//! Loading: the first launch finds driver, images and kernels, once; errors of each.

use std::ptr;
use std::sync::Barrier;
use std::thread;

use codegen::Library;
use tvm_ffi_codegen_tests::fake_cuda::{self, CUBIN, FATBIN, FakeCuda, Live};

use super::session::{
    Fake, Session, assert_same, error_of, library, sessions, shared, take_loading, take_record,
};
use super::table::brief;

fn text(image: &str, kernel: &str, args: &str) -> String {
    format!(
        "f(x: Tensor([n], float32, device=cuda)) -> None \
         = {{ launch {image}.\"{kernel}\"({args}) grid(1) block(1); }};"
    )
}

fn axpy(image: &str) -> Library {
    library(&text(image, "axpy_kernel", "x.data, x.data, int32(n), float32(n)"))
}

/// Makes a first call on the default stream; returns the record without calls that happen once per process, and the
/// error.
fn first(session: &Session, stand_in: &FakeCuda) -> String {
    session.set_stream(0, ptr::null_mut());
    stand_in.reset();
    let x = Fake::new(0x1000, &[3]);
    let ended = session.call("f", &[x.arg()]);
    assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
    let mut found = brief(&take_loading(stand_in));
    found += &ended.err().unwrap_or_default();
    found
}

fn error(session: &Session, stand_in: &FakeCuda) -> String {
    first(session, stand_in).lines().last().unwrap_or_default().to_owned()
}

const LAUNCHED: &str = "cuCtxGetDevice() = 201 CUDA_ERROR_INVALID_CONTEXT (there is no context)\n\
    cuCtxPushCurrent_v2(primary0)\n\
    \"axpy_kernel\" grid=1,1,1 block=1,1,1 stream=null) -> parameters=[0010000000000000, 0010000000000000, 03000000, 00004040]\n\
    cuCtxPopCurrent_v2() -> primary0\n";

#[test]
fn all_is_loaded_at_the_first_launch() {
    let stand_in = fake_cuda::exclusive();
    let images = [("cubin", "sm_90"), ("fatbin", "sm_80 sm_90"), ("ptx", "compute_80")];
    let params = "\
cuKernelGetParamInfo(lib.\"axpy_kernel\" 0) -> offset=0 size=8
cuKernelGetParamInfo(lib.\"axpy_kernel\" 1) -> offset=8 size=8
cuKernelGetParamInfo(lib.\"axpy_kernel\" 2) -> offset=16 size=4
cuKernelGetParamInfo(lib.\"axpy_kernel\" 3) -> offset=20 size=4
cuKernelGetParamInfo(lib.\"axpy_kernel\" 4) = 1 CUDA_ERROR_INVALID_VALUE (it has 4 parameters)
";
    for (image, code) in images {
        let expected = format!(
            "cuLibraryLoadData(jit_options=0 options=0) -> lib {code}\n\
             cuLibraryGetKernel(lib \"axpy_kernel\")\n{params}{LAUNCHED}"
        );
        for session in sessions(&axpy(image)) {
            let before = stand_in.live();
            assert_same(
                &first(&session, &stand_in),
                &expected,
                &format!("{} {image}", session.name),
            );
            assert_same(&first(&session, &stand_in), LAUNCHED, &session.name);
            assert_eq!(stand_in.live().libraries, before.libraries + 1, "{}", session.name);
        }
    }
}

/// A shared library finds the driver itself and retains each primary context once.
#[test]
fn the_driver_is_found_at_the_first_launch() {
    let stand_in = fake_cuda::exclusive();
    for make in shared(&axpy("cubin")) {
        let session = make();
        session.set_stream(0, ptr::null_mut());
        let (x, retained) = (Fake::new(0x1000, &[3]), stand_in.live().retained);
        for opening in [true, false] {
            stand_in.reset();
            session.call("f", &[x.arg()]).unwrap();
            let record = take_record(&stand_in);
            let starts = record
                .starts_with("cuDriverGetVersion() -> 12080\ncuInit(flags=0)\ncuLibraryLoadData(");
            let retains = record
                .contains("cuDevicePrimaryCtxRetain(device=0) -> primary0 retained=\ncuCtxPush");
            assert_eq!((starts, retains), (opening, opening), "{}\n{record}", session.name);
        }
        assert_eq!(stand_in.live().retained, retained + 1, "{}", session.name);
    }
}

/// After a driver that is too old, finds no device or fails, the next call tries again.
#[test]
fn drivers_are_new_enough_and_work() {
    let stand_in = fake_cuda::exclusive();
    let library = axpy("cubin");
    for make in shared(&library) {
        let session = make();
        let expected = |text: &str| error_of(&library, "f", text);
        stand_in.set("version", 11080);
        let old = "RuntimeError: Outdated CUDA driver libcuda.so.1 …, expected version 12000 or newer but got 11080";
        assert_eq!(error(&session, &stand_in), expected(old), "{}", session.name);
        stand_in.set("version", 12000);
        stand_in.set("devices", 0);
        let none = "RuntimeError: Failed cuInit …, CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected";
        assert_eq!(error(&session, &stand_in), expected(none), "{}", session.name);
        stand_in.set("devices", 2);
        let x = Fake::new(0x1000, &[3]);
        stand_in.fail_at(1, 999);
        let version =
            "RuntimeError: Failed cuDriverGetVersion …, CUDA_ERROR_UNKNOWN (999): unknown error";
        let found = session.call("f", &[x.arg()]).unwrap_err();
        assert_eq!(found, expected(version), "{}", session.name);
        session.call("f", &[x.arg()]).unwrap();
        stand_in.set("version", 12080);
    }
}

/// Under compute-sanitizer the driver tells parameters only to a thread with a context: what it does not tell is not
/// compared.
#[test]
fn a_thread_without_a_context_may_not_learn_parameters() {
    let stand_in = fake_cuda::exclusive();
    let x = Fake::new(0x1000, &[3]);
    let library = axpy("cubin");
    let asks = |line: &&str| line.starts_with("cuKernelGetParamInfo");
    // Returns what a first call has asked the driver for, if the driver fails this one of its calls.
    let record = |session: &Session, failing: i64| {
        stand_in.reset();
        stand_in.fail_at(failing, 201);
        assert_eq!(session.call("f", &[x.arg()]), Ok(()), "{}", session.name);
        stand_in.record()
    };
    for make in shared(&library) {
        let before = record(&make(), 0);
        let place = before.lines().position(|line| asks(&line)).expect("parameters are compared");
        let found = record(&make(), place as i64 + 1);
        let told: Vec<&str> = found.lines().filter(asks).collect();
        assert!(matches!(told[..], [one] if one.ends_with("(as told)")), "{found}");
        assert!(found.contains("cuLaunchKernelEx"), "{found}");
    }
}

/// Kernels, their arguments, and errors about these. Only the driver reads PTX.
const WRONG: [(&str, &str, &str); 10] = [
    (
        "no_kernel",
        "x.data",
        "Failed cuLibraryGetKernel for no_kernel of image ptx …, CUDA_ERROR_NOT_FOUND (500): named symbol not found, device = cuda:0",
    ),
    ("cluster_kernel", "", "Mismatched parameters of cluster_kernel …, expected 1 but got 0"),
    (
        "cluster_kernel",
        "x.data, x.data",
        "Mismatched parameters of cluster_kernel …, expected 1 but got 2",
    ),
    ("hidden", "x.data, int32(n)", "Mismatched parameters of hidden …, expected 4 but got 2"),
    (
        "cluster_kernel",
        "int32(n)",
        "Mismatched size of parameter #0 of cluster_kernel …, expected 8 but got 4",
    ),
    (
        "axpy_kernel",
        "x.data, x.data, n, float32(n)",
        "Mismatched size of parameter #2 of axpy_kernel …, expected 4 but got 8",
    ),
    (
        "tma",
        "struct(n, n, n), x.data",
        "Mismatched size of parameter #0 of tma …, expected 128 but got 24",
    ),
    // A wrong number is reported before a wrong size.
    (
        "axpy_kernel",
        "int32(n), x.data",
        "Mismatched parameters of axpy_kernel …, expected 4 but got 2",
    ),
    (
        "cluster_kernel",
        "int32(n), int32(n)",
        "Mismatched parameters of cluster_kernel …, expected 1 but got 2",
    ),
    ("widths", "n == 1", "Mismatched parameters of widths …, expected 8 but got 1"),
];

#[test]
fn images_hold_what_is_launched() {
    let stand_in = fake_cuda::exclusive();
    for (kernel, args, expected) in WRONG {
        let on = text("ptx", kernel, args).replace("block(1)", "block(1) on x");
        let library = library(&on);
        for session in sessions(&library) {
            let text = format!("RuntimeError: {expected}");
            let place = format!("{} {kernel}({args})", session.name);
            for _ in 0..2 {
                assert_eq!(error(&session, &stand_in), error_of(&library, "f", &text), "{place}");
            }
        }
    }
}

/// Errors at compile time about images that can be read: existence of the kernel, then the number of its parameters,
/// then their sizes.
const KNOWN_WRONG: [(&str, &str, &str); 6] = [
    ("axpy", "x.data", "image `IMAGE` has no kernel `axpy`: it has KERNELS"),
    (
        "axpy_kernel",
        "int32(n)",
        "`axpy_kernel` is launched with 1 parameters, but in image `IMAGE` it has 4, of [8, 8, 4, 4] bytes",
    ),
    (
        "cluster_kernel",
        "",
        "`cluster_kernel` is launched with 0 parameters, but in image `IMAGE` it has 1, of [8] bytes",
    ),
    (
        "hidden",
        "x.data, int32(n)",
        "`hidden` is launched with 2 parameters, but in image `IMAGE` it has 4, of [8, 4, 8, 8] bytes",
    ),
    (
        "axpy_kernel",
        "x.data, x.data, n, float32(n)",
        "parameter #2 of `axpy_kernel` is given 8 bytes, but in image `IMAGE` it has 4",
    ),
    (
        "tma",
        "struct(n, n, n), x.data",
        "parameter #0 of `tma` is given 24 bytes, but in image `IMAGE` it has 128",
    ),
];

#[test]
fn images_that_can_be_read_are_asked_before() {
    let all = "`state_kernel`, `hidden`, `cluster_kernel`, `tma`, `widths`, `shared_kernel`, `add_kernel`, `axpy_kernel`";
    let few = "`shared_kernel`, `add_kernel`, `axpy_kernel`";
    for (image, kernels) in [("cubin", all), ("fatbin", few)] {
        let known = |kernel: &str| image == "cubin" || kernel.starts_with("axpy");
        for (kernel, args, expected) in KNOWN_WRONG.into_iter().filter(|row| known(row.0)) {
            let on = text(image, kernel, args).replace("block(1)", "block(1) on x");
            let error = library(&on).resolve().expect_err(kernel).to_string();
            let expected = format!(
                "f: statement 0: {}",
                expected.replace("IMAGE", image).replace("KERNELS", kernels)
            );
            assert_eq!(error, expected, "{kernel}({args})");
        }
        // Without its bytes nothing is known of an image.
        let mut unknown = library(&text(image, "axpy", "x.data"));
        unknown.images.iter_mut().for_each(|image| image.bytes = None);
        unknown.validate().unwrap();
        // Bytes that only begin like an image resolve, too: their kernels are unknown.
        let mut junk = library(&text(image, "axpy", "x.data"));
        for image in &mut junk.images {
            image.bytes.as_mut().expect("it has bytes")[64..].fill(0);
        }
        junk.images[2].bytes = Some(b".version 8.0".to_vec());
        junk.resolve().unwrap();
    }
}

/// Bytes that only begin like an image, and images for other devices.
#[test]
fn images_are_for_the_device() {
    let stand_in = fake_cuda::exclusive();
    let junk = [&CUBIN[..64], &vec![0; CUBIN.len()]].concat();
    let rows: [(&str, &[u8], i64, &str); 4] = [
        ("cubin", &junk, 90, "CUDA_ERROR_NOT_FOUND (500): named symbol not found"),
        (
            "ptx",
            b"// one\n.version 8.0\n.target sm_90\n\nbroken",
            90,
            "CUDA_ERROR_NOT_FOUND (500): named symbol not found",
        ),
        (
            "cubin",
            CUBIN,
            80,
            "CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available for execution on the device",
        ),
        (
            "fatbin",
            FATBIN,
            70,
            "CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available for execution on the device",
        ),
    ];
    for (image, bytes, capability, expected) in rows {
        let mut library = axpy(image);
        let named = library.images.iter_mut().filter(|one| one.name == image);
        named.for_each(|one| one.bytes = Some(bytes.to_vec()));
        stand_in.set("capability", capability);
        for session in sessions(&library) {
            let is_found = !expected.starts_with("CUDA_ERROR_NOT_FOUND");
            let call = if is_found { "cuLibraryLoadData" } else { "cuLibraryGetKernel" };
            let text = format!(
                "RuntimeError: Failed {call} for axpy_kernel of image {image} …, {expected}, device = cuda:0"
            );
            let place = format!("{} {image} {capability}", session.name);
            assert_eq!(error(&session, &stand_in), error_of(&library, "f", &text), "{place}");
            assert_eq!(error(&session, &stand_in), error_of(&library, "f", &text), "{place}");
        }
    }
}

/// The driver gets no length, so that images must be complete.
#[test]
fn images_are_whole() {
    let cut = [
        ("cubin", &CUBIN[..64]),
        ("cubin", &CUBIN[..CUBIN.len() - 2700]),
        ("fatbin", &FATBIN[..FATBIN.len() - 1]),
    ];
    for (image, bytes) in
        cut.into_iter().chain([("cubin", &CUBIN[..63]), ("fatbin", &FATBIN[..15])])
    {
        let mut library = axpy(image);
        let named = library.images.iter_mut().filter(|one| one.name == image);
        named.for_each(|one| one.bytes = Some(bytes.to_vec()));
        let error = library.resolve().unwrap_err().to_string();
        assert_eq!(error, format!("image {image:?}: these bytes end before the image does"));
    }
}

/// An image that the driver refuses only when its kernel is launched.
#[test]
fn images_may_be_refused_late() {
    let stand_in = fake_cuda::exclusive();
    let library = axpy("cubin");
    stand_in.set("late_arch", 1);
    stand_in.set("capability", 80);
    for session in sessions(&library) {
        let text = "RuntimeError: Failed cuKernelGetParamInfo for axpy_kernel of image cubin …, \
                    CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available for execution on the device, device = cuda:0";
        assert_eq!(error(&session, &stand_in), error_of(&library, "f", text), "{}", session.name);
    }
}

/// When eight threads launch at once, one keeps its load and the loads of the others are undone.
#[test]
fn threads_share_what_one_has_loaded() {
    let stand_in = fake_cuda::exclusive();
    for session in sessions(&axpy("cubin")) {
        let before = stand_in.live();
        let barrier = Barrier::new(8);
        let function = session.function("f");
        let work = || {
            let x = Fake::new(0x1000, &[3]);
            let (args, mut result) = ([x.arg()], jit::abi::Any::NONE);
            barrier.wait();
            // SAFETY: the arguments are valid, and the code is alive.
            let status = unsafe { function(ptr::null_mut(), args.as_ptr(), 1, &mut result) };
            (status, stand_in.live().pushed)
        };
        let ended: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(ended, [(0, 0); 8], "{}", session.name);
        let after = stand_in.live();
        let retained = after.retained - before.retained;
        let expected = Live { libraries: before.libraries + 1, retained: after.retained, ..before };
        assert_eq!(after, expected, "{}", session.name);
        // The JIT may have retained the context in another test.
        let jit = session.name.starts_with("jit");
        assert!(retained == 1 || (jit && retained == 0), "{}: {retained}", session.name);
    }
}
