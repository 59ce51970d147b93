//! The values of a call: its arguments, and what is nested in them.
//!
//! A *value* is a parameter, an element of a tuple, the element type of a sequence, and so on, each
//! followed by what is nested in it. `Optional` is not a value of its own but a property of the one that
//! it makes optional. A value has a number; parts of a declaration and steps refer to it.

use crate::declaration::{ParamType, Signature};

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    /// How expressions and errors call it. Where the value is one of many, [`INDEX`] stands for the number.
    pub(crate) path: String,
    /// Its type, without `Optional`.
    pub(crate) ty: &'a ParamType,
    /// None is accepted too.
    pub(crate) optional: bool,
    /// The parameter that it is, or is nested in.
    pub(crate) param: usize,
    /// Where it comes from.
    pub(crate) source: Source,
}

/// Where a value comes from; numbers of values, and positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The handle of the call.
    Context,
    /// An argument.
    Argument(usize),
    /// All arguments from one on.
    Rest(usize),
    /// An element of a tuple.
    Element { of: usize, index: usize },
    /// Every element of a sequence.
    Each { of: usize },
    /// Every key of a mapping.
    Key { of: usize },
    /// Every value of a mapping.
    Mapped { of: usize },
    /// What a union may hold.
    Alternative { of: usize },
}

/// Stands in a path for the number of an element that is known at run time only; the depth of the loop
/// follows, counted from 1. No name contains it.
pub(crate) const INDEX: char = '\u{1}';

impl Source {
    /// The value that contains it.
    pub(crate) fn parent(self) -> Option<usize> {
        match self {
            Source::Context | Source::Argument(_) | Source::Rest(_) => None,
            Source::Element { of, .. }
            | Source::Each { of }
            | Source::Key { of }
            | Source::Mapped { of }
            | Source::Alternative { of } => Some(of),
        }
    }

    /// The value is one of many, or one of several types: only a loop over the descriptor checks it.
    fn is_dynamic(self) -> bool {
        match self {
            Source::Context | Source::Argument(_) | Source::Rest(_) | Source::Element { .. } => {
                false
            }
            Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. } => true,
        }
    }
}

/// The values of a signature, in the order in which they are written.
pub(crate) fn values(signature: &Signature) -> Vec<Value<'_>> {
    let mut all = Vec::with_capacity(signature.params.len());
    let has_self = signature.has_self();
    for (param, declared) in signature.params.iter().enumerate() {
        let source = match param.checked_sub(usize::from(has_self)) {
            None => Source::Context,
            Some(argument) if declared.variadic => Source::Rest(argument),
            Some(argument) => Source::Argument(argument),
        };
        let (ty, optional) = declared.ty.required();
        collect(&mut all, Value { path: declared.name.clone(), ty, optional, param, source });
    }
    all
}

fn collect<'a>(all: &mut Vec<Value<'a>>, value: Value<'a>) {
    let (of, param, ty, path) = (all.len(), value.param, value.ty, value.path.clone());
    let depth = loops(all, value.source);
    all.push(value);
    let mut add = |source, path, ty: &'a ParamType| {
        let (ty, optional) = ty.required();
        collect(all, Value { path, ty, optional, param, source });
    };
    let index = || format!("[{INDEX}{}]", char::from(depth as u8 + 1));
    match ty {
        ParamType::Tuple(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let path = match &element.name {
                    Some(name) => format!("{path}.{name}"),
                    None => format!("{path}[{index}]"),
                };
                add(Source::Element { of, index }, path, &element.ty);
            }
        }
        ParamType::Sequence(_, element) => add(Source::Each { of }, path + &index(), element),
        ParamType::Mapping(_, types) => {
            add(Source::Key { of }, format!("{path}.keys{}", index()), &types[0]);
            add(Source::Mapped { of }, format!("{path}.values{}", index()), &types[1]);
        }
        ParamType::Union(types) => {
            types.iter().for_each(|ty| add(Source::Alternative { of }, path.clone(), ty));
        }
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Str
        | ParamType::Bytes
        | ParamType::DType
        | ParamType::Device
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Optional(_)
        | ParamType::Literal(_)
        | ParamType::Any
        | ParamType::Stream => {}
    }
}

/// How many loops a value of this source is in.
pub(crate) fn loops(all: &[Value<'_>], source: Source) -> usize {
    let here = match source {
        Source::Each { .. } | Source::Key { .. } | Source::Mapped { .. } => 1,
        Source::Context
        | Source::Argument(_)
        | Source::Rest(_)
        | Source::Element { .. }
        | Source::Alternative { .. } => 0,
    };
    here + source.parent().map_or(0, |of| loops(all, all[of].source))
}

/// True if only a loop over the descriptor checks the value.
pub(crate) fn is_dynamic(all: &[Value<'_>], value: usize) -> bool {
    let source = all[value].source;
    source.is_dynamic() || source.parent().is_some_and(|of| is_dynamic(all, of))
}

/// The values that must be there for this one to be, itself included: the optional ones among those
/// that contain it, from the inside.
pub(crate) fn optionals(all: &[Value<'_>], value: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(value), |&at| all[at].source.parent()).filter(|&at| all[at].optional)
}
