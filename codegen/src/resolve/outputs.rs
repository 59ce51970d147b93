//! Tensors that are allocated for the kernel: what their names stand for before they are there.

use crate::declaration::{BinaryOp, Expr, Member};
use crate::declaration::{Dim, Output, Shape};
use crate::error::Part;
use crate::resolve::kind::Kind;
use crate::resolve::scope::Scope;

impl Scope<'_> {
    /// Results share the namespace of parameters and symbols.
    pub(crate) fn check_outputs(&self) -> Result<(), (Part, String)> {
        for (index, Output { name, .. }) in self.function.signature.outputs().iter().enumerate() {
            let is_param = self.function.signature.params.iter().any(|param| param.name == *name);
            if is_param || self.symbols.iter().any(|symbol| symbol.name == name) {
                let what = if is_param { "parameter" } else { "symbol" };
                return Err((Part::Output(index), format!("`{name}` is also a {what}")));
            }
        }
        Ok(())
    }

    /// The tensor of this name.
    pub(crate) fn output(&self, name: &str) -> Option<usize> {
        self.function.signature.outputs().iter().position(|output| output.name == name)
    }

    /// The tensor that an expression consists of.
    pub(crate) fn output_of(&self, expr: &Expr) -> Option<usize> {
        if let Expr::Name(name) = expr { self.output(name) } else { None }
    }

    /// True for what is known only once a tensor is allocated: its address and that of its elements.
    pub(crate) fn is_allocated(&self, expr: &Expr) -> bool {
        let of = if let Expr::Member(of, Member::Data) = expr { of } else { expr };
        self.output_of(of).is_some()
    }

    pub(crate) fn output_member(&self, output: usize, member: Member) -> Result<Kind, String> {
        let Output { name, .. } = &self.function.signature.outputs()[output];
        match (member, self.output_value(output, member)) {
            (Member::Data, _) => Ok(Kind::Ptr),
            (_, Some(_)) => Ok(Kind::Int),
            (Member::Shape(dim) | Member::Strides(dim), None) => {
                let rank = self.function.signature.outputs()[output].extents().count();
                Err(format!("`{name}` has rank {rank}, which leaves no dim {dim}"))
            }
            (member, None) => {
                Err(format!("`{name}.{member}` is not known before `{name}` is allocated"))
            }
        }
    }

    /// A number about a tensor that is known before it is allocated.
    pub(crate) fn output_value(&self, output: usize, member: Member) -> Option<Expr> {
        let extents: Vec<&Expr> = self.function.signature.outputs()[output].extents().collect();
        match member {
            Member::Shape(dim) => extents.get(dim as usize).map(|extent| (*extent).clone()),
            Member::Strides(dim) => {
                let right = extents.get(dim as usize + 1..)?.iter().map(|extent| (*extent).clone());
                let product = right.reduce(|product, extent| product.binary(BinaryOp::Mul, extent));
                (extents.len() > dim as usize).then(|| product.unwrap_or(Expr::Int(1)))
            }
            Member::Ndim => Some(Expr::Int(extents.len() as i64)),
            Member::Numel => {
                let all = extents.into_iter().cloned();
                let product = all.reduce(|product, extent| product.binary(BinaryOp::Mul, extent));
                Some(product.unwrap_or(Expr::Int(1)))
            }
            Member::IsContiguous => Some(Expr::Int(1)),
            Member::Data
            | Member::DeviceType
            | Member::DeviceId
            | Member::ByteOffset
            | Member::DType
            | Member::Size
            | Member::IsSome => None,
        }
    }

    /// An extent is a number that is known before the call.
    pub(crate) fn check_extent(&self, expr: &Expr) -> Result<(), String> {
        self.no_output(expr)?;
        self.check_dim(expr)?;
        match self.kind(expr)? {
            Kind::Int => Ok(()),
            Kind::Float | Kind::Ptr | Kind::DType | Kind::Device | Kind::Text | Kind::Several => {
                Err(format!("`{expr}` is not an integer"))
            }
        }
    }

    /// Nothing is known of results before the call.
    pub(crate) fn no_output(&self, expr: &Expr) -> Result<(), String> {
        if self.output_of(expr).is_some() {
            return Err(format!("`{expr}` is a result, which is not known before the call"));
        }
        expr.children().try_for_each(|child| self.no_output(child))
    }
}

impl Output {
    /// Its extents.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Expr> {
        let dims = match &self.tensor.shape {
            Shape::AnyRank => &[],
            Shape::Dims(dims) => &dims[..],
        };
        dims.iter().filter_map(|dim| match dim {
            Dim::Any => None,
            Dim::Expr(expr) => Some(expr),
        })
    }
}
