//! Streams and contexts: the current context during a launch and after it.

use std::ffi::c_void;
use std::ptr;

use codegen::Library;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{
    Driver, Fake, Session, assert_same, cuda, error_of, library, sessions, take_loading,
};
use super::table::brief;

/// Start of the record of a launch.
const LAUNCH: &str = "\"cluster_kernel\" grid=1,1,1 block=1,1,1";

fn one_launch() -> Library {
    library(
        "f(x: Tensor([n], float32, device=cuda)) -> None \
         = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); };",
    )
}

/// Calls the function twice and returns the record of the second call, which loads nothing.
fn second(session: &Session, stand_in: &FakeCuda, device: i32) -> String {
    let x = Fake::new(0x1000, &[3]).on(cuda(device));
    session.call("f", &[x.arg()]).unwrap();
    take_loading(stand_in);
    session.call("f", &[x.arg()]).unwrap();
    brief(&take_loading(stand_in))
}

/// A launch on a stream of its own is one call of the driver, whatever context is current, even none.
#[test]
fn a_stream_knows_its_context() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let streams = [0, 1].map(|device| driver.create_stream(device));
    for session in sessions(&one_launch()) {
        (0..).zip(streams).for_each(|(device, stream)| session.set_stream(device, stream));
        let here = format!("{LAUNCH}) -> parameters=[0010000000000000]\n");
        let there =
            format!("{LAUNCH}) -> device=1 context=primary1 parameters=[0010000000000000]\n");
        assert_same(&second(&session, &stand_in, 0), &here, &session.name);
        assert_same(&second(&session, &stand_in, 1), &there, &session.name);
        driver.push(driver.primary(1));
        assert_same(&second(&session, &stand_in, 0), &here, &session.name);
        driver.pop();
        driver.release(1);
    }
    (0..).zip(streams).for_each(|(device, stream)| driver.destroy_stream(device, stream));
}

/// A launch on a default stream: the context that is current before it, and the expected calls of the driver.
struct Around {
    current: *mut c_void,
    /// Device of the tensor.
    device: i32,
    expected: String,
}

/// Primary contexts of two devices, and another context of the first.
#[derive(Clone, Copy)]
struct Contexts {
    primary: [*mut c_void; 2],
    own: *mut c_void,
}

/// Lists launches on the default stream of this name.
fn all_around(contexts: Contexts, name: &str) -> [Around; 7] {
    let launched = |device: i32, context: &str| {
        let place = format!(" device={device} context={context}");
        let place = if place == " device=0 context=primary0" { "" } else { &*place };
        format!("{LAUNCH} stream={name}) ->{place} parameters=[0010000000000000]\n")
    };
    let stays = |device: i32, context: &str| {
        format!("cuCtxGetDevice() -> device={device}\n{}", launched(device, context))
    };
    let entered = |asked: &str, device: i32| {
        let launched = launched(device, &format!("primary{device}"));
        format!(
            "cuCtxGetDevice(){asked}\ncuCtxPushCurrent_v2(primary{device})\n\
             {launched}cuCtxPopCurrent_v2() -> primary{device}\n"
        )
    };
    let nothing = " = 201 CUDA_ERROR_INVALID_CONTEXT (there is no context)";
    let Contexts { primary: [first, second], own } = contexts;
    [
        Around { current: ptr::null_mut(), device: 0, expected: entered(nothing, 0) },
        Around { current: ptr::null_mut(), device: 1, expected: entered(nothing, 1) },
        Around { current: first, device: 0, expected: stays(0, "primary0") },
        Around { current: own, device: 0, expected: stays(0, "ctx") },
        Around { current: second, device: 1, expected: stays(1, "primary1") },
        Around { current: second, device: 0, expected: entered(" -> device=1", 0) },
        Around { current: own, device: 1, expected: entered(" -> device=0", 1) },
    ]
}

/// The context of a launch on a default stream is the current one if it belongs to the tensor's device, otherwise the
/// device's primary one.
#[test]
fn a_default_stream_is_that_of_the_device() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let primary = [0, 1].map(|device| driver.primary(device));
    let own = driver.create_context(0);
    driver.pop();
    let names = ["null", "legacy", "per-thread"];
    for session in sessions(&one_launch()) {
        for (number, name) in names.into_iter().enumerate() {
            let stream = ptr::without_provenance_mut(number);
            [0, 1].into_iter().for_each(|device| session.set_stream(device, stream));
            let all = all_around(Contexts { primary, own }, name);
            all.iter().for_each(|around| hold(&session, &stand_in, around));
        }
    }
    driver.destroy_context(own);
    [0, 1].into_iter().for_each(|device| driver.release(device));
}

fn hold(session: &Session, stand_in: &FakeCuda, around: &Around) {
    let driver = Driver(stand_in);
    if !around.current.is_null() {
        driver.push(around.current);
    }
    let found = second(session, stand_in, around.device);
    assert_same(&found, &around.expected, &session.name);
    // Whatever fails, the current context is restored.
    let calls = around.expected.lines().count() as i64;
    for fault in 1..=calls {
        let x = Fake::new(0x1000, &[3]).on(cuda(around.device));
        stand_in.fail_at(fault, 719);
        let ended = session.call("f", &[x.arg()]);
        let line = around.expected.lines().nth(fault as usize - 1).unwrap_or_default();
        assert!(ended.is_err(), "{}: {line}", session.name);
        if line.starts_with("cuCtxPop") {
            driver.pop();
        }
        assert_eq!(driver.current(), around.current, "{}: {line}", session.name);
    }
    stand_in.reset();
    if !around.current.is_null() {
        assert_eq!(driver.pop(), around.current);
    }
    assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
}

/// The failing call of the driver, its status, and the error. The third call is the launch.
const FAILURES: [(i64, i32, &str); 9] = [
    (1, 3, "CUDA_ERROR_NOT_INITIALIZED (3): initialization error, device = cuda:0"),
    (2, 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED (709): context is destroyed, device = cuda:0"),
    (3, 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources requested for launch"),
    (
        3,
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered, which may stem from earlier work",
    ),
    (
        3,
        710,
        "CUDA_ERROR_ASSERT (710): device-side assert triggered, which may stem from earlier work",
    ),
    (
        3,
        719,
        "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure, which may stem from earlier work",
    ),
    (
        3,
        720,
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720): too many blocks in cooperative launch",
    ),
    (3, 999, "CUDA_ERROR_UNKNOWN (999): unknown error"),
    (3, 123_456, " (123456): "),
];

/// Errors about contexts and launches.
#[test]
fn failures_say_what_failed_and_where() {
    let stand_in = fake_cuda::exclusive();
    let library = one_launch();
    for session in sessions(&library) {
        session.set_stream(0, ptr::null_mut());
        second(&session, &stand_in, 0);
        for (fault, status, expected) in FAILURES {
            let x = Fake::new(0x1000, &[3]);
            stand_in.fail_at(fault, status);
            let call = match fault {
                1 => "cuCtxGetDevice for ",
                2 => "cuCtxPushCurrent_v2 for ",
                _ => "",
            };
            let mut text =
                format!("RuntimeError: Failed {call}cluster_kernel of image cubin …, {expected}");
            if fault == 3 {
                text += ", grid = (1, 1, 1), block = (1, 1, 1), cluster = (1, 1, 1), shared memory = 0, device = cuda:0";
            }
            let found = session.call("f", &[x.arg()]).unwrap_err();
            assert_same(&found, &error_of(&library, "f", &text), &session.name);
            assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
        }
    }
}

/// Restoring the context fails too: the error is that of the launch.
#[test]
fn a_launch_that_fails_is_what_is_said() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n], float32, device=cuda)) -> None \
         = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(n); };",
    );
    for session in sessions(&library) {
        session.set_stream(0, ptr::null_mut());
        second(&session, &stand_in, 0);
        stand_in.fail_at(4, 719);
        let error = session.call("f", &[Fake::new(0x1000, &[4096]).arg()]).unwrap_err();
        let expected = "expected 1 to 1024 on cuda:0 but got 4096";
        assert!(error.contains(expected), "{}: {error}", session.name);
        let record = stand_in.record();
        let line = record.lines().nth(3).unwrap_or_default();
        assert!(line.starts_with("cuCtxPopCurrent") && line.ends_with("(as told)"), "{record}");
        Driver(&stand_in).pop();
        stand_in.reset();
    }
}

/// A device that does not exist, and one beyond the library's table of devices.
#[test]
fn devices_are_those_of_the_driver() {
    let stand_in = fake_cuda::exclusive();
    let library = one_launch();
    for session in sessions(&library) {
        for device in [2, 7, 63, 64, 65, i32::MAX, -1, i32::MIN] {
            let x = Fake::new(0x1000, &[3]).on(cuda(device));
            let text = format!(
                "RuntimeError: Failed cuDevicePrimaryCtxRetain for cluster_kernel of image cubin …, \
                 CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal, device = cuda:{device}"
            );
            let found = session.call("f", &[x.arg()]).unwrap_err();
            assert_same(&found, &error_of(&library, "f", &text), &session.name);
        }
    }
    assert_eq!(stand_in.live().pushed, 0);
}
