//! The verifier checks that symbols are defined as their linkage says, and that data and functions are well-formed.

mod function;
#[cfg(test)]
mod tests;

use std::error;
use std::fmt;

use super::entity::Symbol;
use super::module::{Data, Function, Module};
use super::signature::Signature;
use super::symbols::{Linkage, SymbolKind};

/// The error of malformed host IR, which no backend accepts: a bug in lowering, or in the builder of the module.
#[derive(Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The rule that is broken.
    pub reason: String,
    /// The text of the function that breaks the rule; only its name if the function refers to a value, block or symbol
    /// that does not exist.
    pub function: Option<String>,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed host IR: {}", self.reason)?;
        self.function.iter().try_for_each(|function| write!(f, "\n{function}"))
    }
}

/// Prints as `Display` does, so that `unwrap` shows the function.
impl fmt::Debug for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl error::Error for Malformed {}

/// Checks a module.
///
/// Blocks must be in reverse postorder: then a definition, which dominates its uses, also precedes them, and backends
/// translate in one pass.
///
/// # Errors
/// The first broken rule.
pub fn verify(module: &Module) -> Result<(), Malformed> {
    symbols(module).map_err(|reason| Malformed { reason, function: None })?;
    module.functions.iter().try_for_each(|function| function::verify(module, function))
}

/// Returns an error if `ok` is false.
fn check(ok: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(reason()) }
}

/// Checks symbols, constructors and data, without looking into functions.
fn symbols(module: &Module) -> Result<(), String> {
    let mut defined = vec![0; module.symbols.len()];
    let functions = module.functions.iter().map(|function| (function.symbol, true));
    for (symbol, is_function) in functions.chain(module.data.iter().map(|d| (d.symbol, false))) {
        let count = defined.get_mut(symbol.index());
        *count.ok_or_else(|| format!("{symbol} is not of the module"))? += 1;
        let name = module.name(symbol);
        check(module.signature(symbol).is_some() == is_function, || {
            format!("{name} is defined as something else")
        })?;
    }
    for (symbol, count) in module.symbols.iter().zip(defined) {
        let expected = u32::from(symbol.linkage != Linkage::Import);
        let name = &symbol.name;
        check(count == expected, || format!("{name} is defined {count} times, not {expected}"))?;
        if let SymbolKind::Function(signature) = &symbol.kind {
            check(symbol.linkage != Linkage::Weak, || format!("{name} is a weak function"))?;
            self::signature(name, signature)?;
        }
    }
    for file in &module.files {
        let is_plain = !file.is_empty() && !file.contains(|c: char| c.is_control() || c == '"');
        check(is_plain, || format!("{file:?} is no name of a source file"))?;
    }
    module.constructors.iter().try_for_each(|&symbol| constructor(module, symbol))?;
    module.data.iter().try_for_each(|data| self::data(module, data))
}

/// Checks that C functions can have the parameters and the result. Only arguments of functions elsewhere are 16-bit
/// floats: code has no values of such a type.
fn signature(name: &str, signature: &Signature) -> Result<(), String> {
    let mut all = signature.params.iter().chain(&signature.result);
    let is_half = |abi: &super::AbiType| abi.extend.is_half();
    let wrong = all.find(|abi| !abi.is_of_c());
    let wrong = wrong.or(signature.result.as_ref().filter(|abi| is_half(abi)));
    wrong.map_or(Ok(()), |abi| Err(format!("{name} takes or returns {abi}")))
}

fn constructor(module: &Module, symbol: Symbol) -> Result<(), String> {
    let data = module.symbols.get(symbol.index());
    let data = data.ok_or_else(|| format!("{symbol} is not of the module"))?;
    let runs = data.kind == SymbolKind::Function(Signature::new(&[], None));
    let defined = data.linkage != Linkage::Import;
    check(runs && defined, || format!("{} cannot be a constructor", data.name))
}

fn data(module: &Module, data: &Data) -> Result<(), String> {
    let name = module.name(data.symbol);
    check(data.align.is_power_of_two(), || format!("{name} has alignment {}", data.align))?;
    let constant = !data.writable && data.relocations.is_empty();
    let is_weak = module.symbols[data.symbol.index()].linkage == Linkage::Weak;
    let zeros = data.writable && data.relocations.is_empty() && data.bytes.iter().all(|b| *b == 0);
    check(!is_weak || zeros, || format!("{name} is no variable of zeros, and weak"))?;
    check(constant || !data.large, || format!("{name} is no constant, and large"))?;
    let plain = constant && !data.large && data.align == 1;
    check(plain || !data.listed, || format!("{name} is no constant of bytes, and listed"))?;
    check(data.relocations.is_empty() || data.align >= ADDRESS as u32, || {
        format!("{name} holds addresses at alignment {}", data.align)
    })?;
    let mut free = 0;
    for relocation in &data.relocations {
        let known = relocation.symbol.index() < module.symbols.len();
        check(known, || format!("{name} refers to {}", relocation.symbol))?;
        let offset = relocation.offset as usize;
        let aligned = offset.is_multiple_of(ADDRESS) && offset >= free;
        check(aligned, || format!("{name} has an address at {offset}"))?;
        free = offset + ADDRESS;
        let place = data.bytes.get(offset..free);
        let zero = place.is_some_and(|place| place.iter().all(|&byte| byte == 0));
        check(zero, || format!("{name} has no room for an address at {offset}"))?;
    }
    Ok(())
}

/// The size of an address in bytes.
const ADDRESS: usize = 8;

/// Returns the error for a function, with its text.
fn malformed(module: &Module, function: &Function, reason: String) -> Malformed {
    struct Text<'a>(&'a Module, &'a Function);
    impl fmt::Display for Text<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            super::print::print_function(f, self.0, self.1)
        }
    }
    Malformed { reason, function: Some(Text(module, function).to_string()) }
}
