//! The routines that every wrapper shares: a few on the hot path, the rest to explain failures.
//!
//! They are host IR like everything else, so each backend compiles the same code.

mod access;
mod allocate;
mod code;
mod evaluate;
mod explain;
mod float;
mod give;
mod half;
mod header;
mod kinds;
mod layout;
mod loops;
mod names;
mod occurrence;
mod raise;
mod result;
mod scalar;
mod status;
mod text;
mod view;

pub(super) use access::NUMBERS_SIZE;

use super::codes::Used;
use crate::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind, Type};

/// The shared routines. Those that return `i32` yield 0 or 1, or -1 once they have raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routine {
    /// `(handle, args, num_args, descriptor)`: raises the first fault and returns -1.
    Explain,
    /// `(descriptor, status)`: passes on the error of a kernel, or raises one; returns -1.
    FailStatus,
    /// `(descriptor, result)`: raises that an unsigned result is too large; returns -1.
    FailResult,
    /// `(descriptor, name, length, status)`: passes on the error of the runtime, or raises one; returns -1.
    FailCall,
    /// `(descriptor, value, result)`: hands on what the kernel has written, or raises and returns -1.
    TakeResult,
    /// `(descriptor, value)`: whether what the kernel has written is what was declared.
    Returnable,
    /// `(type, value)`: whether a value has a type.
    Accepts,
    /// `(descriptor, value)`: raises why a value is not what was declared and releases it; returns -1.
    RefuseResult,
    /// `(values, count)`: gives up the objects among values.
    Release,
    /// `(descriptor, extents, devices, tensors)`: allocates tensors, or raises and returns -1.
    Allocate,
    /// `(descriptor, tensor, extents)`: whether a tensor cannot be allocated; 1 once it has raised that.
    CheckSize,
    /// `(descriptor, tensor, dim, extent)`: raises that an extent is negative or, for the dim -1, that the
    /// tensor is too large; returns -1.
    FailExtent,
    /// `(descriptor, tensor, alignment)`: raises that an allocator is no good; returns -1.
    FailTensor,
    /// `(descriptor, tensors, result)`: an array of tensors, or raises and returns -1.
    MakeArray,
    /// `(dl, alignment mask, must be compact)`: whether extents, strides and data are acceptable.
    Settle,
    /// `(tensors, count)`: whether these tensors agree on their devices.
    SameDevices,
    /// `(dl, dim)`: a stride in elements, compact where the strides are NULL.
    StrideAt,
    /// `(dl, dim)`: the compact stride of a dim.
    CompactAt,
    /// `(dl)`: whether no extent is 0.
    NotEmpty,
    /// `(bits of an f64, mantissa bits, bias)`: the nearest 16-bit float, ties to even.
    RoundHalf,
    /// `(bits, mantissa bits, bias)`: a 16-bit float as an `f64`.
    WidenHalf,
    /// `(state)`: evaluates the expression at the program counter; 1 if that has raised.
    Evaluate,
    /// `(state, place, argument)`: an extent, stride or parameter; 1 if that has raised.
    Occurrence,
    /// `(state, arg)`: the tensor header check; 1 if that has raised.
    Header,
    /// `(state, text, length, place, suffix, length, argument)`: starts a message about a place.
    Begin,
    /// `(state, text, length, subject, length)`: starts a message about something else.
    BeginCall,
    /// `(state, kind, length)`: raises the message as an error; returns -1.
    Raise,
    /// `(state, leaves)`: appends the values that an expression depends on.
    Leaves,
    /// `(state, text, length)`: appends text as far as it fits.
    Put,
    /// `(state, value)`: appends a signed number.
    PutInt,
    /// `(state, value)`: appends an unsigned number.
    PutUnsigned,
    /// `(state, value)`: appends a float, as short as reading it back allows.
    PutFloat,
    /// `(number, factor)`: multiplies a big integer.
    BigScale,
    /// `(a, b, c)`: the sign of `a + b - c`, of big integers.
    BigCompare,
    /// `(a, b)`: subtracts a big integer from another.
    BigSubtract,
    /// `(state, place)`: appends `x.shape[0]`.
    PutPlace,
    /// `(state, word)`: appends an element type.
    PutDtype,
    /// `(state, type, index)`: appends a device.
    PutDevice,
    /// `(state, any)`: appends the type of a value.
    PutType,
    /// `(handle, args, num_args, descriptor)`: 0 if all checks pass, or -1 once the first fault has been raised.
    Redo,
    /// `(state)`: steps from the program counter on; 1 if that has raised.
    Interpret,
    /// `(state)`: a scalar; 1 if that has raised. The same holds for those below that take the state alone.
    Scalar,
    /// `(state)`: compact strides.
    Compact,
    /// `(state)`: data pointer and alignment.
    Data,
    /// `(state)`: a symbol that no stride has bound.
    SettleSymbol,
    /// `(state)`: a constraint.
    Constraint,
    /// `(state)`: the type of a value.
    Type,
    /// `(state)`: the class of an object.
    Instance,
    /// `(state)`: the size of a tuple.
    Size,
    /// `(state)`: an element type.
    Dtype,
    /// `(state)`: a device.
    Device,
    /// `(state)`: the numbers of a shape.
    CheckNumbers,
    /// `(state)`: one of several values.
    Literal,
    /// `(state)`: the elements of a sequence.
    Each,
    /// `(state)`: the keys and values of a mapping.
    Entries,
    /// `(state)`: one of several types.
    OneOf,
    /// `(any, low mask, high mask)`: the object, if its type is in the set; else NULL.
    Object,
    /// `(any, low mask, high mask, array)`: text as an array of bytes, or NULL.
    Text,
    /// `(text, length, other, length)`: whether they are the same.
    SameText,
    /// `(any, buffer)`: the cell of a shape, or the integers of a sequence in the buffer, or NULL.
    Numbers,
    /// `(any, low mask, high mask, out)`: the element type that text names; 0 if there is none.
    ToDtype,
    /// `(any, low mask, high mask, out)`: the device that text names; 0 if there is none.
    ToDevice,
    /// `(object, type key, length, cache)`: whether the object is of this class.
    IsInstance,
    /// `(dl)`: the product of the extents.
    Numel,
    /// `(dl)`: whether the strides are compact.
    IsCompact,
    /// `(state, text, length)`: appends text in quotes.
    PutQuoted,
    /// `(text, length, result)`: the whole of a function that returns a constant text.
    GiveText,
}

impl Routine {
    /// Every routine, in the order in which they are emitted.
    const ALL: [Routine; 67] = [
        Routine::Explain,
        Routine::FailStatus,
        Routine::FailResult,
        Routine::FailCall,
        Routine::TakeResult,
        Routine::Returnable,
        Routine::Accepts,
        Routine::RefuseResult,
        Routine::Release,
        Routine::Allocate,
        Routine::CheckSize,
        Routine::FailExtent,
        Routine::FailTensor,
        Routine::MakeArray,
        Routine::Settle,
        Routine::SameDevices,
        Routine::StrideAt,
        Routine::CompactAt,
        Routine::NotEmpty,
        Routine::RoundHalf,
        Routine::WidenHalf,
        Routine::Evaluate,
        Routine::Occurrence,
        Routine::Header,
        Routine::Begin,
        Routine::BeginCall,
        Routine::Raise,
        Routine::Leaves,
        Routine::Put,
        Routine::PutInt,
        Routine::PutUnsigned,
        Routine::PutFloat,
        Routine::BigScale,
        Routine::BigCompare,
        Routine::BigSubtract,
        Routine::PutPlace,
        Routine::PutDtype,
        Routine::PutDevice,
        Routine::PutType,
        Routine::Redo,
        Routine::Interpret,
        Routine::Scalar,
        Routine::Compact,
        Routine::Data,
        Routine::SettleSymbol,
        Routine::Constraint,
        Routine::Type,
        Routine::Instance,
        Routine::Size,
        Routine::Dtype,
        Routine::Device,
        Routine::CheckNumbers,
        Routine::Literal,
        Routine::Each,
        Routine::Entries,
        Routine::OneOf,
        Routine::Object,
        Routine::Text,
        Routine::SameText,
        Routine::Numbers,
        Routine::ToDtype,
        Routine::ToDevice,
        Routine::IsInstance,
        Routine::Numel,
        Routine::IsCompact,
        Routine::PutQuoted,
        Routine::GiveText,
    ];

    /// The name of its symbol. No declaration can say it.
    const fn name(self) -> &'static str {
        match self {
            Routine::Explain => "tvm_ffi_codegen.explain",
            Routine::FailStatus => "tvm_ffi_codegen.fail_status",
            Routine::FailResult => "tvm_ffi_codegen.fail_result",
            Routine::FailCall => "tvm_ffi_codegen.fail_call",
            Routine::TakeResult => "tvm_ffi_codegen.take_result",
            Routine::Returnable => "tvm_ffi_codegen.returnable",
            Routine::Accepts => "tvm_ffi_codegen.accepts",
            Routine::RefuseResult => "tvm_ffi_codegen.refuse_result",
            Routine::Release => "tvm_ffi_codegen.release",
            Routine::Allocate => "tvm_ffi_codegen.allocate",
            Routine::CheckSize => "tvm_ffi_codegen.check_size",
            Routine::FailExtent => "tvm_ffi_codegen.fail_extent",
            Routine::FailTensor => "tvm_ffi_codegen.fail_tensor",
            Routine::MakeArray => "tvm_ffi_codegen.make_array",
            Routine::Settle => "tvm_ffi_codegen.settle",
            Routine::SameDevices => "tvm_ffi_codegen.same_devices",
            Routine::StrideAt => "tvm_ffi_codegen.stride_at",
            Routine::CompactAt => "tvm_ffi_codegen.compact_at",
            Routine::NotEmpty => "tvm_ffi_codegen.not_empty",
            Routine::RoundHalf => "tvm_ffi_codegen.round_half",
            Routine::WidenHalf => "tvm_ffi_codegen.widen_half",
            Routine::Evaluate => "tvm_ffi_codegen.evaluate",
            Routine::Occurrence => "tvm_ffi_codegen.occurrence",
            Routine::Header => "tvm_ffi_codegen.header",
            Routine::Begin => "tvm_ffi_codegen.begin",
            Routine::BeginCall => "tvm_ffi_codegen.begin_call",
            Routine::Raise => "tvm_ffi_codegen.raise",
            Routine::Leaves => "tvm_ffi_codegen.leaves",
            Routine::Put => "tvm_ffi_codegen.put",
            Routine::PutInt => "tvm_ffi_codegen.put_int",
            Routine::PutUnsigned => "tvm_ffi_codegen.put_unsigned",
            Routine::PutFloat => "tvm_ffi_codegen.put_float",
            Routine::BigScale => "tvm_ffi_codegen.big_scale",
            Routine::BigCompare => "tvm_ffi_codegen.big_compare",
            Routine::BigSubtract => "tvm_ffi_codegen.big_subtract",
            Routine::PutPlace => "tvm_ffi_codegen.put_place",
            Routine::PutDtype => "tvm_ffi_codegen.put_dtype",
            Routine::PutDevice => "tvm_ffi_codegen.put_device",
            Routine::PutType => "tvm_ffi_codegen.put_type",
            Routine::Redo => "tvm_ffi_codegen.redo",
            Routine::Interpret => "tvm_ffi_codegen.interpret",
            Routine::Scalar => "tvm_ffi_codegen.scalar",
            Routine::Compact => "tvm_ffi_codegen.compact",
            Routine::Data => "tvm_ffi_codegen.data",
            Routine::SettleSymbol => "tvm_ffi_codegen.settle_symbol",
            Routine::Constraint => "tvm_ffi_codegen.constraint",
            Routine::Type => "tvm_ffi_codegen.type",
            Routine::Instance => "tvm_ffi_codegen.instance",
            Routine::Size => "tvm_ffi_codegen.size",
            Routine::Dtype => "tvm_ffi_codegen.dtype",
            Routine::Device => "tvm_ffi_codegen.device",
            Routine::CheckNumbers => "tvm_ffi_codegen.check_numbers",
            Routine::Literal => "tvm_ffi_codegen.literal",
            Routine::Each => "tvm_ffi_codegen.each",
            Routine::Entries => "tvm_ffi_codegen.entries",
            Routine::OneOf => "tvm_ffi_codegen.one_of",
            Routine::Object => "tvm_ffi_codegen.object",
            Routine::Text => "tvm_ffi_codegen.text",
            Routine::SameText => "tvm_ffi_codegen.same_text",
            Routine::Numbers => "tvm_ffi_codegen.numbers",
            Routine::ToDtype => "tvm_ffi_codegen.to_dtype",
            Routine::ToDevice => "tvm_ffi_codegen.to_device",
            Routine::IsInstance => "tvm_ffi_codegen.is_instance",
            Routine::Numel => "tvm_ffi_codegen.numel",
            Routine::IsCompact => "tvm_ffi_codegen.is_compact",
            Routine::PutQuoted => "tvm_ffi_codegen.put_quoted",
            Routine::GiveText => "tvm_ffi_codegen.give_text",
        }
    }

    fn signature(self) -> Signature {
        use Type::{F64, I16, I32, I64, Ptr};
        let (params, result): (&[Type], _) = match self {
            Routine::Explain => (&[Ptr, Ptr, I32, Ptr], Some(I32)),
            Routine::FailStatus => (&[Ptr, I32], Some(I32)),
            Routine::FailResult => (&[Ptr, I64], Some(I32)),
            Routine::FailCall => (&[Ptr, Ptr, I64, I32], Some(I32)),
            Routine::TakeResult | Routine::MakeArray => (&[Ptr, Ptr, Ptr], Some(I32)),
            Routine::Returnable | Routine::Accepts => (&[Ptr, Ptr], Some(I32)),
            Routine::RefuseResult => (&[Ptr, Ptr], Some(I32)),
            Routine::Release => (&[Ptr, I64], None),
            Routine::Allocate => (&[Ptr, Ptr, Ptr, Ptr], Some(I32)),
            Routine::CheckSize => (&[Ptr, Ptr, Ptr], Some(I32)),
            Routine::FailExtent => (&[Ptr, Ptr, I64, I64], Some(I32)),
            Routine::FailTensor => (&[Ptr, Ptr, I64], Some(I32)),
            Routine::Settle => (&[Ptr, I64, I32], Some(I32)),
            Routine::SameDevices => (&[Ptr, I64], Some(I32)),
            Routine::StrideAt | Routine::CompactAt => (&[Ptr, I64], Some(I64)),
            Routine::NotEmpty => (&[Ptr], Some(I32)),
            Routine::RoundHalf => (&[I64, I64, I64], Some(I16)),
            Routine::WidenHalf => (&[I64, I64, I64], Some(F64)),
            Routine::Evaluate => (&[Ptr], Some(I32)),
            Routine::Occurrence | Routine::Header => (&[Ptr], Some(I32)),
            Routine::Begin => (&[Ptr, Ptr, I64, Ptr, Ptr, I64, I64], None),
            Routine::BeginCall => (&[Ptr, Ptr, I64, Ptr, I64], None),
            Routine::Raise => (&[Ptr, Ptr, I64], Some(I32)),
            Routine::Leaves => (&[Ptr, Ptr], None),
            Routine::Put => (&[Ptr, Ptr, I64], None),
            Routine::PutInt | Routine::PutUnsigned | Routine::PutDtype => (&[Ptr, I64], None),
            Routine::PutFloat => (&[Ptr, F64], None),
            Routine::BigScale => (&[Ptr, I64], None),
            Routine::BigCompare => (&[Ptr, Ptr, Ptr], Some(I32)),
            Routine::BigSubtract => (&[Ptr, Ptr], None),
            Routine::PutPlace | Routine::PutType => (&[Ptr, Ptr], None),
            Routine::PutDevice => (&[Ptr, I64, I64], None),
            Routine::Redo => (&[Ptr, Ptr, I32, Ptr], Some(I32)),
            Routine::Interpret => (&[Ptr], Some(I32)),
            Routine::Scalar => (&[Ptr], Some(I32)),
            Routine::Compact => (&[Ptr], Some(I32)),
            Routine::Data => (&[Ptr], Some(I32)),
            Routine::SettleSymbol => (&[Ptr], Some(I32)),
            Routine::Constraint => (&[Ptr], Some(I32)),
            Routine::Type => (&[Ptr], Some(I32)),
            Routine::Instance => (&[Ptr], Some(I32)),
            Routine::Size => (&[Ptr], Some(I32)),
            Routine::Dtype => (&[Ptr], Some(I32)),
            Routine::Device => (&[Ptr], Some(I32)),
            Routine::CheckNumbers => (&[Ptr], Some(I32)),
            Routine::Literal => (&[Ptr], Some(I32)),
            Routine::Each => (&[Ptr], Some(I32)),
            Routine::Entries => (&[Ptr], Some(I32)),
            Routine::OneOf => (&[Ptr], Some(I32)),
            Routine::Object => (&[Ptr, I64, I64], Some(Ptr)),
            Routine::Text => (&[Ptr, I64, I64, Ptr], Some(Ptr)),
            Routine::SameText => (&[Ptr, I64, Ptr, I64], Some(I32)),
            Routine::Numbers => (&[Ptr, Ptr], Some(Ptr)),
            Routine::ToDtype => (&[Ptr, I64, I64, Ptr], Some(I32)),
            Routine::ToDevice => (&[Ptr, I64, I64, Ptr], Some(I32)),
            Routine::IsInstance => (&[Ptr, Ptr, I64, Ptr], Some(I32)),
            Routine::Numel => (&[Ptr], Some(I64)),
            Routine::IsCompact => (&[Ptr], Some(I32)),
            Routine::PutQuoted => (&[Ptr, Ptr, I64], None),
            Routine::GiveText => (&[Ptr, I64, Ptr], Some(I32)),
        };
        Signature::new(params, result)
    }

    fn build(self) -> fn(&mut code::Code<'_>) {
        match self {
            Routine::Explain => explain::explain,
            Routine::FailStatus => status::fail_status,
            Routine::FailResult => result::fail_result,
            Routine::FailCall => status::fail_call,
            Routine::TakeResult => result::take_result,
            Routine::Returnable => result::returnable,
            Routine::Accepts => result::accepts,
            Routine::RefuseResult => result::refuse_result,
            Routine::Release => result::release,
            Routine::Allocate => allocate::allocate,
            Routine::CheckSize => allocate::check_size,
            Routine::FailExtent => allocate::fail_extent,
            Routine::FailTensor => allocate::fail_tensor,
            Routine::MakeArray => allocate::make_array,
            Routine::Settle => view::settle,
            Routine::SameDevices => view::same_devices,
            Routine::StrideAt => view::stride_at,
            Routine::CompactAt => view::compact_at,
            Routine::NotEmpty => view::not_empty,
            Routine::RoundHalf => half::round,
            Routine::WidenHalf => half::widen,
            Routine::Evaluate => evaluate::evaluate,
            Routine::Occurrence => occurrence::occurrence,
            Routine::Header => header::header,
            Routine::Begin => raise::begin,
            Routine::BeginCall => raise::begin_call,
            Routine::Raise => raise::raise,
            Routine::Leaves => evaluate::leaves,
            Routine::Put => text::put,
            Routine::PutInt => text::put_int,
            Routine::PutUnsigned => text::put_unsigned,
            Routine::PutFloat => float::put_float,
            Routine::BigScale => float::big_scale,
            Routine::BigCompare => float::big_compare,
            Routine::BigSubtract => float::big_subtract,
            Routine::PutPlace => text::put_place,
            Routine::PutDtype => names::put_dtype,
            Routine::PutDevice => names::put_device,
            Routine::PutType => names::put_type,
            Routine::Redo => explain::redo,
            Routine::Interpret => explain::interpret,
            Routine::Scalar => scalar::scalar,
            Routine::Compact => layout::compact,
            Routine::Data => layout::data,
            Routine::SettleSymbol => layout::settle,
            Routine::Constraint => explain::constraint,
            Routine::Type => kinds::check_type,
            Routine::Instance => kinds::instance,
            Routine::Size => kinds::size,
            Routine::Dtype => kinds::dtype,
            Routine::Device => kinds::device,
            Routine::CheckNumbers => kinds::check_numbers,
            Routine::Literal => kinds::literal,
            Routine::Each => loops::each,
            Routine::Entries => loops::entries,
            Routine::OneOf => loops::one_of,
            Routine::Object => access::object,
            Routine::Text => access::text,
            Routine::SameText => access::same_text,
            Routine::Numbers => access::numbers,
            Routine::ToDtype => access::to_dtype,
            Routine::ToDevice => kinds::to_device,
            Routine::IsInstance => access::is_instance,
            Routine::Numel => view::numel,
            Routine::IsCompact => view::is_compact,
            Routine::PutQuoted => kinds::put_quoted,
            Routine::GiveText => give::text,
        }
    }

    /// Called on the hot path of some functions, so not marked as cold.
    const fn is_hot(self) -> bool {
        matches!(
            self,
            Routine::Settle
                | Routine::StrideAt
                | Routine::RoundHalf
                | Routine::WidenHalf
                | Routine::Text
                | Routine::SameText
                | Routine::Object
                | Routine::Numbers
                | Routine::IsInstance
                | Routine::Numel
                | Routine::IsCompact
                | Routine::TakeResult
                | Routine::Returnable
                | Routine::Accepts
                | Routine::Release
                | Routine::Allocate
                | Routine::CheckSize
                | Routine::MakeArray
        )
    }

    /// Its symbol, declared if this module does not know it yet.
    pub(super) fn declare(self, module: &mut Module, linkage: Linkage) -> Symbol {
        module.declare(self.name(), linkage, SymbolKind::Function(self.signature()))
    }
}

/// Declares every routine.
pub(super) fn declare_all(module: &mut Module, linkage: Linkage) {
    for routine in Routine::ALL {
        routine.declare(module, linkage);
    }
}

/// Defines the routines that are declared, and those that they use.
pub(super) fn define_used(module: &mut Module, linkage: Linkage, used: Used) {
    let mut defined = [false; Routine::ALL.len()];
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
    if !routine.is_hot() {
        builder.set_cold();
    }
    let mut code = code::Code::new(builder, linkage, used);
    routine.build()(&mut code);
    let (function, text) = code.finish();
    module.functions.push(function);
    module.data.extend(text);
}
