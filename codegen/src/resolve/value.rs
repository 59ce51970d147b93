//! The values of a call: its arguments, and what is nested in them.
//!
//! A *value* is a parameter, an element of a tuple, the element type of a sequence, and so on, each
//! followed by what is nested in it. `Optional` is not a value of its own but a property of the one that
//! it makes optional.

use super::ids::{Id, Table, ValueId};
use crate::declaration::reserved::spelled;
use crate::declaration::{ParamType, Signature, Tensor};

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    /// How expressions and errors call it. Where the value is one of many, [`INDEX`] stands for the number.
    pub(crate) path: String,
    /// Its type, without `Optional`.
    pub(crate) ty: &'a ParamType,
    /// None is accepted too.
    pub(crate) optional: bool,
    /// The parameter that it is, or is nested in; the results of calls in the body count on from there.
    pub(crate) param: usize,
    /// Where it comes from.
    pub(crate) source: Source,
    /// The nearest value that must be there for this one to be: itself, or one that contains it.
    pub(crate) guard: Option<ValueId>,
    /// How many loops it is in.
    pub(crate) depth: usize,
    /// It is one of many, or of one of several types: its place is known in a loop or a branch only.
    pub(crate) dynamic: bool,
    /// What is nested directly in it, in order.
    pub(crate) children: Vec<ValueId>,
}

/// Where a value comes from; positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The handle of the call.
    Context,
    /// An argument.
    Argument(usize),
    /// All arguments from one on.
    Rest(usize),
    /// What a call in the body has yielded.
    Result,
    /// An element of a tuple.
    Element { of: ValueId, index: usize },
    /// Every element of a sequence.
    Each { of: ValueId },
    /// Every key of a mapping.
    Key { of: ValueId },
    /// Every value of a mapping.
    Mapped { of: ValueId },
    /// What a union may hold.
    Alternative { of: ValueId },
}

/// Stands in a path for the number of an element that is known at run time only; the depth of the loop
/// follows, counted from 1. No name contains it.
pub(crate) const INDEX: char = '\u{1}';

impl Source {
    /// The value that contains it.
    pub(crate) fn parent(self) -> Option<ValueId> {
        match self {
            Source::Context | Source::Argument(_) | Source::Rest(_) | Source::Result => None,
            Source::Element { of, .. }
            | Source::Each { of }
            | Source::Key { of }
            | Source::Mapped { of }
            | Source::Alternative { of } => Some(of),
        }
    }

    /// The value is one of many.
    fn is_loop(self) -> bool {
        matches!(self, Source::Each { .. } | Source::Key { .. } | Source::Mapped { .. })
    }
}

impl<'a> Value<'a> {
    /// The declaration of a tensor.
    pub(crate) fn tensor(&self) -> Option<&'a Tensor> {
        self.ty.tensor()
    }

    /// A value of a signature that nothing contains.
    pub(crate) fn is_param(&self) -> bool {
        self.source.parent().is_none()
    }
}

/// The values of a signature, in the order in which they are written.
pub(crate) fn values(signature: &Signature) -> Table<ValueId, Value<'_>> {
    let mut all = Table::default();
    let has_self = signature.has_self();
    for (param, declared) in signature.params.iter().enumerate() {
        let source = match param.checked_sub(usize::from(has_self)) {
            None => Source::Context,
            Some(argument) if declared.variadic => Source::Rest(argument),
            Some(argument) => Source::Argument(argument),
        };
        add(&mut all, spelled(&declared.name).to_string(), &declared.ty, param, source);
    }
    all
}

/// Adds a value and what is nested in it.
pub(crate) fn add<'a>(
    all: &mut Table<ValueId, Value<'a>>,
    path: String,
    ty: &'a ParamType,
    param: usize,
    source: Source,
) -> ValueId {
    let (ty, optional) = ty.required();
    let id = ValueId::new(all.len());
    let parent = source.parent().map(|of| &all[of]);
    let guard = if optional { Some(id) } else { parent.and_then(|parent| parent.guard) };
    let inside = |of: &Value<'_>| of.dynamic || source.is_loop();
    let alternative = matches!(source, Source::Alternative { .. });
    let depth = parent.map_or(0, |of| of.depth) + usize::from(source.is_loop());
    let dynamic = alternative || parent.is_some_and(inside);
    let children = Vec::new();
    all.push(Value { path, ty, optional, param, source, guard, depth, dynamic, children });
    for (path, ty, source) in nested(&all[id], id) {
        let child = add(all, path, ty, param, source);
        all[id].children.push(child);
    }
    id
}

/// What is nested directly in a value: path, type, source.
fn nested<'a>(value: &Value<'a>, of: ValueId) -> Vec<(String, &'a ParamType, Source)> {
    let path = &value.path;
    let index = || format!("[{INDEX}{}]", char::from(value.depth as u8 + 1));
    match value.ty {
        ParamType::Tuple(elements) => {
            let element = |(index, element): (usize, &'a crate::Element)| {
                let path = match &element.name {
                    Some(name) => format!("{path}.{name}"),
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

/// The values that must be there for this one to be, itself included: the optional ones among those
/// that contain it, from the inside.
pub(crate) fn optionals(
    all: &Table<ValueId, Value<'_>>,
    value: ValueId,
) -> impl Iterator<Item = ValueId> {
    std::iter::successors(all[value].guard, |&at| {
        all[at].source.parent().and_then(|of| all[of].guard)
    })
}
