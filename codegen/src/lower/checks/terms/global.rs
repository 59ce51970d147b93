//! Device variables of images, and the functions that are called once an image is loaded on a device.

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{device, exact};
use crate::lower::driver::{DEVICES, HOOK_DONE};
use crate::lower::failure::site::Failed;
use crate::lower::images;
use crate::lower::routines::callee::named_callee;
use crate::lower::routines::commands::Commands;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::CalleeKind;
use crate::resolve::term::{Global, OfGlobal};

/// A kernel or device variable of an image on a device.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Loaded {
    /// Address of the variable of the module that describes it.
    pub(in crate::lower) kernel: Value,
    /// Device index, `I64`.
    pub(in crate::lower) device: Value,
}

/// Returns the address or the size of a device variable. The first use on a device finds it.
pub(super) fn global(c: &mut Checker<'_, '_>, global: &Global) -> Value {
    exact::settle_overflows(c);
    global.unsure.into_iter().for_each(|value| device::require_gpu(c, value));
    let device = device::device_of(c, global.home);
    let found = find(c, &global.image, &global.name, device);
    if let Some(function) = &global.on_load {
        run_hook(c, found.loaded, &global.image, function);
    }
    match global.part {
        OfGlobal::Address => found.address,
        OfGlobal::Size => c.e.b.atomic_load(Type::I64, found.place, images::SIZES),
    }
}

/// A device variable that is found on a device.
struct Found {
    loaded: Loaded,
    /// Address of the word that holds the address.
    place: Value,
    address: Value,
}

/// Emits the code that finds a device variable on a device.
fn find(c: &mut Checker<'_, '_>, image: &str, name: &str, device: Value) -> Found {
    let platform = c.e.function.platform;
    let variables = images::global(c.e.b.module, platform, image, name);
    let [kernel, places] = [variables.kernel, variables.places].map(|symbol| c.e.b.address(symbol));
    let place = place_of(c, places, device);
    let known = c.e.b.atomic_load(Type::Ptr, place, 0);
    let is_known = c.e.b.compare_const(Cond::Ne, known, 0);
    let has_place = c.e.b.compare_const(Cond::Ult, device, DEVICES as i64);
    let is_known = c.e.b.and(is_known, has_place);
    let (first, found) = (c.e.b.cold_block("first"), c.e.b.block("found"));
    let address = c.e.b.block_param(found, Type::Ptr, "global");
    c.e.b.branch(is_known, (found, [known]), first);
    c.e.b.switch_to(first);
    let site = c.exits.here(&mut c.e);
    let status = c.e.routine_value(Commands::of(platform).global, &[site, kernel, device, places]);
    c.e.exit_unless_zero(status, "not_found");
    let new = c.e.b.atomic_load(Type::Ptr, place, 0);
    c.e.b.jump(found, &[new]);
    c.e.b.switch_to(found);
    Found { loaded: Loaded { kernel, device }, place, address }
}

/// Emits the code that finds a device variable, and calls the function of its image, before anything uses them.
pub(in crate::lower) fn prepare_global(
    c: &mut Checker<'_, '_>,
    (image, name): (&str, &str),
    on_load: Option<&str>,
    device: Value,
) {
    let found = find(c, image, name, device);
    if let Some(function) = on_load {
        run_hook(c, found.loaded, image, function);
    }
}

/// Emits the call of the function of an image that is loaded, unless it has been called on the device.
pub(in crate::lower) fn run_hook(
    c: &mut Checker<'_, '_>,
    loaded: Loaded,
    image: &str,
    function: &str,
) {
    let hooks = hooks_of(c, image);
    let is_done = has_run(c, hooks, loaded.device);
    let (first, next) = (c.e.b.cold_block("on_load"), c.e.b.block("loaded"));
    c.e.b.branch(is_done, next, first);
    c.e.b.switch_to(first);
    let callee = named_callee(c.e.b.module, function);
    let callee = c.e.b.address(callee);
    let fault = Failed::of(Complaint::Status, &format!("Failed {function}"));
    let fault = Failed { callee: CalleeKind::Function, ..fault };
    let site = c.exits.site(&mut c.e, &fault);
    let routine = Commands::of(c.e.function.platform).hook;
    let args = [site, loaded.kernel, loaded.device, hooks, callee];
    let status = c.e.routine_value(routine, &args);
    c.e.exit_unless_zero(status, "not_loaded");
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}

/// Returns a `Bool` that is true if the function of an image has been called on a device.
pub(in crate::lower) fn has_hook_run(c: &mut Checker<'_, '_>, image: &str, device: Value) -> Value {
    let hooks = hooks_of(c, image);
    has_run(c, hooks, device)
}

fn hooks_of(c: &mut Checker<'_, '_>, image: &str) -> Value {
    let hooks = images::hooks(c.e.b.module, image);
    c.e.b.address(hooks)
}

fn has_run(c: &mut Checker<'_, '_>, hooks: Value, device: Value) -> Value {
    let place = place_of(c, hooks, device);
    let state = c.e.b.atomic_load(Type::I64, place, 0);
    let is_done = c.e.b.compare_const(Cond::Eq, state, HOOK_DONE as i64);
    let has_place = c.e.b.compare_const(Cond::Ult, device, DEVICES as i64);
    c.e.b.and(is_done, has_place)
}

/// Returns the address of the word of a device in a table; that of some device for one that has none.
fn place_of(c: &mut Checker<'_, '_>, table: Value, device: Value) -> Value {
    let index = c.e.b.binary_const(Binary::And, device, DEVICES as i64 - 1);
    let offset = c.e.b.binary_const(Binary::Shl, index, 3);
    c.e.b.ptr_add(table, offset)
}
