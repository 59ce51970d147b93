//! Waiting for streams: the calls of the driver, contexts, captures, and what failures leave behind.

use std::ffi::c_void;
use std::ptr;

use abi_spec::TypeIndex;
use codegen::Library;
use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{
    Driver, Fake, Session, assert_same, int, library, makers, sessions, take_loading,
};

fn pointer(to: *mut c_void) -> Any {
    Any::ptr(TypeIndex::OPAQUE_PTR, to)
}

/// Returns the handle of a stream as a number.
fn number(handle: *mut c_void) -> Any {
    int(handle.expose_provenance() as i64)
}

fn waits() -> Library {
    library(
        "
        of_streams(a: Stream, b: Stream) -> None = { wait a, b; };
        of_numbers(a: int64, b: int64) -> None = { wait ptr(a), ptr(b); };
        of_tensor(x: Tensor([n], float32, device=cuda), b: Stream) -> None = { wait stream(x), b; };
        for_tensor(x: Tensor([n], float32, device=cuda), a: Stream) -> None = { let t = stream(x); wait a, t on x; };
        of_optional(x: Optional[Tensor([n], float32, device=cuda)], b: Stream)
            -> None = { if x.is_some { wait b, stream(x); } };
        launch_optional(x: Optional[Tensor([n], float32, device=cuda)]) -> None
            = { if x.is_some { launch cubin.\"cluster_kernel\"(x.data) grid(x.device.multiprocessors) block(1); } };
        launch_on(x: Tensor([n], float32, device=cuda), s: Stream)
            -> None = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) stream s; };
        launch_on_number(x: Tensor([n], float32, device=cuda), s: int64)
            -> None = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) stream ptr(s); };
        ",
    )
}

/// Streams of two devices, each with a context of its own.
const BETWEEN: &str = "\
cuStreamGetCtx(stream) -> primary1
cuCtxPushCurrent_v2(primary1)
cuEventCreate(flags=2) -> context=primary1
cuEventRecord(stream)
cuCtxPopCurrent_v2() -> primary1
cuStreamWaitEvent(stream)
cuEventDestroy_v2()
";

/// The default stream waits: in the context of its device, which nothing but the tensor names.
const DEFAULT: &str = "\
cuStreamGetCtx(stream) -> primary1
cuCtxPushCurrent_v2(primary1)
cuEventCreate(flags=2) -> context=primary1
cuEventRecord(stream)
cuCtxPopCurrent_v2() -> primary1
cuCtxGetDevice() = 201 CUDA_ERROR_INVALID_CONTEXT (there is no context)
cuCtxPushCurrent_v2(primary0)
cuStreamWaitEvent(null)
cuCtxPopCurrent_v2() -> primary0
cuEventDestroy_v2()
";

/// The default stream is waited for.
const FOR_DEFAULT: &str = "\
cuCtxGetDevice() = 201 CUDA_ERROR_INVALID_CONTEXT (there is no context)
cuCtxPushCurrent_v2(primary0)
cuEventCreate(flags=2) -> context=primary0
cuEventRecord(null)
cuCtxPopCurrent_v2() -> primary0
cuStreamWaitEvent(stream)
cuEventDestroy_v2()
";

#[test]
fn events_are_of_the_context_of_the_stream() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let [first, second] = [0, 1].map(|device| driver.create_stream(device));
    let x = Fake::new(0x1000, &[3]);
    for session in sessions(&waits()) {
        session.set_stream(0, ptr::null_mut());
        session.call("of_tensor", &[x.arg(), pointer(second)]).unwrap();
        take_loading(&stand_in);
        session.call("of_streams", &[pointer(first), pointer(second)]).unwrap();
        assert_same(&take_loading(&stand_in), BETWEEN, &session.name);
        session.call("of_numbers", &[number(first), number(second)]).unwrap();
        assert_same(&take_loading(&stand_in), BETWEEN, &session.name);
        session.call("of_tensor", &[x.arg(), pointer(second)]).unwrap();
        assert_same(&take_loading(&stand_in), DEFAULT, &session.name);
        session.call("for_tensor", &[x.arg(), pointer(first)]).unwrap();
        assert_same(&take_loading(&stand_in), FOR_DEFAULT, &session.name);
        // Without a tensor, a default stream is that of the current context.
        let error = session.call("of_streams", &[pointer(first), Any::NONE]).unwrap_err();
        let expected = "RuntimeError: Failed cuEventCreate when calling: `of_streams(a: Stream, b: Stream)`, \
                        CUDA_ERROR_INVALID_CONTEXT (201): ";
        assert!(error.starts_with(expected), "{}: {error}", session.name);
        driver.push(driver.primary(1));
        session.call("of_streams", &[pointer(first), int(2)]).unwrap();
        assert!(take_loading(&stand_in).contains("cuEventRecord(per-thread)"), "{}", session.name);
        let error = session.call("of_streams", &[pointer(first), int(12345)]).unwrap_err();
        assert!(error.contains("Failed cuStreamGetCtx") && error.contains("(400)"), "{error}");
        driver.pop();
        driver.release(1);
        let live = stand_in.live();
        assert_eq!((live.pushed, live.events), (0, 0), "{}", session.name);
    }
    (0..).zip([first, second]).for_each(|(device, stream)| driver.destroy_stream(device, stream));
}

/// An optional tensor that is there says the device, whatever context is current.
#[test]
fn optional_tensors_say_the_device() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let (stream, other) = (driver.create_stream(0), driver.primary(1));
    let x = Fake::new(0x1000, &[3]);
    for session in sessions(&waits()) {
        session.set_stream(0, ptr::null_mut());
        let record = |function: &str, args: &[Any]| {
            stand_in.reset();
            driver.push(other);
            session.call(function, args).unwrap();
            let record = stand_in.record();
            assert_eq!(driver.pop(), other, "{}", session.name);
            record
        };
        let waited = record("of_optional", &[x.arg(), pointer(stream)]);
        let event = "cuEventCreate(flags=2) -> context=primary0\ncuEventRecord(null)\n";
        assert!(waited.contains(event), "{}: {waited}", session.name);
        let launched = record("launch_optional", &[x.arg()]);
        let grid = "grid=132,1,1 block=1,1,1";
        let is_on_0 = launched.contains(grid) && launched.contains("device=0 context=primary0");
        assert!(is_on_0, "{}: {launched}", session.name);
        for (function, args) in
            [("of_optional", &[Any::NONE, pointer(stream)][..]), ("launch_optional", &[Any::NONE])]
        {
            let nothing = record(function, args);
            assert!(!nothing.contains("Event") && !nothing.contains("Launch"), "{nothing}");
        }
    }
    driver.release(1);
    driver.destroy_stream(0, stream);
}

/// A given stream replaces that of the environment; a default one wants a context of the device.
#[test]
fn launches_run_on_the_given_stream() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let [own, given] = [0, 0].map(|device| driver.create_stream(device));
    let x = Fake::new(0x1000, &[3]);
    for session in sessions(&waits()) {
        session.set_stream(0, own);
        session.call("launch_on", &[x.arg(), pointer(given)]).unwrap();
        let stream_of = |record: &str| {
            record
                .split("stream=")
                .nth(1)
                .map(|rest| rest.split(' ').next().unwrap_or("").to_owned())
        };
        stand_in.reset();
        session.call("launch_on", &[x.arg(), pointer(given)]).unwrap();
        let (on_given, calls) = (stream_of(&stand_in.record()), stand_in.calls());
        stand_in.reset();
        session.call("launch_on_number", &[x.arg(), number(given)]).unwrap();
        assert_eq!(on_given, stream_of(&stand_in.record()), "{}", session.name);
        stand_in.reset();
        session.call("launch_on", &[x.arg(), pointer(own)]).unwrap();
        assert_eq!(calls, 1, "{}", session.name);
        assert_ne!(on_given, stream_of(&stand_in.record()), "{}", session.name);
        for default in [Any::NONE, int(0), int(1), int(2)] {
            stand_in.reset();
            session.call("launch_on", &[x.arg(), default]).unwrap();
            let record = stand_in.record();
            assert!(record.contains("cuCtxPushCurrent_v2(primary0)"), "{}: {record}", session.name);
        }
        let error = session.call("launch_on", &[x.arg(), int(4096)]).unwrap_err();
        assert!(error.contains("CUDA_ERROR_INVALID_HANDLE (400)"), "{}: {error}", session.name);
    }
    [own, given].into_iter().for_each(|stream| driver.destroy_stream(0, stream));
}

/// Work of another stream joins a capture only through events, and must be joined again.
#[test]
fn captures_follow_events() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let [captured, other] = [0, 0].map(|device| driver.create_stream(device));
    for session in sessions(&waits()) {
        let wait = |waiter, on| session.call("of_streams", &[pointer(waiter), pointer(on)]);
        let status = driver.capture(captured, || {
            wait(other, captured).unwrap();
            wait(captured, other).unwrap();
        });
        assert_eq!(status, 0, "{}", session.name);
        let status = driver.capture(captured, || wait(other, captured).unwrap());
        assert_eq!(status, 904, "{}", session.name);
        let status = driver.capture(captured, || {
            let error = wait(captured, other).unwrap_err();
            assert!(error.contains("CUDA_ERROR_STREAM_CAPTURE_ISOLATION (905)"), "{error}");
        });
        assert_eq!(status, 901, "{}", session.name);
        assert_eq!(stand_in.live().events, 0, "{}", session.name);
    }
    [captured, other].into_iter().for_each(|stream| driver.destroy_stream(0, stream));
}

/// A program with every command and an attribute, on default streams.
fn program() -> Library {
    let text = "
        f(x: Tensor([n], float32, device=cuda), s: Stream) -> None = {
            upload x.data (x.device.multiprocessors);
            fill x.data, 4, 1;
            copy x.data, x.data, n;
            wait stream(x), s;
            wait s, stream(x);
        };
    ";
    library(text).with_prepare("ready")
}

/// Makes one call of the driver fail. Returns false if there were fewer calls.
fn survives(session: &Session, stand_in: &FakeCuda, args: &[Any], fault: i64) -> bool {
    stand_in.reset();
    stand_in.fail_at(fault, 999);
    let name = if args.len() == 1 { "ready" } else { "f" };
    let ended = session.call(name, args);
    let (record, calls) = (stand_in.record(), stand_in.calls());
    stand_in.reset();
    if calls < fault {
        assert_eq!(ended, Ok(()), "{}", session.name);
        return false;
    }
    let line = record.lines().nth(fault as usize - 1).unwrap_or_default();
    let place = format!("{}: {line}", session.name);
    let called = line.split('(').next().unwrap_or_default();
    let error = ended.expect_err(&place);
    assert!(
        error.starts_with(&format!("RuntimeError: Failed {called} when calling: ")),
        "{place}: {error}"
    );
    assert!(error.contains(", CUDA_ERROR_UNKNOWN (999): unknown error"), "{place}: {error}");
    if called == "cuCtxPopCurrent_v2" {
        Driver(stand_in).pop();
    }
    // An event whose destruction fails is all that may be left.
    let events = i64::from(called == "cuEventDestroy_v2");
    let live = stand_in.live();
    assert_eq!((live.pushed, live.events), (0, events), "{place}");
    stand_in.reset();
    session.call(name, args).unwrap();
    assert_eq!(stand_in.live().pushed, 0, "{place}");
    if events == 1 {
        Driver(stand_in).destroy_events();
    }
    true
}

#[test]
fn commands_survive_every_failure() {
    let stand_in = fake_cuda::exclusive();
    let library = program();
    let driver = Driver(&stand_in);
    let (memory, stream) = (driver.allocate(0, 64), driver.create_stream(0));
    let x = Fake::new(memory.expose_provenance(), &[16]);
    for make in makers(&library) {
        let args = [x.arg(), pointer(stream)];
        let run = |is_warm: bool, args: &[Any]| {
            let survives = |fault: &i64| {
                let session = make();
                session.set_stream(0, ptr::null_mut());
                if is_warm {
                    session.call("f", &[x.arg(), pointer(stream)]).unwrap();
                }
                survives(&session, &stand_in, args, *fault)
            };
            (1..).take_while(survives).count()
        };
        let (cold, warm, ready) = (run(false, &args), run(true, &args), run(false, &[int(0)]));
        assert_eq!(warm, 29, "{}", make().name);
        assert!(cold > warm && ready >= 3, "{}: {cold}, {ready}", make().name);
    }
    driver.free(0, memory);
    driver.destroy_stream(0, stream);
}
