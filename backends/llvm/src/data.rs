//! Data objects.

use codegen::backend::{Error, LARGE, Mismatch};
use codegen::ir::{self, DataPart, Relocation};
use inkwell::module::Module;
use inkwell::targets::TargetData;
use inkwell::types::{AnyType, BasicTypeEnum};
use inkwell::values::{BasicValueEnum, GlobalValue, PointerValue, UnnamedAddress};

use crate::raw;
use crate::types::Types;

/// Defines a declared data object.
pub(crate) fn define<'ctx>(
    types: &Types<'ctx>,
    global: GlobalValue<'ctx>,
    references: &[PointerValue<'ctx>],
    source: &ir::Data,
    linkage: ir::Linkage,
) {
    let bytes = match BasicTypeEnum::try_from(global.get_value_type()) {
        Ok(ty) if is_zero(source) => ty.const_zero(),
        Ok(_) | Err(()) => contents(types, source, |symbol| references[symbol.index()]),
    };
    global.set_initializer(&bytes);
    global.set_alignment(source.align);
    global.set_constant(!source.writable);
    if linkage == ir::Linkage::Local && !source.writable {
        global.set_unnamed_address(UnnamedAddress::Global);
    }
    if source.large && types.facts.large {
        global.set_section(Some(LARGE));
    }
    if source.listed {
        global.set_section(Some(types.facts.list));
    }
    if linkage == ir::Linkage::Weak {
        let section = types.facts.weak_section(&global.get_name().to_string_lossy());
        section.iter().for_each(|section| global.set_section(Some(section)));
    }
}

/// Returns the type of a data object: bytes, or bytes and addresses.
pub(crate) fn ty<'ctx>(types: &Types<'ctx>, source: &ir::Data) -> BasicTypeEnum<'ctx> {
    let null = types.ty(ir::Type::Ptr).into_pointer_type().const_null();
    contents(types, source, |_| null).get_type()
}

/// Returns the contents of a data object; `address` returns the address of a symbol.
fn contents<'ctx>(
    types: &Types<'ctx>,
    source: &ir::Data,
    address: impl Fn(ir::Symbol) -> PointerValue<'ctx>,
) -> BasicValueEnum<'ctx> {
    let bytes = |bytes: &[u8]| types.context.const_string(bytes, false).into();
    if source.relocations.is_empty() {
        return bytes(&source.bytes);
    }
    let (byte, long) = (types.context.i8_type(), types.context.i64_type());
    let part = |part| match part {
        DataPart::Bytes(part) => bytes(part),
        DataPart::Address(Relocation { symbol, addend: 0, .. }) => address(symbol).into(),
        DataPart::Address(Relocation { symbol, addend, .. }) => {
            let addend = long.const_int(addend as u64, true);
            raw::const_offset(byte, address(symbol), addend).into()
        }
    };
    let parts: Vec<_> = source.parts().into_iter().map(part).collect();
    types.context.const_struct(&parts, true).into()
}

/// Checks that a declaration that is to be defined has the type of the contents. If the contents are zeros, any type of
/// the same size will do.
pub(crate) fn check_type<'ctx>(
    module: &Module<'ctx>,
    types: &Types<'ctx>,
    symbol: &ir::SymbolData,
    data: &ir::Data,
    global: GlobalValue<'ctx>,
) -> Result<(), Error> {
    let (size, found) = (data.bytes.len(), global.get_value_type());
    let expected = ty(types, data);
    if found == expected.as_any_type_enum() {
        return Ok(());
    }
    let layout = raw::data_layout(module);
    let same_size = || TargetData::create(&layout).get_store_size(&found) == size as u64;
    if is_zero(data) && BasicTypeEnum::try_from(found).is_ok() && same_size() {
        return Ok(());
    }
    let (expected, found) = (expected.print_to_string(), found.print_to_string());
    let mismatch = Mismatch::new(expected.to_string_lossy(), found.to_string_lossy());
    Err(mismatch.of(&symbol.name))
}

fn is_zero(data: &ir::Data) -> bool {
    data.relocations.is_empty() && data.bytes.iter().all(|&byte| byte == 0)
}
