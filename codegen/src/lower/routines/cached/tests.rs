//! The spread of hashes: how far entries with the keys of compilers are from the root of a site.

use std::collections::BTreeMap;

use super::{BITS, FIRST, factor};

/// Keys of one kind, by their number.
type Family = (&'static str, fn(u64) -> Vec<u64>);

/// Families of keys. Random ones are far from each other in any way.
const FAMILIES: [Family; 24] = [
    ("integers", |i| vec![i]),
    ("negative integers", |i| vec![i.wrapping_neg()]),
    ("multiples of 16", |i| vec![16 * i]),
    ("multiples of 4096", |i| vec![4096 * i]),
    ("multiples of 2^32", |i| vec![i << 32]),
    ("multiples of 2^46", |i| vec![i << 46]),
    ("addresses of lines", |i| vec![0x7f12_3456_7000 + 64 * i]),
    ("addresses of huge pages", |i| vec![0x7f12_3400_0000 + (i << 21)]),
    ("doubles", |i| vec![(i as f64).to_bits()]),
    ("floats", |i| vec![u64::from((i as f32).to_bits())]),
    ("one bit", |i| vec![1 << (i % 64)]),
    ("two bits", |i| vec![1 << (i % 64) | 1 << (i / 64 % 64)]),
    ("powers of two, three", |i| vec![1 << (i % 47), 1 << (i / 47 % 47), 1 << (i / 47 / 47)]),
    ("a grid", |i| vec![i % 317, i / 317]),
    ("a grid of 16", |i| vec![16 * (i % 317), 16 * (i / 317)]),
    ("a cube", |i| vec![i % 47, i / 47 % 47, i / 47 / 47]),
    ("a cube of 4096", |i| vec![4096 * (i % 47), 4096 * (i / 47 % 47), 4096 * (i / 47 / 47)]),
    ("equal keys", |i| vec![i; 8]),
    ("opposite keys", |i| vec![i, i.wrapping_neg()]),
    ("truths", |i| (0..8).map(|at| i >> at & 1).collect()),
    ("small numbers", |i| (0..8).map(|at| i >> (2 * at) & 3).collect()),
    ("an element type, truths and an extent", |i| {
        vec![[0x1_2002, 0x1_1002, 0x1_1004, 0x1_2000][i as usize % 4], i / 4 % 2, i / 8]
    }),
    ("an address, a device and an extent", |i| {
        vec![0x7f12_3456_7000 + 512 * i, (i % 8) << 32 | 2, 64 * (i % 100)]
    }),
    ("random keys", |i| {
        let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        vec![mixed ^ mixed >> 27]
    }),
];

/// Number of keys of a family.
const COUNT: u64 = 100_000;

/// The walk to the entries of a site.
#[derive(Debug, Default, PartialEq)]
struct Walk {
    /// The number of entries.
    entries: usize,
    /// The number of nodes below the root that the walks to all entries pass.
    passed: usize,
    /// The greatest number of nodes that a walk passes.
    most: usize,
}

/// Adds the walks to entries that come to one node after `above` others.
fn walk(hashes: &[u64], above: usize, to: &mut Walk) {
    let mut slots: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for hash in hashes {
        slots.entry(hash << (BITS * above as u64) >> FIRST).or_default().push(*hash);
    }
    for slot in slots.into_values() {
        if slot.len() == 1 {
            to.entries += 1;
            to.passed += above;
            to.most = to.most.max(above);
        } else {
            walk(&slot, above + 1, to);
        }
    }
}

fn hash(keys: Vec<u64>) -> u64 {
    let products =
        keys.iter().rev().enumerate().map(|(after, key)| key.wrapping_mul(factor(after)));
    products.fold(0, u64::wrapping_add)
}

/// In 64 slots each, random keys pass 2.3 nodes on the mean, and 6 at most.
#[test]
fn keys_of_compilers_spread_as_random_ones_do() {
    for (name, keys) in FAMILIES {
        let mut all: Vec<Vec<u64>> = (0..COUNT).map(keys).collect();
        all.sort_unstable();
        all.dedup();
        let different = all.len();
        let mut hashes: Vec<u64> = all.into_iter().map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let mut found = Walk::default();
        walk(&hashes, 0, &mut found);
        let mean = found.passed as f64 / found.entries as f64;
        println!("{name}: {different} keys, {mean:.2} nodes, at most {}", found.most);
        assert!(mean < 3.0 && found.most < 7, "{name}: {found:?}");
        assert!(different - found.entries <= 1 + different / 1000, "{name}: {found:?}");
    }
}
