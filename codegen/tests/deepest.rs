//! The deepest declarations need no more than the stack of a thread.

use abi_spec::Scalar;
use tvm_ffi_codegen::language::MAX_NESTING;
use tvm_ffi_codegen::{
    Arm, Call, Expr, Function, Library, Options, ParamType, Signature, Statement, ir, lower,
};

/// Bytes of stack of a thread that asks for none. Builds without optimisation, which the tests are, need the most.
const STACK: usize = 2 << 20;

fn with_stack_of_threads(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test);
    thread.expect("a thread starts").join().expect("the test passes");
}

/// Returns a function that a body makes.
fn made(inner: Statement) -> Expr {
    Expr::function(Signature::closure().body([inner]))
}

/// The deepest expression, a condition.
fn deepest() -> Expr {
    (2..MAX_NESTING).fold(Expr::name("n"), |sum, _| sum + 1).less(9)
}

/// Puts a statement around another one; the number of those within it makes names differ.
type Around = fn(usize, Statement) -> Statement;

/// Returns the deepest function with a statement around another one. The body is a block, and what `around` adds has
/// `levels` each.
fn deepest_body(levels: usize, around: impl Fn(usize, Statement) -> Statement) -> Function {
    let first = Statement::if_then(deepest(), []);
    let statement = (1..MAX_NESTING / levels).fold(first, |inner, level| around(level, inner));
    let signature = Signature::new("f")
        .param("n", Scalar::Int64)
        .param("a", ParamType::optional(Scalar::Int64));
    signature.body([statement, Statement::return_nothing()])
}

#[test]
fn the_deepest_are_taken_in_the_stack_of_a_thread() {
    let rows: [(usize, Around); 6] = [
        (1, |_, inner| Statement::if_then(deepest(), [inner])),
        (1, |_, inner| Statement::if_else(deepest(), [], [inner])),
        (1, |level, inner| Statement::for_each(format!("i{level}"), 0, "n", [inner])),
        (1, |_, inner| {
            Statement::match_type("a", [Arm::unnamed(Scalar::Int64, []), Arm::none([inner])])
        }),
        (1, |_, inner| Statement::call(Call::symbol("g", [made(inner)]))),
        (8, |_, inner| {
            let made = (1..8).fold(made(inner), |made, _| Expr::array([made]));
            Statement::call(Call::symbol("g", [made]))
        }),
    ];
    for (row, (levels, around)) in rows.into_iter().enumerate() {
        with_stack_of_threads(move || {
            let library = Library::new([deepest_body(levels, around)]);
            let text = library.to_string();
            let parsed = text.parse().unwrap_or_else(|error| panic!("row {row}: {error}"));
            assert!(library == parsed, "row {row}");
            drop(library.warnings());
            let resolved = library.resolve().unwrap_or_else(|error| panic!("row {row}: {error}"));
            let module = lower(&resolved, &Options::default());
            ir::verify(&module).unwrap_or_else(|error| panic!("row {row}: {error}"));
            // One level more is refused, as values and as text.
            let twice = |level, inner| around(MAX_NESTING + level, around(level, inner));
            let deeper = Library::new([deepest_body(levels, twice)]);
            assert!(deeper.validate().is_err(), "row {row}");
            assert!(deeper.to_string().parse::<Library>().is_err(), "row {row}");
        });
    }
}
