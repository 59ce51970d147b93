//! State of values, symbols and tensors of a function under construction.

use std::rc::Rc;

use abi_spec::Scalar;

use crate::ir::{Builder, Value};
use crate::lower::routines::records::place;
use crate::lower::value::Span;
use crate::resolve::ids::SymbolId;
use crate::resolve::term::OfTensor;

/// The loaded parts of a tensor; each is loaded on first use.
#[derive(Clone, Debug)]
pub(crate) struct TensorState {
    /// The `DLTensor*`; `None` if it must be read from the argument again.
    pub(crate) dl: Option<Value>,
    /// The extents of the declared dims: `shape`, or its [view](super::view).
    pub(crate) shape: Option<Value>,
    /// The strides of the declared dims: `strides`, or their view. May be NULL.
    pub(crate) strides_pointer: Option<Value>,
    /// Leading dims according to the [view](super::view) of the tensor, an `I64`.
    pub(crate) leading: Option<Value>,
    pub(crate) strides: Option<LoadedStrides>,
    /// `shape[dim]` of each declared dim.
    pub(crate) extents: Vec<Option<Value>>,
    /// `data`, without the byte offset.
    pub(crate) data: Option<Value>,
    /// The address of the first element.
    pub(crate) address: Option<Value>,
    /// A `Bool`: no extent is 0.
    pub(crate) not_empty: Option<Value>,
    /// The last of the properties that took branches or a call to compute.
    pub(crate) computed: Option<Rc<Computed>>,
    /// Dims whose extent is a symbol, one for each symbol.
    pub(crate) symbols: Vec<(usize, SymbolId)>,
    /// True if the strides must be compact, which is checked together with the data.
    pub(crate) compact: bool,
}

/// A property of a tensor that has been computed: a link of a list, since states are copied more often than they are
/// searched.
#[derive(Debug)]
pub(crate) struct Computed {
    /// The property; that of a stride says `shown: 0`.
    pub(crate) property: OfTensor,
    pub(crate) result: Value,
    /// The one computed before.
    pub(crate) before: Option<Rc<Computed>>,
}

/// Strides that can be read whether or not the pointer is NULL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedStrides {
    /// A `Bool`: the pointer is not NULL.
    pub(crate) present: Value,
    /// The pointer, or `shape` in its place if it is NULL.
    pub(crate) readable: Value,
}

impl TensorState {
    /// Creates the state of a tensor of which at most `DLTensor*` and `shape` are loaded. `dims` is the number of
    /// declared dims; the header check sets it if it is 0.
    pub(crate) fn new(dl: Option<Value>, shape: Option<Value>, dims: usize) -> TensorState {
        TensorState {
            dl,
            shape,
            strides_pointer: None,
            leading: None,
            strides: None,
            extents: vec![None; dims],
            data: None,
            address: None,
            not_empty: None,
            computed: None,
            symbols: Vec::new(),
            compact: false,
        }
    }
}

/// A scalar that has been loaded and checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarState {
    /// The declared type.
    pub(crate) ty: Scalar,
    /// The value in its C type; 16-bit floats as their bits.
    pub(crate) native: Value,
    /// The value as `I64`, `F64` or `Ptr`, once it is computed.
    pub(crate) wide: Option<Value>,
}

/// A region of the code. Values that are loaded in one region do not dominate the code of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) u32);

impl Scope {
    /// The scope of the arguments and of the outermost statements.
    pub(crate) const OUTER: Scope = Scope(0);
}

/// State of a tensor that the function allocates.
#[derive(Clone, Debug)]
pub(crate) struct OutputState {
    /// The extents, an `I64` each.
    pub(crate) extents: Vec<Value>,
    /// The device: type and index in one `I64`, as in a `DLTensor`.
    pub(crate) device: Value,
    /// The element type, an `I32`; `None` for the declared one.
    pub(crate) dtype: Option<Value>,
    /// The tensor object, once it is allocated.
    pub(crate) object: Option<Value>,
}

/// The loaded parts of a value. The variant follows from the type of the value.
#[derive(Clone, Debug)]
pub(crate) enum ValueState {
    /// Nothing is loaded yet.
    Pending,
    /// A scalar.
    Scalar(ScalarState),
    /// A tensor.
    Tensor(TensorState),
    /// An object or another address, or the word of an element type or device as an `I64`.
    Word(Value),
    /// The address of bytes or numbers, and their count.
    Span(Span),
    /// The address of the elements of a tuple.
    Tuple(Value),
}

/// Accessors. The steps load a value before it is used, and the type of the value decides the variant.
///
/// # Panics
/// If the value is loaded as another variant.
impl ValueState {
    /// Returns the state of a scalar.
    pub(crate) fn scalar(&self) -> ScalarState {
        if let ValueState::Scalar(state) = self { *state } else { self.misused_as("scalar") }
    }

    /// Returns the state of a tensor.
    pub(crate) fn tensor(&mut self) -> &mut TensorState {
        if let ValueState::Tensor(state) = self { state } else { self.misused_as("tensor") }
    }

    /// Returns the word of an object, address, element type or device.
    pub(crate) fn word(&self) -> Value {
        if let ValueState::Word(word) = self { *word } else { self.misused_as("word") }
    }

    /// Returns address and count of bytes or numbers.
    pub(crate) fn span(&self) -> Span {
        if let ValueState::Span(span) = self { *span } else { self.misused_as("span") }
    }

    /// Returns the address of the elements of a tuple.
    pub(crate) fn elements(&self) -> Value {
        if let ValueState::Tuple(elements) = self { *elements } else { self.misused_as("tuple") }
    }

    /// Panics, since a value of this state is used as another variant.
    pub(crate) fn misused_as(&self, wanted: &str) -> ! {
        unreachable!("{self:?} is used as a {wanted}")
    }
}

/// State of a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SymbolState {
    /// Not bound by any occurrence so far.
    Unbound,
    /// Bound only in some calls: the value, and the place that has bound the symbol, an `I64` that is 0 if none has.
    Maybe(Value, Value),
    /// Bound in every call: the value, and the place that has bound the symbol.
    Bound(Value, Origin),
}

impl SymbolState {
    /// Returns the value that an occurrence has bound, in every call or in some.
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            SymbolState::Bound(value, _) | SymbolState::Maybe(value, _) => Some(value),
            SymbolState::Unbound => None,
        }
    }

    /// Returns true if the symbol is bound in every call.
    pub(crate) fn is_bound(self) -> bool {
        matches!(self, SymbolState::Bound(..))
    }
}

/// The [place] that has determined a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// A place that is the same in every call.
    Known(u64),
    /// A place that is computed at run time, an `I64`.
    Computed(Value),
}

impl Origin {
    /// No place.
    pub(crate) const NONE: Origin = Origin::Known(0);
    /// A place that messages do not name.
    pub(crate) const UNNAMED: Origin = Origin::Known(place::UNNAMED);

    /// Returns false if the place has no name in any call.
    pub(crate) fn may_be_named(self) -> bool {
        match self {
            Origin::Known(at) => at > place::UNNAMED,
            Origin::Computed(_) => true,
        }
    }

    /// Returns the place as an `I64`.
    pub(crate) fn value(self, b: &mut Builder<'_>) -> Value {
        match self {
            Origin::Known(place) => b.i64(place as i64),
            Origin::Computed(place) => place,
        }
    }
}
