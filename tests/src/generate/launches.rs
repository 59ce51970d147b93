//! Generator of launches that one function makes at once, or that one function prepares and another one submits.

use super::Choices;
use super::declaration::{Names, Words, list, param, tensor};
use super::expression::{constraint, float, int};

/// Declarations of two functions that do the same, in one call and in two.
#[derive(Debug)]
pub struct Launches {
    /// Declaration of `at_once`, which launches.
    pub at_once: String,
    /// Declaration of `prepare`, which returns a function that launches.
    pub prepare: String,
    /// Number of parameters of `prepare`: the first ones of `at_once`. The function that it returns has the others.
    pub held: usize,
}

/// Generates launches of the image `cubin`, which has the kernels of `driver/kernels.ptx`. The declarations may be
/// invalid.
///
/// Strides of a later parameter never share a symbol with those of an earlier one: where no extent is above 1, a symbol
/// of strides is open until all parameters are known, and two functions do not know the same ones.
pub fn launches(choices: &mut Choices<'_>) -> Launches {
    let words = Words {
        devices: [", device=cuda", ", device=cuda", ", device=cuda", ", device=any", ""],
        strides: ["s", "s", "`_`"],
        ..Words::default()
    };
    let mut known = Known { names: Names::of(words), maps: Vec::new(), plain: Vec::new() };
    let mut held = vec![tensor(choices, &mut known.names)];
    held.extend(params(choices, &mut known, &[1, 0, 2, 3], &HELD));
    let held_where = constraints(choices, &known.names);
    let made = prepared(choices, &mut known);
    let aliases: String = held.iter().enumerate().map(|(at, param)| alias(at, param)).collect();
    known.names.words = Words {
        strides: ["t", "t", "`t_`"],
        integers: ["d", "e", "d", "e", "`else`"],
        shared: ["y", "z"],
        ..known.names.words
    };
    let given = params(choices, &mut known, &[1, 0, 2], &GIVEN);
    let given_where = constraints(choices, &known.names);
    let work: String =
        (0..choices.pick(&[1, 2, 1, 3])).map(|_| statement(choices, &known, 2)).collect();
    let text = |params: &[String]| params.join(", ");
    let both = [clause(&[&held_where[..], &given_where[..]].concat()), clause(&given_where)];
    Launches {
        at_once: format!(
            "at_once({}) -> None {} = {{ {made}{aliases}{work} }};",
            text(&[&held[..], &given[..]].concat()),
            both[0]
        ),
        prepare: format!(
            "prepare({}) -> Function {} = {{ {made}return function({}) -> None {} {{ {aliases}{work} }}; }};",
            text(&held),
            clause(&held_where),
            text(&given),
            both[1]
        ),
        held: held.len(),
    }
}

/// Names that statements can mention.
struct Known {
    names: Names,
    /// Names of tensor maps.
    maps: Vec<String>,
    /// Names of scalars of every width.
    plain: Vec<&'static str>,
}

/// Scalars of every width, which kernels take as they are.
const HELD: [&str; 5] = ["w8: uint8", "w16: float16", "w32: float32", "w64: uint64", "wb: bool"];
const GIVEN: [&str; 5] = ["g8: int8", "g16: uint16", "g32: int32", "g64: float64", "gb: bool"];

fn params(
    choices: &mut Choices<'_>,
    known: &mut Known,
    counts: &[usize],
    scalars: &[&'static str; 5],
) -> Vec<String> {
    let count = choices.pick(counts);
    let mut all: Vec<String> = (0..count).map(|_| param(choices, &mut known.names)).collect();
    if choices.once_in(2) {
        known.plain.extend(scalars.iter().filter_map(|param| param.split(':').next()));
        all.extend(scalars.iter().map(|&param| param.to_owned()));
    }
    all
}

fn constraints(choices: &mut Choices<'_>, names: &Names) -> Vec<String> {
    (0..choices.pick(&[0, 0, 0, 1])).map(|_| constraint(choices, names)).collect()
}

fn clause(constraints: &[String]) -> String {
    let word = if constraints.is_empty() { "" } else { "where " };
    format!("{word}{}", constraints.join(", "))
}

/// Names a parameter once more, so that the function holds every one and compares the devices of all tensors.
fn alias(at: usize, param: &str) -> String {
    let name = param.split(": ").next().unwrap_or_default();
    format!("let alias{at} = {name}; ")
}

/// Generates the statements that make maps and numbers.
fn prepared(choices: &mut Choices<'_>, known: &mut Known) -> String {
    let mut made = String::new();
    for at in 0..choices.pick(&[1, 0, 2]) {
        made += &format!("let map{at} = {}; ", map(choices, &known.names));
        known.maps.push(format!("map{at}"));
    }
    if choices.once_in(2) {
        made += &format!("let made = {}; ", int(choices, &known.names, 2));
        known.names.ints.push("made".to_owned());
    }
    if choices.once_in(3) {
        made += &format!("let real = {}; ", float(choices, &known.names, 1));
        known.names.floats.push("real".to_owned());
    }
    made
}

/// Chooses a tensor, mostly the first one.
fn any_tensor<'n>(choices: &mut Choices<'_>, names: &'n Names) -> &'n str {
    let at = if choices.once_in(3) { choices.below(names.tensors.len()) } else { 0 };
    &names.tensors[at].0
}

fn map(choices: &mut Choices<'_>, names: &Names) -> String {
    let x = any_tensor(choices, names);
    let dtype = choices.pick(&["", "", "", ", dtype=\"uint8\"", ", swizzle=\"64b\""]);
    match choices.below(7) {
        6 => columns(choices, names, x),
        0 => format!("tensormap({x}, box=[{}])", choices.pick(&["4", "1, 4", "1, 1, 4"])),
        1 => {
            let offset = leaf(choices, names);
            format!("tensormap({x}, dims=[8], strides=[1], offset=16 * ({offset}), box=[4]{dtype})")
        }
        _ => {
            let extent = leaf(choices, names);
            format!("tensormap({x}, dims=[{extent}, 16], strides=[16, 1], box=[1, 16]{dtype})")
        }
    }
}

/// Generates a map of columns, of one to three spatial dims, whose numbers mostly fit.
fn columns(choices: &mut Choices<'_>, names: &Names, x: &str) -> String {
    let spatial = choices.pick(&[1, 2, 3]);
    let mut dims = vec![leaf(choices, names)];
    dims.extend((0..spatial).map(|_| leaf(choices, names)));
    let offsets = |choices: &mut Choices<'_>| {
        let offset = |choices: &mut Choices<'_>| match choices.below(5) {
            0 => format!("-({})", leaf(choices, names)),
            1 => leaf(choices, names),
            _ => choices.pick(&["0", "-1", "1"]).to_owned(),
        };
        (0..spatial).map(|_| offset(choices)).collect::<Vec<_>>().join(", ")
    };
    let (lower, upper) = (offsets(choices), offsets(choices));
    let [channels, pixels] = [0; 2].map(|_| leaf(choices, names));
    let outer = spatial + 1;
    let (strides, steps) = ("16, ".repeat(outer), "2, ".repeat(outer));
    let options = match choices.below(5) {
        0 => ", swizzle=\"32b\"".to_owned(),
        1 => ", l2=\"64b\", fill=\"nan_request_zero_fma\"".to_owned(),
        2 => format!(", steps=[{steps}1]"),
        _ => String::new(),
    };
    format!(
        "tensormap({x}, dims=[{}, 16], strides=[{strides}1], im2col(lower=[{lower}], upper=[{upper}], \
         channels={channels}, pixels={pixels}){options})",
        dims.join(", ")
    )
}

/// Generates an integer that is mostly small and positive.
fn leaf(choices: &mut Choices<'_>, names: &Names) -> String {
    match choices.below(12) {
        11 => int(choices, names, 2),
        form if form < 7 && !names.symbols.is_empty() => choices.pick(&names.symbols).to_owned(),
        _ => choices.pick(&["2", "3", "4", "8"]).to_owned(),
    }
}

/// Generates a statement, whose blocks nest `depth` deep at most.
fn statement(choices: &mut Choices<'_>, known: &Known, depth: usize) -> String {
    let names = &known.names;
    match choices.below(12) {
        0 if depth > 0 => {
            let [a, b] = [0; 2].map(|_| leaf(choices, names));
            let [then, otherwise] = [0; 2].map(|_| statement(choices, known, depth - 1));
            format!("if {a} > {b} {{ {then}}} else {{ {otherwise}}} ")
        }
        1 if depth > 0 => {
            let end = leaf(choices, names);
            let inner = statement(choices, known, depth - 1);
            format!("for i{depth} in 0..min({end}, 3) {{ {inner}}} ")
        }
        2 => command(choices, known),
        _ => launch(choices, known),
    }
}

fn command(choices: &mut Choices<'_>, known: &Known) -> String {
    let x = any_tensor(choices, &known.names);
    let [a, b] = [0; 2].map(|_| leaf(choices, &known.names));
    match (choices.below(4), known.maps.first()) {
        (0, _) => format!("fill {x}.data, {a}, {b}; "),
        (1, _) => format!("copy {x}.data, {x}.data, {a}; "),
        (2, Some(map)) => format!("upload {x}.data ({map}, {a}); "),
        _ => format!("upload {x}.data (int32({a}), {b}); "),
    }
}

fn launch(choices: &mut Choices<'_>, known: &Known) -> String {
    let names = &known.names;
    let x = any_tensor(choices, names);
    let (kernel, args) = match choices.below(6) {
        0 => {
            let map = match &known.maps[..] {
                maps if maps.is_empty() || choices.once_in(4) => map(choices, names),
                maps => maps[choices.below(maps.len())].clone(),
            };
            ("tma", format!("{map}, {x}.data"))
        }
        1 => {
            let (y, n) = (any_tensor(choices, names), word(choices, known, 32));
            ("axpy_kernel", format!("{x}.data, {y}.data, {n}, {}", single(choices, names)))
        }
        2 => ("cluster_kernel", format!("{x}.data")),
        3 => ("state_kernel", "cubin.global(\"state\")".to_owned()),
        _ => ("widths", widths(choices, known)),
    };
    let grid = extents(choices, names, ["1", "2", "max(e, 0) % 5", "max(e, 1)", "e"]);
    let block = extents(choices, names, ["32", "8", "1 + max(e, 0) % 16", "max(e, 1)", "e"]);
    let clause = option(choices, names);
    format!("launch cubin.\"{kernel}\"({args}) grid({grid}) block({block}){clause} on {x}; ")
}

/// Generates extents of the given forms, the last of which often fails.
fn extents(choices: &mut Choices<'_>, names: &Names, forms: [&str; 5]) -> String {
    list(choices.pick(&[1, 2, 3]), || {
        let form = forms[choices.pick(&[0, 2, 2, 1, 2, 3, 0, 2, 1, 4])];
        form.replace('e', &leaf(choices, names))
    })
}

fn option(choices: &mut Choices<'_>, names: &Names) -> String {
    let e = leaf(choices, names);
    match choices.below(14) {
        0 => " pdl".to_owned(),
        1 => format!(" smem(16 * ({e}))"),
        2 => " cooperative".to_owned(),
        3 => " cluster(1)".to_owned(),
        4 => format!(" priority(int32({e}))"),
        5 => format!(" attribute(13, int32({e})) pdl"),
        6 => format!(" attribute(7, {}.data, int32({e}), ({e}) > 2)", names.tensors[0].0),
        _ => String::new(),
    }
}

/// Generates the arguments of the kernel `widths`.
fn widths(choices: &mut Choices<'_>, known: &Known) -> String {
    let names = &known.names;
    let words = [8, 16, 32, 64].map(|bits| word(choices, known, bits));
    let (c_float, c_double) = (single(choices, names), double(choices, names));
    let [a, b] = [32; 2].map(|bits| word(choices, known, bits));
    let small = format!("struct({a}, {b}, {})", single(choices, names));
    let [a, b] = [64; 2].map(|bits| word(choices, known, bits));
    let large = format!("struct({a}, {}, {b})", double(choices, names));
    format!("{}, {c_float}, {c_double}, {small}, {large}", words.join(", "))
}

/// Generates an argument of a width in bits.
fn word(choices: &mut Choices<'_>, known: &Known, bits: u32) -> String {
    let names = &known.names;
    let plain: &[&str] = match bits {
        8 => &["w8", "g8", "wb", "gb"],
        16 => &["w16", "g16"],
        32 => &["w32", "g32"],
        _ => &["w64", "g64"],
    };
    let plain = choices.pick(plain);
    if known.plain.contains(&plain) && choices.once_in(2) {
        return plain.to_owned();
    }
    let e = leaf(choices, names);
    match (bits, choices.below(8)) {
        (64, 0) => format!("{}.data", any_tensor(choices, names)),
        (64, 1) => "null".to_owned(),
        (64, 2) => "cubin.global(\"factors\") + 4".to_owned(),
        (64, 3) => "cubin.global(\"state\").size".to_owned(),
        (64, _) => format!("({e}) + 0"),
        (16, 0) => format!("float16({e})"),
        (_, 1) => format!("int{bits}({e})"),
        _ => format!("uint{bits}(max({e}, 0) % 100)"),
    }
}

fn single(choices: &mut Choices<'_>, names: &Names) -> String {
    format!("float32({})", float(choices, names, 1))
}

fn double(choices: &mut Choices<'_>, names: &Names) -> String {
    format!("({}) * 1.0", float(choices, names, 1))
}
