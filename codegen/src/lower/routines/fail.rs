//! Fail routines for argument counts, numbers and scalars. A fail routine serves a group of checks: it finds the check
//! that has failed, raises its error, and returns -1.

use abi_spec::TypeIndex;

use crate::ir::typed::{Text, routine};
use crate::lower::routines::big_int::is_big_int;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::Any;
use crate::lower::routines::message::{Failure, raise};
use crate::lower::routines::records::{
    Host, NumberRule, ScalarClass, ScalarRecord, Span, Subject, Suffix, base_of, place, text_of,
};

/// Mask of the index of a place.
const INDEX: u64 = (1 << place::SUFFIX) - 1;

/// Mask of suffix and index of a place.
const NUMBER: u64 = (1 << place::RULE) - 1;

/// Returns the context of messages about a value.
#[routine(inline)]
pub(crate) fn failure(subject: &Subject, indices: &i64) -> Failure {
    Failure { head: subject.head, indices }
}

/// Returns the place of a value as a whole.
#[routine(inline)]
pub(crate) fn place_of(subject: &Subject) -> u64 {
    subject.head.at << (place::OFFSET as u64)
}

/// Returns the record of the requirements of a value: a `ScalarRecord`, `TensorRecord` or `Required`.
#[routine(inline)]
pub(crate) fn required_of(subject: &Subject) -> &u8 {
    &base_of(subject.head)[subject.required]
}

/// Returns a text of the constant that holds the record of a value.
#[routine(inline)]
pub(crate) fn quoted(subject: &Subject, text: &Span) -> Text {
    text_of(subject.head, text)
}

/// Raises the error for a wrong number of arguments.
#[routine]
pub(crate) fn fail_count(host: &Host, given: i32) -> i32 {
    let nothing: &i64 = null;
    let failure = Failure { head: host.head, indices: nothing };
    let (least, most) = (host.least, host.most);
    if most < 0 {
        raise!(failure, Complaint::CountLeast, least, given);
    }
    if most != least as i64 {
        raise!(failure, Complaint::CountRange, least, most, given);
    }
    raise!(failure, Complaint::Count, least, given);
}

/// Raises the error for a number that is a negative extent or differs from `expected`.
///
/// `which` is a place that also holds the `NumberRule` of the number, and the offset of the text of the expected number
/// instead of the offset of a subject. `origin` is the place that has bound the symbol.
#[routine]
pub(crate) fn fail_number(
    subject: &Subject,
    which: u64,
    number: &i64,
    expected: i64,
    origin: u64,
    indices: &i64,
) -> i32 {
    let failure = failure(subject, indices);
    let place = place_of(subject) | which & NUMBER;
    let found = *number;
    if found < 0 && which >> (place::SUFFIX as u64) & 0xf == Suffix::Shape {
        // All leading dims have a negative extent only if there is one, dim 0.
        let is_leading = which & place::LEADING != 0 && which & place::FROM_END != 0;
        let place = if is_leading { place & !INDEX } else { place };
        raise!(failure, Complaint::Negative, place, found);
    }
    let rule = which >> (place::RULE as u64) & 0xf;
    if rule == NumberRule::Symbol && origin > place::UNNAMED {
        raise!(failure, Complaint::SymbolAt, place, expected, origin, found);
    }
    if which >> (place::OFFSET as u64) == 0 {
        raise!(failure, Complaint::Constant, place, expected, found);
    }
    let shown = &base_of(subject.head)[which >> (place::OFFSET as u64)] as &Span;
    if rule == NumberRule::Solve && origin == 0 {
        raise!(failure, Complaint::Unsolved, place, quoted(subject, shown), found);
    }
    raise!(failure, Complaint::Symbol, place, expected, quoted(subject, shown), found);
}

/// Raises the error for element `nth` of `values`, which is not of the scalar type or out of its range.
#[routine]
pub(crate) fn fail_scalar(subject: &Subject, values: &Any, nth: u64, indices: &i64) -> i32 {
    let value = &values[nth];
    let failure = failure(subject, indices);
    let place = place_of(subject);
    let scalar = required_of(subject) as &ScalarRecord;
    let class = scalar.class;
    let index = value.type_index;
    if class == ScalarClass::Int || class == ScalarClass::Unsigned {
        if index == TypeIndex::INT || index == TypeIndex::BOOL {
            raise!(failure, Complaint::Range, place, quoted(subject, scalar.name), value.number);
        }
    }
    let takes_big = class != ScalarClass::Float && class != ScalarClass::Bool;
    if takes_big && is_big_int(value) {
        // A `uint64` parameter that is a symbol must fit `int64`, since symbols are `int64`.
        if class == ScalarClass::Int && scalar.bits == 64 && !scalar.signed {
            let name = quoted(subject, scalar.name);
            raise!(failure, Complaint::BigSymbol, place, name, value.object);
        }
        raise!(failure, Complaint::BigRange, place, quoted(subject, scalar.name), value.object);
    }
    raise!(failure, Complaint::Type, place, quoted(subject, scalar.expected), value);
}
