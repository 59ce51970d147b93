//! Launches through HIP, on the stand-in for its runtime.

use abi_spec::{Device, DeviceType};
use codegen::Library;
use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_hip::{self, BUNDLE, FakeHip, HSACO};

use super::session::{Fake, FakeObject, Session, float, int, makers, sessions};

/// Parses declarations, whose images are the stand-in's: a code object and a bundle.
pub(super) fn library(text: &str) -> Library {
    let library: Result<Library, _> = format!("image code;\nimage bundle;\n{text}").parse();
    let mut library = library.unwrap_or_else(|error| panic!("{error}\n{text}"));
    for (image, bytes) in library.images.iter_mut().zip([HSACO, BUNDLE]) {
        image.bytes = Some(bytes.to_vec());
    }
    library
}

pub(super) fn rocm(id: i32) -> Device {
    Device { ty: DeviceType::ROCM, id }
}

/// Returns a vector of `float32` on a device.
pub(super) fn vector(address: usize, size: i64, device: i32) -> Fake {
    Fake::new(address, &[size]).on(rocm(device))
}

/// Returns the record without the calls that find out which device is current, with modules unnumbered.
pub(super) fn taken(hip: &FakeHip) -> String {
    let record = hip.record();
    hip.reset();
    let lines = record.lines().filter(|line| !line.starts_with("hipGetDevice()"));
    lines.map(|line| format!("{}\n", unnumbered(line))).collect()
}

/// Replaces the number of a module by a mark.
fn unnumbered(line: &str) -> String {
    let Some((before, after)) = line.split_once("(mod") else { return line.to_owned() };
    format!("{before}(mod#{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Statements of a body with the record of a second call, or its error.
type Row = (String, String);

/// Checks bodies on every route, on device 1 while device 0 is current. Each is called twice; what the second call does
/// is compared.
fn hold(params: &str, args: &[Any], rows: &[Row]) {
    let hip = fake_hip::exclusive();
    hip.set("devices", 2);
    let function =
        |(index, (body, _)): (usize, &Row)| format!("f{index}({params}) -> None = {{ {body} }};\n");
    let library = library(&rows.iter().enumerate().map(function).collect::<String>());
    let mut wrong = String::new();
    for session in sessions(&library) {
        for (index, (body, expected)) in rows.iter().enumerate() {
            let call = || session.call(&format!("f{index}"), args).err();
            call();
            hip.reset();
            let error = call();
            let found = taken(&hip) + &error.map(|error| format!("{error}\n")).unwrap_or_default();
            let calling = format!("when calling: `f{index}({params})`");
            let expected = expected.replace("CALLING", &calling);
            if found.trim_end() != expected.trim_end() {
                wrong += &format!("{}: {body}\n{found}\n", session.name);
            }
            assert_eq!(hip.live().pushed, 0, "{}: {body}: the device is another one", session.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const VECTORS: &str =
    "x: Tensor([n], float32, device=rocm), y: Tensor([n], float32, device=rocm), a: float32";

/// Arguments of a launch of `axpy_kernel` in the record.
const PASSED: &str = "device=1 parameters=[0010000000000000, 0020000000000000, e8030000, 00002040]";

/// The limits that are compared with a launch before its shared memory.
const LIMITS: &str = "hipDeviceGetAttribute(26 device=1) -> 1024
hipDeviceGetAttribute(27 device=1) -> 1024
hipDeviceGetAttribute(28 device=1) -> 1024
hipDeviceGetAttribute(56 device=1) -> 1024
hipDeviceGetAttribute(29 device=1) -> 2147483647
hipDeviceGetAttribute(30 device=1) -> 65535
hipDeviceGetAttribute(31 device=1) -> 65535
";

/// Writes the record of work on device 1 while device 0 is current.
fn on_one(work: &str) -> String {
    format!("hipSetDevice(1)\n{work}\nhipSetDevice(0)\n")
}

#[test]
fn launches() {
    let (x, y) = (vector(0x1000, 1000, 1), vector(0x2000, 1000, 1));
    let axpy = |image: &str, how: &str| {
        format!("launch {image}.\"axpy_kernel\"(x.data, y.data, int32(n), a) {how};")
    };
    let launched = |grid: &str, block: &str, more: &str, result: &str| {
        let config = format!("grid={grid} block={block} shared={more} stream=null");
        format!("hipModuleLaunchKernel(mod#.\"axpy_kernel\" {config}){result}")
    };
    let passed = |grid: &str, block: &str, shared: &str| {
        on_one(&launched(grid, block, shared, &format!(" -> {PASSED}")))
    };
    let cooperative = passed("1000,1,1", "4,1,1", "0").replace("Launch", "LaunchCooperative");
    let threads = " = 1 hipErrorInvalidValue (more than 1024 threads)";
    let threads = on_one(&launched("1000,1,1", "2048,1,1", "0", threads));
    let shared = " = 1 hipErrorInvalidValue (shared memory above 65536)";
    let shared = on_one(&launched("1000,1,1", "4,1,1", "10000000", shared));
    let wide = " = 9 hipErrorInvalidConfiguration (extent 0 has 2^32 threads or more)";
    let wide = on_one(&launched("2147483647,1,1", "1024,1,1", "0", wide));
    let rows: &[Row] = &[
        (axpy("code", "grid(ceildiv(n, 256)) block(256)"), passed("4,1,1", "256,1,1", "0")),
        (
            axpy("bundle", "grid(4, 2, 3) block(8, 2, 1) smem(512)"),
            passed("4,2,3", "8,2,1", "512"),
        ),
        (axpy("code", "grid(0) block(256)"), String::new()),
        (axpy("code", "grid(n - 1000) block(256)"), String::new()),
        (axpy("code", "grid(n) block(4) cooperative"), cooperative),
        (
            axpy("code", "grid(n) block(2048)"),
            format!(
                "{threads}hipDeviceGetAttribute(26 device=1) -> 1024\n\
                 ValueError: Out of range block.x of axpy_kernel CALLING, expected 1 to 1024 on rocm:1 but got 2048"
            ),
        ),
        (
            axpy("code", "grid(n) block(4) smem(10000000)"),
            format!(
                "{shared}{LIMITS}hipDeviceGetAttribute(74 device=1) -> 65536\n\
                 hipFuncGetAttribute(mod#.\"axpy_kernel\" 1) -> 0\n\
                 ValueError: Out of range shared memory of axpy_kernel CALLING, expected at most 65536 bytes on rocm:1 \
                 but got 10000000"
            ),
        ),
        (
            axpy("code", "grid(2147483647) block(1024)"),
            format!(
                "{wide}{LIMITS}ValueError: Out of range threads along x of axpy_kernel CALLING, expected 1 to \
                 4294967295 on rocm:1 but got 2199023254528"
            ),
        ),
        (
            axpy("code", "grid(x.device.multiprocessors) block(4)"),
            passed("304,1,1", "4,1,1", "0"),
        ),
        (axpy("code", "grid(current_device() + 2) block(4)"), passed("2,1,1", "4,1,1", "0")),
        (
            "let f = function () -> None { launch code.\"axpy_kernel\"(x.data, y.data, int32(n), a) grid(n) \
             block(4); }; @(f)();"
                .to_owned(),
            passed("1000,1,1", "4,1,1", "0"),
        ),
        (
            "wait stream(x), stream(y);".to_owned(),
            on_one("hipEventCreateWithFlags(flags=2) -> context=device1\nhipEventRecord(null)")
                + &on_one("hipStreamWaitEvent(null)")
                + "hipEventDestroy()",
        ),
    ];
    let objects = [x, y].map(FakeObject::new);
    hold(VECTORS, &[objects[0].arg(), objects[1].arg(), float(2.5)], rows);
}

/// A library of a launch that needs an image, and of commands, with its function that prepares.
fn program() -> Library {
    let text = "
        f(x: Tensor([n], float32, device=rocm), y: Tensor([n], float32, device=rocm)) -> None = {
            launch code.\"axpy_kernel\"(x.data, y.data, int32(n), 2.0f) grid(x.device.multiprocessors) block(64);
            launch bundle.\"add_kernel\"(x.data, x.data, y.data, n) grid(1) block(64) cooperative;
            wait stream(x), stream(y);
        };
    ";
    library(&text.replace("2.0f", "float32(2.0)")).with_prepare("ready")
}

/// Every call of the runtime fails once, in a fresh library: the error says which, the device is what it was, and the
/// next call works.
#[test]
fn failures_leave_the_device_as_it_was() {
    let hip = fake_hip::exclusive();
    hip.set("devices", 2);
    let objects = [0x1000, 0x2000].map(|at| FakeObject::new(vector(at, 64, 1)));
    let args = [objects[0].arg(), objects[1].arg()];
    let library = program();
    for make in makers(&library) {
        for function in ["f", "ready"] {
            let run = |session: &Session| match function {
                "f" => session.call("f", &args),
                _ => session.call("ready", &[int(1)]),
            };
            for fault in 1.. {
                let (session, events) = (make(), hip.live().events);
                hip.reset();
                hip.fail_at(fault, 999);
                let ended = run(&session);
                let (record, calls) = (hip.record(), hip.calls());
                hip.reset();
                if calls < fault {
                    assert_eq!(ended, Ok(()), "{}", session.name);
                    break;
                }
                let place = format!("{}: {function}, call {fault}: {record}", session.name);
                let failed = record.lines().find(|line| line.ends_with("(as told)"));
                // A launch asks again before it makes the device current.
                let asks_again = failed.is_some_and(|line| line.starts_with("hipGetDevice()"));
                let Err(error) = ended else {
                    assert!(asks_again, "{place}");
                    continue;
                };
                assert!(error.starts_with("RuntimeError: Failed "), "{place}: {error}");
                assert!(error.contains(", hipErrorUnknown (999): "), "{place}: {error}");
                let not_left = failed.is_some_and(|line| line.starts_with("hipSetDevice(0)"));
                assert_eq!(hip.live().pushed, i64::from(not_left), "{place}");
                hip.set_device(0);
                let kept = failed.is_some_and(|line| line.starts_with("hipEventDestroy"));
                assert_eq!(hip.live().events - events, i64::from(kept), "{place}");
                assert_eq!(run(&session), Ok(()), "{place}");
            }
        }
    }
}

/// What `ready` has prepared is launched without loading anything.
#[test]
fn launches_are_prepared() {
    let hip = fake_hip::exclusive();
    hip.set("devices", 2);
    let objects = [0x1000, 0x2000].map(|at| FakeObject::new(vector(at, 64, 1)));
    let args = [objects[0].arg(), objects[1].arg()];
    for session in sessions(&program()) {
        session.call("ready", &[int(1)]).unwrap();
        hip.reset();
        session.call("f", &args).unwrap();
        let record = taken(&hip);
        assert!(!record.contains("Load") && !record.contains("GetFunction"), "{record}");
        for wrong in [2, 64, -1, 1 << 40] {
            let error = session.call("ready", &[int(wrong)]).unwrap_err();
            let expected = format!("device = rocm:{wrong}");
            assert!(error.contains("(101)") && error.ends_with(&expected), "{error}");
        }
        assert_eq!(hip.live().pushed, 0, "{}", session.name);
    }
}

/// A tensor that may be on any device must be on one of the platform of the image.
#[test]
fn tensors_on_any_device() {
    let hip = fake_hip::exclusive();
    hip.set("devices", 2);
    let text = "f(x: Tensor([n], float32, device=any)) -> None = { launch code.\"pointers\"(x.data) grid(n) block(1); };";
    for session in sessions(&library(text)) {
        assert_eq!(session.call("f", &[vector(0x1000, 4, 0).arg()]), Ok(()), "{}", session.name);
        let on_cuda = Fake::new(0x1000, &[4]);
        let error = session.call("f", &[on_cuda.arg()]).unwrap_err();
        assert!(error.contains(", expected rocm but got cuda:0"), "{error}");
    }
}

/// Commands change the memory of their device, on the stream that they are given.
#[test]
fn commands_change_memory() {
    const BYTES: usize = 64;
    let hip = fake_hip::exclusive();
    hip.set("devices", 2);
    hip.set_device(1);
    let (memory, stream) = (hip.allocate(2 * BYTES), hip.create_stream());
    hip.set_device(0);
    let at = |offset: usize| vector(memory.addr() + offset, BYTES as i64 / 4, 1);
    let text = "
        f(x: Tensor([n], float32, device=rocm), y: Tensor([n], float32, device=rocm), s: Stream) -> None = {
            fill x.data, 4 * n, 7 on x stream s;
            copy y.data, x.data, 8 on x stream s;
            upload y.data + 16 (int32(n), 2 * n) on x stream s;
            launch code.\"pointers\"(x.data) grid(1) block(1) stream s;
        };
    ";
    for session in sessions(&library(text)) {
        let (x, y) = (at(0), at(BYTES));
        let handle = Any::ptr(abi_spec::TypeIndex::OPAQUE_PTR, stream);
        session.call("f", &[x.arg(), y.arg(), handle]).unwrap();
        // SAFETY: the memory has this size, and the stand-in works on it at once.
        let bytes = unsafe { std::slice::from_raw_parts(memory, 2 * BYTES) };
        let mut expected = vec![7; BYTES + 8];
        expected.resize(BYTES + 16, 0);
        expected.extend(16_i64.to_le_bytes());
        expected.extend(32_i64.to_le_bytes());
        expected.resize(2 * BYTES, 0);
        assert_eq!(bytes, expected, "{}", session.name);
        let record = taken(&hip);
        assert!(!record.contains("null"), "{}: {record}", session.name);
        assert_eq!(hip.live().pushed, 0, "{}", session.name);
        // SAFETY: as above.
        unsafe { memory.write_bytes(0, 2 * BYTES) };
    }
    hip.free(memory);
}
