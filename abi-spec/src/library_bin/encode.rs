//! The encoder of import trees.

use super::{ImportTree, Module, TreeError};

/// The bytes of a number.
const WORD: usize = 8;

impl ImportTree<'_> {
    /// Returns the length of the blob in bytes, saturated at the largest number.
    pub fn encoded_len(&self) -> usize {
        let words = 1 + 1 + 1 + 1;
        let nodes = self.nodes.iter();
        nodes.fold(words * WORD, |len, node| {
            let words = 1 + node.children.len();
            len.saturating_add(words * WORD).saturating_add(module_len(&node.module))
        })
    }

    /// Encodes the tree in one allocation of its exact size; the bytes of each module are copied once.
    ///
    /// # Errors
    ///
    /// The errors of [`validate`](ImportTree::validate), and [`TreeError::TooLarge`].
    pub fn encode(&self) -> Result<Vec<u8>, TreeError> {
        let mut out = Vec::new();
        self.encode_to(&mut out)?;
        Ok(out)
    }

    /// Appends the blob to a buffer, which may be reused: new pages cost more than the copy.
    ///
    /// # Errors
    ///
    /// The errors of [`encode`](ImportTree::encode), before anything is appended.
    pub fn encode_to(&self, out: &mut Vec<u8>) -> Result<(), TreeError> {
        self.validate()?;
        let len = self.encoded_len();
        out.try_reserve_exact(len).map_err(|_| TreeError::TooLarge)?;
        put(out, len - WORD);
        put(out, self.nodes.len() + 1);
        let mut children = 0;
        put(out, children);
        for node in &self.nodes {
            children += node.children.len();
            put(out, children);
        }
        put(out, children);
        self.nodes.iter().flat_map(|node| &node.children).for_each(|child| put(out, *child));
        for node in &self.nodes {
            put_bytes(out, node.module.kind().as_bytes());
            match &node.module {
                Module::Library => {}
                Module::Custom { bytes, .. } => put_bytes(out, bytes),
            }
        }
        Ok(())
    }
}

fn module_len(module: &Module<'_>) -> usize {
    let bytes = match module {
        Module::Library => 0,
        Module::Custom { bytes, .. } => WORD + bytes.len(),
    };
    WORD + module.kind().len() + bytes
}

fn put(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len());
    out.extend_from_slice(bytes);
}
