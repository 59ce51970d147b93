//! Tensors that a body allocates: results, workspaces, scratches of launches. First the extents and devices of tensors
//! are computed, then the tensors are allocated together.

use abi_spec::DeviceType;
use abi_spec::layout::{ANY, any, dl_tensor};

use crate::declaration::Device;
use crate::ir::typed::Struct;
use crate::ir::{Cond, Type, Value};
use crate::language::spelled;
use crate::lower::emitter::state::OutputState;
use crate::lower::failure::records;
use crate::lower::routines::Routine;
use crate::lower::routines::records::{OutputRecord, Outputs};
use crate::lower::routines::schema::FieldType;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Output;
use crate::resolve::ids::Home;
use crate::resolve::ids::OutputId;

impl Wrapper<'_, '_> {
    /// Computes the extents and the devices of tensors.
    pub(crate) fn plan(&mut self, outputs: &[OutputId]) {
        for &id in outputs {
            let output = &self.function.outputs[id];
            let extents = output.extents.iter().map(|extent| self.term(extent)).collect();
            let device = self.output_device(output);
            let dtype = output.dtype_of.map(|tensor| self.dtype32(tensor));
            self.outputs[id] = Some(OutputState { extents, device, dtype, object: None });
        }
    }

    /// Returns the device of a tensor: the 8 bytes of a `DLDevice` as an `I64`.
    fn output_device(&mut self, output: &Output<'_>) -> Value {
        let dl = match (output.home, output.tensor.device) {
            (Some(Home::Value(value)), _) => self.dl(value),
            (Some(Home::Output(output)), _) => self.output_tensor(output),
            (None, Device::Any) => return self.b.i64(DeviceType::CPU.0.into()),
            (None, Device::Type(ty)) => return self.b.i64(ty.0.into()),
        };
        self.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset)
    }

    /// Emits the allocation of tensors after [`plan`](Self::plan). From then on the frame owns them.
    pub(crate) fn allocate(&mut self, outputs: &[OutputId]) {
        let planned = outputs.iter().filter_map(|&output| self.outputs[output].clone());
        let planned: Vec<OutputState> = planned.collect();
        let extents: Vec<Value> =
            planned.iter().flat_map(|output| output.extents.iter().copied()).collect();
        let devices: Vec<Value> = planned.iter().map(|output| output.device).collect();
        let words: Vec<Value> = devices.iter().chain(&extents).copied().collect();
        let devices_at = self.scratch(&words);
        let extents_at = self.b.ptr_offset(devices_at, 8 * devices.len() as i64);
        let count = outputs.len() as u32;
        let tensors = self.own(count);
        let site = self.here();
        let dtypes: Vec<Option<Value>> = planned.iter().map(|output| output.dtype).collect();
        let record = self.outputs_record(outputs, &dtypes);
        let args = [site, record, extents_at, devices_at, tensors];
        let status = self.routine_value(Routine::Allocate, &args);
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("not_allocated"), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        self.disown(count);
        self.exit(Some(status));
        self.own(count);
        self.b.switch_to(next);
        for (index, &output) in outputs.iter().enumerate() {
            let at = (index as u32 * ANY.size) as i32 + any::PAYLOAD.offset;
            let object = self.b.load(Type::Ptr, tensors, at);
            if let Some(state) = &mut self.outputs[output] {
                state.object = Some(object);
            }
        }
    }

    /// Returns the address of the record of tensors that are allocated together. It is a constant unless an element
    /// type is known at run time only.
    fn outputs_record(&mut self, outputs: &[OutputId], dtypes: &[Option<Value>]) -> Value {
        let mut words = Vec::new();
        for &output in outputs {
            self.output_record(output).encode(&mut words);
        }
        let head = Outputs { count: outputs.len() as u32 };
        if dtypes.iter().all(Option::is_none) {
            let record = self.records.shared(head, &words);
            return records::address(&mut self.b, record);
        }
        let mut all = Vec::new();
        head.encode(&mut all);
        all.append(&mut words);
        let at = self.b.stack_slot(4 * all.len() as u32, 8);
        for (nth, word) in all.into_iter().enumerate() {
            let word = self.b.i32(word.cast_signed());
            self.b.store(word, at, 4 * nth as i32);
        }
        let first = 4 * Outputs::WORDS as i32 + OutputRecord::FIELDS.dtype.offset();
        for (nth, dtype) in dtypes.iter().enumerate() {
            if let Some(dtype) = dtype {
                self.b.store(*dtype, at, first + (4 * OutputRecord::WORDS as usize * nth) as i32);
            }
        }
        at
    }

    /// Returns the record of a tensor. An element type that is known at run time only is 0. Its elements are aligned
    /// for the largest one that it may be.
    fn output_record(&mut self, output: OutputId) -> OutputRecord {
        let output = &self.function.outputs[output];
        let listing = output.dtype_of.and_then(|tensor| self.function.listing(tensor));
        let align = output.tensor.align;
        let align = align.unwrap_or_else(|| listing.unwrap_or(&output.tensor).largest_alignment());
        let dtype = output.tensor.dtypes.first().map_or(0, |dtype| dtype.to_word());
        let name = self.records.quoted(&spelled(output.name).to_string());
        OutputRecord { rank: output.extents.len() as u32, dtype, align, name }
    }
}
