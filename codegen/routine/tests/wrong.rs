//! Routines that do not compile, and the errors of rustc.

// The file that the others differ from, by what is wrong in them. It is compiled here, since a passing case would make
// trybuild generate code for all dependencies.
#[path = "wrong/right.rs"]
#[expect(dead_code, reason = "it is only compiled")]
mod right;

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    trybuild::TestCases::new().compile_fail("tests/wrong/[!r]*.rs");
}
