//! Commands on streams. Routines call the driver; the values of an upload are in the area of
//! the frame that launches share.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::body::launch::map::{self, AREA};
use crate::lower::body::launch::{area, parts};
use crate::lower::checks::{Checker, terms};
use crate::lower::cuda::{MOST_OPERATIONS, mem_op};
use crate::lower::emitter::frame::Slot;
use crate::lower::failure::message::Message;
use crate::lower::routines::commands::Commands;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::{NO_ATTRIBUTE, NO_DEVICE, Routine};
use crate::resolve::body::Prepare;
use crate::resolve::launch::{Command, MAP_SIZE, Param, Upload, Work};
use crate::resolve::term::Term;

/// The first arguments of all routines of commands.
#[derive(Clone, Copy)]
struct Subject {
    /// Address of the record of the function, for errors.
    site: Value,
    /// Device index, `I64`.
    device: Value,
    stream: Value,
}

/// Emits a command.
pub(in crate::lower::body) fn command<'a>(c: &mut Checker<'a, '_>, command: &'a Command<'a>) {
    let commands = Commands::of(c.e.function.platform);
    command.unsure.iter().for_each(|&value| terms::require_gpu(c, value));
    let device = match command.device {
        Some(home) => terms::device_of(c, home),
        None => c.e.b.i64(NO_DEVICE),
    };
    if let Work::Wait { waiter, other } = &command.work {
        let (stream, other) = (terms::eval(c, waiter), terms::eval(c, other));
        let subject = Subject { site: c.exits.here(&mut c.e), device, stream };
        return submit(c, commands.wait, subject, &[other]);
    }
    let stream = area::stream_or(c, command.stream.as_ref(), device);
    let subject = Subject { site: c.exits.here(&mut c.e), device, stream };
    match &command.work {
        Work::Upload(upload) => submit_upload(c, upload, subject),
        Work::Fill { to, bytes, value } => {
            let (to, bytes) = (terms::eval(c, to), size(c, bytes, "fill"));
            let value = terms::eval(c, value);
            let value = c.e.b.convert(Convert::Trunc, value, Type::I32);
            submit(c, commands.fill, subject, &[to, bytes, value]);
        }
        Work::Copy { to, from, bytes } => {
            let (to, from) = (terms::eval(c, to), terms::eval(c, from));
            let bytes = size(c, bytes, "copy");
            submit(c, commands.copy, subject, &[to, from, bytes]);
        }
        Work::Wait { .. } => {}
    }
}

/// Emits the call of the routine of a command.
fn submit(c: &mut Checker<'_, '_>, routine: Routine, subject: Subject, more: &[Value]) {
    let Subject { site, device, stream } = subject;
    let args: Vec<Value> = [site, device, stream].into_iter().chain(more.iter().copied()).collect();
    let status = c.e.routine_value(routine, &args);
    c.e.exit_unless_zero(status, "not_submitted");
}

/// Returns a number of bytes, which must not be negative.
fn size(c: &mut Checker<'_, '_>, bytes: &Term, command: &str) -> Value {
    let size = terms::eval(c, bytes);
    if bytes.constant().is_none() {
        let fits = c.e.b.compare_const(Cond::Sge, size, 0);
        let fail = c.failing(|_| {
            let subject = format!("size of {command}");
            Message::of(Complaint::NegativeSize, &subject).with_values(&[size])
        });
        c.e.b.guard(fits, fail);
    }
    size
}

/// Emits an upload: the values as a struct in the frame, and behind it room for the operations that write them.
fn submit_upload<'a>(c: &mut Checker<'a, '_>, upload: &'a Upload<'a>, subject: Subject) {
    let commands = Commands::of(c.e.function.platform);
    let to = terms::eval(c, &upload.to);
    check_aligned(c, upload, to);
    let words = upload.size / 4;
    let start = upload.size.next_multiple_of(8);
    let operations = words.min(MOST_OPERATIONS as u32) * mem_op::SIZE;
    let has_maps = upload.parts.iter().any(|(_, part)| matches!(part, Param::TensorMap(_)));
    let slack = if has_maps { AREA - MAP_SIZE } else { 0 };
    let area = c.e.slot(Slot::Launch, slack + start + operations);
    let area = if has_maps { map::map_address(c, area) } else { area };
    if upload.has_gaps() {
        let count = c.e.b.i64((start / 8).into());
        c.e.routine(Routine::Clear, &[area, count]);
    }
    for (at, part) in &upload.parts {
        store_part(c, area, *at, part, subject.site);
    }
    let (count, operations) = (c.e.b.i64(words.into()), c.e.b.ptr_offset(area, start.into()));
    submit(c, commands.upload, subject, &[to, area, count, operations]);
}

/// Stores a part of an upload at byte `at` of the area. The bytes of a named map are copied.
fn store_part<'a>(c: &mut Checker<'a, '_>, area: Value, at: u32, part: &'a Param<'a>, site: Value) {
    let Param::Map(map) = part else {
        parts::store_argument(c, area, at, part, site);
        return;
    };
    let map = c.e.known.map(*map);
    map::copy_map(c, map, area, at);
}

fn check_aligned(c: &mut Checker<'_, '_>, upload: &Upload<'_>, to: Value) {
    let address = c.e.b.convert(Convert::PtrToInt, to, Type::I64);
    let rest = c.e.b.binary_const(Binary::And, address, i64::from(upload.align) - 1);
    let aligned = c.e.b.compare_const(Cond::Eq, rest, 0);
    let align = c.e.b.i64(upload.align.into());
    let fail = c.failing(|_| {
        Message::of(Complaint::UploadAddress, &upload.name).with_values(&[align, rest])
    });
    c.e.b.guard(aligned, fail);
}

/// Emits the calls that prepare commands and attributes, in the function that prepares launches.
pub(super) fn prepare_commands<'a>(
    c: &mut Checker<'a, '_>,
    prepare: &'a Prepare<'a>,
    device: Value,
    site: Value,
) {
    let commands = Commands::of(prepare.platform);
    if prepare.commands {
        let status = c.e.routine_value(commands.prepare, &[site, device]);
        c.e.exit_unless_zero(status, "not_prepared");
    }
    for &id in &prepare.attributes {
        let (cell, number) = (terms::attribute_cell(c, prepare.platform, id), c.e.b.i32(id as i32));
        let told = c.e.routine_value(commands.attribute, &[site, cell, device, number]);
        let failed = c.e.b.compare_const(Cond::Eq, told, NO_ATTRIBUTE);
        let (raised, next) = (c.exits.raised(&mut c.e), c.e.b.block("next"));
        c.e.b.branch(failed, raised, next);
        c.e.b.switch_to(next);
    }
}
