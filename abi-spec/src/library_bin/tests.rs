//! Tests of the codec of import trees: round trips and errors.

use std::borrow::Cow;

use super::*;

fn library(children: &[usize]) -> Node<'static> {
    Node { module: Module::Library, children: children.to_vec() }
}

fn custom(kind: &'static str, bytes: &'static [u8], children: &[usize]) -> Node<'static> {
    let module = Module::Custom { kind: kind.into(), bytes: bytes.into() };
    Node { module, children: children.to_vec() }
}

fn tree<const N: usize>(nodes: [Node<'static>; N]) -> ImportTree<'static> {
    ImportTree { nodes: nodes.into() }
}

fn example() -> ImportTree<'static> {
    tree([library(&[1, 2]), custom("kindA", b"AAA", &[]), custom("kindB", b"BB", &[])])
}

/// A blob that the runtime's loader has read with this result.
const EXAMPLE: &[u8] = b"\x7b\0\0\0\0\0\0\0\
    \x04\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\
    \x02\0\0\0\0\0\0\0\
    \x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\
    \x04\0\0\0\0\0\0\0_lib\
    \x05\0\0\0\0\0\0\0kindA\x03\0\0\0\0\0\0\0AAA\
    \x05\0\0\0\0\0\0\0kindB\x02\0\0\0\0\0\0\0BB";

#[test]
fn the_example_is_these_bytes() {
    assert_eq!(EXAMPLE.len(), 131);
    assert_eq!(example().encode().as_deref(), Ok(EXAMPLE));
    assert_eq!(ImportTree::decode(EXAMPLE), Ok(example()));
}

#[test]
fn trees_of_every_shape_round_trip() {
    let shapes = [
        example(),
        tree([library(&[])]),
        tree([custom("only", b"x", &[])]),
        tree([library(&[1]), custom("a", b"x", &[2]), custom("b", b"y", &[])]),
        tree([custom("root", b"x", &[1]), library(&[])]),
        tree([
            library(&[2, 1]),
            custom("a", b"x", &[3]),
            custom("a", b"x", &[3]),
            custom("c", b"\0", &[]),
        ]),
        tree([library(&[1, 1]), custom("a", b"x", &[])]),
        tree([library(&[]), custom("above the root", b"x", &[0])]),
    ];
    for tree in shapes {
        let blob = tree.encode().expect("the tree is valid");
        assert_eq!((blob.len(), blob.capacity()), (tree.encoded_len(), tree.encoded_len()));
        let mut longer = b"before".to_vec();
        tree.encode_to(&mut longer).expect("the tree is valid");
        assert_eq!(longer, [b"before", &*blob].concat());
        assert_eq!(ImportTree::decode(&blob), Ok(tree));
    }
}

#[test]
fn decoding_copies_nothing() {
    let tree = ImportTree::decode(EXAMPLE).expect("the example is valid");
    let range = EXAMPLE.as_ptr_range();
    for node in &tree.nodes {
        let Module::Custom { kind, bytes } = &node.module else { continue };
        assert!(matches!((kind, bytes), (Cow::Borrowed(_), Cow::Borrowed(_))));
        assert!(range.contains(&kind.as_ptr()) && range.contains(&bytes.as_ptr()));
    }
}

#[test]
fn trees_that_cannot_be_loaded_are_refused() {
    let rows = [
        (tree([]), TreeError::Empty),
        (tree([library(&[1]), custom("", b"x", &[])]), TreeError::EmptyKind { node: 1 }),
        (tree([custom("_lib", b"x", &[])]), TreeError::ReservedKind { node: 0 }),
        (tree([library(&[1]), custom("a", b"", &[])]), TreeError::EmptyBytes { node: 1 }),
        (tree([library(&[1]), library(&[])]), TreeError::SecondLibrary { node: 1 }),
        (tree([library(&[1])]), TreeError::MissingChild { node: 0, child: 1 }),
        (tree([library(&[0])]), TreeError::Cycle { node: 0 }),
        (
            tree([library(&[1]), custom("a", b"x", &[2]), custom("b", b"x", &[1])]),
            TreeError::Cycle { node: 1 },
        ),
        (
            tree([library(&[]), custom("a", b"x", &[2]), custom("b", b"x", &[1])]),
            TreeError::Cycle { node: 1 },
        ),
    ];
    for (tree, error) in rows {
        assert_eq!(tree.encode(), Err(error));
    }
}

/// Returns a chain of modules with the library at its end.
fn chain(length: usize) -> ImportTree<'static> {
    let mut nodes: Vec<_> = (1..length).map(|next| custom("a", b"x", &[next])).collect();
    nodes.push(library(&[]));
    ImportTree { nodes }
}

#[test]
fn chains_are_as_long_as_the_runtime_can_bear() {
    let longest = chain(MAX_CHAIN);
    let blob = longest.encode().expect("the chain is valid");
    assert_eq!(ImportTree::decode(&blob).as_ref(), Ok(&longest));
    assert_eq!(chain(MAX_CHAIN + 1).validate(), Err(TreeError::Deep { node: 0 }));
    // A shorter path to the same modules does not matter.
    let mut tree = chain(MAX_CHAIN);
    let children = vec![MAX_CHAIN - 1, 0, 3];
    tree.nodes.push(Node { children, ..custom("a", b"x", &[]) });
    assert_eq!(tree.validate(), Err(TreeError::Deep { node: MAX_CHAIN }));
}

#[test]
fn chains_of_any_length_are_checked_without_recursion() {
    let mut tree = chain(200_000);
    assert_eq!(tree.encode(), Err(TreeError::Deep { node: 200_000 - MAX_CHAIN - 1 }));
    tree.nodes[199_999].children.push(7);
    assert_eq!(tree.encode(), Err(TreeError::Cycle { node: 7 }));
}

/// Returns the example with the number at `offset` replaced.
fn patched(offset: usize, number: u64) -> Vec<u8> {
    let mut blob = EXAMPLE.to_vec();
    blob[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    blob
}

#[test]
fn malformed_blobs_are_refused_where_the_defect_is() {
    let row = |start, min, max| Defect::Row { start, min, max };
    let truncated = |needed, left| Defect::Truncated { needed, left };
    let missing = |node, child| Defect::Tree(TreeError::MissingChild { node, child });
    let rows = [
        // The header.
        (patched(0, 124), 0x08, truncated(124, 123)),
        (patched(0, 122), 0x82, Defect::Trailing { bytes: 1 }),
        (patched(0, 0), 0x08, Defect::Trailing { bytes: 123 }),
        (patched(0, u64::MAX), 0x08, truncated(u64::MAX, 123)),
        // The rows.
        (patched(0x08, u64::MAX), 0x10, truncated(u64::MAX, 115)),
        (patched(0x08, 1 << 61), 0x10, truncated(u64::MAX, 115)),
        (patched(0x08, 15), 0x10, truncated(120, 115)),
        (patched(0x10, 1), 0x10, row(1, 0, 0)),
        (patched(0x18, 3), 0x18, row(3, 0, 2)),
        (patched(0x20, 1), 0x20, row(1, 2, 2)),
        (patched(0x28, 1), 0x28, row(1, 2, 2)),
        (patched(0x28, 3), 0x28, row(3, 2, 2)),
        // The children.
        (patched(0x30, 1 << 60), 0x38, truncated(1 << 63, 75)),
        (patched(0x38, 3), 0x38, missing(0, 3)),
        (patched(0x40, u64::MAX), 0x40, missing(0, usize::MAX)),
        (patched(0x40, 0), 0x38, Defect::Tree(TreeError::Cycle { node: 0 })),
        // The modules.
        (patched(0x48, u64::MAX), 0x50, truncated(u64::MAX, 51)),
        (patched(0x61, 11), 0x7c, truncated(u64::from_le_bytes(*b"kindB\x02\0\0"), 7)),
        (patched(0x79, 3), 0x81, truncated(3, 2)),
        (patched(0x79, 1), 0x82, Defect::Trailing { bytes: 1 }),
    ];
    for (blob, offset, defect) in rows {
        assert_eq!(ImportTree::decode(&blob), Err(DecodeError { offset, defect }));
    }
}

/// Returns a blob of these words and modules, with its header.
fn blob(words: &[u64], modules: &[u8]) -> Vec<u8> {
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let len = (words.len() + modules.len()) as u64;
    [&len.to_le_bytes()[..], &words, modules].concat()
}

#[test]
fn blobs_of_trees_that_cannot_be_loaded_are_refused() {
    let lib = b"\x04\0\0\0\0\0\0\0_lib";
    let rows = [
        (blob(&[0, 0], b""), 0x10, TreeError::Empty),
        (blob(&[1, 0, 0], b""), 0x10, TreeError::Empty),
        (blob(&[1, 0, 1, 0], b""), 0x10, TreeError::Empty),
        (blob(&[2, 0, 0, 0, 0, 1], b"x"), 0x28, TreeError::EmptyKind { node: 0 }),
        (blob(&[2, 0, 0, 0, 1], b"x\0\0\0\0\0\0\0\0"), 0x28, TreeError::EmptyBytes { node: 0 }),
        (blob(&[3, 0, 0, 0, 0], &lib.repeat(2)), 0x3c, TreeError::SecondLibrary { node: 1 }),
        (blob(&[2, 0, 1, 1, 0], lib), 0x28, TreeError::Cycle { node: 0 }),
    ];
    for (blob, offset, error) in rows {
        let defect = Defect::Tree(error);
        assert_eq!(ImportTree::decode(&blob), Err(DecodeError { offset, defect }));
    }
    let latin = blob(&[2, 0, 0, 0, 1], b"\xff\x01\0\0\0\0\0\0\0x");
    let error = DecodeError { offset: 0x28, defect: Defect::KindNotUtf8 };
    assert_eq!(ImportTree::decode(&latin), Err(error));
}

#[test]
fn every_prefix_of_a_blob_is_refused() {
    for len in 0..EXAMPLE.len() {
        let defect = match len {
            0..8 => Defect::Truncated { needed: 8, left: len },
            8.. => Defect::Truncated { needed: 123, left: len - 8 },
        };
        let offset = if len < 8 { 0 } else { 8 };
        assert_eq!(ImportTree::decode(&EXAMPLE[..len]), Err(DecodeError { offset, defect }));
        let mut shorter = EXAMPLE[..len].to_vec();
        if len >= 8 {
            shorter[..8].copy_from_slice(&(len as u64 - 8).to_le_bytes());
        }
        assert!(ImportTree::decode(&shorter).is_err());
    }
}

#[test]
fn what_decodes_after_damage_encodes_to_the_same_bytes() {
    let mut decoded = 0;
    for at in 0..EXAMPLE.len() {
        for byte in 0..=u8::MAX {
            let mut blob = EXAMPLE.to_vec();
            blob[at] = byte;
            let Ok(tree) = ImportTree::decode(&blob) else { continue };
            assert_eq!(tree.encode().as_deref(), Ok(&*blob));
            decoded += 1;
        }
    }
    // The undamaged blob, 131 times; children swapped for each other; and bytes, or letters of kinds.
    assert!(decoded > 131 + 5 * 255, "{decoded}");
}

#[test]
fn the_end_of_a_blob_is_found() {
    let longer = [EXAMPLE, b"whatever"].concat();
    assert_eq!(blob_len(&longer), Ok(EXAMPLE.len()));
    let defect = Defect::Trailing { bytes: 8 };
    assert_eq!(ImportTree::decode(&longer), Err(DecodeError { offset: 131, defect }));
}

#[test]
fn errors_say_where_and_what() {
    let text =
        |blob: &[u8]| ImportTree::decode(blob).expect_err("the blob is malformed").to_string();
    let rows = [
        (patched(0, 124), "malformed import tree at byte 0x8: expected 124 more bytes, found 123"),
        (
            patched(0x18, 3),
            "malformed import tree at byte 0x18: expected the first child of a row to be in 0..=2, found 3",
        ),
        (
            patched(0x38, 3),
            "malformed import tree at byte 0x38: module 0 imports module 3, which does not exist",
        ),
    ];
    for (blob, expected) in rows {
        assert_eq!(text(&blob), expected);
    }
}
