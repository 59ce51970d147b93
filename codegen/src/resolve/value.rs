//! Values of a function: parameters, and values nested in them.
//!
//! A *value* is a parameter, an element of a tuple, the elements of a sequence, and so on. Each is followed by the
//! values nested in it. `Optional` is no value of its own but a property of the value that it wraps.

use super::ids::{Id, LookUpId, Table, ValueId};
use crate::declaration::reserved::{spelled_label, spelling};
use crate::declaration::{Device, ParamType, Signature, Tensor};

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    /// Spelling in expressions and errors. [`INDEX`] stands for an index that is known at run time only.
    pub(crate) path: String,
    /// Type, without `Optional`.
    pub(crate) ty: &'a ParamType,
    /// True if None is accepted.
    pub(crate) optional: bool,
    /// Index of the parameter that it is, or is nested in. Values of the body have the indices after the parameters.
    pub(crate) param: usize,
    /// Origin.
    pub(crate) source: Source,
    /// Nearest value that must not be None for this one to exist: itself, or one that contains it.
    pub(crate) guard: Option<ValueId>,
    /// Number of loops around it.
    pub(crate) depth: usize,
    /// True if it exists only in a loop over elements, or in the branch of a union.
    pub(crate) dynamic: bool,
    /// Directly nested values, in order.
    pub(crate) children: Vec<ValueId>,
    /// True for a union that a `match` is about: the number of the type that fits is kept.
    pub(crate) matched: bool,
    /// For a tensor whose element type is a symbol that an earlier tensor binds, that tensor.
    pub(crate) dtype_of: Option<ValueId>,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The context of a closure.
    Context,
    /// An argument, by its index.
    Argument(usize),
    /// All arguments from an index on.
    Rest(usize),
    /// A value of the body.
    Result,
    /// An element of a sequence that an expression names.
    LookUp(LookUpId),
    /// What a closure holds of the outside, by its number.
    Captured(usize),
    /// An element of a tuple.
    Element { of: ValueId, index: usize },
    /// Every element of a sequence.
    Each { of: ValueId },
    /// Every key of a mapping.
    Key { of: ValueId },
    /// Every value of a mapping.
    Mapped { of: ValueId },
    /// A value of one type of a union.
    Alternative { of: ValueId },
}

/// Placeholder in a path for an index that is known at run time only. The depth of the loop follows, counted from 1.
/// Names do not contain it.
pub(crate) const INDEX: char = '\u{1}';

impl Source {
    /// Returns the value that contains this one.
    pub(crate) fn parent(self) -> Option<ValueId> {
        match self {
            Source::Context
            | Source::Argument(_)
            | Source::Rest(_)
            | Source::Result
            | Source::Captured(_)
            | Source::LookUp(_) => None,
            Source::Element { of, .. }
            | Source::Each { of }
            | Source::Key { of }
            | Source::Mapped { of }
            | Source::Alternative { of } => Some(of),
        }
    }

    /// Returns true if the value stands for many.
    pub(super) fn is_loop(self) -> bool {
        matches!(self, Source::Each { .. } | Source::Key { .. } | Source::Mapped { .. })
    }
}

impl<'a> Value<'a> {
    /// Returns the type of a tensor.
    pub(crate) fn tensor(&self) -> Option<&'a Tensor> {
        self.ty.tensor()
    }

    /// Returns true if no value contains this one.
    pub(crate) fn is_param(&self) -> bool {
        self.source.parent().is_none()
    }
}

/// Returns true if the caller lends a value for the call: it is an argument, or in a tuple that is.
pub(crate) fn is_of_caller(values: &Table<ValueId, Value<'_>>, value: ValueId) -> bool {
    match values[value].source {
        Source::Argument(_) => true,
        Source::Element { of, .. } => is_of_caller(values, of),
        Source::Context
        | Source::Rest(_)
        | Source::Result
        | Source::LookUp(_)
        | Source::Captured(_)
        | Source::Each { .. }
        | Source::Key { .. }
        | Source::Mapped { .. }
        | Source::Alternative { .. } => false,
    }
}

/// Returns the values of a signature, in source order.
pub(crate) fn values(signature: &Signature) -> Table<ValueId, Value<'_>> {
    let mut all = Table::with_capacity(signature.params.len());
    let has_self = signature.has_self();
    for (param, declared) in signature.params.iter().enumerate() {
        let source = match param.checked_sub(usize::from(has_self)) {
            None => Source::Context,
            Some(argument) if declared.variadic => Source::Rest(argument),
            Some(argument) => Source::Argument(argument),
        };
        add(&mut all, spelling(&declared.name), &declared.ty, param, source);
    }
    all
}

/// Adds a value and the values nested in it.
pub(crate) fn add<'a>(
    all: &mut Table<ValueId, Value<'a>>,
    path: String,
    ty: &'a ParamType,
    param: usize,
    source: Source,
) -> ValueId {
    add_required(all, path, ty.required(), param, source)
}

/// Adds a value of a type without `Optional`, and the values nested in it. `optional` is true if None is accepted.
pub(crate) fn add_required<'a>(
    all: &mut Table<ValueId, Value<'a>>,
    path: String,
    (ty, optional): (&'a ParamType, bool),
    param: usize,
    source: Source,
) -> ValueId {
    let id = ValueId::new(all.len());
    let parent = source.parent().map(|of| &all[of]);
    let guard = if optional { Some(id) } else { parent.and_then(|parent| parent.guard) };
    let inside = |of: &Value<'_>| of.dynamic || source.is_loop();
    let alternative = matches!(source, Source::Alternative { .. });
    let depth = parent.map_or(0, |of| of.depth) + usize::from(source.is_loop());
    let dynamic = alternative || parent.is_some_and(inside);
    let (children, matched, dtype_of) = (Vec::new(), false, None);
    all.push(Value {
        path,
        ty,
        optional,
        param,
        source,
        guard,
        depth,
        dynamic,
        children,
        matched,
        dtype_of,
    });
    for (path, ty, source) in nested(&all[id], id) {
        let child = add(all, path, ty, param, source);
        all[id].children.push(child);
    }
    id
}

/// Returns path, type and origin of the directly nested values.
fn nested<'a>(value: &Value<'a>, of: ValueId) -> Vec<(String, &'a ParamType, Source)> {
    let path = &value.path;
    let index = || format!("[{INDEX}{}]", char::from(value.depth as u8 + 1));
    match value.ty {
        ParamType::Tuple(elements) => {
            let element = |(index, element): (usize, &'a crate::Element)| {
                let path = match &element.name {
                    Some(name) => format!("{path}.{}", spelled_label(name)),
                    None => format!("{path}[{index}]"),
                };
                (path, &element.ty, Source::Element { of, index })
            };
            elements.iter().enumerate().map(element).collect()
        }
        ParamType::Sequence(_, ty) => vec![(path.clone() + &index(), &**ty, Source::Each { of })],
        ParamType::Mapping(_, types) => vec![
            (format!("{path}.keys{}", index()), &types[0], Source::Key { of }),
            (format!("{path}.values{}", index()), &types[1], Source::Mapped { of }),
        ],
        ParamType::Union(types) => {
            types.iter().map(|ty| (path.clone(), ty, Source::Alternative { of })).collect()
        }
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Optional(_)
        | ParamType::Literal(_) => Vec::new(),
    }
}

/// Returns the look-up that finds a value: the value is an element that an expression names, or a part of one.
pub(crate) fn look_up(all: &Table<ValueId, Value<'_>>, value: ValueId) -> Option<LookUpId> {
    let outermost = std::iter::successors(Some(value), |&at| all[at].source.parent()).last()?;
    if let Source::LookUp(found) = all[outermost].source { Some(found) } else { None }
}

/// Returns the tensor that lists the element types of a tensor: itself, or the one that binds its symbol.
pub(crate) fn listing<'a>(all: &Table<ValueId, Value<'a>>, tensor: ValueId) -> Option<&'a Tensor> {
    all[all[tensor].dtype_of.unwrap_or(tensor)].tensor()
}

/// Returns the alignment that is required of the elements of a tensor, in bytes: the declared one, or that of one lane
/// of the smallest element type that is accepted.
pub(crate) fn alignment(all: &Table<ValueId, Value<'_>>, tensor: ValueId) -> u64 {
    let declared = all[tensor].tensor().and_then(|tensor| tensor.align);
    let natural = || listing(all, tensor).and_then(Tensor::natural_alignment);
    declared.or_else(natural).unwrap_or(1)
}

/// Returns the optional values that must not be None for a value to exist, innermost first; the value itself too if it
/// is optional.
pub(crate) fn optionals(
    all: &Table<ValueId, Value<'_>>,
    value: ValueId,
) -> impl Iterator<Item = ValueId> {
    std::iter::successors(all[value].guard, |&at| {
        all[at].source.parent().and_then(|of| all[of].guard)
    })
}

/// Makes a path a name of host IR: drops backticks and writes `i` for loop indices.
pub(crate) fn printable(path: &str) -> String {
    let (mut text, mut chars) = (String::with_capacity(path.len()), path.chars());
    while let Some(next) = chars.next() {
        if next == INDEX {
            // The depth of the loop follows.
            chars.next();
            text.push('i');
        } else if next != '`' {
            text.push(next);
        }
    }
    text
}

/// Returns the first tensor parameter that is declared for this device, and that is neither optional nor nested: the
/// one on whose device a result is allocated.
pub(super) fn same_device(all: &Table<ValueId, Value<'_>>, device: Device) -> Option<ValueId> {
    let fits = |tensor: &Tensor| device == Device::Any || tensor.device == device;
    all.find(|value| value.is_param() && !value.optional && value.tensor().is_some_and(fits))
}
