//! The launch statement. The config (`CUlaunchConfig`), the launch attributes and the kernel's arguments are in one
//! area of the frame, which all launches of a function share.

use crate::declaration::Platform;
use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::cuda::{self, attribute, config};
use crate::lower::emitter::frame::Slot;
use crate::lower::hip;
use crate::lower::launch::{images, map};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::argument::Argument;
use crate::resolve::body::Prepare;
use crate::resolve::launch::{Launch, Packing, Param};

/// Byte offsets in the area of a launch: a `CUlaunchConfig`, attributes, the addresses of the kernel's arguments, and
/// the arguments.
pub(super) struct Layout {
    attributes: u32,
    pub(super) addresses: u32,
    arguments: Vec<u32>,
    size: u32,
}

impl Layout {
    pub(super) fn of(launch: &Launch<'_>) -> Layout {
        let attributes = config::SIZE;
        let addresses = attributes + attribute::SIZE * launch.attributes.len() as u32;
        let mut size = addresses + 8 * launch.params.len() as u32;
        let place = |param: &Param<'_>| {
            let (bytes, align) = match param {
                Param::Packed(packing) => (packing.size, packing.align),
                Param::Scratch(_) => (8, 8),
                Param::TensorMap(_) => (map::AREA, map::AREA_ALIGN),
                Param::Map(_) => (0, 1),
            };
            let at = size.next_multiple_of(align);
            size = at + bytes;
            at
        };
        let arguments = launch.params.iter().map(place).collect();
        Layout { attributes, addresses, arguments, size }
    }

    /// Returns the size in words of 8 bytes.
    pub(super) fn words(&self) -> u32 {
        self.size.div_ceil(8)
    }
}

/// A launch with all that the driver gets.
#[derive(Clone, Copy)]
pub(super) struct Ready<'e> {
    pub(super) subject: Subject,
    /// The `CUkernel`.
    pub(super) function: Value,
    /// Address of the config.
    pub(super) config: Value,
    /// Extents and the size of shared memory, if the config gets them only for an error.
    pub(super) extents: Option<&'e [Field]>,
    pub(super) stream: Value,
    /// Address of the addresses of the kernel's arguments.
    pub(super) addresses: Value,
}

/// The first arguments of all routines of launches.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    /// Address of the record of the function, for errors.
    pub(super) site: Value,
    /// Address of the variable of the GPU kernel.
    pub(super) kernel: Value,
    /// Device index, `I64`.
    pub(super) device: Value,
}

impl Subject {
    pub(super) fn args(self) -> [Value; 3] {
        [self.site, self.kernel, self.device]
    }

    pub(super) fn args_with<const N: usize>(self, more: [Value; N]) -> Vec<Value> {
        self.args().into_iter().chain(more).collect()
    }
}

/// A scalar in a struct: its byte offset and its value.
#[derive(Clone, Copy)]
pub(super) struct Field {
    offset: u32,
    pub(super) value: Value,
}

impl<'a> Wrapper<'a, '_> {
    /// Emits a launch statement; an empty grid launches nothing.
    pub(crate) fn launch(&mut self, launch: &'a Launch<'a>) {
        if self.launch_kept(launch) {
            return;
        }
        let extents = self.fields(&launch.extents);
        if launch.is_empty() {
            return;
        }
        let Some(empty) = self.is_empty(launch, &extents) else {
            return self.in_scope(|w| w.launch_grid(launch, &extents));
        };
        let [go, next] = ["launch", "next"].map(|label| self.b.block(label));
        self.b.branch(empty, next, go);
        self.b.switch_to(go);
        self.in_scope(|w| w.launch_grid(launch, &extents));
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }

    /// Returns a `Bool` that is true if an extent of the grid is 0; `None` if all are literals.
    pub(super) fn is_empty(&mut self, launch: &Launch<'_>, extents: &[Field]) -> Option<Value> {
        let open = launch.grid().iter().zip(extents);
        let open = open.filter(|((_, extent), _)| extent.constant().is_none());
        open.fold(None, |any, (_, extent)| {
            let zero = self.b.compare_const(Cond::Eq, extent.value, 0);
            Some(any.map_or(zero, |any| self.b.or(any, zero)))
        })
    }

    /// Emits the launch of a grid that is not empty.
    fn launch_grid(&mut self, launch: &'a Launch<'a>, extents: &[Field]) {
        self.require_all_gpu(launch);
        self.allocate_scratches(launch);
        let layout = Layout::of(launch);
        let area = self.slot(Slot::Launch, layout.size);
        // The driver takes a config, or each extent.
        let extents = match self.function.platform {
            Platform::Cuda => {
                self.store_config(area, &layout, launch, extents);
                None
            }
            Platform::Hip => Some(extents),
        };
        let site = self.here();
        for index in 0..launch.params.len() {
            self.store_param(area, &layout, launch, index, site);
        }
        let addresses = self.b.ptr_offset(area, layout.addresses.into());
        let (subject, function) = self.load(launch, site, area);
        let stream = self.stream_or(launch.stream.as_ref(), subject.device);
        if extents.is_none() {
            self.b.store(stream, area, config::STREAM);
        }
        self.start(launch, Ready { subject, function, config: area, extents, stream, addresses });
    }

    /// Stores the given stream, or the current one of the device in the environment, in the config.
    pub(super) fn store_stream(
        &mut self,
        launch: &'a Launch<'a>,
        device: Value,
        area: Value,
    ) -> Value {
        let stream = self.stream_or(launch.stream.as_ref(), device);
        self.b.store(stream, area, config::STREAM);
        stream
    }

    /// Emits the checks that tensors declared for any device are on a GPU.
    pub(super) fn require_all_gpu(&mut self, launch: &Launch<'_>) {
        launch.unsure.iter().for_each(|&value| self.require_gpu(value));
    }

    /// Emits the allocation of the scratch memory of a launch.
    pub(super) fn allocate_scratches(&mut self, launch: &Launch<'_>) {
        for scratch in launch.scratches() {
            self.plan(&[scratch]);
            self.allocate(&[scratch]);
        }
    }

    /// Stores the config without the stream, and the attributes.
    pub(super) fn store_config(
        &mut self,
        area: Value,
        layout: &Layout,
        launch: &'a Launch<'a>,
        extents: &[Field],
    ) {
        self.store_fields(area, 0, extents);
        self.store_attributes(area, layout, launch);
    }

    /// Stores argument number `index` of the kernel, and its address.
    pub(super) fn store_param(
        &mut self,
        area: Value,
        layout: &Layout,
        launch: &'a Launch<'a>,
        index: usize,
        site: Value,
    ) {
        let param = &launch.params[index];
        let address = self.store_argument(area, layout.arguments[index], param, site);
        self.b.store(address, area, (layout.addresses + 8 * index as u32) as i32);
    }

    /// Returns the `CUkernel` with the permissions that it needs, and what routines need for errors.
    pub(super) fn load(
        &mut self,
        launch: &Launch<'a>,
        site: Value,
        area: Value,
    ) -> (Subject, Value) {
        let (kernel, device) = (self.kernel_of(launch), self.device_of(launch.device));
        let subject = Subject { site, kernel, device };
        let function = match self.function.platform {
            Platform::Cuda => self.loaded_kernel(subject),
            Platform::Hip => self.loaded_function(subject),
        };
        if launch.allowed.shared || launch.allowed.cluster {
            let status = self.routine_value(Routine::Allow, &subject.args_with([area]));
            self.exit_unless_zero(status, "not_launched");
        }
        (subject, function)
    }

    /// Emits the call of the driver that launches the kernel.
    pub(super) fn start(&mut self, launch: &Launch<'a>, ready: Ready<'_>) {
        match self.function.platform {
            Platform::Cuda => self.start_on_cuda(ready),
            Platform::Hip => self.start_on_hip(launch, ready),
        }
    }

    /// Emits the call that finds the current device. Returns a `Bool` that is true if it is the device of the launch, and
    /// the status of the call.
    pub(super) fn is_current(&mut self, subject: Subject) -> (Value, Value) {
        let (signature, at) = match self.function.platform {
            Platform::Cuda => (cuda::Entry::CtxGetDevice.signature(), cuda::kernel::GET_DEVICE),
            Platform::Hip => (hip::Entry::GetDevice.signature(), hip::kernel::GET_DEVICE),
        };
        let none = self.b.i64(-1);
        let current = self.scratch(&[none]);
        let entry = self.b.atomic_load(Type::Ptr, subject.kernel, at);
        let status = self.b.call_indirect_value(signature, entry, &[current]);
        let found = self.b.load(Type::I32, current, 0);
        let found = self.b.convert(Convert::Sext, found, Type::I64);
        let is_current = self.b.compare(Cond::Eq, found, subject.device);
        let is_fine = self.b.compare_const(Cond::Eq, status, 0);
        (self.b.and(is_fine, is_current), status)
    }

    /// Emits the check of the status of a launch, and the call of the routine that raises its error.
    pub(super) fn check_launch(&mut self, failed: Routine, ready: Ready<'_>, status: Value) {
        let is_failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("not_launched"), self.b.block("next"));
        self.b.branch(is_failed, fail, next);
        self.b.switch_to(fail);
        self.store_fields(ready.config, 0, ready.extents.unwrap_or_default());
        self.routine(failed, &ready.subject.args_with([ready.config, status]));
        let raised = self.b.i32(-1);
        self.exit(Some(raised));
        self.b.switch_to(next);
    }

    /// Returns the address of the variable of the kernel of a launch.
    pub(super) fn kernel_of(&mut self, launch: &Launch<'a>) -> Value {
        let platform = self.function.platform;
        let kernel = images::kernel(self.b.module, platform, launch);
        self.b.address(kernel)
    }

    /// Computes the scalars of a struct.
    pub(super) fn fields(&mut self, packing: &Packing) -> Vec<Field> {
        let field = |(offset, argument): &(u32, Argument)| {
            let values = self.pass(argument);
            values.into_iter().map(|value| Field { offset: *offset, value }).collect::<Vec<_>>()
        };
        packing.parts.iter().flat_map(field).collect()
    }

    /// Stores scalars in a struct that starts at byte `start` of the area.
    pub(super) fn store_fields(&mut self, area: Value, start: u32, fields: &[Field]) {
        for field in fields {
            self.b.store(field.value, area, (start + field.offset) as i32);
        }
    }

    /// Stores zeros in the padding of a struct: kernels copy all of its bytes.
    fn clear_padding(&mut self, area: Value, start: u32, size: u32, fields: &[Field]) {
        let ends = fields.iter().map(|field| field.offset + self.b.ty(field.value).bytes());
        let starts = fields.iter().map(|field| field.offset).chain([size]);
        for (mut at, end) in [0].into_iter().chain(ends).zip(starts).collect::<Vec<_>>() {
            while at < end {
                let fits = |ty: &Type| at.is_multiple_of(ty.bytes()) && at + ty.bytes() <= end;
                let ty = [Type::I32, Type::I16].into_iter().find(fits).unwrap_or(Type::I8);
                let zero = self.b.constant(ty, 0);
                self.b.store(zero, area, (start + at) as i32);
                at += ty.bytes();
            }
        }
    }

    /// Stores the attributes, and their address and count in the config. A routine clears the attributes first, since
    /// LLVM may turn many stores of zero into a call of the C library.
    fn store_attributes(&mut self, area: Value, layout: &Layout, launch: &'a Launch<'a>) {
        let count = launch.attributes.len() as i64;
        let attributes = self.b.ptr_offset(area, layout.attributes.into());
        if count > 0 {
            let words = self.b.i64(count * i64::from(attribute::WORDS));
            self.routine(Routine::Clear, &[attributes, words]);
        }
        for (index, (id, value)) in launch.attributes.iter().enumerate() {
            let start = layout.attributes + attribute::SIZE * index as u32;
            let id = self.b.i32(*id as i32);
            self.b.store(id, area, start as i32 + attribute::ID);
            let fields = self.fields(value);
            self.store_fields(area, start + attribute::VALUE as u32, &fields);
        }
        let count = self.b.i64(count);
        self.b.store(attributes, area, config::ATTRIBUTES);
        self.b.store(count, area, config::COUNT);
    }

    /// Stores an argument of the kernel at byte `at` of the area; returns its address.
    pub(super) fn store_argument(
        &mut self,
        area: Value,
        at: u32,
        param: &'a Param<'a>,
        site: Value,
    ) -> Value {
        match param {
            Param::Packed(packing) => {
                let fields = self.fields(packing);
                self.store_fields(area, at, &fields);
                self.clear_padding(area, at, packing.size, &fields);
            }
            Param::Scratch(output) => {
                let data = self.output_data(*output);
                self.b.store(data, area, at as i32);
            }
            Param::TensorMap(map) => {
                let to = self.b.ptr_offset(area, at.into());
                return self.tensor_map(map, to, site);
            }
            Param::Map(map) => return self.map(*map),
        }
        self.b.ptr_offset(area, at.into())
    }

    /// Emits the calls that prepare each kernel, in the function that prepares launches.
    pub(crate) fn load_kernels(&mut self, prepare: &'a Prepare<'a>) {
        let device = self.values[prepare.device].scalar().native;
        let site = self.here();
        let routine = match prepare.platform {
            Platform::Cuda => Routine::Prepare,
            Platform::Hip => Routine::LoadFunction,
        };
        for launch in &prepare.launches {
            let kernel = images::kernel(self.b.module, prepare.platform, launch);
            let kernel = self.b.address(kernel);
            let status = self.routine_value(routine, &[site, kernel, device]);
            self.exit_unless_zero(status, "not_launched");
        }
        self.prepare_commands(prepare, device, site);
    }
}
