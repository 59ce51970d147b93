//! Symbols: what the caller's module has is checked against what the host IR wants before anything is
//! declared, so that a refusal leaves no trace.

use codegen::ir;
use inkwell::DLLStorageClass;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Module;
use inkwell::types::FunctionType;
use inkwell::values::{FunctionValue, GlobalValue, PointerValue};

use crate::data;
use crate::error::Error;
use crate::raw::{self, Found};
use crate::types::Types;

/// What becomes of one symbol of the host IR.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan<'ctx> {
    /// The caller's module has it; what is exported is defined there in place.
    Reuse(Native<'ctx>),
    /// It is declared.
    Declare,
}

/// A symbol in the caller's module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Native<'ctx> {
    /// Its name or that of an alias.
    pub(crate) global: GlobalValue<'ctx>,
    /// What is called; `None` for data.
    pub(crate) function: Option<FunctionValue<'ctx>>,
}

impl<'ctx> From<FunctionValue<'ctx>> for Native<'ctx> {
    fn from(function: FunctionValue<'ctx>) -> Self {
        Native { global: function.as_global_value(), function: Some(function) }
    }
}

/// Plans every symbol, in the order of the host IR. Changes nothing.
pub(crate) fn plan<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    source: &ir::Module,
) -> Result<Vec<Plan<'ctx>>, Error> {
    let plan_one = |(symbol, data): (&ir::SymbolData, Option<&ir::Data>)| {
        // LLVM itself finds a new name for a local symbol.
        let exported = match symbol.linkage {
            ir::Linkage::Local => return Ok(Plan::Declare),
            ir::Linkage::Import => false,
            ir::Linkage::Export => true,
        };
        let Some(found) = raw::find(module, &symbol.name) else { return Ok(Plan::Declare) };
        if exported && found.is_defined() {
            return Err(Error::Defined { symbol: symbol.name.clone() });
        }
        let native = check_type(types, symbol, found)?;
        if let Some(data) = data {
            data::check_type(module, types, symbol, data, native.global)?;
        }
        Ok(Plan::Reuse(native))
    };
    source.symbols.iter().zip(definitions(source)).map(plan_one).collect()
}

/// The definition of each symbol that is data and defined.
fn definitions(source: &ir::Module) -> Vec<Option<&ir::Data>> {
    let mut definition = vec![None; source.symbols.len()];
    source.data.iter().for_each(|data| definition[data.symbol.index()] = Some(data));
    definition
}

/// A symbol that is there must be the same kind of thing, and a function must take and return values of
/// the same types.
fn check_type<'ctx>(
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    found: Found<'ctx>,
) -> Result<Native<'ctx>, Error> {
    let mismatch = |argument, expected: String, found: String| {
        Err(Error::Kernel { symbol: symbol.name.clone(), argument, expected, found })
    };
    let native = match found {
        Found::Function(function) => function.into(),
        Found::Variable(global) => Native { global, function: None },
        Found::Alias(global, function) => Native { global, function },
        Found::Resolver => return mismatch(None, expected(symbol), "an ifunc".into()),
    };
    match (&symbol.kind, native.function) {
        (ir::SymbolKind::Data, None) => Ok(native),
        (ir::SymbolKind::Data, Some(_)) => mismatch(None, expected(symbol), "a function".into()),
        (ir::SymbolKind::Function(_), None) => mismatch(None, expected(symbol), "data".into()),
        (ir::SymbolKind::Function(wanted), Some(function)) => {
            let exact = symbol.linkage == ir::Linkage::Export;
            match difference(types, wanted, function, exact) {
                Some((argument, expected, found)) => mismatch(argument, expected, found),
                None => Ok(native),
            }
        }
    }
}

fn expected(symbol: &ir::SymbolData) -> String {
    match symbol.kind {
        ir::SymbolKind::Function(_) => "a function".into(),
        ir::SymbolKind::Data => "data".into(),
    }
}

/// The first difference between a signature and a function: which argument, wanted, found. What is
/// defined here follows the C calling convention; what is only called may follow another.
fn difference<'ctx>(
    types: &Types<'ctx>,
    wanted: &ir::Signature,
    function: FunctionValue<'ctx>,
    exact: bool,
) -> Option<(Option<usize>, String, String)> {
    let (expected, found) = (types.signature(wanted), function.get_type());
    if expected != found {
        return Some(type_difference(expected, found));
    }
    let other = |abi: &ir::AbiType| match abi.extend {
        ir::Extend::No => None,
        ir::Extend::Sign => Some(("signext", types.attributes.zeroext, "zeroext")),
        ir::Extend::Zero => Some(("zeroext", types.attributes.signext, "signext")),
    };
    let extended = |abi: &ir::AbiType, place| {
        let (wanted, other, name) = other(abi)?;
        function.get_enum_attribute(place, other.get_enum_kind_id())?;
        Some((format!("{} {wanted}", abi.ty), format!("{} {name}", abi.ty)))
    };
    for (i, abi) in wanted.params.iter().enumerate() {
        if let Some((expected, found)) = extended(abi, AttributeLoc::Param(i as u32)) {
            return Some((Some(i), expected, found));
        }
    }
    let result = wanted.result.as_ref().and_then(|abi| extended(abi, AttributeLoc::Return));
    if let Some((expected, found)) = result {
        return Some((None, format!("a result {expected}"), format!("a result {found}")));
    }
    let convention = function.get_call_conventions();
    let other = exact && convention != C;
    let name = |convention| format!("of calling convention {convention}");
    other.then(|| (None, name(C), name(convention)))
}

/// The C calling convention.
const C: u32 = 0;

fn type_difference(
    expected: FunctionType<'_>,
    found: FunctionType<'_>,
) -> (Option<usize>, String, String) {
    let (wanted, has) = (expected.get_param_types(), found.get_param_types());
    let text = |ty: inkwell::support::LLVMString| ty.to_string_lossy().into_owned();
    if wanted.len() == has.len() {
        let differ = wanted.iter().zip(&has).position(|(a, b)| a != b);
        if let Some(i) = differ {
            return (Some(i), text(wanted[i].print_to_string()), text(has[i].print_to_string()));
        }
    }
    (None, text(expected.print_to_string()), text(found.print_to_string()))
}

/// Every symbol of the host IR in the caller's module.
pub(crate) struct Symbols<'ctx> {
    /// Who each symbol is, in the order of the host IR.
    pub(crate) natives: Vec<Native<'ctx>>,
    /// How our own code reaches it, once it does.
    references: Vec<Option<PointerValue<'ctx>>>,
    /// Stand-ins for the local names of what is exported, and what they stand for.
    placeholders: Vec<(GlobalValue<'ctx>, GlobalValue<'ctx>)>,
}

/// Declares what the plan declares. Names that must be kept come before names that LLVM may change.
pub(crate) fn declare<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    source: &ir::Module,
    plan: &[Plan<'ctx>],
) -> Symbols<'ctx> {
    let definition = definitions(source);
    let declare_one = |local: bool, i: usize| {
        let (symbol, data) = (&source.symbols[i], definition[i]);
        match plan[i] {
            Plan::Reuse(native) => (!local).then_some(native),
            Plan::Declare => ((symbol.linkage == ir::Linkage::Local) == local)
                .then(|| declare_symbol(module, types, symbol, data)),
        }
    };
    let kept: Vec<_> = (0..plan.len()).map(|i| declare_one(false, i)).collect();
    let either = |(i, kept): (usize, Option<_>)| kept.or_else(|| declare_one(true, i));
    let natives = kept.into_iter().enumerate().filter_map(either).collect();
    Symbols { natives, references: vec![None; plan.len()], placeholders: Vec::new() }
}

fn declare_symbol<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    data: Option<&ir::Data>,
) -> Native<'ctx> {
    match &symbol.kind {
        ir::SymbolKind::Function(signature) => {
            let function = module.add_function(&symbol.name, types.signature(signature), None);
            if symbol.linkage == ir::Linkage::Import {
                types.extend(function, signature);
            }
            function.into()
        }
        ir::SymbolKind::Data => {
            let global = match data {
                Some(data) => data::define(module, types, symbol, data),
                None => data::declare(module, types, &symbol.name),
            };
            Native { global, function: None }
        }
    }
}

impl<'ctx> Symbols<'ctx> {
    /// The address of a symbol in our own code. What is exported is reached by a local name, so that a
    /// library loaded earlier that exports the same cannot take its place.
    pub(crate) fn reference(
        &mut self,
        module: &Module<'ctx>,
        types: &Types<'ctx>,
        source: &ir::SymbolData,
        symbol: ir::Symbol,
    ) -> PointerValue<'ctx> {
        let (native, reference) =
            (self.natives[symbol.index()], &mut self.references[symbol.index()]);
        *reference.get_or_insert_with(|| match source.linkage {
            ir::Linkage::Import | ir::Linkage::Local => native.global.as_pointer_value(),
            ir::Linkage::Export => {
                let name = format!("{}.local", source.name);
                let placeholder = data::declare(module, types, &name);
                self.placeholders.push((placeholder, native.global));
                placeholder.as_pointer_value()
            }
        })
    }

    /// Completes what has been defined, now that nothing can fail any more.
    pub(crate) fn finish(
        self,
        module: &Module<'ctx>,
        types: &Types<'ctx>,
        source: &ir::Module,
        plan: &[Plan<'ctx>],
    ) {
        for data in &source.data {
            if let Plan::Reuse(native) = plan[data.symbol.index()] {
                data::define_declared(types, native.global, data);
            }
        }
        for (symbol, native) in source.symbols.iter().zip(&self.natives) {
            if types.coff && symbol.linkage == ir::Linkage::Export {
                native.global.set_dll_storage_class(DLLStorageClass::Export);
            }
        }
        for (placeholder, target) in self.placeholders {
            raw::become_alias(module, placeholder, target);
        }
    }

    /// Takes back all that was added.
    pub(crate) fn withdraw(self, module: &Module<'ctx>, source: &ir::Module, plan: &[Plan<'ctx>]) {
        for ((symbol, native), plan) in source.symbols.iter().zip(&self.natives).zip(plan) {
            match (plan, native.function) {
                (Plan::Declare, Some(function)) => raw::erase_function(function),
                (Plan::Declare, None) => raw::erase_variable(native.global),
                (Plan::Reuse(_), Some(function)) if symbol.linkage == ir::Linkage::Export => {
                    raw::erase_body(module, function);
                }
                (Plan::Reuse(_), _) => {}
            }
        }
        self.placeholders.iter().for_each(|&(placeholder, _)| raw::erase_variable(placeholder));
    }
}
