//! The symbols of the caller's module by name, and the native symbol of each symbol of the host IR.

use std::collections::HashMap;

use codegen::backend::{
    Capabilities, Error, Existing, Mismatch, Plan, Side, State, SymbolSource, unused_name,
};
use codegen::ir;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, TypeAttribute};
use melior::ir::operation::{OperationLike, OperationMutLike, OperationRefMut};
use melior::ir::{BlockLike, Module, Type};

use crate::op::{
    ARG_ATTRS, CONVENTION, FUNC, GLOBAL, Ops, RES_ATTRS, Reference, SIGNEXT, ZEROEXT, is_defined,
    is_of_declaration, name,
};
use crate::{data, raw};

/// The capabilities of a module.
pub(crate) const CAPABILITIES: Capabilities = Capabilities { once: true, aliases: true };

/// The symbols of the caller's module.
pub(crate) struct ExistingSymbols<'n, 'c, 'a> {
    pub(crate) ops: &'n Ops<'c>,
    pub(crate) operations: HashMap<&'c str, OperationRefMut<'c, 'a>>,
}

impl<'c, 'a> Existing for ExistingSymbols<'_, 'c, 'a> {
    type Native = OperationRefMut<'c, 'a>;

    fn find(&self, name: &str) -> Option<Self::Native> {
        self.operations.get(name).copied()
    }

    fn state(&self, found: Self::Native) -> State {
        match is_defined(&found) {
            false => State::Declared,
            true if self.ops.is_once(&found) => State::Once,
            true => State::Defined,
        }
    }

    fn check(&self, symbol: &ir::SymbolData, found: Self::Native) -> Result<(), Error> {
        check_type(self.ops, symbol, found)
    }
}

/// Checks that an existing symbol is of the same kind, and that a function has the same parameter and result types. A
/// definition must have the C calling convention; an import may have another.
fn check_type(
    ops: &Ops<'_>,
    symbol: &ir::SymbolData,
    found: OperationRefMut<'_, '_>,
) -> Result<(), Error> {
    let ir::SymbolKind::Function(signature) = &symbol.kind else {
        let (wanted, found) = (Declared::data(), Declared { ty: None, ..Declared::of(&found) });
        return check_same(ops, &symbol.name, &wanted, &found);
    };
    let own = function_type(&found).filter(|_| symbol.linkage == ir::Linkage::Import);
    let wanted = own
        .map_or(ops.types.signature(signature), |own| ops.types.like(ops.context, signature, own));
    let wanted = Declared { kind: FUNC.to_owned(), ty: Some(wanted) };
    check_same(ops, &symbol.name, &wanted, &Declared::of(&found))?;
    let mismatch = |mismatch: Mismatch| Err(mismatch.of(&symbol.name));
    let params = signature.params.iter().enumerate().map(|(i, &abi)| (Some(i), abi));
    for (place, abi) in params.chain(signature.result.map(|abi| (None, abi))) {
        let (wanted, other) = match abi.extend {
            ir::Extend::No | ir::Extend::Float16 | ir::Extend::BFloat16 => continue,
            ir::Extend::Sign => (SIGNEXT, ZEROEXT),
            ir::Extend::Zero | ir::Extend::Truth => (ZEROEXT, SIGNEXT),
        };
        if extended(&found, place, other) {
            let (expected, found) = (format!("{} {wanted}", abi.ty), format!("{} {other}", abi.ty));
            return mismatch(Mismatch::at(place, expected, found));
        }
    }
    match found.attribute(CONVENTION).ok().filter(|&found| found != ops.c_convention()) {
        Some(found) if symbol.linkage != ir::Linkage::Import => {
            mismatch(Mismatch::new(ops.c_convention(), found))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns true if a function has an extension attribute on an argument, or on its result.
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

/// The kind of operation that declares a symbol, and its type if it is a function.
pub(crate) struct Declared<'c> {
    kind: String,
    ty: Option<Type<'c>>,
}

impl<'c> Declared<'c> {
    fn data() -> Self {
        Declared { kind: GLOBAL.to_owned(), ty: None }
    }

    pub(crate) fn of<'a>(operation: &impl OperationLike<'c, 'a>) -> Self
    where
        'c: 'a,
    {
        let kind = operation.name().as_string_ref().as_str().unwrap_or_default().to_owned();
        Declared { kind, ty: function_type(operation) }
    }
}

/// Checks that two symbols of a name are of the same kind, and functions of the same type.
pub(crate) fn check_same<'c>(
    ops: &Ops<'c>,
    name: &str,
    wanted: &Declared<'c>,
    found: &Declared<'c>,
) -> Result<(), Error> {
    let mismatch = match (wanted.ty, found.ty) {
        _ if wanted.kind != found.kind => Mismatch::new(&wanted.kind, &found.kind),
        (Some(wanted), Some(found)) if wanted != found => difference(ops, wanted, found),
        (Some(_) | None, _) => return Ok(()),
    };
    Err(mismatch.of(name))
}

/// Returns the type of an `llvm.func`.
fn function_type<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> Option<Type<'c>> {
    let ty = operation.attribute("function_type").ok()?;
    TypeAttribute::try_from(ty).ok().map(|ty| ty.value())
}

/// Returns the first difference between two function types.
fn difference<'c>(ops: &Ops<'c>, wanted: Type<'c>, found: Type<'c>) -> Mismatch {
    let parts = |ty| raw::function_parts(ops.context, ty);
    if let (Some((wanted, _)), Some((found, _))) = (parts(wanted), parts(found)) {
        let mut pairs = wanted.iter().zip(&found).enumerate();
        if let Some((i, (wanted, found))) = pairs.find(|(_, (a, b))| a != b) {
            return Mismatch::at(Some(i), wanted, found);
        }
    }
    Mismatch::new(wanted, found)
}

/// Returns the symbols of a module by name, in one walk over its top level.
pub(crate) fn existing<'c, 'a>(
    module: &'a Module<'c>,
) -> HashMap<&'c str, OperationRefMut<'c, 'a>> {
    operations(module).filter_map(|operation| Some((name(&operation)?, operation))).collect()
}

/// Returns the operations at the top level of a module, in order.
pub(crate) fn operations<'c, 'a>(
    module: &'a Module<'c>,
) -> impl Iterator<Item = OperationRefMut<'c, 'a>> {
    let first = module.body().first_operation_mut();
    std::iter::successors(first, OperationLike::next_in_block_mut)
}

/// The native symbols of the host IR.
pub(crate) struct Symbols<'c, 'a> {
    /// The native symbol of each symbol, in the order of the host IR.
    pub(crate) natives: Vec<OperationRefMut<'c, 'a>>,
    /// The reference by which emitted code reaches each symbol.
    pub(crate) references: Vec<Reference<'c>>,
}

/// Declares the planned symbols.
pub(crate) fn declare<'c, 'a>(
    module: &'a Module<'c>,
    names: &ExistingSymbols<'_, 'c, 'a>,
    source: &ir::Module,
    plan: &[Plan<'_, OperationRefMut<'c, 'a>>],
) -> Symbols<'c, 'a> {
    let ops = names.ops;
    let mut definition = vec![None; source.symbols.len()];
    source.data.iter().for_each(|data| definition[data.symbol.index()] = Some(data));
    let groups = groups(module, names, source, plan);
    let mut symbols = Symbols { natives: Vec::new(), references: Vec::new() };
    for ((symbol, plan), data) in source.symbols.iter().zip(plan).zip(definition) {
        let ty = match &symbol.kind {
            ir::SymbolKind::Function(signature) => ops.types.signature(signature),
            ir::SymbolKind::Data => data.map_or(ops.types.i8, |data| data::ty(ops, data)),
        };
        let (mut native, name) = match &plan.source {
            SymbolSource::Reuse(found) => (*found, symbol.name.as_str()),
            SymbolSource::Define(found, _) => (bare(*found), symbol.name.as_str()),
            SymbolSource::Declare(name, _) => {
                (declare_symbol(module, ops, symbol, name, ty), &**name)
            }
        };
        if let Some(linkage) = plan.defined() {
            describe(ops, symbol, &mut native, linkage, groups.as_deref());
            if plan.preserves_registers && ops.facts.preserve_most {
                native.set_attribute(CONVENTION, ops.preserve_most());
            }
        }
        let mut known = reference(ops, &native, name, ty);
        if let Some(alias) = &plan.alias {
            raw::append(module, ops.alias(alias, ty, known.name));
            known = Reference {
                name: ops.symbol(alias),
                alias: true,
                convention: None,
                function: None,
            };
        }
        symbols.natives.push(native);
        symbols.references.push(known);
    }
    symbols
}

fn declare_symbol<'c, 'a>(
    module: &'a Module<'c>,
    ops: &Ops<'c>,
    symbol: &ir::SymbolData,
    name: &str,
    ty: Type<'c>,
) -> OperationRefMut<'c, 'a> {
    match &symbol.kind {
        ir::SymbolKind::Function(signature) => {
            let mut function = raw::append(module, ops.func(name, ty));
            if symbol.linkage == ir::Linkage::Import {
                ops.extend(&mut function, signature, [Side::Sender, Side::Receiver]);
            }
            function
        }
        ir::SymbolKind::Data => raw::append(module, ops.global(name, ty)),
    }
}

/// Removes what a declaration says beyond its name, its type and its convention: written for another definition, it may
/// be untrue of ours. Calls keep what they say themselves, and attributes of other dialects stay.
fn bare<'c, 'a>(mut native: OperationRefMut<'c, 'a>) -> OperationRefMut<'c, 'a> {
    let names: Vec<_> = native.attributes().map(|(name, _)| name).collect();
    for name in names.iter().filter_map(|name| name.as_string_ref().as_str().ok()) {
        if is_of_declaration(name) {
            native.remove_attribute(name).ok();
        }
    }
    native
}

/// Sets linkage and visibility of a symbol that is about to be defined.
fn describe<'c>(
    ops: &Ops<'c>,
    symbol: &ir::SymbolData,
    native: &mut OperationRefMut<'c, '_>,
    linkage: ir::Linkage,
    groups: Option<&str>,
) {
    let is_data = symbol.kind == ir::SymbolKind::Data;
    let group = |groups| raw::nested_symbol(ops.context, groups, ops.symbol(&symbol.name));
    for (name, value) in ops.visibility(linkage, is_data, groups.map(group)) {
        native.set_attribute(name, value);
    }
}

/// Declares the COMDATs of symbols that linkers merge by them; returns the name of the list.
fn groups<'c, 'a>(
    module: &'a Module<'c>,
    names: &ExistingSymbols<'_, 'c, 'a>,
    source: &ir::Module,
    plan: &[Plan<'_, OperationRefMut<'c, 'a>>],
) -> Option<String> {
    let symbols = source.symbols.iter().zip(plan);
    let is_grouped = |linkage| names.ops.is_grouped(linkage);
    let grouped = symbols.filter(|(_, plan)| plan.defined().is_some_and(is_grouped));
    let grouped: Vec<&str> = grouped.map(|(symbol, _)| symbol.name.as_str()).collect();
    if grouped.is_empty() {
        return None;
    }
    let taken = |name: &str| names.find(name).is_some() || source.find(name).is_some();
    let name = unused_name("__llvm_comdat", taken);
    raw::append(module, names.ops.groups(&name, &grouped));
    Some(name)
}

/// Returns the reference to a symbol of the module.
fn reference<'c>(
    ops: &Ops<'c>,
    native: &OperationRefMut<'c, '_>,
    name: &str,
    ty: Type<'c>,
) -> Reference<'c> {
    let convention = native.attribute(CONVENTION).ok();
    let function = function_type(native).filter(|own| *own != ty);
    Reference { name: ops.symbol(name), alias: false, convention, function }
}
