//! Prepared launches work while a graph is captured; other first launches do not.

use std::ffi::c_void;
use std::ptr;

use codegen::Library;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{
    Driver, Fake, Session, assert_same, error_of, int, library, sessions, take_loading,
};
use super::table::brief;

/// Returns a library with two kernels of two images, one of which is launched in two ways.
fn prepared() -> Library {
    let text = "
        f(x: Tensor([n], float32, device=cuda)) -> None = {
            launch cubin.\"cluster_kernel\"(x.data) grid(16) block(1) cluster(n);
            launch fatbin.\"shared_kernel\"(x.data, int32(n)) grid(1) block(1) smem(n * 1000);
            launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1);
        };
        plain(n: int64) -> int64 = { return n; };
    ";
    library(text).with_prepare("ready")
}

const PREPARED: &str = "\
cuLibraryLoadData(jit_options=0 options=0) -> lib sm_90
cuLibraryGetKernel(lib \"cluster_kernel\")
cuKernelGetParamInfo(lib.\"cluster_kernel\" 0) -> offset=0 size=8
cuKernelGetParamInfo(lib.\"cluster_kernel\" 1) = 1 CUDA_ERROR_INVALID_VALUE (it has 1 parameters)
cuCtxPushCurrent_v2(primary0)
cuKernelSetAttribute(lib.\"cluster_kernel\" 14=1 device=0)
cuKernelGetFunction(lib.\"cluster_kernel\") -> lib.\"cluster_kernel\"@primary0
cuFuncLoad(lib.\"cluster_kernel\"@primary0)
cuCtxPopCurrent_v2() -> primary0
cuLibraryLoadData(jit_options=0 options=0) -> lib sm_80 sm_90
cuLibraryGetKernel(lib \"shared_kernel\")
cuKernelGetParamInfo(lib.\"shared_kernel\" 0) -> offset=0 size=8
cuKernelGetParamInfo(lib.\"shared_kernel\" 1) -> offset=8 size=4
cuKernelGetParamInfo(lib.\"shared_kernel\" 2) = 1 CUDA_ERROR_INVALID_VALUE (it has 2 parameters)
cuCtxPushCurrent_v2(primary0)
cuDeviceGetAttribute(97 device=0) -> 232448
cuKernelGetAttribute(lib.\"shared_kernel\" 1 device=0) -> 1024
cuKernelSetAttribute(lib.\"shared_kernel\" 8=231424 device=0)
cuKernelGetFunction(lib.\"shared_kernel\") -> lib.\"shared_kernel\"@primary0
cuFuncLoad(lib.\"shared_kernel\"@primary0)
cuCtxPopCurrent_v2() -> primary0
";

const LAUNCHED: &str = "\
\"cluster_kernel\" grid=16,1,1 block=1,1,1 attributes=[4:100000000100000001]) -> parameters=[0010000000000000] captured
\"shared_kernel\" grid=1,1,1 block=1,1,1 shared=16000) -> parameters=[0010000000000000, 10000000] captured
\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000] captured
";

/// Calls `f` while the stream of a device is captured; returns the result, the record, and the status of the capture.
fn captured(
    session: &Session,
    stand_in: &FakeCuda,
    stream: *mut c_void,
) -> (Result<(), String>, String, i32) {
    let (x, mut ended) = (Fake::new(0x1000, &[16]), Ok(()));
    let mut record = String::new();
    let status = Driver(stand_in).capture(stream, || {
        ended = session.call("f", &[x.arg()]);
        record = brief(&take_loading(stand_in));
    });
    (ended, record, status)
}

#[test]
fn launches_of_what_is_prepared_are_captured() {
    let stand_in = fake_cuda::exclusive();
    let (library, driver) = (prepared(), Driver(&stand_in));
    let stream = driver.create_stream(0);
    for session in sessions(&library) {
        session.set_stream(0, stream);
        let (ended, _, status) = captured(&session, &stand_in, stream);
        let text = "RuntimeError: Failed cuLibraryLoadData for cluster_kernel of image cubin …, \
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900): operation not permitted when stream is capturing, device = cuda:0";
        assert_eq!((ended, status), (Err(error_of(&library, "f", text)), 901), "{}", session.name);
        stand_in.reset();
        session.call("ready", &[int(0)]).unwrap();
        assert_same(&take_loading(&stand_in), PREPARED, &session.name);
        let (ended, record, status) = captured(&session, &stand_in, stream);
        assert_eq!((ended, status), (Ok(()), 0), "{}", session.name);
        assert_same(&record, LAUNCHED, &session.name);
        // Preparing again loads no image and sets no attribute.
        session.call("ready", &[int(0)]).unwrap();
        let again = take_loading(&stand_in);
        assert!(!again.contains("cuLibraryLoad") && !again.contains("cuKernelSet"), "{again}");
        assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
    }
    driver.destroy_stream(0, stream);
}

/// Returns a library that chooses among functions that launch, each of which is made once for its key.
fn choosing() -> Library {
    let text = "
        make(k: int64, x: Tensor([n], float32, device=cuda)) -> Function = {
            launch cubin.\"cluster_kernel\"(x.data) grid(100 + k) block(1);
            return function(y: Tensor([m], float32, device=cuda)) -> None {
                launch cubin.\"cluster_kernel\"(y.data) grid(k) block(1);
            };
        };
        f(x: Tensor([n], float32, device=cuda), k: int64) -> None
            = { let chosen: Function = cached (k, n % 16 == 0) @make(k, x); @(chosen)(x); };
    ";
    library(text).with_prepare("ready")
}

/// A call for each key before the capture makes what the captured calls choose; they make nothing.
#[test]
fn functions_that_are_kept_are_captured() {
    let stand_in = fake_cuda::exclusive();
    let (library, driver) = (choosing(), Driver(&stand_in));
    let stream = driver.create_stream(0);
    for session in sessions(&library) {
        session.set_stream(0, stream);
        session.call("ready", &[int(0)]).unwrap();
        let x = Fake::new(0x1000, &[16]);
        let call = |k: i64| session.call("f", &[x.arg(), int(k)]).unwrap();
        let launched = |k: i64, end: &str| {
            format!(
                "\"cluster_kernel\" grid={k},1,1 block=1,1,1) -> parameters=[0010000000000000]{end}\n"
            )
        };
        stand_in.reset();
        [1, 2].iter().for_each(|&k| call(k));
        let made = [1, 2].map(|k| launched(100 + k, "") + &launched(k, "")).concat();
        assert_same(&brief(&take_loading(&stand_in)), &made, &session.name);
        let mut record = String::new();
        let status = driver.capture(stream, || {
            [2, 1, 2].iter().for_each(|&k| call(k));
            record = brief(&take_loading(&stand_in));
        });
        let replayed = [2, 1, 2].map(|k| launched(k, " captured")).concat();
        assert_same(&record, &replayed, &session.name);
        assert_eq!((status, stand_in.live().pushed), (0, 0), "{}", session.name);
    }
    driver.destroy_stream(0, stream);
}

/// Another context of the same device, or another device, stays current.
#[test]
fn preparing_leaves_no_context_behind() {
    let stand_in = fake_cuda::exclusive();
    let (library, driver) = (prepared(), Driver(&stand_in));
    let own = driver.create_context(1);
    for session in sessions(&library) {
        session.set_stream(1, ptr::null_mut());
        session.call("ready", &[int(0)]).unwrap();
        session.call("ready", &[int(1)]).unwrap();
        assert_eq!((driver.current(), stand_in.live().pushed), (own, 1), "{}", session.name);
        let wrong = [
            (2, "CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal, device = cuda:2"),
            (-1, "CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal, device = cuda:-1"),
            (
                1 << 32,
                "CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal, device = cuda:4294967296",
            ),
        ];
        for (device, expected) in wrong {
            // Other numbers are no device of the driver, which is not asked.
            let call = if device == 2 { "cuDevicePrimaryCtxRetain for " } else { "" };
            let expected = format!(
                "RuntimeError: Failed {call}cluster_kernel of image cubin when calling: `ready(device_id: int64)`, {expected}"
            );
            assert_eq!(session.call("ready", &[int(device)]), Err(expected), "{}", session.name);
            assert_eq!((driver.current(), stand_in.live().pushed), (own, 1), "{}", session.name);
        }
    }
    driver.destroy_context(own);
}

/// A function without anything to prepare, and one that looks up its callee.
#[test]
fn functions_that_are_called_by_name_are_looked_up() {
    let _stand_in = fake_cuda::exclusive();
    let library: Library = "f() -> None = { @\"test.launches.missing\"(); };".parse().unwrap();
    for session in
        sessions(&library.with_prepare("ready")).iter().filter(|s| !s.name.contains("built"))
    {
        let error = session.call("ready", &[int(0)]).unwrap_err();
        assert!(error.contains("test.launches.missing"), "{}: {error}", session.name);
    }
    let library: Library = "f(n: int64) -> int64 = { return n; };".parse().unwrap();
    let library = library.with_prepare("ready");
    for session in sessions(&library) {
        session.call("ready", &[int(0)]).unwrap();
    }
}
