//! Generator of expressions and constraints.

use codegen::Expr;

use super::Choices;
use super::declaration::{INTEGERS, Names};

/// Generates a condition, at times with words of its own.
pub(super) fn constraint(choices: &mut Choices<'_>, names: &Names) -> String {
    let message = match choices.once_in(3) {
        true => format!(" else {}", hostile(choices)),
        false => String::new(),
    };
    comparison(choices, names) + &message
}

/// Generates a comparison.
pub(super) fn comparison(choices: &mut Choices<'_>, names: &Names) -> String {
    let op = choices.pick(&["<=", "!=", ">=", "==", "<", ">"]);
    match choices.below(11) {
        form @ (9 | 10) if !names.guarded.is_empty() => {
            let (value, symbol) = &names.guarded[choices.below(names.guarded.len())];
            match form {
                9 => format!("not {value}.is_some or {symbol} {op} 2"),
                _ => format!("{value}.is_some and 6 / {symbol} {op} 1"),
            }
        }
        8 if !names.texts.is_empty() => equality(choices, names),
        0 if !names.pointers.is_empty() => format!("{} != null", names.pointers[0]),
        1 if !names.tensors.is_empty() => format!("{}.data != null", names.tensors[0].0),
        3 => {
            let literal = choices.pick(&["9223372036854775808", "18446744073709551615", "-1", "7"]);
            format!("uint64({}) {op} {literal}", int(choices, names, 1))
        }
        2 => format!("{} {op} {}", float(choices, names, 1), int(choices, names, 1)),
        _ => format!("{} {op} {}", int(choices, names, 2), int(choices, names, 1)),
    }
}

/// Texts with characters that could have a meaning in messages, formats or C. A NUL ends a text for C.
pub(super) const HOSTILE: [&str; 10] = [
    "the user's words",
    "a\tb",
    "\u{1}\u{2}\u{1b}[0m\u{1f}\u{7f}",
    "{0} {} %s %n %",
    "quote \" and \\ and `backtick`",
    "é ü € 🦀 \u{85}\u{2028}",
    "$x ${y} #z ///",
    "a\u{0}b",
    "sum",
    concat!(
        "a text of more than two hundred and fifty-five bytes, so that no length of one byte can hold it, ",
        "with a \t in it and an é, and which goes on and on and on and on and on and on and on and on and on ",
        "until it is long enough for whoever has put aside too little room for what a user may write here"
    ),
];

/// Chooses a hostile text, as a literal of the language.
pub(super) fn hostile(choices: &mut Choices<'_>) -> String {
    Expr::Text(choices.pick(&HOSTILE).to_owned()).to_string()
}

/// Generates a comparison of two texts.
fn equality(choices: &mut Choices<'_>, names: &Names) -> String {
    let name = &names.texts[choices.below(names.texts.len())];
    format!("{name} {} {}", choices.pick(&["==", "!="]), hostile(choices))
}

/// Generates an integer expression.
pub(super) fn int(choices: &mut Choices<'_>, names: &Names, depth: usize) -> String {
    if depth == 0 || choices.below(3) == 0 {
        return leaf(choices, names);
    }
    let [a, b] = [0; 2].map(|_| int(choices, names, depth - 1));
    // Often a small constant: values are often zero as divisors, and rarely fit a narrow type.
    let b = if choices.once_in(3) { b } else { choices.pick(&["2", "3", "-1", "4"]).to_owned() };
    match choices.below(16) {
        15 if !names.texts.is_empty() => format!("({a} / ({}))", equality(choices, names)),
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 | 4 => format!("({a} / {b})"),
        5 | 6 => format!("({a} % {b})"),
        7 => format!("ceildiv({a}, {b})"),
        8 => format!("min({a}, {b})"),
        9 => format!("max({a}, {b})"),
        10 => format!("-{a}"),
        11 => format!("bool({a})"),
        12 => format!("int64({a})"),
        13 => format!("int16({a})"),
        _ => format!("{}({a})", choices.pick(&INTEGERS)),
    }
}

const CONSTANTS: [&str; 8] =
    ["1", "2", "4", "-1", "-3", "1000", "9223372036854775807", "-9223372036854775808"];

fn leaf(choices: &mut Choices<'_>, names: &Names) -> String {
    let form = choices.below(8);
    if form < 4 && !names.symbols.is_empty() {
        return choices.pick(&names.symbols).to_owned();
    }
    if form >= 6 && !names.ints.is_empty() {
        return names.ints[choices.below(names.ints.len())].clone();
    }
    if form == 7 && !names.bools.is_empty() {
        return names.bools[choices.below(names.bools.len())].clone();
    }
    if form == 5 && !names.lists.is_empty() {
        let list = &names.lists[choices.below(names.lists.len())];
        let index = match choices.below(3) {
            1 if !names.symbols.is_empty() => choices.pick(&names.symbols),
            2 if !names.ints.is_empty() => &names.ints[choices.below(names.ints.len())],
            _ => choices.pick(&["0", "1", "2", "-1"]),
        };
        return format!("{list}[{index}]");
    }
    if form > 4 && !names.tensors.is_empty() {
        let (name, rank) = &names.tensors[choices.below(names.tensors.len())];
        return match choices.below(8) {
            5 => format!("{name}.numel"),
            6 => format!("{name}.is_contiguous"),
            7 => format!("{name}.device_type"),
            0 => format!("{name}.ndim"),
            1 => format!("{name}.device_id"),
            2 => format!("{name}.byte_offset"),
            _ if *rank == Some(0) => format!("{name}.ndim"),
            member => {
                let dim = choices.below(rank.unwrap_or(2)) as i64;
                let dim = if choices.once_in(3) { -1 - dim } else { dim };
                format!("{name}.{}[{dim}]", if member == 3 { "shape" } else { "strides" })
            }
        };
    }
    choices.pick(&CONSTANTS).to_owned()
}

/// Generates a float expression.
pub(super) fn float(choices: &mut Choices<'_>, names: &Names, depth: usize) -> String {
    if depth == 0 || choices.below(2) == 0 {
        return match choices.below(4) {
            0 | 1 if !names.floats.is_empty() => {
                names.floats[choices.below(names.floats.len())].clone()
            }
            2 => format!("{}({})", choices.pick(&["float32", "float16"]), int(choices, names, 1)),
            _ => choices.pick(&["0.5", "-1.25", "0.0", "1000000000000.0"]).to_owned(),
        };
    }
    let a = float(choices, names, depth - 1);
    let b = if choices.below(2) == 0 {
        float(choices, names, depth - 1)
    } else {
        int(choices, names, 1)
    };
    match choices.below(8) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} / {b})"),
        4 => format!("min({a}, {b})"),
        5 => format!("max({b}, {a})"),
        6 => format!("-{a}"),
        _ => format!("bfloat16({a})"),
    }
}
