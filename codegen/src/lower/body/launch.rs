//! Launches: what the driver is given stands in one place of the frame, which all launches of a function share.

use abi_spec::DeviceType;
use abi_spec::layout::dl_tensor;

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::body::launch_map;
use crate::lower::cuda::{attribute, config};
use crate::lower::emitter::frame::Slot;
use crate::lower::failure::message::Message;
use crate::lower::images;
use crate::lower::routines::Routine;
use crate::lower::routines::records::PieceKind;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Prepare;
use crate::resolve::function::{Argument, Home};
use crate::resolve::ids::{OutputId, ValueId};
use crate::resolve::launch::{Launch, MAP_SIZE, Packing, Param};

/// How many of the extents are those of the grid.
const GRID: usize = 3;

/// Where things stand in the frame of a launch, in bytes: a `CUlaunchConfig`, attributes, the addresses of the
/// parameters, and these.
struct Room {
    attributes: u32,
    addresses: u32,
    params: Vec<u32>,
    size: u32,
}

impl Room {
    fn of(launch: &Launch<'_>) -> Room {
        let attributes = config::SIZE;
        let addresses = attributes + attribute::SIZE * launch.attributes.len() as u32;
        let mut size = addresses + 8 * launch.params.len() as u32;
        let place = |param: &Param<'_>| {
            let (bytes, align) = match param {
                Param::Packed(packing) => (packing.size, packing.align),
                Param::Scratch(_) => (8, 8),
                Param::TensorMap(_) => (MAP_SIZE + launch_map::SLACK, 16),
            };
            let at = size.next_multiple_of(align);
            size = at + bytes;
            at
        };
        let params = launch.params.iter().map(place).collect();
        Room { attributes, addresses, params, size }
    }
}

impl<'a> Wrapper<'a, '_> {
    /// A statement that launches a kernel, unless its grid is empty.
    pub(crate) fn launch(&mut self, launch: &'a Launch<'a>) {
        let extents = self.packed_parts(&launch.extents);
        let grid = &launch.extents.parts[..GRID];
        let (open, zero): (Vec<_>, Vec<_>) =
            grid.iter().zip(&extents).partition(|(part, _)| number(part).is_none());
        if zero.iter().any(|(part, _)| number(part) == Some(0)) {
            return;
        }
        let empty = open.into_iter().map(|(_, &(_, extent))| extent).collect::<Vec<_>>();
        let empty = empty.into_iter().fold(None, |any, extent| {
            let zero = self.b.compare_const(Cond::Eq, extent, 0);
            Some(any.map_or(zero, |any| self.b.or(any, zero)))
        });
        let Some(empty) = empty else { return self.inner(|w| w.launch_now(launch, &extents)) };
        let [go, next] = ["launch", "next"].map(|label| self.b.block(label));
        self.b.branch(empty, next, go);
        self.b.switch_to(go);
        self.inner(|w| w.launch_now(launch, &extents));
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }

    fn launch_now(&mut self, launch: &'a Launch<'a>, extents: &[(u32, Value)]) {
        launch.unsure.iter().for_each(|&value| self.require_cuda(value));
        let scratches: Vec<OutputId> = launch.scratches().collect();
        for scratch in scratches {
            self.plan(&[scratch]);
            self.allocate(&[scratch]);
        }
        let room = Room::of(launch);
        let area = self.slot(Slot::Launch, room.size);
        self.write(area, 0, extents);
        self.write_attributes(area, &room, launch);
        let site = self.here();
        for (index, param) in launch.params.iter().enumerate() {
            let address = self.write_param(area, room.params[index], param, site);
            self.b.store(address, area, (room.addresses + 8 * index as u32) as i32);
        }
        let addresses = self.b.ptr_offset(area, room.addresses.into());
        self.start(launch, site, area, addresses);
    }

    /// Leaves with the error of a routine, unless it yields 0.
    pub(super) fn leave_if(&mut self, status: Value) {
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("not_launched"), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        self.exit(Some(status));
        self.b.switch_to(next);
    }

    /// Scalars and where they go.
    fn packed_parts(&mut self, packing: &Packing) -> Vec<(u32, Value)> {
        let part = |(at, argument): &(u32, Argument)| {
            let values = self.pass(argument);
            values.into_iter().map(|value| (*at, value)).collect::<Vec<_>>()
        };
        packing.parts.iter().flat_map(part).collect()
    }

    fn write(&mut self, area: Value, start: u32, parts: &[(u32, Value)]) {
        for &(at, value) in parts {
            self.b.store(value, area, (start + at) as i32);
        }
    }

    /// Writes zeros between the fields of a struct and behind the last one: kernels get all of its bytes.
    fn clear_padding(&mut self, area: Value, start: u32, size: u32, parts: &[(u32, Value)]) {
        let ends = parts.iter().map(|&(at, value)| at + self.b.ty(value).bytes());
        let gaps = [0].into_iter().chain(ends).zip(parts.iter().map(|part| part.0).chain([size]));
        for (mut at, end) in gaps.collect::<Vec<_>>() {
            while at < end {
                let fits = |ty: &Type| at.is_multiple_of(ty.bytes()) && at + ty.bytes() <= end;
                let ty = [Type::I32, Type::I16].into_iter().find(fits).unwrap_or(Type::I8);
                let zero = self.b.constant(ty, 0);
                self.b.store(zero, area, (start + at) as i32);
                at += ty.bytes();
            }
        }
    }

    /// Zeros are written by a routine, since LLVM may make a call of the C library of so many stores.
    fn write_attributes(&mut self, area: Value, room: &Room, launch: &'a Launch<'a>) {
        let count = launch.attributes.len() as i64;
        let attributes = self.b.ptr_offset(area, room.attributes.into());
        if count > 0 {
            let words = self.b.i64(count * i64::from(attribute::WORDS));
            self.routine(Routine::Clear, &[attributes, words]);
        }
        for (index, (id, value)) in launch.attributes.iter().enumerate() {
            let start = room.attributes + attribute::SIZE * index as u32;
            let id = self.b.i32(*id as i32);
            self.b.store(id, area, start as i32 + attribute::ID);
            let parts = self.packed_parts(value);
            self.write(area, start + attribute::VALUE as u32, &parts);
        }
        let count = self.b.i64(count);
        self.b.store(attributes, area, config::ATTRIBUTES);
        self.b.store(count, area, config::COUNT);
    }

    /// Writes a parameter; yields its address.
    fn write_param(&mut self, area: Value, at: u32, param: &'a Param<'a>, site: Value) -> Value {
        match param {
            Param::Packed(packing) => {
                let parts = self.packed_parts(packing);
                self.write(area, at, &parts);
                self.clear_padding(area, at, packing.size, &parts);
            }
            Param::Scratch(output) => {
                let data = self.output_data(*output);
                self.b.store(data, area, at as i32);
            }
            Param::TensorMap(map) => {
                let to = self.b.ptr_offset(area, at.into());
                return self.tensor_map(map, to, site);
            }
        }
        self.b.ptr_offset(area, at.into())
    }

    /// The number of the device of a tensor, `I64`.
    pub(super) fn device_of(&mut self, home: Home) -> Value {
        let index = match home {
            Home::Value(value) => self.device_id32(value),
            Home::Output(_) => {
                let dl = self.home_tensor(home);
                self.b.load(Type::I32, dl, dl_tensor::DEVICE_ID.offset)
            }
        };
        self.b.convert(Convert::Sext, index, Type::I64)
    }

    /// The `DLTensor*` of a tensor.
    pub(super) fn home_tensor(&mut self, home: Home) -> Value {
        match home {
            Home::Value(value) => self.dl(value),
            Home::Output(output) => self.output_tensor(output),
        }
    }

    /// A tensor that may be anywhere must be on a GPU, if it is there.
    fn require_cuda(&mut self, value: ValueId) {
        let dl = self.dl(value);
        let dl = self.readable(value, dl, 16);
        let device = self.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset);
        let ty = self.b.convert(Convert::Trunc, device, Type::I32);
        let cuda = self.b.compare_const(Cond::Eq, ty, DeviceType::CUDA.0.into());
        let fine = match self.mask(value) {
            Some(there) => {
                let absent = self.b.not(there);
                self.b.or(cuda, absent)
            }
            None => cuda,
        };
        let path = self.function.values[value].path.clone();
        let argument = self.function.argument(value);
        let fail = self.failing(|_| {
            let mut message = Message::new("ValueError");
            message.text("Mismatched ").quoted(&path).text(".device").on(argument);
            message.piece(PieceKind::Calling, &[]).text(", expected cuda but got ");
            message.piece(PieceKind::Device, &[device]);
            message
        });
        let next = self.b.block("next");
        self.b.branch(fine, next, fail);
        self.b.switch_to(next);
    }

    /// The body of the function that prepares launches.
    pub(crate) fn prepare(&mut self, prepare: &'a Prepare<'a>) {
        let device = self.values[prepare.device].scalar().native;
        let site = self.here();
        for launch in &prepare.launches {
            let kernel = images::kernel(self.b.module, launch);
            let kernel = self.b.address(kernel);
            let args = [site, kernel, device];
            let status = self.routine_value(Routine::Prepare, &args);
            self.leave_if(status);
        }
        for name in &prepare.callees {
            self.function_named(name);
        }
        self.return_call(None);
    }
}

/// The number that a part always is.
fn number((_, argument): &(u32, Argument)) -> Option<i64> {
    match argument {
        Argument::Term(term, _) => term.constant(),
        Argument::Value(_) | Argument::Text(_) => None,
    }
}
