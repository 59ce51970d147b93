//! Random launches at once, and the same launches prepared and then submitted. Both must launch alike, or both refuse.

use std::ffi::c_void;
use std::ptr;

use abi_spec::{Device, DeviceType};
use codegen::Library;
use jit::abi::{Any, Object};
use jit::{Compiled, HostFunction, Jit};

use crate::argument::{Argument, print_list};
use crate::fake_cuda::{self, CUBIN, FakeCuda};
use crate::ffi::{self, Ffi};
use crate::frame::Frame;
use crate::generate::{self, Choices, Launches};
use crate::volume::{Report, noise, scramble};

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed; another one makes other declarations.
    pub seed: u64,
    /// Minimal number of calls.
    pub calls: u64,
    /// Calls per pair of declarations.
    pub each: u64,
}

/// Number of pairs of declarations in a library.
const PAIRS: u64 = 50;

/// Bytes of choices per pair, and per call.
const BYTES: u64 = 240;
const CALL_BYTES: u64 = 48;

/// Calls with the same arguments, each on streams of its own.
const TURNS: u64 = 2;

/// Number of wrong calls after which a run stops.
const SHOWN: usize = 20;

/// Makes random calls in the JIT until there are enough; a call is one that launches at once and one that submits.
pub fn run(plan: &Plan) -> Report {
    let stand_in = fake_cuda::exclusive();
    let mut report = Report::default();
    let own = [0, 1].map(|device| stand_in.create_stream(device));
    while report.calls < plan.calls && report.wrong.len() < SHOWN {
        let first = report.declarations;
        let pairs: Vec<Pair> = (first..first + PAIRS).map(|at| Pair::new(plan, at)).collect();
        let driver = Place { stand_in: &stand_in, ffi: Ffi::new(ffi::installed()), own };
        driver.compare(&pairs, &mut report);
        report.declarations += PAIRS;
    }
    report
}

/// Declarations that do the same, with random arguments.
#[derive(Debug)]
pub struct Pair {
    /// The function that launches at once, and the one that prepares, with the image `cubin`.
    pub library: Library,
    /// Number of arguments of the function that prepares.
    pub held: usize,
    /// Arguments of the function that launches at once.
    pub lists: Vec<Vec<Argument>>,
    /// Numbers that choose the streams of calls.
    streams: Vec<u8>,
}

impl Pair {
    /// Generates a pair; its names include the index.
    ///
    /// # Panics
    /// If a thousand random pairs are invalid.
    pub fn new(plan: &Plan, index: u64) -> Pair {
        let lists = plan.each.div_ceil(TURNS);
        let mut bytes = noise(plan.seed, index, BYTES + CALL_BYTES * lists);
        // An invalid declaration is replaced by another.
        for turn in 0..1000 {
            let mut choices = Choices::new(&bytes);
            let Launches { at_once, prepare, held } = generate::launches(&mut choices);
            let text = format!("image cubin; {at_once} {prepare}");
            if let Ok(mut library) = text.parse::<Library>() {
                let list = |_| generate::arguments(&mut choices, &library.functions[0]);
                let mut lists: Vec<Vec<Argument>> = (0..lists).map(list).collect();
                for list in &mut lists {
                    list.iter_mut().take(held).for_each(generate::own);
                }
                library.functions[0].signature.name += &index.to_string();
                library.functions[1].signature.name += &index.to_string();
                return Pair { library, held, lists, streams: bytes };
            }
            let seed = bytes.iter().fold(turn, |seed, &byte| scramble(seed ^ u64::from(byte)));
            bytes = noise(seed, turn, bytes.len() as u64);
        }
        panic!("no declarations of seed {}, index {index}, mean anything", plan.seed)
    }

    /// Returns the streams of two devices for a turn of a list: 0, 1 and 2 are those of the driver, `None` is one of
    /// the caller's own.
    pub fn streams(&self, list: usize, turn: usize) -> [Option<usize>; 2] {
        let choice = self.streams[(2 * list + turn) % self.streams.len()];
        [0, 1].map(|device| usize::from(choice >> (2 * device) & 3).checked_sub(1))
    }
}

/// The stand-in, a runtime, and a stream of each device.
struct Place<'a> {
    stand_in: &'a FakeCuda,
    ffi: Ffi,
    own: [*mut c_void; 2],
}

/// What a call has launched, and its error.
#[derive(PartialEq)]
struct Ended {
    launches: String,
    error: Option<String>,
}

impl Ended {
    fn is_alike(&self, other: &Ended) -> bool {
        self.launches == other.launches && self.error.is_some() == other.error.is_some()
    }
}

impl Place<'_> {
    fn compare(&self, pairs: &[Pair], report: &mut Report) {
        let compiled = compile(pairs);
        for pair in pairs {
            let [at_once, prepare] = [0, 1].map(|at| {
                let name = &pair.library.functions[at].signature.name;
                compiled.function(name).unwrap_or_else(|| panic!("no function {name}"))
            });
            for (at, list) in pair.lists.iter().enumerate() {
                let Some(frame) = Frame::new(list, &self.ffi) else { continue };
                let held = pair.held.min(list.len());
                let (first, rest) = frame.args.split_at(held);
                let submit = self.prepare(&prepare, first);
                for turn in 0..TURNS {
                    self.set_streams(pair.streams(at, turn as usize));
                    let once = self.ended(|result| raw(&at_once, &frame.args, result));
                    let submitted = match &submit {
                        Ok(function) => self.ended(|result| {
                            let (args, count) = (rest.as_ptr(), rest.len() as i32);
                            // SAFETY: the function is live, and the arguments are valid.
                            unsafe { self.ffi.call(*function, args, count, result) }
                        }),
                        Err(error) => Ended { launches: String::new(), error: Some(error.clone()) },
                    };
                    report.calls += 1;
                    report.accepted += u64::from(once.error.is_none());
                    if !once.is_alike(&submitted) {
                        report.wrong.push(differ(pair, list, &once, &submitted));
                    }
                }
                if let Ok(function) = submit {
                    // SAFETY: the reference is ours.
                    unsafe { self.ffi.release(function) };
                }
                if !frame.is_balanced() {
                    let text = format!("{}{}\n  references", pair.library, print_list(list));
                    report.wrong.push(text);
                }
            }
        }
    }

    /// Sets the streams of both devices.
    fn set_streams(&self, streams: [Option<usize>; 2]) {
        for ((id, own), stream) in (0..).zip(self.own).zip(streams) {
            let stream = stream.unwrap_or_else(|| own.expose_provenance());
            self.ffi.set_stream(Device { ty: DeviceType::CUDA, id }, stream);
        }
    }

    /// Makes the function that submits. What is launched meanwhile is an error.
    fn prepare(&self, function: &HostFunction, args: &[Any]) -> Result<*mut Object, String> {
        let mut made = Any::NONE;
        let Ended { launches, error } = self.ended(|result| {
            let status = raw(function, args, result);
            made = std::mem::replace(result, Any::NONE);
            status
        });
        assert_eq!(launches, "", "a launch is prepared only");
        error.map_or(Ok(made.pointer().cast()), Err)
    }

    fn ended(&self, call: impl FnOnce(&mut Any) -> i32) -> Ended {
        self.stand_in.reset();
        let mut result = Any::NONE;
        let status = call(&mut result);
        assert_eq!((result.type_index, result.bits()), (0, 0), "a call without a result");
        let record = self.stand_in.record();
        let launches: String = record.lines().filter(is_work).collect();
        assert_eq!(self.stand_in.live().pushed, 0, "{record}");
        let error = match (status, self.ffi.take_error()) {
            (0, None) => None,
            (-1, Some((kind, message))) => Some(format!("{kind}: {message}")),
            (status, error) => panic!("status {status}, error {error:?}"),
        };
        Ended { launches, error }
    }
}

/// Returns true for lines of the record about launches and commands.
fn is_work(line: &&str) -> bool {
    ["cuLaunch", "cuMem", "cuStreamBatch"].iter().any(|name| line.starts_with(name))
}

fn raw(function: &HostFunction, args: &[Any], result: &mut Any) -> i32 {
    // SAFETY: the arguments are valid.
    unsafe { function.call_raw(ptr::null_mut(), args.as_ptr(), args.len() as i32, result) }
}

/// Collects the declarations of pairs in one library.
pub fn library(pairs: &[Pair]) -> Library {
    let mut library = pairs[0].library.clone();
    library.functions =
        pairs.iter().flat_map(|pair| pair.library.functions.iter().cloned()).collect();
    library.images[0].bytes = Some(CUBIN.to_vec());
    library
}

fn compile(pairs: &[Pair]) -> Compiled {
    let library = library(pairs);
    let jit = Jit::with_runtime(ffi::installed()).unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: the stand-in runs no kernel.
    unsafe { jit.launches() }.compile(&library).unwrap_or_else(|error| panic!("{error}"))
}

fn differ(pair: &Pair, list: &[Argument], once: &Ended, submitted: &Ended) -> String {
    let [once, submitted] = [once, submitted].map(|Ended { launches, error }| {
        format!("{launches} {}", error.as_deref().unwrap_or("success"))
    });
    let list = print_list(list);
    format!("{}{list}\n  at once   {once}\n  submitted {submitted}", pair.library)
}
