//! The Wild linker, in process, on files in memory and a thread of its own.
//!
//! Bindings in its output are corrected by [`require`], because Wild takes them from the definitions in shared
//! libraries. [`require`] can go once Wild takes them from the references (wild-linker/wild#1156).

mod symbols;

use std::any::Any;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::env;
use std::fmt;
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;

use codegen::backend::Machine;
use libwild::error::Result as WildResult;
use libwild::{Args, FileSystem, FileType, InputFileData, Linker, OutputFileData, OutputOptions};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf as format};

use super::adapt::adapt;
use super::input::{Definition, ObjectFacts};
use super::merge::Merge;
use super::{Input, Options, Output, Taken, base_name, elf, words};
use crate::Error;

const LIBRARY: &str = "library.so";
const SCRIPT: &str = "exports.map";

/// Bytes that a library may have besides twice the size of its inputs, for headers and padding between pages. A damaged
/// object can ask for any size or alignment.
const ROOM: usize = 64 << 20;

/// Links in ELF.
pub(super) fn link(
    inputs: &[Input],
    options: &Options,
    machine: Machine,
) -> Result<Vec<u8>, Error> {
    let fail = |reason: String| Error::Linker { name: "wild".to_owned(), reason };
    if let Some(name) = variable() {
        return Err(fail(format!(
            "{name} is set, which changes what it does: unset it, or take linker cc"
        )));
    }
    if options.output == Output::Shared {
        symbols::check(inputs)?;
    }
    let mut objects: Vec<Input> =
        inputs.iter().filter(|input| !input.is_archive()).cloned().collect();
    objects.extend(members(inputs));
    adapt(&mut objects);
    let merge = (options.output == Output::Object).then(|| Merge::of(&mut objects));
    match attempt(&objects, options, machine) {
        Ok(mut bytes) => {
            match merge {
                Some(merge) => merge.give_back(&mut bytes, &objects)?,
                None => {
                    require(&mut bytes, inputs);
                    align_zeros(&mut bytes);
                }
            }
            clear_null_section(&mut bytes);
            Ok(bytes)
        }
        Err(failure) => {
            let culprits = culprits(&objects, options, machine);
            let files = culprits.join(", ");
            Err(fail(match failure {
                Failure::Said(text) if culprits.iter().all(|file| text.contains(file)) => text,
                Failure::Said(text) => format!("it fails on {files}: {text}"),
                Failure::Panic(text) => format!("it panicked on {files}: {text}"),
            }))
        }
    }
}

/// Returns a variable of the environment with the prefix of those that Wild reads. With some of them it runs programs
/// or writes files, with others its output is another.
fn variable() -> Option<String> {
    let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("WILD_")).min()
}

/// Failure of the linker.
enum Failure {
    /// An error, with its text, which may name another file than the one at fault.
    Said(String),
    /// A panic, with its text.
    Panic(String),
}

fn attempt(inputs: &[Input], options: &Options, machine: Machine) -> Result<Vec<u8>, Failure> {
    let memory = Memory::default();
    let arguments = arguments(inputs, options, machine, &memory);
    // Wild runs in the current pool; without this one it would start the global pool, which never ends.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(|_| THREAD.to_owned());
    let pool = pool.build().map_err(|error| Failure::Said(error.to_string()))?;
    keep_quiet();
    let run = || pool.install(|| run(&arguments, &memory));
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let text = words::without_advice(&words::without_numbers(&error.to_string()));
            return Err(Failure::Said(words::with_names(&text, inputs)));
        }
        Err(panic) => return Err(Failure::Panic(text_of(&*panic))),
    }
    memory.take(Path::new(LIBRARY)).ok_or_else(|| Failure::Said("it wrote nothing".to_owned()))
}

/// Name of the thread that links.
const THREAD: &str = "tvm-ffi-codegen-wild";

/// Keeps panics of the linker from being printed: the error has their text.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(THREAD) {
                before(panic);
            }
        }));
    });
}

/// Returns the message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it does not say why").to_owned()
}

/// Returns the names of the inputs on which alone the linker fails, or else of those without which it does not; all if
/// there is none.
fn culprits(inputs: &[Input], options: &Options, machine: Machine) -> Vec<String> {
    let fails = |inputs: &[Input]| attempt(inputs, options, machine).is_err();
    let alone = |at: &usize| fails(&inputs[*at..=*at]);
    let needed = |at: &usize| !fails(&[&inputs[..*at], &inputs[at + 1..]].concat());
    let mut found: Vec<usize> = (0..inputs.len()).filter(alone).collect();
    if found.is_empty() {
        found = (0..inputs.len()).filter(needed).collect();
    }
    let named = |at: &usize| inputs[*at].name().to_owned();
    let all = || inputs.iter().map(|input| input.name().to_owned()).collect();
    if found.is_empty() { all() } else { found.iter().map(named).collect() }
}

/// Makes weak undefined symbols of a library strong if an input refers to them strongly: Wild copies a weak binding
/// from the shared library that defines the symbol.
fn require(library: &mut [u8], inputs: &[Input]) {
    /// Bytes of a symbol in ELF, and the offset of its binding, which is above four bits of its type.
    const SYMBOL: usize = 24;
    const INFO: usize = 4;
    let wanted: BTreeSet<&[u8]> =
        inputs.iter().flat_map(Input::objects).flat_map(|facts| facts.undefined()).collect();
    let Ok(file) = object::File::parse(&*library) else { return };
    let table = file.section_by_name(".dynsym").and_then(|section| section.file_range());
    let Some((start, _)) = table else { return };
    let weak = file.dynamic_symbols().filter(|symbol| symbol.is_undefined() && symbol.is_weak());
    let weak = weak.filter(|symbol| symbol.name_bytes().is_ok_and(|name| wanted.contains(name)));
    let places: Vec<usize> =
        weak.map(|symbol| start as usize + symbol.index().0 * SYMBOL + INFO).collect();
    for place in places {
        if let Some(info) = library.get_mut(place) {
            *info = object::elf::STB_GLOBAL.0 << 4 | *info & 0xf;
        }
    }
}

/// Gives segments of zeros alone an offset in the file that is congruent to their address, without which loaders refuse
/// them: Wild takes the end of what is before, whatever the alignment of the zeros. The page in the file stays.
fn align_zeros(library: &mut [u8]) {
    /// Offset of the field `p_offset` in a program header of 64-bit ELF.
    const OFFSET: usize = 8;
    let places = || {
        let file = ElfFile64::<Endianness>::parse(&*library).ok()?;
        let endian = file.endian();
        let start = usize::try_from(file.elf_header().e_phoff(endian)).ok()?;
        let size = usize::from(file.elf_header().e_phentsize(endian));
        let headers = file.elf_program_headers().iter().enumerate();
        let zeros = headers.filter(|(_, header)| {
            header.p_type(endian) == format::PT_LOAD && header.p_filesz(endian) == 0
        });
        let placed = zeros.map(|(index, header)| {
            let within = header.p_align(endian).max(1) - 1;
            let offset = header.p_offset(endian) & !within | header.p_vaddr(endian) & within;
            (start + index * size + OFFSET, offset)
        });
        Some(placed.collect::<Vec<_>>())
    };
    for (at, offset) in places().unwrap_or_default() {
        if let Some(field) = library.get_mut(at..at + size_of::<u64>()) {
            field.copy_from_slice(&offset.to_le_bytes());
        }
    }
}

/// Clears the flags of the section of index 0, which is none: Wild gives it those of what has no section.
fn clear_null_section(file: &mut [u8]) {
    /// Offset and size of the field `sh_flags` in a section header of 64-bit ELF.
    const FLAGS: usize = 8;
    const SIZE: usize = 8;
    let place = || {
        let elf = ElfFile64::<Endianness>::parse(&*file).ok()?;
        Some(usize::try_from(elf.elf_header().e_shoff(elf.endian())).ok()? + FLAGS)
    };
    if let Some(flags) = place().and_then(|at| file.get_mut(at..at + SIZE)) {
        flags.fill(0);
    }
}

fn run(arguments: &[String], memory: &Memory) -> WildResult {
    let mut args = Args::new(|| arguments.iter())?;
    // Keeps warnings from being printed: they are about ignored options.
    args.on_warning(Box::new(|_| {}));
    args.parse(|| arguments.iter())?;
    Linker::with_file_system(memory.clone()).run(&args).map(drop)
}

/// Returns the arguments of `ld`, and puts the files into `memory`.
fn arguments(
    inputs: &[Input],
    options: &Options,
    machine: Machine,
    memory: &Memory,
) -> Vec<String> {
    memory.put(SCRIPT.into(), Arc::new(elf::version_script(inputs, options).into_bytes()));
    let mut arguments = vec!["ld".to_owned(), "--no-identity-comment".to_owned()];
    arguments.extend(elf::arguments(options, machine, SCRIPT));
    // Wild replaces loads of the address of a symbol that is not there by the address of the library's beginning, and
    // loads of numbers by instructions that have room for 31 bits.
    if options.output == Output::Shared && loads_what_is_no_address(inputs) {
        arguments.push("--no-relax".to_owned());
    }
    for (i, input) in inputs.iter().enumerate() {
        // A library keeps its name, which is recorded if it has no soname.
        let base = base_name(input.name());
        let as_is = input.is_library() && !base.starts_with('-') && !memory.has(base.as_ref());
        let path = if as_is { base } else { words::path(i, input) };
        memory.put(path.clone().into(), input.shared_bytes());
        arguments.push(path);
    }
    arguments.extend(["-o".to_owned(), LIBRARY.to_owned()]);
    arguments
}

/// Returns true if code loads the address of a weak hidden symbol that no object defines, or may load that of a symbol
/// that is a number.
fn loads_what_is_no_address(inputs: &[Input]) -> bool {
    // Libraries have numbers that stand for versions.
    let own: Vec<Input> = inputs.iter().filter(|input| !input.is_library()).cloned().collect();
    let taken = Taken::of(&own);
    let mut loaded = taken.objects.iter().flat_map(|facts| &facts.loaded);
    let mut defined = taken.defined.values();
    loaded.any(|name| !taken.defined.contains_key(name.as_slice()))
        || defined.any(|definition| *definition == Definition::Absolute)
}

/// Returns the members of archives that are taken: Wild leaves some of them out that other linkers take.
fn members(inputs: &[Input]) -> Vec<Input> {
    let taken: HashSet<*const ObjectFacts> =
        Taken::of(inputs).objects.into_iter().map(std::ptr::from_ref).collect();
    let archives = inputs.iter().filter(|input| input.is_archive());
    let members = archives.flat_map(|archive| {
        let is_taken = |facts: &&ObjectFacts| taken.contains(&std::ptr::from_ref(*facts));
        archive.objects().iter().filter(is_taken).map(|facts| archive.member(facts))
    });
    members.collect()
}

/// Files of one run.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<HashMap<PathBuf, Arc<Vec<u8>>>>>);

impl Memory {
    fn put(&self, path: PathBuf, bytes: Arc<Vec<u8>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, bytes);
    }

    fn get(&self, path: &Path) -> io::Result<Arc<Vec<u8>>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn has(&self, path: &Path) -> bool {
        self.get(path).is_ok()
    }

    fn take(&self, path: &Path) -> Option<Vec<u8>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.remove(path).map(Arc::unwrap_or_clone)
    }
}

struct InputFile(Arc<Vec<u8>>);

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl InputFileData for InputFile {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

struct OutputFile {
    path: PathBuf,
    bytes: Vec<u8>,
    memory: Memory,
}

impl OutputFileData for OutputFile {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn finish(self) -> WildResult {
        self.memory.put(self.path, Arc::new(self.bytes));
        Ok(())
    }
}

impl FileSystem for Memory {
    type Input = InputFile;
    type Output = OutputFile;

    fn open_input(&self, path: &Path, _: bool) -> WildResult<(InputFile, Option<Arc<File>>)> {
        Ok((InputFile(self.get(path)?), None))
    }

    fn file_type(&self, path: &Path) -> WildResult<FileType> {
        self.get(path)?;
        Ok(FileType::File)
    }

    fn canonicalize(&self, path: &Path) -> WildResult<PathBuf> {
        Ok(path.to_owned())
    }

    fn remove_file(&self, path: &Path) -> WildResult {
        self.take(path);
        Ok(())
    }

    fn rename_file(&self, path: &Path, new_path: &Path) -> WildResult {
        let bytes = self.get(path)?;
        self.take(path);
        self.put(new_path.to_owned(), bytes);
        Ok(())
    }

    fn create_output(&self, path: Arc<Path>, options: OutputOptions) -> WildResult<OutputFile> {
        let size = usize::try_from(options.size)?;
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs: usize = files.values().map(|bytes| bytes.len()).sum();
        drop(files);
        if size > 2 * inputs + ROOM {
            return Err(libwild::error!("the library would have {size} bytes, from {inputs}"));
        }
        let bytes = vec![0; size];
        Ok(OutputFile { path: path.to_path_buf(), bytes, memory: self.clone() })
    }

    fn write_auxiliary(&self, path: &Path, bytes: &[u8]) -> WildResult {
        self.put(path.to_owned(), Arc::new(bytes.to_vec()));
        Ok(())
    }
}
