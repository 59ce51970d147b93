//! Random launches.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::generate::{expr, identifier, text};
use crate::declaration::{
    AttributeKind, AttributeValue, Expr, Fill, Im2col, Interleave, Launch, LaunchArg,
    LaunchAttribute, MapMode, MapType, MemoryCopy, MemoryFill, Promotion, StatementKind, Swizzle,
    Target, TensorMap, Upload, Wait,
};

fn mode() -> impl Strategy<Value = MapMode> {
    let offsets = || vec(expr(), 0..4);
    let column = (offsets(), offsets(), expr(), expr());
    let column = column.prop_map(|(lower, upper, channels, pixels)| {
        MapMode::Im2col(Box::new(Im2col { lower, upper, channels, pixels }))
    });
    prop_oneof![2 => vec(expr(), 0..4).prop_map(MapMode::Tiled), 1 => column]
}

pub(super) fn tensor_map() -> impl Strategy<Value = TensorMap> {
    let memory = (vec(expr(), 0..4), vec(expr(), 0..4), option::of(expr()));
    let options = (
        select(Interleave::ALL),
        select(Swizzle::ALL),
        select(Promotion::ALL),
        select(Fill::ALL),
        option::of(select(MapType::ALL)),
    );
    let numbers = (mode(), vec(expr(), 0..4));
    (expr(), memory, numbers, options).prop_map(|(tensor, memory, (mode, steps), options)| {
        let (dims, strides, offset) = memory;
        let (interleave, swizzle, promotion, fill, dtype) = options;
        let map = TensorMap::new(tensor, [] as [Expr; 0]).steps(steps).interleave(interleave);
        let map = map.swizzle(swizzle).promotion(promotion).fill(fill);
        TensorMap { dims, strides, offset, mode, dtype, ..map }
    })
}

fn arg() -> BoxedStrategy<LaunchArg> {
    let leaf = prop_oneof![
        4 => expr().prop_map(LaunchArg::Value),
        1 => (expr(), any::<u64>()).prop_map(|(bytes, align)| LaunchArg::Scratch { bytes, align }),
        1 => tensor_map().prop_map(LaunchArg::TensorMap),
        1 => (expr(), any::<u32>()).prop_map(|(tensor, size)| LaunchArg::bytes(tensor, size)),
    ];
    let structure = |inner| vec(inner, 0..3).prop_map(LaunchArg::Struct);
    leaf.prop_recursive(3, 8, 3, structure).boxed()
}

fn attribute() -> impl Strategy<Value = LaunchAttribute> {
    let kind = prop_oneof![
        3 => select(AttributeKind::ALL),
        1 => any::<u32>().prop_map(AttributeKind::Other),
    ];
    (kind, vec(expr(), 3)).prop_map(|(kind, mut fields)| {
        fields.truncate(match kind.value() {
            AttributeValue::Flag => 0,
            AttributeValue::Number => 1,
            AttributeValue::Dims => 2,
            AttributeValue::Any => 3,
        });
        LaunchAttribute { kind, fields }
    })
}

pub(super) fn launch() -> impl Strategy<Value = Launch> {
    let extents = || vec(expr(), 1..4);
    let rest = (option::of(expr()), vec(attribute(), 0..3), target());
    (identifier(), text(), vec(arg(), 0..4), extents(), extents(), rest).prop_map(
        |(image, kernel, args, grid, block, (shared, attributes, Target { on, stream }))| {
            let launch = Launch::new(image, kernel, args).grid(grid).block(block);
            Launch { shared, attributes, on, stream, ..launch }
        },
    )
}

fn target() -> impl Strategy<Value = Target> {
    (option::of(expr()), option::of(expr())).prop_map(|(on, stream)| Target { on, stream })
}

/// Generates a first operand of a command, whose text does not start with a parenthesis.
fn first() -> impl Strategy<Value = Expr> {
    expr().prop_filter("a parenthesis", |expr| !expr.to_string().starts_with('('))
}

pub(super) fn command() -> impl Strategy<Value = StatementKind> {
    let upload = (first(), vec(arg(), 0..4), target()).prop_map(|(to, values, target)| {
        StatementKind::Upload(Box::new(Upload { to, values, target }))
    });
    let fill = (first(), expr(), expr(), target()).prop_map(|(to, bytes, value, target)| {
        StatementKind::Fill(Box::new(MemoryFill { to, bytes, value, target }))
    });
    let copy = (first(), expr(), expr(), target()).prop_map(|(to, from, bytes, target)| {
        StatementKind::Copy(Box::new(MemoryCopy { to, from, bytes, target }))
    });
    let wait = (first(), expr(), option::of(expr()))
        .prop_map(|(waiter, other, on)| StatementKind::Wait(Box::new(Wait { waiter, other, on })));
    prop_oneof![upload, fill, copy, wait]
}
