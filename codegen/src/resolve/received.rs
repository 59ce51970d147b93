//! Values that somebody else has made: what they must be, checked as an argument is.

use super::function::Received;
use super::names::Names;
use super::order::{Knowledge, Order};
use crate::declaration::ParamType;
use crate::error::Part;

/// A value of the body that must be of a type; errors call it by this path.
pub(super) fn receive<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    path: String,
    ty: &'a ParamType,
) -> Result<Received<'a>, (Part, String)> {
    let value = names.result(path, ty)?;
    let order = Order::received(names, std::mem::take(knowledge), value)?;
    let Order { steps, knowledge: known, .. } = order;
    *knowledge = known;
    Ok(Received { value, steps })
}
