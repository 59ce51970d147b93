//! A second reader of import trees, independent of the one under test. Rule by rule it refuses whatever libtvm_ffi
//! crashes on, misreads or refuses, and whatever the stricter loader of `tvm_ffi_orcjit` refuses.

use tvm_ffi_abi_spec::library_bin::{ImportTree, Module, Node};

/// A module of a blob: kind, bytes unless it is the library, children.
pub(crate) type Entry<'a> = (&'a [u8], Option<&'a [u8]>, Vec<u64>);

/// The defects, in the order of the checks.
pub(crate) const DEFECTS: [&str; 12] = [
    "a length of the whole that is not that of the blob",
    "lists that do not fit",
    "no modules",
    "rows that do not split the children",
    "a module that does not fit",
    "bytes after the last module",
    "an empty kind",
    "a kind that is no text",
    "empty bytes",
    "two libraries",
    "a child that does not exist",
    "a cycle or a long chain",
];

/// Reads a number.
fn word(rest: &mut &[u8]) -> Option<u64> {
    let (first, others) = rest.split_at_checked(8)?;
    *rest = others;
    Some(u64::from_le_bytes(first.try_into().ok()?))
}

/// Reads a number, and that many bytes.
fn counted<'a>(rest: &mut &'a [u8], unit: u128) -> Option<&'a [u8]> {
    let len = u128::from(word(rest)?) * unit;
    if len > rest.len() as u128 {
        return None;
    }
    let (first, others) = rest.split_at(len as usize);
    *rest = others;
    Some(first)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).filter_map(|mut chunk| word(&mut chunk)).collect()
}

/// Returns the modules of a blob, or the first defect.
pub(crate) fn read(blob: &[u8]) -> Result<Vec<Entry<'_>>, usize> {
    let mut rest = blob;
    if word(&mut rest) != Some(rest.len() as u64) {
        return Err(0);
    }
    let rows = words(counted(&mut rest, 8).ok_or(1_usize)?);
    let list = words(counted(&mut rest, 8).ok_or(1_usize)?);
    if rows.len() < 2 {
        return Err(2);
    }
    let ends = [rows[0], rows[rows.len() - 1]];
    if ends != [0, list.len() as u64] || !rows.is_sorted() {
        return Err(3);
    }
    let mut entries = Vec::new();
    for row in rows.windows(2) {
        let kind = counted(&mut rest, 1).ok_or(4_usize)?;
        let bytes = match kind {
            b"_lib" => None,
            _ => Some(counted(&mut rest, 1).ok_or(4_usize)?),
        };
        entries.push((kind, bytes, list[row[0] as usize..row[1] as usize].to_vec()));
    }
    if !rest.is_empty() {
        return Err(5);
    }
    match rules(&entries).iter().position(|broken| *broken) {
        Some(rule) => Err(6 + rule),
        None => Ok(entries),
    }
}

/// Returns the broken rules of a tree.
fn rules(entries: &[Entry<'_>]) -> [bool; 6] {
    let libraries = entries.iter().filter(|(_, bytes, _)| bytes.is_none());
    let missing = |child: &u64| *child >= entries.len() as u64;
    let has_missing = entries.iter().any(|(.., children)| children.iter().any(missing));
    [
        entries.iter().any(|(kind, ..)| kind.is_empty()),
        entries.iter().any(|(kind, ..)| std::str::from_utf8(kind).is_err()),
        entries.iter().any(|(_, bytes, _)| *bytes == Some(b"")),
        libraries.count() > 1,
        has_missing,
        !has_missing && longest_chain(entries).is_none_or(|longest| longest > 256),
    ]
}

/// Returns the length of the longest chain; `None` if there is a cycle. Removes modules that no module imports until
/// none is left.
fn longest_chain(entries: &[Entry<'_>]) -> Option<usize> {
    let mut importers = vec![0; entries.len()];
    entries.iter().flat_map(|(.., c)| c).for_each(|child| importers[*child as usize] += 1);
    let mut chains = vec![1; entries.len()];
    let mut free: Vec<usize> = (0..entries.len()).filter(|i| importers[*i] == 0).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for &child in &entries[node].2 {
            let child = child as usize;
            chains[child] = chains[child].max(chains[node] + 1);
            importers[child] -= 1;
            if importers[child] == 0 {
                free.push(child);
            }
        }
    }
    (taken == entries.len()).then(|| chains.into_iter().max().unwrap_or(0))
}

/// Returns true if a tree equals the modules that were read.
pub(crate) fn is_same(tree: &ImportTree<'_>, entries: &[Entry<'_>]) -> bool {
    tree.nodes.len() == entries.len() && tree.nodes.iter().zip(entries).all(is_same_node)
}

fn is_same_node((node, (kind, bytes, children)): (&Node<'_>, &Entry<'_>)) -> bool {
    let module = match &node.module {
        Module::Library => ("_lib".as_bytes(), None),
        Module::Custom { kind, bytes } => (kind.as_bytes(), Some(bytes.as_ref())),
    };
    module == (*kind, *bytes)
        && node.children.iter().map(|child| *child as u64).eq(children.iter().copied())
}
