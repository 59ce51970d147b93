//! Data objects.

use codegen::backend::{Error, LARGE};
use codegen::ir::{self, DataPart};
use melior::dialect::llvm::r#type::{array, r#struct};
use melior::ir::operation::{OperationLike, OperationMutLike, OperationRefMut};
use melior::ir::{Attribute, BlockLike, BlockRef, Operation, RegionLike, Type, Value};

use crate::op::{Ops, Reference, name, parse};
use crate::{raw, refused};

/// Defines a declared data object.
pub(crate) fn define<'c>(
    ops: &Ops<'c>,
    global: &mut OperationRefMut<'c, '_>,
    references: &[Reference<'c>],
    source: &ir::Data,
    linkage: ir::Linkage,
) {
    for (name, value) in ops.contents_attributes(source, ty(ops, source), linkage) {
        global.set_attribute(name, value);
    }
    if source.large && ops.facts.large {
        global.set_attribute("section", ops.string(LARGE));
    }
    if source.listed {
        global.set_attribute("section", ops.string(ops.facts.list));
    }
    if linkage == ir::Linkage::Weak {
        let section = name(global).and_then(|name| ops.facts.weak_section(name));
        section.iter().for_each(|section| global.set_attribute("section", ops.string(section)));
    }
    if source.relocations.is_empty() {
        let value = match linkage {
            // The value of a common symbol must be seen to be zero.
            ir::Linkage::Weak => {
                parse(ops.context, &format!("dense<0> : tensor<{}xi8>", source.bytes.len()))
            }
            ir::Linkage::Import | ir::Linkage::Local | ir::Linkage::Export | ir::Linkage::Once => {
                raw::bytes_attribute(ops.context, &source.bytes)
            }
        };
        global.set_attribute("value", value);
        return;
    }
    let region = raw::region(global);
    let block = region.append_block(ops.block(std::iter::empty()));
    let reference = |symbol: ir::Symbol| references[symbol.index()].name;
    contents(ops, source, &block, reference);
}

/// Returns the type of a data object: bytes, or bytes and addresses.
pub(crate) fn ty<'c>(ops: &Ops<'c>, source: &ir::Data) -> Type<'c> {
    let bytes = |bytes: &[u8]| array(ops.types.i8, bytes.len() as u32);
    if source.relocations.is_empty() {
        return bytes(&source.bytes);
    }
    let part = |part| match part {
        DataPart::Bytes(part) => bytes(part),
        DataPart::Address(_) => ops.types.ptr,
    };
    let parts: Vec<Type> = source.parts().into_iter().map(part).collect();
    r#struct(ops.context, &parts, true)
}

/// Writes the operations that compute the contents of a data object; `name` returns the name of a symbol.
fn contents<'c, 'a>(
    ops: &Ops<'c>,
    source: &ir::Data,
    block: &BlockRef<'c, 'a>,
    name: impl Fn(ir::Symbol) -> Attribute<'c>,
) {
    let push = |operation: Operation<'c>| -> Value<'c, 'a> {
        let operation = block.append_operation(operation);
        operation.results().next().map(Value::from).expect("the operation has a result")
    };
    let all = ty(ops, source);
    let mut structure = push(ops.op("llvm.mlir.undef", &[], &[all], &[]));
    for (part, position) in source.parts().into_iter().zip(0..) {
        let part = match part {
            DataPart::Bytes(bytes) => {
                let ty = array(ops.types.i8, bytes.len() as u32);
                push(ops.constant(ty, raw::bytes_attribute(ops.context, bytes)))
            }
            DataPart::Address(relocation) => {
                let base = push(ops.address_of(name(relocation.symbol)));
                let long = ops.types.i64;
                match relocation.addend {
                    0 => base,
                    addend => {
                        let addend = push(ops.constant(long, ops.integer(long, addend)));
                        push(ops.ptr_add(base, addend))
                    }
                }
            }
        };
        structure = push(ops.insert(all, structure, part, position));
    }
    block.append_operation(ops.op("llvm.return", &[structure], &[], &[]));
}

/// The largest size of a data object: its type has a 32-bit length.
const MAX_BYTES: usize = u32::MAX as usize;

/// Checks that every data object has a type.
pub(crate) fn check_sizes(source: &ir::Module) -> Result<(), Error> {
    let too_large = source.data.iter().find(|data| data.bytes.len() > MAX_BYTES);
    too_large.map_or(Ok(()), |data| {
        let name = source.name(data.symbol);
        Err(refused(format!("`{name}` is larger than {MAX_BYTES} bytes")))
    })
}
