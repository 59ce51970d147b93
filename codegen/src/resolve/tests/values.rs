//! The values of a signature.

use crate::Signature;
use crate::resolve::ids::Id;
use crate::resolve::print::{facts, path};
use crate::resolve::value::{Value, optionals, values};

/// Prints `number path`, `?` if optional, the origin and the rest of a value.
fn row(index: usize, value: &Value<'_>) -> String {
    let optional = if value.optional { "?" } else { "" };
    format!("{index} {}{optional}: {}", path(&value.path), facts(value))
}

#[test]
fn values_stand_as_they_are_written() {
    let rows: [(&str, &[&str]); 7] = [
        ("n: int64, x: Tensor([n], int8)", &["0 n: argument 0", "1 x: argument 1"]),
        ("self: ptr, n: Optional[int8]", &["0 self: context", "1 n?: argument 0, guard 1"]),
        ("a: int8, *rest: Any", &["0 a: argument 0", "1 rest: rest 1"]),
        ("l: Literal[1, None]", &["0 l?: argument 0, guard 0"]),
        (
            "t: Tuple[int8, x: Optional[Tuple[str]], bool], b: bool",
            &[
                "0 t: argument 0, holds 1 2 4",
                "1 t[0]: element 0 of 0",
                "2 t.x?: element 1 of 0, guard 2, holds 3",
                "3 t.x[0]: element 0 of 2, guard 2",
                "4 t[2]: element 2 of 0",
                "5 b: argument 1",
            ],
        ),
        (
            "m: Optional[Map[str, Array[Optional[int8]]]]",
            &[
                "0 m?: argument 0, guard 0, holds 1 2",
                "1 m.keys[i]: key of 0, depth 1, dynamic, guard 0",
                "2 m.values[i]: mapped of 0, depth 1, dynamic, guard 0, holds 3",
                "3 m.values[i][j]?: each of 2, depth 2, dynamic, guard 3",
            ],
        ),
        (
            "u: Union[int8, Tuple[str]]",
            &[
                "0 u: argument 0, holds 1 2",
                "1 u: alternative of 0, dynamic",
                "2 u: alternative of 0, dynamic, holds 3",
                "3 u[0]: element 0 of 2, dynamic",
            ],
        ),
    ];
    for (params, expected) in rows {
        let signature: Signature = format!("f({params}) -> None").parse().unwrap();
        let all = values(&signature);
        let found: Vec<String> = all.iter().map(|(id, value)| row(id.index(), value)).collect();
        assert_eq!(found, expected, "{params}");
    }
}

/// Optional values are listed from the inside.
#[test]
fn all_that_must_be_there() {
    let text = "f(t: Optional[Tuple[int8, Tuple[Optional[Tuple[str]]]]]) -> None";
    let signature: Signature = text.parse().unwrap();
    let all = values(&signature);
    let found = all.keys().map(|id| optionals(&all, id).map(Id::index).collect::<Vec<_>>());
    let expected: [&[usize]; 5] = [&[0], &[0], &[0], &[3, 0], &[3, 0]];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
