//! What is said of a status of the driver.

use crate::declaration::AttributeKind;
use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::cuda::{
    ALLOW_SHARED, Entry, INVALID_VALUE, STICKY, attribute, config, image, kernel as of_kernel,
};
use crate::lower::explain::codes::Used;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;

/// What follows the text of an error after which the context is lost.
const EARLIER: &str = ", which may stem from earlier work";

/// `(descriptor, site, name, length, status)`: a function of the driver has failed.
pub(crate) fn driver(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, name, length, status] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let text = error_text(b, status);
    let values = [&[name, length][..], &text].concat();
    b.say_at(descriptor, site, Complaint::Driver, &values);
    b.ret(None);
}

/// `(descriptor, site, kernel, device, status)`: loading a kernel, or entering a context for it.
pub(crate) fn kernel(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, device, status] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let (names, text) = (names(b, kernel), error_text(b, status));
    let values = [&names[..], &text, &[device]].concat();
    b.say_at(descriptor, site, Complaint::Kernel, &values);
    b.ret(None);
}

/// `(descriptor, site, kernel, config, device, status)`: the launch.
pub(crate) fn launch(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, config, device, status] = [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    blame_shared(b, [descriptor, site, kernel, config, device], status);
    let (names, text) = (names(b, kernel), error_text(b, status));
    let [grid, block] = [config::GRID, config::BLOCK].map(|at| dims(b, config, at));
    let cluster = cluster(b, config);
    let cluster = dims(b, cluster, attribute::VALUE);
    let shared = b.unsigned(config, config::SHARED);
    let values = [&names[..], &text, &grid, &block, &cluster, &[shared, device]].concat();
    b.say_at(descriptor, site, Complaint::Launch, &values);
    b.ret(None);
}

/// The driver only says that something is invalid: too much shared memory is found once it has refused.
fn blame_shared(b: &mut Builder<'_>, args: [Value; 5], status: Value) {
    let [_, _, kernel, ..] = args;
    let allowed = b.load(Type::I64, kernel, of_kernel::ALLOWED);
    let shared = b.binary_const(Binary::And, allowed, ALLOW_SHARED);
    let shared = b.compare_const(Cond::Ne, shared, 0);
    let invalid = b.compare_const(Cond::Eq, status, INVALID_VALUE);
    let suspect = b.and(shared, invalid);
    b.if_then(suspect, |b| {
        let most = b.routine_value(Routine::FitShared, &args);
        let raised = b.compare_const(Cond::Slt, most, 0);
        b.if_then(raised, |b| b.ret(None));
    });
}

/// The names of a kernel and of its image.
fn names(b: &mut Builder<'_>, kernel: Value) -> [Value; 4] {
    let of = b.load(Type::Ptr, kernel, of_kernel::IMAGE);
    let [name, size] =
        [of_kernel::SHOWN, of_kernel::SHOWN_SIZE].map(|at| b.load(Type::I64, kernel, at));
    let [image, image_size] = [image::NAME, image::NAME_SIZE].map(|at| b.load(Type::I64, of, at));
    [name, size, image, image_size]
}

/// The driver's name of a status, the status, the driver's text, and what is to be added.
fn error_text(b: &mut Builder<'_>, status: Value) -> [Value; 7] {
    let number = b.convert(Convert::Trunc, status, Type::I32);
    let [name, text] = [Entry::GetErrorName, Entry::GetErrorString].map(|entry| {
        let (out, null) = (b.stack_slot(8, 8), b.null());
        b.store(null, out, 0);
        b.driver(entry, &[number, out]);
        b.load(Type::Ptr, out, 0)
    });
    let [name_size, text_size] = [name, text].map(|text| b.c_length(text));
    let [earlier, length] = b.text(EARLIER);
    let (sticky, zero) = (is_sticky(b, status), b.i64(0));
    let length = b.select(sticky, length, zero);
    [name, name_size, status, text, text_size, earlier, length]
}

fn is_sticky(b: &mut Builder<'_>, status: Value) -> Value {
    let (first, all) = STICKY;
    let mask = all.iter().fold(0, |mask, status| mask | 1 << (status - first));
    let distance = b.binary_const(Binary::Sub, status, first);
    let near = b.compare_const(Cond::Ult, distance, 64);
    let low = b.binary_const(Binary::And, distance, 63);
    let mask = b.i64(mask);
    let bit = b.binary(Binary::Lshr, mask, low);
    let bit = b.binary_const(Binary::And, bit, 1);
    let bit = b.compare_const(Cond::Ne, bit, 0);
    b.and(near, bit)
}

fn dims(b: &mut Builder<'_>, base: Value, start: i32) -> [Value; 3] {
    [0, 4, 8].map(|at| b.unsigned(base, start + at))
}

/// The attribute that says the cluster, or one of 1.
fn cluster(b: &mut Builder<'_>, config: Value) -> Value {
    let mut one = [0; attribute::SIZE as usize];
    for at in [0, 4, 8] {
        one[attribute::VALUE as usize + at] = 1;
    }
    let one = b.table(&one);
    let (first, count) =
        (b.load(Type::Ptr, config, config::ATTRIBUTES), b.unsigned(config, config::COUNT));
    let [found] = b.fold(count, [one], |b, at, [found]| {
        let offset = b.binary_const(Binary::Mul, at, attribute::SIZE.into());
        let here = b.ptr_add(first, offset);
        let id = b.unsigned(here, attribute::ID);
        let same = b.compare_const(Cond::Eq, id, AttributeKind::Cluster.id().into());
        [b.select(same, here, found)]
    });
    found
}
