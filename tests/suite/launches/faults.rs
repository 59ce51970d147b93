//! Failures of the driver raise an error and leave no resources behind; the next call repeats the failed steps.

use std::ptr;

use codegen::Library;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::scratch::{live, set_allocator};
use super::session::{Driver, Fake, Session, int, library, makers};

/// A program with scratch memory, a tensor map, an attribute, and two launches.
fn program() -> Library {
    let text = "
        f(x: Tensor([n, 64], float32, device=cuda)) -> None = {
            launch cubin.\"hidden\"(x.data, int32(n), scratch(n, 16), scratch(64, 64)) grid(n) block(1) smem(n) cluster(n);
            launch cubin.\"tma\"(tensormap(x, box=[1, 64]), x.data) grid(1) block(1);
        };
    ";
    library(text).with_prepare("ready")
}

fn run(session: &Session, function: &str) -> Result<(), String> {
    let x = Fake::new(0x1000, &[16, 64]);
    match function {
        "f" => session.call("f", &[x.arg()]),
        _ => session.call(function, &[int(0)]),
    }
}

/// Returns true for calls whose failure is expected: the one that asks for a parameter beyond the last.
fn is_harmless(line: &str) -> bool {
    let last = ["\"hidden\" 4)", "\"tma\" 2)"].iter().any(|end| line.contains(end));
    line.starts_with("cuKernelGetParamInfo") && last
}

/// Makes one call of the driver fail. Returns false if there were fewer calls.
fn survives(
    session: &Session,
    stand_in: &FakeCuda,
    function: &str,
    fault: i64,
    status: i32,
) -> bool {
    let before = stand_in.live().pushed;
    stand_in.reset();
    stand_in.fail_at(fault, status);
    let ended = run(session, function);
    let record = stand_in.record();
    let lines: Vec<&str> = record.lines().collect();
    let calls = stand_in.calls();
    stand_in.reset();
    if calls < fault {
        assert_eq!(ended, Ok(()), "{}", session.name);
        return false;
    }
    let line = lines[fault as usize - 1];
    let place = format!("{}: {line}", session.name);
    assert!(line.ends_with("(as told)"), "{place}");
    assert_eq!(ended.is_ok(), is_harmless(line), "{place}: {ended:?}");
    if let Err(error) = &ended {
        assert!(
            error.starts_with("RuntimeError: Failed ") && error.contains(&format!(" ({status}): ")),
            "{place}: {error}"
        );
    }
    if line.starts_with("cuCtxPopCurrent") {
        let error = ended.unwrap_err();
        assert!(
            error.starts_with("RuntimeError: Failed cuCtxPopCurrent_v2 when calling"),
            "{error}"
        );
        Driver(stand_in).pop();
    }
    assert_eq!((stand_in.live().pushed, live()), (before, 0), "{place}");
    stand_in.reset();
    assert_eq!(run(session, function), Ok(()), "{place}");
    assert_eq!((stand_in.live().pushed, live()), (before, 0), "{place}");
    true
}

/// Makes each call of the driver fail in turn; returns the number of calls.
fn all_faults(stand_in: &FakeCuda, function: &str, session: &dyn Fn() -> Session) -> usize {
    let mut status = [999, 2, 719].into_iter().cycle();
    let survives = |fault: &i64| {
        let session = session();
        session.set_stream(0, ptr::null_mut());
        set_allocator(&session, true);
        let survives = survives(&session, stand_in, function, *fault, status.next().unwrap_or(1));
        set_allocator(&session, false);
        survives
    };
    (1..).take_while(survives).count()
}

/// The first launch of a library, which loads and finds everything under the fault.
#[test]
fn first_launches_survive_every_failure() {
    let stand_in = fake_cuda::exclusive();
    let library = program();
    for make in makers(&library) {
        for (function, least) in [("f", 22), ("ready", 22)] {
            let faults = all_faults(&stand_in, function, &make);
            assert!(faults >= least, "{}: only {faults} faults of {function}", make().name);
        }
    }
}

/// Launches with everything loaded and each map in the cache of its site: on the default stream, without a current
/// context.
#[test]
fn later_launches_survive_every_failure() {
    let stand_in = fake_cuda::exclusive();
    let library = program();
    for make in makers(&library) {
        let warm = || {
            let session = make();
            session.set_stream(0, ptr::null_mut());
            set_allocator(&session, true);
            run(&session, "f").unwrap();
            session
        };
        assert_eq!(all_faults(&stand_in, "f", &warm), 8, "{}", make().name);
    }
}
