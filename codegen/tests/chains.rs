//! Chains of `else if`, which are no nesting.

use tvm_ffi_codegen::language::MAX_BRANCHES;
use tvm_ffi_codegen::{Expr, Library, Options, Scalar, Signature, Statement, ir, lower};

/// Bytes of stack for the longest chain. A frame for each condition would need more.
const STACK: usize = 1 << 20;

/// A chain of conditions is one statement, and needs no frame for each from the text to host IR.
#[test]
fn chains_of_conditions() {
    let test = || {
        let branch = |index: usize| {
            (Expr::name("n").equal(index), [Statement::return_value(Expr::name("n") + 1)])
        };
        let zero = Statement::return_value(0);
        let chain = Statement::choose((0..MAX_BRANCHES).map(branch), [zero.clone()]);
        let signature = Signature::new("f").param("n", Scalar::Int64).returns(Scalar::Int64);
        let library = Library::new([signature.clone().body([chain])]);
        assert_eq!(library.to_string().parse(), Ok(library.clone()));
        assert_eq!(library.functions[0].body.statements().count(), MAX_BRANCHES + 2);
        let resolved = library.resolve().unwrap();
        assert!(resolved.to_string().contains("\n    else if eq(n, 4095)\n"));
        let module = lower(&resolved, &Options::default());
        ir::verify(&module).unwrap();
        let longer = Statement::choose((0..=MAX_BRANCHES).map(branch), [zero.clone()]);
        let empty: [(Expr, [Statement; 0]); 0] = [];
        let refused = [longer, Statement::choose(empty, [zero])].map(|statement| {
            let function = signature.clone().body([statement]);
            Library::new([function]).validate().unwrap_err().to_string()
        });
        let expected = [
            "f: statement 0: more than 4096 branches of an `if` (MAX_BRANCHES)",
            "f: statement 0: an `if` has a condition",
        ];
        assert_eq!(refused, expected);
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test);
    thread.expect("a thread starts").join().expect("the test passes");
}
