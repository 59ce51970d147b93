//! Fuzz tests of the decoder: damaged import trees, each checked against an independent reader.
//!
//! An input is a file of `tests/corpus`, or the encoding of a random tree, valid or not, with random damage.
//! The default takes seconds; `TREES` says how many inputs there are, and `SEED` which:
//!
//! ```sh
//! TREES=10000000 cargo test --release -p tvm-ffi-abi-spec --test fuzz -- --nocapture
//! ```

mod input;
mod memory;
mod random;
mod strict;

use std::env;

use tvm_ffi_abi_spec::library_bin::ImportTree;

use input::Inputs;
use random::Random;

/// The number of inputs of an ordinary run.
const DEFAULT_TREES: u64 = if cfg!(debug_assertions) { 300_000 } else { 1_000_000 };

/// The bytes that decoding may allocate at once: for each byte of the blob, and in addition.
const ALLOWANCE: [usize; 2] = [8, 256];

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
}

#[test]
fn decoder_takes_what_the_strict_reader_takes() {
    let (count, seed) = (number("TREES", DEFAULT_TREES), number("SEED", 1));
    let mut inputs = Inputs::new(Random::new(seed));
    let mut decoded = 0_u64;
    let mut refused = [0_u64; strict::DEFECTS.len()];
    for i in 0..count {
        let blob = inputs.next_blob();
        match check(blob) {
            Ok(()) => decoded += 1,
            Err(defect) => refused[defect] += 1,
        }
        assert!(i < 1000 || decoded > 0, "nothing is decoded");
    }
    println!("{count} inputs, seed {seed}: {decoded} decoded, the rest refused:");
    for (name, refused) in strict::DEFECTS.iter().zip(refused) {
        println!("{refused:10} {name}");
        assert!(refused > 0 || count < 100_000, "no input with {name}");
    }
    assert!(decoded > count / 20, "too few are decoded");
}

/// Decodes a blob with both readers, which must agree; returns the number of the defect that the strict one finds.
fn check(blob: &[u8]) -> Result<(), usize> {
    let expected = strict::read(blob);
    let (found, peak) = memory::peak(|| ImportTree::decode(blob));
    let [per_byte, fixed] = ALLOWANCE;
    assert!(peak <= per_byte * blob.len() + fixed, "{peak} bytes for {blob:?}");
    match (found, expected) {
        (Ok(tree), Ok(modules)) => {
            assert!(strict::is_same(&tree, &modules), "{blob:?}");
            assert_eq!(tree.validate(), Ok(()), "{blob:?}");
            assert_eq!(tree.encoded_len(), blob.len(), "{blob:?}");
            assert!(tree.encode().is_ok_and(|bytes| bytes == blob), "{blob:?}");
            Ok(())
        }
        (Err(error), Err(defect)) => {
            assert!(error.offset <= blob.len(), "{error}: {blob:?}");
            assert!(error.to_string().starts_with("malformed import tree at byte 0x"));
            Err(defect)
        }
        (found, expected) => {
            let expected = expected.map_err(|defect| strict::DEFECTS[defect]);
            panic!("{found:?} instead of {expected:?}: {blob:?}")
        }
    }
}

#[test]
fn corpus_is_small_and_read_as_its_names_say() {
    let corpus = input::corpus();
    assert!(corpus.len() >= 16);
    for (name, blob) in corpus {
        assert!(blob.len() <= 1024, "{name}");
        assert_eq!(check(&blob).is_ok(), name.starts_with("valid-"), "{name}");
    }
}
