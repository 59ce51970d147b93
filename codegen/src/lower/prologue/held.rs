//! Loads of what a closure holds.

use abi_spec::DeviceType;
use abi_spec::layout::{OBJECT, any, byte_array, dl_tensor, seq_cell};

use crate::declaration::Device;
use crate::ir::{Hint, Type, Value};
use crate::lower::emitter::state::{OutputState, SymbolState};
use crate::lower::emitter::value::element;
use crate::lower::wrapper::Wrapper;
use crate::resolve::closure::Captured;
use crate::resolve::ids::{LocalId, OutputId};
use crate::resolve::step::Step;
use crate::resolve::term::Kind;

impl<'a> Wrapper<'a, '_> {
    /// Loads what a closure holds.
    pub(crate) fn unpack_held(&mut self) {
        let captured = &self.function.captured;
        if captured.is_empty() {
            return;
        }
        let array = self.b.param(0);
        let elements = self.b.load(Type::Ptr, array, seq_cell::DATA.in_object());
        self.held = Some(self.b.hint(elements, "held"));
        self.unpack_numbers(elements);
        for (index, captured) in captured.iter().enumerate() {
            match captured {
                Captured::Local(_) | Captured::Map(_) => {}
                Captured::Value(_, steps) => self.unpack_steps(steps, true),
                Captured::Output(output) => self.unpack_output(*output, elements, index),
            }
        }
        self.note_held_device();
    }

    /// Notes the device of the first captured tensor, with which those of the parameters are compared.
    fn note_held_device(&mut self) {
        let mut is_compared = false;
        Step::visit_all(&self.function.steps, &mut |step| {
            is_compared |= matches!(step, Step::Header { tensor, device: true, .. }
                if tensor.device != Device::Type(DeviceType::CPU));
        });
        let on_device = |captured: &Captured<'_>| {
            let Captured::Value(value, _) = captured else { return None };
            let declared = &self.function.values[*value];
            let device = declared.tensor()?.device;
            let fits = declared.guard.is_none() && device != Device::Type(DeviceType::CPU);
            fits.then_some((*value, device))
        };
        if let Some((value, device)) = self.function.captured.iter().find_map(on_device)
            && is_compared
        {
            self.same_device(value, device);
        }
    }

    /// Loads the numbers and the addresses of maps that a closure holds. A launch copies the bytes of a map, wherever they
    /// are; only encoding needs aligned memory.
    fn unpack_numbers(&mut self, elements: Value) {
        for (index, captured) in self.function.captured.iter().enumerate() {
            match captured {
                Captured::Local(local) => self.unpack_local(*local, elements, index),
                Captured::Map(map) => self.maps[*map] = Some(self.bytes_at(elements, index)),
                Captured::Value(..) | Captured::Output(_) => {}
            }
        }
        for (symbol, declared) in self.function.symbols.iter() {
            self.know_symbol(symbol, declared.local);
        }
    }

    /// Emits code in a block that other code does not dominate: it loads the numbers and maps that it uses, and what it
    /// has loaded is forgotten at its end.
    pub(crate) fn loading_anew(&mut self, elements: Value, body: impl FnOnce(&mut Self)) {
        let (known, locals, maps) = (self.mark(), self.locals.clone(), self.maps.clone());
        for (symbol, declared) in self.function.symbols.iter() {
            if declared.local.is_some() {
                self.symbols[symbol] = SymbolState::Unbound;
            }
        }
        self.unpack_numbers(elements);
        self.without_dominating(body);
        (self.locals, self.maps) = (locals, maps);
        self.go_back(known);
    }

    fn unpack_local(&mut self, local: LocalId, elements: Value, index: usize) {
        let ty = match self.function.locals[local].kind {
            Kind::Float => Type::F64,
            Kind::Ptr => Type::Ptr,
            Kind::Int | Kind::Unsigned | Kind::Bool | Kind::DType => Type::I64,
            Kind::Device | Kind::Text | Kind::Several => {
                unreachable!("these are captured as values")
            }
        };
        let value = self.b.load(ty, elements, element(index) + any::PAYLOAD.offset);
        let name = self.function.locals[local].name;
        let name = self.b.name(name);
        self.b.hint(value, Hint { name: Some(name), part: "", index: None });
        self.locals[local] = Some(value);
    }

    fn unpack_output(&mut self, output: OutputId, elements: Value, index: usize) {
        let object = self.b.load(Type::Ptr, elements, element(index) + any::PAYLOAD.offset);
        let at = OBJECT.size as i32 + dl_tensor::DEVICE_TYPE.offset;
        let device = self.b.load(Type::I64, object, at);
        let (extents, dtype) = (Vec::new(), None);
        self.outputs[output] = Some(OutputState { extents, device, dtype, object: Some(object) });
    }

    /// Loads the address of the first byte of bytes that a closure holds.
    pub(crate) fn bytes_at(&mut self, elements: Value, index: usize) -> Value {
        let object = self.b.load(Type::Ptr, elements, element(index) + any::PAYLOAD.offset);
        self.b.load(Type::Ptr, object, OBJECT.size as i32 + byte_array::DATA.offset)
    }
}
