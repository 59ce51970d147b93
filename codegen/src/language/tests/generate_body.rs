//! Random bodies.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::generate::{expr, identifier, name, param_type, signature, tensor, text};
use super::generate_launch::{command, launch, tensor_map};
use crate::declaration::{
    Arm, Body, Branch, Call, Expr, Function, FunctionCall, FunctionRef, KernelCall, KernelRef,
    Local, Location, Signature, Statement, StatementKind, StatusError,
};

/// Words that have a meaning in statements only.
const WORDS: &[&str] = &[
    "let", "alloc", "on", "if", "for", "in", "match", "return", "raise", "launch", "upload",
    "fill", "copy", "wait", "image", "extern",
];

/// Generates a source line.
pub(super) fn location() -> impl Strategy<Value = Location> {
    let number = || 0..=i32::MAX as u32;
    (text(), number(), number()).prop_map(|(file, line, column)| Location { file, line, column })
}

/// Generates a call, or statements of a few levels.
pub(super) fn body() -> impl Strategy<Value = Body> {
    prop_oneof![kernel_call().prop_map(Body::Call), vec(statement(), 0..4).prop_map(Body::Block)]
}

fn word() -> impl Strategy<Value = String> {
    select(WORDS).prop_map(str::to_owned)
}

fn kernel_call() -> impl Strategy<Value = KernelCall> {
    let odd = Just("a\\\"#".to_owned());
    let symbol = prop_oneof![name(), text(), word(), odd];
    let error = (option::of(any::<i32>()), identifier(), text())
        .prop_map(|(status, kind, message)| StatusError { status, kind, message });
    let callee = prop_oneof![
        3 => symbol.prop_map(KernelRef::Symbol),
        1 => expr().prop_map(KernelRef::Address),
    ];
    (callee, vec(expr(), 0..4), option::of(vec(error, 0..3)))
        .prop_map(|(callee, args, status)| KernelCall { callee, args, status })
}

fn call() -> impl Strategy<Value = Call> {
    let named = prop_oneof![name(), word()];
    let callee = prop_oneof![
        named.prop_map(FunctionRef::Symbol),
        text().prop_map(FunctionRef::Name),
        expr().prop_map(FunctionRef::Value),
    ];
    prop_oneof![
        kernel_call().prop_map(Call::Kernel),
        (callee, vec(expr(), 0..4), vec(expr(), 0..2), vec(expr(), 0..3))
            .prop_map(|(callee, args, into, keys)| FunctionCall { callee, args, into, keys }.into()),
    ]
}

/// Generates a new name, which may be one of the [`WORDS`].
fn local() -> impl Strategy<Value = String> {
    prop_oneof![4 => name(), 1 => word()]
}

/// Generates an expression in which the [`WORDS`] may be names.
fn value() -> BoxedStrategy<Expr> {
    prop_oneof![4 => expr(), 1 => word().prop_map(Expr::Name)].boxed()
}

fn simple() -> BoxedStrategy<StatementKind> {
    let result = (local(), param_type()).prop_map(|(name, ty)| Local::new(name, ty));
    prop_oneof![
        (local(), value()).prop_map(|(name, value)| StatementKind::Let { name, value }),
        (option::of(result), call())
            .prop_map(|(result, call)| StatementKind::Call { result, call }),
        (local(), tensor(), option::of(value()))
            .prop_map(|(name, tensor, on)| StatementKind::Alloc { name, tensor, on }),
        (local(), tensor_map()).prop_map(|(name, map)| Statement::let_map(name, map).kind),
        launch().prop_map(|launch| StatementKind::Launch(Box::new(launch))),
        command(),
        option::of(value()).prop_map(StatementKind::Return),
        (identifier(), vec(value(), 0..4))
            .prop_map(|(kind, message)| StatementKind::Raise { kind, message }),
    ]
    .boxed()
}

/// Generates a function that a body makes.
fn closure(block: impl Strategy<Value = Vec<Statement>>) -> impl Strategy<Value = Function> {
    (signature(), block).prop_map(|(signature, block)| {
        let Signature { params, result, constraints, .. } = signature;
        Signature { params, result, constraints, ..Signature::closure() }.body(block)
    })
}

fn statement() -> BoxedStrategy<Statement> {
    let located = |action: BoxedStrategy<StatementKind>| {
        (option::weighted(0.2, location()), action)
            .prop_map(|(location, kind)| Statement { location, kind })
            .boxed()
    };
    let nested = located(simple()).prop_recursive(4, 12, 3, move |inner| {
        let block = vec(inner, 0..3);
        let block_of = block.clone();
        let case = (value(), block.clone()).prop_map(Branch::from);
        let branch = (vec(case, 1..4), block.clone())
            .prop_map(|(branches, otherwise)| StatementKind::If { branches, otherwise });
        let repetition = (local(), value(), value(), block.clone())
            .prop_map(|(name, start, end, body)| StatementKind::For { name, start, end, body });
        let typed = (option::of(local()), param_type(), block.clone())
            .prop_map(|(name, ty, body)| Arm { name, ty: Some(ty), body });
        let arm = prop_oneof![4 => typed, 1 => block.prop_map(Arm::none)];
        let matched = prop_oneof![
            local().prop_map(Expr::Name),
            (local(), value()).prop_map(|(of, index)| Expr::Name(of).element(index)),
        ];
        let choice = (matched, vec(arm, 0..3))
            .prop_map(|(value, arms)| StatementKind::Match { value, arms });
        let made = (local(), closure(block_of), 0..4).prop_map(|(name, function, place)| {
            let function = Expr::function(function);
            match place {
                0 => StatementKind::Let { name, value: function },
                1 => StatementKind::Return(Some(function)),
                2 => Statement::call(Call::name(name, [Expr::array([function])])).kind,
                _ => Statement::call(Call::name(name, [Expr::from(1), function])).kind,
            }
        });
        located(prop_oneof![branch, repetition, choice, made].boxed())
    });
    nested.boxed()
}
