//! The pieces of a message: what stands for values in it.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Head, Header, LeafKind, Op, Place, Rpn, Suffix, Text, Used};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::routines::text::{INDICES, PIECES};
use crate::lower::explain::schema::At;

/// Whether some message has such a piece. Those that are not named here are always known.
fn may_occur(used: Used, kind: LeafKind) -> bool {
    let steps: &[Op] = match kind {
        LeafKind::DType | LeafKind::Device | LeafKind::DeviceType => &[Op::Tensor],
        LeafKind::Text => &[Op::Literal, Op::Device],
        LeafKind::Truth => &[Op::Literal],
        LeafKind::Leaves => &[Op::Constraint],
        LeafKind::Written => &[Op::Owned],
        LeafKind::Float | LeafKind::Ptr | LeafKind::Template => &[],
        LeafKind::Escape
        | LeafKind::Index
        | LeafKind::Int
        | LeafKind::Unsigned
        | LeafKind::Plain
        | LeafKind::Quote
        | LeafKind::Place
        | LeafKind::Type
        | LeafKind::Subject
        | LeafKind::At
        | LeafKind::Path
        | LeafKind::On
        | LeafKind::Calling => return true,
    };
    let divides = [Rpn::Div, Rpn::Rem, Rpn::CeilDiv].iter().any(|&code| used.has(code));
    let by_operation = kind == LeafKind::Leaves && divides;
    by_operation || used.has(kind) || steps.iter().any(|&op| used.has(op))
}

/// The pieces, and what they append.
struct Pieces {
    s: Value,
    used: Used,
    code: Value,
    done: crate::ir::Block,
}

impl Pieces {
    /// A piece that is not a value.
    fn case(&self, b: &mut Builder<'_>, kind: LeafKind, say: impl FnOnce(&mut Builder<'_>)) {
        b.case(self.code, kind as u32, self.done, |b| {
            say(b);
            []
        });
    }

    /// A piece that is a value.
    fn value(
        &self,
        b: &mut Builder<'_>,
        kind: LeafKind,
        say: impl FnOnce(&mut Builder<'_>, Value),
    ) {
        if may_occur(self.used, kind) {
            self.case(b, kind, |b| {
                let value = self.next(b);
                say(b, value);
            });
        }
    }

    /// The next value.
    fn next(&self, b: &mut Builder<'_>) -> Value {
        let values = b.field(self.s, Field::Values);
        let next = b.ptr_offset(values, 8);
        b.set_field(self.s, Field::Values, next);
        b.load(Type::I64, values, 0)
    }

    fn pointer(&self, b: &mut Builder<'_>, value: Value) -> Value {
        let _ = self;
        b.convert(Convert::IntToPtr, value, Type::Ptr)
    }
}

/// `(state, code)`: appends a piece of a message.
pub(crate) fn put_piece(b: &mut Builder<'_>, used: Used) {
    let [s, code] = [0, 1].map(|i| b.param(i));
    let done = b.block("said");
    let p = Pieces { s, used, code, done };
    numbers(b, &p);
    values(b, &p);
    places(b, &p);
    b.unknown(s, code);
    b.switch_to(done);
    b.return_code(0);
}

fn numbers(b: &mut Builder<'_>, p: &Pieces) {
    let s = p.s;
    let put = |routine: Routine| {
        move |b: &mut Builder<'_>, value: Value| {
            b.routine(routine, &[s, value]);
        }
    };
    p.value(b, LeafKind::Int, put(Routine::PutInt));
    p.value(b, LeafKind::Unsigned, put(Routine::PutUnsigned));
    p.value(b, LeafKind::DType, put(Routine::PutDtype));
    p.value(b, LeafKind::Device, |b, word| {
        let [ty, index] = b.split_device(word);
        b.routine(Routine::PutDevice, &[s, ty, index]);
    });
    p.value(b, LeafKind::DeviceType, |b, ty| device_type(b, s, ty));
    p.value(b, LeafKind::Float, |b, bits| {
        let value = b.convert(Convert::Bitcast, bits, Type::F64);
        b.routine(Routine::PutFloat, &[s, value]);
    });
    // Addresses differ from run to run, so only NULL is told from the rest.
    p.value(b, LeafKind::Ptr, |b, value| {
        let null = b.compare_const(Cond::Eq, value, 0);
        choice(b, s, null, ["NULL", "a non-NULL pointer"]);
    });
    p.value(b, LeafKind::Truth, |b, value| {
        let truth = b.compare_const(Cond::Ne, value, 0);
        choice(b, s, truth, ["True", "False"]);
    });
}

fn choice(b: &mut Builder<'_>, s: Value, first: Value, texts: [&str; 2]) {
    let [one, other] = texts.map(|text| b.text(text));
    let [text, length] = [0, 1].map(|part| b.select(first, one[part], other[part]));
    b.routine(Routine::Put, &[s, text, length]);
}

/// Appends the name of a device type, which is that of its device 0 without the index.
fn device_type(b: &mut Builder<'_>, s: Value, ty: Value) {
    let zero = b.i64(0);
    b.routine(Routine::PutDevice, &[s, ty, zero]);
    let cpu = b.compare_const(Cond::Eq, ty, abi_spec::DeviceType::CPU.0.into());
    b.unless(cpu, |b| {
        let length = b.field(s, Field::Length);
        let shorter = b.binary_const(Binary::Sub, length, 2);
        b.set_field(s, Field::Length, shorter);
        b.return_code(0);
    });
}

fn values(b: &mut Builder<'_>, p: &Pieces) {
    let s = p.s;
    for (kind, routine) in [(LeafKind::Text, Routine::PutQuoted), (LeafKind::Plain, Routine::Put)] {
        p.value(b, kind, |b, text| {
            let (text, length) = (p.pointer(b, text), p.next(b));
            b.routine(routine, &[s, text, length]);
        });
    }
    p.value(b, LeafKind::Quote, |b, text| {
        let text = p.pointer(b, text);
        b.say_text(s, At::new(text));
    });
    for (kind, routine) in
        [(LeafKind::Type, Routine::PutType), (LeafKind::Written, Routine::PutWritten)]
    {
        p.value(b, kind, |b, any| {
            let any = p.pointer(b, any);
            b.routine(routine, &[s, any]);
        });
    }
    p.value(b, LeafKind::Leaves, |b, leaves| {
        let leaves = p.pointer(b, leaves);
        b.try_routine(Routine::Leaves, &[s, leaves]);
    });
}

fn places(b: &mut Builder<'_>, p: &Pieces) {
    let s = p.s;
    p.value(b, LeafKind::Place, |b, place| {
        let place = p.pointer(b, place);
        b.try_routine(Routine::PutPlace, &[s, place]);
    });
    p.value(b, LeafKind::At, |b, head| {
        let head = p.pointer(b, head);
        b.set_field(s, Field::First, head);
        b.try_routine(Routine::PutPlace, &[s, head]);
    });
    p.value(b, LeafKind::Path, |b, head| {
        let head = p.pointer(b, head);
        b.set_field(s, Field::First, head);
        put_path(b, s, At::new(head));
    });
    p.case(b, LeafKind::Subject, |b| {
        let text = b.field(s, Field::First);
        b.say_text(s, At::new(text));
    });
    if may_occur(p.used, LeafKind::Template) {
        p.case(b, LeafKind::Template, |b| {
            let text = At::<Text>::new(b.field(s, Field::First));
            let [text, length] = b.text_at(s, text);
            let limit = b.i64(PIECES.into());
            b.try_routine(Routine::Compose, &[s, text, length, limit]);
        });
    }
    p.case(b, LeafKind::On, |b| {
        let head = b.field(s, Field::First);
        let argument = At::<Head>::new(head).argument(b);
        let some = b.compare_const(Cond::Ne, argument, -1);
        b.if_then(some, |b| {
            b.say(s, " on argument #");
            b.routine(Routine::PutUnsigned, &[s, argument]);
        });
        calling(b, s);
    });
    p.case(b, LeafKind::Calling, |b| calling(b, s));
}

/// `` when calling: `<signature>` ``
fn calling(b: &mut Builder<'_>, s: Value) {
    b.say(s, " when calling: `");
    let descriptor = b.field(s, Field::Descriptor);
    let signature = At::<Header>::new(descriptor).signature(b);
    b.say_text(s, signature);
    b.say(s, "`");
}

/// The path of a value, with the number of the element where one of many is meant.
fn put_path(b: &mut Builder<'_>, s: Value, place: At<Place>) {
    let path = place.path(b);
    let [text, length] = b.text_at(s, path);
    let limit = b.i64(INDICES);
    b.try_routine(Routine::Compose, &[s, text, length, limit]);
}

/// `(state, place)`: `x.shape[0]`
pub(crate) fn put_place(b: &mut Builder<'_>, used: Used) {
    let [s, place] = [0, 1].map(|i| b.param(i));
    let place = At::<Place>::new(place);
    put_path(b, s, place);
    let suffix = place.suffix(b);
    let (index, done) = (b.block("index"), b.block("done"));
    b.when(used, suffix, Suffix::None, done, |_| []);
    for (code, text) in
        [(Suffix::Shape, ".shape["), (Suffix::Strides, ".strides["), (Suffix::Number, "[")]
    {
        b.when(used, suffix, code, index, |b| {
            b.say(s, text);
            []
        });
    }
    b.unknown(s, suffix);
    b.switch_to(index);
    let number = place.index(b);
    b.routine(Routine::PutUnsigned, &[s, number]);
    b.say(s, "]");
    b.jump(done, &[]);
    b.switch_to(done);
    b.return_code(0);
}
