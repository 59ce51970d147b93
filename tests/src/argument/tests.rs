//! Tests of the text form of arguments.

use super::*;

#[test]
fn texts_round_trip() {
    let rows = [
        "()",
        "(none, true, -3, 0.5, inf, NaN, ptr(16), runtime(TVMFFIErrorCreate))",
        "(9223372036854775807, 9223372036854775808, -99999999999999999999, 1e300)",
        "(dtype(float32x4), device(cuda:1), \"a, b\", raw(\"\"), bytes(\"x\"), raw_bytes(\"y\"))",
        r#"("", "é)\"\\\n\x00", bytes("\xff\x00"), small(11, "1234567"), small(12, "", 4294967295))"#,
        "(object(65, \"short\"), object(69), object(test.Thing), object(a.C < a.B < a.A), any(-1, -5))",
        "(shape(), shape(1, -2), array(), list(1, array(\"x\", float32[2]), none), function, module)",
        "(map(), map(1: 2, \"k\": map(true: none)), dict(device(cuda:1): float32[2]), error, opaque)",
        "(rvalue(null), rvalue(array(1)), rvalue(object(test.Thing)), rvalue(any(70, 0)))",
        "(float32[2, 3], bool[]{data=null}, int8[0]{strides=[-7], device=(2, 1), data=3})",
        "(int8[1]{offset=-8, ndim=-1, shape=null, object}, bool[]{dtype=(99, 8, 1), object})",
    ];
    for row in rows {
        let (arguments, rest) = parse_list(row).unwrap();
        assert_eq!((print_list(&arguments).as_str(), rest), (row, ""));
    }
}

#[test]
fn mistakes_are_reported() {
    let rows = [
        "",
        "(",
        "(1",
        "(1 2)",
        "(what)",
        "(ptr(x))",
        "(float32[2]{nothing})",
        "(f32[2])",
        "(map(1))",
        "(array(1)",
        "(\"\\q\")",
        "(\"\\xé\")",
        "(\"\\xff\")",
        "(small(11, \"123456789\"))",
        "(rvalue())",
    ];
    for row in rows {
        assert!(parse_list(row).is_err(), "{row}");
    }
}
