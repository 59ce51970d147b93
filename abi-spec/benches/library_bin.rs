//! Benchmark: encoding and decoding an import tree with a module of 1 GiB, beside copying as many bytes.
//!
//! ```sh
//! cargo bench -p tvm-ffi-abi-spec
//! ```
//!
//! Times are the fastest and the median of the runs, which alternate; ratios are of medians. Fresh memory means an
//! allocation of this size: the system maps and clears each page at the first write. Decoding copies no bytes of
//! modules.

#[path = "../tests/fuzz/memory.rs"]
mod memory;

use std::hint::black_box;
use std::time::{Duration, Instant};

use tvm_ffi_abi_spec::library_bin::{ImportTree, Module, Node};

const SIZE: usize = 1 << 30;
const RUNS: usize = 7;

/// The measured operations.
const ROWS: [&str; 5] = [
    "copy, fresh memory",
    "copy, used memory",
    "encode, fresh memory",
    "encode, used memory",
    "decode",
];

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let size = if std::env::args().any(|argument| argument == "--bench") { SIZE } else { 1 << 16 };
    let payload: Vec<u8> = (0..size).map(|i| (i * 7 + 1) as u8).collect();
    let module = Module::Custom { kind: "cuda".into(), bytes: payload.as_slice().into() };
    let library = Node { module: Module::Library, children: vec![1] };
    let tree = ImportTree { nodes: vec![library, Node { module, children: vec![] }] };
    let mut used = vec![1_u8; tree.encoded_len()];
    let mut times = [const { Vec::new() }; ROWS.len()];
    let mut peaks = [0; ROWS.len()];
    for _ in 0..RUNS {
        let mut run = |row: usize, run: &mut dyn FnMut()| {
            let ((), peak) = memory::peak(|| times[row].push(timed(run)));
            peaks[row] = peak;
        };
        run(0, &mut || drop(black_box(payload.to_vec())));
        run(1, &mut || {
            used.clear();
            used.extend_from_slice(black_box(&payload));
        });
        run(2, &mut || drop(black_box(tree.encode())));
        run(3, &mut || {
            used.clear();
            tree.encode_to(&mut used).expect("the tree is valid");
        });
        run(4, &mut || drop(black_box(ImportTree::decode(black_box(&used)))));
        assert!(ImportTree::decode(&used).is_ok_and(|decoded| decoded == tree));
    }
    report(size, &mut times, &peaks);
}

fn timed(run: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn report(size: usize, times: &mut [Vec<Duration>], peaks: &[usize]) {
    let gib = size as f64 / SIZE as f64;
    times.iter_mut().for_each(|times| times.sort());
    println!(
        "{gib:.4} GiB                fastest      median  of a copy to fresh, to used    allocated"
    );
    for (row, (name, mine)) in ROWS.iter().zip(&*times).enumerate() {
        let median = |row: usize| times[row][RUNS / 2].as_secs_f64();
        let ratio = |other: usize| median(other) / median(row);
        println!(
            "{name:20} {:>11.3?} {:>11.3?} {:>12.2}x {:>12.2}x {:>12} B",
            mine[0],
            mine[RUNS / 2],
            ratio(0),
            ratio(1),
            peaks[row],
        );
    }
}
