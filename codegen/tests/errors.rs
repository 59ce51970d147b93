//! Errors about declarations: where they are, and how many are reported.

use tvm_ffi_codegen::{
    Call, Expr, Function, Library, Location, ObjectClass, Scalar, Signature, Statement, exprs,
};

/// Returns `k(name);` at a line; 0 is for none.
fn call(name: &str, line: u32) -> Statement {
    let statement = Statement::call(Call::kernel("k", exprs![name]));
    if line == 0 { statement } else { statement.with_location("s.mt", line) }
}

fn function(statements: impl IntoIterator<Item = Statement>) -> Function {
    let statements: Vec<Statement> = statements.into_iter().collect();
    Signature::new("f").param("n", Scalar::Int64).body(statements).with_location("f.mt", 1)
}

/// Returns the errors of a library, one a line.
fn errors(functions: impl IntoIterator<Item = Function>) -> String {
    Library::new(functions).validate().expect_err("something is wrong").to_string()
}

#[test]
fn errors_begin_with_the_location_of_the_statement_or_one_around_it_or_the_function() {
    let inner = Signature::closure().body([call("n", 0), call("a", 0)]);
    let made = Statement::return_value(Expr::function(inner)).with_location("s.mt", 8);
    let rows = [
        (function([call("a", 3)]), "s.mt:3: f: statement 0: nothing determines the symbol `a`"),
        (
            function([call("n", 3), call("a", 0)]),
            "f.mt:1: f: statement 1: nothing determines the symbol `a`",
        ),
        (
            function([call("n", 2), {
                let nested =
                    Statement::if_then(Expr::name("n").less(3), [call("n", 4), call("a", 0)]);
                nested.at(Location::new("s.mt", 3).column(7))
            }]),
            "s.mt:3:7: f: statement 3: nothing determines the symbol `a`",
        ),
        (
            Signature::new("f")
                .param("n", Scalar::Int64)
                .returns(ObjectClass::Function)
                .body([made]),
            "s.mt:8: f: statement 2: nothing determines the symbol `a`",
        ),
        (
            Signature::new("f")
                .param("n", Scalar::Int64)
                .require(Expr::name("m").less(2))
                .body([])
                .with_location("f.mt", 5),
            "f.mt:5: f: constraint 0: nothing determines the symbol `m`",
        ),
    ];
    for (function, expected) in rows {
        assert_eq!(errors([function]), expected);
    }
}

#[test]
fn positions_in_a_text_come_before_locations() {
    let text = "@\"f.mt\":1\nf(n: int64) -> None = {\n    @\"s.mt\":9:2\n    k(m);\n};";
    let error = text.parse::<Library>().unwrap_err();
    let expected = "4:5: s.mt:9:2: f: statement 0: nothing determines the symbol `m`\n";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert_eq!(error.location(), Some(&Location::new("s.mt", 9).column(2)));
    assert_eq!("f(n: int64) -> None = k(m);".parse::<Library>().unwrap_err().location(), None);
}

#[test]
fn all_faults_are_reported_up_to_one_that_leaves_the_rest_without_meaning() {
    let rows: [(&str, &[&str]); 11] = [
        (
            "f() -> None = k(a); g() -> None = k(1); h() -> None = k(b);",
            &["f: call argument 0", "h: call argument 0"],
        ),
        ("f() -> None where 0 < a, 1 < 2, b < 1 = k(c);", &["f: constraint 0", "f: constraint 2"]),
        ("f() -> None = { k(a); k(1); k(b); };", &["f: statement 0", "f: statement 2"]),
        // Names that the statement at fault would give are not reported as unknown.
        ("f() -> None = { k(a); let x = b; k(x); k(c); };", &["f: statement 0", "f: statement 1"]),
        (
            "f() -> None = { if 1 < 2 { let x = a; k(x); } else { k(b); } k(c); };",
            &["f: statement 1", "f: statement 4"],
        ),
        (
            "f() -> None = { for i in 0..a { k(b); } for j in 0..2 { k(i); k(j); } };",
            &["f: statement 0", "f: statement 3"],
        ),
        // A scope that a fault has left is closed.
        (
            "f() -> None = { for i in 0..2 { let j = a; } for i in 0..2 { k(b); } };",
            &["f: statement 1", "f: statement 3"],
        ),
        (
            "f(x: Optional[int64]) -> None = { match x { v: int64 => { k(a); } None => { k(b); } } k(v); };",
            &["f: statement 1", "f: statement 2", "f: statement 3"],
        ),
        // A result that is wrong is one.
        ("f() -> int64 = { return a; };", &["f: statement 0"]),
        ("f() -> int64 = { k(a); };", &["f: statement 0"]),
        (
            "f(n: int64) -> Function = { k(a); return function() -> None { k(b); k(n); k(c); }; };",
            &["f: statement 0", "f: statement 2", "f: statement 4"],
        ),
    ];
    for (text, expected) in rows {
        let errors = Library::parse(text).unwrap_err();
        let sites: Vec<String> =
            errors.as_slice().iter().filter_map(|error| Some(error.site()?.to_string())).collect();
        assert_eq!(sites, expected, "{errors}");
        assert_eq!(text.parse::<Library>().unwrap_err(), errors.into_first());
    }
}

/// A text of the longest kind is not searched once for each of its faults.
#[test]
fn a_hundred_faults_are_enough() {
    let errors = Library::parse(&"f() -> None = k();".repeat(50_000)).unwrap_err();
    assert_eq!(errors.as_slice().len(), 100);
    let columns: Vec<usize> =
        errors.into_iter().filter_map(|e| Some(e.position()?.column)).collect();
    assert_eq!(columns[..3], [19, 37, 55]);
    let wrong = "k(a); ".repeat(300);
    let text = format!("f() -> None = {{ {wrong} }}; g() -> None = k(b);");
    assert_eq!(Library::parse(&text).unwrap_err().as_slice().len(), 100);
}

/// Lines and columns have a limit, which their errors say.
#[test]
fn lines_and_columns_have_a_limit() {
    let of = |location: Location| errors([function([call("n", 0)]).at(location)]);
    let most = Location::MAX;
    let last = Location::new("s.mt", most).column(most);
    assert_eq!(Library::new([function([call("n", 0)]).at(last)]).validate(), Ok(()));
    let line = "f: location: there is no line 2147483648: lines are counted from 1 to 2147483647";
    assert_eq!(of(Location::new("s.mt", most + 1)), line);
    let column = "f: location: there is no column 2147483648: columns are counted to 2147483647";
    assert_eq!(of(Location::new("s.mt", 1).column(most + 1)), column);
}
