//! Blobs to decode: files, random trees, and damage to both.

use std::fs;
use std::path::Path;

use crate::random::Random;

/// The files of the corpus, by name.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let read = |path: &Path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.expect("a readable folder"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(&entry.path())))
        .collect();
    files.sort();
    files
}

/// A generator of blobs.
pub(crate) struct Inputs {
    random: Random,
    corpus: Vec<Vec<u8>>,
    blob: Vec<u8>,
}

const WORD: usize = 8;

impl Inputs {
    pub(crate) fn new(random: Random) -> Inputs {
        let corpus = corpus().into_iter().map(|(_, blob)| blob).collect();
        Inputs { random, corpus, blob: Vec::new() }
    }

    pub(crate) fn next_blob(&mut self) -> &[u8] {
        if self.random.once_in(2) {
            self.tree();
        } else {
            self.blob.clear();
            self.blob.extend_from_slice(self.random.pick::<Vec<u8>>(&self.corpus));
        }
        let damages = [0, 1, 1, 1, 2, 3, 5][self.random.below(7)];
        for _ in 0..damages {
            self.damage();
        }
        if damages > 0 && !self.random.once_in(4) {
            self.repair_length();
        }
        &self.blob
    }

    /// Returns the encoding of a random tree, mostly a valid one.
    fn tree(&mut self) {
        let r = &mut self.random;
        let nodes = if r.once_in(100) { 250 + r.below(10) } else { r.below(6) + 1 };
        let (mut rows, mut list) = (vec![0_u64], Vec::new());
        for node in 0..nodes {
            let above = nodes - node - 1;
            let count = if nodes > 6 { usize::from(above > 0) } else { r.below(3) };
            for _ in 0..count {
                match (nodes > 6, r.once_in(20), above) {
                    (true, ..) => list.push(node as u64 + 1),
                    (_, true, _) => list.push(r.below(nodes + 1) as u64),
                    (_, false, 0) => {}
                    (_, false, above) => list.push((node + 1 + r.below(above)) as u64),
                }
            }
            rows.push(list.len() as u64);
        }
        self.blob.clear();
        self.blob.extend([0; WORD]);
        for list in [&rows, &list] {
            self.blob.extend((list.len() as u64).to_le_bytes());
            list.iter().for_each(|word| self.blob.extend(word.to_le_bytes()));
        }
        let library = self.random.below(nodes);
        // Most trees have no such fault, whatever their number of modules.
        (0..nodes).for_each(|node| self.module(node == library, 20 * nodes));
        self.repair_length();
    }

    fn module(&mut self, library: bool, odds: usize) {
        const KINDS: [&[u8]; 8] =
            [b"a", b"cuda", b"a.b", b"_li", b"_libx", b"\xc3\xa9", b"k", b"kk"];
        let r = &mut self.random;
        let kind: &[u8] = match (library, r.below(odds)) {
            (_, 0) => b"",
            (_, 1) => b"\xff",
            (_, 2) | (true, _) => b"_lib",
            (false, _) => r.pick::<&[u8]>(&KINDS),
        };
        let bytes = if r.once_in(odds) { 0 } else { 1 + r.below(9) };
        self.bytes(kind);
        if kind != b"_lib" {
            self.bytes(&[0xa5; 9][..bytes]);
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.blob.extend((bytes.len() as u64).to_le_bytes());
        self.blob.extend(bytes);
    }

    /// Corrects the number in front to the bytes that follow.
    fn repair_length(&mut self) {
        if let Some(len) = self.blob.len().checked_sub(WORD) {
            self.blob[..WORD].copy_from_slice(&(len as u64).to_le_bytes());
        }
    }

    fn damage(&mut self) {
        let len = self.blob.len();
        if len < 2 * WORD {
            return self.blob.extend([0; 3 * WORD]);
        }
        let r = &mut self.random;
        let at = r.below(len);
        let word = at.min(len - WORD) / WORD * WORD;
        match r.below(9) {
            0 => self.blob[at] ^= 1 << r.below(8),
            1 => self.blob[at] = r.next() as u8,
            2 => self.put(word, false),
            3 => self.put(at.min(len - WORD), false),
            4 => self.put(word, true),
            5 => self.blob.truncate(at),
            6 => {
                let end = at + r.below(len - at + 1).min(3 * WORD);
                drop(self.blob.drain(at..end));
            }
            7 => {
                let end = at + r.below(len - at + 1).min(3 * WORD);
                self.blob.extend_from_within(at..end);
                self.blob[at..].rotate_right(end - at);
            }
            _ => {
                let other = r.below(len - WORD + 1) / WORD * WORD;
                (0..WORD).for_each(|i| self.blob.swap(word + i, other + i));
            }
        }
    }

    /// Overwrites a number with a close one, or a likely edge case.
    fn put(&mut self, at: usize, close: bool) {
        let len = self.blob.len() as u64;
        let place = &mut self.blob[at..at + WORD];
        let old = u64::from_le_bytes(place.try_into().expect("so many bytes"));
        let r = &mut self.random;
        let edges = [
            0,
            1,
            2,
            4,
            u64::MAX,
            u64::MAX - 7,
            1 << 63,
            1 << 61,
            (1 << 61) + 1,
            1 << 32,
            len,
            len.wrapping_sub(8),
        ];
        let new = if close {
            old.wrapping_add(r.below(5) as u64).wrapping_sub(2)
        } else {
            *r.pick(&edges)
        };
        place.copy_from_slice(&new.to_le_bytes());
    }
}
