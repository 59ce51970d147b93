//! Values, names and maps that a closure holds of the function that makes it.

use super::body::Plain;
use super::ids::{LocalId, MapId, OutputId, ValueId};
use super::named::{Local, Output};
use super::step::Step;
use crate::declaration::{Expr, ParamType};

/// What a body gives a closure.
#[derive(Clone, Debug)]
pub(crate) enum CaptureSource<'a> {
    /// A value of the FFI.
    Plain(Plain<'a>),
    /// The bytes of a tensor map.
    Map(MapId),
}

/// What a closure holds of the outside, as its body sees it.
#[derive(Clone, Debug)]
pub(crate) enum Captured<'a> {
    /// A number, a truth or an address.
    Local(LocalId),
    /// Any other value, with the checks that it has passed outside.
    Value(ValueId, Vec<Step<'a>>),
    /// A tensor that the body outside has allocated.
    Output(OutputId),
    /// A tensor map.
    Map(MapId),
}

/// A name that a closure captures.
pub(super) struct Capture<'a> {
    pub(super) name: &'a str,
    pub(super) of: Captive<'a>,
    pub(super) given: CaptureSource<'a>,
}

/// The kind of entity that a captured name stands for.
pub(super) enum Captive<'a> {
    Number(Local<'a>),
    Value {
        ty: &'a ParamType,
        optional: bool,
    },
    Output(Output<'a>),
    /// A tensor map, with the name of its tensor.
    Map(&'a Expr),
}
