//! Warnings of conditions that never hold, against the oracle: no call may satisfy such a condition.

use codegen::{Function, Library};
use tvm_ffi_codegen_tests::argument::{Argument, print_list};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::oracle;
use tvm_ffi_codegen_tests::outcome::End;

/// A source of decisions, the same on every machine.
struct Noise(u64);

impl Noise {
    fn below(&mut self, count: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Parameters that conditions are about.
const PARAMS: &str = "n: int8, m: int64, u: uint8, w: uint64, p: float64, b: bool, s: str";

/// Generates a number.
fn number(noise: &mut Noise, depth: usize) -> String {
    const LEAVES: [&str; 18] = [
        "n", "n", "n", "m", "m", "u", "w", "p", "p", "u", "s.size", "0", "1", "2", "4", "-3",
        "127", "0.5",
    ];
    if depth == 0 || noise.below(2) == 0 {
        return noise.pick(&LEAVES).to_owned();
    }
    let a = number(noise, depth - 1);
    let b = number(noise, depth - 1);
    match noise.below(10) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} / {b})"),
        4 => format!("({a} % {b})"),
        5 => format!("min({a}, {b})"),
        6 => format!("max({a}, {b})"),
        7 => format!("ceildiv({a}, {})", noise.pick(&["2", "4"])),
        8 => format!("{}({a})", noise.pick(&["int8", "uint16", "int64"])),
        _ => format!("-({a})"),
    }
}

/// Generates a condition.
fn condition(noise: &mut Noise, depth: usize) -> String {
    if depth > 0 && noise.below(3) == 0 {
        let (a, b) = (condition(noise, depth - 1), condition(noise, depth - 1));
        return match noise.below(3) {
            0 => format!("({a} and {b})"),
            1 => format!("({a} or {b})"),
            _ => format!("not ({a})"),
        };
    }
    match noise.below(8) {
        0 => "b".to_owned(),
        _ => {
            let (a, b) = (number(noise, 2), number(noise, 1));
            format!("{a} {} {b}", noise.pick(&["==", "!=", "<", "<=", ">", ">="]))
        }
    }
}

fn arguments(noise: &mut Noise) -> Vec<Argument> {
    const INTS: [i64; 14] = [-128, -127, -8, -4, -3, -1, 0, 1, 2, 3, 4, 8, 126, 127];
    const LARGE: [i64; 4] = [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX];
    const FLOATS: [f64; 12] = [
        f64::NAN,
        f64::NEG_INFINITY,
        -3.0,
        -0.5,
        -0.0,
        0.0,
        0.5,
        1.0,
        2.0,
        4.0,
        127.5,
        f64::INFINITY,
    ];
    let m = if noise.below(4) == 0 { noise.pick(&LARGE) } else { noise.pick(&INTS) };
    vec![
        Argument::Int(noise.pick(&INTS)),
        Argument::Int(m),
        Argument::Int(noise.pick(&[0, 1, 2, 3, 4, 8, 127, 254, 255])),
        Argument::BigInt(noise.pick(&[1 << 63, (1 << 64) - 1])),
        Argument::Float(noise.pick(&FLOATS)),
        Argument::Bool(noise.below(2) == 0),
        Argument::Str(noise.pick(&["", "a", "ab"]).to_owned()),
    ]
}

fn is_accepted(function: &Function, arguments: &[Argument]) -> bool {
    matches!(oracle::predict(function, arguments, None).end, End::Result(_))
}

fn never_holds(function: &Function) -> Option<String> {
    let library = Library::from(vec![function.clone()]);
    let warnings = library.warnings().into_iter().map(|warning| warning.to_string());
    warnings.into_iter().find(|text| text.contains("never holds"))
}

#[test]
fn what_is_said_never_to_hold_never_does() {
    const CALLS: usize = 150;
    let (mut noise, mut said, mut tried) = (Noise(1), 0, 0);
    while tried < 6000 {
        let count = 1 + noise.below(3);
        let conditions: Vec<String> = (0..count).map(|_| condition(&mut noise, 1)).collect();
        let text = format!("f({PARAMS}) -> None where {} = record_0();", conditions.join(", "));
        // Some texts are invalid: they divide by the literal 0, or have floats for integers.
        let Ok(function) = text.parse::<Function>() else { continue };
        tried += 1;
        let Some(warning) = never_holds(&function) else { continue };
        said += 1;
        for _ in 0..CALLS {
            let list = arguments(&mut noise);
            assert!(!is_accepted(&function, &list), "{text}\n{}\n{warning}", print_list(&list));
        }
    }
    assert!(said > tried / 20, "{said} of {tried}");
}

/// Conditions that some row of the table satisfies are not warned of.
#[test]
fn the_table_satisfies_its_conditions() {
    for case in cases::table() {
        let accepted = case.rows.iter().any(|row| matches!(row.expected.end, End::Result(_)));
        let warning = never_holds(&case.function).filter(|_| accepted);
        assert_eq!(warning, None, "{}", case.function);
    }
}
