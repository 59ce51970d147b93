//! Tests of bodies that are programs: canonical text, structure, and errors with their positions.

use super::errors::first_line;
use crate::declaration::{Body, Call, Function, Library, Statement, StatementKind};
use crate::error::{Error, Part};
use crate::language::parse_library;

/// Returns the statements of a function.
fn block(function: &Function) -> &[Statement] {
    let Body::Block(statements) = &function.body else { panic!("the body is a block") };
    statements
}

/// Returns the canonical text of a statement, without the margin of its first line.
fn canonical(text: &str) -> String {
    match parse_library(&format!("f() -> None = {{{text}}};")) {
        Ok(library) => {
            let text = library.to_string();
            let inner = text.strip_prefix("f() -> None\n    = {\n        ");
            let inner = inner.and_then(|text| text.strip_suffix("\n    };\n"));
            inner.unwrap_or(&text).to_owned()
        }
        Err(error) => first_line(&error),
    }
}

#[test]
fn one_line() {
    let rows = [
        ("let v=a+1;", "let v = a + 1;"),
        ("let b = (a<1)or b;", "let b = a < 1 or b;"),
        ("let v:int64=k(a,1);", "let v: int64 = k(a, 1);"),
        ("let v:Array=try k()errors{};", "let v: Array[Any] = try k();"),
        ("let v:Tensor([m],int8|bool)=@g();", "let v: Tensor([m], int8|bool) = @g();"),
        ("let t=alloc Tensor([n],float32,align=4);", "let t = alloc Tensor([n], float32);"),
        ("let t=alloc Tensor([ ],int8)on x;", "let t = alloc Tensor([], int8) on x;"),
        ("k ( ) ;", "k();"),
        ("\"k\"(1);", "k(1);"),
        ("\"a b\"(1);", "\"a b\"(1);"),
        ("try k(a)errors{1:E\"t\"};", "try k(a) errors { 1: E \"t\" };"),
        ("@ f ( a , [ ] ) ;", "@f(a, []);"),
        ("@ where();", "@where();"),
        ("@\"blas.matmul\"(None,True,\"t\");", "@\"blas.matmul\"(None, True, \"t\");"),
        ("@ ( f ) ( Shape(n) );", "@(f)(Shape(n));"),
        ("@((f[0]))(a);", "@(f[0])(a);"),
        ("return;", "return;"),
        ("return(a+b)*c;", "return (a + b) * c;"),
        ("return[a,b];", "return [a, b];"),
        ("raise E;", "raise E;"),
        ("raise where \"n is \",(n),not a;", "raise where \"n is \", n, not a;"),
        ("if(a)and b{}", "if a and b {}"),
        ("if (a or b) and c {} else {}", "if (a or b) and c {}"),
        ("for i in 0..n{}", "for i in 0..n {}"),
        ("for i in 1.5..2.5 { }", "for i in 1.5..2.5 {}"),
        ("for i in a .. -1{}", "for i in a..-1 {}"),
        ("for i in (a or b)..x.ndim+1{}", "for i in a or b..x.ndim + 1 {}"),
        ("match v{}", "match v {}"),
        ("k(xs[(i+1)*2] [0].shape[1]);", "k(xs[(i + 1) * 2][0].shape[1]);"),
    ];
    for (text, expected) in rows {
        assert_eq!(canonical(text), expected, "{text}");
        assert_eq!(canonical(expected), expected);
    }
    assert_eq!(canonical(" # nothing\n"), "f() -> None\n    = {};\n");
}

#[test]
fn words_of_statements_are_names_elsewhere() {
    let rows = [
        ("let(1);for(2);raise(3);launch(4);", "let(1);|for(2);|raise(3);|launch(4);"),
        ("match(1);let match=match;", "match(1);|let match = match;"),
        (
            "match match{match:int8=>{match(match);}_:str=>{}None=>{k();}}",
            "match match {|    match: int8 => {|        match(match);|    }|    _: str => {}|    None => {|        k();|    }|}",
        ),
        ("\"if\"(1);\"return\"(2);", "\"if\"(1);|\"return\"(2);"),
        ("alloc();on();in();extern();image();", "alloc();|on();|in();|extern();|image();"),
        ("try if(1);try let(2);", "try \"if\"(1);|try let(2);"),
        ("let let=let+1;", "let let = let + 1;"),
        ("let v=alloc;", "let v = alloc;"),
        ("let v=alloc and on;", "let v = alloc and on;"),
        ("let v=alloc.data;", "let v = alloc.data;"),
        ("let v:int8=alloc(n);", "let v: int8 = alloc(n);"),
        ("let v:int8=return(n);", "let v: int8 = \"return\"(n);"),
        ("for in in in..for{}", "for in in in..for {}"),
        ("if if{return return;}", "if if {|    return return;|}"),
        ("raise raise raise;", "raise raise raise;"),
        ("let t=alloc Tensor([let],int8)on on;", "let t = alloc Tensor([let], int8) on on;"),
        ("@let();@\"let\"();", "@let();|@\"let\"();"),
    ];
    for (text, expected) in rows {
        assert_eq!(canonical(text), expected.replace('|', "\n        "), "{text}");
    }
    let library = "let(on: int8, for: int8) -> None\n    = return(on, for);\n\n\
                   extern(x: int8) -> None\n    = extern(x);\n\n\
                   extern extern(image: int8) -> None\n    = try if(image);\n";
    let parsed = parse_library(library).unwrap();
    let quoted = library.replace("return(", "\"return\"(").replace("if(", "\"if\"(");
    assert_eq!(parsed.to_string(), quoted);
    assert_eq!(parse_library(&quoted), Ok(parsed));
}

const PROGRAM: &str = "\
f(g: Function, n: int64) -> float64
    = {
        @\"k.py\":7
        let a = n / 2;
        if a > 1 {
            one();
        } else if a == 0 {
            @\"k.py\":8
            @\"two\"(a);
        } else if a < 0 {} else {
            for i in 0..a {
                @\"k.py\":9
                @(g)(i);
            }
            return;
        }
        if a == 2 {} else {
            @\"k.py\":10
            if n == 4 {
                raise ValueError \"four\";
            }
        }
        let r: Tensor([m], float32) = @h(a);
        return r.data;
    };
";

#[test]
fn structure() {
    let library = parse_library(PROGRAM).unwrap();
    assert_eq!(library.to_string(), PROGRAM);
    let function = &library.functions[0];
    let statements = block(function);
    assert_eq!(statements.len(), 5);
    assert_eq!(statements[0].location.as_ref().map(|location| location.line), Some(7));
    let StatementKind::If { branches, otherwise } = &statements[1].kind else { panic!("an if") };
    let conditions = branches.iter().map(|branch| branch.condition.to_string());
    assert_eq!(conditions.collect::<Vec<_>>(), ["a > 1", "a == 0", "a < 0"]);
    let call = Call::name("two", ["a"]);
    assert_eq!(branches[1].body[0].kind, StatementKind::Call { result: None, call });
    assert_eq!(otherwise.len(), 2);
}

/// A statement starts after its location, and statements are numbered in their order in the text.
#[test]
fn statements_have_positions() {
    let text = format!("g() -> None = k(1);\n{PROGRAM}");
    let library = parse_library(&text).unwrap();
    let function = &library.functions[1];
    let expected = [
        "5:9", "6:9", "7:13", "10:13", "12:13", "14:17", "16:13", "18:9", "20:13", "21:17", "24:9",
        "25:9",
    ];
    assert_eq!(function.body.statements().count(), expected.len());
    let statements = expected.into_iter().enumerate();
    let statements =
        statements.map(|(index, at)| (Part::Statement(index), format!("f: statement {index}"), at));
    let branches = [
        (Part::Arm(1, 1), "f: statement 1, branch 1".to_owned(), "8:16"),
        (Part::Arm(1, 2), "f: statement 1, branch 2".to_owned(), "11:16"),
    ];
    for (part, name, expected) in statements.chain(branches) {
        let located = Error::invalid(1, function, part, "reason").locate(&text);
        let position = located.position().expect("a position");
        assert_eq!(format!("{}:{}", position.line, position.column), expected);
        assert_eq!(located.site().expect("a site").to_string(), name);
    }
}

/// The parts of a block are neither parts of the signature nor of a body of one call.
#[test]
fn blocks_have_no_other_parts() {
    let text = "f() -> None = { k(1); let v: Tensor([1, 2], int8, align=4) = @\"g\"(2); };
                g(x: Tensor([1], int8, align=4)) -> None = k(3);";
    let library: Library = parse_library(text).unwrap();
    let parts = [
        Part::Callee,
        Part::Argument(0),
        Part::Type(0),
        Part::Dim(0, 0),
        Part::Align(0),
        Part::Dtype(0),
        Part::Location,
    ];
    for part in parts {
        let reason = "reason";
        let inside = Error::invalid(0, &library.functions[0], part, reason).locate(text);
        let after = Error::invalid(1, &library.functions[1], part, reason).locate(text);
        let line = |error: Error| error.position().map(|position| (position.line, position.column));
        let expected = (part == Part::Location).then_some((1, 1));
        assert_eq!(line(inside), expected, "{part:?}");
        assert_eq!(line(after).map(|(line, _)| line), Some(2), "{part:?}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn syntax() {
    let rows = [
        ("", "1:16: expected a statement or `}`, found the end of the text"),
        ("}", "1:17: expected `;`, found the end of the text"),
        (";", "1:16: expected a statement or `}`, found `;`"),
        ("k();;", "1:20: expected a statement or `}`, found `;`"),
        ("5;", "1:16: expected a statement or `}`, found `5`"),
        ("min(1, 2);", "1:16: expected a statement or `}`, found `min`, which needs quotes"),
        ("k()}", "1:19: expected `;`, found `}`"),
        (
            "v = 1;",
            "1:18: expected `(`, found `=`, but a name has one value, which `let` gives it: `let a = 1;`",
        ),
        ("try k()}", "1:23: expected `errors` or `;`, found `}`"),
        ("try k() errors {} x", "1:34: expected `;`, found `x`"),
        ("let", "1:19: expected a name, found the end of the text"),
        ("let 5 = 1;", "1:20: expected a name, found `5`, which needs backticks"),
        ("let my.v = 5;", "1:22: expected `:` or `=`, or backticks around the name, found `.`"),
        ("let v;", "1:21: expected `:` or `=`, found `;`"),
        ("let v == 1;", "1:22: expected `:` or `=`, found `==`"),
        ("let v = ;", "1:24: expected an expression, found `;`"),
        ("let v = 1", "1:25: expected an operator or `;`, found the end of the text"),
        (
            "let v = k(1);",
            "1:25: expected an operator or `;`, or a type before `=` and a call, found `(`",
        ),
        (
            "let v = @\"k\"(1);",
            "1:24: expected an expression, or a type before `=` and a call, found `@`",
        ),
        (
            "let v = try k(1);",
            "1:24: expected an expression, or a type before `=` and a call, found `try`",
        ),
        (
            "return k(1);",
            "1:24: expected an operator or `;`, as a call is named by `let` before, found `(`",
        ),
        ("let v: = k();", "1:23: expected `Tensor` or another type such as `float32`, found `=`"),
        ("let v: int8;", "1:27: expected `=`, found `;`"),
        (
            "let v: int8 = 5;",
            "1:30: expected a call, as an expression is named without a type, found `5`",
        ),
        (
            "let v: Function = function(n: int8) -> None { k(n); };",
            "1:34: expected a call, as an expression is named without a type, found `function`",
        ),
        (
            "let v: int8 = n + 5;",
            "1:32: expected `(`, found `+`, but a call has parentheses, and values are returned, `return …;`, or named without a type, `let a = …;`",
        ),
        ("let t = alloc float32;", "1:30: expected `Tensor`, found `float32`"),
        ("let t = alloc Tensor;", "1:36: expected `(`, found `;`"),
        ("let t = alloc Tensor([], int8) in x;", "1:47: expected `on` or `;`, found `in`"),
        ("let t = alloc Tensor([], int8) on;", "1:49: expected an expression, found `;`"),
        ("let t = alloc Tensor([], int8) on x y", "1:52: expected an operator or `;`, found `y`"),
        (
            "@",
            "1:17: expected the name of a function, a name in quotes or `(`, found the end of the text",
        ),
        (
            "@5();",
            "1:17: expected the name of a function, a name in quotes or `(`, found `5`, which needs backticks",
        ),
        ("@f;", "1:18: expected `(`, found `;`"),
        ("@f(1 2);", "1:21: expected an operator, `,` or `)`, found `2`"),
        ("@(f", "1:19: expected an operator or `)`, found the end of the text"),
        ("@(f);", "1:20: expected `(`, found `;`"),
        ("@\"f\";", "1:20: expected `(`, found `;`"),
        ("@\"f\":x k();", "1:21: expected the number of a line, up to 2147483647, found `x`"),
        ("@\"f\":1", "1:22: f:1: expected a statement or `}`, found the end of the text"),
        ("@\"f\":1}", "1:22: f:1: expected a statement or `}`, found `}`"),
        ("@\"f\":1 @\"g\":2 k();", "1:27: f:1: expected `(`, found `:`"),
        ("if {}", "1:19: expected an expression, found `{`"),
        ("if a k();", "1:21: expected an operator or `{`, found `k`"),
        ("if a = 1 {}", "1:21: expected an operator or `{`, found `=`"),
        ("if a {} else k();", "1:29: expected `if` or `{`, found `k`"),
        ("if a {};", "1:23: expected a statement or `}`, found `;`"),
        ("else {}", "1:16: expected a statement or `}`, found `else`, which needs quotes"),
        (
            "if a < b < c {}",
            "1:25: expected `and` between comparisons, found a second comparison `<`",
        ),
        ("for", "1:19: expected the name of a counter, found the end of the text"),
        ("for i = 0", "1:22: expected `in`, found `=`"),
        (
            "for i in 0, 1 {}",
            "1:26: expected an operator or `..`, found `,`, but a loop counts: `for i in 0..n { … }`",
        ),
        (
            "for i in 0...1 {}",
            "1:26: expected an operator or `..`, found `...`, but a loop counts: `for i in 0..n { … }`",
        ),
        ("for i in 0.. {}", "1:29: expected an expression, found `{`"),
        ("for i in 0..1..2 {}", "1:29: expected an operator or `{`, found `..`"),
        ("match v", "1:23: expected an operator or `{`, found the end of the text"),
        ("match v { a", "1:27: expected `:`, found the end of the text"),
        ("match v { a: int8 = {}", "1:34: expected `=>`, found `=`"),
        ("match v { a: int8 => k();", "1:37: expected `{`, found `k`"),
        ("match v { , }", "1:26: expected the name of a value, `_`, `None` or `}`, found `,`"),
        ("match v {};", "1:26: expected a statement or `}`, found `;`"),
        ("return", "1:22: expected an expression, found the end of the text"),
        ("return a, b;", "1:24: expected an operator or `;`, found `,`"),
        ("return }", "1:23: expected an expression, found `}`"),
        ("raise;", "1:21: expected a kind of error such as `ValueError`, found `;`"),
        (
            "raise \"text\";",
            "1:22: expected a kind of error such as `ValueError`, found `\"text\"`",
        ),
        ("raise E \"text\" n;", "1:31: expected an operator, `,` or `;`, found `n`"),
        ("/// docs\nk();", "1:16: expected a statement or `}`, found a doc comment"),
        ("let f = function(", "1:33: expected the name of a parameter, found the end of the text"),
        ("let f = function() {}", "1:35: expected `->`, found `{`"),
        ("let f = function() -> None;", "1:42: expected `where` or `{`, found `;`"),
        (
            "let f = function() -> None where n > 1;",
            "1:54: expected an operator, `else`, `,` or `{`, found `;`",
        ),
        ("let f = function() -> None = k();", "1:43: expected `where` or `{`, found `=`"),
        ("return function() -> None { k() };", "1:48: expected `;`, found `}`"),
        ("return [function() -> None {} {}];", "1:46: expected an operator, `,` or `]`, found `{`"),
        ("launch k();", "1:24: expected `.` and the name of a kernel in quotes, found `(`"),
    ];
    for (text, expected) in rows {
        let error = parse_library(&format!("f() -> None = {{{text}")).expect_err(text);
        assert!(matches!(error, Error::Syntax { .. }), "{text}");
        assert_eq!(first_line(&error), expected, "{text}");
    }
}

/// Errors that only `validate` finds point to the statement.
#[test]
fn meaning() {
    let rows = [
        (
            "let `min` = 1; let `min` = 2;",
            "1:32: f: statement 1: `min` is the name of something else here",
        ),
        ("@\"k.py\":1 @\"\"();", "1:27: k.py:1: f: statement 0: \"\" names no function"),
        ("if True { k(); } else if True { \"\"(); }", "1:49: f: statement 2: the symbol is empty"),
    ];
    for (text, expected) in rows {
        let error = format!("f() -> None = {{ {text} }};").parse::<Library>().expect_err(text);
        assert!(matches!(error, Error::Invalid { .. }), "{text}");
        assert_eq!(first_line(&error), expected, "{text}");
    }
}
