//! Tests of limits: texts that are too long or too deep are errors.

use super::built::call;
use crate::declaration::{BinaryOp, Builtin, Expr, Logic};
use crate::declaration::{
    Body, Call, Comparison, Constraint, Function, FunctionCall, KernelRef, Leaf, Library, Location,
    ParamType, ResultType, Statement, StatementKind, StatusError,
};
use crate::error::{Error, Errors, Part};
use crate::language::{
    Limit, MAX_ARGUMENTS, MAX_BRANCHES, MAX_CONSTRAINTS, MAX_DTYPES, MAX_ERRORS, MAX_FILE,
    MAX_KEYS, MAX_LITERALS, MAX_MESSAGE, MAX_NAME, MAX_NESTING, MAX_PARAMS, MAX_RANK, MAX_RESULTS,
    MAX_STATEMENTS, MAX_SYMBOL, MAX_TEXT, MAX_TYPES, parse_library,
};

/// Returns the limit that an error names.
fn limit<T>(result: Result<T, Error>) -> Option<Limit> {
    match result {
        Ok(_) => None,
        Err(Error::Limit { limit, .. }) => Some(limit),
        Err(error) => panic!("{error}"),
    }
}

/// A function that returns a text with a part repeated as often as its argument says.
type SizedText<'a> = &'a dyn Fn(usize) -> String;

#[test]
fn lists_in_texts() {
    let list = |count: usize, entry: &str| vec![entry; count].join(",");
    let rows: [(usize, Limit, SizedText); 15] = [
        (MAX_PARAMS, Limit::Params, &|n| format!("f({})->None=k();", list(n, "a:int8"))),
        (MAX_RANK, Limit::Rank, &|n| format!("f(x:Tensor([{}],bool))->None=k();", list(n, "_"))),
        (MAX_RANK, Limit::Rank, &|n| {
            format!("f(x:Tensor([],bool,strides=[{}]))->None=k();", list(n, "_"))
        }),
        (MAX_CONSTRAINTS, Limit::Constraints, &|n| {
            format!("f()->None where {}=k();", list(n, "1<2"))
        }),
        (MAX_DTYPES, Limit::Dtypes, &|n| {
            let types: Vec<String> =
                (1..=n).map(|lanes| format!("int8x{}", lanes % 65_000 + 2)).collect();
            format!("f(x:Tensor([],{}))->None=k();", types.join("|"))
        }),
        (MAX_LITERALS, Limit::Literals, &|n| {
            let values: Vec<String> = (0..n).map(|value| value.to_string()).collect();
            format!("f(x:Literal[{}])->None=k();", values.join(","))
        }),
        (MAX_TYPES, Limit::Types, &|n| format!("f(x:Tuple[{}])->None=k();", list(n, "str"))),
        (MAX_TYPES, Limit::Types, &|n| format!("f(x:Union[{}])->None=k();", list(n, "str"))),
        (MAX_ARGUMENTS, Limit::Arguments, &|n| format!("f()->None=k({});", list(n, "1"))),
        (MAX_ARGUMENTS, Limit::Arguments, &|n| format!("f()->None=k([{}]);", list(n, "1"))),
        (MAX_RANK, Limit::Rank, &|n| format!("f()->None=k(Shape({}));", list(n, "1"))),
        (MAX_ARGUMENTS, Limit::Arguments, &|n| format!("f()->None={{raise E {};}};", list(n, "1"))),
        (MAX_RESULTS, Limit::Results, &|n| format!("f()->({})=k();", list(n, "a:Tensor([],bool)"))),
        (MAX_KEYS, Limit::Keys, &|n| {
            format!("f()->None={{let a:Object=cached({})@g();}};", list(n, "1"))
        }),
        (MAX_ERRORS, Limit::Errors, &|n| {
            format!("f()->None=try k()errors{{{}}};", list(n, "1:E\"\""))
        }),
    ];
    for (max, expected, text) in rows {
        assert_eq!(limit(parse_library(&text(max))), None, "{expected}");
        assert_eq!(limit(parse_library(&text(max + 1))), Some(expected));
        assert_eq!(limit(parse_library(&text(100 * max))), Some(expected));
    }
}

#[test]
fn nesting_in_texts() {
    let chain = |count: usize| vec!["1"; count].join("+");
    let around = |open: &str, count: usize, close: &str| {
        format!("{}x{}", open.repeat(count), close.repeat(count))
    };
    let rows: [(usize, SizedText); 12] = [
        (MAX_NESTING, &|n| around("(", n, ")")),
        (MAX_NESTING, &chain),
        (MAX_NESTING, &|n| chain(n).replace('+', "*")),
        (MAX_NESTING - 1, &|n| around("-", n, "")),
        (MAX_NESTING - 1, &|n| around("min(1,", n, ")")),
        (MAX_NESTING - 1, &|n| around("int8(", n, ")")),
        (MAX_NESTING - 1, &|n| around("", n, ".data")),
        (MAX_NESTING - 1, &|n| around("not ", n, "")),
        (MAX_NESTING - 1, &|n| around("[", n, "]")),
        (MAX_NESTING - 1, &|n| around("Shape(1, ", n, ")")),
        (MAX_NESTING, &|n| chain(n).replace('+', " and ")),
        (MAX_NESTING - 1, &|n| around("(1<", n, ")")),
    ];
    for (row, (max, text)) in rows.iter().enumerate() {
        assert_eq!(limit(text(*max).parse::<Expr>()), None, "row {row}");
        assert_eq!(limit(text(*max + 1).parse::<Expr>()), Some(Limit::Nesting), "row {row}");
        assert_eq!(limit(text(200_000).parse::<Expr>()), Some(Limit::Nesting), "row {row}");
    }
}

#[test]
fn blocks_in_texts() {
    let block = |inner: &str| format!("f()->None={{{inner}}};");
    let nested = |open: &str, count: usize| block(&(open.repeat(count) + &"}".repeat(count)));
    let rows: [(usize, Limit, SizedText); 6] = [
        (MAX_STATEMENTS, Limit::Statements, &|n| block(&"k();".repeat(n))),
        (MAX_STATEMENTS - 1, Limit::Statements, &|n| {
            block(&format!("if a{{{}}}", "k();".repeat(n)))
        }),
        (MAX_NESTING, Limit::Nesting, &|n| nested("if a{", n)),
        (MAX_NESTING, Limit::Nesting, &|n| nested("if a{}else{", n)),
        (MAX_NESTING, Limit::Nesting, &|n| nested("for i in 0..1{", n)),
        (MAX_BRANCHES, Limit::Branches, &|n| block(&vec!["if a{}"; n].join("else "))),
    ];
    for (row, (max, expected, text)) in rows.iter().enumerate() {
        assert_eq!(limit(parse_library(&text(*max))), None, "row {row}");
        assert_eq!(limit(parse_library(&text(*max + 1))), Some(*expected), "row {row}");
        assert_eq!(limit(parse_library(&text(200_000))), Some(*expected), "row {row}");
    }
    let each = block(&"k();".repeat(MAX_STATEMENTS / 2 + 1));
    assert_eq!(limit(parse_library(&format!("{each}{each}"))), None);
}

/// The deepest expression in the deepest block.
#[test]
fn blocks_and_expressions_nest_by_themselves() {
    let expr = format!("{}x{}", "-(".repeat(MAX_NESTING / 2), ")".repeat(MAX_NESTING / 2));
    let depth = MAX_NESTING - 1; // The body is a block too.
    let text =
        format!("f()->None={{{}return {expr};{}}};", "if a{".repeat(depth), "}".repeat(depth));
    let library = parse_library(&text).unwrap();
    assert_eq!(parse_library(&library.to_string()), Ok(library));
}

#[test]
fn long_texts() {
    let blanks = |count: usize| limit(" ".repeat(count).parse::<Library>());
    assert_eq!(blanks(MAX_TEXT), None);
    assert_eq!(blanks(MAX_TEXT + 1), Some(Limit::Text));
    for junk in
        ["(", "f", "-", "9", "\"", "/", "///\n", "f(", "f()->None={", "\u{1f980}", "#\n", "["]
    {
        let text = junk.repeat(200_000);
        let shown =
            text.parse::<Library>().map_or_else(|error| error.to_string(), |_| String::new());
        assert!(shown.len() < 1000, "{junk}: {} bytes", shown.len());
    }
}

fn function() -> Function {
    "f(x: Tensor([n], float32), a: int8) -> None = k(x);".parse().unwrap()
}

/// Returns the limit that a changed function exceeds, and the part that the error names.
fn built(change: impl FnOnce(&mut Function)) -> (Limit, Part) {
    let mut function = function();
    change(&mut function);
    match Library::from(vec![function]).validate().map_err(Errors::into_first) {
        Err(Error::Limit { limit, site: Some(site), location: None, position: None }) => {
            (limit, site.part)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_built_in_rust() {
    let long = |length: usize| "n".repeat(length + 1);
    let one = || Expr::Int(1);
    let grow = |f: &dyn Fn(Expr) -> Expr| (0..MAX_NESTING).fold(one(), |expr, _| f(expr));
    let binary = |f: &dyn Fn(Expr) -> Expr| {
        let expr = grow(f);
        built(|f| call(f).args.push(expr))
    };
    let nesting = (Limit::Nesting, Part::Argument(1));
    assert_eq!(binary(&|e| Expr::Neg(Box::new(e))), nesting);
    assert_eq!(binary(&|e| e.binary(BinaryOp::Add, one())), nesting);
    assert_eq!(binary(&|e| one().binary(BinaryOp::Add, e)), nesting);
    assert_eq!(binary(&|e| Expr::Call(Builtin::Min, Box::new(one()), Box::new(e))), nesting);

    assert_eq!(binary(&|e| e.compare(Comparison::Lt, one())), nesting);
    assert_eq!(binary(&|e| one().logic(Logic::Or, e)), nesting);
    assert_eq!(binary(&|e| Expr::Not(Box::new(e))), nesting);
    assert_eq!(binary(&|e| Expr::Array(vec![one(), e])), nesting);

    let condition = one().compare(Comparison::Lt, Expr::Int(2));
    let constraint = Constraint { condition, message: None };
    let message = Some("é".repeat(MAX_MESSAGE / 2 + 1));
    let row =
        built(|f| f.signature.constraints = vec![Constraint { message, ..constraint.clone() }]);
    assert_eq!(row, (Limit::Message, Part::Constraint(0)));
    let constraints = vec![constraint; MAX_CONSTRAINTS + 1];
    let row = built(|f| f.signature.constraints = constraints);
    assert_eq!(row, (Limit::Constraints, Part::Name));
    let row = built(|f| f.location = Some(Location::new(long(MAX_FILE), 1)));
    assert_eq!(row, (Limit::File, Part::Location));
    let (kind, message) = ("E".to_owned(), "m".to_owned());
    let error = StatusError { status: None, kind, message };
    let row = built(|f| call(f).status = Some(vec![error.clone(); MAX_ERRORS + 1]));
    assert_eq!(row, (Limit::Errors, Part::Callee));
    let long_error = StatusError { message: long(MAX_MESSAGE), ..error };
    let row = built(|f| call(f).status = Some(vec![long_error]));
    assert_eq!(row, (Limit::Message, Part::Status(0)));
    let any = || ParamType::Leaf(Leaf::Any);
    let deep = (0..MAX_NESTING).fold(any(), |ty, _| ParamType::Optional(Box::new(ty)));
    let row = built(|f| f.signature.result = ResultType::Value(deep));
    assert_eq!(row, (Limit::Nesting, Part::Result));
    let row = built(|f| f.signature.params = vec![f.signature.params[1].clone(); MAX_PARAMS + 1]);
    assert_eq!(row, (Limit::Params, Part::Name));
    let row = built(|f| call(f).args = vec![one(); MAX_ARGUMENTS + 1]);
    assert_eq!(row, (Limit::Arguments, Part::Callee));
    let row = built(|f| f.signature.name = long(MAX_NAME));
    assert_eq!(row, (Limit::Name, Part::Name));
    let row = built(|f| f.signature.params[1].name = long(MAX_NAME));
    assert_eq!(row, (Limit::Name, Part::Param(1)));
    let row = built(|f| call(f).args[0] = Expr::Name(long(MAX_NAME)));
    assert_eq!(row, (Limit::Name, Part::Argument(0)));
    let row = built(|f| call(f).callee = KernelRef::Symbol(long(MAX_SYMBOL)));
    assert_eq!(row, (Limit::Symbol, Part::Callee));
}

#[test]
fn statements_built_in_rust() {
    let block = |statements: Vec<Statement>| built(|f| f.body = Body::Block(statements));
    let one = || Statement::from(StatementKind::Return(None));
    let row = block(vec![one(); MAX_STATEMENTS + 1]);
    assert_eq!(row, (Limit::Statements, Part::Statement(MAX_STATEMENTS)));
    let around = |inner: Statement| Statement::if_else("b", [], [inner]);
    let row = block(vec![one(), (0..MAX_NESTING).fold(one(), |inner, _| around(inner))]);
    assert_eq!(row, (Limit::Nesting, Part::Statement(MAX_NESTING + 1)));
    let first = (Limit::Arguments, Part::Statement(0));
    let many = || vec![Expr::Int(1); MAX_ARGUMENTS + 1];
    let raised = StatementKind::Raise { kind: "E".to_owned(), message: many() };
    assert_eq!(block(vec![raised.into()]), first);
    let called = |call| block(vec![StatementKind::Call { result: None, call }.into()]);
    assert_eq!(called(Call::symbol("g", many())), first);
    let keys = vec![Expr::Int(1); MAX_KEYS + 1];
    let row = called(FunctionCall::symbol("g", ["x"]).with_keys(keys).into());
    assert_eq!(row, (Limit::Keys, Part::Statement(0)));
    let returned = |value| block(vec![StatementKind::Return(Some(value)).into()]);
    assert_eq!(returned(Expr::Array(many())), first);
    let shape = Expr::Shape(vec![Expr::Int(1); MAX_RANK + 1]);
    assert_eq!(returned(shape), (Limit::Rank, Part::Statement(0)));
}
