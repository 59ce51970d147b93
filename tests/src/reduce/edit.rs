//! The parts of declarations that a pass may change.

use codegen::{
    Access, Arm, Body, Branch, Call, Constraint, DType, Device, DeviceType, Dim, Expr, Fill,
    Function, FunctionRef, Image, Interleave, KernelCall, KernelRef, Launch, LaunchArg, Library,
    Literal, MapMode, ParamType, Promotion, ResultType, Shape, Signature, Statement, StatementKind,
    Strides, Swizzle, Target, Tensor, TensorMap,
};

/// Changes of declarations. A walk calls a method for each part of a kind, parts of a part first, so that a change does
/// not renumber those before it.
pub(super) trait Edit {
    /// A list that may lose elements.
    fn list<T>(&mut self, _: &mut Vec<T>) {}
    /// A value that may become a simpler one.
    fn value<T: PartialEq>(&mut self, _: &mut T, _simpler: T) {}
    /// Text that may become shorter.
    fn text(&mut self, _: &mut String) {}
    /// An expression.
    fn expr(&mut self, _: &mut Expr) {}
    /// A type.
    fn ty(&mut self, _: &mut ParamType) {}
    /// Statements of a block.
    fn block(&mut self, _: &mut Vec<Statement>) {}
    /// A function.
    fn function(&mut self, _: &mut Function) {}
}

/// Walks through a library.
pub(super) fn library(library: &mut Library, edit: &mut impl Edit) {
    library.functions.iter_mut().for_each(|one| function(one, edit));
    edit.list(&mut library.functions);
    for Image { on_load, .. } in &mut library.images {
        on_load.iter_mut().for_each(|function| edit.text(function));
        edit.value(on_load, None);
    }
    edit.list(&mut library.images);
}

/// Walks through a function.
pub(super) fn function(function: &mut Function, edit: &mut impl Edit) {
    signature(&mut function.signature, edit);
    match &mut function.body {
        Body::Call(call) => kernel_call(call, edit),
        Body::Block(statements) => block(statements, edit),
    }
    edit.value(&mut function.body, Body::Block(Vec::new()));
    edit.text(&mut function.docs);
    edit.value(&mut function.location, None);
    edit.value(&mut function.external, false);
    edit.function(function);
}

fn signature(signature: &mut Signature, edit: &mut impl Edit) {
    for param in &mut signature.params {
        ty(&mut param.ty, edit);
        if let Some(Literal::Str(text)) = &mut param.default {
            edit.text(text);
        }
        edit.value(&mut param.default, None);
        edit.value(&mut param.variadic, false);
        edit.text(&mut param.docs);
    }
    edit.list(&mut signature.params);
    match &mut signature.result {
        ResultType::None => {}
        ResultType::Value(value) => ty(value, edit),
        ResultType::Allocated(outputs) => {
            outputs.iter_mut().for_each(|output| tensor(&mut output.tensor, edit));
            edit.list(outputs);
        }
    }
    edit.value(&mut signature.result, ResultType::None);
    for Constraint { condition, message, .. } in &mut signature.constraints {
        expr(condition, edit);
        message.iter_mut().for_each(|message| edit.text(message));
        edit.value(message, None);
    }
    edit.list(&mut signature.constraints);
}

/// Walks through the statements of a block.
pub(super) fn block(statements: &mut Vec<Statement>, edit: &mut impl Edit) {
    for Statement { kind, location, .. } in &mut *statements {
        statement(kind, edit);
        edit.value(location, None);
    }
    edit.list(statements);
    edit.block(statements);
}

fn statement(kind: &mut StatementKind, edit: &mut impl Edit) {
    match kind {
        StatementKind::Let { value, .. } => expr(value, edit),
        StatementKind::Call { result, call } => {
            result.iter_mut().flat_map(|result| &mut result.ty).for_each(|of| ty(of, edit));
            edit.value(result, None);
            self::call(call, edit);
        }
        StatementKind::Alloc { tensor: of, on, .. } => {
            tensor(of, edit);
            optional(on, edit);
        }
        StatementKind::TensorMap { map, .. } => tensor_map(map, edit),
        StatementKind::If { branches, otherwise } => {
            for Branch { condition, body } in &mut *branches {
                expr(condition, edit);
                block(body, edit);
            }
            block(otherwise, edit);
            edit.list(branches);
        }
        StatementKind::For { start, end, body, .. } => {
            expr(start, edit);
            expr(end, edit);
            block(body, edit);
        }
        StatementKind::Match { value, arms } => {
            expr(value, edit);
            for Arm { name, ty: of, body } in &mut *arms {
                of.iter_mut().for_each(|of| ty(of, edit));
                block(body, edit);
                edit.value(name, None);
            }
            edit.list(arms);
        }
        StatementKind::Launch(launch) => self::launch(launch, edit),
        StatementKind::Upload(upload) => {
            expr(&mut upload.to, edit);
            launch_args(&mut upload.values, edit);
            target(&mut upload.target, edit);
        }
        StatementKind::Fill(fill) => {
            for one in [&mut fill.to, &mut fill.bytes, &mut fill.value] {
                expr(one, edit);
            }
            target(&mut fill.target, edit);
        }
        StatementKind::Copy(copy) => {
            for one in [&mut copy.to, &mut copy.from, &mut copy.bytes] {
                expr(one, edit);
            }
            target(&mut copy.target, edit);
        }
        StatementKind::Wait(wait) => {
            for one in [&mut wait.waiter, &mut wait.other] {
                expr(one, edit);
            }
            optional(&mut wait.on, edit);
        }
        StatementKind::Return(value) => optional(value, edit),
        StatementKind::Raise { message, .. } => exprs(message, edit),
    }
}

fn call(call: &mut Call, edit: &mut impl Edit) {
    match call {
        Call::Kernel(call) => kernel_call(call, edit),
        Call::Function(call) => {
            match &mut call.callee {
                FunctionRef::Value(value) => expr(value, edit),
                FunctionRef::Symbol(_) | FunctionRef::Name(_) => {}
            }
            exprs(&mut call.args, edit);
            exprs(&mut call.into, edit);
            exprs(&mut call.keys, edit);
        }
    }
}

fn kernel_call(call: &mut KernelCall, edit: &mut impl Edit) {
    if let KernelRef::Address(address) = &mut call.callee {
        expr(address, edit);
    }
    exprs(&mut call.args, edit);
    if let Some(errors) = &mut call.status {
        errors.iter_mut().for_each(|error| edit.text(&mut error.message));
        edit.list(errors);
    }
    edit.value(&mut call.status, None);
}

fn launch(launch: &mut Launch, edit: &mut impl Edit) {
    launch_args(&mut launch.args, edit);
    exprs(&mut launch.grid, edit);
    exprs(&mut launch.block, edit);
    launch.attributes.iter_mut().for_each(|attribute| exprs(&mut attribute.fields, edit));
    edit.list(&mut launch.attributes);
    for one in [&mut launch.shared, &mut launch.on, &mut launch.stream] {
        optional(one, edit);
    }
}

fn launch_args(args: &mut Vec<LaunchArg>, edit: &mut impl Edit) {
    for arg in &mut *args {
        match arg {
            LaunchArg::Value(value) => expr(value, edit),
            LaunchArg::Struct(fields) => launch_args(fields, edit),
            LaunchArg::Scratch { bytes, .. } => expr(bytes, edit),
            LaunchArg::TensorMap(map) => tensor_map(map, edit),
            LaunchArg::Bytes { tensor, .. } => expr(tensor, edit),
        }
        edit.value(arg, LaunchArg::Value(Expr::Int(0)));
    }
    edit.list(args);
}

fn target(target: &mut Target, edit: &mut impl Edit) {
    for one in [&mut target.on, &mut target.stream] {
        optional(one, edit);
    }
}

fn tensor_map(map: &mut TensorMap, edit: &mut impl Edit) {
    expr(&mut map.tensor, edit);
    optional(&mut map.offset, edit);
    for all in [&mut map.dims, &mut map.strides, &mut map.steps] {
        exprs(all, edit);
    }
    match &mut map.mode {
        MapMode::Tiled(extents) => exprs(extents, edit),
        MapMode::Im2col(columns) => {
            [&mut columns.lower, &mut columns.upper].into_iter().for_each(|all| exprs(all, edit));
            [&mut columns.channels, &mut columns.pixels]
                .into_iter()
                .for_each(|one| expr(one, edit));
        }
    }
    edit.value(&mut map.interleave, Interleave::None);
    edit.value(&mut map.swizzle, Swizzle::None);
    edit.value(&mut map.promotion, Promotion::None);
    edit.value(&mut map.fill, Fill::None);
    edit.value(&mut map.dtype, None);
}

/// Walks through a type.
pub(super) fn ty(ty: &mut ParamType, edit: &mut impl Edit) {
    match ty {
        ParamType::Scalar(_) | ParamType::Leaf(_) | ParamType::Object(_) => {}
        ParamType::Tensor(of) => tensor(of, edit),
        ParamType::Shape(of) => shape(of, edit),
        ParamType::Sequence(_, inner) | ParamType::Optional(inner) => self::ty(inner, edit),
        ParamType::Mapping(_, types) => types.iter_mut().for_each(|of| self::ty(of, edit)),
        ParamType::Tuple(elements) => {
            for element in &mut *elements {
                self::ty(&mut element.ty, edit);
                edit.value(&mut element.name, None);
            }
            edit.list(elements);
        }
        ParamType::Union(types) => {
            types.iter_mut().for_each(|of| self::ty(of, edit));
            edit.list(types);
        }
        ParamType::Literal(literals) => {
            for literal in &mut *literals {
                if let Literal::Str(text) = literal {
                    edit.text(text);
                }
            }
            edit.list(literals);
        }
    }
    edit.ty(ty);
}

fn tensor(tensor: &mut Tensor, edit: &mut impl Edit) {
    shape(&mut tensor.shape, edit);
    if let Strides::List(all) = &mut tensor.strides {
        dims(all, edit);
    }
    edit.value(&mut tensor.strides, Strides::Contiguous);
    edit.list(&mut tensor.dtypes);
    if !tensor.dtypes.is_empty() {
        edit.value(&mut tensor.dtype_symbol, None);
    }
    edit.value(&mut tensor.dtypes, vec![DType::INT8]);
    edit.value(&mut tensor.storage, false);
    edit.value(&mut tensor.device, Device::Type(DeviceType::CPU));
    edit.value(&mut tensor.align, None);
    edit.value(&mut tensor.access, Access::Update);
}

fn shape(shape: &mut Shape, edit: &mut impl Edit) {
    match shape {
        Shape::AnyRank => {}
        Shape::Dims(all) | Shape::Trailing { dims: all, .. } => dims(all, edit),
    }
    edit.value(shape, Shape::AnyRank);
    edit.value(shape, Shape::Dims(Vec::new()));
}

fn dims(all: &mut Vec<Dim>, edit: &mut impl Edit) {
    for dim in &mut *all {
        match dim {
            Dim::Any => {}
            Dim::Expr(extent) => expr(extent, edit),
        }
        edit.value(dim, Dim::Any);
    }
    edit.list(all);
}

fn optional(value: &mut Option<Expr>, edit: &mut impl Edit) {
    value.iter_mut().for_each(|one| expr(one, edit));
    edit.value(value, None);
}

fn exprs(all: &mut Vec<Expr>, edit: &mut impl Edit) {
    all.iter_mut().for_each(|one| expr(one, edit));
    edit.list(all);
}

fn expr(expr: &mut Expr, edit: &mut impl Edit) {
    match expr {
        Expr::Int(_)
        | Expr::Unsigned(_)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Name(_)
        | Expr::Bool(_)
        | Expr::None
        | Expr::CurrentDevice => {}
        Expr::Text(text) => edit.text(text),
        Expr::Global(global) => edit.text(&mut global.name),
        Expr::Member(of, _)
        | Expr::Field(of, _)
        | Expr::Neg(of)
        | Expr::Not(of)
        | Expr::Stream(of)
        | Expr::DeviceAttribute(of, _)
        | Expr::Cast(_, of) => self::expr(of, edit),
        Expr::Binary(_, a, b)
        | Expr::Call(_, a, b)
        | Expr::Element(a, b)
        | Expr::Compare(_, a, b)
        | Expr::Logic(_, a, b) => [a, b].into_iter().for_each(|one| self::expr(one, edit)),
        Expr::Array(all) | Expr::Shape(all) => exprs(all, edit),
        Expr::Function(of) => function(of, edit),
    }
    edit.expr(expr);
}
