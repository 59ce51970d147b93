//! Functions that should preserve the registers of their callers.

use std::borrow::Cow;

use super::plan::unused_name;
use super::target::Facts;
use crate::ir::{Block, Builder, Function, Inst, Linkage, Module, Symbol, Terminator, Value};

/// Returns for each symbol whether it should preserve the registers of its callers: a local function that is never
/// inlined, whose address is not taken, and which only cold blocks of hot functions call. Values that live in registers
/// across such a call would otherwise be spilled on the hot path too.
pub(super) fn keeping(source: &Module) -> Vec<bool> {
    let mut keeping = vec![false; source.symbols.len()];
    for function in source.functions.iter().filter(|function| function.no_inline) {
        let is_local = source.symbols[function.symbol.index()].linkage == Linkage::Local;
        keeping[function.symbol.index()] = is_local && !function.cold;
    }
    let aside = called_aside(source);
    keeping.iter().zip(aside).map(|(&keeping, aside)| keeping && aside).collect()
}

/// Returns the module with each import that only cold blocks of hot functions call, of which one returns to a hot block,
/// called through a local function, which then [preserves](super::Plan::keeps) the registers that the import does not.
/// The module itself if there is no such import, or if the target has no [convention](Facts::keeps) for that.
///
/// ```
/// use tvm_ffi_codegen::backend::{Facts, with_keepers};
/// use tvm_ffi_codegen::ir::Module;
///
/// let text = "\
/// import func @settle(ptr) -> ptr
///
/// export func @f(%p: ptr, %n: i64) -> ptr {
/// entry:
///     %zero: i64 = const 0
///     %usual: bool = compare eq %n, %zero
///     branch %usual, next2(%p), unusual1
/// unusual1 cold:
///     %settled: ptr = call @settle(%p)
///     jump next2(%settled)
/// next2(%found: ptr):
///     return %found
/// }
/// ";
/// let module: Module = text.parse()?;
/// let facts = Facts::of(&"x86_64-unknown-linux-gnu".parse()?);
/// let with = with_keepers(&module, &facts).to_string();
/// assert!(with.contains("local func @settle.keeping(%p0: ptr) -> ptr noinline {"), "{with}");
/// assert!(with.contains("%settled: ptr = call @settle.keeping(%p)"), "{with}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_keepers<'a>(source: &'a Module, facts: &Facts) -> Cow<'a, Module> {
    if !facts.keeps {
        return Cow::Borrowed(source);
    }
    let aside = called_aside(source);
    let is_import = |symbol: &Symbol| {
        aside[symbol.index()] && source.symbols[symbol.index()].linkage == Linkage::Import
    };
    let mut imports: Vec<Symbol> = Vec::new();
    for function in &source.functions {
        for (block, data) in function.blocks().filter(|(_, data)| data.cold) {
            let called = data.insts.iter().filter_map(|(_, inst)| inst.symbol());
            let mut called = called.filter(is_import).peekable();
            if called.peek().is_some() && returns_to_hot(function, block) {
                imports.extend(called);
            }
        }
    }
    if imports.is_empty() {
        return Cow::Borrowed(source);
    }
    let mut module = source.clone();
    let mut keeper: Vec<Option<Symbol>> = vec![None; source.symbols.len()];
    for import in imports {
        let keeper = &mut keeper[import.index()];
        *keeper = Some(keeper.unwrap_or_else(|| add_keeper(&mut module, import)));
    }
    for function in &mut module.functions[..source.functions.len()] {
        for (_, inst) in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            if let Inst::Call { callee, .. } = inst {
                *callee = keeper[callee.index()].unwrap_or(*callee);
            }
        }
    }
    Cow::Owned(module)
}

/// Defines a function that calls an import.
fn add_keeper(module: &mut Module, import: Symbol) -> Symbol {
    let name = unused_name(&format!("{}.keeping", module.name(import)), |name| {
        module.find(name).is_some()
    });
    let signature = module.signature(import).expect("what is called is a function").clone();
    let count = signature.params.len();
    let mut b = Builder::function(module, &name, Linkage::Local, signature);
    b.set_no_inline();
    let params: Vec<Value> = (0..count).map(|index| b.param(index)).collect();
    let result = b.call(import, &params);
    b.ret(result);
    let function = b.finish();
    let symbol = function.symbol;
    module.functions.push(function);
    symbol
}

/// Returns for each symbol whether only calls in cold blocks of hot functions refer to it.
fn called_aside(source: &Module) -> Vec<bool> {
    let mut aside = vec![true; source.symbols.len()];
    for function in &source.functions {
        for block in &function.blocks {
            let is_aside = block.cold && !function.cold;
            for (_, inst) in &block.insts {
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

/// Returns true if a hot block may follow a cold one.
fn returns_to_hot(function: &Function, from: Block) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    let mut left = vec![from];
    while let Some(block) = left.pop() {
        let targets = function.blocks[block.index()].end.iter().flat_map(Terminator::targets);
        for target in targets.map(|target| target.block) {
            if !function.blocks[target.index()].cold {
                return true;
            }
            if !std::mem::replace(&mut seen[target.index()], true) {
                left.push(target);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the functions that preserve registers.
    fn kept(text: &str) -> Vec<String> {
        let module: Module = text.parse().expect("it is host IR");
        let symbols = module.symbols.iter().zip(keeping(&module));
        symbols.filter(|(_, keeps)| *keeps).map(|(symbol, _)| symbol.name.clone()).collect()
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
    fn what_only_cold_blocks_call_keeps_registers() {
        assert_eq!(kept(MODULE), ["settle"]);
        let changes = [
            ("next1:\n", "next1:\n    call @settle()\n"),
            ("@fail() cold {\nentry:\n", "@fail() cold {\nentry:\n    call @settle()\n"),
            ("    call @small()\n", "    %s: ptr = address @settle\n    store %s, %p+0 align 8\n"),
            ("\\00\"\n", "\\00\"\n    0 = address @settle+0\n"),
            ("local func @settle", "constructor @settle\n\nlocal func @settle"),
        ];
        for (from, to) in changes {
            assert_eq!(kept(&MODULE.replacen(from, to, 1)), [""; 0], "{to}");
        }
    }

    /// `f` calls an import in a cold block that returns to a hot one.
    const IMPORTS: &str = r#"
import func @settle(ptr) -> ptr

export func @f(%p: ptr, %n: i64) -> ptr {
entry:
    %zero: i64 = const 0
    %usual: bool = compare eq %n, %zero
    branch %usual, next3(%p), unusual1
unusual1 cold:
    %settled: ptr = call @settle(%p)
    jump again2
again2 cold:
    jump next3(%settled)
next3(%found: ptr):
    return %found
}
"#;

    /// Returns the names of the functions that preserve registers for an import.
    fn keepers(text: &str, target: &str) -> Vec<String> {
        let module: Module = text.parse().expect("it is host IR");
        let facts = Facts::of(&target.parse().expect("it is a target"));
        let with = with_keepers(&module, &facts);
        crate::ir::verify(&with).expect("it is as valid as before");
        let keeps = keeping(&with).into_iter().zip(&with.symbols).filter(|(keeps, _)| *keeps);
        keeps.map(|(_, symbol)| symbol.name.clone()).collect()
    }

    #[test]
    fn imports_that_return_to_hot_blocks_are_called_through_keepers() {
        let linux = "aarch64-unknown-linux-gnu";
        assert_eq!(keepers(IMPORTS, linux), ["settle.keeping"]);
        assert_eq!(keepers(IMPORTS, "x86_64-pc-windows-msvc"), [""; 0]);
        let taken = IMPORTS.replace("import", "import func @settle.keeping()\n\nimport");
        assert_eq!(keepers(&taken, linux), ["settle.keeping.1"]);
        let changes = [
            ("    return %found", "    %other: ptr = call @settle(%p)\n    return %found"),
            (
                "    jump again2",
                "    %s: ptr = address @settle\n    store %s, %p+0 align 8\n    jump again2",
            ),
            ("next3(%found: ptr):", "next3(%found: ptr) cold:"),
        ];
        for (from, to) in changes {
            assert_eq!(keepers(&IMPORTS.replacen(from, to, 1), linux), [""; 0], "{to}");
        }
    }
}
