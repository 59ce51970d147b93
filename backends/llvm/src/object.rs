//! Object files: the target, the optimiser, and the native module as bytes.

use std::cell::Cell;
use std::sync::Once;

use codegen::backend::{Error, Feature, Machine, Optimize};
use codegen::ir;
use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetMachineOptions,
    TargetTriple,
};
use inkwell::values::{CallSiteValue, InstructionValue};
use target_lexicon::{BinaryFormat, DeploymentTarget, OperatingSystem, Triple};

use crate::Llvm;
use crate::constructors;
use crate::diagnostic::collect;
pub use crate::machine::Processor;
use crate::machine::known;
use crate::native;
use crate::raw;
use crate::types::Attributes;

/// The contents of a module, which decide about its passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Functions of host IR, and nothing else.
    Hosts,
    /// Functions of a compiler as well: kernels, or all of its module.
    Any,
}

/// Returns the optimiser's passes for a module at a level, in the optimiser's words.
const fn passes(level: Optimize, contents: Contents) -> &'static str {
    match (level, contents) {
        (Optimize::O0, Contents::Hosts | Contents::Any) => "default<O0>",
        (Optimize::O1 | Optimize::O2, Contents::Hosts) => HOST_PASSES,
        (Optimize::O1, Contents::Any) => "default<O1>",
        (Optimize::O2, Contents::Any) => "default<O2>",
        (Optimize::O3, Contents::Hosts | Contents::Any) => "default<O3>",
    }
}

/// The passes from which functions of host IR gain. Calls take as many instructions as after the whole line of `-O2`,
/// to within 1.5 %, or fewer, and the passes a third of its instructions.
///
/// Host IR has no variables in memory, nothing to vectorise and no library calls. What is left: functions of the
/// library that others call are inlined, and internal ones lose arguments that they do not use; checks that hold
/// already and blocks without contents go, first where that decides what is inlined; what does not change in a loop
/// moves out of it, and loops over elements are unrolled. `ipsccp` knows what internal functions return.
const HOST_PASSES: &str = "\
    function(simplifycfg,early-cse),ipsccp,\
    cgscc(inline,function(\
        early-cse<memssa>,\
        simplifycfg<switch-range-to-icmp>,instcombine<no-verify-fixpoint>,simplifycfg<switch-range-to-icmp>,\
        loop-mssa(licm,loop-rotate,licm),simplifycfg<switch-range-to-icmp>,\
        loop(indvars),sccp,bdce,instcombine<no-verify-fixpoint>)),\
    deadargelim,\
    function(loop-unroll<O2>,instcombine<no-verify-fixpoint>,loop-mssa(licm))";

/// Returns the code generator's name of a level.
const fn effort(level: Optimize) -> OptimizationLevel {
    match level {
        Optimize::O0 => OptimizationLevel::None,
        Optimize::O1 => OptimizationLevel::Less,
        Optimize::O2 => OptimizationLevel::Default,
        Optimize::O3 => OptimizationLevel::Aggressive,
    }
}

/// Compiles a module to an object file. The module, which is optimised in place, may be any module; it takes on the
/// target if it has none.
pub fn compile(module: &Module<'_>, llvm: &Llvm) -> Result<Vec<u8>, Error> {
    compile_of(module, llvm, Contents::Any)
}

/// Compiles a module as [`compile`] does, with the passes for its contents.
pub fn compile_of(module: &Module<'_>, llvm: &Llvm, contents: Contents) -> Result<Vec<u8>, Error> {
    with_machine(llvm, |machine| {
        adopt(module, llvm, machine)?;
        collect(module.get_context(), || {
            run_passes(module, (llvm, contents), machine)?;
            if llvm.triple.binary_format == BinaryFormat::Elf {
                constructors::place(module);
            }
            let object = machine.write_to_memory_buffer(module, FileType::Object);
            Ok(object.map_err(native)?.as_slice().to_vec())
        })
    })
}

/// Returns the text of a module.
pub fn text(module: &Module<'_>) -> String {
    module.print_to_string().to_string_lossy().into_owned()
}

/// Returns the bitcode of a module. A module without the name of its source gets one: what LLVM keeps for the
/// optimisation of several modules together is found by it, and its linker reads no module without.
pub fn bitcode(module: &Module<'_>) -> Vec<u8> {
    const SOURCE: &str = "tvm_ffi_codegen";
    if module.get_source_file_name().is_empty() {
        module.set_source_file_name(SOURCE);
    }
    module.write_bitcode_to_memory().as_slice().to_vec()
}

/// Optimises a module in place, as [`compile`] does before it generates code.
pub fn optimize(module: &Module<'_>, llvm: &Llvm) -> Result<(), Error> {
    with_machine(llvm, |machine| {
        adopt(module, llvm, machine)?;
        collect(module.get_context(), || run_passes(module, (llvm, Contents::Any), machine))
    })
}

/// Runs LLVM's verifier on a module.
pub fn verify(module: &Module<'_>) -> Result<(), Error> {
    module.verify().map_err(native)
}

fn run_passes(
    module: &Module<'_>,
    (llvm, contents): (&Llvm, Contents),
    machine: &TargetMachine,
) -> Result<(), Error> {
    verify(module)?;
    if llvm.optimize == Optimize::O1 {
        spare_cold(module);
    }
    let passes = passes(llvm.optimize, contents);
    module.run_passes(passes, machine, PassBuilderOptions::create()).map_err(native)
}

/// Keeps calls of the kernels that [`Optimize::apart`] names from being inlined.
pub fn keep_apart(module: &Module<'_>, source: &ir::Module, optimize: Optimize) {
    let attributes = Attributes::new(module.get_context());
    let is_kernel = |name: &str| {
        module.get_function(name).is_some_and(|function| function.count_basic_blocks() > 0)
    };
    for (caller, kernels) in optimize.apart(source, is_kernel) {
        let Some(caller) = module.get_function(caller) else { continue };
        let blocks = caller.get_basic_block_iter();
        let calls = blocks.flat_map(|block| block.get_instructions()).filter_map(call_site);
        for call in calls {
            let callee = call.get_called_fn_value().map(|callee| callee.get_name().to_owned());
            if callee.is_some_and(|name| kernels.contains(&*name.to_string_lossy())) {
                call.add_attribute(AttributeLoc::Function, attributes.noinline);
            }
        }
    }
}

fn call_site(instruction: InstructionValue<'_>) -> Option<CallSiteValue<'_>> {
    CallSiteValue::try_from(instruction).ok()
}

/// Exempts the cold functions of host IR from optimisation: they are most of a small module, and at `-O1` compile time
/// matters more than size.
pub(crate) fn spare_cold(module: &Module<'_>) {
    let attributes = Attributes::new(module.get_context());
    let place = AttributeLoc::Function;
    for function in module.get_functions() {
        let has =
            |a: &Attribute| function.get_enum_attribute(place, a.get_enum_kind_id()).is_some();
        if attributes.of_cold().iter().all(has) {
            function.remove_enum_attribute(place, attributes.minsize.get_enum_kind_id());
            function.add_attribute(place, attributes.optnone);
        }
    }
}

/// Sets the triple and data layout of the target on a module without its own.
pub(crate) fn adopt(
    module: &Module<'_>,
    llvm: &Llvm,
    machine: &TargetMachine,
) -> Result<(), Error> {
    let (triple, layout) = (module.get_triple(), raw::data_layout(module));
    check_target(llvm, machine, &triple, &layout)?;
    if triple.as_str().is_empty() {
        module.set_triple(&machine.get_triple());
    }
    if layout.is_empty() {
        module.set_data_layout(&machine.get_target_data().get_data_layout());
    }
    Ok(())
}

/// Checks that a module with this triple and this data layout, either of which may be empty, is for a target.
///
/// # Errors
/// [`Error::Target`].
pub fn fits(llvm: &Llvm, triple: &str, layout: &str) -> Result<(), Error> {
    with_machine(llvm, |machine| check_target(llvm, machine, &TargetTriple::create(triple), layout))
}

fn check_target(
    llvm: &Llvm,
    machine: &TargetMachine,
    triple: &TargetTriple,
    layout: &str,
) -> Result<(), Error> {
    let other = |reason| Err(Error::Target { triple: llvm.triple.clone(), reason });
    if !same_target(triple, &machine.get_triple()) {
        return other(format!("the module is for {}", triple.as_str().to_string_lossy()));
    }
    let own = machine.get_target_data().get_data_layout();
    let own = own.as_str().to_string_lossy();
    if !layout.is_empty() && layout != own {
        return other(format!("the module's data layout is {layout}, the target's {own}"));
    }
    Ok(())
}

/// Returns true if code for two triples runs on one machine, or one of them is empty.
pub(crate) fn same_target(a: &TargetTriple, b: &TargetTriple) -> bool {
    if a.as_str().is_empty() || b.as_str().is_empty() {
        return true;
    }
    let normal = |triple| {
        let normal = TargetMachine::normalize_triple(triple);
        normal.as_str().to_string_lossy().replace("arm64-", "aarch64-").replace("macosx", "darwin")
    };
    let (a, b) = (normal(a), normal(b));
    let version = |c: char| c.is_ascii_digit() || c == '.';
    let parts = |triple: &str| {
        let mut parts = triple.split('-');
        let architecture = parts.next().map(str::to_owned);
        let system = parts.nth(1).map(|system| system.trim_end_matches(version).to_owned());
        (architecture, system)
    };
    parts(&a) == parts(&b)
}

/// Returns the processor of a target, if it names one or a feature; `None` for the generic one.
///
/// # Errors
/// [`Error::Target`] for an unknown machine, processor or feature.
pub fn processor(llvm: &Llvm) -> Result<Option<Processor>, Error> {
    let is_generic = llvm.cpu == GENERIC && llvm.features.is_empty();
    stated(llvm).map(|processor| (!is_generic).then_some(processor))
}

/// The name of the baseline of every target.
const GENERIC: &str = "generic";

fn stated(llvm: &Llvm) -> Result<Processor, Error> {
    let unsupported = |reason| Error::Target { triple: llvm.triple.clone(), reason };
    let known = known(Machine::of(&llvm.triple)?);
    let default = known.default(&llvm.triple);
    let cpu = if llvm.cpu == GENERIC { default.name } else { &llvm.cpu };
    if !known.has(cpu) {
        return Err(unsupported(format!("no processor `{cpu}`")));
    }
    if let Some(Feature { name, .. }) = llvm.features.iter().find(|one| !known.has_feature(one)) {
        return Err(unsupported(format!("no feature `{name}`")));
    }
    let own = llvm.features.iter().map(Feature::to_string);
    let default = Some(default.features.to_owned()).filter(|list| !list.is_empty());
    let features = default.into_iter().chain(own).collect::<Vec<_>>().join(",");
    Ok(Processor { cpu: cpu.to_owned(), features })
}

thread_local! {
    /// The code generator that this thread has used last. What it knows about a processor takes a twentieth of
    /// compiling a small library, so it is kept.
    static MACHINE: Cell<Option<(Llvm, TargetMachine)>> = const { Cell::new(None) };
}

/// Calls `f` with LLVM's code generator for a target.
///
/// # Errors
/// [`Error::Target`], and those of `f`.
pub(crate) fn with_machine<T>(
    llvm: &Llvm,
    f: impl FnOnce(&TargetMachine) -> Result<T, Error>,
) -> Result<T, Error> {
    let kept = MACHINE.take().filter(|(of, _)| of == llvm);
    let (of, machine) = match kept {
        Some(kept) => kept,
        None => (llvm.clone(), machine(llvm)?),
    };
    let result = f(&machine);
    MACHINE.set(Some((of, machine)));
    result
}

/// Returns LLVM's code generator for a target: position-independent code for the generic or the chosen CPU.
fn machine(llvm: &Llvm) -> Result<TargetMachine, Error> {
    static TARGETS: Once = Once::new();
    TARGETS.call_once(|| {
        let config = InitializationConfig { disassembler: false, ..Default::default() };
        Machine::ALL.iter().for_each(|&machine| (known(machine).initialize)(&config));
    });
    let unsupported = |reason| Error::Target { triple: llvm.triple.clone(), reason };
    let machine = Machine::of(&llvm.triple)?;
    let known = known(machine);
    let Processor { cpu, features } = stated(llvm)?;
    let triple = TargetTriple::create(&spelling(&llvm.triple, machine));
    let target = Target::from_triple(&triple)
        .map_err(|reason| unsupported(reason.to_string_lossy().into_owned()))?;
    let options = TargetMachineOptions::new()
        .set_cpu(&cpu)
        .set_features(&features)
        .set_abi(known.abi)
        .set_level(effort(llvm.optimize))
        .set_reloc_mode(RelocMode::PIC);
    let machine = target.create_target_machine_from_options(&triple, options);
    machine.ok_or_else(|| unsupported("no code generator".into()))
}

/// Returns LLVM's spelling of a triple: without the extensions in the name of the architecture, and with the oldest
/// supported macOS, which linkers require in an object.
fn spelling(triple: &Triple, machine: Machine) -> String {
    let mut triple = triple.clone();
    let unversioned = matches!(
        triple.operating_system,
        OperatingSystem::Darwin(None) | OperatingSystem::MacOSX(None)
    );
    if unversioned {
        let minor = DeploymentTarget { major: 11, minor: 0, patch: 0 };
        triple.operating_system = OperatingSystem::MacOSX(Some(minor));
    }
    machine.spell(&triple)
}
