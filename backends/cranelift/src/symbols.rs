//! The symbols of the caller's module by name, and the native id of each symbol of the host IR.

use codegen::backend::{Capabilities, Error, Existing, Facts, Mismatch, Plan, State, SymbolSource};
use codegen::ir;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, Function, GlobalValue, GlobalValueData,
    Signature, UserExternalName,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{FuncOrDataId, Linkage, Module};
use target_lexicon::{Architecture, BinaryFormat, Triple};

use crate::types;
use crate::{function_id, native};

/// The capabilities of any module, as far as its interface tells.
pub(crate) const CAPABILITIES: Capabilities = Capabilities { once: false, aliases: false };

/// The symbols of the caller's module.
pub(crate) struct ExistingSymbols<'a>(pub(crate) &'a dyn Module);

impl Existing for ExistingSymbols<'_> {
    type Native = FuncOrDataId;

    fn find(&self, name: &str) -> Option<FuncOrDataId> {
        self.0.get_name(name)
    }

    /// Returns the state of a symbol. Symbols with any linkage but that of imports count as defined, since the `Module`
    /// trait does not tell whether they are.
    fn state(&self, id: FuncOrDataId) -> State {
        let declarations = self.0.declarations();
        let linkage = match id {
            FuncOrDataId::Func(id) => declarations.get_function_decl(id).linkage,
            FuncOrDataId::Data(id) => declarations.get_data_decl(id).linkage,
        };
        if linkage.is_definable() { State::Defined } else { State::Declared }
    }

    fn check(&self, symbol: &ir::SymbolData, id: FuncOrDataId) -> Result<(), Error> {
        check_type(self.0, symbol, id)
    }
}

/// Checks that an existing symbol is of the same kind, and that a function has the same parameter and result types. An
/// import may have another calling convention or extension: it is called as it was declared. A symbol that is to be
/// defined must be declared with the same ones.
fn check_type(module: &dyn Module, symbol: &ir::SymbolData, id: FuncOrDataId) -> Result<(), Error> {
    let mismatch = match (&symbol.kind, id) {
        (ir::SymbolKind::Data, FuncOrDataId::Data(_)) => None,
        (ir::SymbolKind::Data, FuncOrDataId::Func(_)) => Some(Mismatch::new("data", "a function")),
        (ir::SymbolKind::Function(_), FuncOrDataId::Data(_)) => {
            Some(Mismatch::new("a function", "data"))
        }
        (ir::SymbolKind::Function(wanted), FuncOrDataId::Func(id)) => {
            let wanted = types::signature(module.isa(), wanted);
            let found = &module.declarations().get_function_decl(id).signature;
            difference(&wanted, found, symbol.linkage != ir::Linkage::Import)
        }
    };
    mismatch.map_or(Ok(()), |mismatch| Err(mismatch.of(&symbol.name)))
}

/// Returns the first difference between two signatures; `exact` compares conventions and extensions too.
fn difference(wanted: &Signature, found: &Signature, exact: bool) -> Option<Mismatch> {
    let differ = |a: &AbiParam, b: &AbiParam| {
        a.value_type != b.value_type || a.purpose != b.purpose || (exact && a != b)
    };
    let pairs = || wanted.params.iter().zip(&found.params).enumerate();
    if let Some((i, (a, b))) = pairs().find(|(_, (a, b))| differ(a, b)) {
        return Some(Mismatch::at(Some(i), a, b));
    }
    let same = wanted.params.len() == found.params.len()
        && wanted.returns.len() == found.returns.len()
        && !wanted.returns.iter().zip(&found.returns).any(|(a, b)| differ(a, b))
        && (!exact || wanted.call_conv == found.call_conv);
    (!same).then(|| Mismatch::new(wanted, found))
}

/// Declares the planned symbols; returns the native ids in the order of the host IR. A symbol with an alias is defined
/// under the alias.
pub(crate) fn declare(
    module: &mut dyn Module,
    source: &ir::Module,
    plan: &[Plan<'_, FuncOrDataId>],
) -> Result<Vec<FuncOrDataId>, Error> {
    let mut writable = vec![false; source.symbols.len()];
    source.data.iter().for_each(|data| writable[data.symbol.index()] = data.writable);
    let declare_one = |((symbol, plan), writable): ((&ir::SymbolData, &Plan<'_, _>), bool)| {
        let (name, linkage) = match (&plan.alias, &plan.source) {
            (_, SymbolSource::Reuse(id)) => return Ok(*id),
            (Some(alias), _) => (alias.as_str(), Linkage::Local),
            (None, SymbolSource::Define(_, linkage)) => {
                (symbol.name.as_str(), native_linkage(*linkage))
            }
            (None, SymbolSource::Declare(name, linkage)) => {
                (name.as_ref(), native_linkage(*linkage))
            }
        };
        match &symbol.kind {
            ir::SymbolKind::Function(signature) => {
                let preserves = plan.preserves_registers
                    && plan.defined().is_some()
                    && Facts::of(module.isa().triple()).preserve_most;
                let signature = if preserves {
                    types::preserving()
                } else {
                    types::signature(module.isa(), signature)
                };
                let id = module.declare_function(name, linkage, &signature);
                Ok(FuncOrDataId::Func(id.map_err(native)?))
            }
            ir::SymbolKind::Data => {
                let id = module.declare_data(name, linkage, writable, false);
                Ok(FuncOrDataId::Data(id.map_err(native)?))
            }
        }
    };
    source.symbols.iter().zip(plan).zip(writable).map(declare_one).collect()
}

fn native_linkage(linkage: ir::Linkage) -> Linkage {
    match linkage {
        ir::Linkage::Import => Linkage::Import,
        ir::Linkage::Local => Linkage::Local,
        ir::Linkage::Export => Linkage::Export,
        ir::Linkage::Once => Linkage::Hidden,
        ir::Linkage::Weak => Linkage::Preemptible,
    }
}

/// A reference of a function to a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference {
    /// A function.
    Function(FuncRef),
    /// A data object.
    Data(GlobalValue),
}

/// Declares a symbol in a function. With `linked`, calls of imports are [left to a linker](calls_by_linker).
pub(crate) fn refer(
    module: &dyn Module,
    id: FuncOrDataId,
    func: &mut Function,
    linked: bool,
) -> Reference {
    match id {
        FuncOrDataId::Func(id) => {
            let declaration = module.declarations().get_function_decl(id);
            // `declare_func_in_func` would import a signature for every function.
            let name = UserExternalName::new(0, id.as_u32());
            let name = ExternalName::user(func.declare_imported_user_function(name));
            let signature = types::import(func, &declaration.signature);
            let is_import = declaration.linkage == Linkage::Import;
            let colocated = near(module.isa(), declaration.linkage) || linked && is_import;
            let data = ExtFuncData { name, signature, colocated, patchable: false };
            Reference::Function(func.import_function(data))
        }
        FuncOrDataId::Data(id) => {
            let linkage = module.declarations().get_data_decl(id).linkage;
            let reference = module.declare_data_in_func(id, func);
            if let GlobalValueData::Symbol { colocated, .. } = &mut func.global_values[reference] {
                *colocated = near(module.isa(), linkage);
            }
            Reference::Data(reference)
        }
    }
}

/// Returns the reference by which code takes the address of a function that it calls by `called`: that of an import is
/// not known by its distance.
pub(crate) fn addressed(
    module: &dyn Module,
    id: FuncOrDataId,
    func: &mut Function,
    called: FuncRef,
) -> FuncRef {
    let linkage = |id| module.declarations().get_function_decl(id).linkage;
    let colocated = function_id(id).is_some_and(|id| near(module.isa(), linkage(id)));
    let known = &func.dfg.ext_funcs[called];
    if known.colocated == colocated {
        return called;
    }
    let data = ExtFuncData { colocated, ..known.clone() };
    func.import_function(data)
}

/// Returns true if the calls of imports in objects for a target can be left to the linker, as those of compilers of C
/// are: it calls a function of the same library directly, and another one through a table. Otherwise code loads the
/// address from a table and calls that, also where the kernel is in the same library.
pub(crate) fn calls_by_linker(triple: &Triple) -> bool {
    triple.binary_format == BinaryFormat::Elf
}

/// Returns a byte of a data object that a function refers to.
pub(crate) fn within(func: &mut Function, data: GlobalValue, at: i32) -> GlobalValue {
    if at == 0 {
        return data;
    }
    let mut known = func.global_values[data].clone();
    if let GlobalValueData::Symbol { offset, .. } = &mut known {
        *offset = i64::from(at).into();
    }
    func.create_global_value(known)
}

/// Returns true if code may reach a symbol by its distance (`colocated`) instead of its address. Linkers refuse that
/// for symbols that a shared ELF library exports, since another library may take their place; the `object` backend has
/// no such relocations for aarch64 in COFF.
fn near(isa: &dyn TargetIsa, linkage: Linkage) -> bool {
    let (triple, flags) = (isa.triple(), isa.flags());
    if triple.binary_format == BinaryFormat::Coff
        && matches!(triple.architecture, Architecture::Aarch64(_))
    {
        return false;
    }
    match linkage {
        Linkage::Import => false,
        Linkage::Local | Linkage::Hidden => true,
        Linkage::Export | Linkage::Preemptible => {
            !(flags.is_pic() && triple.binary_format == BinaryFormat::Elf)
        }
    }
}
