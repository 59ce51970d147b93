//! Parameters and images that nothing uses.

use rustc_hash::FxHashSet;

use abi_spec::DeviceType;

use crate::declaration::{
    Action, Body, Device, Expr, Function, Image, Library, Literal, Param, ParamType, Tensor,
};

/// The images from which nothing is launched.
pub(super) fn images(library: &Library) -> impl Iterator<Item = (usize, &Image)> {
    let launches = library.functions.iter().flat_map(|function| function.body.launches());
    let used: FxHashSet<&str> = launches.map(|launch| &*launch.image).collect();
    let images = library.images.iter().enumerate();
    images.filter(move |(_, image)| !used.contains(&*image.name))
}

/// The parameters of which nothing is used but that they are checked. Where a body does nothing but raise none is.
pub(super) fn params(function: &Function) -> Vec<usize> {
    let only_raises = match &function.body {
        Body::Block(statements) => {
            statements.first().is_some_and(|first| matches!(first.action, Action::Raise { .. }))
        }
        Body::Call(_) => false,
    };
    let params = &function.signature.params;
    let unused = |index: &usize| may_be_unused(&params[*index]) && !is_used(function, *index);
    (0..params.len()).filter(|_| !only_raises).filter(unused).collect()
}

/// False for what is there for its own sake: a context, further arguments, a value that says nothing, and what a name
/// that starts with `_` says to be so.
fn may_be_unused(param: &Param) -> bool {
    let says_nothing = match param.ty.required() {
        (ParamType::Literal(literals), _) => {
            literals.iter().filter(|literal| **literal != Literal::None).count() < 2
        }
        _ => false,
    };
    let is_meant = param.name.starts_with('_') || param.name == "self";
    !param.variadic && !says_nothing && !is_meant
}

/// True if a parameter is mentioned, determines a symbol that is, or says on which device something is.
fn is_used(function: &Function, index: usize) -> bool {
    let signature = &function.signature;
    let others = signature.params.iter().enumerate().filter(|(other, _)| *other != index);
    let conditions = signature.constraints.iter().map(|constraint| &constraint.condition);
    let outputs = signature.outputs().iter().flat_map(|output| output.tensor.extents());
    let exprs = others.flat_map(|(_, other)| other.ty.exprs()).chain(conditions);
    let exprs = exprs.chain(outputs).chain(function.body.exprs());
    let mut mentioned = FxHashSet::default();
    exprs.for_each(|expr| mention(expr, &mut mentioned));
    let param = &signature.params[index];
    let mut own = FxHashSet::default();
    param.ty.exprs().into_iter().for_each(|expr| mention(expr, &mut own));
    let earlier: FxHashSet<&str> = signature.params[..index].iter().flat_map(determined).collect();
    mentioned.contains(&*param.name)
        || own.iter().any(|name| mentioned.contains(name) && !earlier.contains(name))
        || is_neighbour(function, index)
}

fn mention<'a>(expr: &'a Expr, names: &mut FxHashSet<&'a str>) {
    if let Expr::Name(name) = expr {
        names.insert(name);
    }
    expr.children().for_each(|child| mention(child, names));
}

/// The symbols that a parameter determines whatever the call is.
fn determined(param: &Param) -> Vec<&str> {
    let exprs = match &param.ty {
        ParamType::Tensor(_) | ParamType::Shape(_) => param.ty.exprs(),
        ParamType::Scalar(_) => return vec![&param.name],
        ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => Vec::new(),
    };
    let names = exprs.into_iter().filter_map(|expr| {
        let Expr::Name(name) = expr else { return None };
        Some(name.as_str())
    });
    names.collect()
}

/// True for the first tensor parameter on whose device an output is allocated, or a kernel may be launched.
fn is_neighbour(function: &Function, index: usize) -> bool {
    let tensors = || {
        let params = function.signature.params.iter().enumerate();
        params.filter_map(|(index, param)| Some((index, param.ty.tensor()?)))
    };
    let first = |fits: &dyn Fn(&Tensor) -> bool| tensors().find(|(_, tensor)| fits(tensor));
    let is_first = |fits: &dyn Fn(&Tensor) -> bool| first(fits).is_some_and(|(at, _)| at == index);
    let of_outputs = function.signature.outputs().iter().any(|output| {
        let device = output.tensor.device;
        is_first(&|tensor| device == Device::Any || tensor.device == device)
    });
    let launches = function.body.launches().next().is_some();
    let on_gpu =
        |tensor: &Tensor| matches!(tensor.device, Device::Any | Device::Type(DeviceType::CUDA));
    of_outputs || (launches && is_first(&on_gpu))
}
