//! Declarations that nest deeper than a stack is high: they are refused, and dropped. `codegen/tests/deepest.rs` has
//! the deepest that are not.

use abi_spec::Scalar;

use super::built::call;
use crate::declaration::{
    Arm, Body, Call, Comparison, Constraint, Dim, Element, Expr, Function, Launch, LaunchArg, Leaf,
    Library, ParamType, Shape, Signature, Statement, TensorMap,
};

/// Levels of every declaration.
const LEVELS: usize = 20_000;

/// Bytes of stack in which a declaration is refused and dropped. A frame for each level would need more.
const STACK: usize = 1 << 20;

/// Runs a test on a thread with little stack.
fn with_little_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test);
    thread.expect("a thread starts").join().expect("the test passes");
}

/// Builds a value of many levels.
fn deep<T>(first: T, around: impl Fn(T) -> T) -> T {
    (0..LEVELS).fold(first, |inner, _| around(inner))
}

/// Asserts that a function with a change is refused, and drops it.
fn refused(row: usize, change: impl FnOnce(&mut Function)) {
    let text = "f(x: Tensor([n], float32), a: int8) -> None = k(x);";
    let mut function: Function = text.parse().unwrap();
    change(&mut function);
    let validated = Library::from(vec![function]).validate();
    assert!(validated.is_err(), "row {row}");
}

#[test]
fn expressions() {
    with_little_stack(|| {
        let rows: [fn(Expr) -> Expr; 16] = [
            |e| -e,
            |e| !e,
            |e| e + 1,
            |e| Expr::from(1) - e,
            |e| e.compare(Comparison::Lt, 1),
            |e| Expr::name("b").and(e),
            |e| Expr::name("n").min(e),
            |e| e.cast(Scalar::Int32),
            |e| Expr::Stream(Box::new(e)),
            |e| Expr::Field(Box::new(e), "a".to_owned()),
            |e| Expr::Element(Box::new(Expr::name("xs")), Box::new(e)),
            |e| Expr::array([e]),
            |e| Expr::shape_of([Expr::from(1), e]),
            |e| made([Statement::return_value(e)]),
            |e| made([Statement::call(Call::value(e, ["n"]))]),
            |e| {
                let launch = Launch::new("i", "k", [LaunchArg::from(TensorMap::new(e, [1]))]);
                made([launch.into()])
            },
        ];
        for (row, around) in rows.into_iter().enumerate() {
            refused(row, |f| call(f).args.push(deep(Expr::name("n"), around)));
            let condition = deep(Expr::name("n"), around);
            refused(row, |f| f.signature.constraints.push(Constraint::from(condition)));
            let dims = vec![Dim::Expr(deep(Expr::name("n"), around))];
            refused(row, |f| f.signature.params[1].ty = ParamType::Shape(Shape::Dims(dims)));
        }
    });
}

/// Returns a function that a body makes.
fn made(body: impl Into<Body>) -> Expr {
    Expr::function(Signature::closure().body(body))
}

#[test]
fn statements() {
    with_little_stack(|| {
        let rows: [fn(Statement) -> Statement; 6] = [
            |inner| Statement::if_then("b", [inner]),
            |inner| Statement::if_else("b", [], [inner]),
            |inner| Statement::for_each("i", 0, "n", [inner]),
            |inner| Statement::match_type("v", [Arm::none([inner])]),
            |inner| Statement::let_value("f", made([inner])),
            |inner| Statement::call(Call::symbol("g", [made([inner])])),
        ];
        for (row, around) in rows.into_iter().enumerate() {
            let inner = deep(Statement::return_nothing(), around);
            refused(row, |f| f.body = Body::Block(vec![inner]));
        }
    });
}

#[test]
fn types() {
    with_little_stack(|| {
        let rows: [fn(ParamType) -> ParamType; 6] = [
            ParamType::array,
            ParamType::optional,
            |ty| ParamType::tuple([Element::named("a", ty)]),
            |ty| ParamType::union([Leaf::Str.into(), ty]),
            |ty| ParamType::map(Leaf::Str, ty),
            |ty| ParamType::dict(ty, Leaf::Str),
        ];
        for (row, around) in rows.into_iter().enumerate() {
            let ty = || deep(ParamType::from(Leaf::Str), around);
            refused(row, |f| f.signature.params[1].ty = ty());
            refused(row, |f| f.signature.result = ty().into());
            let called = Statement::let_call("v", ty(), Call::symbol("g", ["a"]));
            refused(row, |f| f.body = Body::Block(vec![called]));
        }
    });
}

#[test]
fn structs() {
    with_little_stack(|| {
        let arg = deep(LaunchArg::from("n"), |arg| LaunchArg::structure([arg]));
        let launch = Launch::new("i", "k", [arg]).grid([1]).block([1]);
        refused(0, |f| f.body = Body::Block(vec![launch.into()]));
    });
}
