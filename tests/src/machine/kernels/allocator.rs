//! The kernels' allocator of tensors, with its mistakes.

use std::rc::Rc;

use abi_spec::layout::{
    DL_MANAGED_TENSOR_VERSIONED, DL_TENSOR, dl_managed_tensor_versioned as managed, dl_tensor,
};
use machine::{Machine, Outcome, Word};

use super::Kernels;

/// Mistakes of the allocator, by the first extent.
mod wrong {
    pub(super) const NO_MEMORY: i64 = 1001;
    pub(super) const STATUS_ALONE: i64 = 1002;
    pub(super) const NO_TENSOR: i64 = 1003;
    pub(super) const MISALIGNED: i64 = 1004;
    pub(super) const STRIDED: i64 = 1005;
    pub(super) const NO_DATA: i64 = 1006;
}

/// Returns the address of the kernels' allocator.
pub(in crate::machine) fn allocator(machine: &mut Machine<'_>, kernels: &Rc<Kernels>) -> Word {
    let k = Rc::clone(kernels);
    let deleter = machine.host(
        "(the deleter of the kernels' tensors)",
        None,
        Rc::new(move |machine, args| {
            for field in
                [managed::MANAGER_CTX.offset, managed::DL_TENSOR.offset + dl_tensor::SHAPE.offset]
            {
                let block = machine.memory.load(args[0].offset(field.into()), 8, 8)?;
                machine.memory.free(block)?;
            }
            machine.memory.free(args[0])?;
            k.tensors.set(k.tensors.get() - 1);
            Ok(Word::NULL)
        }),
    );
    let k = Rc::clone(kernels);
    machine.host(
        "(the kernels' allocator)",
        None,
        Rc::new(move |machine, args| allocate(machine, &k, deleter, args)),
    )
}

/// `DLPackManagedTensorAllocator`: its parameters are the prototype, the address for the tensor, a context and the
/// function that sets an error.
fn allocate(machine: &mut Machine<'_>, k: &Kernels, deleter: Word, args: &[Word]) -> Outcome {
    let &[prototype, out, context, set_error] = args else { unreachable!("four are declared") };
    let field = |offset: i32, size: usize| (prototype.offset(offset.into()), size);
    let load = |machine: &Machine<'_>, (at, size): (Word, usize)| machine.memory.load(at, size, 4);
    let rank = load(machine, field(dl_tensor::NDIM.offset, 4))?.as_int32();
    let shape = load(machine, field(dl_tensor::SHAPE.offset, 8))?;
    let mut extents = Vec::new();
    for dim in 0..i64::from(rank) {
        extents.push(machine.memory.load(shape.offset(8 * dim), 8, 8)?.as_int());
    }
    let fault = extents.first().copied().unwrap_or(0);
    let size = extents.iter().fold(16_i64, |size, extent| size.wrapping_mul(*extent));
    if fault == wrong::NO_MEMORY || size > 1 << 20 {
        let kind = machine.memory.constant("kind", &b"MemoryError\0"[..], 1);
        let text = machine.memory.constant("text", &b"none is left\0"[..], 1);
        machine.call(set_error, &[context, kind, text])?;
        return Ok(Word::int32(-1));
    }
    if fault == wrong::STATUS_ALONE {
        return Ok(Word::int32(9));
    }
    machine.memory.store(out, Word::NULL, 8, 8)?;
    if fault == wrong::NO_TENSOR {
        return Ok(Word::NULL);
    }
    let block = machine.memory.heap(
        "data of a kernels' tensor",
        (size.max(0) as usize + 511) / 256 * 256,
        256,
    );
    let dims = machine.memory.zeroed("dims of a kernels' tensor", 8 * (2 * extents.len() + 1), 8);
    for (dim, extent) in extents.iter().enumerate() {
        machine.memory.store(dims.offset(8 * dim as i64), Word::int(*extent), 8, 8)?;
    }
    let size = DL_MANAGED_TENSOR_VERSIONED.size as usize;
    let tensor = machine.memory.zeroed("a kernels' tensor", size, 8);
    let view = tensor.offset(managed::DL_TENSOR.offset.into());
    // Copies device, rank and element type of the prototype; its other fields are not read.
    for at in [dl_tensor::DEVICE.offset, dl_tensor::NDIM.offset] {
        let word = machine.memory.load(prototype.offset(at.into()), 8, 8)?;
        machine.memory.store(view.offset(at.into()), word, 8, 8)?;
    }
    const { assert!(DL_TENSOR.size == 48) };
    let data = match fault {
        wrong::NO_DATA => Word::NULL,
        wrong::MISALIGNED => block.offset(1),
        _ => block,
    };
    let strides = match fault {
        wrong::STRIDED => dims.offset(8 * extents.len() as i64),
        _ => Word::NULL,
    };
    let fields = [
        (view.offset(dl_tensor::DATA.offset.into()), data),
        (view.offset(dl_tensor::SHAPE.offset.into()), dims),
        (view.offset(dl_tensor::STRIDES.offset.into()), strides),
        (tensor.offset(managed::MANAGER_CTX.offset.into()), block),
        (tensor.offset(managed::DELETER.offset.into()), deleter),
        (out, tensor),
    ];
    for (at, value) in fields {
        machine.memory.store(at, value, 8, 8)?;
    }
    k.tensors.set(k.tensors.get() + 1);
    Ok(Word::NULL)
}
