//! The routines that every wrapper shares: a few on the hot path, the rest to explain failures.
//!
//! They are host IR like everything else, so each backend compiles the same code. Most are written in the language of
//! [`routine`](crate::ir::typed::routine); those that are not are made with the builder.

mod access;
mod allocate;
mod allocate_plain;
mod big_int;
mod call;
mod code;
mod cuda;
mod errors;
mod evaluate;
mod explain;
mod float;
mod functions;
mod give;
mod half;
mod kinds;
pub(crate) mod linked;
mod loops;
mod machine;
mod memory;
pub(crate) mod named;
mod names;
mod native;
mod number;
mod occurrence;
mod pieces;
mod properties;
mod quote;
mod raise;
mod result;
mod runtime;
mod scalar;
mod state;
mod tensor;
mod text;
mod values;
mod view;

pub(crate) use access::NUMBERS_SIZE;
pub(crate) use text::PIECES;

use crate::ir::Type::{I32, I64, Ptr};
use crate::ir::typed;
use crate::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind};
use crate::lower::explain::codes::Used;
use crate::lower::explain::extent::Topic;

/// Declares [`Routine`] and what is known of each: how often it is called, what it is about, and the function that
/// builds it. Of those that are `written` in the language that function knows the symbol, parameters and result, too.
macro_rules! routines {
    (
        written { $($typed:ident $typed_heat:ident, $typed_topic:ident, $path:path;)* }
        $($(#[$doc:meta])* $name:ident $symbol:literal [$($param:ident),*] -> $result:expr, $heat:ident, $topic:ident, $build:path;)*
    ) => {
        /// The shared routines. Questions yield 0 or 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Routine {
            $(#[doc = concat!("See [`", stringify!($path), "`].")] $typed,)*
            $($(#[$doc])* $name,)*
        }

        impl Routine {
            /// Every routine, in the order in which they are emitted.
            const ALL: &[Routine] = &[$(Routine::$typed,)* $(Routine::$name),*];

            /// The name of its symbol. No declaration can say it.
            const fn name(self) -> &'static str {
                match self {
                    $(Routine::$typed => <$path as typed::Routine>::NAME,)*
                    $(Routine::$name => concat!("tvm_ffi_codegen.", $symbol),)*
                }
            }

            fn signature(self) -> Signature {
                match self {
                    $(Routine::$typed => <$path as typed::Routine>::signature(),)*
                    $(Routine::$name => Signature::new(&[$($param),*], $result),)*
                }
            }

            fn build(self) -> fn(&mut Builder<'_>, Used) {
                match self {
                    $(Routine::$typed => |b, _| <$path as typed::Routine>::build(b),)*
                    $(Routine::$name => $build,)*
                }
            }

            /// How often it is called.
            const fn heat(self) -> Heat {
                match self {
                    $(Routine::$typed => Heat::$typed_heat,)*
                    $(Routine::$name => Heat::$heat,)*
                }
            }

            /// What it is about: versions that are about this have it for modules, others where their own call it.
            const fn topic(self) -> Topic {
                match self {
                    $(Routine::$typed => Topic::$typed_topic,)*
                    $(Routine::$name => Topic::$topic,)*
                }
            }
        }
    };
}

/// How often a routine is called.
#[derive(Clone, Copy)]
#[expect(non_camel_case_types, reason = "words of the table")]
enum Heat {
    /// On the hot path of some functions.
    hot,
    /// Likewise, and to be called even where it could be inlined.
    outline,
    /// Where something is wrong or unusual.
    cold,
}

routines! {
    written {
        FailAt cold, Tensors, errors::fail_at;
        IsOwned hot, Values, result::is_owned;
        CopyAny hot, Values, result::copy_any;
        Own outline, Values, result::own;
        LookUp cold, Values, functions::look_up;
        CallNamed outline, Values, call::call_named;
        CallObject outline, Values, call::call_object;
        Release hot, Values, result::release;
        Leave cold, Expressions, result::leave;
        Allocate outline, Allocations, allocate::allocate;
        AllocateOne outline, Allocations, allocate::allocate_one;
        AllocatePlain outline, Allocations, allocate_plain::allocate_plain;
        DataSize outline, Allocations, allocate_plain::data_size;
        CheckSize outline, Allocations, allocate::check_size;
        MakeArray outline, Values, functions::make_array;
        MakeShape outline, Values, functions::make_shape;
        Make outline, Values, functions::make;
        Settle outline, Tensors, view::settle;
        CheckTensor outline, Tensors, view::check_tensor;
        SameDevices cold, Tensors, view::same_devices;
        StrideAt hot, Tensors, view::stride_at;
        CompactAt cold, Tensors, view::compact_at;
        NotEmpty cold, Tensors, view::not_empty;
        Numel outline, Tensors, view::numel;
        IsCompact outline, Tensors, view::is_compact;
        Object hot, Values, access::object;
        Text outline, Values, access::text;
        SameText hot, Values, access::same_text;
        OneOfTexts outline, Values, access::one_of_texts;
        Numbers outline, Values, access::numbers;
        ToDtype cold, Values, access::to_dtype;
        ToDevice cold, Values, access::to_device;
        IsInstance outline, Values, access::is_instance;
        GiveText cold, Tensors, give::give_text;
        PassOn cold, Inside, errors::pass_on;
        SetPassing cold, Inside, errors::set_passing;
        Raise cold, Inside, errors::raise;
        PutDtype cold, Inside, names::put_dtype;
        PutDevice cold, Inside, names::put_device;
        PutType cold, Inside, names::put_type;
        PutWritten cold, Inside, result::put_written;
        Put cold, Inside, text::put;
        PutInt cold, Inside, text::put_int;
        PutUnsigned cold, Inside, text::put_unsigned;
        PutQuoted cold, Inside, quote::put_quoted;
        PutFloat cold, Inside, float::put_float;
        PutDigits cold, Inside, float::put_digits;
        BigScale cold, Inside, float::big_scale;
        BigCompare cold, Inside, float::big_compare;
        BigSubtract cold, Inside, float::big_subtract;
        RoundHalf outline, Tensors, half::round_half;
        WidenHalf outline, Expressions, half::widen_half;
        BigShift cold, Inside, float::big_shift;
        Clear hot, Launches, cuda::clear;
        TensorMap outline, Launches, cuda::map::tensor_map;
        Prepare cold, Launches, cuda::context::prepare;
        PrepareHere cold, Launches, cuda::context::prepare_here;
        Unload cold, Launches, cuda::load::unload_image;
        LoadKernel cold, Launches, cuda::load::load_kernel;
        LoadImage cold, Launches, cuda::load::load_image;
        CheckParams cold, Launches, cuda::load::check_params;
        Allow outline, Launches, cuda::load::allow;
        FitShared cold, Launches, cuda::load::fit_shared;
        EnterContext outline, Launches, cuda::context::enter_context;
        PushPrimary cold, Launches, cuda::context::push_primary;
        LeaveContext cold, Launches, cuda::context::leave_context;
        DriverFailed cold, Launches, cuda::failed::driver_failed;
        KernelFailed cold, Launches, cuda::failed::kernel_failed;
        LaunchFailed cold, Launches, cuda::failed::launch_failed;
    }
    /// `(handle, args, num_args, descriptor)`: raises the first fault and returns -1.
    Explain "explain" [Ptr, Ptr, I32, Ptr] -> Some(I32), cold, Tensors, explain::explain;
    /// The same with room for every function.
    ExplainLarge "explain_large" [Ptr, Ptr, I32, Ptr] -> Some(I32), cold, Tensors, explain::explain_large;
    /// `(descriptor, section, any, values, count)`: raises the first fault of a value that somebody else has made; -1.
    ExplainReceived "explain_received" [Ptr, I64, Ptr, Ptr, I64] -> Some(I32), cold, Values, explain::explain_received;
    /// The same with room for every function.
    ExplainReceivedLarge "explain_received_large" [Ptr, I64, Ptr, Ptr, I64] -> Some(I32), cold, Values, explain::explain_received_large;
    /// `(descriptor, site)`: finds the driver, or raises and returns -1.
    OpenDriver "open_driver" [Ptr, Ptr] -> Some(I32), cold, Launches, cuda::driver::build;

    /// `(state, descriptor)`: what messages need.
    Open "open" [Ptr, Ptr] -> None, cold, Inside, explain::open;
    /// `(state, descriptor, room)`: all steps. The routines from here on that return `i32` and take a state
    /// yield 0 if nothing is wrong, 1 if something is, and -1 if the descriptor is damaged.
    Replay "replay" [Ptr, Ptr, I64] -> Some(I32), cold, Inside, explain::replay;
    /// `(state, descriptor, room, section, any, values, count)`: the steps of a value.
    ReplayReceived "replay_received" [Ptr, Ptr, I64, I64, Ptr, Ptr, I64] -> Some(I32), cold, Inside, explain::replay_received;
    /// `(state)`: steps from the program counter on.
    Interpret "interpret" [Ptr] -> Some(I32), cold, Inside, explain::interpret;
    /// `(state)`: a step, as all that take the state alone.
    Argument "argument" [Ptr] -> Some(I32), cold, Inside, values::argument;
    /// See [`step`](super::codes::step), and so on.
    Element "element" [Ptr] -> Some(I32), cold, Inside, values::element;
    Present "present" [Ptr] -> Some(I32), cold, Inside, values::present;
    Bound "bound" [Ptr] -> Some(I32), cold, Inside, values::bound;
    Context "context" [Ptr] -> Some(I32), cold, Inside, values::context;
    Scalar "scalar" [Ptr] -> Some(I32), cold, Inside, scalar::scalar;
    Tensor "tensor" [Ptr] -> Some(I32), cold, Inside, tensor::tensor;
    Occurrence "occurrence" [Ptr] -> Some(I32), cold, Inside, occurrence::occurrence;
    Compact "compact" [Ptr] -> Some(I32), cold, Inside, tensor::compact;
    Data "data" [Ptr] -> Some(I32), cold, Inside, tensor::data;
    SettleSymbol "settle_symbol" [Ptr] -> Some(I32), cold, Inside, tensor::settle;
    Owned "owned" [Ptr] -> Some(I32), cold, Inside, result::check_owned;
    Type "type" [Ptr] -> Some(I32), cold, Inside, kinds::check_type;
    Instance "instance" [Ptr] -> Some(I32), cold, Inside, kinds::instance;
    Size "size" [Ptr] -> Some(I32), cold, Inside, kinds::size;
    Dtype "dtype" [Ptr] -> Some(I32), cold, Inside, kinds::dtype;
    Device "device" [Ptr] -> Some(I32), cold, Inside, kinds::device;
    CheckNumbers "check_numbers" [Ptr] -> Some(I32), cold, Inside, kinds::check_numbers;
    Literal "literal" [Ptr] -> Some(I32), cold, Inside, kinds::literal;
    Each "each" [Ptr] -> Some(I32), cold, Inside, loops::each;
    Entries "entries" [Ptr] -> Some(I32), cold, Inside, loops::entries;
    OneOf "one_of" [Ptr] -> Some(I32), cold, Inside, loops::one_of;
    Constraint "constraint" [Ptr] -> Some(I32), cold, Inside, explain::constraint;
    /// `(state)`: the expression at the program counter, into the first operand.
    Evaluate "evaluate" [Ptr] -> Some(I32), cold, Inside, evaluate::evaluate;
    /// `(state, slot)`: the `TVMFFIAny` of a slot, or NULL.
    AnyOf "any_of" [Ptr, I64] -> Some(Ptr), cold, Inside, values::any_of;
    /// `(state, slot)`: the `DLTensor*` in a slot, or NULL.
    TensorOf "tensor_of" [Ptr, I64] -> Some(Ptr), cold, Inside, values::tensor_of;
    /// `(state, slot)`: the object in a slot, or NULL.
    ObjectOf "object_of" [Ptr, I64] -> Some(Ptr), cold, Inside, values::object_of;
    /// `(state, slot, array)`: the text in a slot, which may be empty.
    TextOf "text_of" [Ptr, I64, Ptr] -> None, cold, Inside, values::text_of;
    /// `(object, index)`: a number of a shape or sequence, or 0.
    NumberAt "number_at" [Ptr, I64] -> Some(I64), cold, Inside, values::number_at;
    /// `(state, complaint, values…)`: raises, unless a fault is no error now; 1.
    Complain "complain" [Ptr, I64, I64, I64, I64, I64] -> Some(I32), cold, Inside, raise::complain;
    /// `(state, complaint, head, expected, object)`: complains of an integer object; 1.
    ComplainBig "complain_big" [Ptr, I64, Ptr, I64, Ptr] -> Some(I32), cold, Inside, big_int::complain;
    /// `(state, complaint, value)`: raises that the descriptor is wrong; -1.
    Broken "broken" [Ptr, I64, I64] -> Some(I32), cold, Inside, raise::broken;
    /// `(descriptor, site, complaint, values)`: raises; 1.
    SaySite "say_site" [Ptr, Ptr, I64, Ptr] -> Some(I32), cold, Inside, raise::say_site;
    /// `(state, complaint, values, kind, length)`: raises; 1.
    Say "say" [Ptr, I64, Ptr, Ptr, I64] -> Some(I32), cold, Inside, raise::say;
    /// `(state, text, length, limit)`: appends text with values in it.
    Compose "compose" [Ptr, Ptr, I64, I64] -> Some(I32), cold, Inside, text::compose;
    /// `(state, code)`: appends a value.
    PutPiece "put_piece" [Ptr, I64] -> Some(I32), cold, Inside, pieces::put_piece;
    /// `(state, leaves)`: appends the values that an expression depends on.
    Leaves "leaves" [Ptr, Ptr] -> Some(I32), cold, Inside, evaluate::leaves;
    /// `(state, place)`: appends `x.shape[0]`.
    PutPlace "put_place" [Ptr, Ptr] -> Some(I32), cold, Inside, pieces::put_place;
}

impl Routine {
    /// The one that explains failures of a function whose descriptor takes so many bytes of arrays.
    pub(crate) const fn explaining(room: u32) -> Routine {
        if room <= explain::ORDINARY { Routine::Explain } else { Routine::ExplainLarge }
    }

    /// The one that explains what is wrong with a value that somebody else has made.
    pub(crate) const fn explaining_received(room: u32) -> Routine {
        if room <= explain::ORDINARY {
            Routine::ExplainReceived
        } else {
            Routine::ExplainReceivedLarge
        }
    }

    /// Its symbol, declared if this module does not know it yet.
    pub(crate) fn declare(self, module: &mut Module, linkage: Linkage) -> Symbol {
        module.declare(self.name(), linkage, SymbolKind::Function(self.signature()))
    }
}

/// Declares every routine.
pub(crate) fn declare_all(module: &mut Module, linkage: Linkage) {
    for routine in Routine::ALL {
        routine.declare(module, linkage);
    }
}

/// Defines the routines that are declared and wanted, and those that they use.
pub(crate) fn define_used(
    module: &mut Module,
    linkage: Linkage,
    used: Used,
    wanted: impl Fn(Routine) -> bool,
) {
    let mut defined: Vec<bool> = Routine::ALL.iter().map(|&routine| !wanted(routine)).collect();
    let next = |module: &Module, defined: &[bool]| {
        let wanted = |&at: &usize| !defined[at] && module.find(Routine::ALL[at].name()).is_some();
        (0..Routine::ALL.len()).find(wanted)
    };
    while let Some(at) = next(module, &defined) {
        defined[at] = true;
        define(module, Routine::ALL[at], linkage, used);
    }
}

fn define(module: &mut Module, routine: Routine, linkage: Linkage, used: Used) {
    let mut builder = Builder::function(module, routine.name(), linkage, routine.signature());
    match routine.heat() {
        Heat::hot => {}
        Heat::outline => builder.set_no_inline(),
        Heat::cold => builder.set_cold(),
    }
    routine.build()(&mut builder, used);
    if let Heat::cold = routine.heat() {
        builder.share_returns();
    }
    let function = builder.finish();
    module.functions.push(function);
}
