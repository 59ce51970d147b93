//! Addresses that a call has returned, which other calls refuse unless they are vouched for; tensors that a function
//! only reads, also behind many parameters.

use crate::ir::{installed, runtimes};
use std::sync::atomic::AtomicU64;
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::abi::Object;
use tvm_ffi_codegen_jit::{Arg, ArrayObject, CallError, Jit, ObjectRef, Returned, TypeIndex};

const REFUSED: &str = "is or holds an address that a call has returned, and nobody says that what was there still is: \
                       see `Arg::vouched`";

extern "C" fn fill(data: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: whoever passed the address vouches for it.
        unsafe { *data.add(i) = 7.0 };
    }
}

fn jit(library: &str, jit: Jit) -> tvm_ffi_codegen_jit::Compiled {
    let library: Library = library.parse().unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: the tests pass addresses of as many elements.
    unsafe { jit.kernel("fill", fill as extern "C" fn(_, _)) }.compile(&library).unwrap()
}

fn refused(returned: Result<Returned, CallError>, index: usize) {
    let error = returned.expect_err("it holds an address");
    assert_eq!(
        (&*error.kind, error.message),
        ("TypeError", format!("argument #{index} {REFUSED}"))
    );
}

#[test]
fn addresses_that_a_call_has_returned_are_not_followed() {
    let text = "address(x: Tensor([n], float32)) -> ptr = { return x.data; };
                nothing() -> ptr = { return null; };
                fill(n: int64, p: ptr) -> None = fill(p, n);";
    for runtime in runtimes() {
        let compiled = jit(text, Jit::with_runtime(runtime).unwrap());
        let [address, fill] = ["address", "fill"].map(|name| compiled.function(name).unwrap());
        let mut x = vec![0.0_f32; 3];
        let found = address.call((&mut x,)).unwrap();
        refused(fill.call((3, &found)), 1);
        refused(fill.call([3.into(), Arg::from(&found)]), 1);
        // SAFETY: the memory is `x`, which is still there.
        let vouched = unsafe { Arg::from(&found).vouched() };
        fill.call((3, vouched)).unwrap();
        assert_eq!(x, [7.0; 3]);
        // NULL is no address.
        let nothing = compiled.function("nothing").unwrap().call(()).unwrap();
        fill.call((0, &nothing)).unwrap();
    }
}

/// A `ptr` takes a big integer, since Python writes some addresses so.
#[test]
fn big_integers_that_a_call_has_returned_are_no_addresses() {
    let text = "same(a: Any) -> Any = { return a; }; fill(n: int64, p: ptr) -> None = fill(p, n);";
    for runtime in runtimes() {
        let compiled = jit(text, Jit::with_runtime(runtime).unwrap());
        let [same, fill] = ["same", "fill"].map(|name| compiled.function(name).unwrap());
        let mut big = Object {
            combined_ref_count: AtomicU64::new(1000 | 1 << 32),
            type_index: TypeIndex::BIG_INT.0,
            padding: 0,
            deleter: None,
        };
        // SAFETY: the object outlives the references, of which some are left.
        let big = unsafe { ObjectRef::from_raw(&raw mut big, runtime) }.unwrap();
        refused(same.call((&big,)), 0);
        // SAFETY: nobody follows it.
        let returned = same.call((unsafe { Arg::from(&big).vouched() },)).unwrap();
        refused(fill.call((0, &returned)), 1);
    }
}

#[test]
fn addresses_in_arrays_are_not_followed_either() {
    let Some(runtime) = installed() else { return };
    let text =
        "pair(x: Tensor([n], float32)) -> Tuple[Array[ptr], int64] = { return [[x.data], n]; };
                fill(t: Tuple[Array[ptr], int64]) -> None = { first(t[0], t[1]); };";
    let compiled = jit(text, unsafe_first(Jit::with_runtime(runtime).unwrap()));
    let [pair, fill] = ["pair", "fill"].map(|name| compiled.function(name).unwrap());
    let mut x = vec![0.0_f32; 3];
    let found = pair.call((&mut x,)).unwrap();
    refused(fill.call((&found,)), 0);
    let inner = found.array().unwrap().get(0).unwrap();
    let size = found.array().unwrap().get(1).unwrap();
    assert!(ArrayObject::new((&inner, &size), runtime).is_err());
    refused(fill.call((inner.array().unwrap(),)), 0);
    // SAFETY: the memory is `x`, which is still there.
    fill.call((unsafe { Arg::from(&found).vouched() },)).unwrap();
    assert_eq!(x, [7.0; 3]);
}

/// Gives a kernel that fills the memory at the first address of an array.
fn unsafe_first(jit: Jit) -> Jit {
    extern "C" fn first(array: *const tvm_ffi_codegen_jit::abi::Object, n: i64) {
        let cell = array.wrapping_add(1).cast::<tvm_ffi_codegen_jit::abi::SeqCell>();
        // SAFETY: the first element of the array is an address.
        fill(unsafe { (*(*cell).data).pointer() }.cast(), n);
    }
    // SAFETY: the test passes an array with the address of as many elements.
    unsafe { jit.kernel("first", first as extern "C" fn(_, _)) }
}

#[test]
fn any_parameter_may_be_only_read() {
    const COUNT: usize = 130;
    const READ: [usize; 4] = [63, 64, 65, 129];
    let access = |i| if READ.contains(&i) { ", access=read" } else { "" };
    let param = |i| format!("x{i}: Tensor([n], float32{})", access(i));
    let params: Vec<String> = (0..COUNT).map(param).collect();
    let text = format!("f({}) -> int64 = {{ return n; }};", params.join(", "));
    for runtime in runtimes() {
        let function = jit(&text, Jit::with_runtime(runtime).unwrap()).function("f").unwrap();
        let (shared, mut own) = ([1.0_f32], vec![[1.0_f32]; COUNT]);
        let mut call = |at: usize| {
            let args = own.iter_mut().enumerate();
            let args =
                args.map(|(i, own)| if i == at { Held::Shared(&shared) } else { Held::Own(own) });
            let mut views: Vec<_> = args.map(Held::view).collect();
            let args: Vec<Arg<'_>> = views.iter_mut().map(Arg::from).collect();
            function.call(&args)
        };
        for at in READ {
            assert_eq!(i64::try_from(call(at).unwrap()).unwrap(), 1, "{at}");
        }
        for at in [0, 62, 66, 127, 128] {
            let message = call(at).expect_err("it may be written to").message;
            assert!(
                message.starts_with(&format!("argument #{at} is a tensor that others")),
                "{message}"
            );
        }
    }
}

/// Memory of a tensor, borrowed as shared or as mutable.
enum Held<'a> {
    Shared(&'a [f32; 1]),
    Own(&'a mut [f32; 1]),
}

impl<'a> Held<'a> {
    fn view(self) -> tvm_ffi_codegen_jit::TensorView<'a> {
        match self {
            Held::Shared(data) => tvm_ffi_codegen_jit::TensorView::new(data),
            Held::Own(data) => tvm_ffi_codegen_jit::TensorView::new(data),
        }
    }
}
