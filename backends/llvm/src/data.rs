//! Data objects.

use codegen::ir;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetData;
use inkwell::types::{AnyTypeEnum, BasicTypeEnum};
use inkwell::values::{BasicValueEnum, GlobalValue, UnnamedAddress};

use crate::error::Error;
use crate::types::Types;

/// Where constants go that are out of the reach of code.
const LARGE: &str = ".lrodata";

/// Declares data, whose type is then known by its first byte only.
pub(crate) fn declare<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    name: &str,
) -> GlobalValue<'ctx> {
    module.add_global(types.context.i8_type(), None, name)
}

/// Defines a constant or variable.
pub(crate) fn define<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    source: &ir::Data,
) -> GlobalValue<'ctx> {
    let bytes = types.context.const_string(&source.bytes, false);
    let global = module.add_global(bytes.get_type(), None, &symbol.name);
    describe(types, global, source, bytes.into());
    if symbol.linkage == ir::Linkage::Local {
        global.set_linkage(Linkage::Private);
        if !source.writable {
            global.set_unnamed_address(UnnamedAddress::Global);
        }
    }
    global
}

/// Defines in place what [`check_type`] has admitted.
pub(crate) fn define_declared(types: &Types<'_>, global: GlobalValue<'_>, source: &ir::Data) {
    let bytes = match BasicTypeEnum::try_from(global.get_value_type()) {
        Ok(ty) if is_zero(source) => ty.const_zero(),
        Ok(_) | Err(()) => types.context.const_string(&source.bytes, false).into(),
    };
    describe(types, global, source, bytes);
    global.set_linkage(Linkage::External);
}

fn describe<'ctx>(
    types: &Types<'ctx>,
    global: GlobalValue<'ctx>,
    source: &ir::Data,
    bytes: BasicValueEnum<'ctx>,
) {
    global.set_initializer(&bytes);
    global.set_alignment(source.align);
    global.set_constant(!source.writable);
    if source.large && types.large {
        global.set_section(Some(LARGE));
    }
}

/// A declaration to be defined in place must have the type of the bytes, or, since a variable that starts
/// as zero is well-defined at any type, just their number.
pub(crate) fn check_type<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    data: &ir::Data,
    global: GlobalValue<'ctx>,
) -> Result<(), Error> {
    let (size, found) = (data.bytes.len(), global.get_value_type());
    let expected = types.context.const_string(&data.bytes, false).get_type();
    if found == AnyTypeEnum::from(expected) {
        return Ok(());
    }
    let layout = module.get_data_layout().as_str().to_string_lossy().into_owned();
    let same_size = || TargetData::create(&layout).get_store_size(&found) == size as u64;
    if is_zero(data) && BasicTypeEnum::try_from(found).is_ok() && same_size() {
        return Ok(());
    }
    Err(Error::Kernel {
        symbol: symbol.name.clone(),
        argument: None,
        expected: expected.print_to_string().to_string_lossy().into_owned(),
        found: found.print_to_string().to_string_lossy().into_owned(),
    })
}

fn is_zero(data: &ir::Data) -> bool {
    data.bytes.iter().all(|&byte| byte == 0)
}
