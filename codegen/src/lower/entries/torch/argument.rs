//! Arguments of the wrapper, made of the inputs of a call.

use abi_spec::layout::{BYTE_ARRAY, DL_TENSOR};
use abi_spec::{DType, DeviceType, TypeIndex};

use super::{Input, OperatorKernel};
use crate::ir::{Cond, Convert, Type, Value};
use crate::language::spelled;
use crate::lower::failure::records;
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::torch::{NO_DEVICE, form};
use crate::lower::value::write_none;
use crate::resolve::torch::{TorchArgument, TorchElement, TorchType, TorchWord};

impl OperatorKernel<'_, '_> {
    /// Writes an argument of the wrapper; None if its input is.
    pub(super) fn argument(&mut self, index: usize, argument: &TorchArgument<'_>, input: Input) {
        let Some(there) = input.there else { return self.present(index, argument, input) };
        let (some, none, next) = (self.b.block("some"), self.b.block("none"), self.b.block("next"));
        self.b.branch(there, some, none);
        self.b.switch_to(none);
        let zero = self.b.i64(0);
        self.write(index, TypeIndex::NONE, zero);
        self.b.jump(next, &[]);
        self.b.switch_to(some);
        self.present(index, argument, input);
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }

    /// Writes an argument whose input is there.
    fn present(&mut self, index: usize, argument: &TorchArgument<'_>, input: Input) {
        let Input { word, there, .. } = input;
        match argument.given {
            TorchType::Word(ty) => self.word(index, argument.name, ty, word),
            TorchType::Tensor { writes } => {
                let view = self.view(argument, writes, word);
                if self.place.is_some() {
                    self.elsewhere.push((view, there));
                }
                if argument.kept {
                    let handle = self.pointer(word);
                    return self.share(index, handle, writes);
                }
                let view = self.b.as_word(view);
                self.write(index, TypeIndex::DL_TENSOR_PTR, view);
            }
            TorchType::Str => {
                let (handle, to) = (self.pointer(word), self.slot(index));
                let status = self.routine_value(Routine::TorchText, &[handle, to]);
                self.go_on(status);
            }
            TorchType::Bytes => {
                let array = self.b.stack_slot(BYTE_ARRAY.size, BYTE_ARRAY.align);
                let handle = self.pointer(word);
                self.routine(Routine::TorchBytes, &[handle, array]);
                let array = self.b.as_word(array);
                self.write(index, TypeIndex::BYTE_ARRAY_PTR, array);
            }
            TorchType::Shape | TorchType::Array(_) => {
                self.list(index, input, form_of(argument.given))
            }
            // It is written once the device is known.
            TorchType::Stream => {}
        }
    }

    /// Writes a value that is a word.
    fn word(&mut self, index: usize, name: &str, ty: TorchWord, word: Value) {
        let (ty, payload) = match ty {
            TorchWord::Int => (TypeIndex::INT, word),
            TorchWord::Bool => {
                let byte = self.b.convert(Convert::Trunc, word, Type::I8);
                let truth = self.b.compare_const(Cond::Ne, byte, 0);
                (TypeIndex::BOOL, self.b.widen_bool(truth, Type::I64))
            }
            TorchWord::Float => (TypeIndex::FLOAT, word),
            TorchWord::DType => {
                let number = self.b.convert(Convert::Trunc, word, Type::I32);
                let dtype = self.routine_value(Routine::TorchDtype, &[number]);
                let void = i64::from(DType::VOID.to_word());
                let known = self.b.compare_const(Cond::Ne, dtype, void);
                self.require_known(known, name);
                (TypeIndex::DATA_TYPE, self.b.convert(Convert::Zext, dtype, Type::I64))
            }
            TorchWord::Device => {
                let accelerator = self.accelerator();
                let device = self.routine_value(Routine::TorchDevice, &[word, accelerator]);
                let ty = self.b.convert(Convert::Trunc, device, Type::I32);
                let known = self.b.compare_const(Cond::Ne, ty, 0);
                self.require_known(known, name);
                (TypeIndex::DEVICE, device)
            }
        };
        self.write(index, ty, payload);
    }

    /// Leaves with an error unless the FFI has the value of an argument, too.
    fn require_known(&mut self, known: Value, name: &str) {
        let failed = Failed::of(Complaint::TorchUnknown, &spelled(name).to_string());
        self.require(known, &failed, &[], self.leave);
    }

    /// Returns the address of a view of a tensor.
    fn view(&mut self, argument: &TorchArgument<'_>, writes: bool, word: Value) -> Value {
        let view = self.b.stack_slot(DL_TENSOR.size, DL_TENSOR.align);
        let (handle, accelerator) = (self.pointer(word), self.accelerator());
        let writes = self.b.i32(writes.into());
        let answer = self.routine_value(Routine::TorchView, &[view, handle, writes, accelerator]);
        let (refused, next) = (self.b.cold_block("refused"), self.b.block("view"));
        let viewed = self.b.compare_const(Cond::Eq, answer, 0);
        self.b.branch(viewed, next, refused);
        self.b.switch_to(refused);
        let name = spelled(argument.name).to_string();
        let has_device = self.b.compare_const(Cond::Ne, answer, NO_DEVICE.into());
        let failed = Failed::of(Complaint::TorchDevice, &name);
        self.require(has_device, &failed, &[], self.leave);
        self.raising.raise(&mut self.b, &Failed::of(Complaint::TorchMemory, &name), &[]);
        self.b.jump(self.leave, &[]);
        self.b.switch_to(next);
        view
    }

    /// Writes a tensor object that shares a tensor of PyTorch's.
    pub(super) fn share(&mut self, index: usize, tensor: Value, writes: bool) {
        let host = records::address(&mut self.b, self.raising.reporter.record);
        let (accelerator, to) = (self.accelerator(), self.slot(index));
        let writes = self.b.i32(writes.into());
        let args = [host, tensor, writes, accelerator, to];
        let status = self.routine_value(Routine::TorchShare, &args);
        self.go_on(status);
    }

    /// Writes an array or a shape, which is made of a list.
    fn list(&mut self, index: usize, input: Input, form: u8) {
        // The routine takes the list over, so that its word becomes 0.
        let list = self.b.ptr_offset(self.owned, input.at.into());
        let host = records::address(&mut self.b, self.raising.reporter.record);
        let (accelerator, to) = (self.accelerator(), self.slot(index));
        let form = self.b.constant(Type::I8, form.into());
        write_none(&mut self.b, to);
        let args = [host, list, form, accelerator, to];
        let status = self.routine_value(Routine::TorchList, &args);
        self.go_on(status);
    }

    /// Returns the type of the devices that PyTorch calls `cuda`.
    fn accelerator(&mut self) -> Value {
        let DeviceType(ty) = self.operator.devices.accelerator;
        self.b.i32(ty)
    }

    /// Returns a word as an address.
    fn pointer(&mut self, word: Value) -> Value {
        self.b.convert(Convert::IntToPtr, word, Type::Ptr)
    }
}

/// Returns the form of a value that is there.
pub(super) fn form_of(given: TorchType) -> u8 {
    match given {
        TorchType::Word(word) => form_of_word(word),
        TorchType::Tensor { writes } => form_of_tensor(writes),
        TorchType::Str | TorchType::Bytes => form::TEXT,
        TorchType::Shape => form::SHAPE,
        TorchType::Array(TorchElement::Word(word)) => form::LIST | form_of_word(word),
        TorchType::Array(TorchElement::Str) => form::LIST | form::TEXT,
        TorchType::Array(TorchElement::Tensor { writes }) => form::LIST | form_of_tensor(writes),
        // It has no word.
        TorchType::Stream => form::INT,
    }
}

fn form_of_word(word: TorchWord) -> u8 {
    match word {
        TorchWord::Bool => form::BOOL,
        TorchWord::Float => form::FLOAT,
        TorchWord::Int | TorchWord::DType | TorchWord::Device => form::INT,
    }
}

fn form_of_tensor(writes: bool) -> u8 {
    if writes { form::TENSOR } else { form::READ_TENSOR }
}
