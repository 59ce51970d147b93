//! Generator of declarations with all kinds of parameters, dims, options, constraints and expressions.

use super::expression::{constraint, float, int};
use super::program::{RESULTS, program};
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
    let (result, body) = match choices.below(16) {
        0..=4 => ("None", call),
        form @ 5..=12 => {
            let result = if form < 10 { "None" } else { choices.pick(&RESULTS) };
            (result, program(choices, &names, result, &call))
        }
        form => {
            let innermost = match form {
                13 => format!("{{ {call}; }}"),
                _ => program(choices, &names, "None", &call),
            };
            let body = (0..choices.pick(&[1, 2])).fold(innermost, |body, depth| {
                format!("{{ let f{depth} = function() -> None {body}; @(f{depth})(); }}")
            });
            ("None", body)
        }
    };
    format!("f({}) -> {result} {clause} {} = {body};", params.join(", "), constraints.join(", "))
}

/// Names that expressions can mention.
#[derive(Clone, Default)]
pub(super) struct Names {
    /// Words for new parameters.
    pub(super) words: Words,
    pub(super) symbols: Vec<&'static str>,
    params: usize,
    pub(super) bools: Vec<String>,
    pub(super) floats: Vec<String>,
    pub(super) pointers: Vec<String>,
    /// Integers other than symbols.
    pub(super) ints: Vec<String>,
    /// Arrays and lists of integers.
    pub(super) lists: Vec<String>,
    /// Parameters that `match` takes apart, and the types of the arms; `None` for that of None.
    pub(super) matched: Vec<(String, Vec<String>)>,
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
#[derive(Clone)]
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
            strides: ["s", "`s * 2`", "n"],
            integers: ["n", "m", "s", "a", "`try`"],
            shared: ["u", "v"],
        }
    }
}

const EXTENT_SYMBOLS: [&str; 4] = ["n", "m", "`max`", "`n - 1`"];
pub(super) const INTEGERS: [&str; 8] =
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
            4 => "`x.data[0] é%s{}*/`".to_owned(),
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
    let access = choices.pick(&["", "", "", ", access=read", ", access=write"]);
    format!("{name}: Tensor([{shape}], {dtype}{strides}{device}{align}{access})")
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
            "T: any",
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
