//! Tensor maps. The driver encodes them in the frame.

use crate::ir::{Binary, Convert, Type, Value};
use crate::lower::cuda::{MAP_ALIGN, map};
use crate::lower::launch::images;
use crate::lower::quote::elide;
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::launch::TensorMap;

/// Bytes to reserve for alignment, since maps have a larger alignment than the frame.
pub(super) const SLACK: u32 = MAP_ALIGN - 16;

impl<'a> Wrapper<'a, '_> {
    /// Emits the call that encodes a map in an area of the frame; returns the address of the map.
    pub(super) fn tensor_map(
        &mut self,
        declared: &'a TensorMap<'a>,
        area: Value,
        site: Value,
    ) -> Value {
        let to = self.map_address(area);
        let numbers: Vec<Value> = declared.numbers.iter().map(|number| self.term(number)).collect();
        let numbers = self.scratch(&numbers);
        let name = elide(&declared.name);
        let how = images::map(self.b.module, &words(declared, &name), &name);
        let how = self.b.address(how);
        let dl = self.home_tensor(declared.tensor);
        let args = [site, how, dl, numbers, to];
        let status = self.routine_value(Routine::TensorMap, &args);
        self.exit_unless_zero(status, "not_launched");
        to
    }

    /// Returns the first address in an area that has the alignment of maps.
    pub(super) fn map_address(&mut self, address: Value) -> Value {
        let number = self.b.convert(Convert::PtrToInt, address, Type::I64);
        let zero = self.b.i64(0);
        let missing = self.b.binary(Binary::Sub, zero, number);
        let missing = self.b.binary_const(Binary::And, missing, i64::from(MAP_ALIGN) - 1);
        self.b.ptr_add(address, missing)
    }
}

/// Returns the fields of [`map`], which describe to the routine how to encode a map.
fn words(declared: &TensorMap<'_>, name: &str) -> [u64; map::SIZE as usize / 8] {
    let (options, element) = (declared.declared, declared.element);
    let steps = !options.steps.is_empty();
    let plain = options.dtype.is_none_or(|dtype| dtype.bytes().is_some());
    let mut words = [0; map::SIZE as usize / 8];
    let fields = [
        (map::RANK, options.extents.len() as u64),
        (map::DTYPE, element.number.into()),
        (map::BYTES, element.bytes.into()),
        (map::INTERLEAVE, options.interleave as u64),
        (map::SWIZZLE, options.swizzle as u64),
        (map::PROMOTION, options.promotion as u64),
        (map::FILL, options.fill as u64),
        (map::STEPS, steps.into()),
        (map::PLAIN, plain.into()),
        (map::NAME_SIZE, name.len() as u64),
    ];
    for (field, value) in fields {
        words[field as usize / 8] = value;
    }
    words
}
