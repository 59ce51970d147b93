//! The symbols of the caller's module by name, and the native symbol of each symbol of the host IR.

use codegen::backend::{Capabilities, Error, Existing, Mismatch, Plan, State, SymbolSource, Weak};
use codegen::ir;
use inkwell::attributes::AttributeLoc;
use inkwell::module::{Linkage, Module};
use inkwell::types::FunctionType;
use inkwell::values::{FunctionValue, GlobalValue, PointerValue, UnnamedAddress};
use inkwell::{DLLStorageClass, GlobalVisibility};

use crate::data;
use crate::raw::{self, Found};
use crate::types::{self, Types};

/// The capabilities of a module.
pub(crate) const CAPABILITIES: Capabilities = Capabilities { once: true, aliases: true };

/// The symbols of the caller's module.
pub(crate) struct ExistingSymbols<'a, 'ctx> {
    pub(crate) module: &'a Module<'ctx>,
    pub(crate) types: &'a Types<'ctx>,
    pub(crate) source: &'a ir::Module,
}

impl<'ctx> Existing for ExistingSymbols<'_, 'ctx> {
    type Native = Found<'ctx>;

    fn find(&self, name: &str) -> Option<Found<'ctx>> {
        raw::find(self.module, name)
    }

    fn state(&self, found: Found<'ctx>) -> State {
        let once = |global: GlobalValue<'_>| global.get_linkage() == Linkage::LinkOnceODR;
        match found.is_defined() {
            false => State::Declared,
            true if found.global().is_some_and(once) => State::Once,
            true => State::Defined,
        }
    }

    fn check(&self, symbol: &ir::SymbolData, found: Found<'ctx>) -> Result<(), Error> {
        check_type(self.types, symbol, found)?;
        let definition = self.source.find(&symbol.name);
        let definition = self.source.data.iter().find(|data| Some(data.symbol) == definition);
        match (definition, found) {
            (Some(data), Found::Variable(global)) => {
                data::check_type(self.module, self.types, symbol, data, global)
            }
            (Some(_) | None, _) => Ok(()),
        }
    }
}

/// Checks that an existing symbol is of the same kind, and that a function has the same parameter and result types.
fn check_type<'ctx>(
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    found: Found<'ctx>,
) -> Result<(), Error> {
    let expected = match symbol.kind {
        ir::SymbolKind::Function(_) => "a function",
        ir::SymbolKind::Data => "data",
    };
    let mismatch = match (&symbol.kind, Native::from(found).function) {
        _ if matches!(found, Found::Resolver(_)) => Some(Mismatch::new(expected, "an ifunc")),
        (ir::SymbolKind::Data, None) => None,
        (ir::SymbolKind::Data, Some(_)) => Some(Mismatch::new(expected, "a function")),
        (ir::SymbolKind::Function(_), None) => Some(Mismatch::new(expected, "data")),
        (ir::SymbolKind::Function(wanted), Some(function)) => {
            difference(types, wanted, function, symbol.linkage != ir::Linkage::Import)
        }
    };
    mismatch.map_or(Ok(()), |mismatch| Err(mismatch.of(&symbol.name)))
}

/// Returns the first difference between a signature and a function. A definition must have the C calling convention; an
/// import may have another.
fn difference<'ctx>(
    types: &Types<'ctx>,
    wanted: &ir::Signature,
    function: FunctionValue<'ctx>,
    exact: bool,
) -> Option<Mismatch> {
    let found = function.get_type();
    let expected = if exact { types.signature(wanted) } else { types.like(wanted, found) };
    if expected != found {
        return Some(type_difference(expected, found));
    }
    let other = |abi: &ir::AbiType| match abi.extend {
        ir::Extend::No | ir::Extend::Float16 | ir::Extend::BFloat16 => None,
        ir::Extend::Sign => Some(("signext", types.attributes.zeroext, "zeroext")),
        ir::Extend::Zero | ir::Extend::Truth => {
            Some(("zeroext", types.attributes.signext, "signext"))
        }
    };
    let extended = |abi: &ir::AbiType, place| {
        let (wanted, other, name) = other(abi)?;
        function.get_enum_attribute(place, other.get_enum_kind_id())?;
        Some((format!("{} {wanted}", abi.ty), format!("{} {name}", abi.ty)))
    };
    for (i, abi) in wanted.params.iter().enumerate() {
        if let Some((expected, found)) = extended(abi, AttributeLoc::Param(i as u32)) {
            return Some(Mismatch::at(Some(i), expected, found));
        }
    }
    let result = wanted.result.as_ref().and_then(|abi| extended(abi, AttributeLoc::Return));
    if let Some((expected, found)) = result {
        return Some(Mismatch::new(format!("a result {expected}"), format!("a result {found}")));
    }
    let convention = function.get_call_conventions();
    let name = |convention| format!("of calling convention {convention}");
    (exact && convention != C).then(|| Mismatch::new(name(C), name(convention)))
}

/// The C calling convention.
const C: u32 = 0;

fn type_difference(expected: FunctionType<'_>, found: FunctionType<'_>) -> Mismatch {
    let (wanted, has) = (expected.get_param_types(), found.get_param_types());
    let text = |ty: inkwell::support::LLVMString| ty.to_string_lossy().into_owned();
    if wanted.len() == has.len() {
        let differ = wanted.iter().zip(&has).position(|(a, b)| a != b);
        if let Some(i) = differ {
            let (expected, found) = (wanted[i].print_to_string(), has[i].print_to_string());
            return Mismatch::at(Some(i), text(expected), text(found));
        }
    }
    Mismatch::new(text(expected.print_to_string()), text(found.print_to_string()))
}

/// A native symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Native<'ctx> {
    /// The global value, or an alias.
    pub(crate) global: GlobalValue<'ctx>,
    /// The function to call; `None` for data.
    pub(crate) function: Option<FunctionValue<'ctx>>,
}

/// The native symbols of the host IR.
pub(crate) struct Symbols<'ctx> {
    /// The native symbol of each symbol, in the order of the host IR.
    pub(crate) natives: Vec<Native<'ctx>>,
    /// The address by which emitted code reaches each symbol.
    pub(crate) references: Vec<PointerValue<'ctx>>,
}

/// The convention by which a callee preserves most registers: `LLVMPreserveMostCallConv` of llvm-c/Core.h.
const PRESERVE_MOST: u32 = 14;

/// Declares the planned symbols.
pub(crate) fn declare<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    source: &ir::Module,
    plan: &[Plan<'_, Found<'ctx>>],
) -> Symbols<'ctx> {
    let mut definition = vec![None; source.symbols.len()];
    source.data.iter().for_each(|data| definition[data.symbol.index()] = Some(data));
    let mut symbols = Symbols { natives: Vec::new(), references: Vec::new() };
    for ((symbol, plan), data) in source.symbols.iter().zip(plan).zip(definition) {
        let native = match &plan.source {
            SymbolSource::Reuse(found) => Native::from(*found),
            SymbolSource::Define(found, _) => bare(Native::from(*found)),
            SymbolSource::Declare(name, _) => declare_symbol(module, types, symbol, name, data),
        };
        if let Some(linkage) = plan.defined() {
            describe(module, types, native, linkage);
            if let (Some(function), true) =
                (native.function, plan.preserves_registers && types.facts.preserve_most)
            {
                function.set_call_conventions(PRESERVE_MOST);
            }
        }
        let alias = plan.alias.as_ref().map(|name| raw::add_alias(module, native.global, name));
        symbols.references.push(alias.unwrap_or(native.global).as_pointer_value());
        symbols.natives.push(native);
    }
    symbols
}

fn declare_symbol<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    name: &str,
    data: Option<&ir::Data>,
) -> Native<'ctx> {
    match &symbol.kind {
        ir::SymbolKind::Function(signature) => {
            let function = module.add_function(name, types.signature(signature), None);
            if symbol.linkage == ir::Linkage::Import {
                types.extend_import(function, signature);
            }
            Native { global: function.as_global_value(), function: Some(function) }
        }
        ir::SymbolKind::Data => {
            let ty = data.map_or(types.ty(ir::Type::I8), |data| data::ty(types, data));
            Native { global: module.add_global(ty, None, name), function: None }
        }
    }
}

/// Removes what a declaration says beyond its name, its type and its convention: written for another definition, it may
/// be untrue of ours. Calls keep what they say themselves.
fn bare(native: Native<'_>) -> Native<'_> {
    let Native { global, function } = native;
    global.set_visibility(GlobalVisibility::Default);
    global.set_dll_storage_class(DLLStorageClass::Default);
    global.set_unnamed_address(UnnamedAddress::None);
    global.set_section(None);
    raw::clear_metadata(global);
    match function {
        Some(function) => types::clear_attributes(function),
        None => global.set_externally_initialized(false),
    }
    native
}

/// Sets linkage and visibility of a symbol that is about to be defined.
fn describe(module: &Module<'_>, types: &Types<'_>, native: Native<'_>, linkage: ir::Linkage) {
    let (global, is_data) = (native.global, native.function.is_none());
    global.set_linkage(match linkage {
        ir::Linkage::Local if is_data => Linkage::Private,
        ir::Linkage::Local => Linkage::Internal,
        ir::Linkage::Export | ir::Linkage::Import => Linkage::External,
        ir::Linkage::Once => Linkage::LinkOnceODR,
        ir::Linkage::Weak if types.facts.weak == Weak::Common => Linkage::Common,
        ir::Linkage::Weak => Linkage::WeakAny,
    });
    let is_weak = linkage == ir::Linkage::Weak;
    if types.facts.export && (linkage == ir::Linkage::Export || is_weak) {
        global.set_dll_storage_class(DLLStorageClass::Export);
    }
    if is_weak && types.facts.weak == Weak::Protected {
        global.set_visibility(GlobalVisibility::Protected);
    }
    let is_once = linkage == ir::Linkage::Once;
    if is_once {
        global.set_visibility(GlobalVisibility::Hidden);
    }
    if (is_once && types.facts.groups) || (is_weak && types.facts.weak == Weak::Group) {
        let name = global.get_name().to_string_lossy();
        global.set_comdat(module.get_or_insert_comdat(&name));
    }
}

impl<'ctx> From<Found<'ctx>> for Native<'ctx> {
    fn from(found: Found<'ctx>) -> Self {
        let (global, function) = match found {
            Found::Function(function) => (function.as_global_value(), Some(function)),
            Found::Variable(global) | Found::Resolver(global) => (global, None),
            Found::Alias(global, function) => (global, function),
        };
        Native { global, function }
    }
}
