//! Spells the parts of functions that errors are about.

use super::value::{INDEX, values};
use crate::declaration::limit::Limit;
use crate::declaration::reserved::spelled;
use crate::declaration::{Function, Library, Location, OwnDim, Signature, StatementKind};
use crate::error::{Error, Part, Site, is_name};

impl Error {
    /// Builds the error for a part of function number `index` that has no meaning. The error has no position.
    pub(crate) fn invalid(
        index: usize,
        function: &Function,
        part: Part,
        reason: impl Into<String>,
    ) -> Error {
        let site = Site::new(index, function, part);
        Error::Invalid { site, reason: reason.into(), position: None }
    }

    /// Builds the error for a part of function number `index` that exceeds a limit. The error has no position.
    pub(crate) fn limit(index: usize, function: &Function, part: Part, limit: Limit) -> Error {
        let site = Some(Site::new(index, function, part));
        Error::Limit { limit, site, location: None, position: None }
    }

    /// Makes an error about a function that a body makes one about the part of the outer function that makes it.
    pub(super) fn within(mut self, index: usize, outer: &Function, part: Part) -> Error {
        if let Error::Invalid { site, .. } | Error::Limit { site: Some(site), .. } = &mut self {
            let inner = std::mem::take(&mut site.path);
            *site = Site::new(index, outer, part);
            site.path = Site::joined(&site.path, &inner);
        }
        self
    }
}

impl Site {
    pub(super) fn new(index: usize, function: &Function, part: Part) -> Site {
        let name = function.signature.name.clone();
        let location = part.location(function).cloned().map(Box::new);
        Site { function: index, name, part, path: part.path(function), location }
    }

    /// Returns the index of the parameter that the site is in, among those of the signature of its function in the
    /// library; `None` for parts that are in no parameter, as for [`Part::param`].
    pub fn param(&self, library: &Library) -> Option<usize> {
        self.part.param(&library.functions.get(self.function)?.signature)
    }

    /// Joins the spellings of a part and of a part of it, which may be empty.
    fn joined(outer: &str, inner: &str) -> String {
        if inner.is_empty() { outer.to_owned() } else { format!("{outer}: {inner}") }
    }
}

/// Returns a path with `_` for each index of a loop.
fn without_depths(path: &str) -> String {
    let (mut text, mut chars) = (String::with_capacity(path.len()), path.chars());
    while let Some(next) = chars.next() {
        if next == INDEX {
            // The depth of the loop follows.
            chars.next();
        }
        text.push(if next == INDEX { '_' } else { next });
    }
    text
}

impl Part {
    /// Returns the index of the parameter of a signature that the part is, or is in: one of
    /// [`Signature::params`](crate::Signature::params), where `self` counts; `None` for parts that are in no parameter.
    pub fn param(self, signature: &Signature) -> Option<usize> {
        match self {
            Part::Param(index) | Part::Default(index) => Some(index),
            Part::Type(value)
            | Part::Dim(value, _)
            | Part::Stride(value, _)
            | Part::Align(value)
            | Part::Dtype(value) => values(signature).values().nth(value).map(|value| value.param),
            Part::Docs
            | Part::Location
            | Part::Name
            | Part::Constraint(_)
            | Part::Result
            | Part::Output(_)
            | Part::Callee
            | Part::Argument(_)
            | Part::Status(_)
            | Part::Statement(_)
            | Part::Arm(..) => None,
        }
    }

    /// Returns the declared location of the part: that of the statement, of one around it, or of the function.
    fn location(self, function: &Function) -> Option<&Location> {
        let wanted = match self {
            Part::Statement(index) | Part::Arm(index, _) => index,
            // It is at fault itself.
            Part::Location => return None,
            Part::Docs
            | Part::Name
            | Part::Param(_)
            | Part::Default(_)
            | Part::Type(_)
            | Part::Dim(..)
            | Part::Stride(..)
            | Part::Align(_)
            | Part::Dtype(_)
            | Part::Constraint(_)
            | Part::Result
            | Part::Output(_)
            | Part::Callee
            | Part::Argument(_)
            | Part::Status(_) => return function.location.as_ref(),
        };
        let mut left = vec![(function.body.block(), function.location.as_ref())];
        let mut count = 0;
        while let Some((block, around)) = left.pop() {
            let Some((first, rest)) = block.split_first() else { continue };
            let location = first.location.as_ref().or(around);
            if count == wanted {
                return location;
            }
            count += 1;
            left.push((rest, around));
            left.extend(first.kind.blocks().into_iter().rev().map(|block| (block, location)));
        }
        function.location.as_ref()
    }

    /// Returns the part of a branch of an `if`: the statement itself for the first one.
    pub(super) fn branch(statement: usize, number: usize) -> Part {
        if number == 0 { Part::Statement(statement) } else { Part::Arm(statement, number) }
    }

    /// Spells the part; returns an empty text for the function's name.
    pub(super) fn path(self, function: &Function) -> String {
        let param = |index: usize| match function.signature.params.get(index) {
            Some(param) if is_name(&param.name) => spelled(&param.name).to_string(),
            Some(_) | None => format!("parameter {index}"),
        };
        let value = |index: usize| match values(&function.signature).values().nth(index) {
            Some(value) if is_name(&function.signature.params[value.param].name) => {
                without_depths(&value.path)
            }
            Some(value) => format!("parameter {}", value.param),
            None => format!("value {index}"),
        };
        let own = |index: usize, dim| {
            let values = values(&function.signature);
            let shape = values.values().nth(index).and_then(|value| value.ty.shape());
            shape.map_or(OwnDim::FromStart(dim), |shape| shape.own_dim(dim))
        };
        match self {
            Part::Docs => "docs".to_owned(),
            Part::Location => "location".to_owned(),
            Part::Name => String::new(),
            Part::Param(index) => param(index),
            Part::Default(index) => format!("{}'s default", param(index)),
            Part::Type(index) => value(index),
            Part::Dim(index, dim) => format!("{}.shape[{}]", value(index), own(index, dim)),
            Part::Stride(index, dim) => format!("{}.strides[{}]", value(index), own(index, dim)),
            Part::Align(index) => format!("{}.align", value(index)),
            Part::Dtype(index) => format!("{}.dtype", value(index)),
            Part::Constraint(index) => format!("constraint {index}"),
            Part::Result => "result".to_owned(),
            Part::Output(index) => match function.signature.outputs().get(index) {
                Some(output) if is_name(&output.name) => spelled(&output.name).to_string(),
                Some(_) | None => format!("result {index}"),
            },
            Part::Callee => "callee".to_owned(),
            Part::Argument(index) => format!("call argument {index}"),
            Part::Status(index) => format!("error {index}"),
            Part::Statement(index) => format!("statement {index}"),
            Part::Arm(index, arm) => {
                let statement = function.body.statements().nth(index);
                let is_if = statement.is_some_and(|at| matches!(at.kind, StatementKind::If { .. }));
                format!("statement {index}, {} {arm}", if is_if { "branch" } else { "arm" })
            }
        }
    }
}
