//! Constructors: functions that run when the code is loaded. LLVM has a list of them, which becomes a section in ELF.

use codegen::ir;
use inkwell::module::{Linkage, Module};
use inkwell::values::{PointerValue, StructValue};

use crate::raw::{self, Found};
use crate::symbols::Native;
use crate::types::Types;

/// LLVM's name of the list.
const LIST: &str = "llvm.global_ctors";
/// The default priority, which is the last.
const PRIORITY: u64 = 65535;

/// Appends the constructors to the list of the module.
pub(crate) fn define<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    source: &ir::Module,
    natives: &[Native<'ctx>],
) {
    if source.constructors.is_empty() {
        return;
    }
    let (int, pointer) = (types.context.i32_type(), types.ty(ir::Type::Ptr).into_pointer_type());
    let entry = types.context.struct_type(&[int.into(), pointer.into(), pointer.into()], false);
    let mut entries: Vec<StructValue> = Vec::new();
    if let Some(Found::Variable(list)) = raw::find(module, LIST) {
        entries = raw::elements(list);
        raw::erase_variable(list);
    }
    let new = source.constructors.iter().map(|constructor| {
        let function = natives[constructor.index()].global.as_pointer_value();
        let priority = int.const_int(PRIORITY, false);
        entry.const_named_struct(&[priority.into(), function.into(), pointer.const_null().into()])
    });
    entries.extend(new);
    let list = entry.const_array(&entries);
    let global = module.add_global(list.get_type(), None, LIST);
    global.set_linkage(Linkage::Appending);
    global.set_initializer(&list);
}

/// Replaces the list of a module by the section of addresses that ELF has for it.
///
/// LLVM writes this section only if an option is set, which needs C++; otherwise it writes `.ctors`, which not every
/// linker accepts. Lists with entries that belong to other data are left to LLVM.
pub(crate) fn place(module: &Module<'_>) {
    let Some(Found::Variable(list)) = raw::find(module, LIST) else { return };
    let elements = raw::elements(list);
    let Some(entries) = elements.into_iter().map(entry).collect::<Option<Vec<_>>>() else { return };
    raw::erase_variable(list);
    for (priority, function) in entries {
        let global = module.add_global(function.get_type(), None, "");
        let section = match priority {
            PRIORITY => ".init_array".to_owned(),
            _ => format!(".init_array.{priority:05}"),
        };
        global.set_linkage(Linkage::Private);
        global.set_section(Some(&section));
        global.set_initializer(&function);
    }
}

/// Returns the priority and the function of an entry that belongs to no other data.
fn entry(entry: StructValue<'_>) -> Option<(u64, PointerValue<'_>)> {
    let field = |index| entry.get_field_at_index(index);
    let priority = field(0)?.into_int_value().get_zero_extended_constant()?;
    let owner = field(2)?.into_pointer_value();
    owner.is_null().then_some((priority, field(1)?.into_pointer_value()))
}
