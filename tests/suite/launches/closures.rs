//! Launches that are prepared once and submitted often: functions that hold maps, tensors and addresses.

use std::ffi::c_void;
use std::ptr;

use abi_spec::{Device, DeviceType, TypeIndex};
use codegen::Library;
use jit::abi::{Any, Object};
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};
use tvm_ffi_codegen_tests::submits::{self, Plan};

use super::session::{
    Driver, Fake, FakeObject, Session, assert_same, cuda, error_of, int, library, sessions,
    take_launches, take_record,
};

/// A launch with three maps, prepared and unprepared.
fn three_maps() -> Library {
    let maps = "
        let m = tensormap(x, box=[1, 64]);
        let part = tensormap(x, dims=[n, 2, 32], strides=[64, 32, 1], offset=128, box=[1, 1, 32]);
        let turned = tensormap(x, dims=[n, 64], strides=[64, 1], box=[1, 32]);
    ";
    let launches = "
        launch cubin.\"tma\"(m, x.data) grid(n) block(k);
        launch cubin.\"tma\"(part, x.data) grid(n, k) block(1);
        launch cubin.\"tma\"(turned, x.data) grid(1) block(1);
    ";
    let tensor = "x: Tensor([n, 64], float32, device=cuda)";
    library(&format!(
        "
        prepare({tensor}) -> Function = {{ {maps} return function(k: int64) -> None where k > 0 {{ {launches} }}; }};
        at_once({tensor}, k: int64) -> None where k > 0 = {{ {maps} {launches} }};
        streams({tensor}) -> Function = {{
            let t = alloc Tensor([n], uint8, device=cuda) on x;
            return function() -> None {{ launch cubin.\"tma\"(tensormap(x, box=[1, 64]), stream(t)) grid(1) block(1) on t; }};
        }};
        "
    ))
    .with_prepare("ready")
}

/// A function object that a library has returned.
pub(super) struct Held<'s> {
    session: &'s Session,
    object: *mut Object,
}

impl<'s> Held<'s> {
    pub(super) fn new(
        session: &'s Session,
        function: &str,
        args: &[Any],
    ) -> Result<Held<'s>, String> {
        let made = session.value(function, args)?;
        assert_eq!(made.ty(), TypeIndex::FUNCTION, "{}", session.name);
        Ok(Held { session, object: made.pointer().cast() })
    }

    pub(super) fn call(&self, args: &[Any]) -> Result<(), String> {
        let mut result = Any::NONE;
        // SAFETY: the object is a live function, and the arguments are valid.
        let call = |result| unsafe {
            self.session.ffi.call(self.object, args.as_ptr(), args.len() as i32, result)
        };
        self.session.ended(call(&mut result), result)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: the reference is this value's.
        unsafe { self.session.ffi.release(self.object) };
    }
}

#[test]
fn a_submit_launches_what_one_call_launches() {
    let stand_in = fake_cuda::exclusive();
    let (library, stream) = (three_maps(), Driver(&stand_in).create_stream(0));
    for session in sessions(&library) {
        let x = FakeObject::new(Fake::new(0x1000, &[16, 64]));
        session.set_stream(0, stream);
        session.call("ready", &[int(0)]).unwrap();
        let submit = Held::new(&session, "prepare", &[x.arg()]).unwrap();
        let encoded = take_launches(&stand_in);
        assert_eq!(encoded.matches("cuTensorMapEncodeTiled").count(), 3, "{encoded}");
        assert_eq!(x.references(), 2, "{}", session.name);
        for k in [3, 7] {
            submit.call(&[int(k)]).unwrap();
            let submitted = take_record(&stand_in);
            assert_eq!(submitted.lines().count(), 3, "{submitted}");
            session.call("at_once", &[x.arg(), int(k)]).unwrap();
            let at_once = take_launches(&stand_in);
            let at_once: Vec<&str> =
                at_once.lines().filter(|line| line.starts_with("cuLaunch")).collect();
            assert_eq!(submitted.lines().collect::<Vec<_>>(), at_once, "{}", session.name);
        }
        let refused = submit.call(&[int(0)]).unwrap_err();
        assert_same(
            &refused,
            "ValueError: Violated k > 0 when calling: `function(k: int64)`, k = 0",
            &session.name,
        );
        drop(submit);
        assert_eq!(x.references(), 1, "{}", session.name);
    }
    Driver(&stand_in).destroy_stream(0, stream);
}

/// A function keeps the tensor whose bytes it launches with: its owner may be gone before the launch, and the bytes are
/// those that the tensor has then.
#[test]
fn bytes_are_those_of_a_tensor_that_is_held() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "prepare(x: Tensor([n], float32, device=cuda), c: Tensor([6], int32)) -> Function = {
            return function(k: uint8) -> None {
                launch cubin.\"widths\"(k, uint16(6), int32(n), n, float32(0.5), 0.5, bytes(c, 12), bytes(c, 24)) grid(1) block(1) on x;
            };
        };",
    );
    let cpu = Device { ty: DeviceType::CPU, id: 0 };
    for session in sessions(&library) {
        let mut memory: [u8; 24] = std::array::from_fn(|index| index as u8);
        let address = memory.as_mut_ptr();
        let c = Fake::new(address.expose_provenance(), &[6]).of(0, 32).on(cpu);
        let c = FakeObject::new(c).poisoned_at_last();
        let x = FakeObject::new(Fake::new(0x1000, &[3]));
        let submit = Held::new(&session, "prepare", &[x.arg(), c.arg()]).unwrap();
        // SAFETY: this is the reference of the owner.
        unsafe { session.ffi.release(c.arg().pointer().cast()) };
        assert_eq!(c.references(), 1, "{}", session.name);
        for first in ["00", "ff"] {
            submit.call(&[int(3)]).unwrap();
            let launched = take_launches(&stand_in);
            let bytes: String = (1..24).map(|byte| format!("{byte:02x}")).collect();
            let expected = format!("{first}{}, {first}{bytes}]", &bytes[..22]);
            assert!(launched.trim_end().ends_with(&expected), "{}: {launched}", session.name);
            // SAFETY: the memory is there.
            unsafe { address.write(0xff) };
        }
        drop(submit);
        assert_eq!((c.references(), x.references()), (0, 1), "{}", session.name);
        assert_eq!(memory, [0xee; 24], "{}", session.name);
    }
}

#[test]
fn tensors_that_are_no_objects_cannot_be_held() {
    let _stand_in = fake_cuda::exclusive();
    let library = three_maps();
    let x = Fake::new(0x1000, &[16, 64]);
    let expected = error_of(
        &library,
        "prepare",
        "TypeError: Mismatched type of x …, expected a Tensor object, which a function can hold, but got a DLTensor*",
    );
    for session in sessions(&library) {
        let error = Held::new(&session, "prepare", &[x.arg()]).err().unwrap_or_default();
        assert_same(&error, &expected, &session.name);
    }
}

/// Launches of a submit are captured once the library is prepared.
#[test]
fn submits_are_captured() {
    let stand_in = fake_cuda::exclusive();
    let (library, driver) = (three_maps(), Driver(&stand_in));
    let stream = driver.create_stream(0);
    for session in sessions(&library) {
        session.set_stream(0, stream);
        session.call("ready", &[int(0)]).unwrap();
        let x = FakeObject::new(Fake::new(0x1000, &[16, 64]));
        let submit = Held::new(&session, "prepare", &[x.arg()]).unwrap();
        let mut record = String::new();
        let status = driver.capture(stream, || {
            submit.call(&[int(2)]).unwrap();
            record = take_launches(&stand_in);
        });
        assert_eq!(status, 0, "{}", session.name);
        assert_eq!(record.matches("captured").count(), 3, "{}: {record}", session.name);
    }
    driver.destroy_stream(0, stream);
}

/// Bytes of device memory that [`graphs_outlive_functions_and_libraries`] writes: a struct of a map and three numbers,
/// which is as large as two maps, and a copy of the first words.
const WRITTEN: usize = 272;

/// A graph of what a function has submitted needs neither the function nor its library nor what it held. The map that
/// it uploads is held in bytes that are not aligned as maps are.
#[test]
fn graphs_outlive_functions_and_libraries() {
    let stand_in = fake_cuda::exclusive();
    let (map, work) = (
        "let m = tensormap(x, box=[1, 64]);",
        "upload x.data (m, n, n, k); copy to, x.data, n; launch cubin.\"tma\"(m, x.data) grid(n) block(1);",
    );
    let params = "x: Tensor([n, 64], float32, device=cuda), n: int32, to: ptr";
    let library = library(&format!(
        "prepare({params}) -> Function = {{ {map} return function(k: int64) -> None {{ {work} }}; }};
        at_once({params}, k: int64) -> None = {{ {map} {work} }};"
    ))
    .with_prepare("ready");
    let driver = Driver(&stand_in);
    let (stream, memory) = (driver.create_stream(0), driver.allocate(0, WRITTEN));
    let take = || {
        // SAFETY: the memory has this size, and nothing else uses it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory, WRITTEN) };
        let taken = bytes.to_vec();
        bytes.fill(0);
        taken
    };
    for session in sessions(&library) {
        let name = session.name.clone();
        let x = FakeObject::new(Fake::new(memory.expose_provenance(), &[16, 64]));
        let to = Any::ptr(TypeIndex::OPAQUE_PTR, memory.wrapping_add(256).cast());
        session.set_stream(0, stream);
        session.call("ready", &[int(0)]).unwrap();
        session.call("at_once", &[x.arg(), int(16), to, int(7)]).unwrap();
        let expected = take();
        assert_eq!(expected[128..144], [16, 0, 0, 0, 16, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(expected[..16], expected[256..], "{name}");
        let submit = || {
            let (session, x) = (session, x);
            let submit = Held::new(&session, "prepare", &[x.arg(), int(16), to]).unwrap();
            submit.call(&[int(7)]).unwrap();
        };
        let status = driver.capture_and(stream, submit, |replay| {
            for _ in 0..2 {
                assert!(take().iter().all(|&byte| byte == 0), "{name}");
                replay();
                assert_eq!(take(), expected, "{name}");
            }
        });
        assert_eq!(status, 0, "{name}");
    }
    driver.free(0, memory);
    driver.destroy_stream(0, stream);
}

/// Streams are those of the caller of the function, on the device of what it holds.
#[test]
fn streams_are_those_at_the_time_of_the_call() {
    let stand_in = fake_cuda::exclusive();
    let library = three_maps();
    for session in sessions(&library) {
        super::scratch::set_allocator(&session, true);
        for device in [0, 1] {
            let driver = Driver(&stand_in);
            let streams = [driver.create_stream(device), driver.create_stream(device)];
            let x = FakeObject::new(Fake::new(0x1000, &[16, 64]).on(cuda(device)));
            session.set_stream(device, ptr::null_mut());
            let submit = Held::new(&session, "streams", &[x.arg()]).unwrap();
            for stream in streams {
                session.set_stream(device, stream);
                submit.call(&[]).unwrap();
                let record = take_launches(&stand_in);
                let parameter = hex(stream);
                assert!(record.contains(&parameter), "{}: {parameter}: {record}", session.name);
            }
            drop(submit);
            assert_eq!((x.references(), super::scratch::live()), (1, 0), "{}", session.name);
            session.set_stream(device, ptr::null_mut());
            streams.into_iter().for_each(|stream| driver.destroy_stream(device, stream));
        }
        super::scratch::set_allocator(&session, false);
    }
}

/// Grids that a function computes from what it holds, empty ones too, in a branch, on a stream that each call is given.
#[test]
fn numbers_of_a_launch_are_computed_once_or_in_every_call() {
    let stand_in = fake_cuda::exclusive();
    let body = "
        let half = n / 2;
        if k > 0 {
            let blocks = 3 * half;
            let threads = 12 / (n - 5);
            launch cubin.\"axpy_kernel\"(x.data, x.data, int32(blocks - 4), a) grid(blocks) block(k) stream s;
            launch cubin.\"axpy_kernel\"(x.data, x.data, int32(blocks - 4), float32(1.0)) grid(blocks) block(4) stream s;
            launch cubin.\"cluster_kernel\"(x.data) grid(uint32(half - 1)) block(threads) stream s;
        }
    ";
    let (tensor, params) =
        ("x: Tensor([n], float32, device=cuda)", "k: int64, a: float32, s: Stream");
    let library = library(&format!(
        "prepare({tensor}) -> Function = {{ return function({params}) -> None {{ {body} }}; }};
        at_once({tensor}, {params}) -> None = {{ {body} }};"
    ));
    let driver = Driver(&stand_in);
    let streams = [driver.create_stream(0), driver.create_stream(0), ptr::null_mut()];
    for session in sessions(&library) {
        for n in [0, 1, 2, 3, 5, 8, 9, 17] {
            let x = FakeObject::new(Fake::new(0x1000, &[n]));
            let submit = Held::new(&session, "prepare", &[x.arg()]).unwrap();
            for (turn, k) in [0, 2, 2, 0, 3, 2].into_iter().enumerate() {
                let stream = Any::ptr(TypeIndex::OPAQUE_PTR, streams[turn / 2].cast());
                let args = [int(k), int(turn as i64), stream];
                let submitted = submit.call(&args);
                let launched = take_launches(&stand_in);
                let all: Vec<Any> = [x.arg()].into_iter().chain(args).collect();
                let at_once = session.call("at_once", &all);
                let about = format!("{}: n = {n}, call {turn}", session.name);
                assert_same(&launched, &take_launches(&stand_in), &about);
                assert_eq!(reason(submitted), reason(at_once), "{about}");
                let count = launched.lines().count();
                assert!(n != 17 || count == if k > 0 { 3 } else { 0 }, "{about}: {launched}");
            }
            drop(submit);
            assert_eq!(x.references(), 1, "{}", session.name);
        }
    }
    streams[..2].iter().for_each(|&stream| driver.destroy_stream(0, stream));
}

/// Returns an error without the name of the function.
fn reason(ended: Result<(), String>) -> Option<(String, String)> {
    let error = ended.err()?;
    let (wrong, call) = error.split_once(" when calling: ").expect("errors name the call");
    let (_, values) = call.rsplit_once("`,").expect("errors have values");
    Some((wrong.to_owned(), values.to_owned()))
}

/// Tensors that a function is given are on the device of what it holds, whatever the declaration allows.
#[test]
fn tensors_are_on_the_device_of_what_is_held() {
    let _alone = fake_cuda::exclusive();
    let bodies = ["cuda", "any"].map(|device| {
        format!(
            "on_{device}(x: Tensor([n], float32, device=cuda), o: Optional[Tensor([n], float32, device=cuda)]) -> Function
                = {{ return function (y: Tensor([n], float32, device={device}), z: Optional[Tensor([n], float32, \
             device={device})]) -> None {{ launch cubin.\"axpy_kernel\"(x.data, y.data, int32(n), float32(1.0)) grid(n) \
             block(1); }}; }};"
        )
    });
    let library = library(&bodies.concat());
    let tensor = |device| FakeObject::new(Fake::new(0x1000, &[16]).on(cuda(device)));
    let (first, second) = (tensor(0), tensor(1));
    for session in sessions(&library) {
        for name in ["on_cuda", "on_any"] {
            let submit = Held::new(&session, name, &[second.arg(), Any::NONE]).unwrap();
            let call = |args: &[Any]| submit.call(args);
            assert_eq!(call(&[second.arg(), Any::NONE]), Ok(()), "{}", session.name);
            assert_eq!(call(&[second.arg(), second.arg()]), Ok(()), "{}", session.name);
            let wrong = [[first.arg(), Any::NONE], [second.arg(), first.arg()]];
            for (args, place) in
                wrong.iter().zip(["y.device on argument #0", "z.device on argument #1"])
            {
                let error = call(args).unwrap_err();
                let starts = format!("ValueError: Mismatched {place}");
                assert!(error.starts_with(&starts), "{}: {error}", session.name);
                assert!(
                    error.contains(", expected cuda:1") && error.ends_with("got cuda:0"),
                    "{error}"
                );
            }
        }
    }
}

/// Returns the bytes of an address as the stand-in prints those of a parameter.
fn hex(address: *mut c_void) -> String {
    address.addr().to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes each call of the driver fail in turn; returns the number of calls.
fn faults(
    stand_in: &FakeCuda,
    session: &Session,
    run: &dyn Fn(&FakeObject) -> Result<(), String>,
) -> i64 {
    for fault in 1.. {
        let x = FakeObject::new(Fake::new(0x1000, &[16, 64]));
        stand_in.reset();
        stand_in.fail_at(fault, 719);
        let ended = run(&x);
        let calls = stand_in.calls();
        stand_in.reset();
        assert_eq!(x.references(), 1, "{}: {fault}", session.name);
        if calls < fault {
            assert_eq!(ended, Ok(()), "{}", session.name);
            return calls;
        }
        let error = ended.unwrap_err();
        assert!(error.contains(" (719): "), "{}: {error}", session.name);
    }
    unreachable!("a call of the driver does not fail")
}

#[test]
fn both_phases_survive_every_failure() {
    let stand_in = fake_cuda::exclusive();
    let (library, stream) = (three_maps(), Driver(&stand_in).create_stream(0));
    for session in sessions(&library) {
        session.set_stream(0, stream);
        session.call("ready", &[int(0)]).unwrap();
        let prepare = |x: &FakeObject| Held::new(&session, "prepare", &[x.arg()]);
        let submit = |x: &FakeObject| prepare(x)?.call(&[int(1)]);
        assert_eq!(faults(&stand_in, &session, &submit), 3, "{}", session.name);
    }
    Driver(&stand_in).destroy_stream(0, stream);
}

/// Any number of calls: `tests/volume --submits`.
#[test]
fn random_submits_launch_what_random_calls_launch() {
    let report = submits::run(&Plan { seed: 0, calls: 6000, each: 24 });
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n\n"));
    assert!(
        report.accepted * 10 > report.calls && report.accepted * 3 < 2 * report.calls,
        "{report}"
    );
}
