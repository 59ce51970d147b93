//! Everything that parses lowers, and what lowers verifies.

use std::collections::HashSet;

use abi_spec::library_bin::{ImportTree, Module, Node, TreeError};
use tvm_ffi_codegen::linker::routines;
use tvm_ffi_codegen::{
    Error, Fingerprint, Library, Loader, Options, Routines, Unchecked, ir, lower,
};

const DECLARATIONS: &[&str] = &[
    "f() -> None = k();",
    "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
    "f(x: Tensor([n, 64], float32, strides=[s, 1], align=16), a: float64) -> None
        where n % 4 == 0, n <= 4096, a > 0.5 = try k(x.data, int32(n), s, a);",
    "f(x: Tensor([...], int8, strides=any, device=any), i: int64) -> int64
        where x.shape[1] / i > 2, x.strides[0] != 1 = k(x, x.shape[0], stream(x), x.ndim, x.device_id);",
    "f(x: Tensor([2 * n + m, m], float16, device=cuda), y: Tensor([m, n], float16, device=cuda),
        z: Tensor([ceildiv(n, m)], bool, device=any)) -> None = k(stream(x), n, m, x.strides[0]);",
    "f(b: bool, i: int8, u: uint16, n: uint64, h: float16, g: bfloat16, s: float32, p: ptr) -> uint64
        where h * 2.0 < g + i, -s >= b, p != null, max(i, u) % n == 0 = k(b, i, u, n, h, g, s, p, float32(h), bool(i));",
    "f(x: Tensor([n, m], float32, strides=[2 * s + t, s]), y: Tensor([t], float32, strides=any)) -> bfloat16
        = k(s, t, n, m);",
    "f(n: int64) -> Optional[Tuple[int64, str, Any]] = try k(n) errors { 1: ValueError \"one\" };",
    "f(x: Tensor([n], float32, device=cuda), m: int64) -> (a: Tensor([n / m], int8, device=cuda), b: Tensor([], bool))
        = try k(a.data, a, b, stream(a), a.shape[0] % m, b.ndim, a.strides[0]);",
    "f(x: Tensor([n], float32, device=any), s: Stream, p: ptr) -> (y: Tensor([n], int8, device=any))
        where x.device.multiprocessors > 1 = {
        let t = alloc Tensor([n], float32) on x;
        for i in 0..t.device.attribute(5) {
            upload t.data (x.data, y.device.multiprocessors, int8(i)) stream s;
            fill y.data, n, i stream stream(t);
            copy p, t.data, n;
            wait s, stream(t);
        }
    };",
    "f(x: Tensor([n, 64], float32, device=cuda), w: Tensor([256], uint8, device=cuda)) -> None
        = { upload w.data (n, tensormap(x, box=[1, 64])); };",
    "f(x: Tensor([n * m], float32), m: int32, y: Tensor([_, n], float32, strides=any)) -> bool = k(n, m);",
];

#[test]
fn lowered_declarations_verify() {
    for text in DECLARATIONS {
        let library: Library = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let module = lower(
            &library.resolve().unwrap_or_else(|e| panic!("{text}: {e}")),
            &Options::default(),
        );
        ir::verify(&module).unwrap();
    }
}

/// A property whose computation branches or calls is computed once for the code that follows, and again in code that
/// does not dominate what follows.
#[test]
fn properties_of_tensors_are_computed_once() {
    let rows = [
        ("x.is_contiguous, x.is_contiguous or n > 0", "k(x)", "is_compact", 1),
        // In the operand that may not be evaluated, in the message of its condition, and after it.
        ("n > 0 or x.numel > 4, x.numel < 9", "k(x, x.numel)", "extents_from", 3),
        ("x.numel > 4, x.numel < 9", "k(x.numel, x.numel + n)", "extents_from", 1),
        // The call is for NULL strides. Each message reads what its check has computed.
        ("x.strides[-2] > 4, x.strides[-2] < n", "k(x, x.strides[-2])", "extents_from", 1),
        ("x.strides[-2] > 4, x.strides[-1] < n", "k(x, x.strides[-2])", "extents_from", 2),
    ];
    for (conditions, call, routine, expected) in rows {
        let text = format!(
            "f(x: Tensor([...], int8, strides=any), n: int64) -> None where {conditions} = {call};"
        );
        let library: Library = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let module = lower(&library.resolve().unwrap(), &Options::default()).to_string();
        let start = module.find("func @__tvm_ffi_f(").expect("it has the function");
        let end = module[start..].find("\n}").expect("the function ends");
        let call = format!("call @tvm_ffi_codegen.{routine}(");
        assert_eq!(module[start..][..end].matches(&call).count(), expected, "{text}");
    }
}

#[test]
fn routines_verify() {
    ir::verify(&routines(Loader::HOST)).unwrap();
}

#[test]
fn a_function_has_as_many_symbols_as_there_may_be() {
    let library = |count: usize| {
        let dims = |range: std::ops::Range<usize>| {
            range.map(|i| format!("n{i}")).collect::<Vec<_>>().join(", ")
        };
        let tensors: Vec<String> = (0..count.div_ceil(32))
            .map(|t| format!("x{t}: Tensor([{}], int8)", dims(32 * t..count.min(32 * t + 32))))
            .collect();
        format!("f({}) -> None = k();", tensors.join(", ")).parse::<Library>()
    };
    ir::verify(&lower(&library(1024).unwrap().resolve().unwrap(), &Options::default())).unwrap();
    let error = library(1025).unwrap_err().to_string();
    assert!(error.contains("f: x32.shape[0]: more than 1024 symbols"), "{error}");
}

/// The kind of a module, `_lib` for the library itself, and what it imports.
type Imported<'a> = (&'static str, &'a [usize]);

/// A library that imports a tree.
fn importing(nodes: &[Imported<'_>]) -> Library {
    let module = |kind: &'static str| match kind {
        "_lib" => Module::Library,
        kind => Module::Custom { kind: kind.into(), bytes: b"bytes"[..].into() },
    };
    let node = |&(kind, children): &Imported<'_>| Node {
        module: module(kind),
        children: children.to_vec(),
    };
    let tree = ImportTree { nodes: nodes.iter().map(node).collect() };
    DECLARATIONS[0].parse::<Library>().unwrap().with_imports(tree)
}

#[test]
fn imports_are_exported_data() {
    const BIN: &str = "export data @__tvm_ffi__library_bin size ";
    const CTX: &str = "weak data @__tvm_ffi__library_ctx writable size 8 align 8 {\n";
    let rows: [(&[Imported<'_>], bool); 4] = [
        (&[("_lib", &[1, 2]), ("a", &[2]), ("b", &[])], true),
        (&[("root", &[1]), ("_lib", &[])], true),
        (&[("_lib", &[])], true),
        (&[("a", &[1]), ("b", &[])], false),
    ];
    for (nodes, has_context) in rows {
        let library = importing(nodes);
        library.validate().unwrap();
        let module = lower(&library.resolve().unwrap(), &Options::default());
        ir::verify(&module).unwrap();
        let blob = module.data.iter().find(|data| module.name(data.symbol).ends_with("_bin"));
        let blob = blob.unwrap();
        assert_eq!(ImportTree::decode(&blob.bytes).as_ref(), Ok(library.imports.as_ref().unwrap()));
        assert!(!blob.writable && !blob.large);
        let text = module.to_string();
        assert!(text.contains(&format!("{BIN}{} align 1 {{\n", blob.bytes.len())), "{text}");
        assert_eq!(text.contains(CTX), has_context, "{text}");
    }
    let plain: Library = DECLARATIONS[0].parse().unwrap();
    let plain = lower(&plain.resolve().unwrap(), &Options::default());
    assert!(!plain.to_string().contains("__tvm_ffi__library"));
}

#[test]
fn imports_that_cannot_be_loaded_are_errors() {
    let rows: [(&[Imported<'_>], TreeError, &str); 3] = [
        (&[], TreeError::Empty, "imports: the import tree has no modules"),
        (&[("_lib", &[0])], TreeError::Cycle { node: 0 }, "imports: module 0 imports itself"),
        (
            &[("_lib", &[1]), ("", &[])],
            TreeError::EmptyKind { node: 1 },
            "imports: the kind of module 1 is empty",
        ),
    ];
    for (nodes, source, message) in rows {
        let library = importing(nodes);
        let error = Error::Imports { source };
        assert_eq!(library.validate(), Err(error.clone().into()));
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn long_data_is_cut_short_in_text() {
    let mut library = importing(&[("_lib", &[1]), ("a", &[])]);
    let tree = library.imports.as_mut().unwrap();
    tree.nodes[1].module = Module::Custom { kind: "a".into(), bytes: vec![b'x'; 1 << 20].into() };
    let size = tree.encoded_len();
    let module = lower(&library.resolve().unwrap(), &Options::default());
    let text = module.to_string();
    assert!(text.contains(&format!("\n    ({} more bytes)\n}}\n", size - 16384)));
    assert!(text.len() < 1 << 19);
}

/// Options that differ in any field have other fingerprints.
#[test]
fn options_are_told_apart() {
    let none = Unchecked::NONE;
    let plain = Options::default;
    let all = [
        plain(),
        Options { routines: Routines::Shared, ..plain() },
        Options { metadata: false, ..plain() },
        Options { unchecked: Unchecked { shape: true, ..none }, ..plain() },
        Options { unchecked: Unchecked { strides: true, ..none }, ..plain() },
        Options { unchecked: Unchecked { device: true, ..none }, ..plain() },
        Options { unchecked: Unchecked { alignment: true, ..none }, ..plain() },
        Options { loader: Loader::Windows, ..plain() },
        Options { in_process: true, ..plain() },
    ];
    let start = Fingerprint::of(b"");
    let prints: HashSet<Fingerprint> =
        all.iter().map(|options| start.with_options(options)).collect();
    assert_eq!((prints.len(), prints.contains(&start)), (all.len(), false));
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}
