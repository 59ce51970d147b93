//! Messages: raising a complaint, and composing its text from pieces.

use crate::ir::typed::{Float, Int, Ref, Single, Text, handles, routine};
use crate::ir::{Builder, Convert, Type, Value};
use crate::lower::routines::Routine;
use crate::lower::routines::big_int::{put_big, put_difference, put_product, put_sum};
use crate::lower::routines::complaints::{Complaint, TemplatePart};
use crate::lower::routines::errors::{self, pass_on};
use crate::lower::routines::float::put_float;
use crate::lower::routines::memory::{Any, BigInt, Caller, MessageBuffer, Version, slice};
use crate::lower::routines::names::{
    put_device, put_device_type, put_dtype, put_type, put_written,
};
use crate::lower::routines::records::{
    CallSite, CalleeKind, Case, Fault, Head, MessageRecord, Piece, PieceKind, Rest, Span, Start,
    Subject, Suffix, TextRef, base_of, host_of, place, text_in, text_of,
};
use crate::lower::routines::runtime::get_version;
use crate::lower::routines::schema::FieldType;
use crate::lower::routines::text::{put, put_int, put_quoted, put_unquoted, put_unsigned};

handles! {
    /// The context of a message.
    pub(crate) struct Failure {
        /// The record of the value or of the function that the message is about.
        head: Ref<Head>,
        /// The indices of the enclosing loops, the outermost first; NULL where there are none.
        indices: Ref<i64>,
    }
}

/// The first argument of `raise!`, which gives a message its context.
pub(crate) trait IntoFailure {
    /// Returns the context.
    fn into_failure(self, b: &mut Builder<'_>) -> Failure;
}

impl IntoFailure for Failure {
    fn into_failure(self, _: &mut Builder<'_>) -> Failure {
        self
    }
}

impl IntoFailure for Caller {
    fn into_failure(self, b: &mut Builder<'_>) -> Failure {
        let (base, offset) = self.site.parts();
        Failure { head: Ref::within(base, offset), indices: Ref::new(b.null()) }
    }
}

/// Emits code that raises a complaint with these values, one word each. `raise!` expands to a call of this.
pub(crate) fn raise(
    b: &mut Builder<'_>,
    at: impl IntoFailure,
    complaint: Complaint,
    values: &[Value],
) {
    let failure = at.into_failure(b);
    let (bytes, is_rare) = template(complaint);
    let base = b.constant_bytes(&bytes, 8);
    let message = b.ptr_offset(base, i64::from(4 * Start::WORDS));
    let list = b.stack_slot(8 * values.len().max(1) as u32, 8);
    for (at, &value) in values.iter().enumerate() {
        b.store(value, list, 8 * at as i32);
    }
    let (head, indices) = (failure.head.value(b), failure.indices.value(b));
    let routine = if is_rare { Routine::SayAny } else { Routine::Say };
    let linkage = b.module.symbols[b.symbol().index()].linkage;
    let say = routine.declare(b.module, linkage);
    b.call(say, &[head, base, message, list, indices]);
}

/// Encodes the message of a complaint as a constant. Also returns whether one of its pieces is rare.
fn template(complaint: Complaint) -> (Vec<u8>, bool) {
    let (mut text, mut pieces, mut is_rare) = (Vec::new(), Vec::new(), false);
    let mut span = |words: &str| {
        text.extend_from_slice(words.as_bytes());
        let length = words.len() as u32;
        TextRef(Span { offset: text.len() as u32 - length, length })
    };
    let kind = span(complaint.kind());
    for part in complaint.parts() {
        pieces.push(match part {
            TemplatePart::Words(words) => Piece { kind: PieceKind::Words, text: span(words) },
            TemplatePart::Value(kind) => {
                is_rare |= kind.is_rare();
                Piece { kind, text: TextRef::default() }
            }
            TemplatePart::Subject => unreachable!("routines name what they complain of"),
        });
    }
    let first = 4 * (Start::WORDS + MessageRecord::WORDS);
    let texts = first + 4 * Piece::WORDS * pieces.len() as u32;
    let mut words = Vec::with_capacity(texts as usize / 4);
    Start { texts }.encode(&mut words);
    MessageRecord { kind, pieces: first, count: pieces.len() as u32 }.encode(&mut words);
    pieces.into_iter().for_each(|piece| piece.encode(&mut words));
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(text);
    (bytes, is_rare)
}

/// Passes on the error that the callee of a call site has left. Raises the message of the call site if there is no
/// error. Returns -1.
///
/// An FFI function that has returned -2 and left no error reports an error that the host itself holds: see
/// [`pass_pending()`].
#[routine]
pub(crate) fn fail_at(caller: Caller, values: &i64) -> i32 {
    let callee = caller.site.callee;
    if callee != CalleeKind::None {
        if pass_on(caller) != 0 {
            return -1;
        }
        if callee == CalleeKind::Function && *values == -2 {
            return pass_pending(caller);
        }
    }
    let head = caller.site as &Head;
    say(head, base_of(head), meaning(caller.site, values), values, null);
    -1
}

/// Passes on that the host itself holds an error, such as Python's `KeyboardInterrupt`, in the way of the runtime: from
/// 0.1.9 on by an error of a kind of its own, after which -1 is returned; before by the status -2, which is returned.
#[routine]
pub(crate) fn pass_pending(caller: Caller) -> i32 {
    let version: Version;
    get_version(version);
    if version.major == 0 && (version.minor == 0 || version.minor == 1 && version.patch < 9) {
        return -2;
    }
    let s: MessageBuffer;
    open(s, caller.site as &Head, null, null);
    errors::raise(s, "EnvErrorAlreadySet");
    -1
}

/// Returns the message of a call site for a status, which is the first value if the site has cases.
#[routine(inline)]
fn meaning(site: &CallSite, values: &i64) -> &MessageRecord {
    let cases = &site[1] as &Case;
    for at in 0..site.cases {
        let case = &cases[at];
        if case.status == *values as u32 as u64 {
            return case.message;
        }
    }
    site.message
}

/// Raises the message of a fault, none of whose pieces is rare, with these values. Returns -1.
#[routine]
pub(crate) fn fail(fault: &Fault, values: &i64) -> i32 {
    let head = fault.head;
    say(head, base_of(head), fault.message, values, null);
    -1
}

/// Raises the message of a fault like [`fail()`], with pieces of any kind.
#[routine]
pub(crate) fn fail_any(fault: &Fault, values: &i64) -> i32 {
    let head = fault.head;
    say_any(head, base_of(head), fault.message, values, null);
    -1
}

/// Composes and raises a message, none of whose pieces is rare.
///
/// `base` is the constant that holds the message and its texts; `head` is the record that the message is about, which
/// may be in another constant.
#[routine]
pub(crate) fn say(head: &Head, base: &u8, message: &MessageRecord, values: &i64, indices: &i64) {
    let s: MessageBuffer;
    open(s, head, values, indices);
    let pieces = &base[message.pieces] as &Piece;
    for at in 0..message.count {
        put_piece(s, base, &pieces[at]);
    }
    errors::raise(s, text_in(base, message.kind));
}

/// Composes and raises a message like [`say()`], with pieces of any kind.
#[routine]
pub(crate) fn say_any(
    head: &Head,
    base: &u8,
    message: &MessageRecord,
    values: &i64,
    indices: &i64,
) {
    let s: MessageBuffer;
    open(s, head, values, indices);
    let pieces = &base[message.pieces] as &Piece;
    for at in 0..message.count {
        let piece = &pieces[at];
        match piece.kind {
            PieceKind::Float => put_float(s, float_of(next(s))),
            PieceKind::Ptr => put(s, pointer(next(s))),
            PieceKind::Text => {
                let data = next(s) as u64 as &u8;
                put_quoted(s, slice(data, next(s) as u64));
            }
            PieceKind::Unquoted => {
                let data = next(s) as u64 as &u8;
                put_unquoted(s, slice(data, next(s) as u64));
            }
            PieceKind::Big => put_big(s, next(s) as u64 as &BigInt),
            PieceKind::Written => put_written(s, next(s) as u64 as &Any),
            PieceKind::Truth => put(s, truth(next(s))),
            PieceKind::Sum => {
                let first = next(s);
                put_sum(s, first, next(s));
            }
            PieceKind::Difference => {
                let first = next(s);
                put_difference(s, first, next(s));
            }
            PieceKind::Product => {
                let first = next(s);
                put_product(s, first, next(s));
            }
            PieceKind::Origin => put_origin(s, next(s) as u64),
            _ => put_piece(s, base, piece),
        }
    }
    errors::raise(s, text_in(base, message.kind));
}

/// Initializes an empty message.
#[routine(inline)]
fn open(s: &MessageBuffer, head: &Head, values: &i64, indices: &i64) {
    s.head = head;
    s.indices = indices;
    s.values = values;
    s.length = 0;
}

/// Takes the next value.
#[routine(inline)]
fn next(s: &MessageBuffer) -> i64 {
    let values = s.values;
    s.values = &values[1];
    *values
}

/// Appends a piece of a kind that is not rare.
#[routine]
pub(crate) fn put_piece(s: &MessageBuffer, base: &u8, piece: &Piece) {
    match piece.kind {
        PieceKind::Words => put(s, text_in(base, piece.text)),
        PieceKind::Int => put_int(s, next(s)),
        PieceKind::Unsigned => put_unsigned(s, next(s) as u64),
        PieceKind::DType => put_dtype(s, next(s) as u64),
        PieceKind::Device => {
            let device = next(s);
            put_device(s, device as i32 as i64, device >> 32);
        }
        PieceKind::DeviceType => put_device_type(s, next(s)),
        PieceKind::Plain => {
            let data = next(s) as u64 as &u8;
            put(s, slice(data, next(s) as u64));
        }
        PieceKind::Type => put_type(s, next(s) as u64 as &Any),
        PieceKind::Place => {
            let subject = s.subject;
            put_place(s, next(s) as u64);
            s.subject = subject;
        }
        PieceKind::At => put_place(s, next(s) as u64),
        PieceKind::Path => put_path(s, next(s) as u64),
        PieceKind::On => {
            let argument = s.subject.argument;
            if argument >= 0 {
                put(s, " on argument #");
                put_int(s, argument);
            }
            put_calling(s);
        }
        _ => put_calling(s),
    }
}

/// Appends `` when calling: `f()` `` with the signature of the function.
#[routine]
pub(crate) fn put_calling(s: &MessageBuffer) {
    put(s, " when calling: `");
    put(s, text_of(s.head, host_of(s.head).signature));
    put(s, "`");
}

/// Appends `` (= x.shape[0])`` for a [place] that has a name, nothing for another.
#[routine(inline)]
fn put_origin(s: &MessageBuffer, at: u64) {
    if at > place::UNNAMED {
        put(s, " (= ");
        put_place(s, at);
        put(s, ")");
    }
}

/// Appends a [place] such as `x.shape[0]`.
#[routine]
pub(crate) fn put_place(s: &MessageBuffer, at: u64) {
    put_path(s, at);
    match at >> (place::SUFFIX as u64) & 0xff {
        Suffix::None => return,
        Suffix::Shape => put(s, ".shape["),
        Suffix::Strides => put(s, ".strides["),
        _ => put(s, "["),
    }
    put_index(s, at & 0xff);
    put(s, "]");
}

/// Appends the index of a [place]: `0`, `-1`, or `:-1` for all dims before it.
#[routine(inline)]
fn put_index(s: &MessageBuffer, index: u64) {
    let mut count = index;
    if index & place::FROM_END != 0 {
        count = (index & place::COUNT) + 1;
        if index & place::LEADING != 0 {
            put(s, ":");
            count -= 1;
            if count == 0 {
                return;
            }
        }
        put(s, "-");
    }
    put_unsigned(s, count);
}

/// Appends the path of the value of a [place], with the indices of the enclosing loops in it.
#[routine]
pub(crate) fn put_path(s: &MessageBuffer, at: u64) {
    let base = base_of(s.head);
    let subject = &base[at >> (place::OFFSET as u64)] as &Subject;
    s.subject = subject;
    put(s, text_in(base, subject.path));
    if subject.rest == 0 {
        return;
    }
    let rest = &base[subject.rest] as &Rest;
    let texts = &rest[1] as &Span;
    for depth in 0..rest.count {
        put_int(s, s.indices[depth]);
        put(s, text_in(base, &texts[depth]));
    }
}

/// Reads the bits of a float.
fn float_of(b: &mut Builder<'_>, bits: Int<i64>) -> Float<f64> {
    let bits = bits.value(b);
    Float::new(b.convert(Convert::Bitcast, bits, Type::F64))
}

/// Selects the text of a pointer. Addresses differ from run to run, so messages say only whether it is NULL.
fn pointer(b: &mut Builder<'_>, address: Int<i64>) -> Text {
    use crate::ir::typed::{Literal, constant, ne, select};
    let some = ne(b, address, Literal::<0>);
    let [some_text, none] = ["a non-NULL pointer", "NULL"].map(|text| constant(b, text));
    select(b, some, some_text, none)
}

/// Selects the text of a truth value.
fn truth(b: &mut Builder<'_>, word: Int<i64>) -> Text {
    use crate::ir::typed::{Literal, constant, ne, select};
    let some = ne(b, word, Literal::<0>);
    let [yes, no] = ["True", "False"].map(|text| constant(b, text));
    select(b, some, yes, no)
}
