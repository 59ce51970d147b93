//! The emitter of one function: its code so far, the values that the code has loaded, and the contents of its frame.
//! Methods of the emitter emit neither checks nor exits.

pub(crate) mod frame;
pub(crate) mod known;
pub(crate) mod output;
pub(crate) mod presence;
pub(crate) mod state;
pub(crate) mod tensor;
pub(crate) mod value;
mod view;

use crate::declaration::Location;
use crate::ir::{Builder, Hint, Linkage, Module, SourceLocation, TopicId, Value};
use crate::lower::routines::Routine;
use crate::resolve::function::Function;
use crate::resolve::ids::{LocalId, SymbolId, Table, ValueId};
use crate::resolve::step::Topic;
use crate::resolve::value::printable;

use frame::Frame;
use known::{Known, before_use};
use tensor::TensorReader;

/// A function under construction.
pub(crate) struct Emitter<'a, 'm> {
    pub(crate) b: Builder<'m>,
    /// The resolved declaration.
    pub(crate) function: &'a Function<'a>,
    /// Facts about the code so far: what is loaded, bound and named.
    pub(crate) known: Known,
    /// The owned values, and the slots of the stack frame.
    pub(crate) frame: Frame,
    /// The linkage of routines.
    linkage: Linkage,
    /// The interned name of each value, for name hints.
    names: Table<ValueId, u32>,
    pub(crate) interface: Interface,
    /// The address of the elements of what a closure holds.
    held: Option<Value>,
    /// The area of the frame with the [view] of each tensor of which leading dims are folded.
    areas: Table<ValueId, Option<Value>>,
}

/// The places of the arguments and of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    /// The address of the arguments, defaults included; `None` if code takes their values.
    pub(crate) args: Option<Value>,
    /// The number of arguments, defaults included; `None` if it is the same in every call.
    pub(crate) num_args: Option<Value>,
    /// The address of the result; `None` if code that takes values returns None.
    pub(crate) result: Option<Value>,
}

impl<'a, 'm> Emitter<'a, 'm> {
    /// Creates an emitter that has loaded nothing.
    pub(crate) fn new(
        mut b: Builder<'m>,
        function: &'a Function<'a>,
        interface: Interface,
        linkage: Linkage,
    ) -> Self {
        let values = &function.values;
        let paths = values.values().map(|value| printable(&value.path));
        let names = paths.map(|path| b.name(path)).collect();
        Emitter {
            b,
            function,
            known: Known::nothing(function),
            frame: Frame::new(),
            linkage,
            names,
            interface,
            held: None,
            areas: Table::like(values, None),
        }
    }

    /// Returns a reader of a tensor.
    pub(crate) fn tensor(&mut self, value: ValueId) -> TensorReader<'_, 'a, 'm> {
        TensorReader { e: self, value }
    }
}

impl Emitter<'_, '_> {
    /// Calls a routine.
    pub(crate) fn routine(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        routine.call(&mut self.b, self.linkage, args)
    }

    /// Calls a routine that has a result.
    pub(crate) fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call_value(symbol, args)
    }

    /// Returns a name hint for a part of a value.
    pub(crate) fn hint(&self, value: ValueId, part: &'static str, index: Option<usize>) -> Hint {
        let index = index.map(|index| index as u32);
        Hint { name: Some(self.names[value]), part, index }
    }

    /// Sets what the following code is for. Returns what it was, for [`Builder::set_topic`].
    pub(crate) fn begin_topic(&mut self, topic: Topic) -> TopicId {
        self.begin_located(topic, None)
    }

    /// Sets what the following code is for, and its place in the source; `None` stands for that of the code around.
    pub(crate) fn begin_located(&mut self, topic: Topic, location: Option<&Location>) -> TopicId {
        let Topic { value, part, index } = topic;
        let name = value.map(|value| self.names[value]);
        let location = location.map(|location| source_location(self.b.module, location));
        let hint = Hint { name, part, index: index.map(|index| index as u32) };
        self.b.begin_topic(hint, location)
    }

    /// Returns the value of a symbol, bound by an occurrence or by the body.
    pub(crate) fn symbol(&mut self, symbol: SymbolId) -> Value {
        let named = self.function.symbols[symbol].local;
        let known = self.known.symbol(symbol).value();
        before_use(known.or_else(|| named.map(|local| self.local(local))))
    }

    /// Returns a number of the body.
    pub(crate) fn local(&mut self, local: LocalId) -> Value {
        match self.function.locals[local].of {
            Some(value) => self.wide(value),
            None => self.known.local(local),
        }
    }

    /// Returns the address of the elements of what a closure holds; `None` before it is loaded, and in functions of a
    /// library.
    pub(crate) fn held(&self) -> Option<Value> {
        self.held
    }

    /// Sets the address of the elements of what a closure holds.
    pub(crate) fn hold(&mut self, elements: Value) {
        self.held = Some(elements);
    }
}

/// Returns a declared location as host IR has it.
pub(crate) fn source_location(module: &mut Module, location: &Location) -> SourceLocation {
    let &Location { ref file, line, column } = location;
    SourceLocation { file: module.file(file), line, column }
}
