//! Devices of tensors: their indices, the check that they are GPUs, and their attributes.

use abi_spec::layout::dl_tensor;

use crate::declaration::Platform;
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::cuda::{ATTRIBUTE_DEVICE_SHIFT, ATTRIBUTE_KNOWN};
use crate::lower::failure::message::Message;
use crate::lower::routines::NO_ATTRIBUTE;
use crate::lower::routines::commands::Commands;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::zeros;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::Home;
use crate::resolve::ids::ValueId;

impl Wrapper<'_, '_> {
    /// Returns the device index of a tensor, `I64`.
    pub(crate) fn device_of(&mut self, home: Home) -> Value {
        let index = match home {
            Home::Value(value) => self.device_id32(value),
            Home::Output(_) => {
                let dl = self.home_tensor(home);
                self.b.load(Type::I32, dl, dl_tensor::DEVICE_ID.offset)
            }
        };
        self.b.convert(Convert::Sext, index, Type::I64)
    }

    /// Returns the `DLTensor*` of a tensor.
    pub(crate) fn home_tensor(&mut self, home: Home) -> Value {
        match home {
            Home::Value(value) => self.dl(value),
            Home::Output(output) => self.output_tensor(output),
        }
    }

    /// Checks that a tensor is on a GPU or absent. Needed if the declaration allows any device.
    pub(crate) fn require_gpu(&mut self, value: ValueId) {
        let dl = self.dl(value);
        let dl = self.readable(value, dl, 16);
        let device = self.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset);
        let ty = self.b.convert(Convert::Trunc, device, Type::I32);
        let gpu = self.function.platform.device_type();
        let is_gpu = self.b.compare_const(Cond::Eq, ty, gpu.0.into());
        let fine = match self.mask(value) {
            Some(there) => {
                let absent = self.b.not(there);
                self.b.or(is_gpu, absent)
            }
            None => is_gpu,
        };
        let path = self.function.values[value].path.clone();
        let argument = self.function.argument(value);
        let fail = self.failing(|_| {
            let mut message = Message::new("ValueError");
            message.text("Mismatched ").quoted(&path).text(".device").on(argument);
            message.piece(PieceKind::Calling, &[]).text(&format!(", expected {gpu} but got "));
            message.piece(PieceKind::Device, &[device]);
            message
        });
        let next = self.b.block("next");
        self.b.branch(fine, next, fail);
        self.b.switch_to(next);
    }

    /// Returns an attribute of the device of a tensor, an `I64`. The driver is asked if the device is another one than
    /// the last time.
    pub(crate) fn device_attribute(
        &mut self,
        home: Home,
        unsure: Option<ValueId>,
        id: u32,
    ) -> Value {
        self.settle_overflows();
        unsure.into_iter().for_each(|value| self.require_gpu(value));
        let device = self.device_of(home);
        let platform = self.function.platform;
        let cell = self.attribute_cell(platform, id);
        let word = self.b.atomic_load(Type::I64, cell, 0);
        let shift = ATTRIBUTE_DEVICE_SHIFT as i64;
        let found = self.b.binary_const(Binary::Lshr, word, shift);
        let wanted = self.b.binary_const(Binary::Xor, device, ATTRIBUTE_KNOWN as i64);
        let is_known = self.b.compare(Cond::Eq, found, wanted);
        let low = self.b.convert(Convert::Trunc, word, Type::I32);
        let known = self.b.convert(Convert::Sext, low, Type::I64);
        let (ask, next) = (self.b.cold_block("ask"), self.b.block("attribute"));
        let value = self.b.block_param(next, Type::I64, "attribute");
        self.b.branch(is_known, (next, [known]), ask);
        self.b.switch_to(ask);
        let (site, number) = (self.here(), self.b.i32(id as i32));
        let told =
            self.routine_value(Commands::of(platform).attribute, &[site, cell, device, number]);
        let failed = self.b.compare_const(Cond::Eq, told, NO_ATTRIBUTE);
        let raised = self.raised();
        self.b.branch(failed, raised, (next, [told]));
        self.b.switch_to(next);
        value
    }

    /// Returns the address of the cell of an attribute, which all functions of the module share.
    pub(crate) fn attribute_cell(&mut self, platform: Platform, id: u32) -> Value {
        let (ty, module) = (platform.device_type(), &mut *self.b.module);
        let symbol = zeros(module, &format!("tvm_ffi_codegen.attribute.{ty}.{id}"), 8);
        self.b.address(symbol)
    }
}
