//! What is known of values, symbols and tensors while a function is written.

use abi_spec::Scalar;

use crate::ir::Value;
use crate::lower::routines::records::place;
use crate::resolve::ids::SymbolId;

/// What has been loaded of a tensor. Optional values are loaded on first use.
#[derive(Clone, Debug)]
pub(crate) struct TensorState {
    /// The `DLTensor*`; not there if the argument must be read again for it.
    pub(crate) dl: Option<Value>,
    /// `shape`.
    pub(crate) shape: Option<Value>,
    pub(crate) strides_pointer: Option<Value>,
    pub(crate) strides: Option<LoadedStrides>,
    pub(crate) extents: Vec<Option<Value>>,
    pub(crate) data: Option<Value>,
    pub(crate) address: Option<Value>,
    pub(crate) not_empty: Option<Value>,
    /// The dims whose extents are symbols, each symbol once.
    pub(crate) symbols: Vec<(usize, SymbolId)>,
    /// Its strides must be compact, which is tested with its data.
    pub(crate) compact: bool,
}

/// What stands in for the strides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedStrides {
    /// A `Bool`: the pointer is not NULL.
    pub(crate) present: Value,
    /// The strides, or the extents where they are NULL: readable in either case.
    pub(crate) readable: Value,
}

impl TensorState {
    /// Nothing is loaded but these; `rank` is known after the header check.
    pub(crate) fn new(dl: Option<Value>, shape: Option<Value>, rank: Option<usize>) -> TensorState {
        TensorState {
            dl,
            shape,
            strides_pointer: None,
            strides: None,
            extents: vec![None; rank.unwrap_or(0)],
            data: None,
            address: None,
            not_empty: None,
            symbols: Vec::new(),
            compact: false,
        }
    }
}

/// A scalar that has been loaded and checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarState {
    /// Its type.
    pub(crate) ty: Scalar,
    /// In its C type; 16-bit floats as their bits.
    pub(crate) native: Value,
    /// As arithmetic sees it, where that has been computed.
    pub(crate) wide: Option<Value>,
}

/// A scope of the body: nothing that is learnt in one is known in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) u32);

impl Scope {
    /// That of the arguments and of the outermost statements.
    pub(crate) const OUTER: Scope = Scope(0);
}

/// What is known of a tensor that is allocated.
#[derive(Clone, Debug)]
pub(crate) struct OutputState {
    /// `I64` each.
    pub(crate) extents: Vec<Value>,
    /// The type and the index of its device, as they stand in a tensor.
    pub(crate) device: Value,
    /// The tensor object, once it is there.
    pub(crate) object: Option<Value>,
}

/// What has been loaded of a value.
#[derive(Clone, Debug)]
pub(crate) enum ValueState {
    /// Nothing yet.
    Pending,
    /// A scalar.
    Scalar(ScalarState),
    /// A tensor.
    Tensor(TensorState),
    /// One word: an object or another address, or the bits of an element type or a device, `I64`.
    Word(Value),
    /// An address and how many bytes or numbers are there.
    Pair(Value, Value),
    /// The address of the elements of a tuple.
    Tuple(Value),
}

/// What a value is loaded as follows from its type; steps load it before anything uses it.
impl ValueState {
    pub(crate) fn scalar(&self) -> ScalarState {
        if let ValueState::Scalar(state) = self { *state } else { self.is_no("scalar") }
    }

    pub(crate) fn tensor(&mut self) -> &mut TensorState {
        if let ValueState::Tensor(state) = self { state } else { self.is_no("tensor") }
    }

    pub(crate) fn word(&self) -> Value {
        if let ValueState::Word(word) = self { *word } else { self.is_no("word") }
    }

    pub(crate) fn pair(&self) -> [Value; 2] {
        if let ValueState::Pair(data, size) = self { [*data, *size] } else { self.is_no("pair") }
    }

    pub(crate) fn elements(&self) -> Value {
        if let ValueState::Tuple(elements) = self { *elements } else { self.is_no("tuple") }
    }

    pub(crate) fn is_no(&self, wanted: &str) -> ! {
        unreachable!("{self:?} is used as a {wanted}")
    }
}

/// The value of a symbol at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SymbolState {
    /// No occurrence so far.
    Unbound,
    /// Bound if a stride counted: the value, and the place that has bound it, an `I64`, 0 for none.
    Maybe(Value, Value),
    /// Bound: the value, and the place that has bound it.
    Bound(Value, Origin),
}

impl SymbolState {
    /// True if some occurrence has bound it in every call.
    pub(crate) fn is_bound(self) -> bool {
        matches!(self, SymbolState::Bound(..))
    }
}

/// The [place] that has determined something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// It is always this one.
    Known(u64),
    /// The call tells, as an `I64`.
    Told(Value),
}

impl Origin {
    /// Nothing has.
    pub(crate) const NONE: Origin = Origin::Known(0);
    /// One that messages do not name.
    pub(crate) const UNNAMED: Origin = Origin::Known(place::UNNAMED);
}
