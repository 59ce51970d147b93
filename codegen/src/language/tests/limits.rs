//! No text is too long or too deep to be refused in an orderly way.

use crate::declaration::{BinaryOp, Builtin, Expr};
use crate::declaration::{
    Comparison, Constraint, Function, Library, Location, ResultType, StatusError, ValueType,
};
use crate::error::{Error, Part};
use crate::language::{
    Limit, MAX_ARGUMENTS, MAX_CONSTRAINTS, MAX_DTYPES, MAX_ERRORS, MAX_FILE, MAX_LITERALS,
    MAX_MESSAGE, MAX_NAME, MAX_NESTING, MAX_PARAMS, MAX_RANK, MAX_RESULTS, MAX_SYMBOL, MAX_TEXT,
    MAX_TYPES, parse_library,
};

/// The limit that an error names.
fn limit<T>(result: Result<T, Error>) -> Option<Limit> {
    match result {
        Ok(_) => None,
        Err(Error::Limit { limit, .. }) => Some(limit),
        Err(error) => panic!("{error}"),
    }
}

/// A text in which something occurs so many times.
type SizedText<'a> = &'a dyn Fn(usize) -> String;

#[test]
fn lists_in_texts() {
    let list = |count: usize, entry: &str| vec![entry; count].join(",");
    let rows: [(usize, Limit, SizedText); 12] = [
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
        (MAX_RESULTS, Limit::Results, &|n| format!("f()->Tuple[{}]=k();", list(n, "str"))),
        (MAX_RESULTS, Limit::Results, &|n| format!("f()->({})=k();", list(n, "a:Tensor([],bool)"))),
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
    let rows: [(usize, SizedText); 7] = [
        (MAX_NESTING, &|n| around("(", n, ")")),
        (MAX_NESTING, &chain),
        (MAX_NESTING, &|n| chain(n).replace('+', "*")),
        (MAX_NESTING - 1, &|n| around("-", n, "")),
        (MAX_NESTING - 1, &|n| around("min(1,", n, ")")),
        (MAX_NESTING - 1, &|n| around("int8(", n, ")")),
        (MAX_NESTING - 1, &|n| around("", n, ".data")),
    ];
    for (row, (max, text)) in rows.iter().enumerate() {
        assert_eq!(limit(text(*max).parse::<Expr>()), None, "row {row}");
        assert_eq!(limit(text(*max + 1).parse::<Expr>()), Some(Limit::Nesting), "row {row}");
        assert_eq!(limit(text(200_000).parse::<Expr>()), Some(Limit::Nesting), "row {row}");
    }
}

#[test]
fn long_texts() {
    let blanks = |count: usize| limit(" ".repeat(count).parse::<Library>());
    assert_eq!(blanks(MAX_TEXT), None);
    assert_eq!(blanks(MAX_TEXT + 1), Some(Limit::Text));
    for junk in ["(", "f", "-", "9", "\"", "/", "///\n", "f(", "\u{1f980}", "#\n", "["] {
        let text = junk.repeat(200_000);
        let shown =
            text.parse::<Library>().map_or_else(|error| error.to_string(), |_| String::new());
        assert!(shown.len() < 1000, "{junk}: {} bytes", shown.len());
    }
}

fn function() -> Function {
    "f(x: Tensor([n], float32), a: int8) -> None = k(x);".parse().unwrap()
}

/// The limit that a changed function exceeds, and the part that the error names.
fn built(change: impl FnOnce(&mut Function)) -> (Limit, Part) {
    let mut function = function();
    change(&mut function);
    match Library::from(vec![function]).validate() {
        Err(Error::Limit { limit, site: Some(site), position: None }) => (limit, site.part),
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
        built(|f| f.body.args.push(expr))
    };
    let nesting = (Limit::Nesting, Part::Argument(1));
    assert_eq!(binary(&|e| Expr::Neg(Box::new(e))), nesting);
    assert_eq!(binary(&|e| e.binary(BinaryOp::Add, one())), nesting);
    assert_eq!(binary(&|e| one().binary(BinaryOp::Add, e)), nesting);
    assert_eq!(binary(&|e| Expr::Call(Builtin::Min, Box::new(one()), Box::new(e))), nesting);

    let (op, rhs, message) = (Comparison::Lt, Expr::Int(2), None);
    let constraint = Constraint { lhs: one(), op, rhs, message };
    let message = Some("é".repeat(MAX_MESSAGE / 2 + 1));
    let row =
        built(|f| f.signature.constraints = vec![Constraint { message, ..constraint.clone() }]);
    assert_eq!(row, (Limit::Message, Part::Constraint(0)));
    let constraints = vec![constraint; MAX_CONSTRAINTS + 1];
    let row = built(|f| f.signature.constraints = constraints);
    assert_eq!(row, (Limit::Constraints, Part::Name));
    let row = built(|f| f.location = Some(Location { file: long(MAX_FILE), line: 1 }));
    assert_eq!(row, (Limit::File, Part::Location));
    let (kind, message) = ("E".to_owned(), "m".to_owned());
    let error = StatusError { status: None, kind, message };
    let row = built(|f| f.body.status = Some(vec![error.clone(); MAX_ERRORS + 1]));
    assert_eq!(row, (Limit::Errors, Part::Callee));
    let long_error = StatusError { message: long(MAX_MESSAGE), ..error };
    let row = built(|f| f.body.status = Some(vec![long_error]));
    assert_eq!(row, (Limit::Message, Part::Status(0)));
    let deep = (0..MAX_NESTING).fold(ValueType::Any, |ty, _| ValueType::Optional(Box::new(ty)));
    let row = built(|f| f.signature.result = ResultType::Written(deep));
    assert_eq!(row, (Limit::Nesting, Part::Result));
    let many = ValueType::Tuple(vec![ValueType::Any; MAX_RESULTS + 1]);
    let row = built(|f| f.signature.result = ResultType::Written(many));
    assert_eq!(row, (Limit::Results, Part::Result));
    let row = built(|f| f.signature.params = vec![f.signature.params[1].clone(); MAX_PARAMS + 1]);
    assert_eq!(row, (Limit::Params, Part::Name));
    let row = built(|f| f.body.args = vec![one(); MAX_ARGUMENTS + 1]);
    assert_eq!(row, (Limit::Arguments, Part::Callee));
    let row = built(|f| f.signature.name = long(MAX_NAME));
    assert_eq!(row, (Limit::Name, Part::Name));
    let row = built(|f| f.signature.params[1].name = long(MAX_NAME));
    assert_eq!(row, (Limit::Name, Part::Param(1)));
    let row = built(|f| f.body.args[0] = Expr::Name(long(MAX_NAME)));
    assert_eq!(row, (Limit::Name, Part::Argument(0)));
    let row = built(|f| f.body.symbol = long(MAX_SYMBOL));
    assert_eq!(row, (Limit::Symbol, Part::Callee));
}
