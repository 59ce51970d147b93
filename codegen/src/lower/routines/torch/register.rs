//! Registering operators: finding PyTorch in the process, what its numbers mean, and telling it of operators.

use abi_spec::c_library::loader::{RTLD_NODELETE, RTLD_NOLOAD};
use abi_spec::torch::{self, MOST_DEVICES, MOST_DTYPES};

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, Text, call_indirect, constant, routine, structs};
use crate::lower::dynamic::{Entries, entry_address, table};
use crate::lower::routines::loading::{NAME_SIZE, cells, dl, function, load, names, opened};
use crate::lower::routines::torch::{PRINTED, has_delete, has_new, reason};
use crate::lower::torch::{
    Entry, Library, compliant_tag, define, define_tagged, facts, implement, init_fragment,
    init_impl, warn,
};

/// States of the operators of a module: not registered, since there is no PyTorch.
pub(crate) const ABSENT: u64 = 0;

/// A thread is registering them.
const BEGUN: u64 = 1;

/// They are registered. A larger number is that of the first operator that PyTorch has refused, with [`REFUSED`] added.
pub(crate) const REGISTERED: u64 = 2;

/// See [`REGISTERED`].
pub(crate) const REFUSED: u64 = 3;

structs! {
    /// Operators while they are registered.
    Registration RegistrationFields: REGISTRATION_SIZE, 8 => {
        // The library object for schemas, and the one for kernels.
        schemas: Field<Ref<Library>> = 0,
        kernels: Field<Ref<Library>> = 8,
        // The state to end with.
        state: Field<u64> = 16,
    }
    /// A `Dl_info`.
    Info InfoFields: 32, 8 => { file: Field<Ref<u8>> = 0, }
}

/// Size of the struct that registers operators.
pub(crate) const REGISTRATION_SIZE: u32 = 24;

const DTYPES: u64 = MOST_DTYPES as u64;
const DEVICES: u64 = MOST_DEVICES as u64;
const KNOWN_DTYPES: u64 = torch::DTYPES.len() as u64;
const KNOWN_DEVICES: u64 = torch::DEVICES.len() as u64;

/// Begins to register operators in a namespace, a text that lives as long as the process. `state` is the state of the
/// module. Returns 1, or 0 if there is nothing to do: it was done before, or there is no PyTorch with the ABI.
#[routine]
pub(crate) fn torch_begin(state: &u64, namespace: &u8, registration: &Registration) -> i32 {
    let mut found = state.compare_exchange(ABSENT, BEGUN);
    while found == BEGUN {
        found = state.load_atomic();
    }
    if found != ABSENT {
        return 0;
    }
    if torch_find(state) == 0 {
        state.store_atomic(ABSENT);
        return 0;
    }
    registration.state = REGISTERED;
    let failed = init_fragment(namespace, namespace, 0, &registration.schemas);
    let key = dispatch_key();
    if failed | init_impl(namespace, key.data, namespace, 0, &registration.kernels) != 0 {
        state.store_atomic(REFUSED);
        return 0;
    }
    1
}

/// Emits the key of the dispatcher for kernels, which ends with a NUL.
fn dispatch_key(b: &mut Builder<'_>) -> Text {
    constant(b, format!("{}\0", torch::DISPATCH_KEY).as_str())
}

/// Finds PyTorch and its functions, and what its numbers mean. Keeps the module of an address loaded for good: PyTorch
/// never forgets a kernel. Returns 0 if there is no PyTorch with the ABI in the process.
#[routine]
pub(crate) fn torch_find(within: &u64) -> i32 {
    let library = loaded(torch_file().data);
    if library == null {
        return 0;
    }
    let (first, second) = accelerator_files();
    let mut accelerator = loaded(first.data);
    if accelerator == null {
        accelerator = loaded(second.data);
    }
    let table = table::<Entry>();
    let (names, needed) = names::<Entry>();
    for at in 0..<Entry as Entries>::COUNT {
        let name = &names[at * NAME_SIZE];
        let mut address = function(dl(), library, name);
        if address == null && accelerator != null {
            address = function(dl(), accelerator, name);
        }
        (&table[at]).store_atomic(address);
        if address == null && at < needed {
            return 0;
        }
    }
    let (getters, words) = dtypes();
    for at in 0..KNOWN_DTYPES {
        let getter = function(dl(), library, &getters[at * NAME_SIZE]);
        if getter != null {
            let number = number_of(getter) as u32 as u64;
            if number < DTYPES {
                facts().dtypes[number] = words[at];
            }
        }
    }
    let (getters, words) = devices();
    for at in 0..KNOWN_DEVICES {
        let getter = function(dl(), library, &getters[at * NAME_SIZE]);
        if getter != null {
            let number = number_of(getter) as u32 as u64;
            if number < DEVICES {
                facts().devices[number] = words[at];
            }
        }
    }
    let delete = function(dl(), library, operator_delete().data);
    facts().operator_delete = delete;
    facts().exception = function(dl(), library, exception_name().data);
    let new = function(dl(), library, operator_new().data);
    facts().operator_new = new;
    if delete == null && has_delete() == null || new == null && has_new() == null {
        return 0;
    }
    keep(within);
    1
}

/// Returns 0: PyTorch exports no stable ABI on Windows.
#[routine(TORCH_FIND)]
pub(crate) fn torch_find_on_windows(_within: &u64) -> i32 {
    0
}

/// Symbol of the routine, which depends on the platform.
const TORCH_FIND: &str = "tvm_ffi_codegen.torch_find";

/// Finds a library that is loaded.
fn loaded(b: &mut Builder<'_>, file: Ref<u8>) -> Ref<u8> {
    opened(b, file, RTLD_NOLOAD)
}

/// Emits the name of PyTorch's file.
fn torch_file(b: &mut Builder<'_>) -> Text {
    constant(b, format!("{}\0", torch::FILE).as_str())
}

/// Emits the names of the files for accelerators.
fn accelerator_files(b: &mut Builder<'_>) -> (Text, Text) {
    let [first, second] = torch::ACCELERATOR_FILES.map(|file| format!("{file}\0"));
    (constant(b, first.as_str()), constant(b, second.as_str()))
}

/// Emits the name of `operator delete`.
fn operator_delete(b: &mut Builder<'_>) -> Text {
    constant(b, format!("{}\0", torch::OPERATOR_DELETE).as_str())
}

/// Emits the name of the function that returns what an exception says.
fn exception_name(b: &mut Builder<'_>) -> Text {
    constant(b, format!("{}\0", torch::EXCEPTION).as_str())
}

/// Emits the name of `operator new`.
fn operator_new(b: &mut Builder<'_>) -> Text {
    constant(b, format!("{}\0", torch::OPERATOR_NEW).as_str())
}

/// Emits the names of the functions that return numbers of element types, and the 32 bits of each type.
fn dtypes(b: &mut Builder<'_>) -> (Ref<u8>, Ref<u32>) {
    numbered(b, &torch::DTYPES.map(|(name, dtype)| (name, dtype.to_word())))
}

/// Emits the names of the functions that return numbers of types of devices, and each type.
fn devices(b: &mut Builder<'_>) -> (Ref<u8>, Ref<u32>) {
    numbered(b, &torch::DEVICES.map(|(name, ty)| (name, ty.0.cast_unsigned())))
}

fn numbered(b: &mut Builder<'_>, all: &[(&str, u32)]) -> (Ref<u8>, Ref<u32>) {
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let words: Vec<u8> = all.iter().flat_map(|(_, word)| word.to_le_bytes()).collect();
    (cells(b, &names), Ref::new(b.constant_bytes(&words, 8)))
}

/// Calls `int32_t function(void)`.
fn number_of(b: &mut Builder<'_>, function: Ref<u8>) -> Int<i32> {
    let function = function.value(b);
    call_indirect(b, function, ())
}

/// Keeps the file with an address loaded until the process ends.
#[routine(inline)]
fn keep(within: &u64) {
    let info: Info;
    let nothing: &u8 = null;
    let find = function(dl(), load(dl(), nothing), "dladdr\0".data);
    if find != null {
        info.file = null;
        address_info(find, within, info);
        if info.file != null {
            kept(info.file);
        }
    }
}

/// Calls `int dladdr(const void*, Dl_info*)`.
fn address_info(
    b: &mut Builder<'_>,
    function: Ref<u8>,
    within: Ref<u64>,
    info: Ref<Info>,
) -> Int<i32> {
    let function = function.value(b);
    call_indirect(b, function, (within, info))
}

/// Opens a loaded file once more, so that it stays.
fn kept(b: &mut Builder<'_>, file: Ref<u8>) {
    opened(b, file, RTLD_NOLOAD | RTLD_NODELETE);
}

/// Registers an operator, whose number, name, schema and kernel these are.
#[routine]
pub(crate) fn torch_define(
    registration: &Registration,
    number: u64,
    name: &u8,
    schema: &u8,
    kernel: &u8,
) {
    let mut failed: i32 = 0;
    if tagging() != null && tag() != null {
        let tags: i32;
        *tags = compliant_tag();
        failed = define_tagged(registration.schemas, schema, tags, 1);
    } else {
        failed = define(registration.schemas, schema);
    }
    if failed == 0 {
        failed = implement(registration.kernels, name, kernel, torch::VERSION);
    }
    if failed != 0 {
        // Older releases have printed why.
        if facts().exception != null && warning() != null {
            warn(name, "an operator of a library\0".data, 0, reason(PRINTED.data).data);
        }
        if registration.state == REGISTERED {
            registration.state = REFUSED + number;
        }
    }
}

/// Loads the address of the function that warns.
fn warning(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::Warn)
}

/// Loads the address of the function that defines operators with tags.
fn tagging(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::DefineTagged)
}

/// Loads the address of the function that returns the tag.
fn tag(b: &mut Builder<'_>) -> Ref<u8> {
    entry_address(b, Entry::CompliantTag)
}

/// Ends registering.
#[routine]
pub(crate) fn torch_end(state: &u64, registration: &Registration) {
    state.store_atomic(registration.state);
}
