//! Generator of declarations with all kinds of parameters, dims, options, constraints and expressions.

use codegen::Expr;

use super::{Choices, kinds};

/// Generates the text of a declaration of `f`, whose body calls `record_property`. The declaration may be invalid.
pub fn declaration(choices: &mut Choices<'_>) -> String {
    let mut names = Names::default();
    let count = choices.pick(&[1, 2, 3, 2, 4, 6]);
    let params: Vec<String> = (0..count).map(|_| param(choices, &mut names)).collect();
    let constraints: Vec<String> =
        (0..choices.pick(&[0, 0, 0, 1, 1, 2])).map(|_| constraint(choices, &names)).collect();
    let clause = if constraints.is_empty() { "" } else { "where" };
    let ints = [2, 1, 0, 0].map(|depth| format!("({}) + 0", int(choices, &names, depth)));
    let floats = [2, 0].map(|depth| format!("({}) * 1.0", float(choices, &names, depth)));
    let address = names.tensors.first().map(|(name, _)| format!("{name}.data, {name}"));
    let call = format!(
        "record_property({}, {}, {})",
        ints.join(", "),
        floats.join(", "),
        address.unwrap_or("null, null".to_owned()),
    );
    // Programs evaluate and fail in other code than single calls, and functions of a body hold what they name.
    let body = match choices.below(8) {
        0..=3 => call,
        4..=6 => format!("{{ {call}; }}"),
        _ => (0..choices.pick(&[1, 2])).fold(format!("{{ {call}; }}"), |body, depth| {
            format!("{{ let f{depth} = function() -> None {body}; @(f{depth})(); }}")
        }),
    };
    format!("f({}) -> None {clause} {} = {body};", params.join(", "), constraints.join(", "))
}

/// Names that expressions can mention.
#[derive(Default)]
pub(super) struct Names {
    /// Words for new parameters.
    pub(super) words: Words,
    pub(super) symbols: Vec<&'static str>,
    params: usize,
    bools: Vec<String>,
    pub(super) floats: Vec<String>,
    pointers: Vec<String>,
    /// Integers other than symbols.
    pub(super) ints: Vec<String>,
    /// Optional values, and symbols that they may determine.
    pub(super) guarded: Vec<(String, String)>,
    /// True once a tensor determines the element type `T`.
    pub(super) dtype: bool,
    /// Texts that are never missing.
    pub(super) texts: Vec<String>,
    /// Tensors and their ranks; `None` for any rank.
    pub(super) tensors: Vec<(String, Option<usize>)>,
}

/// Words that parameters choose from.
pub(super) struct Words {
    /// Options of tensors.
    pub(super) devices: [&'static str; 5],
    /// Symbols of strides.
    pub(super) strides: [&'static str; 3],
    /// Names of integers.
    pub(super) integers: [&'static str; 5],
    /// Symbols that several values other than tensors determine.
    pub(super) shared: [&'static str; 2],
}

impl Default for Words {
    fn default() -> Words {
        Words {
            devices: ["", "", "", ", device=cuda", ", device=any"],
            strides: ["s", "`_`", "n"],
            integers: ["n", "m", "s", "a", "`try`"],
            shared: ["u", "v"],
        }
    }
}

const EXTENT_SYMBOLS: [&str; 3] = ["n", "m", "`max`"];
const INTEGERS: [&str; 8] =
    ["int64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"];
const DTYPES: [&str; 10] = [
    "float32",
    "int8",
    "int64",
    "bool",
    "bfloat16",
    "float32x4",
    "int4",
    "float8_e4m3fn",
    "complex128",
    "uint24",
];

impl Names {
    pub(super) fn of(words: Words) -> Names {
        Names { words, ..Names::default() }
    }

    fn symbol(&mut self, name: &'static str) -> &'static str {
        if !self.symbols.contains(&name) {
            self.symbols.push(name);
        }
        name
    }

    fn fresh(&mut self) -> String {
        self.params += 1;
        match self.params {
            2 => "`stream`".to_owned(),
            3 => "`bool`".to_owned(),
            5 => "l".to_owned() + &"ong".repeat(84),
            number => format!("p{number}"),
        }
    }
}

pub(super) fn param(choices: &mut Choices<'_>, names: &mut Names) -> String {
    match choices.below(28) {
        0..=12 => tensor(choices, names),
        13..=15 => {
            let name = choices.pick(&names.words.integers);
            names.symbol(name);
            format!("{name}: {}", choices.pick(&INTEGERS))
        }
        16 => {
            let name = names.fresh();
            names.bools.push(name.clone());
            format!("{name}: bool")
        }
        17 => {
            let name = names.fresh();
            names.pointers.push(name.clone());
            format!("{name}: ptr")
        }
        18 | 19 => {
            let name = names.fresh();
            names.floats.push(name.clone());
            format!("{name}: {}", choices.pick(&["float64", "float32", "float16", "bfloat16"]))
        }
        _ => {
            let name = names.fresh();
            format!("{name}: {}", kind(choices, names, &name))
        }
    }
}

fn kind(choices: &mut Choices<'_>, names: &mut Names, param: &str) -> String {
    let at = kinds::At::param(choices, names, param);
    kinds::kind(choices, names, &at)
}

pub(super) fn tensor(choices: &mut Choices<'_>, names: &mut Names) -> String {
    let name = names.fresh();
    let rank = choices.pick(&[Some(1), Some(2), Some(2), Some(3), Some(0), None]);
    let leading = match choices.below(4) {
        0 => "...".to_owned(),
        1 => format!("{}...", names.symbol(choices.pick(&EXTENT_SYMBOLS))),
        _ => String::new(),
    };
    let is_trailing = !leading.is_empty() && rank.is_some_and(|rank| rank > 0);
    names.tensors.push((name.clone(), rank.filter(|_| !is_trailing)));
    let shape = match rank {
        None => "...".to_owned(),
        Some(rank) if is_trailing => {
            let dims = list(rank - usize::from(leading != "..."), || extent(choices, names));
            if dims.is_empty() { leading.clone() } else { format!("{leading}, {dims}") }
        }
        Some(rank) => list(rank, || extent(choices, names)),
    };
    let dtype = element_type(choices, names);
    let strides = match (choices.below(6), rank) {
        (0 | 1, _) => String::new(),
        (2, _) | (_, None) => ", strides=any".to_owned(),
        (_, Some(rank)) => {
            let dots = if is_trailing && leading == "..." { "..., " } else { "" };
            format!(", strides=[{dots}{}]", list(rank, || stride(choices, names)))
        }
    };
    let device = choices.pick(&names.words.devices);
    let align = choices.pick(&["", "", "", ", align=1", ", align=16", ", align=256"]);
    format!("{name}: Tensor([{shape}], {dtype}{strides}{device}{align})")
}

/// Generates an element type: one of many, or a symbol for one.
fn element_type(choices: &mut Choices<'_>, names: &mut Names) -> &'static str {
    if !choices.once_in(3) {
        return choices.pick(&DTYPES);
    }
    match std::mem::replace(&mut names.dtype, true) {
        true => "T",
        false => choices.pick(&[
            "T: float32|int8|bfloat16",
            "T: float32",
            "T: float32|uint8, dtypes=storage",
        ]),
    }
}

pub(super) fn list(count: usize, mut entry: impl FnMut() -> String) -> String {
    (0..count).map(|_| entry()).collect::<Vec<_>>().join(", ")
}

fn extent(choices: &mut Choices<'_>, names: &mut Names) -> String {
    let [a, b] = [0; 2].map(|_| choices.pick(&EXTENT_SYMBOLS));
    dim(choices, names, a, b)
}

fn stride(choices: &mut Choices<'_>, names: &mut Names) -> String {
    if choices.once_in(4) {
        return choices.pick(&["1", "-1", "_", "8"]).to_owned();
    }
    let [a, b] = [0; 2].map(|_| choices.pick(&names.words.strides));
    dim(choices, names, a, b)
}

/// Generates a dim: mostly a symbol or number, sometimes linear, sometimes neither.
fn dim(choices: &mut Choices<'_>, names: &mut Names, a: &'static str, b: &'static str) -> String {
    let form = choices.below(24);
    if form < 2 {
        return ["_", "3"][form].to_owned();
    }
    let a = names.symbol(a);
    match form {
        2..=14 => return a.to_owned(),
        15 => return format!("2 * {a}"),
        16 => return format!("{a} + 1"),
        17 => return choices.pick(&["4 - _", "_ * 3 - 2", "-_", "_ + _"]).replace('_', a),
        _ => {}
    }
    let b = names.symbol(b);
    match form {
        18 => format!("{a} + {b}"),
        19 => format!("{a} * {b}"),
        20 => format!("2 * {a} - {b}"),
        21 => format!("{a} / {b}"),
        22 => format!("ceildiv({a}, 2) + {b}"),
        _ => format!("min({a}, {b})"),
    }
}

pub(super) fn constraint(choices: &mut Choices<'_>, names: &Names) -> String {
    let op = choices.pick(&["<=", "!=", ">=", "==", "<", ">"]);
    let message = match choices.once_in(3) {
        true => format!(" else {}", hostile(choices)),
        false => String::new(),
    };
    let comparison = match choices.below(11) {
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
    };
    comparison + &message
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
        return names.bools[0].clone();
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
