//! The rules that every import tree keeps.

use super::{ImportTree, LIBRARY_KIND, Module, Node, TreeError};

impl ImportTree<'_> {
    /// Says whether the loader can load the tree.
    ///
    /// # Errors
    ///
    /// The first rule that the tree breaks, module by module; cycles last.
    pub fn validate(&self) -> Result<(), TreeError> {
        if self.nodes.is_empty() {
            return Err(TreeError::Empty);
        }
        let mut libraries = 0;
        for (node, Node { module, children }) in self.nodes.iter().enumerate() {
            match module {
                Module::Library if libraries > 0 => return Err(TreeError::SecondLibrary { node }),
                Module::Library => libraries += 1,
                Module::Custom { kind, .. } if kind.is_empty() => {
                    return Err(TreeError::EmptyKind { node });
                }
                Module::Custom { kind, .. } if kind == LIBRARY_KIND => {
                    return Err(TreeError::ReservedKind { node });
                }
                Module::Custom { bytes, .. } if bytes.is_empty() => {
                    return Err(TreeError::EmptyBytes { node });
                }
                Module::Custom { .. } => {}
            }
            if let Some(&child) = children.iter().find(|child| **child >= self.nodes.len()) {
                return Err(TreeError::MissingChild { node, child });
            }
        }
        match find_cycle(&self.nodes) {
            Some(node) => Err(TreeError::Cycle { node }),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy)]
enum Visit {
    Not,
    Open,
    Done,
}

/// A module that is on a cycle. Depth first without recursion, for chains of any length.
fn find_cycle(nodes: &[Node<'_>]) -> Option<usize> {
    let mut visits = vec![Visit::Not; nodes.len()];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..nodes.len() {
        if let Visit::Not = visits[root] {
            visits[root] = Visit::Open;
            path.push((root, 0));
        }
        while let Some((node, visited)) = path.last_mut() {
            let Some(&child) = nodes[*node].children.get(*visited) else {
                visits[*node] = Visit::Done;
                path.pop();
                continue;
            };
            *visited += 1;
            match visits[child] {
                Visit::Not => {
                    visits[child] = Visit::Open;
                    path.push((child, 0));
                }
                Visit::Open => return Some(child),
                Visit::Done => {}
            }
        }
    }
    None
}
