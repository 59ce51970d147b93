//! Symbols: what the caller's module has is checked against what the host IR wants before anything is
//! declared, so that a refusal leaves no trace.

use std::borrow::Cow;
use std::collections::HashMap;

use codegen::ir::{self, Inst};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute, TypeAttribute};
use melior::ir::operation::{OperationLike, OperationMutLike, OperationRefMut};
use melior::ir::{Attribute, BlockLike, Module, Operation, RegionLike, RegionRef, Type};

use crate::error::Error;
use crate::op::{ARG_ATTRS, CONVENTION, FUNC, GLOBAL, LINKAGE, Ops, RES_ATTRS};
use crate::raw;
use crate::types::{SIGNEXT, ZEROEXT, extension};

/// What the caller's module has under each name.
pub(crate) type Existing<'c, 'a> = HashMap<&'c str, OperationRefMut<'c, 'a>>;

/// What becomes of one symbol of the host IR.
#[derive(Debug)]
pub(crate) enum Plan<'c, 'a> {
    /// The caller's module has it.
    Reuse(OperationRefMut<'c, 'a>),
    /// It is declared under this name.
    Declare(Cow<'a, str>, ir::Linkage),
}

/// The operation of one symbol.
#[derive(Debug)]
pub(crate) enum Native<'c, 'a> {
    /// In the caller's module.
    Theirs(OperationRefMut<'c, 'a>),
    /// Not in it yet.
    Ours(Operation<'c>),
}

/// How our own code refers to a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference<'c> {
    /// Its name, or that of an alias.
    pub(crate) name: Attribute<'c>,
    /// The name is that of an alias, which the dialect calls by its address only.
    pub(crate) alias: bool,
    /// The calling convention, where the caller's module has the function.
    pub(crate) convention: Option<Attribute<'c>>,
    /// Its result is extended as the host IR says. A function of the caller's module need not do so.
    pub(crate) extends: bool,
}

/// Every symbol of the host IR, in its order.
pub(crate) struct Symbols<'c, 'a> {
    /// Who they are.
    pub(crate) natives: Vec<Native<'c, 'a>>,
    /// How our own code reaches them.
    pub(crate) references: Vec<Reference<'c>>,
    /// Local names of what is exported.
    aliases: Vec<Operation<'c>>,
}

impl<'c, 'a> Native<'c, 'a> {
    /// Sets an attribute.
    pub(crate) fn set(&mut self, name: &str, value: Attribute<'c>) {
        match self {
            Native::Theirs(operation) => operation.set_attribute(name, value),
            Native::Ours(operation) => operation.set_attribute(name, value),
        }
    }

    /// Where the body goes.
    pub(crate) fn region(&self) -> RegionRef<'c, '_> {
        let region = match self {
            Native::Theirs(operation) => operation.region(0),
            Native::Ours(operation) => operation.region(0),
        };
        region.expect("functions and globals have a region")
    }
}

/// Every operation of a module that has a name. One walk over the top level.
pub(crate) fn existing<'c, 'a>(module: &'a Module<'c>) -> Existing<'c, 'a> {
    operations(module).filter_map(|operation| Some((name(&operation)?, operation))).collect()
}

/// The top level of a module, in order.
pub(crate) fn operations<'c, 'a>(
    module: &'a Module<'c>,
) -> impl Iterator<Item = OperationRefMut<'c, 'a>> {
    let first = module.body().first_operation_mut();
    std::iter::successors(first, OperationLike::next_in_block_mut)
}

/// The name of a symbol operation.
pub(crate) fn name<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> Option<&'c str> {
    let name = operation.attribute("sym_name").ok()?;
    StringAttribute::try_from(name).ok().map(|name| name.value())
}

/// The most bytes of a data object: its type has 32 bits for their number.
const MAX_BYTES: usize = u32::MAX as usize;

/// Plans every symbol, in the order of the host IR. Changes nothing.
pub(crate) fn plan<'c, 'a>(
    ops: &Ops<'c>,
    existing: &Existing<'c, 'a>,
    source: &'a ir::Module,
) -> Result<Vec<Plan<'c, 'a>>, Error> {
    if let Some(data) = source.data.iter().find(|data| data.bytes.len() > MAX_BYTES) {
        let name = source.name(data.symbol);
        return Err(Error::native(format!("`{name}` is larger than {MAX_BYTES} bytes")));
    }
    let plan_one = |symbol: &'a ir::SymbolData| {
        let name = Cow::Borrowed(symbol.name.as_str());
        let found = existing.get(symbol.name.as_str()).copied();
        Ok(match (symbol.linkage, found) {
            (ir::Linkage::Import, Some(found)) => {
                check_type(ops, symbol, found)?;
                Plan::Reuse(found)
            }
            (ir::Linkage::Import, None) => Plan::Declare(name, ir::Linkage::Import),
            (ir::Linkage::Local, Some(_)) => {
                let taken = |name: &str| existing.contains_key(name) || source.find(name).is_some();
                let name = unused_name(&symbol.name, taken);
                Plan::Declare(name.into(), ir::Linkage::Local)
            }
            (ir::Linkage::Local, None) => Plan::Declare(name, ir::Linkage::Local),
            (ir::Linkage::Export, Some(found)) => {
                check_undefined(symbol, found)?;
                check_type(ops, symbol, found)?;
                Plan::Reuse(found)
            }
            (ir::Linkage::Export, None) => Plan::Declare(name, ir::Linkage::Export),
        })
    };
    source.symbols.iter().map(plan_one).collect()
}

/// `name`, `name.1`, `name.2`, …: the first that is not taken.
pub(crate) fn unused_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1_u32..).map(|i| format!("{name}.{i}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).expect("there are more numbers than symbols")
}

/// A name to export may be declared by the caller's module, but not defined.
fn check_undefined(symbol: &ir::SymbolData, found: OperationRefMut<'_, '_>) -> Result<(), Error> {
    if is_defined(&found) {
        return Err(Error::Defined { symbol: symbol.name.clone() });
    }
    Ok(())
}

/// True if a function has a body, or a data object contents.
pub(crate) fn is_defined<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> bool {
    let body = operation.region(0).is_ok_and(|region| region.first_block().is_some());
    body || operation.has_attribute("value")
}

/// A symbol that is there must be the same kind of thing, and a function must take and return values
/// of the same types. What is defined here follows the C calling convention; what is only called may
/// follow another.
fn check_type(
    ops: &Ops<'_>,
    symbol: &ir::SymbolData,
    found: OperationRefMut<'_, '_>,
) -> Result<(), Error> {
    let ir::SymbolKind::Function(signature) = &symbol.kind else {
        return check_same(ops, &symbol.name, (GLOBAL, None), (&kind(&found), None));
    };
    let wanted = (FUNC, Some(ops.types.signature(signature)));
    check_same(ops, &symbol.name, wanted, (&kind(&found), function_type(&found)))?;
    let mismatch = |argument, expected: String, found: String| {
        Err(Error::Kernel { symbol: symbol.name.clone(), argument, expected, found })
    };
    let params = signature.params.iter().enumerate().map(|(i, &abi)| (Some(i), abi));
    for (place, abi) in params.chain(signature.result.map(|abi| (None, abi))) {
        let (wanted, other) = match abi.extend {
            ir::Extend::No => continue,
            ir::Extend::Sign => (SIGNEXT, ZEROEXT),
            ir::Extend::Zero => (ZEROEXT, SIGNEXT),
        };
        if extended(&found, place, other) {
            return mismatch(place, format!("{} {wanted}", abi.ty), format!("{} {other}", abi.ty));
        }
    }
    match found.attribute(CONVENTION).ok().filter(|&found| found != ops.c_convention()) {
        Some(found) if symbol.linkage == ir::Linkage::Export => {
            mismatch(None, ops.c_convention().to_string(), found.to_string())
        }
        Some(_) | None => Ok(()),
    }
}

/// True if a function says of an argument, or of its result, that it is extended so.
fn extended<'c: 'a, 'a>(
    function: &impl OperationLike<'c, 'a>,
    argument: Option<usize>,
    extension: &str,
) -> bool {
    let list = function.attribute(if argument.is_some() { ARG_ATTRS } else { RES_ATTRS }).ok();
    list.and_then(|list| ArrayAttribute::try_from(list).ok())
        .and_then(|list| list.element(argument.unwrap_or(0)).ok())
        .and_then(|each| DictionaryAttribute::try_from(each).ok())
        .is_some_and(|each| each.element_by_name(extension).is_some())
}

/// Two symbols of a name are the same kind of operation, and of one type if they are functions.
pub(crate) fn check_same<'c>(
    ops: &Ops<'c>,
    name: &str,
    wanted: (&str, Option<Type<'c>>),
    found: (&str, Option<Type<'c>>),
) -> Result<(), Error> {
    let mismatch = |argument, expected: String, found: String| {
        Err(Error::Kernel { symbol: name.into(), argument, expected, found })
    };
    match (wanted, found) {
        ((wanted, _), (found, _)) if wanted != found => mismatch(None, wanted.into(), found.into()),
        ((_, Some(wanted)), (_, Some(found))) if wanted != found => {
            let (argument, wanted, found) = difference(ops, wanted, found);
            mismatch(argument, wanted, found)
        }
        _ => Ok(()),
    }
}

/// The name of the kind of an operation.
pub(crate) fn kind<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> String {
    operation.name().as_string_ref().as_str().unwrap_or_default().to_owned()
}

/// The type of an `llvm.func`.
pub(crate) fn function_type<'c: 'a, 'a>(
    operation: &impl OperationLike<'c, 'a>,
) -> Option<Type<'c>> {
    let ty = operation.attribute("function_type").ok()?;
    TypeAttribute::try_from(ty).ok().map(|ty| ty.value())
}

/// The first difference between two function types: which argument, wanted, found.
fn difference<'c>(
    ops: &Ops<'c>,
    wanted: Type<'c>,
    found: Type<'c>,
) -> (Option<usize>, String, String) {
    let parts = |ty| raw::function_parts(ops.context, ty);
    if let (Some((wanted, _)), Some((found, _))) = (parts(wanted), parts(found)) {
        let mut pairs = wanted.iter().zip(&found).enumerate();
        if let Some((i, (wanted, found))) = pairs.find(|(_, (a, b))| a != b) {
            return (Some(i), wanted.to_string(), found.to_string());
        }
    }
    (None, wanted.to_string(), found.to_string())
}

/// Declares what the plan declares, outside the caller's module.
pub(crate) fn declare<'c, 'a>(
    ops: &Ops<'c>,
    existing: &Existing<'c, 'a>,
    source: &ir::Module,
    plan: Vec<Plan<'c, 'a>>,
) -> Symbols<'c, 'a> {
    let mut symbols = Symbols { natives: Vec::new(), references: Vec::new(), aliases: Vec::new() };
    let (definitions, used) = (definitions(source), used(source));
    for (i, (symbol, plan)) in source.symbols.iter().zip(plan).enumerate() {
        let ty = match &symbol.kind {
            ir::SymbolKind::Function(signature) => ops.types.signature(signature),
            ir::SymbolKind::Data => ops.bytes(definitions[i].map_or(1, |data| data.bytes.len())),
        };
        let (native, mut reference) = match plan {
            Plan::Reuse(operation) => reuse(ops, symbol, operation),
            Plan::Declare(name, linkage) => declare_symbol(ops, symbol, &name, linkage, ty),
        };
        // What is exported is reached by a local name, so that a library loaded earlier that exports
        // the same cannot take its place.
        if used[i] && symbol.linkage == ir::Linkage::Export {
            let taken = |name: &str| existing.contains_key(name) || source.find(name).is_some();
            let name = unused_name(&format!("{}.local", symbol.name), taken);
            symbols.aliases.push(ops.alias(&name, ty, reference.name));
            reference.name = ops.symbol(&name);
            reference.alias = true;
        }
        symbols.natives.push(native);
        symbols.references.push(reference);
    }
    symbols
}

/// The definition of each symbol that is data and defined.
fn definitions(source: &ir::Module) -> Vec<Option<&ir::Data>> {
    let mut definitions = vec![None; source.symbols.len()];
    source.data.iter().for_each(|data| definitions[data.symbol.index()] = Some(data));
    definitions
}

/// Whether instructions refer to each symbol.
fn used(source: &ir::Module) -> Vec<bool> {
    let mut used = vec![false; source.symbols.len()];
    let blocks = source.functions.iter().flat_map(|function| &function.blocks);
    for (_, inst) in blocks.flat_map(|block| &block.insts) {
        match inst {
            Inst::Address { symbol } | Inst::Call { callee: symbol, .. } => {
                used[symbol.index()] = true;
            }
            Inst::Const { .. }
            | Inst::StackSlot { .. }
            | Inst::Load { .. }
            | Inst::Store { .. }
            | Inst::PtrAdd { .. }
            | Inst::Binary { .. }
            | Inst::Compare { .. }
            | Inst::Select { .. }
            | Inst::Convert { .. }
            | Inst::CallIndirect { .. } => {}
        }
    }
    used
}

fn reuse<'c, 'a>(
    ops: &Ops<'c>,
    symbol: &ir::SymbolData,
    mut operation: OperationRefMut<'c, 'a>,
) -> (Native<'c, 'a>, Reference<'c>) {
    let name = ops.symbol(&symbol.name);
    let mut reference = Reference { name, alias: false, convention: None, extends: true };
    if symbol.linkage == ir::Linkage::Export {
        operation.set_attribute(LINKAGE, ops.external());
    }
    if let ir::SymbolKind::Function(signature) = &symbol.kind {
        if symbol.linkage == ir::Linkage::Export {
            for (name, value) in ops.extensions(signature, true).into_iter().flatten() {
                operation.set_attribute(name, value);
            }
        } else {
            reference.convention = operation.attribute(CONVENTION).ok();
            let result = signature.result.and_then(|abi| extension(abi, ops.riscv));
            reference.extends = result.is_none_or(|wanted| extended(&operation, None, wanted));
        }
    }
    (Native::Theirs(operation), reference)
}

fn declare_symbol<'c, 'a>(
    ops: &Ops<'c>,
    symbol: &ir::SymbolData,
    name: &str,
    linkage: ir::Linkage,
    ty: Type<'c>,
) -> (Native<'c, 'a>, Reference<'c>) {
    let operation = match &symbol.kind {
        ir::SymbolKind::Function(signature) => ops.func(name, linkage, signature, ty),
        ir::SymbolKind::Data => ops.global(name, linkage, ty),
    };
    let name = ops.symbol(name);
    let reference = Reference { name, alias: false, convention: None, extends: true };
    (Native::Ours(operation), reference)
}

impl<'c> Symbols<'c, '_> {
    /// Moves what is ours into the caller's module: what everybody sees, what only we see, aliases.
    pub(crate) fn finish(self, module: &Module<'c>, source: &ir::Module) {
        let mut kept = Vec::new();
        for (symbol, native) in source.symbols.iter().zip(self.natives) {
            match (symbol.linkage, native) {
                (_, Native::Theirs(_)) => {}
                (ir::Linkage::Local, Native::Ours(operation)) => kept.push(operation),
                (ir::Linkage::Import | ir::Linkage::Export, Native::Ours(operation)) => {
                    module.body().append_operation(operation);
                }
            }
        }
        for operation in kept.into_iter().chain(self.aliases) {
            module.body().append_operation(operation);
        }
    }
}
