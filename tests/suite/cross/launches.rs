//! Launches for the stand-in of the driver: random ones, at once and prepared, and those of what is never random.

use codegen::{Function, Library};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::fake_cuda::{FATBIN, PTX};
use tvm_ffi_codegen_tests::submits::{self, Pair, Plan};

use super::express;

/// Random pairs, each with some lists of arguments.
const PAIRS: usize = 40;
const PLAN: Plan = Plan { seed: 28, calls: 0, each: 12 };

/// Name of the function that loads all images.
const READY: &str = "load_all_images";

const DECLARATIONS: &str = r#"
    image fatbin;
    image ptx;
    of_fatbin(x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda), a: float32) -> None
        = { launch fatbin."axpy_kernel"(x.data, y.data, int32(n), a) grid(ceildiv(n, 64), 2, 3) block(64, 1, 2); };
    of_ptx(x: Tensor([n], float32, device=cuda), a: int8, b: uint16, h: float16, f: float32, d: float64, p: ptr) -> None
        = { launch ptx."widths"(a, b, int32(n), p, f, d, struct(struct(a, a, h), n > 2, h > 0.0, b, f), struct(d, struct(p), x.data)) grid(n) block(1) smem(n); };
    asked(x: Tensor([n], float32, device=cuda)) -> int64
        = { return x.device.multiprocessors * 1000 + x.device.attribute(75); };
    waiting(x: Tensor([n], float32, device=cuda), a: Stream, b: Stream) -> None
        = { wait stream(x), b; launch ptx."cluster_kernel"(x.data) grid(n) block(1) stream a; };
    held(x: Tensor([n, 64], bfloat16, device=cuda), s: str, h: float16, f: float32, d: float64, b: bool, i: int8, u: uint64, p: ptr) -> Function
        = {
            let m = tensormap(x, box=[1, 64]);
            let q = tensormap(x, dims=[n, 2, 32], strides=[64, 32, 1], offset=128, box=[1, 1, 32], swizzle="64b");
            let c = tensormap(x, dims=[n, 4, 16], strides=[64, 16, 1], im2col(lower=[-1 - i % 2], upper=[n], channels=16, pixels=n + 1), steps=[1, 2, 1]);
            return function(k: int64, y: Tensor([n, 64], bfloat16, device=cuda)) -> Any where k > 0 {
                launch ptx."tma"(m, y.data) grid(n) block(k);
                launch ptx."tma"(c, x.data) grid(1) block(1);
                launch ptx."tma"(q, x.data) grid(k, n) block(1) cluster(1) priority(int32(k)) pdl;
                launch ptx."widths"(i, h, int32(n), u, f, d, struct(int32(b), int32(k), f), struct(d, u, p)) grid(1) block(1) on y;
                record_text(s.data, s.size);
                return [s, x, k];
            };
        };
"#;

/// Calls of these functions: the number of arguments that are held, if the function prepares, and all arguments.
const CALLS: [(&str, Option<usize>, &str); 14] = [
    ("of_fatbin", None, "(float32[300]{device=cuda}, float32[300]{device=cuda, object}, 0.5)"),
    ("of_fatbin", None, "(float32[0]{device=cuda}, float32[0]{device=cuda}, 0.5)"),
    ("of_fatbin", None, "(float32[3]{device=cuda:1}, float32[3]{device=cuda:1}, 1)"),
    ("of_fatbin", None, "(float32[3]{device=cuda:1}, float32[3]{device=cuda}, 1)"),
    ("of_ptx", None, "(float32[3]{device=cuda}, -2, 65535, 1.5, 0.25, -0.125, ptr(291))"),
    ("of_ptx", None, "(float32[1]{device=cuda:1}, 127, 0, -1.5, NaN, inf, ptr(0))"),
    ("asked", None, "(float32[3]{device=cuda})"),
    ("asked", None, "(float32[3]{device=cuda:2})"),
    ("waiting", None, "(float32[3]{device=cuda}, ptr(1), ptr(2))"),
    ("waiting", None, "(float32[3]{device=cuda:1}, ptr(0), ptr(1))"),
    (
        "held",
        Some(9),
        "(bfloat16[16, 64]{device=cuda, object}, \"a text of the heap\", 1.5, 0.25, -2.5, true, -7, 18446744073709551615, ptr(18), 3, bfloat16[16, 64]{device=cuda})",
    ),
    (
        "held",
        Some(9),
        "(bfloat16[16, 64]{device=cuda:1, object}, \"text\", 1.5, 0.25, -2.5, false, 100, 1, ptr(0), 0, bfloat16[16, 64]{device=cuda:1})",
    ),
    (
        "held",
        Some(9),
        "(bfloat16[16, 64]{device=cuda}, \"text\", 1.5, 0.25, -2.5, false, 100, 1, ptr(0), 1, bfloat16[16, 64]{device=cuda})",
    ),
    (READY, None, "(1)"),
];

/// Adds the declarations to a library, and returns the calls.
pub(super) fn add(library: &mut Library) -> Vec<String> {
    let pairs = (0..).map(|at| Pair::new(&PLAN, at)).filter(is_alike_everywhere);
    let pairs: Vec<Pair> = pairs.take(PAIRS).collect();
    let mut fixed: Library = DECLARATIONS.parse().unwrap_or_else(|error| panic!("{error}"));
    for (image, bytes) in fixed.images.iter_mut().zip([FATBIN, PTX.as_bytes()]) {
        image.bytes = Some(bytes.to_vec());
    }
    for more in [submits::library(&pairs), fixed] {
        library.functions.extend(more.functions);
        library.images.extend(more.images);
    }
    *library = library.clone().with_prepare(READY);
    let fixed = CALLS.iter().map(|(name, held, list)| {
        let (list, _) = parse_list(list).unwrap_or_else(|error| panic!("{list}: {error}"));
        written(name, *held, list.len(), &express::arguments(&list).expect("hosts can make them"))
    });
    let streams = "stream 0 own\nstream 1 own\n".to_owned();
    let fixed =
        fixed.enumerate().map(|(at, call)| if at == 0 { streams.clone() + &call } else { call });
    pairs.iter().flat_map(random).chain(fixed).collect()
}

/// Returns true for a pair whose launches show no address of a device variable, which is another one on each machine.
/// The sizes of variables are found in the same way.
fn is_alike_everywhere(pair: &Pair) -> bool {
    let texts = pair.library.functions.iter().map(Function::to_string);
    texts
        .map(|text| text.replace(".global(\"state\").size", ""))
        .all(|text| !text.contains(".global("))
}

/// Writes the calls of a pair: each list is launched at once and then prepared and submitted, on the same streams.
fn random(pair: &Pair) -> Vec<String> {
    let [at_once, prepare] = [0, 1].map(|at| &*pair.library.functions[at].signature.name);
    let lists = pair.lists.iter().enumerate();
    let lists = lists.filter_map(|(at, list)| Some((at, list.len(), express::arguments(list)?)));
    lists
        .flat_map(|(at, count, arguments)| {
            let mut streams = String::new();
            for (device, stream) in pair.streams(at, 0).into_iter().enumerate() {
                let stream = stream.map_or("own".to_owned(), |stream| stream.to_string());
                streams += &format!("stream {device} {stream}\n");
            }
            let held = pair.held.min(count);
            [
                streams + &written(at_once, None, count, &arguments),
                written(prepare, Some(held), count, &arguments),
            ]
        })
        .collect()
}

/// Writes a call, or a function's preparation and its call.
fn written(name: &str, held: Option<usize>, count: usize, arguments: &str) -> String {
    match held {
        None => format!("call {count} {count} {name}\n{arguments}"),
        Some(held) => format!("submit {held} {count} {name}\n{arguments}"),
    }
}
