//! Tests of canonical text.

use crate::declaration::{BinaryOp, Comparison, Expr, Logic, Member};
use crate::declaration::{Body, Library, Signature};
use crate::language::parse_library;

#[test]
fn expressions() {
    let rows = [
        ("a+b - c", "a + b - c"),
        ("(a+b)-c", "a + b - c"),
        ("a+(b-c)", "a + (b - c)"),
        ("a*b%c/d", "a * b % c / d"),
        ("a*(b%c)", "a * (b % c)"),
        ("(a*b)+(c*d)", "a * b + c * d"),
        ("(a+b)*(c-d)", "(a + b) * (c - d)"),
        ("-a*b", "-a * b"),
        ("-(a*b)", "-(a * b)"),
        ("- - a", "--a"),
        ("a- -1", "a - -1"),
        ("-(5)", "-(5)"),
        ("(-5)", "-5"),
        ("-(-5)", "--5"),
        ("((x)).shape[ 0 ]", "x.shape[0]"),
        ("-x.ndim", "-x.ndim"),
        ("(-x).ndim", "(-x).ndim"),
        ("(5).data", "(5).data"),
        ("x.data.data", "x.data.data"),
        ("x.strides[2147483647]", "x.strides[2147483647]"),
        ("x.strides[-2147483648]", "x.strides[-2147483648]"),
        ("x.shape[ - 01 ]", "x.shape[-1]"),
        ("x.shape[-0]", "x.shape[0]"),
        ("min((a),max(b,(c+1)))", "min(a, max(b, c + 1))"),
        ("ceildiv(n,-4)", "ceildiv(n, -4)"),
        ("int32((n))", "int32(n)"),
        ("ptr(stream(x))", "ptr(stream(x))"),
        ("null", "null"),
        ("007", "7"),
        ("-0", "0"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("018446744073709551615", "18446744073709551615"),
        ("-(9223372036854775808)", "-(9223372036854775808)"),
        ("(9223372036854775808).data", "(9223372036854775808).data"),
        ("1.50", "1.5"),
        ("1e3", "1000.0"),
        ("25E-1", "2.5"),
        ("1.5e+2", "150.0"),
        ("-1.0", "-1.0"),
        ("-0.0", "-0.0"),
        ("100000000000000000000.0", "100000000000000000000.0"),
        ("a.data_\t", "a.data_"),
        ("a.1", "error"),
        ("t [ 1 ] . x . shape[0]", "t[1].x.shape[0]"),
        ("d==\"cpu\"", "d == \"cpu\""),
        ("(a<b)and(c or d)", "a < b and (c or d)"),
        ("(a and b)or(c and d)", "a and b or c and d"),
        ("a or(b or c)", "a or (b or c)"),
        ("(a and b)and c", "a and b and c"),
        ("not(a<b)", "not a < b"),
        ("(not a)<b", "(not a) < b"),
        ("not(not(a and b))", "not not (a and b)"),
        ("not a and b", "not a and b"),
        ("-(not a)", "-(not a)"),
        ("(a<b)==(c<d)", "(a < b) == (c < d)"),
        ("((a+b)<(c*d))", "a + b < c * d"),
        ("(a<b)+1", "(a < b) + 1"),
        ("(a or b).data", "(a or b).data"),
        ("min(a<b,not c)", "min(a < b, not c)"),
        ("a<b<c", "error"),
        ("a+not b", "error"),
        ("True", "True"),
        ("None==False", "None == False"),
        ("[ ]", "[]"),
        ("[ a,[1,\"t\"] ] [ 0 ]", "[a, [1, \"t\"]][0]"),
        ("Shape ( )", "Shape()"),
        ("Shape( n,(m+1) )", "Shape(n, m + 1)"),
        ("Shape", "error"),
        ("(\"a\\\"b\")", "\"a\\\"b\""),
    ];
    for (text, canonical) in rows {
        let printed = text.parse::<Expr>().map_or("error".to_owned(), |expr| expr.to_string());
        assert_eq!(printed, canonical, "{text}");
    }
}

#[test]
fn structure_of_expressions() {
    let name = Expr::name;
    let sum = name("a").binary(BinaryOp::Sub, name("b")).binary(BinaryOp::Sub, name("c"));
    let product = name("b").binary(BinaryOp::Mul, Expr::Neg(Box::new(name("c"))));
    let shape = name("x").member(Member::Shape(1));
    assert_eq!("a - b - c".parse(), Ok(sum));
    assert_eq!("b * -c".parse(), Ok(product));
    assert_eq!("-x.shape[1]".parse(), Ok(Expr::Neg(Box::new(shape))));
    assert_eq!("-7".parse(), Ok(Expr::Int(-7)));
    assert_eq!("-(7)".parse(), Ok(Expr::Neg(Box::new(Expr::Int(7)))));
    let less = |a, b| name(a).compare(Comparison::Lt, name(b));
    let either = name("x").logic(Logic::Or, less("a", "b").logic(Logic::And, less("c", "d")));
    assert_eq!("x or a < b and c < d".parse(), Ok(either));
    assert_eq!("not a < b".parse(), Ok(Expr::Not(Box::new(less("a", "b")))));
    assert_eq!("2-1".parse(), Ok(Expr::Int(2).binary(BinaryOp::Sub, Expr::Int(1))));
}

#[test]
fn tensors() {
    let rows = [
        ("[n],float32", "[n], float32"),
        ("[ ],bool", "[], bool"),
        ("[...],float8_e4m3fn", "[...], float8_e4m3fn"),
        ("[_,2*n,_],complex64", "[_, 2 * n, _], complex64"),
        ("[n],int4x8,device=cpu,align=1,strides=contiguous", "[n], int4x8"),
        ("[n],float32x4,align=4", "[n], float32x4"),
        (
            "[n],float32,align=16,device=cuda,strides=[_]",
            "[n], float32, strides=[_], device=cuda, align=16",
        ),
        ("[n],int8,access=update", "[n], int8"),
        ("[n],int8,access=read,dtypes=storage", "[n], int8, dtypes=storage, access=read"),
        ("[n],T:any,access=write,align=8", "[n], T: any, align=8, access=write"),
        ("[...],float64,device=any,strides=any", "[...], float64, strides=any, device=any"),
        ("[],float64,strides=[]", "[], float64, strides=[]"),
        ("[ ... ,n],int8,strides=[...,_]", "[..., n], int8, strides=[..., _]"),
        ("[...,2*n,_],int8,strides=any", "[..., 2 * n, _], int8, strides=any"),
        ("[n ...],int8,strides=[ s ]", "[n...], int8, strides=[s]"),
        ("[`min`...,k,_],int8", "[`min`..., k, _], int8"),
    ];
    for (text, canonical) in rows {
        let signature: Signature = format!("f(x:Tensor({text}))->None").parse().unwrap();
        assert_eq!(signature.to_string(), format!("f(x: Tensor({canonical})) -> None"));
    }
}

#[test]
fn results() {
    let rows = [
        ("None", "None"),
        ("int64", "int64"),
        ("Any", "Any"),
        ("Optional [ str ]", "Optional[str]"),
        ("Tuple[int64,Tuple[ ],dtype]", "Tuple[int64, Tuple[], dtype]"),
        ("Array", "Array[Any]"),
        ("Map", "Map[Any, Any]"),
        ("Tensor", "Tensor"),
        ("Tensor([n],float32)", "Tensor([n], float32)"),
        ("Object[\"a.B\"]", "Object[\"a.B\"]"),
        ("Union[int8,Literal[\"a\",None]]", "Union[int8, Literal[\"a\", None]]"),
        ("x:Tensor([n],float32)", "x: Tensor([n], float32)"),
        ("( x:Tensor([],bool,align=1) )", "x: Tensor([], bool)"),
        (
            "(a:Tensor([n],float32,device=cuda),b:Tensor([2],int8))",
            "(a: Tensor([n], float32, device=cuda), b: Tensor([2], int8))",
        ),
    ];
    for (text, canonical) in rows {
        let signature: Signature = format!("f()->{text}").parse().unwrap();
        assert_eq!(signature.to_string(), format!("f() -> {canonical}"));
    }
}

#[test]
fn items() {
    let text = "# first\r\n///one\r\n///  two \r\n///\r\n/////three\r\nf()->None=g();# rest\n\
                f2(a:int8,self:ptr)->ptr where a<1,2>=a else\"no\\\"\"=try\"try\"(a,null);h()->bool=\"a \\\"\\\\b\"();\
                @ \"k.py\" : 07 i()->None=try k()errors{};\
                extern j()->None=try k()errors{1:E\"a\",- 2:where\"b\",_:F\"\"};";
    let canonical = "\
/// one
///  two 
///
/// //three
f() -> None
    = g();

f2(a: int8, self: ptr) -> ptr
    where a < 1, 2 >= a else \"no\\\"\"
    = try \"try\"(a, null);

h() -> bool
    = \"a \\\"\\\\b\"();

@\"k.py\":7
i() -> None
    = try k();

extern j() -> None
    = try k() errors { 1: E \"a\", -2: where \"b\", _: F \"\" };
";
    let library = parse_library(text).unwrap();
    assert_eq!(library.to_string(), canonical);
    assert_eq!(library.functions[0].docs, "one\n two \n\n//three");
    let Body::Call(call) = &library.functions[2].body else { panic!("a call") };
    assert_eq!(call.symbol(), Some("a \"\\b"));
    let one_line = "f2(a: int8, self: ptr) -> ptr where a < 1, 2 >= a else \"no\\\"\"";
    assert_eq!(library.functions[1].signature.to_string(), one_line);
    assert_eq!(library.functions[1].signature.header().to_string(), "f2(a: int8, self: ptr)");
}

#[test]
fn nothing() {
    for text in ["", " \n\t", "# only a comment"] {
        assert_eq!(parse_library(text), Ok(Library::default()), "{text:?}");
    }
    assert_eq!(Library::default().to_string(), "");
}

#[test]
fn words_of_the_language_name_functions() {
    let text = "where() -> None\n    = k();\n\nfloat32() -> float32\n    = h();\n";
    let library: Library = text.parse().unwrap();
    assert_eq!(library.to_string(), text);
}
