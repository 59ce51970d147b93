//! Functions that preserve the registers of their callers where one that other objects see does not.

use std::borrow::Cow;

use super::plan::unused_name;
use super::preserve::called_only_from_cold_blocks;
use super::target::Facts;
use crate::ir::{
    Block, Builder, Function, Inst, Linkage, Module, Placed, Symbol, Terminator, Value,
};
use crate::trace::explain;

/// Returns the module with *thunks*: local functions that call an import, or a function that is never inlined and of
/// which linkers keep one copy, and [preserve](super::Plan::preserves_registers) the registers of their callers, as the
/// callee does not. A callee is called through one if only cold blocks of hot functions call it, and if a hot block may
/// follow one of them. Returns the module as it is if there is no such callee, or if the target has no
/// [convention](Facts::preserve_most) for that.
///
/// ```
/// use tvm_ffi_codegen::backend::{Facts, with_preserving_thunks};
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
/// let facts = Facts::of(&"x86_64-unknown-linux-gnu".parse().unwrap());
/// let with = with_preserving_thunks(&module, &facts).to_string();
/// assert!(with.contains("local func @settle.preserving(%p0: ptr) -> ptr noinline {"), "{with}");
/// assert!(with.contains("%settled: ptr = call @settle.preserving(%p)"), "{with}");
/// # Ok::<(), tvm_ffi_codegen::ir::ReadError>(())
/// ```
pub fn with_preserving_thunks<'a>(source: &'a Module, facts: &Facts) -> Cow<'a, Module> {
    if !facts.preserve_most {
        return Cow::Borrowed(source);
    }
    let aside = called_only_from_cold_blocks(source);
    let mut outlined = vec![false; source.symbols.len()];
    source.functions.iter().for_each(|f| outlined[f.symbol.index()] = f.no_inline && !f.cold);
    let is_import = |symbol: &Symbol| {
        let is_foreign = match source.symbols[symbol.index()].linkage {
            Linkage::Import => true,
            Linkage::Once => outlined[symbol.index()],
            Linkage::Export | Linkage::Local | Linkage::Weak => false,
        };
        aside[symbol.index()] && is_foreign
    };
    let mut imports: Vec<Symbol> = Vec::new();
    for function in &source.functions {
        for (block, data) in function.blocks().filter(|(_, data)| data.cold) {
            let called = data.insts.iter().filter_map(|placed| placed.inst.symbol());
            let mut called = called.filter(is_import).peekable();
            if called.peek().is_some() && returns_to_hot(function, block) {
                imports.extend(called);
            }
        }
    }
    if imports.is_empty() {
        return Cow::Borrowed(source);
    }
    for import in &imports {
        let name = &source.symbols[import.index()].name;
        explain!("`{name}` is called through a function that preserves registers");
    }
    let mut module = source.clone();
    let mut thunk: Vec<Option<Symbol>> = vec![None; source.symbols.len()];
    for import in imports {
        let thunk = &mut thunk[import.index()];
        *thunk = Some(thunk.unwrap_or_else(|| add_thunk(&mut module, import)));
    }
    for function in &mut module.functions[..source.functions.len()] {
        for Placed { inst, .. } in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            if let Inst::Call { callee, .. } = inst {
                *callee = thunk[callee.index()].unwrap_or(*callee);
            }
        }
    }
    Cow::Owned(module)
}

/// Defines the thunk of an import.
fn add_thunk(module: &mut Module, import: Symbol) -> Symbol {
    let name = unused_name(&format!("{}.preserving", module.name(import)), |name| {
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
    use crate::backend::preserve::preserving;

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
    fn thunks(text: &str, target: &str) -> Vec<String> {
        let module: Module = text.parse().expect("it is host IR");
        let facts = Facts::of(&target.parse().expect("it is a target"));
        let with = with_preserving_thunks(&module, &facts);
        crate::ir::verify(&with).expect("it is as valid as before");
        let preserves =
            preserving(&with).into_iter().zip(&with.symbols).filter(|(preserves, _)| *preserves);
        preserves.map(|(_, symbol)| symbol.name.clone()).collect()
    }

    #[test]
    fn imports_that_return_to_hot_blocks_are_called_through_thunks() {
        let linux = "aarch64-unknown-linux-gnu";
        assert_eq!(thunks(IMPORTS, linux), ["settle.preserving"]);
        assert_eq!(thunks(IMPORTS, "x86_64-pc-windows-msvc"), [""; 0]);
        let outlined =
            "once func @settle(%p: ptr) -> ptr noinline {\nentry:\n    return %p\n}\n\nexport";
        let once = IMPORTS.replace("import func @settle(ptr) -> ptr\n\nexport", outlined);
        assert_eq!(thunks(&once, linux), ["settle.preserving"]);
        assert_eq!(thunks(&once.replace(" noinline", ""), linux), [""; 0]);
        assert_eq!(thunks(&once.replace(" noinline", " cold"), linux), [""; 0]);
        let taken = IMPORTS.replace("import", "import func @settle.preserving()\n\nimport");
        assert_eq!(thunks(&taken, linux), ["settle.preserving.1"]);
        let changes = [
            ("    return %found", "    %other: ptr = call @settle(%p)\n    return %found"),
            (
                "    jump again2",
                "    %s: ptr = address @settle\n    store %s, %p+0 align 8\n    jump again2",
            ),
            ("next3(%found: ptr):", "next3(%found: ptr) cold:"),
        ];
        for (from, to) in changes {
            assert_eq!(thunks(&IMPORTS.replacen(from, to, 1), linux), [""; 0], "{to}");
        }
    }
}
