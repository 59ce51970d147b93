//! Drops declarations of any depth without recursion.
//!
//! Values in Rust may nest deeper than [`MAX_NESTING`](super::limit::MAX_NESTING), which only validation refuses, and
//! dropping them field by field would need stack for every level. Whatever has nested parts with parts of their own
//! hands them to a list instead, from which they are taken one by one.

use super::{
    Arm, Body, Branch, Call, Dim, Expr, Function, Im2col, KernelRef, LaunchArg, MapMode, ParamType,
    ResultType, Shape, Statement, StatementKind, Strides, Target, Tensor, TensorMap,
};

/// A part that has been taken out of a declaration.
enum Part {
    Expr(Expr),
    Type(ParamType),
    Statement(StatementKind),
    Arg(LaunchArg),
}

/// Parts that are left to drop.
#[derive(Default)]
struct Left(Vec<Part>);

impl Left {
    /// Drops all parts. Those that a part contains are taken out of it before.
    fn drop_all(mut self) {
        while let Some(mut part) = self.0.pop() {
            match &mut part {
                Part::Expr(expr) => self.parts_of_expr(expr),
                Part::Type(ty) => self.parts_of_type(ty),
                Part::Statement(statement) => self.parts_of_statement(statement),
                Part::Arg(arg) => self.parts_of_arg(arg),
            }
        }
    }

    /// Takes an expression, unless its parts have none.
    fn expr(&mut self, expr: &mut Expr) {
        if is_made(expr) || expr.children().any(|child| !is_leaf(child)) {
            self.0.push(Part::Expr(std::mem::replace(expr, Expr::Null)));
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e mut Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    /// Takes a type, unless it has no parts.
    fn ty(&mut self, ty: &mut ParamType) {
        const NO_PARTS: ParamType = ParamType::Tuple(Vec::new());
        if has_parts(ty) {
            self.0.push(Part::Type(std::mem::replace(ty, NO_PARTS)));
        }
    }

    fn args(&mut self, args: &mut Vec<LaunchArg>) {
        self.0.extend(args.drain(..).map(Part::Arg));
    }

    fn block(&mut self, block: &mut Vec<Statement>) {
        let kind = |statement: Statement| Part::Statement(statement.kind);
        self.0.extend(block.drain(..).map(kind));
    }

    fn parts_of_expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Int(_)
            | Expr::Unsigned(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Name(_)
            | Expr::Bool(_)
            | Expr::None
            | Expr::CurrentDevice
            | Expr::Global(_) => {}
            Expr::Member(e, _)
            | Expr::Field(e, _)
            | Expr::Neg(e)
            | Expr::Not(e)
            | Expr::Stream(e)
            | Expr::DeviceAttribute(e, _)
            | Expr::Cast(_, e) => self.expr(e),
            Expr::Binary(_, a, b)
            | Expr::Call(_, a, b)
            | Expr::Element(a, b)
            | Expr::Compare(_, a, b)
            | Expr::Logic(_, a, b) => self.exprs([&mut **a, &mut **b]),
            Expr::Array(all) | Expr::Shape(all) => self.exprs(all),
            Expr::Function(function) => self.parts_of_function(function),
        }
    }

    fn parts_of_function(&mut self, function: &mut Function) {
        let Function { signature, body, .. } = function;
        signature.params.iter_mut().for_each(|param| self.ty(&mut param.ty));
        match &mut signature.result {
            ResultType::None => {}
            ResultType::Value(ty) => self.ty(ty),
            ResultType::Allocated(outputs) => {
                outputs.iter_mut().for_each(|output| self.tensor(&mut output.tensor));
            }
        }
        self.exprs(signature.constraints.iter_mut().map(|constraint| &mut constraint.condition));
        match body {
            Body::Call(call) => {
                if let KernelRef::Address(address) = &mut call.callee {
                    self.expr(address);
                }
                self.exprs(&mut call.args);
            }
            Body::Block(block) => self.block(block),
        }
    }

    fn parts_of_type(&mut self, ty: &mut ParamType) {
        match ty {
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Object(_)
            | ParamType::Literal(_) => {}
            ParamType::Tensor(tensor) => self.tensor(tensor),
            ParamType::Shape(shape) => self.shape(shape),
            ParamType::Sequence(_, of) | ParamType::Optional(of) => self.ty(of),
            ParamType::Mapping(_, types) => types.iter_mut().for_each(|ty| self.ty(ty)),
            ParamType::Tuple(elements) => {
                elements.iter_mut().for_each(|element| self.ty(&mut element.ty));
            }
            ParamType::Union(types) => types.iter_mut().for_each(|ty| self.ty(ty)),
        }
    }

    fn tensor(&mut self, tensor: &mut Tensor) {
        self.shape(&mut tensor.shape);
        if let Strides::List(dims) = &mut tensor.strides {
            self.dims(dims);
        }
    }

    fn shape(&mut self, shape: &mut Shape) {
        match shape {
            Shape::AnyRank => {}
            Shape::Dims(dims) | Shape::Trailing { dims, .. } => self.dims(dims),
        }
    }

    fn dims(&mut self, dims: &mut [Dim]) {
        for dim in dims {
            if let Dim::Expr(expr) = dim {
                self.expr(expr);
            }
        }
    }

    fn parts_of_statement(&mut self, statement: &mut StatementKind) {
        match statement {
            StatementKind::Let { value, .. } => self.expr(value),
            StatementKind::Call { result, call } => {
                result.iter_mut().flat_map(|result| &mut result.ty).for_each(|ty| self.ty(ty));
                self.call(call);
            }
            StatementKind::Alloc { tensor, on, .. } => {
                self.tensor(tensor);
                self.exprs(on);
            }
            StatementKind::TensorMap { map, .. } => self.map(map),
            StatementKind::If { branches, otherwise } => {
                for Branch { condition, body } in branches {
                    self.expr(condition);
                    self.block(body);
                }
                self.block(otherwise);
            }
            StatementKind::For { start, end, body, .. } => {
                self.exprs([start, end]);
                self.block(body);
            }
            StatementKind::Match { value, arms } => {
                self.expr(value);
                for Arm { ty, body, .. } in arms {
                    ty.iter_mut().for_each(|ty| self.ty(ty));
                    self.block(body);
                }
            }
            StatementKind::Launch(launch) => {
                self.args(&mut launch.args);
                self.exprs(launch.grid.iter_mut().chain(&mut launch.block));
                self.exprs(launch.attributes.iter_mut().flat_map(|one| &mut one.fields));
                self.exprs(
                    launch.shared.iter_mut().chain(&mut launch.on).chain(&mut launch.stream),
                );
            }
            StatementKind::Upload(upload) => {
                self.expr(&mut upload.to);
                self.args(&mut upload.values);
                self.target(&mut upload.target);
            }
            StatementKind::Fill(fill) => {
                self.exprs([&mut fill.to, &mut fill.bytes, &mut fill.value]);
                self.target(&mut fill.target);
            }
            StatementKind::Copy(copy) => {
                self.exprs([&mut copy.to, &mut copy.from, &mut copy.bytes]);
                self.target(&mut copy.target);
            }
            StatementKind::Wait(wait) => {
                self.exprs([&mut wait.waiter, &mut wait.other]);
                self.exprs(&mut wait.on);
            }
            StatementKind::Return(value) => self.exprs(value),
            StatementKind::Raise { message, .. } => self.exprs(message),
        }
    }

    fn call(&mut self, call: &mut Call) {
        self.exprs(call.callee_mut());
        self.exprs(call.keys_mut());
        self.exprs(call.given_mut());
    }

    fn target(&mut self, target: &mut Target) {
        self.exprs(target.on.iter_mut().chain(&mut target.stream));
    }

    fn parts_of_arg(&mut self, arg: &mut LaunchArg) {
        match arg {
            LaunchArg::Value(value) => self.expr(value),
            LaunchArg::Struct(fields) => self.args(fields),
            LaunchArg::Scratch { bytes, .. } => self.expr(bytes),
            LaunchArg::TensorMap(map) => self.map(map),
            LaunchArg::Bytes { tensor, .. } => self.expr(tensor),
        }
    }

    fn map(&mut self, map: &mut TensorMap) {
        let TensorMap { tensor, dims, strides, offset, mode, steps, .. } = map;
        self.expr(tensor);
        self.exprs(offset);
        [dims, strides, steps].into_iter().for_each(|list| self.exprs(list));
        match mode {
            MapMode::Tiled(extents) => self.exprs(extents),
            MapMode::Im2col(columns) => {
                let Im2col { lower, upper, channels, pixels } = &mut **columns;
                self.exprs(lower.iter_mut().chain(upper).chain([channels, pixels]));
            }
        }
    }
}

/// Returns true for expressions without parts.
fn is_leaf(expr: &Expr) -> bool {
    expr.children().next().is_none() && !is_made(expr)
}

/// Returns true for a function that a body makes.
fn is_made(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(_))
}

/// Returns true for types with parts.
fn has_parts(ty: &ParamType) -> bool {
    match ty {
        ParamType::Scalar(_)
        | ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Literal(_) => false,
        ParamType::Tensor(_)
        | ParamType::Shape(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Optional(_) => true,
        ParamType::Tuple(elements) => !elements.is_empty(),
        ParamType::Union(types) => !types.is_empty(),
    }
}

/// Implements `Drop`: parts of a value are dropped from a list if any of them may have parts of its own.
macro_rules! drops {
    ($($ty:ident $parts:ident;)*) => {$(
        impl Drop for $ty {
            fn drop(&mut self) {
                let mut left = Left::default();
                left.$parts(self);
                left.drop_all();
            }
        }
    )*};
}

drops! {
    Expr parts_of_expr;
    ParamType parts_of_type;
    StatementKind parts_of_statement;
    LaunchArg parts_of_arg;
}
