//! Tests of the schema: encoding and decoding a record yields the same record.

use crate::lower::routines::complaints::{Complaint, TemplatePart};
use crate::lower::routines::records::{
    CallSite, Case, Fault, Head, Host, MessageRecord, OutputRecord, Outputs, Piece, Required, Rest,
    ScalarRecord, Start, Subject, TensorRecord, TextRef,
};
use crate::lower::routines::schema::{FieldType, WordReader};

/// Decodes a record from words and returns whether it stays the same when encoded and decoded again; `None` if the
/// words do not decode.
fn round_trips<P: FieldType>(words: &[u32]) -> Option<bool> {
    let mut left = WordReader { left: words };
    let part = P::decode(&mut left)?;
    let mut encoded = Vec::new();
    part.encode(&mut encoded);
    let taken = words.len() - left.left.len();
    let again = P::decode(&mut WordReader { left: &encoded });
    Some(taken == P::WORDS as usize && encoded.len() == taken && again == Some(part))
}

/// Generates pseudorandom words. Most are below 4, so that many are valid codes of enums.
fn words(seed: u32) -> Vec<u32> {
    let scramble = |at: u32| (seed * 64 + at).wrapping_mul(0x9e37_79b9) >> 7;
    let word = |at| if scramble(at) & 3 == 0 { scramble(at + 9999) } else { scramble(at) >> 3 & 3 };
    (0..64).map(word).collect()
}

/// Checks that a type of records round-trips for all words that decode, and that some words decode.
fn check<P: FieldType>() {
    let found: Vec<bool> = (0..200).filter_map(|seed| round_trips::<P>(&words(seed))).collect();
    let name = std::any::type_name::<P>();
    assert!(!found.is_empty() && found.iter().all(|&same| same), "{name}: {found:?}");
}

#[test]
fn records_round_trip() {
    check::<Start>();
    check::<Head>();
    check::<Host>();
    check::<Subject>();
    check::<Rest>();
    check::<TextRef>();
    check::<ScalarRecord>();
    check::<TensorRecord>();
    check::<Required>();
    check::<Piece>();
    check::<MessageRecord>();
    check::<Fault>();
    check::<CallSite>();
    check::<Case>();
    check::<Outputs>();
    check::<OutputRecord>();
}

#[test]
fn words_that_mean_nothing_do_not_decode() {
    assert_eq!(Head::decode(&mut WordReader { left: &[1] }), None);
    assert_eq!(Piece::decode(&mut WordReader { left: &[99, 0, 0] }), None);
}

#[test]
fn complaints_are_made_of_pieces() {
    use crate::lower::routines::records::PieceKind;
    use TemplatePart::{Subject, Value, Words};
    let parts = Complaint::WideArgument.parts();
    let expected = [
        Words("Out of range "),
        Subject,
        Value(PieceKind::Calling),
        Words(", expected int64 but got "),
        Value(PieceKind::Unsigned),
    ];
    assert_eq!(parts, expected);
}
