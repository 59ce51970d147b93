//! Scratch memory of launches: allocation, and release on every exit.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::ptr;

use jit::abi::{DLManagedTensorVersioned, DLTensor};
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{
    Driver, Fake, Session, assert_same, cuda, error_of, int, library, sessions, take_launches,
};
use super::table::brief;

/// Requests to the allocator of this thread, and its live tensors.
#[derive(Default)]
struct Given {
    asked: Vec<String>,
    live: usize,
    /// True if the next address is off by a byte.
    is_odd: bool,
}

thread_local! {
    static GIVEN: RefCell<Given> = RefCell::default();
}

/// Makes tensors at invented addresses; only the extents are real memory.
unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char),
) -> i32 {
    // SAFETY: the caller describes a tensor of one dim.
    let (tensor, bytes) = unsafe { (*prototype, *(*prototype).shape) };
    if bytes == 666 {
        // SAFETY: the caller passes the function together with its context.
        unsafe { set_error(context, c"MemoryError".as_ptr(), c"none is left".as_ptr()) };
        return -1;
    }
    let address = GIVEN.with_borrow_mut(|given| {
        given.asked.push(format!("{bytes} on {}:{}", tensor.device_type, tensor.device_id));
        given.live += 1;
        0x10000 * given.live + usize::from(given.is_odd)
    });
    let shape = Box::into_raw(Box::new(bytes));
    let data = ptr::without_provenance_mut(address);
    let tensor = DLTensor { data, shape, strides: ptr::null_mut(), ..tensor };
    let managed = DLManagedTensorVersioned {
        version: [1, 0],
        manager_ctx: ptr::null_mut(),
        deleter: Some(give_back),
        flags: 0,
        tensor,
    };
    // SAFETY: the caller gives a place for the result.
    unsafe { *out = Box::into_raw(Box::new(managed)) };
    0
}

unsafe extern "C" fn give_back(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: both are boxes of `allocate`.
    unsafe {
        drop(Box::from_raw((*managed).tensor.shape));
        drop(Box::from_raw(managed));
    }
    GIVEN.with_borrow_mut(|given| given.live -= 1);
}

/// Sets or clears the session's allocator.
pub(super) fn set_allocator(session: &Session, is_set: bool) {
    let allocator = if is_set { allocate as *const c_void } else { ptr::null() };
    // SAFETY: it is an allocator, or NULL.
    unsafe { session.ffi.set_allocator(allocator) };
}

/// Returns the number of this thread's live tensors.
pub(super) fn live() -> usize {
    GIVEN.with_borrow(|given| given.live)
}

fn take_asked() -> Vec<String> {
    GIVEN.with_borrow_mut(|given| std::mem::take(&mut given.asked))
}

const TEXT: &str = "
    hidden(x: Tensor([n], float32, device=cuda), b: int64) -> None
        = { launch cubin.\"hidden\"(x.data, int32(n), scratch(b * 4, 64), null) grid(1) block(1); };
    both(x: Tensor([n], float32, device=cuda), b: int64) -> None
        = { launch cubin.\"hidden\"(x.data, int32(n), scratch(b, 1), scratch(b + 1, 1024)) grid(1) block(1); };
    refused(x: Tensor([n], float32, device=cuda), b: int64) -> None
        = { launch cubin.\"hidden\"(x.data, int32(n), scratch(b, 1), scratch(b, 16)) grid(1) block(1025); };
    narrow(x: Tensor([n], float32, device=cuda), b: int64) -> None
        = { launch cubin.\"hidden\"(x.data, int32(b * 10000000000), scratch(b, 1), null) grid(1) block(1); };
    turns(x: Tensor([n], float32, device=cuda), b: int64) -> None
        = { for i in 1..3 { launch cubin.\"hidden\"(x.data, int32(i), scratch(b * i, 16), null) grid(1) block(1); } };
    beside(x: Tensor([n], float32, device=cuda), b: int64) -> None
        = { let t = alloc Tensor([b], float32) on x;
            launch cubin.\"hidden\"(t.data, int32(n), scratch(8, 16), x.data) grid(1) block(1) on t; };
";

/// A call, its requests, and the launches or the error.
type Row = (&'static str, i64, i32, &'static [&'static str], &'static str);

const ROWS: &[Row] = &[
    (
        "hidden",
        2,
        0,
        &["8 on 2:0"],
        "\"hidden\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 03000000, 0000010000000000, 0000000000000000]",
    ),
    (
        "hidden",
        5,
        1,
        &["20 on 2:1"],
        "\"hidden\" grid=1,1,1 block=1,1,1) -> device=1 context=primary1 \
         parameters=[0010000000000000, 03000000, 0000010000000000, 0000000000000000]",
    ),
    (
        "both",
        5,
        0,
        &["5 on 2:0", "6 on 2:0"],
        "\"hidden\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 03000000, 0000010000000000, 0000020000000000]",
    ),
    (
        "refused",
        5,
        0,
        &["5 on 2:0", "5 on 2:0"],
        "\"hidden\" grid=1,1,1 block=1025,1,1) = 1 CUDA_ERROR_INVALID_VALUE (the block is 1025,1,1)\n\
         ValueError: Out of range block.x of hidden …, expected 1 to 1024 on cuda:0 but got 1025",
    ),
    (
        "narrow",
        5,
        0,
        &["5 on 2:0"],
        "ValueError: Out of range int32(b * 10000000000) …, expected int32 but got 50000000000",
    ),
    (
        "turns",
        5,
        0,
        &["5 on 2:0", "10 on 2:0"],
        "\"hidden\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 01000000, 0000010000000000, 0000000000000000]\n\
         \"hidden\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 02000000, 0000010000000000, 0000000000000000]",
    ),
    (
        "beside",
        5,
        1,
        &["5 on 2:1", "8 on 2:1"],
        "\"hidden\" grid=1,1,1 block=1,1,1) -> device=1 context=primary1 \
         parameters=[0000010000000000, 03000000, 0000020000000000, 0010000000000000]",
    ),
    (
        "hidden",
        -1,
        0,
        &[],
        "ValueError: Mismatched scratch.shape[0] …, expected a non-negative extent but got -4",
    ),
    ("both", 666, 0, &[], "MemoryError: none is left"),
    ("both", 665, 0, &["665 on 2:0"], "MemoryError: none is left"),
];

#[test]
fn memory_is_that_of_the_environment() {
    let stand_in = fake_cuda::exclusive();
    let (library, driver) = (library(TEXT), Driver(&stand_in));
    let streams = [0, 1].map(|device| driver.create_stream(device));
    for session in sessions(&library) {
        (0..).zip(streams).for_each(|(device, stream)| session.set_stream(device, stream));
        set_allocator(&session, true);
        for (function, bytes, device, asked, expected) in ROWS {
            let place = format!("{}: {function} {bytes}", session.name);
            let found = call(&session, &stand_in, (function, *bytes, *device));
            assert_same(found.trim_end(), &error_of(&library, function, expected), &place);
            assert_eq!(
                (take_asked(), live()),
                (asked.iter().map(|&a| a.to_owned()).collect(), 0),
                "{place}"
            );
        }
        odd(&session, &stand_in);
        set_allocator(&session, false);
        let found = call(&session, &stand_in, ("hidden", 1, 1));
        let missing = "RuntimeError: Missing allocator of cuda:1 tensors for scratch …, pass a PyTorch tensor or call \
                       TVMFFIEnvSetDLPackManagedTensorAllocator before";
        assert_same(found.trim_end(), &error_of(&library, "hidden", missing), &session.name);
    }
    (0..).zip(streams).for_each(|(device, stream)| driver.destroy_stream(device, stream));
}

fn call(
    session: &Session,
    stand_in: &FakeCuda,
    (function, bytes, device): (&str, i64, i32),
) -> String {
    let x = Fake::new(0x1000, &[3]).on(cuda(device));
    stand_in.reset();
    let ended = session.call(function, &[x.arg(), int(bytes)]);
    let mut found = brief(&take_launches(stand_in));
    found += &ended.err().map(|error| format!("{error}\n")).unwrap_or_default();
    found
}

/// An allocator that ignores the requested alignment.
fn odd(session: &Session, stand_in: &FakeCuda) {
    GIVEN.with_borrow_mut(|given| given.is_odd = true);
    let found = call(session, stand_in, ("hidden", 1, 0));
    GIVEN.with_borrow_mut(|given| given.is_odd = false);
    let text = "RuntimeError: Mismatched scratch …, expected an allocator of compact tensors at multiples of 64 bytes";
    let expected = error_of(&library(TEXT), "hidden", text);
    assert_same(found.trim_end(), &expected, &session.name);
    assert_eq!((take_asked().len(), live()), (1, 0), "{}", session.name);
}
