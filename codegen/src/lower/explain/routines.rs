//! The routines that every wrapper shares: a few on the hot path, the rest to explain failures.
//!
//! They are host IR like everything else, so each backend compiles the same code.

mod access;
mod allocate;
mod allocate_plain;
mod big_int;
mod call;
mod code;
mod cuda;
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
pub(crate) use cuda::driver::driver_address;
pub(crate) use text::PIECES;

use crate::ir::Type::{I32, I64, Ptr};
use crate::ir::typed;
use crate::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind};
use crate::lower::explain::codes::Used;
use crate::lower::explain::extent::Topic;

/// Declares [`Routine`] and what is known of each: the end of its symbol, its parameters and result, how
/// often it is called, what it is about, and the function that builds it.
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
    /// `(descriptor, site, values)`: passes on the error of a callee, or raises what the site says; returns -1.
    FailAt "fail_at" [Ptr, Ptr, Ptr] -> Some(I32), cold, Tensors, raise::fail_at;
    /// `(descriptor, section, any, values, count)`: raises the first fault of a value that somebody else has made; -1.
    ExplainReceived "explain_received" [Ptr, I64, Ptr, Ptr, I64] -> Some(I32), cold, Values, explain::explain_received;
    /// The same with room for every function.
    ExplainReceivedLarge "explain_received_large" [Ptr, I64, Ptr, Ptr, I64] -> Some(I32), cold, Values, explain::explain_received_large;
    /// `(value)`: whether a value is owned, and its bytes mean something.
    IsOwned "is_owned" [Ptr] -> Some(I32), hot, Values, result::is_owned;
    /// `(from, to)`: copies a value without the bytes that mean nothing; a reference to an object becomes it.
    CopyAny "copy_any" [Ptr, Ptr] -> None, hot, Values, result::copy_any;
    /// `(descriptor, site, value)`: makes a value owned, or raises and returns -1.
    Own "own" [Ptr, Ptr, Ptr] -> Some(I32), outline, Values, result::own;
    /// `(descriptor, site, name, length, cache, context)`: a function by its name; NULL once it has raised.
    LookUp "look_up" [Ptr, Ptr, Ptr, I64, Ptr, Ptr] -> Some(Ptr), cold, Values, functions::look_up;
    /// `(descriptor, site, callee, args, count, result)`: calls a function by its name; 0, or what it fails with once it
    /// has raised. A result at NULL is released.
    CallNamed "call_named" [Ptr, Ptr, Ptr, Ptr, I32, Ptr] -> Some(I32), outline, Values, call::call_named;
    /// `(descriptor, site, function, args, count, result)`: the same of a function that is there.
    CallObject "call_object" [Ptr, Ptr, Ptr, Ptr, I32, Ptr] -> Some(I32), outline, Values, call::call_object;
    /// `(values, count)`: gives up the objects among values.
    Release "release" [Ptr, I64] -> None, hot, Values, result::release;
    /// `(values, count)`: the same after a failure, whose error stays.
    Leave "leave" [Ptr, I64] -> None, cold, Expressions, result::leave;
    /// `(descriptor, site, outputs, extents, devices, tensors)`: allocates tensors, or raises and returns -1.
    Allocate "allocate" [Ptr, Ptr, I64, Ptr, Ptr, Ptr] -> Some(I32), outline, Allocations, allocate::allocate;
    /// `(descriptor, site, output, prototype, tensor)`: allocates one, or raises and returns -1.
    AllocateOne "allocate_one" [Ptr, Ptr, Ptr, Ptr, Ptr] -> Some(I32), outline, Allocations, allocate::allocate_one;
    /// `(descriptor, site, output, prototype, tensor)`: the same where there is no allocator.
    AllocatePlain "allocate_plain" [Ptr, Ptr, Ptr, Ptr, Ptr] -> Some(I32), outline, Allocations, allocate_plain::allocate;
    /// `(output, extents)`: bytes of the elements of a tensor; -1 if nothing is that large.
    DataSize "data_size" [Ptr, Ptr] -> Some(I64), outline, Allocations, allocate_plain::data_size;
    /// `(descriptor, site, output, extents)`: -1 once it has raised that a tensor cannot be allocated.
    CheckSize "check_size" [Ptr, Ptr, Ptr, Ptr] -> Some(I32), outline, Allocations, allocate::check_size;
    /// `(descriptor, site)`: finds the driver, or raises and returns -1.
    OpenDriver "open_driver" [Ptr, Ptr] -> Some(I32), cold, Launches, cuda::driver::build;
    /// `(descriptor, site, values, count, result)`: an array of values, or raises and returns -1.
    MakeArray "make_array" [Ptr, Ptr, Ptr, I32, Ptr] -> Some(I32), outline, Values, functions::make_array;
    /// `(descriptor, site, numbers, count, result)`: a shape of integers, or raises and returns -1.
    MakeShape "make_shape" [Ptr, Ptr, Ptr, I32, Ptr] -> Some(I32), outline, Values, functions::make_shape;
    /// `(descriptor, site, name, length, values, count, result)`: what a function of the registry makes, or raises and
    /// returns -1.
    Make "make" [Ptr, Ptr, Ptr, I64, Ptr, I32, Ptr] -> Some(I32), outline, Values, functions::make;
    /// `(dl, alignment mask, must be compact)`: the tensor if its extents, strides and data are acceptable, else NULL.
    Settle "settle" [Ptr, I64, I32] -> Some(Ptr), outline, Tensors, view::settle;
    /// `(any, checks)`: the `DLTensor*` of a compact tensor, or NULL if it fails one of these checks.
    CheckTensor "check_tensor" [Ptr, Ptr] -> Some(Ptr), outline, Tensors, view::check_tensor;
    /// `(tensors, count)`: whether these tensors agree on their devices.
    SameDevices "same_devices" [Ptr, I64] -> Some(I32), cold, Tensors, view::same_devices;
    /// `(dl, dim)`: a stride in elements, compact where the strides are NULL.
    StrideAt "stride_at" [Ptr, I64] -> Some(I64), hot, Tensors, view::stride_at;
    /// `(dl, dim)`: the compact stride of a dim.
    CompactAt "compact_at" [Ptr, I64] -> Some(I64), cold, Tensors, view::compact_at;
    /// `(dl)`: whether no extent is 0.
    NotEmpty "not_empty" [Ptr] -> Some(I32), cold, Tensors, view::not_empty;
    /// `(dl)`: the product of the extents.
    Numel "numel" [Ptr] -> Some(I64), outline, Tensors, view::numel;
    /// `(dl)`: whether the strides are compact.
    IsCompact "is_compact" [Ptr] -> Some(I32), outline, Tensors, view::is_compact;
    /// `(any, low mask, high mask)`: the object, if its type is in the set; else NULL.
    Object "object" [Ptr, I64, I64] -> Some(Ptr), hot, Values, access::object;
    /// `(any, low mask, high mask, array)`: text as an array of bytes, or NULL.
    Text "text" [Ptr, I64, I64, Ptr] -> Some(Ptr), outline, Values, access::text;
    /// `(text, length, other, length)`: whether they are the same.
    SameText "same_text" [Ptr, I64, Ptr, I64] -> Some(I32), hot, Values, access::same_text;
    /// `(text, length, texts, count)`: whether it is one of these, each a length in 32 bits and its bytes.
    OneOfTexts "one_of_texts" [Ptr, I64, Ptr, I64] -> Some(I32), outline, Values, access::one_of_texts;
    /// `(any, buffer)`: the cell of a shape, or the integers of a sequence in the buffer, or NULL.
    Numbers "numbers" [Ptr, Ptr] -> Some(Ptr), outline, Values, access::numbers;
    /// `(any, low mask, high mask, out)`: the element type that text names; 0 if there is none.
    ToDtype "to_dtype" [Ptr, I64, I64, Ptr] -> Some(I32), cold, Values, access::to_dtype;
    /// `(any, low mask, high mask, out)`: the device that text names; 0 if there is none.
    ToDevice "to_device" [Ptr, I64, I64, Ptr] -> Some(I32), cold, Values, kinds::to_device;
    /// `(object, type key, length, cache)`: whether the object is of this class.
    IsInstance "is_instance" [Ptr, Ptr, I64, Ptr] -> Some(I32), outline, Values, access::is_instance;
    /// `(text, length, result)`: the whole of a function that returns a constant text.
    GiveText "give_text" [Ptr, I64, Ptr] -> Some(I32), cold, Tensors, give::text;

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
    /// `(descriptor, site)`: 1 if an error of somebody else goes on, with the frame of the site; 0 if there is none.
    PassOn "pass_on" [Ptr, Ptr] -> Some(I32), cold, Inside, raise::pass_on;
    /// `(state, error)`: puts an error of somebody else into the thread's slot, with a frame more.
    SetPassing "set_passing" [Ptr, Ptr] -> None, cold, Inside, raise::set_passing;
    /// `(state, complaint, values, kind, length)`: raises; 1.
    Say "say" [Ptr, I64, Ptr, Ptr, I64] -> Some(I32), cold, Inside, raise::say;
    /// `(state, kind, length)`: raises the message as an error.
    Raise "raise" [Ptr, Ptr, I64] -> None, cold, Inside, raise::raise;
    /// `(state, text, length, limit)`: appends text with values in it.
    Compose "compose" [Ptr, Ptr, I64, I64] -> Some(I32), cold, Inside, text::compose;
    /// `(state, code)`: appends a value.
    PutPiece "put_piece" [Ptr, I64] -> Some(I32), cold, Inside, pieces::put_piece;
    /// `(state, leaves)`: appends the values that an expression depends on.
    Leaves "leaves" [Ptr, Ptr] -> Some(I32), cold, Inside, evaluate::leaves;
    /// `(state, place)`: appends `x.shape[0]`.
    PutPlace "put_place" [Ptr, Ptr] -> Some(I32), cold, Inside, pieces::put_place;
    /// `(state, word)`: appends an element type.
    PutDtype "put_dtype" [Ptr, I64] -> None, cold, Inside, names::put_dtype;
    /// `(state, type, index)`: appends a device.
    PutDevice "put_device" [Ptr, I64, I64] -> None, cold, Inside, names::put_device;
    /// `(state, any)`: appends the type of a value.
    PutType "put_type" [Ptr, Ptr] -> None, cold, Inside, names::put_type;
    /// `(state, any)`: appends the type of a value that a kernel has written.
    PutWritten "put_written" [Ptr, Ptr] -> None, cold, Inside, result::put_written;
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
