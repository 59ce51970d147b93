//! Descriptors in which one word is wrong: what reads them raises an error all the same, and reads nothing else.

use codegen::ir::{self, Builder, Linkage, Signature, SymbolKind, Type};
use codegen::{Library, Options, Routines};
use jit::abi::Any;
use jit::{HostFunction, Jit};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::frame::Frame;

use crate::guarded::Guarded;

/// What a word becomes.
const DAMAGES: [fn(u32) -> u32; 7] = [
    |word| word ^ u32::MAX,
    |word| word.wrapping_add(1),
    |word| word.wrapping_sub(1),
    |word| word ^ 1 << 31,
    |word| word ^ 1 << 12,
    |word| word << 8,
    |_| 99,
];

/// A declaration, and arguments with a fault.
const CALLS: [(&str, &str); 18] = [
    (
        "f(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k();",
        "(float32[2], float32[3])",
    ),
    ("f(x: Tensor([2, n * 2 + 1], float32, align=64)) -> None = k();", "(float32[2, 4])"),
    ("f(x: Tensor([n, m], int8|bool, strides=[s, 1])) -> None where s > 9 = k();", "(int8[2, 3])"),
    (
        "f(x: Tensor([...], float32, device=any), i: int8) -> None where x.shape[1] / i > 2 = k();",
        "(float32[2], 3)",
    ),
    ("f(a: int64, b: int64) -> None where a % b == 1, b != 0 = k(a / b, int8(a));", "(7, 0)"),
    ("f(a: int64, b: int64) -> None = k(a / b, int8(a));", "(700, 1)"),
    (
        "f(h: float16, g: float32, p: ptr) -> None where h * 2.0 < g, p != null = k();",
        "(2, 1, ptr(0))",
    ),
    (
        "f(t: Tuple[int64, Tensor([n], float32)], n: int64) -> None = k();",
        "(array(1, float32[3]), 2)",
    ),
    (
        "f(xs: Array[Optional[Tensor([n, 2], float32)]]) -> None = k();",
        "(array(float32[3, 2], none, float32[2, 2]))",
    ),
    ("f(u: Union[int8, str, Tensor([2], float32)]) -> None = k();", "(float32[3])"),
    ("f(m: Map[str, Array[int8]]) -> None = k();", "(map(\"a\": array(1, 300)))"),
    (
        "f(s: Shape([n, 4]), d: Device) -> None where d.device_id == n = k();",
        "(array(3, 4), \"cuda:1\")",
    ),
    ("f(l: Literal[\"relu\", \"gelu\"], i: Literal[1, 2]) -> None = k();", "(\"gelu\", 3)"),
    (
        "f(x: Optional[Tensor([n], float32)], s: str) -> None where s.size > 3, s != \"abc\", x.is_some == 1 = k();",
        "(none, \"abc\")",
    ),
    (
        "f(o: Object[\"test.Thing\"], t: dtype) -> None where t == \"int8\" = k();",
        "(object(test.Thing), \"int16\")",
    ),
    (
        "f(a: Shape, b: bytes, *rest: Any) -> None where a[1] > 2, rest.size > 1 = k();",
        "(shape(1, 2), \"a\", 1)",
    ),
    (
        "f(a: uint64, l: Literal[1, \"x\"]) -> None where a > 9223372036854775808 = k();",
        "(18446744073709551615, -9223372036854775809)",
    ),
    (
        "f(a: uint64, p: ptr) -> None where a * 0.5 > 1.0, a < 18446744073709551615 = k(int8(a));",
        "(18446744073709551614, 9223372036854775808)",
    ),
];

/// A function of the FFI that hands its handle, the descriptor, to a routine.
fn probe(
    routine: &str,
    params: &[Type],
    call: impl FnOnce(&mut Builder<'_>, ir::Symbol),
) -> HostFunction {
    let mut module = ir::Module::default();
    let kind = SymbolKind::Function(Signature::new(params, Some(Type::I32)));
    let routine = module.declare(routine, Linkage::Import, kind);
    let safe_call = Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32));
    let mut b = Builder::function(&mut module, "__tvm_ffi_probe", Linkage::Export, safe_call);
    call(&mut b, routine);
    let function = b.finish();
    module.functions.push(function);
    ir::verify(&module).unwrap();
    let jit = Jit::with_runtime(ffi::installed()).unwrap().closure("probe");
    // SAFETY: the routine is what lowering calls.
    let compiled = unsafe { jit.compile_ir(&module) }.unwrap_or_else(|error| panic!("{error}"));
    compiled.function("probe").unwrap()
}

/// Explains failures.
fn explain() -> HostFunction {
    let params = [Type::Ptr, Type::Ptr, Type::I32, Type::Ptr];
    probe("tvm_ffi_codegen.explain_large", &params, |b, routine| {
        let null = b.null();
        let args = [null, b.param(1), b.param(2), b.param(0)];
        let status = b.call(routine, &args);
        b.ret(status);
    })
}

/// Explains the first argument as a value that must be what the part of the descriptor says whose offset is the number
/// of arguments.
fn explain_received() -> HostFunction {
    let params = [Type::Ptr, Type::I64, Type::Ptr, Type::Ptr, Type::I64];
    probe("tvm_ffi_codegen.explain_received_large", &params, |b, routine| {
        let section = b.convert(ir::Convert::Zext, b.param(2), Type::I64);
        let (null, zero) = (b.null(), b.i64(0));
        let args = [b.param(0), section, b.param(1), null, zero];
        let status = b.call(routine, &args);
        b.ret(status);
    })
}

/// Fails at the site that the number of arguments is the offset of.
fn fail_at() -> HostFunction {
    probe("tvm_ffi_codegen.fail_at", &[Type::Ptr; 3], |b, routine| {
        let (descriptor, count) = (b.param(0), b.param(2));
        let offset = b.convert(ir::Convert::Zext, count, Type::I64);
        let site = b.ptr_add(descriptor, offset);
        let args = [descriptor, site, b.param(1)];
        let status = b.call(routine, &args);
        b.ret(status);
    })
}

fn lowered(text: &str) -> ir::Module {
    let mut library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
    let options = Options { routines: Routines::Shared, metadata: false, ..Options::default() };
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}"));
    codegen::lower(&resolved, &options)
}

/// The words of a function's descriptor.
fn descriptor(text: &str) -> Vec<u32> {
    let module = lowered(text);
    let is_descriptor = |data: &&ir::Data| module.name(data.symbol).contains(".descriptor.");
    let data = module.data.iter().find(is_descriptor).expect("every function has one");
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
    data.bytes.chunks_exact(4).map(word).collect()
}

/// Calls a probe with a descriptor that ends where memory does; what it raises.
fn raised(
    probe: &HostFunction,
    words: &[u32],
    memory: &Guarded,
    args: *const Any,
    count: i32,
) -> Option<String> {
    let at = memory.last(4 * words.len()).cast::<u32>();
    let mut result = Any::NONE;
    // SAFETY: there is room for the words; the routines find out what is wrong with them, and the arguments
    // are valid.
    let status = unsafe {
        std::ptr::copy_nonoverlapping(words.as_ptr(), at, words.len());
        probe.call_raw(at.cast(), args, count, &mut result)
    };
    let error = Ffi::new(ffi::installed()).take_error();
    assert_eq!(status == -1, error.is_some(), "status {status}, {error:?}");
    error.map(|(kind, message)| format!("{kind}: {message}"))
}

/// Every damage of a descriptor.
fn damages(words: &[u32]) -> impl Iterator<Item = Vec<u32>> {
    let all = (0..words.len()).flat_map(|at| DAMAGES.iter().map(move |change| (at, change)));
    all.map(|(at, change)| {
        let mut damaged = words.to_vec();
        damaged[at] = change(damaged[at]);
        damaged
    })
}

/// How many errors say that a code is unknown, that the descriptor is damaged, and something else.
fn count(errors: impl Iterator<Item = String>) -> [usize; 3] {
    errors.fold([0; 3], |mut counts, error| {
        let kind = ["InternalError: Unknown code", "InternalError: Damaged descriptor"];
        let kind = kind.iter().position(|kind| error.starts_with(kind));
        counts[kind.unwrap_or(2)] += 1;
        counts
    })
}

/// A check has failed, so an error is raised whatever the descriptor says.
#[test]
fn damaged_descriptors_still_explain() {
    let (explain, memory) = (explain(), Guarded::new(1));
    let mut counts = [0; 3];
    for (text, arguments) in CALLS {
        let (arguments, _) = parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
        let frame =
            Frame::new(&arguments, &Ffi::new(ffi::installed())).expect("the runtime has all");
        let call = |words: &[u32]| {
            let error = raised(&explain, words, &memory, frame.as_ptr(), arguments.len() as i32);
            error.unwrap_or_else(|| panic!("{text}: a failed check is accepted"))
        };
        let words = descriptor(text);
        let sound = call(&words);
        assert!(!sound.contains("InternalError"), "{text}: {sound}");
        let found = count(damages(&words).map(|damaged| call(&damaged)));
        counts.iter_mut().zip(found).for_each(|(all, found)| *all += found);
        assert!(frame.is_balanced(), "{text}");
    }
    println!("unknown, damaged, other: {counts:?}");
    assert!(counts.iter().all(|&count| count > 500), "{counts:?}");
}

/// The offset of a part of a descriptor that its header names.
fn offset(text: &str, part: &str) -> i32 {
    let printed = lowered(text).to_string();
    let (_, offset) = printed.split_once(part).expect("the header names it");
    let digits = offset.split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect("a number")
}

/// A value was refused, so an error is raised whatever the descriptor says.
#[test]
fn damaged_results_are_still_explained() {
    let (explain, memory) = (explain_received(), Guarded::new(1));
    let text = "f() -> Tuple[int64, Optional[str]] = k();";
    let (words, section) = (descriptor(text), offset(text, ", received "));
    let mut counts = [0; 3];
    for argument in ["(array(1, 2))", "(array(1))", "(7)", "(\"text\")"] {
        let (arguments, _) = parse_list(argument).unwrap_or_else(|error| panic!("{error}"));
        let frame =
            Frame::new(&arguments, &Ffi::new(ffi::installed())).expect("the runtime has all");
        let call = |words: &[u32]| {
            let error = raised(&explain, words, &memory, frame.as_ptr(), section);
            error.unwrap_or_else(|| panic!("{argument}: a refused value is accepted"))
        };
        let sound = call(&words);
        assert!(!sound.contains("InternalError"), "{argument}: {sound}");
        let found = count(damages(&words).map(|damaged| call(&damaged)));
        counts.iter_mut().zip(found).for_each(|(all, found)| *all += found);
        assert!(frame.is_balanced(), "{argument}");
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// A site has failed, so an error is raised whatever the descriptor says.
#[test]
fn damaged_sites_still_raise() {
    let (fail, memory) = (fail_at(), Guarded::new(1));
    let text = "f() -> None = try k() errors { 1: ValueError \"one\", _: OSError \"other\" };";
    let (words, offset) = (descriptor(text), offset(text, ", site "));
    // What values are: the status.
    for (status, kind) in [(1, "ValueError: one"), (3, "OSError: other")] {
        let value = Any::int(abi_spec::TypeIndex(status), 0);
        let call = |words: &[u32]| {
            let error = raised(&fail, words, &memory, &value, offset);
            error.unwrap_or_else(|| panic!("a failure is accepted"))
        };
        assert!(call(&words).starts_with(kind), "{}", call(&words));
        let counts = count(damages(&words).map(|damaged| call(&damaged)));
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    }
}

/// What only launches say, at a site that may be another's: whatever the number, an error is raised.
#[test]
fn damaged_sites_of_launches_still_raise() {
    let (fail, memory) = (fail_at(), Guarded::new(1));
    let text = "image i; f(x: Tensor([n], float32, device=cuda)) -> None \
                = { launch i.\"k\"(x.data) grid(1) block(1); };";
    let (words, at) = (descriptor(text), offset(text, ", site ") as usize / 4);
    let launch = offset(text, "site Launch next 0, complaint ") as u32;
    let site = words[at..].iter().position(|&word| word == launch).expect("it is in the site");
    let values = [Any::NONE; 16];
    let call = |complaint: u32| {
        let mut words = words.clone();
        words[at + site] = complaint;
        raised(&fail, &words, &memory, values.as_ptr(), 4 * at as i32).expect("it has failed")
    };
    let said = call(launch);
    assert!(said.starts_with("RuntimeError: Failed  of image  when calling: `f("), "{said}");
    let counts = count((launch - 5..launch + 100).map(call));
    assert_eq!(counts, [89, 0, 16]);
}
