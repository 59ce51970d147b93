//! Which functions had better keep the registers of their callers.

use crate::ir::{Inst, Linkage, Module};

/// For each symbol whether it is a local function that is never inlined, whose address nobody takes, and which only cold
/// blocks of functions that are not cold themselves call. What these have in registers across such a call costs all of
/// their other calls too, unless the function keeps every register.
pub(super) fn keeping(source: &Module) -> Vec<bool> {
    let mut keeping = vec![false; source.symbols.len()];
    for function in source.functions.iter().filter(|function| function.no_inline) {
        let is_local = source.symbols[function.symbol.index()].linkage == Linkage::Local;
        keeping[function.symbol.index()] = is_local && !function.cold;
    }
    for function in &source.functions {
        for block in &function.blocks {
            let is_aside = block.cold && !function.cold;
            for (_, inst) in &block.insts {
                let is_call = matches!(inst, Inst::Call { .. });
                let used = inst.symbol().filter(|_| !(is_call && is_aside));
                used.into_iter().for_each(|used| keeping[used.index()] = false);
            }
        }
    }
    let relocations = source.data.iter().flat_map(|data| &data.relocations);
    let addresses = relocations.map(|relocation| relocation.symbol);
    addresses
        .chain(source.constructors.iter().copied())
        .for_each(|used| keeping[used.index()] = false);
    keeping
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the functions that keep registers.
    fn kept(text: &str) -> Vec<String> {
        let module: Module = text.parse().expect("it is host IR");
        let symbols = module.symbols.iter().zip(keeping(&module));
        symbols.filter(|(_, keeps)| *keeps).map(|(symbol, _)| symbol.name.clone()).collect()
    }

    #[test]
    fn what_only_cold_blocks_call_keeps_registers() {
        let text = |blocks: &str, address: &str| {
            format!(
                "local data @table size 8 align 8 {{\n    \"\\00\\00\\00\\00\\00\\00\\00\\00\"\n{address}}}\n\n\
                 local func @settle() noinline {{\nentry:\n    return\n}}\n\n\
                 local func @small() {{\nentry:\n    return\n}}\n\n\
                 local func @fail() cold {{\nentry:\n    return\n}}\n\n\
                 once func @shared() noinline {{\nentry:\n    return\n}}\n\n\
                 export func @f(%usual: i64) {{\nentry:\n    %none: i64 = const 0\n    \
                 %is: bool = compare eq %usual, %none\n    branch %is, next1, unusual2\nnext1:\n    \
                 return\nunusual2 cold:\n{blocks}    call @small()\n    call @fail()\n    \
                 call @shared()\n    return\n}}\n"
            )
        };
        let call = "    call @settle()\n";
        assert_eq!(kept(&text(call, "")), ["settle"]);
        assert_eq!(kept(&text(call, "    0 = address @settle+0\n")), [""; 0]);
        let taken = "    %p: ptr = address @settle\n    store %p, %p+0 align 8\n";
        assert_eq!(kept(&text(taken, "")), [""; 0]);
        let hot = text(call, "").replace("next1:\n", "next1:\n    call @settle()\n");
        assert_eq!(kept(&hot), [""; 0]);
        let within = text("", "")
            .replace("@fail() cold {\nentry:\n", "@fail() cold {\nentry:\n    call @settle()\n");
        assert_eq!(kept(&within), [""; 0]);
    }
}
