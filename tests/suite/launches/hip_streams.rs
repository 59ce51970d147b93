//! Streams of AMD's GPUs: those of the environment, those that are passed, and those that are captured.

use std::ffi::c_void;
use std::ptr;

use abi_spec::TypeIndex;
use codegen::Library;
use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_hip::{self, FakeHip};

use super::closures::Held;
use super::hip::{library, rocm, taken, vector};
use super::session::{FakeObject, Session, assert_same, int, sessions};

/// A function of two launches, one that returns a function with a launch, and one that prepares.
fn program() -> Library {
    let params = "x: Tensor([n], float32, device=rocm)";
    let text = format!(
        "f({params}) -> None = {{
            launch code.\"pointers\"(x.data) grid(n) block(1);
            launch bundle.\"axpy_kernel\"(x.data, x.data, int32(n), float32(2.0)) grid(1) block(n);
        }};
        keep({params}) -> Function = {{
            return function (k: int64) -> None {{ launch code.\"pointers\"(x.data) grid(k) block(1); }};
        }};"
    );
    library(&text).with_prepare("ready")
}

/// Creates a stream of each of two devices; the device of this thread is 0 again.
fn streams(hip: &FakeHip) -> [*mut c_void; 2] {
    hip.set("devices", 2);
    let streams = [0, 1].map(|device| {
        hip.set_device(device);
        hip.create_stream()
    });
    hip.set_device(0);
    streams
}

/// Calls `f` with a tensor of a device; returns the streams of the launches in the record.
fn streams_of_launches(session: &Session, hip: &FakeHip, device: i32) -> Vec<String> {
    hip.reset();
    session.call("f", &[vector(0x1000, 16, device).arg()]).unwrap();
    assert_eq!(hip.live().pushed, 0, "{}: the device is another one", session.name);
    let record = taken(hip);
    let launches = record.lines().filter(|line| line.starts_with("hipModuleLaunchKernel("));
    let stream = launches.filter_map(|line| line.split("stream=").nth(1)?.split(')').next());
    stream.map(str::to_owned).collect()
}

/// Each device has a stream in the environment, which may be that of the legacy or of the thread.
#[test]
fn the_environment_has_a_stream_for_each_device() {
    let hip = fake_hip::exclusive();
    let own = streams(&hip);
    for session in sessions(&program()) {
        let mut names = Vec::new();
        for (device, stream) in (0..).zip(own) {
            session.set_stream_of(rocm(device), stream);
            let found = streams_of_launches(&session, &hip, device);
            assert!(found.len() == 2 && found[0] == found[1], "{}: {found:?}", session.name);
            names.push(found[0].clone());
        }
        assert!(names.iter().all(|name| name.starts_with("stream")) && names[0] != names[1]);
        for (number, name) in ["null", "legacy", "per-thread"].into_iter().enumerate() {
            session.set_stream_of(rocm(1), ptr::without_provenance_mut(number));
            assert_eq!(streams_of_launches(&session, &hip, 1), [name; 2], "{}", session.name);
            assert_eq!(streams_of_launches(&session, &hip, 0), [&*names[0]; 2]);
        }
    }
}

/// A launch that a function keeps is that of one call, on the current device and on another one; so is an empty one.
#[test]
fn kept_launches_are_those_of_one_call() {
    let hip = fake_hip::exclusive();
    let own = streams(&hip);
    let (tensor, body) = (
        "x: Tensor([n], float32, device=rocm)",
        "launch bundle.\"axpy_kernel\"(x.data, x.data, int32(n), a) grid(n / 4, 2) block(n, 3) smem(8 * n);",
    );
    let library = library(&format!(
        "prepare({tensor}) -> Function = {{ return function(a: float32) -> None {{ {body} }}; }};
        at_once({tensor}, a: float32) -> None = {{ {body} }};"
    ))
    .with_prepare("ready");
    for session in sessions(&library) {
        (0..).zip(own).for_each(|(device, stream)| session.set_stream_of(rocm(device), stream));
        [0, 1].into_iter().for_each(|device| session.call("ready", &[int(device)]).unwrap());
        for (device, n) in [(0, 16), (1, 16), (1, 3), (0, 3), (1, 8)] {
            let x = FakeObject::new(vector(0x1000, n, device));
            let submit = Held::new(&session, "prepare", &[x.arg()]).unwrap();
            for a in [1, 2, 2] {
                hip.reset();
                submit.call(&[int(a)]).unwrap();
                let submitted = taken(&hip);
                hip.reset();
                session.call("at_once", &[x.arg(), int(a)]).unwrap();
                let about = format!("{}: {n} elements on {device}", session.name);
                assert_same(&submitted, &taken(&hip), &about);
                assert_eq!(submitted.contains("hipModuleLaunchKernel("), n > 3, "{about}");
            }
        }
    }
}

/// A stream of another device is an error of the runtime, and the device of the thread stays.
#[test]
fn streams_belong_to_a_device() {
    let hip = fake_hip::exclusive();
    let own = streams(&hip);
    for session in sessions(&program()) {
        session.set_stream_of(rocm(1), own[0]);
        let error = session.call("f", &[vector(0x1000, 16, 1).arg()]).unwrap_err();
        assert!(error.starts_with("RuntimeError: Failed pointers of image code"), "{error}");
        assert!(error.contains("hipError") && error.ends_with("rocm:1"), "{error}");
        assert_eq!(hip.live().pushed, 0, "{}", session.name);
        session.set_stream_of(rocm(1), own[1]);
        session.call("f", &[vector(0x1000, 16, 1).arg()]).unwrap();
    }
}

/// A stream that waits or is waited for may be one of another device than the tensor's.
#[test]
fn waits_use_the_devices_of_their_streams() {
    let hip = fake_hip::exclusive();
    let own = streams(&hip);
    let library = library(
        "for_other(x: Tensor([n], float32, device=rocm), s: Stream) -> None = { wait stream(x), s; };
        of_other(x: Tensor([n], float32, device=rocm), s: Stream) -> None = { wait s, stream(x); };",
    );
    let x = vector(0x1000, 16, 0);
    for session in sessions(&library) {
        session.set_stream_of(rocm(0), own[0]);
        let args = [x.arg(), Any::ptr(TypeIndex::OPAQUE_PTR, own[1])];
        for (function, device) in [("for_other", 1), ("of_other", 0)] {
            let events = hip.live().events;
            hip.reset();
            session.call(function, &args).unwrap();
            let record = taken(&hip);
            let created = format!("hipEventCreateWithFlags(flags=2) -> context=device{device}\n");
            assert!(record.contains(&created), "{} {function}: {record}", session.name);
            let live = hip.live();
            assert_eq!((live.pushed, live.events), (0, events), "{} {function}", session.name);
        }
    }
}

/// Launches are captured, prepared or not, also those of a function that was returned.
#[test]
fn launches_are_captured() {
    let hip = fake_hip::exclusive();
    let own = streams(&hip);
    for is_prepared in [true, false] {
        for session in sessions(&program()) {
            session.set_stream_of(rocm(1), own[1]);
            if is_prepared {
                session.call("ready", &[int(1)]).unwrap();
            }
            let x = FakeObject::new(vector(0x1000, 16, 1));
            let submit = Held::new(&session, "keep", &[x.arg()]).unwrap();
            hip.reset();
            let status = hip.capture(own[1], || {
                session.call("f", &[x.arg()]).unwrap();
                submit.call(&[int(3)]).unwrap();
            });
            let record = taken(&hip);
            assert_eq!(status, 0, "{}: {record}", session.name);
            assert_eq!(record.matches("captured").count(), 3, "{}: {record}", session.name);
            assert_eq!(is_prepared, !record.contains("hipModuleLoadData"), "{record}");
            assert_eq!(hip.live().pushed, 0, "{}", session.name);
        }
    }
}
