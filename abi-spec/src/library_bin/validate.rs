//! The rules of import trees.

use super::{ImportTree, LIBRARY_KIND, MAX_CHAIN, Module, Node, TreeError};

impl ImportTree<'_> {
    /// Checks that the loader can load the tree.
    ///
    /// # Errors
    ///
    /// The first broken rule, module by module; then cycles, then chains that are too long.
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
        check_paths(&self.nodes)
    }
}

/// The state of a module in the depth-first search.
#[derive(Clone, Copy)]
enum Visit {
    Not,
    Open,
    /// Visited, with the length of the longest chain of imports that starts here.
    Done(usize),
}

/// A module whose visit is open.
struct Step {
    node: usize,
    /// The number of its children that have been visited.
    visited: usize,
    /// The length of the longest chain that starts at a visited child.
    below: usize,
}

impl Step {
    fn new(node: usize) -> Step {
        Step { node, visited: 0, below: 0 }
    }
}

/// Checks for cycles, then for chains that are too long. The depth-first search does not recurse, since chains may have
/// any length.
fn check_paths(nodes: &[Node<'_>]) -> Result<(), TreeError> {
    let mut visits = vec![Visit::Not; nodes.len()];
    // The modules from a root to the one that is being visited.
    let mut path: Vec<Step> = Vec::new();
    let mut deep = None;
    for root in 0..nodes.len() {
        if let Visit::Not = visits[root] {
            visits[root] = Visit::Open;
            path.push(Step::new(root));
        }
        while let Some(step) = path.last_mut() {
            let Some(&child) = nodes[step.node].children.get(step.visited) else {
                let chain = step.below + 1;
                visits[step.node] = Visit::Done(chain);
                deep = deep.or((chain > MAX_CHAIN).then_some(step.node));
                path.pop();
                continue;
            };
            match visits[child] {
                Visit::Not => {
                    visits[child] = Visit::Open;
                    path.push(Step::new(child));
                }
                Visit::Open => return Err(TreeError::Cycle { node: child }),
                Visit::Done(chain) => {
                    step.visited += 1;
                    step.below = step.below.max(chain);
                }
            }
        }
    }
    deep.map_or(Ok(()), |node| Err(TreeError::Deep { node }))
}
