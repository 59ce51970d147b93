//! Model of the CUDA driver, limited to the functions that launches and commands need. The model runs
//! no kernels, and device memory has no contents.

use std::collections::BTreeMap;

use codegen::ir::{Signature, Type};

use crate::fault::Failing;
use crate::finding::{Finding, ensure};
use crate::link::Machine;
use crate::run::Outcome;
use crate::runtime::{Found, Model};
use crate::word::Word;

/// File names of the driver's library.
pub const LIBRARIES: [&str; 2] = ["libcuda.so.1", "nvcuda.dll"];

/// State of the driver.
#[derive(Debug)]
pub struct Driver {
    /// True if a driver is installed.
    pub is_installed: bool,
    /// Number of devices.
    pub devices: i32,
    /// Kernels of images and the bytes of each of their parameters.
    pub kernels: BTreeMap<String, Vec<u64>>,
    /// Device variables of images and the bytes of each.
    pub globals: BTreeMap<String, u64>,
    /// Launches so far.
    pub launches: Vec<Launch>,
    /// Devices whose primary contexts are current, the innermost last.
    pub contexts: Vec<i32>,
    /// Names of kernels that images have handed out; a handle is a position.
    handles: Vec<String>,
    /// Number of loaded images.
    pub loaded: usize,
    /// Events that are not destroyed.
    pub events: Vec<u64>,
}

/// A launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: String,
    /// Grid, block, and bytes of shared memory.
    pub shape: [u32; 7],
    /// Stream of the launch.
    pub stream: Word,
    /// Bytes of each parameter.
    pub parameters: Vec<Vec<u8>>,
}

impl Default for Driver {
    fn default() -> Self {
        Driver {
            is_installed: false,
            devices: 4,
            kernels: BTreeMap::new(),
            globals: BTreeMap::new(),
            launches: Vec::new(),
            contexts: Vec::new(),
            handles: Vec::new(),
            loaded: 0,
            events: Vec::new(),
        }
    }
}

/// Status of calls with an injected fault: `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: i32 = 999;

const INVALID_VALUE: Word = Word::int32(1);
const INVALID_DEVICE: Word = Word::int32(101);
const INVALID_CONTEXT: Word = Word::int32(201);
const INVALID_HANDLE: Word = Word::int32(400);
const NOT_FOUND: Word = Word::int32(500);

/// Version that the driver reports.
const VERSION: i32 = 12_080;

/// Bases of handles: contexts, kernels and libraries are numbers, because no caller may dereference them.
const CONTEXTS: u64 = 0xc0de_0000;
const KERNELS: u64 = 0xcafe_0000;
const LIBRARY: Word = Word::bits(0xbeef_0000);
const EVENTS: u64 = 0xe7e7_0000;
const MODULES: u64 = 0x40d0_0000;
const GLOBALS: u64 = 0x610b_0000;

/// Largest handle of a default stream.
const LAST_DEFAULT: u64 = 2;

/// Returns the function of a name.
pub(crate) fn function(name: &str) -> Option<Found> {
    use Type::{I32, I64, Ptr};
    let found = |model: Model, params: &[Type]| {
        let signature = Signature::new(params, Some(I32));
        Some((model, Some(signature), Failing::Driver(UNKNOWN)))
    };
    match name {
        "cuInit" => found(succeed, &[I32]),
        "cuDriverGetVersion" => found(version, &[Ptr]),
        "cuGetErrorName" => found(error_text, &[I32, Ptr]),
        "cuGetErrorString" => found(error_text, &[I32, Ptr]),
        "cuCtxGetDevice" => found(current_device, &[Ptr]),
        "cuCtxPushCurrent_v2" => found(push, &[Ptr]),
        "cuCtxPopCurrent_v2" => found(pop, &[Ptr]),
        "cuDevicePrimaryCtxRetain" => found(retain_primary, &[Ptr, I32]),
        "cuDevicePrimaryCtxRelease_v2" => found(succeed, &[I32]),
        "cuDeviceGetAttribute" => found(device_attribute, &[Ptr, I32, I32]),
        "cuLibraryLoadData" => found(load, &[Ptr, Ptr, Ptr, Ptr, I32, Ptr, Ptr, I32]),
        "cuLibraryUnload" => found(unload, &[Ptr]),
        "cuLibraryGetKernel" => found(kernel, &[Ptr, Ptr, Ptr]),
        "cuLibraryGetGlobal" => found(global, &[Ptr, Ptr, Ptr, Ptr]),
        "cuLibraryGetModule" => found(module, &[Ptr, Ptr]),
        "cuKernelGetFunction" => found(kernel_function, &[Ptr, Ptr]),
        "cuKernelGetAttribute" => found(kernel_attribute, &[Ptr, I32, Ptr, I32]),
        "cuKernelSetAttribute" => found(set_attribute, &[I32, I32, Ptr, I32]),
        "cuLaunchKernelEx" => found(launch, &[Ptr, Ptr, Ptr, Ptr]),
        "cuTensorMapEncodeTiled" => {
            found(encode_map, &[Ptr, I32, I32, Ptr, Ptr, Ptr, Ptr, Ptr, I32, I32, I32, I32])
        }
        "cuTensorMapEncodeIm2col" => {
            let numbers = [Ptr, Ptr, I32, I32, Ptr, I32, I32, I32, I32];
            found(encode_columns, &[&[Ptr, I32, I32, Ptr, Ptr, Ptr][..], &numbers].concat())
        }
        "cuKernelGetParamInfo" => found(param_info, &[Ptr, I64, Ptr, Ptr]),
        "cuFuncLoad" => found(load_function, &[Ptr]),
        "cuMemsetD8Async" => found(command, &[Ptr, I32, I64, Ptr]),
        "cuMemsetD32Async" => found(command, &[Ptr, I32, I64, Ptr]),
        "cuMemcpyAsync" => found(command, &[Ptr, Ptr, I64, Ptr]),
        "cuStreamBatchMemOp_v2" => found(operate, &[Ptr, I32, Ptr, I32]),
        "cuStreamGetCtx" => found(stream_context, &[Ptr, Ptr]),
        "cuEventCreate" => found(create_event, &[Ptr, I32]),
        "cuEventRecord" => found(use_event, &[Ptr, Ptr]),
        "cuStreamWaitEvent" => found(wait_event, &[Ptr, Ptr, I32]),
        "cuEventDestroy_v2" => found(destroy_event, &[Ptr]),
        "cuOccupancyMaxPotentialClusterSize" => found(max_cluster, &[Ptr, Ptr, Ptr]),
        _ => None,
    }
}

impl Driver {
    /// Returns true for the handles of a loaded library and of its module on a device whose context is current.
    pub fn has_handles(&self, library: Word, module: Word, device: i32) -> bool {
        let is_current = self.contexts.last() == Some(&device);
        let is_module = module == Word::bits(MODULES + device as u64);
        self.loaded > 0 && library == LIBRARY && is_current && is_module
    }
}

impl Machine<'_> {
    /// Writes a number to an output parameter.
    fn yield_int32(&mut self, out: Word, value: i32) -> Outcome {
        self.memory.store(out, Word::int32(value), 4, 4)?;
        Ok(Word::NULL)
    }

    fn yield_handle(&mut self, out: Word, value: Word) -> Outcome {
        self.memory.store(out, value, 8, 8)?;
        Ok(Word::NULL)
    }

    /// Returns the name of a kernel by its handle.
    fn kernel_name(&self, handle: Word) -> Option<&String> {
        let at = usize::try_from(handle.bits.checked_sub(KERNELS)?).ok()?;
        self.cuda.handles.get(at)
    }
}

fn succeed(_: &mut Machine<'_>, _: &[Word]) -> Outcome {
    Ok(Word::NULL)
}

fn version(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.yield_int32(args[0], VERSION)
}

fn error_text(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let text = format!("CUDA_ERROR_{}\0", args[0].as_int32());
    let text = machine.memory.constant("name of an error", text.into_bytes(), 1);
    machine.yield_handle(args[1], text)
}

fn current_device(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    match machine.cuda.contexts.last().copied() {
        Some(device) => machine.yield_int32(args[0], device),
        None => Ok(INVALID_CONTEXT),
    }
}

fn push(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let Some(device) = args[0].bits.checked_sub(CONTEXTS) else { return Ok(INVALID_CONTEXT) };
    machine.cuda.contexts.push(device as i32);
    Ok(Word::NULL)
}

fn pop(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let Some(device) = machine.cuda.contexts.pop() else { return Ok(INVALID_CONTEXT) };
    if args[0].is_null() {
        return Ok(Word::NULL);
    }
    machine.yield_handle(args[0], Word::bits(CONTEXTS + device as u64))
}

fn retain_primary(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let device = args[1].as_int32();
    if !(0..machine.cuda.devices).contains(&device) {
        return Ok(INVALID_DEVICE);
    }
    machine.yield_handle(args[0], Word::bits(CONTEXTS + device as u64))
}

fn device_attribute(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    /// Maximal bytes of shared memory per block.
    const SHARED: i32 = 227 << 10;
    machine.yield_int32(args[0], SHARED)
}

fn load(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    machine.memory.read(args[1], 1, 1)?;
    machine.cuda.loaded += 1;
    machine.yield_handle(args[0], LIBRARY)
}

fn unload(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    ensure(args[0] == LIBRARY && machine.cuda.loaded > 0, || "no library is unloaded".to_owned())?;
    machine.cuda.loaded -= 1;
    Ok(Word::NULL)
}

fn kernel(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if args[1] != LIBRARY {
        return Ok(INVALID_HANDLE);
    }
    let name = String::from_utf8_lossy(&machine.memory.c_string(args[2])?).into_owned();
    if !machine.cuda.kernels.contains_key(&name) {
        return Ok(NOT_FOUND);
    }
    machine.cuda.handles.push(name);
    let handle = KERNELS + machine.cuda.handles.len() as u64 - 1;
    machine.yield_handle(args[0], Word::bits(handle))
}

/// `cuLibraryGetGlobal`: each device has addresses of its own.
fn global(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if args[2] != LIBRARY {
        return Ok(INVALID_HANDLE);
    }
    let Some(device) = machine.cuda.contexts.last().copied() else { return Ok(INVALID_CONTEXT) };
    let name = String::from_utf8_lossy(&machine.memory.c_string(args[3])?).into_owned();
    let mut globals = machine.cuda.globals.iter();
    let Some(at) = globals.position(|(known, _)| *known == name) else { return Ok(NOT_FOUND) };
    machine.memory.store(args[1], Word::bits(machine.cuda.globals[&name]), 8, 8)?;
    machine
        .yield_handle(args[0], Word::bits(GLOBALS + ((device as u64) << 12) + ((at as u64) << 8)))
}

fn module(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if args[1] != LIBRARY {
        return Ok(INVALID_HANDLE);
    }
    let Some(device) = machine.cuda.contexts.last().copied() else { return Ok(INVALID_CONTEXT) };
    machine.yield_handle(args[0], Word::bits(MODULES + device as u64))
}

fn kernel_function(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if machine.kernel_name(args[1]).is_none() {
        return Ok(INVALID_HANDLE);
    }
    machine.yield_handle(args[0], args[1])
}

fn kernel_attribute(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if machine.kernel_name(args[2]).is_none() {
        return Ok(INVALID_HANDLE);
    }
    machine.yield_int32(args[0], 0)
}

fn set_attribute(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let is_known = machine.kernel_name(args[2]).is_some();
    Ok(if is_known { Word::NULL } else { INVALID_HANDLE })
}

fn load_function(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let is_known = machine.kernel_name(args[0]).is_some();
    Ok(if is_known { Word::NULL } else { INVALID_HANDLE })
}

fn param_info(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let Some(name) = machine.kernel_name(args[0]) else { return Ok(INVALID_HANDLE) };
    let sizes = &machine.cuda.kernels[name];
    let at = args[1].bits as usize;
    let Some(&size) = sizes.get(at) else { return Ok(INVALID_VALUE) };
    let offset: u64 = sizes[..at].iter().sum();
    machine.memory.store(args[2], Word::bits(offset), 8, 8)?;
    machine.memory.store(args[3], Word::bits(size), 8, 8)?;
    Ok(Word::NULL)
}

/// `cuLaunchKernelEx`: reads the whole configuration, every attribute and every parameter.
fn launch(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    const FIELDS: usize = 7;
    const STREAM: i64 = 32;
    const ATTRIBUTES: i64 = 40;
    const COUNT: i64 = 48;
    const ATTRIBUTE: usize = 72;
    let config = args[0];
    let Some(name) = machine.kernel_name(args[1]).cloned() else { return Ok(INVALID_HANDLE) };
    let mut shape = [0; FIELDS];
    for (index, field) in shape.iter_mut().enumerate() {
        *field = machine.memory.load(config.offset(4 * index as i64), 4, 4)?.bits as u32;
    }
    let stream = machine.memory.load(config.offset(STREAM), 8, 8)?;
    let count = machine.memory.load(config.offset(COUNT), 4, 4)?.bits as usize;
    let attributes = machine.memory.load(config.offset(ATTRIBUTES), 8, 8)?;
    if count > 0 {
        machine.memory.read(attributes, ATTRIBUTE * count, 8)?;
    }
    let sizes = machine.cuda.kernels[&name].clone();
    let mut parameters = Vec::new();
    for (index, size) in sizes.into_iter().enumerate() {
        let parameter = machine.memory.load(args[2].offset(8 * index as i64), 8, 8)?;
        parameters.push(machine.memory.read(parameter, size as usize, 1)?.to_vec());
    }
    if shape[..6].contains(&0) {
        return Ok(INVALID_VALUE);
    }
    ensure(!machine.cuda.contexts.is_empty() || stream.bits > 2, || {
        "a launch on a default stream without a context".to_owned()
    })?;
    machine.cuda.launches.push(Launch { kernel: name, shape, stream, parameters });
    Ok(Word::NULL)
}

/// A command on device memory, which wants a current context.
fn command(machine: &mut Machine<'_>, _: &[Word]) -> Outcome {
    ensure(!machine.cuda.contexts.is_empty(), || "a command without a context".to_owned())?;
    Ok(Word::NULL)
}

/// `cuStreamBatchMemOp`: reads every operation.
fn operate(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    const OPERATION: usize = 48;
    let count = args[1].as_int32();
    ensure((1..256).contains(&count), || format!("{count} operations"))?;
    machine.memory.read(args[2], OPERATION * count as usize, 8)?;
    command(machine, args)
}

/// `cuStreamGetCtx`: a stream that was created is of device 1.
fn stream_context(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    ensure(args[0].bits > LAST_DEFAULT, || "the context of a default stream".to_owned())?;
    machine.yield_handle(args[1], Word::bits(CONTEXTS + 1))
}

fn create_event(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if machine.cuda.contexts.is_empty() {
        return Ok(INVALID_CONTEXT);
    }
    let event = machine.cuda.events.last().map_or(EVENTS, |last| last + 1);
    machine.cuda.events.push(event);
    machine.yield_handle(args[0], Word::bits(event))
}

fn use_event(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let is_event = machine.cuda.events.contains(&args[0].bits);
    ensure(is_event, || "an event that is destroyed".to_owned())?;
    let is_default = args[1].bits <= LAST_DEFAULT;
    Ok(if is_default && machine.cuda.contexts.is_empty() { INVALID_CONTEXT } else { Word::NULL })
}

fn wait_event(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    use_event(machine, &[args[1], args[0]])
}

fn destroy_event(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    let (event, events) = (args[0].bits, &mut machine.cuda.events);
    ensure(events.contains(&event), || "an event is destroyed that does not exist".to_owned())?;
    events.retain(|other| *other != event);
    Ok(Word::NULL)
}

fn max_cluster(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    if machine.kernel_name(args[1]).is_none() {
        return Ok(INVALID_HANDLE);
    }
    machine.yield_int32(args[0], 8)
}

/// `cuTensorMapEncodeTiled`
fn encode_map(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    encode(machine, args, 1, &[(6, 0), (7, 0)])
}

/// `cuTensorMapEncodeIm2col`
fn encode_columns(machine: &mut Machine<'_>, args: &[Word]) -> Outcome {
    encode(machine, args, 3, &[(6, 2), (7, 2), (10, 0)])
}

/// Reads all arrays of a call that encodes a map, and writes the whole map. `words` are the indices of arrays of 32-bit
/// numbers, with how many fewer they have than the map has dims.
fn encode(
    machine: &mut Machine<'_>,
    args: &[Word],
    least: usize,
    words: &[(usize, usize)],
) -> Outcome {
    const MAP: usize = 128;
    let rank = args[2].as_int32();
    let found = usize::try_from(rank).ok().filter(|rank| (least..=5).contains(rank));
    let rank = found.ok_or_else(|| Finding::new(format!("a tensor map of rank {rank}")))?;
    machine.memory.read(args[4], 8 * rank, 8)?;
    if rank > 1 {
        machine.memory.read(args[5], 8 * (rank - 1), 8)?;
    }
    for (array, fewer) in words {
        machine.memory.read(args[*array], 4 * (rank - fewer), 4)?;
    }
    machine.memory.write(args[0], &[0x7a; MAP], 64)?;
    Ok(Word::NULL)
}
