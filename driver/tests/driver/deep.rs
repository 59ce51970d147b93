//! Declarations that are deeper than a stack, which only Rust can build.

use codegen::{Call, Expr, Library, Signature, Statement};
use tvm_ffi_codegen_driver::{Cache, Form, Request};

/// Bytes of stack on which each of the values below would overflow.
const STACK: usize = 1 << 20;

/// Whatever looks at them refuses them, and none is copied or printed before.
#[test]
fn deep_declarations_are_refused_everywhere() {
    let test = || {
        let sum = (0..50_000).fold(Expr::name("n"), |sum, _| sum + 1);
        let block = |inner, _| Statement::if_then(Expr::name("n").greater(0), [inner]);
        let blocks = (0..20_000).fold(Statement::return_nothing(), block);
        let bodies = [
            Signature::new("f").body(Call::kernel("k", [sum])),
            Signature::new("f").body([blocks]),
        ];
        for function in bodies {
            let library = Library::new([function]);
            assert!(library.warnings().is_empty());
            assert_eq!(library.fingerprint(), library.fingerprint());
            let request = Request { entry: Some("f".to_owned()), ..Request::new(Form::Object) };
            let folder = tempfile::tempdir().unwrap();
            let cached = Cache::new(folder.path()).emit(&request, &library);
            for error in [request.emit(&library).unwrap_err(), cached.unwrap_err()] {
                assert!(error.to_string().ends_with("(MAX_NESTING)"), "{error}");
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test);
    thread.expect("a thread starts").join().expect("the test passes");
}
