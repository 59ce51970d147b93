//! Kernels that stay functions of their own, although LLVM could inline them.

use std::collections::{BTreeMap, BTreeSet};

use super::Optimize;
use crate::ir::{Inst, Linkage, Module, Placed};
use crate::trace::explain;

/// The number of calls of kernels in one function up to which all of them may be inlined.
const FEW: usize = 2;

impl Optimize {
    /// Returns the kernels that are called and not inlined, by the exported function that calls them. `is_kernel` tells
    /// which imports are defined in the native module.
    ///
    /// They are kernels of functions that call more than two, as those do that choose among variants, as long as
    /// others call them too. Inlined, each would be optimised anew in each of these functions, and of the variants a
    /// call runs one. A kernel that is called in one place costs nothing more when it is inlined there, and
    /// [`O3`](Optimize::O3) inlines at any cost.
    pub fn apart(
        self,
        source: &Module,
        is_kernel: impl Fn(&str) -> bool,
    ) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut apart = BTreeMap::new();
        match self {
            Optimize::O1 | Optimize::O2 => {}
            Optimize::O0 | Optimize::O3 => return apart,
        }
        let is_kernel: Vec<bool> = source
            .symbols
            .iter()
            .map(|symbol| symbol.linkage == Linkage::Import && is_kernel(&symbol.name))
            .collect();
        let mut uses = vec![0; source.symbols.len()];
        let mut calls = Vec::new();
        for function in &source.functions {
            let insts = function.blocks.iter().flat_map(|block| &block.insts);
            let called = insts.filter_map(|Placed { inst, .. }| match inst.symbol() {
                Some(callee) if matches!(inst, Inst::Call { .. }) => Some(callee.index()),
                Some(_) | None => None,
            });
            let called: Vec<usize> = called.filter(|callee| is_kernel[*callee]).collect();
            called.iter().for_each(|callee| uses[*callee] += 1);
            calls.push((function.symbol.index(), called));
        }
        for (caller, called) in calls.into_iter().filter(|(_, called)| called.len() > FEW) {
            let name = |symbol: usize| source.symbols[symbol].name.as_str();
            let shared: BTreeSet<&str> =
                called.into_iter().filter(|callee| uses[*callee] > 1).map(name).collect();
            if source.symbols[caller].linkage == Linkage::Export && !shared.is_empty() {
                explain!(
                    "{}: {} kernels are not inlined, which other functions call too",
                    name(caller),
                    shared.len()
                );
                apart.insert(name(caller), shared);
            }
        }
        apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns host IR with a function for each list of kernels, which it calls.
    fn calling(lists: &[&[&str]]) -> Module {
        let names: BTreeSet<&str> = lists.concat().into_iter().collect();
        let imports = names.iter().map(|name| format!("import func @{name}()\n"));
        let functions = lists.iter().enumerate().map(|(i, list)| {
            let calls = list.iter().map(|name| format!("    call @{name}()\n"));
            let calls: String = calls.collect();
            format!("\nexport func @f{i}() {{\nentry:\n{calls}    return\n}}\n")
        });
        let text: String = imports.chain(functions).collect();
        text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn shared_kernels_of_a_choice_stay_apart() {
        for (lists, expected) in [
            // Up to two may be inlined.
            (&[&["a", "b"][..], &["a", "b"]][..], &[][..]),
            (&[&["a", "b", "c"], &["a"]], &["f0 a"]),
            // Each is called in one place.
            (&[&["a", "b", "c"]], &[]),
            (&[&["a", "b", "c"], &["d", "e", "f"]], &[]),
            // One function calls it in two places.
            (&[&["a", "a", "b"]], &["f0 a"]),
            (&[&["a", "b", "c"], &["c", "b", "a"]], &["f0 a b c", "f1 a b c"]),
            // This one is no kernel.
            (&[&["a", "b", "runtime"], &["a", "b", "runtime"]], &[]),
        ] {
            let module = calling(lists);
            let apart = Optimize::O2.apart(&module, |name| name != "runtime");
            let line = |(caller, kernels): (&&str, &BTreeSet<&str>)| {
                format!("{caller} {}", kernels.iter().copied().collect::<Vec<_>>().join(" "))
            };
            assert_eq!(apart.iter().map(line).collect::<Vec<_>>(), expected, "{lists:?}");
            assert!(Optimize::O3.apart(&module, |_| true).is_empty());
        }
    }
}
