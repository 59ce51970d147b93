//! Tensors: import from and export to DLPack, views, and the allocator of the environment.

use abi_spec::TypeIndex;
use abi_spec::layout::{
    DL_MANAGED_TENSOR, DL_MANAGED_TENSOR_VERSIONED, DL_TENSOR, dl_managed_tensor,
    dl_managed_tensor_versioned as versioned, dl_tensor,
};

use super::object::ObjectBody;
use super::value::FAILED;
use crate::finding::{Finding, ensure};
use crate::link::Machine;
use crate::run::Outcome;
use crate::word::Word;

/// Names of functions that allocators and managed tensors get.
pub(super) const SET_ERROR: &str = "(set_error of an allocation)";
pub(super) const DELETER: &str = "(the deleter of an exported tensor)";

/// Flag of managed tensors: elements below a byte take a byte each.
const SUBBYTE_TYPE_PADDED: u64 = 4;

/// Requirements of a tensor that becomes an object.
struct Wanted {
    align: i32,
    contiguous: bool,
}

/// Extents and strides.
type Dims = (Vec<i64>, Option<Vec<i64>>);

impl Machine<'_> {
    /// Copies the fields of a `DLTensor`.
    fn copy_tensor(&mut self, from: Word, to: Word) -> Result<(), Box<Finding>> {
        for offset in (0..i64::from(DL_TENSOR.size)).step_by(8) {
            let word = self.memory.load(from.offset(offset), 8, 8)?;
            self.memory.store(to.offset(offset), word, 8, 8)?;
        }
        Ok(())
    }

    /// Reads the extents and the strides of a tensor; no strides if they are NULL.
    fn dims(&self, tensor: Word) -> Result<Dims, Box<Finding>> {
        let rank = self.memory.load(tensor.offset(dl_tensor::NDIM.offset.into()), 4, 4)?;
        let rank = i64::from(rank.as_int32());
        ensure(rank >= 0, || format!("a tensor of rank {rank}"))?;
        let numbers = |at: Word| -> Result<Vec<i64>, Box<Finding>> {
            (0..rank).map(|dim| Ok(self.memory.load(at.offset(8 * dim), 8, 8)?.as_int())).collect()
        };
        let field = |offset: i32| self.memory.load(tensor.offset(offset.into()), 8, 8);
        let shape = numbers(field(dl_tensor::SHAPE.offset)?)?;
        let strides = field(dl_tensor::STRIDES.offset)?;
        let strides = if strides.is_null() { None } else { Some(numbers(strides)?) };
        Ok((shape, strides))
    }

    /// Makes a tensor object that takes over `owner`, or raises an error.
    fn take_over(
        &mut self,
        tensor: Word,
        owner: Word,
        deleter_at: i64,
        wanted: &Wanted,
    ) -> Result<Option<Word>, Box<Finding>> {
        let (shape, strides) = self.dims(tensor)?;
        let product = |dims: &[i64]| dims.iter().fold(1_i64, |a, b| a.wrapping_mul(*b));
        let compact: Vec<i64> = (0..shape.len()).map(|dim| product(&shape[dim + 1..])).collect();
        let data = self.memory.load(tensor.offset(dl_tensor::DATA.offset.into()), 8, 8)?;
        let offset = self.memory.load(tensor.offset(dl_tensor::BYTE_OFFSET.offset.into()), 8, 8)?;
        let address = data.bits.wrapping_add(offset.bits);
        let align = u64::try_from(wanted.align).unwrap_or(0);
        if align > 0 && !address.is_multiple_of(align) {
            let message = format!("FromDLPack: Data is not aligned to {align} bytes.");
            self.raise("RuntimeError", message.as_bytes());
            return Ok(None);
        }
        let given = strides.as_ref().unwrap_or(&compact);
        let fits =
            |((extent, found), expected): ((&i64, &i64), &i64)| *extent == 1 || found == expected;
        if wanted.contiguous && !shape.iter().zip(given).zip(&compact).all(fits) {
            self.raise("RuntimeError", b"FromDLPack: Tensor is not contiguous.");
            return Ok(None);
        }
        let object = self.object(
            TypeIndex::TENSOR.0,
            "tensor object",
            DL_TENSOR.size as usize,
            ObjectBody::Plain,
        );
        let cell = object.offset(24);
        self.copy_tensor(tensor, cell)?;
        let mut own = None;
        if strides.is_none() && !shape.is_empty() {
            let place = self.memory.zeroed("strides", 8 * shape.len(), 8);
            for (dim, stride) in compact.iter().enumerate() {
                self.memory.store(place.offset(8 * dim as i64), Word::int(*stride), 8, 8)?;
            }
            self.memory.store(cell.offset(dl_tensor::STRIDES.offset.into()), place, 8, 8)?;
            own = Some(place);
        }
        self.set_body(
            object,
            ObjectBody::Tensor { owner, is_view: false, deleter_at, strides: own },
        );
        Ok(Some(object))
    }

    fn answer(&mut self, made: Option<Word>, out: Word) -> Outcome {
        let Some(object) = made else { return Ok(FAILED) };
        self.memory.store(out, object, 8, 8)?;
        Ok(Word::NULL)
    }

    fn check_tensor(&self, object: Word) -> Result<(), Box<Finding>> {
        let index = self.type_index(object)?;
        ensure(index == TypeIndex::TENSOR.0, || format!("an object of {index} is no tensor"))
    }

    /// Sets the stream of a device for the thread; returns the previous one.
    pub fn set_stream(&mut self, device: (i32, i32), stream: Word) -> Option<Word> {
        self.runtime.streams.insert(device, stream)
    }
}

/// `TVMFFITensorFromDLPack`
pub(super) fn from_dlpack(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[managed, align, contiguous, out] = args else { unreachable!("four are declared") };
    let wanted = Wanted { align: align.as_int32(), contiguous: contiguous.as_int32() != 0 };
    let deleter = dl_managed_tensor::DELETER.offset.into();
    let made = machine.take_over(managed, managed, deleter, &wanted)?;
    machine.answer(made, out)
}

/// `TVMFFITensorFromDLPackVersioned`
pub(super) fn from_versioned(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let &[managed, align, contiguous, out] = args else { unreachable!("four are declared") };
    let flags = machine.memory.load(managed.offset(versioned::FLAGS.offset.into()), 8, 8)?;
    if flags.bits & SUBBYTE_TYPE_PADDED != 0 {
        machine.raise("RuntimeError", b"Subbyte type padded is not yet supported");
        return Ok(FAILED);
    }
    let wanted = Wanted { align: align.as_int32(), contiguous: contiguous.as_int32() != 0 };
    let tensor = managed.offset(versioned::DL_TENSOR.offset.into());
    let deleter = versioned::DELETER.offset.into();
    let made = machine.take_over(tensor, managed, deleter, &wanted)?;
    machine.answer(made, out)
}

/// Makes a managed tensor that holds a reference to an object.
fn export(machine: &mut Machine<'_>, args: &[Word], is_versioned: bool) -> Outcome {
    machine.check_tensor(args[0])?;
    machine.retain(args[0])?;
    let (size, tensor, context, deleter) = if is_versioned {
        let fields = [versioned::DL_TENSOR, versioned::MANAGER_CTX, versioned::DELETER];
        let [tensor, context, deleter] = fields.map(|field| i64::from(field.offset));
        (DL_MANAGED_TENSOR_VERSIONED.size, tensor, context, deleter)
    } else {
        let fields = [
            dl_managed_tensor::DL_TENSOR,
            dl_managed_tensor::MANAGER_CTX,
            dl_managed_tensor::DELETER,
        ];
        let [tensor, context, deleter] = fields.map(|field| i64::from(field.offset));
        (DL_MANAGED_TENSOR.size, tensor, context, deleter)
    };
    let managed = machine.memory.zeroed("managed tensor", size as usize, 8);
    machine.copy_tensor(args[0].offset(24), managed.offset(tensor))?;
    let function = machine.model(DELETER).expect("the model has it");
    machine.memory.store(managed.offset(context), args[0], 8, 8)?;
    machine.memory.store(managed.offset(deleter), function, 8, 8)?;
    machine.answer(Some(managed), args[1])
}

/// `TVMFFITensorToDLPack`
pub(super) fn to_dlpack(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    export(machine, args, false)
}

/// `TVMFFITensorToDLPackVersioned`
pub(super) fn to_versioned(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    export(machine, args, true)
}

/// Frees a managed tensor that [`export`] has made, in either form: the context is in the second or the last word but
/// one.
pub(super) fn delete_exported(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let at = |field: abi_spec::layout::Field| args[0].offset(field.offset.into());
    let first = machine.memory.load(at(versioned::MANAGER_CTX), 8, 8)?;
    let object = match first.origin {
        Some(_) => first,
        None => machine.memory.load(at(dl_managed_tensor::MANAGER_CTX), 8, 8)?,
    };
    machine.release(object)?;
    machine.memory.free(args[0])?;
    Ok(Word::NULL)
}

/// `TVMFFITensorCreateUnsafeView`
pub(super) fn create_view(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.check_tensor(args[0])?;
    machine.retain(args[0])?;
    let body = ObjectBody::Tensor { owner: args[0], is_view: true, deleter_at: 0, strides: None };
    let object = machine.object(TypeIndex::TENSOR.0, "tensor view", DL_TENSOR.size as usize, body);
    machine.copy_tensor(args[1], object.offset(24))?;
    machine.answer(Some(object), args[2])
}

/// `TVMFFIEnvSetDLPackManagedTensorAllocator`
pub(super) fn set_allocator(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let before = std::mem::replace(&mut machine.runtime.allocator, args[0]);
    if !args[2].is_null() {
        machine.memory.store(args[2], before, 8, 8)?;
    }
    Ok(Word::NULL)
}

/// `TVMFFIEnvGetDLPackManagedTensorAllocator`
pub(super) fn get_allocator(machine: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(machine.runtime.allocator)
}

/// `TVMFFIEnvTensorAlloc`
pub(super) fn allocate(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let allocator = machine.runtime.allocator;
    if allocator.is_null() {
        let message = b"TVMFFIEnvTensorAlloc: allocator is nullptr, likely because \
            TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.";
        machine.raise("RuntimeError", message);
        return Ok(FAILED);
    }
    machine.dims(args[0])?;
    let place = machine.memory.variable("place for a managed tensor", vec![0; 8], 8);
    let set_error = machine.model(SET_ERROR).expect("the model has it");
    let status = machine.call(allocator, &[args[0], place, Word::NULL, set_error])?;
    if !status.is_null() {
        return Ok(status);
    }
    let managed = machine.memory.load(place, 8, 8)?;
    machine.memory.end(place);
    if managed.is_null() {
        let message = b"TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator";
        machine.raise("RuntimeError", message);
        return Ok(FAILED);
    }
    from_versioned(machine, &[managed, Word::NULL, Word::NULL, args[1]])
}

/// `set_error` of an allocator call: its parameters are context, kind and message.
pub(super) fn set_error(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let kind = machine.memory.c_string(args[1])?;
    let message = machine.memory.c_string(args[2])?;
    machine.raise(&String::from_utf8_lossy(&kind), &message);
    Ok(Word::NULL)
}
