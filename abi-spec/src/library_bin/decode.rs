//! The decoder of import trees.

use super::{DecodeError, Defect, ImportTree, LIBRARY_KIND, Module, Node, TreeError};

/// The bytes of a number.
const WORD: usize = 8;
/// The smallest number of bytes of a module.
const MIN_MODULE: usize = WORD + LIBRARY_KIND.len();

/// Returns the length of the blob at the start of `bytes`, header included, for blobs whose end is not marked.
///
/// # Errors
///
/// [`Defect::Truncated`] if the header, or the length that it states, exceeds `bytes`.
pub fn blob_len(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut reader = Reader { blob: bytes, offset: 0 };
    let len = reader.word()?;
    reader.take(len)?;
    Ok(reader.offset)
}

impl<'a> ImportTree<'a> {
    /// Decodes a blob. Kinds and bytes are borrowed from it. The allocated memory is a small multiple of the lists and
    /// lengths that the blob holds, whatever numbers it states.
    ///
    /// # Errors
    ///
    /// The defect and its offset; the [module](super) lists the rules.
    pub fn decode(blob: &'a [u8]) -> Result<ImportTree<'a>, DecodeError> {
        let len = blob_len(blob)?;
        let mut reader = Reader { blob, offset: len };
        reader.end()?;
        reader.offset = WORD;
        let rows = reader.words()?;
        let list = reader.words()?;
        rows.check_rows(list.words.len())?;
        let count = rows.words.len() - 1;
        // No more modules than fit into the rest of the blob, whatever `count` states.
        let room = count.min((blob.len() - reader.offset) / MIN_MODULE);
        let (mut nodes, mut offsets) = (Vec::with_capacity(room), Vec::with_capacity(room));
        for node in 0..count {
            offsets.push(reader.offset);
            let module = reader.module()?;
            let children = list.words[rows.get(node)..rows.get(node + 1)].iter();
            nodes.push(Node { module, children: children.map(index).collect() });
        }
        reader.end()?;
        let tree = ImportTree { nodes };
        tree.validate().map_err(|error| DecodeError {
            offset: locate(&error, &offsets, &rows, &list),
            defect: Defect::Tree(error),
        })?;
        Ok(tree)
    }
}

/// Returns the offset in the blob of a fault in its tree.
fn locate(error: &TreeError, modules: &[usize], rows: &Words<'_>, list: &Words<'_>) -> usize {
    match *error {
        TreeError::Empty | TreeError::TooLarge => rows.offset,
        TreeError::EmptyKind { node } | TreeError::ReservedKind { node } => modules[node],
        TreeError::EmptyBytes { node } | TreeError::SecondLibrary { node } => modules[node],
        TreeError::Cycle { node } | TreeError::Deep { node } => list.offset_of(rows.get(node)),
        TreeError::MissingChild { node, child } => {
            let first = rows.get(node);
            let at = list.words[first..].iter().position(|word| index(word) == child);
            list.offset_of(first + at.unwrap_or(0))
        }
    }
}

/// A reader of a blob.
struct Reader<'a> {
    blob: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, defect: Defect) -> DecodeError {
        DecodeError { offset: self.offset, defect }
    }

    /// Reads the next `needed` bytes.
    fn take(&mut self, needed: u64) -> Result<&'a [u8], DecodeError> {
        let rest = &self.blob[self.offset..];
        match usize::try_from(needed).ok().and_then(|len| rest.get(..len)) {
            Some(bytes) => {
                self.offset += bytes.len();
                Ok(bytes)
            }
            None => Err(self.error(Defect::Truncated { needed, left: rest.len() })),
        }
    }

    /// Checks that nothing is left.
    fn end(&self) -> Result<(), DecodeError> {
        match self.blob.len() - self.offset {
            0 => Ok(()),
            bytes => Err(self.error(Defect::Trailing { bytes })),
        }
    }

    fn word(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(WORD as u64)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    fn words(&mut self) -> Result<Words<'a>, DecodeError> {
        let len = self.word()?;
        let offset = self.offset;
        let (words, _) = self.take(len.saturating_mul(WORD as u64))?.as_chunks();
        Ok(Words { words, offset })
    }

    fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.word()?;
        self.take(len)
    }

    fn module(&mut self) -> Result<Module<'a>, DecodeError> {
        let offset = self.offset;
        let Ok(kind) = std::str::from_utf8(self.bytes()?) else {
            return Err(DecodeError { offset, defect: Defect::KindNotUtf8 });
        };
        if kind == LIBRARY_KIND {
            return Ok(Module::Library);
        }
        Ok(Module::Custom { kind: kind.into(), bytes: self.bytes()?.into() })
    }
}

/// A list of numbers, borrowed from the blob.
struct Words<'a> {
    words: &'a [[u8; WORD]],
    offset: usize,
}

impl Words<'_> {
    fn get(&self, at: usize) -> usize {
        index(&self.words[at])
    }

    fn offset_of(&self, at: usize) -> usize {
        self.offset + at * WORD
    }

    /// Checks that the rows split a list of `children` entries; every row is then a range of the list.
    fn check_rows(&self, children: usize) -> Result<(), DecodeError> {
        let fault = |at, defect| Err(DecodeError { offset: self.offset_of(at), defect });
        if self.words.len() < 2 {
            return fault(0, Defect::Tree(TreeError::Empty));
        }
        let last = self.words.len() - 1;
        let max = children as u64;
        let mut min = 0;
        for (at, word) in self.words.iter().enumerate() {
            let start = u64::from_le_bytes(*word);
            let most = if at == 0 { 0 } else { max };
            let least = if at == last { max } else { min };
            if start < least || start > most {
                return fault(at, Defect::Row { start, min: least, max: most });
            }
            min = start;
        }
        Ok(())
    }
}

/// Returns a number as an index; a number that does not fit becomes the largest index.
fn index(word: &[u8; WORD]) -> usize {
    usize::try_from(u64::from_le_bytes(*word)).unwrap_or(usize::MAX)
}
