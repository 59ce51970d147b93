//! Routines that are compiled once, and that a linker adds to the modules that use them.
//!
//! What is not to be inlined is left to the linker; the hot routines stay with each module. So that few versions
//! do for all modules, there is one for each [`Extent`]. The name of a symbol says which, and by which sources it was
//! made: what objects of other versions want is another symbol.

use super::{Heat, Routine, define_used};
use crate::ir::{Linkage, Module, Symbol};
use crate::lower::cuda::Loader;
use crate::lower::explain::codes::{Feature, LeafKind, Op, Rpn, Used};

/// Which sources made the routines.
const STAMP: &str = env!("ROUTINES_STAMP");

/// How much routines know: a version that knows less is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extent {
    /// Tensors and scalars, with the integer expressions that relate them.
    Tensors,
    /// Values of every kind, and programs.
    Values,
    /// Tensors that are allocated: these routines want `malloc` and `free`.
    Allocations,
    /// Launches, without allocations: these want the functions of the platform that open libraries.
    Launches,
    /// All of it.
    All,
}

impl Extent {
    /// All, from the least to the most.
    pub const ALL: [Extent; 5] =
        [Extent::Tensors, Extent::Values, Extent::Allocations, Extent::Launches, Extent::All];

    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Extent::Tensors => "tensors",
            Extent::Values => "values",
            Extent::Allocations => "allocations",
            Extent::Launches => "launches",
            Extent::All => "all",
        }
    }

    /// Whose routines an object wants that refers to a symbol; `None` if the symbol is no routine that a linker adds, or
    /// one of another version.
    ///
    /// ```
    /// use tvm_ffi_codegen::Extent;
    ///
    /// assert_eq!(Extent::of_symbol("tvm_ffi_codegen.explain.tensors.0123456789abcdef"), None);
    /// assert_eq!(Extent::of_symbol("malloc"), None);
    /// ```
    pub fn of_symbol(name: &str) -> Option<Extent> {
        let (start, stamp) = name.strip_prefix("tvm_ffi_codegen.")?.rsplit_once('.')?;
        let (_, name) = start.rsplit_once('.')?;
        Extent::ALL.into_iter().find(|extent| extent.name() == name && stamp == STAMP)
    }

    /// The codes that these routines know.
    fn used(self) -> Used {
        let mut used = Used::all(Loader::Dl);
        if self < Extent::Launches {
            used.unmark(Feature::Launch);
        }
        if self < Extent::Values {
            VALUE_STEPS.iter().for_each(|&op| used.unmark(op));
            VALUE_OPERATIONS.iter().for_each(|&operation| used.unmark(operation));
            VALUE_PIECES.iter().for_each(|&kind| used.unmark(kind));
        }
        used
    }

    /// Whether such a version has a routine, apart from what its own need.
    fn offers(self, routine: Routine) -> bool {
        let allocates = ALLOCATE_ROUTINES.contains(&routine);
        let launches = LAUNCH_ROUTINES.contains(&routine);
        match self {
            Extent::Tensors => TENSOR_ROUTINES.contains(&routine),
            Extent::Values => !allocates && !launches,
            Extent::Allocations => !launches,
            Extent::Launches => !allocates,
            Extent::All => true,
        }
    }

    fn symbol(self, routine: Routine) -> String {
        format!("{}.{}.{STAMP}", routine.name(), self.name())
    }
}

/// What only values that are no tensors and scalars have.
const VALUE_STEPS: [Op; 12] = [
    Op::Element,
    Op::Context,
    Op::Owned,
    Op::Instance,
    Op::Size,
    Op::Dtype,
    Op::Device,
    Op::Numbers,
    Op::Literal,
    Op::Each,
    Op::Entries,
    Op::OneOf,
];
const VALUE_OPERATIONS: [Rpn; 28] = [
    Rpn::Number,
    Rpn::Count,
    Rpn::Length,
    Rpn::NumberCount,
    Rpn::TextSize,
    Rpn::TypeOfDevice,
    Rpn::IndexOfDevice,
    Rpn::SameText,
    Rpn::RestSize,
    Rpn::Fadd,
    Rpn::Fsub,
    Rpn::Fmul,
    Rpn::Fdiv,
    Rpn::Fmin,
    Rpn::Fmax,
    Rpn::Fneg,
    Rpn::ToFloat,
    Rpn::UnsignedToFloat,
    Rpn::RoundSingle,
    Rpn::RoundHalf,
    Rpn::Feq,
    Rpn::Fne,
    Rpn::Flt,
    Rpn::Fle,
    Rpn::Fgt,
    Rpn::Fge,
    Rpn::Narrow,
    Rpn::NarrowUnsigned,
];
const VALUE_PIECES: [LeafKind; 5] =
    [LeafKind::Float, LeafKind::Text, LeafKind::Truth, LeafKind::Written, LeafKind::Template];

/// What checks of tensors and scalars call.
const TENSOR_ROUTINES: [Routine; 11] = [
    Routine::Explain,
    Routine::FailAt,
    Routine::Settle,
    Routine::CheckTensor,
    Routine::SameDevices,
    Routine::IsCompact,
    Routine::CompactAt,
    Routine::NotEmpty,
    Routine::Numel,
    Routine::RoundHalf,
    Routine::GiveText,
];

/// What only allocations call.
const ALLOCATE_ROUTINES: [Routine; 3] =
    [Routine::Allocate, Routine::AllocateOne, Routine::AllocatePlain];

/// What only launches call.
const LAUNCH_ROUTINES: [Routine; 16] = [
    Routine::TensorMap,
    Routine::Prepare,
    Routine::PrepareHere,
    Routine::OpenDriver,
    Routine::Unload,
    Routine::LoadKernel,
    Routine::LoadImage,
    Routine::CheckParams,
    Routine::Allow,
    Routine::FitShared,
    Routine::EnterContext,
    Routine::PushPrimary,
    Routine::LeaveContext,
    Routine::DriverFailed,
    Routine::KernelFailed,
    Routine::LaunchFailed,
];

/// Defines the hot routines that a module declares, and leaves the others to a linker.
pub(crate) fn leave(module: &mut Module, used: Used) {
    define_used(module, Linkage::Local, used, stays);
    let left = declared(module);
    let fits = |extent: &Extent| {
        extent.used().covers(&used) && left.iter().all(|&(_, routine)| extent.offers(routine))
    };
    let extent = Extent::ALL.into_iter().find(fits).unwrap_or(Extent::All);
    publish(module, &left, extent, Linkage::Import);
}

/// A module of routines for a linker, which keeps one copy of each and shows it to no loader.
///
/// ```
/// use tvm_ffi_codegen::{Extent, Library, Options, Routines, ir, linked_routines, lower};
///
/// let library: Library = "half(x: float64) -> float64 = half(x);".parse()?;
/// let options = Options { routines: Routines::Linked, ..Options::default() };
/// let module = lower(&library.resolve()?, &options);
/// let imported = module.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Import);
/// let extents: Vec<_> = imported.filter_map(|symbol| Extent::of_symbol(&symbol.name)).collect();
/// assert_eq!(extents[0], Extent::Tensors);
/// ir::verify(&linked_routines(extents[0])).unwrap();
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
pub fn linked_routines(extent: Extent) -> Module {
    let mut module = Module::default();
    let offered = |routine: &Routine| extent.offers(*routine) && !stays(*routine);
    for routine in Routine::ALL.iter().filter(|routine| offered(routine)) {
        routine.declare(&mut module, Linkage::Local);
    }
    define_used(&mut module, Linkage::Local, extent.used(), |_| true);
    let roots: Vec<_> = declared(&module).into_iter().filter(|(_, one)| offered(one)).collect();
    publish(&mut module, &roots, extent, Linkage::Once);
    module
}

/// Whether a routine is defined in each module that uses it, where it may be inlined. It has no state that all share.
fn stays(routine: Routine) -> bool {
    match routine.heat() {
        Heat::hot => true,
        Heat::outline | Heat::cold => false,
    }
}

/// The routines that a module declares, apart from those that stay with it.
fn declared(module: &Module) -> Vec<(Symbol, Routine)> {
    let left = Routine::ALL.iter().filter(|routine| !stays(**routine));
    left.filter_map(|&routine| Some((module.find(routine.name())?, routine))).collect()
}

/// Gives routines the linkage and the names that objects know them by.
fn publish(module: &mut Module, routines: &[(Symbol, Routine)], extent: Extent, linkage: Linkage) {
    for &(symbol, _) in routines {
        module.symbols[symbol.index()].linkage = linkage;
    }
    let name = |&(symbol, routine): &(Symbol, Routine)| (symbol, extent.symbol(routine));
    let names: Vec<(Symbol, String)> = routines.iter().map(name).collect();
    module.rename(&names).expect("no declaration can say the name of a routine");
}
