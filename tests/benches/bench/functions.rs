//! Functions of peers in this process, and their arguments.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicU64;

use abi_spec::TypeIndex;
use abi_spec::layout::OBJECT;
use jit::abi::{Any, ByteArray, DLTensor, Object, SafeCall};
use jit::{Compiled, DeviceType};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::frame::Frame;

use crate::cases::{Call, Case, PREPARED, cases};
use crate::ours;
use crate::peers::{Kernels, Peer, open};

/// Name of the peer whose functions the JIT compiles.
pub(crate) const JIT: &str = "JIT";

/// Arguments of many calls. Only one value can exist.
#[derive(Debug)]
pub(crate) struct Arguments {
    frame: Frame,
    ranges: Vec<Range<usize>>,
}

impl Arguments {
    pub(crate) fn new(calls: &[Call], ffi: &Ffi) -> Arguments {
        let (mut all, mut ranges) = (Vec::new(), Vec::new());
        for call in calls {
            let (mut list, rest) = parse_list(&call.arguments).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(rest, "", "{}", call.arguments);
            ranges.push(all.len()..all.len() + list.len());
            all.append(&mut list);
        }
        let frame = Frame::new(&all, ffi).expect("the runtime has all that is needed");
        Arguments { frame, ranges }
    }

    pub(crate) fn of(&self, call: usize) -> &[Any] {
        &self.frame.args[self.ranges[call].clone()]
    }
}

/// Functions of a peer, by case.
pub(crate) struct Functions {
    pub(crate) peer: String,
    pub(crate) by_case: BTreeMap<&'static str, Function>,
    /// Compiled code, kept alive.
    _compiled: Vec<Compiled>,
}

/// A function by its address and as an object of the runtime.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) direct: SafeCall,
    /// The first argument of `direct`.
    pub(crate) context: *mut c_void,
    pub(crate) object: *mut Object,
}

impl Function {
    /// Makes the function of a case from the function of its declaration.
    fn new(case: &Case, direct: SafeCall, ffi: &Ffi) -> Function {
        if case.is_prepared {
            return prepared(direct, ffi);
        }
        Function { direct, context: ptr::null_mut(), object: function_object(ffi, direct) }
    }
}

impl Functions {
    /// Compiles our functions in the JIT.
    pub(crate) fn jit(kernels: &Kernels, ffi: &Ffi) -> Functions {
        let (mut by_case, mut compiled) = (BTreeMap::new(), Vec::new());
        for case in cases() {
            let code = ours::compile(&case.declaration, kernels);
            let direct = code.function(case.name).expect("it is declared").as_ptr();
            by_case.insert(case.name, Function::new(&case, direct, ffi));
            compiled.push(code);
        }
        Functions { peer: JIT.to_owned(), by_case, _compiled: compiled }
    }

    /// Loads the functions of a peer's libraries.
    pub(crate) fn load(peer: &Peer, ffi: &Ffi) -> Result<Functions, String> {
        for path in peer.needs() {
            open(&path, true)?;
        }
        let mut by_case = BTreeMap::new();
        for case in cases() {
            if let Some(path) = peer.library(case.name) {
                by_case.insert(case.name, load(&path, &case, ffi)?);
            }
        }
        Ok(Functions { peer: peer.name.clone(), by_case, _compiled: Vec::new() })
    }
}

fn load(path: &Path, case: &Case, ffi: &Ffi) -> Result<Function, String> {
    let library = open(path, false)?;
    // SAFETY: peers export safe calls under this name.
    let symbol = unsafe { library.get::<SafeCall>(&format!("__tvm_ffi_{}", case.name)) };
    let direct = *symbol.map_err(|error| error.to_string())?;
    Ok(Function::new(case, direct, ffi))
}

/// A tensor on a GPU, which lives forever.
#[repr(C)]
struct Matrix {
    header: Object,
    view: DLTensor,
}

/// Makes a compact matrix of `float32`.
fn matrix([rows, columns]: [i64; 2]) -> Any {
    let dims = Box::leak(Box::new([rows, columns, columns, 1]));
    let view = DLTensor {
        data: ptr::without_provenance_mut(4096),
        device_type: DeviceType::CUDA.0,
        device_id: 0,
        ndim: 2,
        code: 2,
        bits: 32,
        lanes: 1,
        shape: dims.as_mut_ptr(),
        strides: dims[2..].as_mut_ptr(),
        byte_offset: 0,
    };
    let (references, ty) = (AtomicU64::new(1 << 32 | 1), TypeIndex::TENSOR);
    let header =
        Object { combined_ref_count: references, type_index: ty.0, padding: 0, deleter: None };
    Any::ptr(ty, ptr::from_mut(Box::leak(Box::new(Matrix { header, view }))).cast())
}

/// Calls a function that prepares a launch of three matrices; returns the function that it returns, which is never
/// freed.
fn prepared(prepare: SafeCall, ffi: &Ffi) -> Function {
    let (args, mut result) = (PREPARED.map(matrix), Any::NONE);
    // SAFETY: the arguments are valid, and the result is a place for one.
    let status = unsafe { prepare(ptr::null_mut(), args.as_ptr(), args.len() as i32, &mut result) };
    assert_eq!(status, 0, "{:?}", ffi.take_error());
    let object: *mut Object = result.pointer().cast();
    // SAFETY: the cell of a function object begins with its safe call, which takes the object.
    let direct = unsafe { *object.add(1).cast::<SafeCall>() };
    Function { direct, context: object.cast(), object }
}

/// The function that is called by name: makes a number from two tensors.
unsafe extern "C" fn number(_: *mut c_void, args: *const Any, _: i32, result: *mut Any) -> i32 {
    // SAFETY: callers pass two tensors, and a place for the result.
    unsafe {
        let data = |index: usize| (*tensor(&*args.add(index))).data as i64;
        *result = Any::int(TypeIndex::INT, data(0) ^ data(1));
    }
    0
}

fn tensor(arg: &Any) -> *const DLTensor {
    let at = if arg.ty() == TypeIndex::TENSOR { OBJECT.size as usize } else { 0 };
    // SAFETY: a tensor is behind the header of its object.
    unsafe { arg.pointer().byte_add(at).cast() }
}

/// Registers the functions that cases call by name.
pub(crate) fn register(ffi: &Ffi) {
    type Set = unsafe extern "C" fn(*const ByteArray, *mut Object, i32) -> i32;
    let name = ByteArray::new(b"bench.number");
    // SAFETY: the type is that of `c_api.h`.
    let status = unsafe {
        let set = ffi.function::<Set>("TVMFFIFunctionSetGlobal").expect("every release has it");
        set(&name, function_object(ffi, number), 1)
    };
    assert_eq!(status, 0, "{:?}", ffi.take_error());
}

/// Makes a function object, which is never freed.
fn function_object(ffi: &Ffi, function: SafeCall) -> *mut Object {
    type Free = unsafe extern "C" fn(*mut c_void);
    type Create =
        unsafe extern "C" fn(*mut c_void, SafeCall, Option<Free>, *mut *mut Object) -> i32;
    let mut object = ptr::null_mut();
    // SAFETY: the type is that of `c_api.h`; the function needs no context.
    let status = unsafe {
        let create = ffi.function::<Create>("TVMFFIFunctionCreate").expect("every release has it");
        create(ptr::null_mut(), function, None, &mut object)
    };
    assert_eq!(status, 0, "{:?}", ffi.take_error());
    object
}

/// Functions of the runtime that the measured loops call.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) call: unsafe extern "C" fn(*mut Object, *const Any, i32, *mut Any) -> i32,
    pub(crate) take_error: unsafe extern "C" fn(*mut *mut Object),
    pub(crate) release: unsafe extern "C" fn(*mut Object) -> i32,
}

impl Calls {
    pub(crate) fn new() -> Calls {
        let ffi = Ffi::new(ffi::installed());
        // SAFETY: the types are those of `c_api.h`.
        unsafe {
            Calls {
                call: ffi.function("TVMFFIFunctionCall").expect("every release has it"),
                take_error: ffi
                    .function("TVMFFIErrorMoveFromRaised")
                    .expect("every release has it"),
                release: ffi.function("TVMFFIObjectDecRef").expect("every release has it"),
            }
        }
    }
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Success, with the number that the kernel makes of its arguments, if the function returns it.
    Result(Option<i64>),
    /// An error of this kind.
    Raises(String),
    /// A violation of the ABI.
    Broken(String),
}

/// Makes a call by symbol.
pub(crate) fn answer(function: Function, args: &[Any], ffi: &Ffi) -> Answer {
    let (mut result, count) = (Any::NONE, args.len() as i32);
    // SAFETY: the arguments are valid, and the result is a place for one.
    let status = unsafe { (function.direct)(function.context, args.as_ptr(), count, &mut result) };
    match (status, ffi.take_error()) {
        (0, None) => Answer::Result((result.ty() == TypeIndex::INT).then(|| result.bits())),
        (-1, Some((kind, _))) => Answer::Raises(kind),
        (status, error) => Answer::Broken(format!("status {status}, error {error:?}")),
    }
}
