//! Functions that should preserve the registers of their callers.

use crate::ir::{Inst, Linkage, Module, Placed};

/// Returns for each symbol whether it should preserve the registers of its callers: a local function that is never
/// inlined, whose address is not taken, and which only cold blocks of hot functions call. Values that live in registers
/// across such a call would otherwise be spilled on the hot path too.
pub(super) fn preserving(source: &Module) -> Vec<bool> {
    let mut preserving = vec![false; source.symbols.len()];
    for function in source.functions.iter().filter(|function| function.no_inline) {
        let is_local = source.symbols[function.symbol.index()].linkage == Linkage::Local;
        preserving[function.symbol.index()] = is_local && !function.cold;
    }
    let aside = called_only_from_cold_blocks(source);
    preserving.iter().zip(aside).map(|(&preserving, aside)| preserving && aside).collect()
}

/// Returns for each symbol whether only calls in cold blocks of hot functions refer to it.
pub(super) fn called_only_from_cold_blocks(source: &Module) -> Vec<bool> {
    let mut aside = vec![true; source.symbols.len()];
    for function in &source.functions {
        for block in &function.blocks {
            let is_aside = block.cold && !function.cold;
            for Placed { inst, .. } in &block.insts {
                let is_call = matches!(inst, Inst::Call { .. });
                let used = inst.symbol().filter(|_| !(is_call && is_aside));
                used.into_iter().for_each(|used| aside[used.index()] = false);
            }
        }
    }
    let relocations = source.data.iter().flat_map(|data| &data.relocations);
    let addresses = relocations.map(|relocation| relocation.symbol);
    addresses
        .chain(source.constructors.iter().copied())
        .for_each(|used| aside[used.index()] = false);
    aside
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the functions that preserve registers.
    fn preserved(text: &str) -> Vec<String> {
        let module: Module = text.parse().expect("it is host IR");
        let symbols = module.symbols.iter().zip(preserving(&module));
        symbols.filter(|(_, preserves)| *preserves).map(|(symbol, _)| symbol.name.clone()).collect()
    }

    /// `f` calls functions in its cold block only.
    const MODULE: &str = r#"
local data @table size 8 align 8 {
    "\00\00\00\00\00\00\00\00"
}

local func @settle() noinline {
entry:
    return
}

local func @small() {
entry:
    return
}

local func @fail() cold {
entry:
    return
}

once func @shared() noinline {
entry:
    return
}

export func @f(%usual: bool, %p: ptr) {
entry:
    branch %usual, next1, unusual2
next1:
    return
unusual2 cold:
    call @settle()
    call @small()
    call @fail()
    call @shared()
    return
}
"#;

    #[test]
    fn what_only_cold_blocks_call_preserves_registers() {
        assert_eq!(preserved(MODULE), ["settle"]);
        let changes = [
            ("next1:\n", "next1:\n    call @settle()\n"),
            ("@fail() cold {\nentry:\n", "@fail() cold {\nentry:\n    call @settle()\n"),
            ("    call @small()\n", "    %s: ptr = address @settle\n    store %s, %p+0 align 8\n"),
            ("\\00\"\n", "\\00\"\n    0 = address @settle+0\n"),
            ("local func @settle", "constructor @settle\n\nlocal func @settle"),
        ];
        for (from, to) in changes {
            assert_eq!(preserved(&MODULE.replacen(from, to, 1)), [""; 0], "{to}");
        }
    }
}
