//! Parameters of every kind beside those of the C++ export macro, and a function with many tensors.
//!
//! `cargo bench -p tvm-ffi-codegen-tests --bench kinds` prints one line per figure. Needs what `tests/run`
//! installs; the C++ side is compiled at `-O2` and runs in the same process.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use codegen::Library as Declarations;
use driver::{Form, Options};
use jit::abi::{Any, SafeCall};
use jit::{Compiled, Jit};
use libloading::Library;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::ffi::{self, Ffi, config};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// A function that `export_macro.cc` exports, and our declaration of the same.
struct Pair {
    name: &'static str,
    declared: &'static str,
    arguments: &'static str,
}

const PAIRS: [Pair; 13] = [
    Pair {
        name: "tensors",
        declared: "(x: Tensor([_], float32), y: Tensor([_], float32)) -> int64
            = bench_data(x.data, y.data);",
        arguments: "(float32[2]{object}, float32[2]{object})",
    },
    Pair { name: "text", declared: "(s: str) -> int64 = bench_text(s);", arguments: "(\"small\")" },
    Pair {
        name: "text",
        declared: "(s: str) -> int64 = bench_text(s);",
        arguments: "(\"a longer text\")",
    },
    Pair {
        name: "pair",
        declared: "(t: Tuple[Tensor([_], float32), Tensor([_], float32)]) -> int64
            = bench_data(t[0].data, t[1].data);",
        arguments: "(array(float32[2]{object}, float32[2]{object}))",
    },
    Pair { name: "list", declared: LIST, arguments: EIGHT_TENSORS },
    Pair { name: "checked_list", declared: LIST, arguments: EIGHT_TENSORS },
    Pair { name: "either", declared: EITHER, arguments: "(7)" },
    Pair { name: "either", declared: EITHER, arguments: "(\"small\")" },
    Pair { name: "either", declared: EITHER, arguments: "(\"a longer text\")" },
    Pair { name: "either", declared: EITHER, arguments: "(float32[2]{object})" },
    Pair { name: "maybe", declared: MAYBE, arguments: "(float32[2]{object})" },
    Pair { name: "mapping", declared: MAPPING, arguments: EIGHT_ENTRIES },
    Pair { name: "mapping_by_hand", declared: MAPPING, arguments: EIGHT_ENTRIES },
];

const LIST: &str = "(xs: Array[Tensor([n], float32)]) -> int64 = bench_object(xs);";
const EITHER: &str = "(u: Union[int64, str, Tensor([_], float32)]) -> int64 = bench_object(u);";
const MAYBE: &str = "(x: Optional[Tensor([_], float32)]) -> int64 = bench_data(x.data, null);";
const MAPPING: &str = "(m: Map[str, int64]) -> int64 = bench_object(m);";

const EIGHT_TENSORS: &str = "(array(float32[2]{object}, float32[2]{object}, float32[2]{object}, \
    float32[2]{object}, float32[2]{object}, float32[2]{object}, float32[2]{object}, float32[2]{object}))";
const EIGHT_ENTRIES: &str = "(map(\"k0\": 0, \"k1\": 1, \"k2\": 2, \"k3\": 3, \"k4\": 4, \"k5\": 5, \
    \"k6\": 6, \"k7\": 7))";

/// Tensors of the function that has many.
const MANY: usize = 32;

fn main() {
    let exports = exports();
    for pair in PAIRS {
        compare(&exports, &pair);
    }
    many_tensors();
}

fn exports() -> Library {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/export_macro.cc");
    let library = folder.path().join("export_macro.so");
    let mut compile = Command::new("c++");
    compile.args(["-std=c++17", "-O2", "-shared", "-fPIC"]).arg(source);
    compile.arg(format!("-I{}", config("--includedir")));
    compile.arg(format!("-I{}", config("--dlpack-includedir")));
    cc(compile.arg("-o").arg(&library));
    ffi::installed();
    // SAFETY: the library has no initialisers of note.
    unsafe { Library::new(&library) }.unwrap_or_else(|error| panic!("{error}"))
}

/// Our function, with the kernels of the C++ library.
fn compiled(exports: &Library, text: &str) -> Compiled {
    let library: Declarations = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let mut jit = Jit::with_runtime(ffi::installed()).unwrap_or_else(|error| panic!("{error}"));
    for function in &library.functions {
        let kernel = &function.body.symbol;
        // SAFETY: the kernels are what the declarations say, and the library outlives the calls.
        unsafe {
            let address = exports.get::<*const u8>(kernel).unwrap_or_else(|e| panic!("{e}"));
            jit.kernel(kernel, *address);
        }
    }
    jit.compile(&library).unwrap_or_else(|error| panic!("{error}"))
}

/// Nanoseconds per call, of a batch.
fn batch(function: SafeCall, frame: &Frame) -> f64 {
    const CALLS: u32 = 20_000;
    let (start, count) = (Instant::now(), frame.args.len() as i32);
    for _ in 0..CALLS {
        let mut result = Any::NONE;
        // SAFETY: the arguments are valid, and the result is an integer.
        let status = unsafe {
            function(std::ptr::null_mut(), black_box(frame.as_ptr()), count, &mut result)
        };
        assert_eq!(status, 0);
        black_box(result);
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

/// Calls both in turn, and prints the fastest and the median of either.
fn compare(exports: &Library, pair: &Pair) {
    let Pair { name, declared, arguments } = pair;
    let compiled = compiled(exports, &format!("{name}{declared}"));
    let ours = compiled.function(name).expect("just declared").as_ptr();
    // SAFETY: the macro exports functions of this type.
    let theirs = unsafe { exports.get::<SafeCall>(&format!("__tvm_ffi_{name}")) };
    let theirs = *theirs.unwrap_or_else(|error| panic!("{error}"));
    let (list, _) = parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
    let frame = Frame::new(&list, &Ffi::new(ffi::installed())).expect("all can be made");
    let mut batches = [Vec::new(), Vec::new()];
    for _ in 0..100 {
        batches[0].push(batch(ours, &frame));
        batches[1].push(batch(theirs, &frame));
    }
    let [ours, theirs] = batches.map(sorted);
    let line = |what: &str, at: usize| {
        let (a, b) = (ours[at], theirs[at]);
        println!("{name}{arguments}, {what}: {a:.1} ns, macro {b:.1} ns, {:.2}x", a / b);
    };
    line("fastest", 0);
    line("median", 50);
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The declaration of a function with many tensors.
fn many() -> Declarations {
    let list = |entry: fn(usize) -> String| (0..MANY).map(entry).collect::<Vec<_>>().join(", ");
    let params = list(|index| format!("x{index}: Tensor([n, m], float32)"));
    let args = list(|index| format!("x{index}.data"));
    let text = format!("many({params}) -> None = many_kernel({args}, n, m);");
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

extern "C" fn nothing() {}

fn many_tensors() {
    let library = many();
    let text = library.to_string();
    let compile = || {
        let start = Instant::now();
        let library: Declarations = black_box(&text).parse().expect("just printed");
        let mut jit = Jit::with_runtime(ffi::installed()).expect("a supported host");
        // SAFETY: the kernel ignores its arguments.
        unsafe { jit.kernel("many_kernel", nothing as *const u8) };
        let compiled = jit.compile(&library).expect("compiles");
        (start.elapsed(), compiled.function("many").is_some())
    };
    let mut times: Vec<Duration> = (0..60).map(|_| compile().0).collect();
    times.sort();
    println!(
        "{MANY} tensors, text to callable: fastest {:.1?}, median {:.1?}",
        times[0], times[30]
    );
    for backend in BACKENDS {
        let options = Options { backend: (*backend).to_owned(), ..Options::default() };
        let module = driver::lower(&library).expect("valid");
        let object = driver::emit_module(&module, Form::Object, &options).expect("emits");
        let [hot, whole] = size(&object);
        println!("{MANY} tensors, {backend}: {hot} bytes up to the kernel's call, {whole} in all");
    }
}

/// The code of the wrapper up to the call of the kernel, which comes after every check that passes, and the
/// whole of it.
fn size(object: &[u8]) -> [u64; 2] {
    let file = object::File::parse(object).expect("an object");
    let wrapper = file.symbol_by_name("__tvm_ffi_many").expect("exported");
    let text = file.section_by_index(wrapper.section_index().expect("defined")).expect("there");
    let calls_kernel = |target| {
        let RelocationTarget::Symbol(index) = target else { return false };
        file.symbol_by_index(index).is_ok_and(|symbol| symbol.name() == Ok("many_kernel"))
    };
    let mut relocations = text.relocations();
    let call = relocations.find(|(_, relocation)| calls_kernel(relocation.target()));
    [call.expect("the kernel is called").0 - wrapper.address(), wrapper.size()]
}
