//! Commands on streams. Routines call the driver; the values of an upload are in the area of
//! the frame that launches share.

use abi_spec::runtime;

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::cuda::{MOST_OPERATIONS, mem_op};
use crate::lower::emitter::frame::Slot;
use crate::lower::failure::message::Message;
use crate::lower::launch::map::AREA;
use crate::lower::routines::Routine;
use crate::lower::routines::commands::Commands;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::{NO_ATTRIBUTE, NO_DEVICE};
use crate::lower::wrapper::Wrapper;
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

impl<'a> Wrapper<'a, '_> {
    /// Emits a command.
    pub(crate) fn command(&mut self, command: &'a Command<'a>) {
        let commands = Commands::of(self.function.platform);
        command.unsure.iter().for_each(|&value| self.require_gpu(value));
        let device = match command.device {
            Some(home) => self.device_of(home),
            None => self.b.i64(NO_DEVICE),
        };
        if let Work::Wait { waiter, other } = &command.work {
            let (stream, other) = (self.term(waiter), self.term(other));
            let subject = Subject { site: self.here(), device, stream };
            return self.submit(commands.wait, subject, &[other]);
        }
        let stream = self.stream_or(command.stream.as_ref(), device);
        let subject = Subject { site: self.here(), device, stream };
        match &command.work {
            Work::Upload(upload) => self.upload(upload, subject),
            Work::Fill { to, bytes, value } => {
                let (to, bytes) = (self.term(to), self.size(bytes, "fill"));
                let value = self.term(value);
                let value = self.b.convert(Convert::Trunc, value, Type::I32);
                self.submit(commands.fill, subject, &[to, bytes, value]);
            }
            Work::Copy { to, from, bytes } => {
                let (to, from) = (self.term(to), self.term(from));
                let bytes = self.size(bytes, "copy");
                self.submit(commands.copy, subject, &[to, from, bytes]);
            }
            Work::Wait { .. } => {}
        }
    }

    /// Emits the call of the routine of a command.
    fn submit(&mut self, routine: Routine, subject: Subject, more: &[Value]) {
        let Subject { site, device, stream } = subject;
        let args: Vec<Value> =
            [site, device, stream].into_iter().chain(more.iter().copied()).collect();
        let status = self.routine_value(routine, &args);
        self.exit_unless_zero(status, "not_submitted");
    }

    /// Returns a given stream, or the environment's stream of a device.
    pub(super) fn stream_or(&mut self, stream: Option<&Term>, device: Value) -> Value {
        if let Some(stream) = stream {
            return self.term(stream);
        }
        let number = self.b.convert(Convert::Trunc, device, Type::I32);
        let ty = self.function.platform.device_type();
        let ty = self.b.i32(ty.0);
        let get = crate::lower::runtime(self.b.module, &runtime::ENV_GET_STREAM);
        self.b.call_value(get, &[ty, number])
    }

    /// Returns a number of bytes, which must not be negative.
    fn size(&mut self, bytes: &Term, command: &str) -> Value {
        let size = self.term(bytes);
        if bytes.constant().is_none() {
            let fits = self.b.compare_const(Cond::Sge, size, 0);
            let fail = self.failing(|_| {
                let subject = format!("size of {command}");
                Message::of(Complaint::NegativeSize, &subject).with_values(&[size])
            });
            self.b.guard(fits, fail);
        }
        size
    }

    /// Emits an upload: the values as a struct in the frame, and behind it room for the operations that write them.
    fn upload(&mut self, upload: &'a Upload<'a>, subject: Subject) {
        let commands = Commands::of(self.function.platform);
        let to = self.term(&upload.to);
        self.check_aligned(upload, to);
        let words = upload.size / 4;
        let start = upload.size.next_multiple_of(8);
        let operations = words.min(MOST_OPERATIONS as u32) * mem_op::SIZE;
        let has_maps = upload.parts.iter().any(|(_, part)| matches!(part, Param::TensorMap(_)));
        let slack = if has_maps { AREA - MAP_SIZE } else { 0 };
        let area = self.slot(Slot::Launch, slack + start + operations);
        let area = if has_maps { self.map_address(area) } else { area };
        if upload.has_gaps() {
            let count = self.b.i64((start / 8).into());
            self.routine(Routine::Clear, &[area, count]);
        }
        for (at, part) in &upload.parts {
            self.store_part(area, *at, part, subject.site);
        }
        let (count, operations) = (self.b.i64(words.into()), self.b.ptr_offset(area, start.into()));
        self.submit(commands.upload, subject, &[to, area, count, operations]);
    }

    /// Stores a part of an upload at byte `at` of the area. The bytes of a named map are copied.
    fn store_part(&mut self, area: Value, at: u32, part: &'a Param<'a>, site: Value) {
        let Param::Map(map) = part else {
            self.store_argument(area, at, part, site);
            return;
        };
        let map = self.map(*map);
        self.copy_map(map, area, at);
    }

    fn check_aligned(&mut self, upload: &Upload<'_>, to: Value) {
        let address = self.b.convert(Convert::PtrToInt, to, Type::I64);
        let rest = self.b.binary_const(Binary::And, address, i64::from(upload.align) - 1);
        let aligned = self.b.compare_const(Cond::Eq, rest, 0);
        let align = self.b.i64(upload.align.into());
        let fail = self.failing(|_| {
            Message::of(Complaint::UploadAddress, &upload.name).with_values(&[align, rest])
        });
        self.b.guard(aligned, fail);
    }

    /// Emits the calls that prepare commands and attributes, in the function that prepares launches.
    pub(super) fn prepare_commands(
        &mut self,
        prepare: &'a Prepare<'a>,
        device: Value,
        site: Value,
    ) {
        let commands = Commands::of(prepare.platform);
        if prepare.commands {
            let status = self.routine_value(commands.prepare, &[site, device]);
            self.exit_unless_zero(status, "not_prepared");
        }
        for &id in &prepare.attributes {
            let (cell, number) = (self.attribute_cell(prepare.platform, id), self.b.i32(id as i32));
            let told = self.routine_value(commands.attribute, &[site, cell, device, number]);
            let failed = self.b.compare_const(Cond::Eq, told, NO_ATTRIBUTE);
            let (raised, next) = (self.raised(), self.b.block("next"));
            self.b.branch(failed, raised, next);
            self.b.switch_to(next);
        }
    }
}
