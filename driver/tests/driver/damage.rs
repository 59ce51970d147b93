//! Many damaged inputs of `--import-tree` and of `import-triton`. Each is an error or valid.
//!
//! The default takes seconds. `DAMAGED` is the number of inputs of each kind, and `SEED` selects them:
//!
//! ```sh
//! DAMAGED=1000000 cargo test --release -p tvm-ffi-codegen-driver --test driver damage -- --nocapture
//! ```

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use abi_spec::library_bin::ImportTree;
use codegen::Library;
use random::Random;
use tvm_ffi_codegen_driver::imports::{extract, read_tree};
use tvm_ffi_codegen_driver::{Error, Request, triton};

use crate::support::folder;

#[path = "../../../abi-spec/tests/fuzz/random.rs"]
mod random;

/// Default number of inputs of each kind.
const DAMAGED: u64 = 4000;

/// Longest time for one input, on slow machines too.
const LONG: Duration = Duration::from_secs(20);

/// Most bytes of a message, which should quote only a part of the input.
const MESSAGE: usize = 4096;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
}

/// Counts of outcomes.
#[derive(Default)]
struct Ends {
    good: u64,
    refused: u64,
}

/// Makes inputs and reads them. A panic, a long wait or an unreadable message fails with the input.
fn each<I: std::fmt::Debug>(
    what: &str,
    mut make: impl FnMut(&mut Random) -> I,
    mut read: impl FnMut(&mut Random, &I) -> Result<(), Error>,
) {
    let (count, seed) = (number("DAMAGED", DAMAGED), number("SEED", 1));
    let (mut random, mut ends) = (Random::new(seed), Ends::default());
    for at in 0..count {
        let input = make(&mut random);
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| read(&mut random, &input)));
        let result = result.unwrap_or_else(|panic| {
            println!("{what} {at} of seed {seed} panics: {input:?}");
            resume_unwind(panic)
        });
        assert!(start.elapsed() < LONG, "{what} {at} of seed {seed} takes long: {input:?}");
        match result {
            Ok(()) => ends.good += 1,
            Err(error) => {
                ends.refused += 1;
                let text = error.to_string();
                let readable = text.len() <= MESSAGE && !text.trim().is_empty();
                let shown = text.chars().all(|c| c == '\n' || !c.is_control());
                assert!(readable && shown, "{what} {at} of seed {seed}: {text:?} of {input:?}");
            }
        }
    }
    println!(
        "{count} {what}, seed {seed}: {} mean something, {} are refused",
        ends.good, ends.refused
    );
    assert!(ends.good > count / 100 && ends.refused > count / 100, "the damage is one-sided");
}

/// Replacements for parts of an input.
const WORDS: [&str; 44] = [
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    "(",
    ")",
    "<",
    ">",
    ",",
    ":",
    "=",
    "-",
    "#",
    "\n",
    "\0",
    "\u{1b}[2J",
    "\\",
    "\\u0000",
    "\u{feff}",
    "\u{202e}",
    "é",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "0.5",
    "128",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "18446744073709551616",
    "_lib",
    "../",
    "/dev/null",
    "imports",
    "tensordesc<",
    "*fp32",
    "//",
    "cdiv(",
];

/// Changes bytes at a few places.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(24)).min(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let again = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, again);
            }
            3 => {
                let word = random.pick(&WORDS).bytes();
                bytes.splice(at..at, word);
            }
            4 | 5 => {
                // Replaces a whole number or name.
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                let start =
                    bytes[..at].iter().rposition(|byte| !is_part(byte)).map_or(0, |i| i + 1);
                let end = bytes[at..]
                    .iter()
                    .position(|byte| !is_part(byte))
                    .map_or(bytes.len(), |i| at + i);
                let word = random.pick(&WORDS).bytes();
                bytes.splice(start..end, word);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
        }
    }
}

fn damaged(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    damage(random, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

const TREES: [&str; 3] = [
    "[[module]]\nkind = \"router\"\nfile = \"a.bin\"\nimports = [1, 2]\n\n[[module]]\nkind = \"_lib\"\nimports = [2]\n\n\
     [[module]]\nkind = \"weights\"\nfile = \"b.bin\"\n",
    "module = [{ kind = \"_lib\", imports = [1] }, { kind = \"cuda\", file = \"a.bin\" }]\n",
    "[[module]]\nkind = \"_lib\" # the library\n",
];

#[test]
fn damaged_trees_are_errors_or_trees() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.bin"), b"AAA").unwrap();
    fs::write(path("b.bin"), b"BB").unwrap();
    let tree_file = path("tree.toml");
    let make = |random: &mut Random| {
        let mut bytes = random.pick(&TREES).as_bytes().to_vec();
        damage(random, &mut bytes);
        bytes
    };
    each("trees", make, |random, bytes| {
        fs::write(&tree_file, bytes).unwrap();
        let tree = read_tree(&tree_file)?;
        let blob = tree.encode().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ImportTree::decode(&blob).as_ref(), Ok(&tree));
        if random.once_in(16) {
            let parts = path("parts");
            extract(&tree, &parts).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read_tree(&parts.join("tree.toml")).unwrap(), tree);
            fs::remove_dir_all(parts).unwrap();
        }
        Ok(())
    });
}

/// Arguments of `import-triton`.
#[derive(Clone, Debug)]
struct Kernel {
    metadata: String,
    cubin: Vec<u8>,
    signature: String,
    grid: String,
    ttir: String,
}

/// Kernels with their signatures and grids.
const KERNELS: [[&str; 3]; 3] = [
    [
        "add",
        "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32:16, n: i32:16, stride: i32:1 = x.strides[0], BLOCK: tl.constexpr = 1024",
        "(triton.cdiv(n, BLOCK), 1, 1)",
    ],
    [
        "tiles",
        "tiles(x: *fp16[rows, columns]:16, out: *fp16[rows, columns]:16, rows: i32 = rows, columns: i32:16 = columns, BLOCK: 32)",
        "cdiv(rows, BLOCK), (columns + BLOCK - 1) // BLOCK",
    ],
    [
        "scale",
        "x: tensordesc<bf16[32, 32]>[m, k], out: tensordesc<bf16[32, 32]>, factor: fp32, BLOCK: 32",
        "cdiv(m, BLOCK), cdiv(k, BLOCK)",
    ],
];

const TTIR: &str = "module {\n  tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(\"x\"(#loc)), \
                    %n: i32 loc(\"n\"(#loc))) attributes {noinline = false} {\n";

fn kernels() -> Vec<Kernel> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/triton");
    let kernel = |[name, signature, grid]: [&str; 3]| Kernel {
        metadata: fs::read_to_string(fixtures.join(format!("{name}.json"))).expect("a fixture"),
        cubin: fs::read(fixtures.join(format!("{name}.cubin"))).expect("a fixture"),
        signature: signature.to_owned(),
        grid: grid.to_owned(),
        ttir: TTIR.to_owned(),
    };
    KERNELS.map(kernel).into()
}

#[test]
fn damaged_kernels_are_errors_or_declarations() {
    let kernels = kernels();
    let make = |random: &mut Random| {
        let mut kernel = random.pick(&kernels).clone();
        match random.below(6) {
            0 | 1 => kernel.metadata = damaged(random, &kernel.metadata),
            2 => damage(random, &mut kernel.cubin),
            3 => kernel.signature = damaged(random, &kernel.signature),
            4 => kernel.grid = damaged(random, &kernel.grid),
            _ => kernel.ttir = damaged(random, &kernel.ttir),
        }
        kernel
    };
    each("kernels", make, |random, kernel| {
        let Kernel { metadata, cubin, signature, grid, ttir } = kernel;
        let checked = triton::check_specialization(ttir, signature);
        let library = triton::import(metadata, cubin, signature, grid)?;
        checked?;
        let text = library.to_string();
        let mut parsed: Library = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        parsed.images.clone_from(&library.images);
        assert_eq!(parsed, library, "{text}");
        if random.once_in(64) {
            Request::default().emit(&library).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
        Ok(())
    });
}
