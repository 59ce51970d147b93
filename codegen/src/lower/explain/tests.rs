//! The tables of descriptors: every record is the same once it is encoded and decoded, and all of a descriptor
//! prints.

use crate::Library;
use crate::lower::explain::codes::{
    Case, Head, Header, Literal, Meaning, Op, Output, Outputs, Place, Received, Rpn, Site, Text,
    Used,
};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::descriptor;
use crate::lower::explain::print::print;
use crate::lower::explain::schema::{Part, Words};

/// Whether words can be decoded, and what they mean is the same once it is encoded; `None` if they mean nothing.
pub(crate) fn round_trips<P: Part>(words: &[u32]) -> Option<bool> {
    let mut left = Words { left: words };
    let part = P::decode(&mut left)?;
    let mut encoded = Vec::new();
    part.encode(&mut encoded);
    let taken = words.len() - left.left.len();
    let again = P::decode(&mut Words { left: &encoded });
    Some(taken == P::WORDS as usize && encoded.len() == taken && again == Some(part))
}

/// Words of which many are small, so that they are often codes.
fn words(seed: u32) -> Vec<u32> {
    let scramble = |at: u32| (seed * 64 + at).wrapping_mul(0x9e37_79b9) >> 7;
    (0..64)
        .map(|at| if scramble(at) & 3 == 0 { scramble(at + 9999) } else { scramble(at) >> 3 & 3 })
        .collect()
}

/// A record round-trips whenever it can be decoded, which must happen.
fn check(name: &str, round_trips: impl Fn(&[u32]) -> Option<bool>) {
    let found: Vec<bool> = (0..200).filter_map(|seed| round_trips(&words(seed))).collect();
    assert!(!found.is_empty() && found.iter().all(|&same| same), "{name}: {found:?}");
}

#[test]
fn records_round_trip() {
    check("header", round_trips::<Header>);
    check("text", round_trips::<Text>);
    check("place", round_trips::<Place>);
    check("head", round_trips::<Head>);
    check("literal", round_trips::<Literal>);
    check("received", round_trips::<Received>);
    check("outputs", round_trips::<Outputs>);
    check("output", round_trips::<Output>);
    check("meaning", round_trips::<Meaning>);
    check("site", round_trips::<Site>);
    check("case", round_trips::<Case>);
    Op::ALL.iter().for_each(|op| check(&format!("{op:?}"), |words| op.round_trips(words)));
    Rpn::ALL.iter().for_each(|code| check(&format!("{code:?}"), |words| code.round_trips(words)));
}

#[test]
fn words_that_mean_nothing_do_not_decode() {
    assert_eq!(Op::decode(&mut Words { left: &[99] }), None);
    assert_eq!(Op::decode(&mut Words { left: &[] }), None);
    assert_eq!(Head::decode(&mut Words { left: &[0, 0, 9, 0, 0, 0] }), None);
    assert!(print(&[1, 2, 3]).contains("damaged"));
}

#[test]
fn complaints_are_messages_with_known_pieces() {
    for complaint in Complaint::ALL {
        let template = complaint.template();
        let names_argument = complaint.text().contains("{on}");
        let own = *complaint == Complaint::Own;
        let says_where = own || names_argument || complaint.text().contains("{calling}");
        assert!(
            says_where && !template.contains(&b'{') && !template.contains(&b'}'),
            "{complaint:?}"
        );
        let has_head = complaint.text().contains("{at}") || complaint.text().contains("{path}");
        assert_eq!(names_argument, has_head, "{complaint:?}");
    }
}

fn printed(text: &str) -> String {
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{text}: {error}"));
    print(&descriptor::encode(&resolved.functions[0], &mut Used::default()).bytes)
}

#[test]
fn descriptors_print() {
    let text = printed(
        "f(x: Tensor([n * 2], int8|bool), u: Union[Literal[1, \"a\"], Array[int8]]) -> Tuple[str, bool]
            where n / 2 > 1 = k();",
    );
    assert_eq!(text, EXPECTED, "{text}");
}

const EXPECTED: &str = r#"header size 1328, texts 1068, signature "f(x: Tensor([n * 2], int8|bool), u: Union[Literal[1, \"a\"], Array[int8]])", backtrace "  File \"<tvm-ffi-codegen>\", line 0, in f\n", least 2, most 2, symbols 1, slots 6, loops 1, operands 2, devices 1, received 776, outputs 0, site 0
Argument slot 1, index 0
Tensor head place "x", argument 0, slot 1, rank 1, device 1, many false, dtypes "int8|bool", expected "Tensor"
  numbers 0x10800, 0x10806
Occurrence head place "x".shape[0], argument 0, slot 1, symbol 0, shown "n * 2"
  rule Solve
    = Const bits 0x2
    = Const bits 0x0
Compact head place "x", argument 0, slot 1
Data head place "x", argument 0, slot 1, mask 0x0
Argument slot 2, index 1
OneOf head place "u", argument 1, slot 2, expected "Union[Literal[1, \"a\"], Array[int8]]"
  type slot 3
    Type head place "u", argument 1, slot 3, expected "Literal[1, \"a\"]", low 0x906, high 0x4002
    Literal head place "u", argument 1, slot 3, expected "Literal[1, \"a\"]"
      literal 1
      literal "a"
  type slot 4
    Type head place "u", argument 1, slot 4, expected "Array", low 0x0, high 0x880
    Each head place "u", argument 1, slot 4, depth 0, element 5
      Scalar head place "u[\u{1}\u{1}]", argument 1, slot 5, class Int, bits 8, signed true, expected "int8", mantissa 10, bias 15, name "int8"
Constraint before "Violated ", subject "n / 2 > 1"
  leaves "n" Int = Slot slot 0
  = Slot slot 0; Const bits 0x2; Div text "n / 2" (leaves "n" Int = Slot slot 0); Const bits 0x1; Gt
received next 0, slot 1, frame "", known 0
  Owned head place "result", argument none, slot 1, expected "Tuple"
  Type head place "result", argument none, slot 1, expected "Tuple", low 0x0, high 0x80
  Size head place "result", argument none, slot 1, size 2
  Element slot 2, tuple 1, index 0
  Type head place "result[0]", argument none, slot 2, expected "str", low 0x900, high 0x2
  Element slot 3, tuple 1, index 1
  Scalar head place "result[1]", argument none, slot 3, class Bool, bits 8, signed false, expected "bool", mantissa 10, bias 15, name "bool""#;
