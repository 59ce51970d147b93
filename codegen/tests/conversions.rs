//! Conversions of Rust values into parts of declarations, and expressions of many operands.

use tvm_ffi_codegen::{
    Body, Call, DType, Expr, Library, Literal, Output, Scalar, Shape, Signature, Statement, Tensor,
    exprs,
};

#[test]
fn numbers_and_names_are_expressions() {
    let name = String::from("n");
    let rows = [
        (exprs![1, -2_i8, 3_u8, 4_i16, 5_u16, 6_i32, 7_u32], "[1, -2, 3, 4, 5, 6, 7]"),
        (exprs![8_i64, 9_u64, 10_usize, &11_i64, &12_usize], "[8, 9, 10, 11, 12]"),
        (exprs![i64::MIN, u64::MAX], "[-9223372036854775808, 18446744073709551615]"),
        (exprs![0.5, name.clone(), &name, "m", &"k", &Expr::Null], "[0.5, n, n, m, k, null]"),
        (
            exprs![Literal::from(true), Literal::from(-1_i8), Literal::from("n"), Literal::None],
            "[True, -1, \"n\", None]",
        ),
    ];
    for (list, expected) in rows {
        assert_eq!(Expr::array(list).to_string(), expected);
    }
}

/// A number that no `int64` is has its own literal, which only comparisons take.
#[test]
fn numbers_that_do_not_fit_are_refused_where_they_stand() {
    let tensor = Tensor::new([usize::MAX], DType::INT8);
    let signature = || Signature::new("f").param("u", Scalar::Uint64);
    let calls = |args: Vec<Expr>| signature().body(Call::kernel("k", args));
    let compares = signature().require(Expr::name("u").less(u64::MAX));
    let rows = [
        (
            Signature::new("f").param("x", tensor).body(Call::kernel("k", ["x"])),
            Err("f: x.shape[0]: `18446744073709551615` is above int64"),
        ),
        (
            calls(exprs!["u", usize::MAX]),
            Err(
                "f: call argument 1: `18446744073709551615` is above int64: `uint64(18446744073709551615)` passes it",
            ),
        ),
        (compares.body(Call::kernel("k", ["u"])), Ok(())),
    ];
    for (function, expected) in rows {
        let text = function.to_string();
        let found = Library::new([function]).validate().map_err(|error| error.to_string());
        match expected {
            Ok(()) => assert_eq!(found, Ok(()), "{text}"),
            Err(reason) => assert_eq!(found, Err(reason.to_owned()), "{text}"),
        }
    }
}

#[test]
fn lists_come_from_arrays_slices_and_iterators() {
    let names = vec!["n".to_owned(), "m".to_owned()];
    let numbers = [2_usize, 3];
    let shapes: [(Shape, &str); 7] = [
        ((&names).into(), "[n, m]"),
        (names[..1].into(), "[n]"),
        (names.clone().into(), "[n, m]"),
        ((&numbers).into(), "[2, 3]"),
        (numbers.into(), "[2, 3]"),
        (Shape::of(names.iter().rev()), "[m, n]"),
        (Shape::of(numbers.iter().map(|number| Expr::name("n") * *number)), "[n * 2, n * 3]"),
    ];
    for (shape, expected) in shapes {
        assert_eq!(shape.to_string(), expected);
    }
    assert_eq!(Call::kernel("k", &names).to_string(), "k(n, m)");
    assert_eq!(Call::symbol("g", names.iter().rev()).to_string(), "@g(m, n)");
    let body: Body = names.iter().map(|name| Statement::call(Call::kernel("k", [name]))).collect();
    let outputs = ["y", "z"].map(|name| Output::new(name, Tensor::new(numbers, DType::INT8)));
    let function = Signature::new("f").returns(outputs).body(body);
    let text = "\
f() -> (y: Tensor([2, 3], int8), z: Tensor([2, 3], int8))
    = {
        k(n);
        k(m);
    };";
    assert_eq!(function.to_string(), text);
}

/// A thousand operands are no deeper than the limit, and are evaluated in their order.
#[test]
fn long_lists_of_operands_are_valid() {
    let is_small = |index: usize| (Expr::name("n") % (index + 2)).not_equal(0);
    for count in [0, 1, 16, 17, 100, 1000] {
        let all = Expr::all((0..count).map(is_small));
        let any = Expr::any((0..count).map(is_small));
        let product = Expr::product((0..count).map(|_| "n"));
        let signature = Signature::new("f").param("n", Scalar::Int64).require(all.or(any));
        let function = signature.body(Call::kernel("k", [product]));
        let text = function.to_string();
        assert_eq!(text.parse(), Ok(function), "{count}");
        let moduli = text.split(" % ").skip(1).map(|rest| rest.split(' ').next().unwrap());
        let expected = (0..count).chain(0..count).map(|index| (index + 2).to_string());
        assert_eq!(moduli.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{count}");
    }
}
