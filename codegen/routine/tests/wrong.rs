//! Routines that do not compile, and the errors of rustc.

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/wrong/right.rs");
    cases.compile_fail("tests/wrong/[!r]*.rs");
}
