//! Symbols: what the caller's module has is checked against what the host IR wants before anything is
//! declared, so that a refusal leaves no trace.

use std::borrow::Cow;

use codegen::ir::{self, Inst};
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, Function, GlobalValueData, Signature, UserExternalName,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{FuncOrDataId, Linkage, Module};
use target_lexicon::{Architecture, BinaryFormat};

use crate::error::Error;
use crate::function::Reference;
use crate::types;

/// What becomes of one symbol of the host IR.
#[derive(Debug)]
pub(crate) enum Plan<'a> {
    /// The caller's module has it.
    Reuse(FuncOrDataId),
    /// It is declared under this name.
    Declare(Cow<'a, str>, Linkage),
}

/// Plans every symbol, in the order of the host IR. Changes nothing.
pub(crate) fn plan<'a>(
    module: &dyn Module,
    source: &'a ir::Module,
) -> Result<Vec<Plan<'a>>, Error> {
    let plan_one = |symbol: &'a ir::SymbolData| {
        let name = Cow::Borrowed(symbol.name.as_str());
        let found = module.get_name(&symbol.name);
        Ok(match (symbol.linkage, found) {
            (ir::Linkage::Import, Some(id)) => {
                check_type(module, symbol, id)?;
                Plan::Reuse(id)
            }
            (ir::Linkage::Import, None) => Plan::Declare(name, Linkage::Import),
            (ir::Linkage::Local, Some(_)) => {
                Plan::Declare(unused_name(module, source, &symbol.name).into(), Linkage::Local)
            }
            (ir::Linkage::Local, None) => Plan::Declare(name, Linkage::Local),
            (ir::Linkage::Export, Some(id)) => {
                check_undefined(module, symbol, id)?;
                check_type(module, symbol, id)?;
                Plan::Declare(name, Linkage::Export)
            }
            (ir::Linkage::Export, None) => Plan::Declare(name, Linkage::Export),
        })
    };
    source.symbols.iter().map(plan_one).collect()
}

/// Lets the host IR's own code reach what it exports as locals, so that no library loaded earlier can
/// take their place; the caller then exports the symbols that are returned. Only what code refers to is
/// changed, and the locals are called what LLVM calls them.
pub(crate) fn bypass_exports(plan: &mut [Plan<'_>], source: &ir::Module) -> Vec<ir::Symbol> {
    let insts = source.functions.iter().flat_map(|f| &f.blocks).flat_map(|block| &block.insts);
    let mut aliased = Vec::new();
    for symbol in insts.filter_map(|(_, inst)| referred(inst)) {
        if let plan @ Plan::Declare(_, Linkage::Export) = &mut plan[symbol.index()] {
            let name = format!(".L{}$local", source.name(symbol));
            *plan = Plan::Declare(name.into(), Linkage::Local);
            aliased.push(symbol);
        }
    }
    aliased
}

/// The symbol that an instruction refers to.
fn referred(inst: &Inst) -> Option<ir::Symbol> {
    match inst {
        Inst::Address { symbol } | Inst::Call { callee: symbol, .. } => Some(*symbol),
        Inst::Const { .. }
        | Inst::StackSlot { .. }
        | Inst::Load { .. }
        | Inst::Store { .. }
        | Inst::PtrAdd { .. }
        | Inst::Binary { .. }
        | Inst::Compare { .. }
        | Inst::Select { .. }
        | Inst::Convert { .. }
        | Inst::CallIndirect { .. } => None,
    }
}

/// `name.1`, `name.2`, …: the first that neither the caller's module nor the host IR has.
fn unused_name(module: &dyn Module, source: &ir::Module, name: &str) -> String {
    let names = (1_u32..).map(|i| format!("{name}.{i}"));
    let mut unused = names.filter(|n| module.get_name(n).is_none() && source.find(n).is_none());
    unused.next().expect("there are more numbers than symbols")
}

/// A name to export may be imported by the caller's module, but not be its own. What it declares with
/// any other linkage it defines or has promised to define; the `Module` trait does not tell which.
fn check_undefined(
    module: &dyn Module,
    symbol: &ir::SymbolData,
    id: FuncOrDataId,
) -> Result<(), Error> {
    let declarations = module.declarations();
    let linkage = match id {
        FuncOrDataId::Func(id) => declarations.get_function_decl(id).linkage,
        FuncOrDataId::Data(id) => declarations.get_data_decl(id).linkage,
    };
    if linkage.is_definable() {
        return Err(Error::Defined { symbol: symbol.name.clone() });
    }
    Ok(())
}

/// A symbol that is there must be the same kind of thing, and a function must take and return values of
/// the same types. An import may follow another calling convention or extend its arguments otherwise:
/// calls are made as it was declared. What is defined under a name must be what was declared.
fn check_type(module: &dyn Module, symbol: &ir::SymbolData, id: FuncOrDataId) -> Result<(), Error> {
    let mismatch = |argument, expected: String, found: String| {
        Err(Error::Kernel { symbol: symbol.name.clone(), argument, expected, found })
    };
    match (&symbol.kind, id) {
        (ir::SymbolKind::Data, FuncOrDataId::Data(_)) => Ok(()),
        (ir::SymbolKind::Data, FuncOrDataId::Func(_)) => {
            mismatch(None, "data".into(), "a function".into())
        }
        (ir::SymbolKind::Function(_), FuncOrDataId::Data(_)) => {
            mismatch(None, "a function".into(), "data".into())
        }
        (ir::SymbolKind::Function(wanted), FuncOrDataId::Func(id)) => {
            let wanted = types::signature(module.isa(), wanted);
            let found = &module.declarations().get_function_decl(id).signature;
            let exact = symbol.linkage == ir::Linkage::Export;
            match difference(&wanted, found, exact) {
                Some((argument, expected, found)) => mismatch(argument, expected, found),
                None => Ok(()),
            }
        }
    }
}

/// The first difference between two signatures: which argument, wanted, found.
fn difference(
    wanted: &Signature,
    found: &Signature,
    exact: bool,
) -> Option<(Option<usize>, String, String)> {
    let differ = |a: &AbiParam, b: &AbiParam| {
        a.value_type != b.value_type || a.purpose != b.purpose || (exact && a != b)
    };
    let pairs = || wanted.params.iter().zip(&found.params).enumerate();
    if let Some((i, (a, b))) = pairs().find(|(_, (a, b))| differ(a, b)) {
        return Some((Some(i), a.to_string(), b.to_string()));
    }
    let same = wanted.params.len() == found.params.len()
        && wanted.returns.len() == found.returns.len()
        && !wanted.returns.iter().zip(&found.returns).any(|(a, b)| differ(a, b))
        && (!exact || wanted.call_conv == found.call_conv);
    (!same).then(|| (None, wanted.to_string(), found.to_string()))
}

/// Declares what the plan declares; who each symbol is, in the order of the host IR.
pub(crate) fn declare(
    module: &mut dyn Module,
    source: &ir::Module,
    plan: &[Plan<'_>],
) -> Result<Vec<FuncOrDataId>, Error> {
    let mut writable = vec![false; source.symbols.len()];
    source.data.iter().for_each(|data| writable[data.symbol.index()] = data.writable);
    let declare_one = |((symbol, plan), writable): ((&ir::SymbolData, &Plan<'_>), bool)| {
        let (name, linkage) = match plan {
            Plan::Reuse(id) => return Ok(*id),
            Plan::Declare(name, linkage) => (name, *linkage),
        };
        match &symbol.kind {
            ir::SymbolKind::Function(signature) => {
                let signature = types::signature(module.isa(), signature);
                Ok(FuncOrDataId::Func(module.declare_function(name, linkage, &signature)?))
            }
            ir::SymbolKind::Data => {
                Ok(FuncOrDataId::Data(module.declare_data(name, linkage, writable, false)?))
            }
        }
    };
    source.symbols.iter().zip(plan).zip(writable).map(declare_one).collect()
}

/// Makes a symbol known to one function.
pub(crate) fn refer(module: &dyn Module, id: FuncOrDataId, func: &mut Function) -> Reference {
    match id {
        FuncOrDataId::Func(id) => {
            let declaration = module.declarations().get_function_decl(id);
            // Not `declare_func_in_func`, which imports a signature for every function.
            let name = UserExternalName::new(0, id.as_u32());
            let name = ExternalName::user(func.declare_imported_user_function(name));
            let signature = types::import(func, &declaration.signature);
            let colocated = near(module.isa(), declaration.linkage);
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

/// Whether code may reach a symbol by its distance (`colocated`) instead of by its address. Linkers
/// refuse that for what a shared ELF library exports, since another library may take its place; the
/// `object` backend has no such relocations for aarch64 in COFF.
fn near(isa: &dyn TargetIsa, linkage: Linkage) -> bool {
    let (triple, flags) = (isa.triple(), isa.flags());
    if triple.binary_format == BinaryFormat::Coff
        && matches!(triple.architecture, Architecture::Aarch64(_))
    {
        return false;
    }
    match linkage {
        Linkage::Import | Linkage::Preemptible => false,
        Linkage::Local | Linkage::Hidden => true,
        Linkage::Export => !(flags.is_pic() && triple.binary_format == BinaryFormat::Elf),
    }
}
