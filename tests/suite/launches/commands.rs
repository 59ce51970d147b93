//! Commands on memory: what they write, in which calls of the driver, also when a graph is replayed, and their errors.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use abi_spec::{DeviceType, TypeIndex};
use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{
    Driver, Fake, assert_same, error_of, int, library, sessions, shared, take_commands,
};

const PARAMS: &str = "x: Tensor([n], float32, device=cuda), k: int64, p: ptr, s: Stream, a: Tensor([m], int8, device=any)";

/// Size of the memory in bytes.
const SIZE: usize = 64;

/// Device memory, and a stream that is not the environment's.
struct Place<'a> {
    driver: Driver<'a>,
    memory: *mut u8,
    stream: *mut c_void,
}

impl<'a> Place<'a> {
    fn new(stand_in: &'a FakeCuda) -> Place<'a> {
        let driver = Driver(stand_in);
        let (memory, stream) = (driver.allocate(0, SIZE), driver.create_stream(0));
        Place { driver, memory, stream }
    }

    /// Returns the bytes of the memory in hex without the zeros at the end, and clears the memory.
    fn take(&self) -> String {
        // SAFETY: the memory has this size, and nothing else uses it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.memory, SIZE) };
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.fill(0);
        let mut text = text.trim_end_matches('0').to_owned();
        text.extend((text.len() % 2 == 1).then_some('0'));
        text
    }

    fn free(self) {
        self.driver.free(0, self.memory);
        self.driver.destroy_stream(0, self.stream);
    }
}

fn pointer(to: *mut c_void) -> Any {
    Any::ptr(TypeIndex::OPAQUE_PTR, to)
}

/// Statements, `k`, and the expected calls and memory, or the error.
const ROWS: &[(&str, i64, &str)] = &[
    ("fill x.data, 3, 255;", 0, "cuMemsetD8Async(memory+0 255 3 env) memory=ffffff"),
    ("fill x.data, k, k;", 2, "cuMemsetD8Async(memory+0 2 2 env) memory=0202"),
    (
        "fill p, k, 1 on x stream s;",
        3,
        "cuMemsetD8Async(memory+4 1 3 stream) memory=00000000010101",
    ),
    ("fill x.data, k, 1;", 0, "memory="),
    ("fill x.data, 0, 1;", 0, "memory="),
    (
        "fill x.data, k, 1;",
        -1,
        "ValueError: Out of range size of fill …, expected a non-negative size but got -1",
    ),
    (
        "fill x.data, k, 1;",
        65,
        "RuntimeError: Failed cuMemsetD8Async …, CUDA_ERROR_INVALID_VALUE (1): invalid argument",
    ),
    (
        "fill x.data, 1, k;",
        256,
        "ValueError: Out of range value of fill on argument #1 …, expected uint8 but got 256",
    ),
    (
        "fill x.data, 1, k;",
        -1,
        "ValueError: Out of range value of fill on argument #1 …, expected uint8 but got -1",
    ),
    (
        "fill x.data, 4, 7; copy p, x.data, 2;",
        0,
        "cuMemsetD8Async(memory+0 7 4 env) cuMemcpyAsync(memory+4 memory+0 2 env) memory=070707070707",
    ),
    (
        "fill x.data, 4, 7; let t = s; copy p, x.data, k stream t;",
        4,
        "cuMemsetD8Async(memory+0 7 4 env) cuMemcpyAsync(memory+4 memory+0 4 stream) memory=0707070707070707",
    ),
    ("copy p, x.data, k;", 0, "memory="),
    (
        "copy p, x.data, k;",
        i64::MIN,
        "ValueError: Out of range size of copy …, expected a non-negative size but got -9223372036854775808",
    ),
    (
        "copy p, x.data, k;",
        i64::MAX,
        "RuntimeError: Failed cuMemcpyAsync …, CUDA_ERROR_INVALID_VALUE (1): invalid argument",
    ),
    ("upload x.data (int32(k));", 5, "cuStreamBatchMemOp_v2(env memory+0:05000000) memory=05"),
    (
        "upload x.data (int8(1), k, int16(3), 1.5);",
        2,
        "cuStreamBatchMemOp_v2(env memory+0:0100000000000000 memory+8:0200000000000000 memory+16:0300000000000000 \
         memory+24:000000000000f83f) memory=010000000000000002000000000000000300000000000000000000000000f83f",
    ),
    (
        "upload p (int32(1), int32(2), int32(3)) on x stream s;",
        0,
        "cuStreamBatchMemOp_v2(stream memory+4:01000000 memory+8:0200000003000000) memory=00000000010000000200000003",
    ),
    (
        "upload x.data (struct(int8(1), int8(2)), int16(3));",
        0,
        "cuStreamBatchMemOp_v2(env memory+0:01020300) memory=010203",
    ),
    (
        "upload p (k);",
        0,
        "ValueError: Misaligned p …, expected a multiple of 8 bytes for an upload but got remainder 4",
    ),
    (
        "let q = x.data; upload q (int32(k)) on x;",
        9,
        "cuStreamBatchMemOp_v2(env memory+0:09000000) memory=09",
    ),
    (
        "for i in 0..k { if i == 1 { fill x.data, i + 1, i; } }",
        3,
        "cuMemsetD8Async(memory+0 1 2 env) memory=0101",
    ),
    (
        "fill a.data, 1, 1 on a;",
        0,
        "ValueError: Mismatched a.device on argument #4 …, expected cuda but got cpu",
    ),
    (
        "copy x.data, a.data, 1;",
        0,
        "ValueError: Mismatched a.device on argument #4 …, expected cuda but got cpu",
    ),
];

#[test]
fn commands_do_what_they_say() {
    let stand_in = fake_cuda::exclusive();
    let function = |(at, (body, ..)): (usize, &(&str, i64, &str))| {
        format!("f{at}({PARAMS}) -> None = {{ {body} }};\n")
    };
    let library = library(&ROWS.iter().enumerate().map(function).collect::<String>());
    let place = Place::new(&stand_in);
    let own = place.driver.create_stream(0);
    let x = Fake::new(place.memory.expose_provenance(), &[16]);
    let a = Fake::new(0x1000, &[1]).of(0, 8).on(abi_spec::Device { ty: DeviceType::CPU, id: 0 });
    for session in sessions(&library) {
        session.set_stream(0, own);
        for (at, (body, k, expected)) in ROWS.iter().enumerate() {
            stand_in.reset();
            let p = pointer(place.memory.wrapping_add(4).cast());
            let args = [x.arg(), int(*k), p, pointer(place.stream), a.arg()];
            let ended = session.call(&format!("f{at}"), &args);
            let named = [(own, "env"), (place.stream, "stream")];
            let mut found = take_commands(&stand_in, &named);
            let memory = place.take();
            match ended {
                Ok(()) => found += &format!("memory={memory}"),
                Err(error) => found = error,
            }
            let expected = error_of(&library, &format!("f{at}"), expected);
            assert_same(&found, &expected, &format!("{}: {body}", session.name));
            assert_eq!(stand_in.live().pushed, 0, "{}: {body}", session.name);
        }
    }
    place.driver.destroy_stream(0, own);
    place.free();
}

/// A struct of this many words needs several calls of the driver.
const MANY: usize = 250;

/// Drivers and devices without operations on memory, or without those of 64 bits.
#[test]
fn uploads_need_no_operations_on_memory() {
    let words: Vec<String> = (0..2 * MANY).map(|at| format!("int32(k + {at})")).collect();
    let (first, second) = words.split_at(MANY);
    let text = format!(
        "f(x: Tensor([n], float32, device=cuda), k: int64) -> None = {{ upload x.data (struct({}), struct({})); }};",
        first.join(", "),
        second.join(", ")
    );
    let library = library(&text);
    let makers = shared(&library);
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let memory = driver.allocate(0, 8 * MANY);
    let x = Fake::new(memory.expose_provenance(), &[2 * MANY as i64]);
    for (operations, wide, calls) in
        [(1, 1, 1), (1, 0, 2), (0, 1, 1 + 2 * MANY), (0, 0, 1 + 2 * MANY)]
    {
        stand_in.set("operations", operations);
        stand_in.set("wide_operations", wide);
        // The routines of the JIT remember the device between sessions.
        for make in &makers {
            let session = make();
            session.set_stream(0, ptr::null_mut());
            stand_in.reset();
            session.call("f", &[x.arg(), int(7)]).unwrap();
            let record = take_commands(&stand_in, &[]);
            // SAFETY: the memory has this size, and nothing else uses it.
            let found = unsafe { std::slice::from_raw_parts_mut(memory.cast::<i32>(), 2 * MANY) };
            let expected: Vec<i32> = (7..7 + 2 * MANY as i32).collect();
            assert_eq!(found, expected, "{}", session.name);
            let found_calls = record.matches("(null").count() + record.matches(" null").count();
            assert_eq!(found_calls, calls, "{}", session.name);
            found.fill(0);
        }
    }
    driver.free(0, memory);
}

/// Overwrites the stack that earlier calls have used.
#[inline(never)]
fn overwrite_stack() {
    black_box(&mut [0xa5_u8; 1 << 16]);
}

/// A replay does what was captured, whatever has become of the arguments and the stack.
#[test]
fn captured_commands_are_replayed() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n], float32, device=cuda), k: int64, p: ptr, s: Stream) -> None = {
            wait s, stream(x);
            upload p (int32(k), int32(k + 1), k) on x stream s;
            wait stream(x), s;
            copy x.data, p, 8;
            fill p, k, 9 on x;
        };",
    )
    .with_prepare("ready");
    let place = Place::new(&stand_in);
    let own = place.driver.create_stream(0);
    let x = Fake::new(place.memory.expose_provenance(), &[16]);
    for session in sessions(&library) {
        session.set_stream(0, own);
        session.call("ready", &[int(0)]).unwrap();
        let p = pointer(place.memory.wrapping_add(16).cast());
        let args = [x.arg(), int(3), p, pointer(place.stream)];
        let mut found = String::new();
        let status = place.driver.capture_and(
            own,
            || session.call("f", &args).unwrap(),
            |replay| {
                assert_eq!(place.take(), "", "{}", session.name);
                overwrite_stack();
                replay();
                found = place.take();
                replay();
                assert_eq!(place.take(), found, "{}", session.name);
            },
        );
        let expected = "03000000040000000000000000000000090909000400000003".to_owned();
        assert_eq!((status, found), (0, expected), "{}", session.name);
        let live = stand_in.live();
        assert_eq!((live.pushed, live.events), (0, 0), "{}", session.name);
    }
    place.driver.destroy_stream(0, own);
    place.free();
}
