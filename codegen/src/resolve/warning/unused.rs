//! Parameters and images that nothing uses.

use rustc_hash::{FxHashMap, FxHashSet};

use abi_spec::DeviceType;

use crate::declaration::{
    Body, Device, Expr, Function, Image, Library, Literal, Output, Param, ParamType, StatementKind,
    Tensor,
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

/// Where names are mentioned.
struct Mentions<'a> {
    /// In conditions, in what is returned or in the body.
    after: FxHashSet<&'a str>,
    /// The first and the last parameter in whose types they are.
    params: FxHashMap<&'a str, [usize; 2]>,
    /// The first parameter that determines them.
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
        exprs.for_each(|expr| each_name(expr, &mut mention));
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

    /// True if a parameter is mentioned, or is the first to determine a symbol that is.
    fn use_param(&self, index: usize, param: &Param) -> bool {
        let earlier = |name: &str| self.determined.get(name).is_some_and(|first| *first < index);
        let serves = |name: &&str| self.outside(name, index) && !earlier(name);
        self.outside(&param.name, index) || own_names(param).iter().any(serves)
    }
}

/// The names in the types of a parameter.
fn own_names(param: &Param) -> Vec<&str> {
    let mut names = Vec::new();
    param.ty.exprs().into_iter().for_each(|expr| each_name(expr, &mut |name| names.push(name)));
    names
}

fn each_name<'a>(expr: &'a Expr, with: &mut impl FnMut(&'a str)) {
    if let Expr::Name(name) = expr {
        with(name);
    }
    expr.children().for_each(|child| each_name(child, with));
}

/// The symbols that a parameter determines whatever the call is.
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
    names.collect()
}

/// The first tensor parameters on whose device an output is allocated, or a kernel may be launched.
fn neighbours(function: &Function) -> Vec<usize> {
    let params = &function.signature.params;
    let first = |fits: &dyn Fn(&Tensor) -> bool| {
        params.iter().position(|param| param.ty.tensor().is_some_and(fits))
    };
    let of_output = |output: &Output| {
        let device = output.tensor.device;
        first(&|tensor| device == Device::Any || tensor.device == device)
    };
    let on_gpu =
        |tensor: &Tensor| matches!(tensor.device, Device::Any | Device::Type(DeviceType::CUDA));
    let launches = function.body.launches().next();
    let outputs = function.signature.outputs().iter().filter_map(of_output);
    outputs.chain(launches.and_then(|_| first(&on_gpu))).collect()
}
