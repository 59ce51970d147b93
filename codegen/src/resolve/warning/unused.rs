//! Finds unused parameters and images.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::declaration::{
    Body, Device, Expr, Function, Image, Library, Literal, Output, Param, ParamType, Platform,
    Statement, StatementKind, Tensor,
};

/// Returns the images that nothing uses, with their indices.
pub(super) fn images(library: &Library) -> impl Iterator<Item = (usize, &Image)> {
    let used = library.used_images();
    let images = library.images.iter().enumerate();
    images.filter(move |(_, image)| !used.contains(&*image.name))
}

/// Returns the parameters that are checked but not used. A body that only raises uses none, so nothing is reported
/// for it.
pub(super) fn params(function: &Function) -> Vec<usize> {
    let only_raises = match &function.body {
        Body::Block(statements) => statements
            .first()
            .is_some_and(|first| matches!(first.kind, StatementKind::Raise { .. })),
        Body::Call(_) => false,
    };
    if only_raises {
        return Vec::new();
    }
    let mentions = Mentions::of(function);
    let neighbours = neighbours(function);
    let unused = |(index, param): &(usize, &Param)| {
        let is_used = mentions.use_param(*index, param) || neighbours.contains(index);
        may_be_unused(param) && !is_used
    };
    let unused = function.signature.params.iter().enumerate().filter(unused);
    unused.map(|(index, _)| index).collect()
}

/// Returns false for parameters that need no use: contexts, variadic parameters, types with a single value, and names
/// that start with `_`.
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

/// Mentions of names in a function.
struct Mentions<'a> {
    /// Names in constraints, in returned tensors or in the body.
    after: FxHashSet<&'a str>,
    /// Indices of the first and the last parameter whose type mentions a name.
    params: FxHashMap<&'a str, [usize; 2]>,
    /// Index of the first parameter that binds a name in every call.
    determined: FxHashMap<&'a str, usize>,
}

impl<'a> Mentions<'a> {
    fn of(function: &'a Function) -> Self {
        let signature = &function.signature;
        let conditions = signature.constraints.iter().map(|constraint| &constraint.condition);
        let outputs = signature.outputs().iter().flat_map(|output| output.tensor.extents());
        let (mut after, mut params) = (FxHashSet::default(), FxHashMap::default());
        let mut determined = FxHashMap::default();
        let exprs = conditions.chain(outputs).chain(function.body.exprs());
        let mut mention = |name| {
            after.insert(name);
        };
        exprs.for_each(|expr| expr.names(&mut mention));
        named_after(function).filter_map(Tensor::used_symbol).for_each(&mut mention);
        for (index, param) in signature.params.iter().enumerate() {
            for name in own_names(param) {
                params.entry(name).or_insert([index; 2])[1] = index;
            }
            for name in self::determined(param) {
                determined.entry(name).or_insert(index);
            }
        }
        Mentions { after, params, determined }
    }

    fn outside(&self, name: &str, index: usize) -> bool {
        let in_params = self.params.get(name).is_some_and(|ends| *ends != [index; 2]);
        self.after.contains(name) || in_params
    }

    /// Returns true if a parameter is mentioned elsewhere, or is the first to bind a symbol that is.
    fn use_param(&self, index: usize, param: &Param) -> bool {
        let earlier = |name: &str| self.determined.get(name).is_some_and(|first| *first < index);
        let serves = |name: &&str| self.outside(name, index) && !earlier(name);
        self.outside(&param.name, index) || own_names(param).iter().any(serves)
    }
}

/// Returns the names in the type of a parameter.
fn own_names(param: &Param) -> Vec<&str> {
    let mut names = Vec::new();
    param.ty.exprs().into_iter().for_each(|expr| expr.names(&mut |name| names.push(name)));
    names.extend(param.ty.tensor().and_then(|tensor| tensor.dtype_symbol.as_deref()));
    names
}

/// Returns the types of tensors that the result and the body name.
fn named_after(function: &Function) -> impl Iterator<Item = &Tensor> {
    let results = function.signature.outputs().iter().map(|output| &output.tensor);
    results.chain(function.body.statements().flat_map(|statement| statement.kind.tensors()))
}

/// Returns the symbols that a parameter binds in every call.
fn determined(param: &Param) -> Vec<&str> {
    if let ParamType::Scalar(_) = param.ty {
        return vec![&param.name];
    }
    let is_fixed = param.ty.shape().is_some();
    let exprs = if is_fixed { param.ty.exprs() } else { Vec::new() };
    let names = exprs.into_iter().filter_map(|expr| {
        let Expr::Name(name) = expr else { return None };
        Some(name.as_str())
    });
    names.chain(param.ty.tensor().and_then(Tensor::bound_symbol)).collect()
}

/// Returns the first tensor parameters whose device an allocation, a launch or a device variable shares.
fn neighbours(function: &Function) -> Vec<usize> {
    let params = &function.signature.params;
    let first = |fits: &dyn Fn(&Tensor) -> bool| {
        params.iter().position(|param| param.ty.tensor().is_some_and(fits))
    };
    let of_output = |output: &Output| {
        let device = output.tensor.device;
        first(&|tensor| device == Device::Any || tensor.device == device)
    };
    let on_gpu = |tensor: &Tensor| {
        tensor.device == Device::Any || Platform::of_device(tensor.device).is_some()
    };
    let on_device = |statement: &Statement| {
        matches!(
            statement.kind,
            StatementKind::Launch(_)
                | StatementKind::Upload(_)
                | StatementKind::Fill(_)
                | StatementKind::Copy(_)
        )
    };
    let uses_gpu = function.body.statements().any(on_device) || !function.used_images().is_empty();
    let outputs = function.signature.outputs().iter().filter_map(of_output);
    outputs.chain(uses_gpu.then(|| first(&on_gpu)).flatten()).collect()
}
