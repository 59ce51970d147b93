//! The table of messages: for each complaint the kind of the error and the template of its text.
//!
//! A placeholder such as `{int}` is the name of a [`PieceKind`] in lower case. `{subject}` is text that is known when
//! the wrapper is lowered.

use crate::lower::routines::records::PieceKind;

#[cfg(test)]
mod guide;

/// Declares the complaints. A row is a name, the kind of the error, and the template of the message.
macro_rules! complaints {
    ($($name:ident: $kind:literal $text:literal;)*) => {
        /// A reason to raise an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Complaint { $($name,)* }

        impl Complaint {
            #[cfg(test)]
            const ALL: &[Complaint] = &[$(Complaint::$name,)*];

            /// Returns the kind of the error.
            pub(crate) const fn kind(self) -> &'static str {
                match self { $(Complaint::$name => $kind,)* }
            }

            /// Returns the template of the message.
            pub(crate) const fn text(self) -> &'static str {
                match self { $(Complaint::$name => $text,)* }
            }
        }
    };
}

complaints! {
    Count: "TypeError" "Mismatched number of arguments{calling}, expected {int} but got {int}";
    CountLeast: "TypeError" "Mismatched number of arguments{calling}, expected at least {int} but got {int}";
    CountRange: "TypeError" "Mismatched number of arguments{calling}, expected {int} to {int} but got {int}";
    Type: "TypeError" "Mismatched type of {at}{on}, expected {plain} but got {type}";
    TypeNull: "TypeError" "Mismatched type of {at}{on}, expected {plain} but got NULL";
    TypeView: "TypeError" "Mismatched type of {at}{on}, expected {plain} but got DLTensor*";
    Number: "TypeError" "Mismatched type of {path}[{int}]{on}, expected int but got {type}";
    Range: "ValueError" "Out of range {at}{on}, expected {plain} but got {int}";
    SmallSize: "ValueError" "Out of range {at}.size{on}, expected at most {int} but got {int}";
    Size: "ValueError" "Mismatched {at}.size{on}, expected {int} but got {int}";
    SizeMost: "ValueError" "Mismatched {at}.size{on}, expected at most {int} but got {int}";
    SizeLeast: "ValueError" "Mismatched {at}.size{on}, expected at least {int} but got {int}";
    Rank: "ValueError" "Mismatched {at}.ndim{on}, expected {int} but got {int}";
    RankLeast: "ValueError" "Mismatched {at}.ndim{on}, expected at least {int} but got {int}";
    RankNegative: "ValueError" "Mismatched {at}.ndim{on}, expected a non-negative rank but got {int}";
    Dtype: "TypeError" "Mismatched {at}.dtype{on}, expected {plain} but got {dtype}";
    OtherDtypeOf: "TypeError" "Mismatched {at}.dtype{on}, expected {dtype} (= {place}.dtype) but got {dtype}";
    Device: "ValueError" "Mismatched {at}.device{on}, expected {devicetype} but got {device}";
    OtherDevice: "ValueError" "Mismatched {at}.device{on}, expected {device} but got {device}";
    OtherDeviceOf: "ValueError" "Mismatched {at}.device{on}, expected {device} (= {place}.device) but got {device}";
    NoShape: "ValueError" "Mismatched {at}.shape{on}, expected a non-NULL pointer but got NULL";
    NoData: "ValueError" "Mismatched {at}.data{on}, expected a non-NULL pointer but got NULL";
    Negative: "ValueError" "Mismatched {at}{on}, expected a non-negative extent but got {int}";
    NegativeAt: "ValueError" "Mismatched {path}.shape[{int}]{on}, expected a non-negative extent but got {int}";
    LargeExtent: "ValueError" "Out of range {at}{on}, expected int64 but got more";
    Folded: "ValueError" "Mismatched {path}.strides[{int}]{on}, expected {int} (folded) but got {int}";
    Contiguous: "ValueError" "Mismatched {path}.strides[{int}]{on}, expected {int} (contiguous) but got {int}";
    Misaligned: "ValueError" "Misaligned {at}.data{on}, expected a multiple of {unsigned} bytes but got remainder {unsigned}";
    Symbol: "ValueError" "Mismatched {at}{on}, expected {int} (= {plain}) but got {int}";
    SymbolAt: "ValueError" "Mismatched {at}{on}, expected {int} (= {place}) but got {int}";
    Constant: "ValueError" "Mismatched {at}{on}, expected {int} but got {int}";
    Unsolved: "ValueError" "Mismatched {at}{on}, expected {plain} but got {int}";
    LiteralInt: "ValueError" "Mismatched {at}{on}, expected {plain} but got {int}";
    LiteralBool: "ValueError" "Mismatched {at}{on}, expected {plain} but got {truth}";
    LiteralText: "ValueError" "Mismatched {at}{on}, expected {plain} but got {text}";
    Foreign: "TypeError" "Mismatched type of {at}{on}, expected {plain} but got {written}";
    SmallLength: "ValueError" "Mismatched {at}.small_str_len{on}, expected at most {int} but got {unsigned}";
    Padding: "ValueError" "Mismatched {at}.zero_padding{on}, expected {int} but got {unsigned}";
    Borrowed: "TypeError" "Mismatched type of result{calling}, expected an owned value but got a borrowed Tensor";
    NullResult: "TypeError" "Mismatched type of result{calling}, expected an owned value but got NULL";
    NullElement: "TypeError" "Mismatched type of a value of an Array or a function{calling}, expected an owned value but got NULL";
    NoObject: "TypeError" "Mismatched type of {at}{on}, expected a Tensor object but got a DLTensor*";
    Unheld: "TypeError" "Mismatched type of {subject}{calling}, expected a Tensor object, which a function can hold, but got a DLTensor*";
    Unkept: "TypeError" "Mismatched type of {subject}{calling}, expected a Tensor object, which an Array can hold, but got a DLTensor*";
    NoFunction: "TypeError" "Mismatched type of {subject}{calling}, expected Function but got None";
    NoKernel: "ValueError" "Mismatched {subject}{calling}, expected the address of a C function but got NULL";
    WideArgument: "ValueError" "Out of range {subject}{calling}, expected int64 but got {unsigned}";
    LargeSum: "ValueError" "Out of range {subject}{calling}, expected int64 but got {sum}";
    LargeDifference: "ValueError" "Out of range {subject}{calling}, expected int64 but got {difference}";
    LargeProduct: "ValueError" "Out of range {subject}{calling}, expected int64 but got {product}";
    LargeNumber: "ValueError" "Out of range {subject}{calling}, expected int64 but got more";
    Index: "ValueError" "Out of range {subject}{calling}, expected an index below {int} but got {int}";
    NegativeSize: "ValueError" "Out of range {subject}{calling}, expected a non-negative size but got {int}";
    LargeSize: "ValueError" "Out of range {subject}{calling}, expected at most {int} but got {int}";
    FewElements: "ValueError" "Mismatched {subject}{calling}, expected at least {int} but got {int}";
    ResultRange: "ValueError" "Out of range result{calling}, expected int64 but got {unsigned}";
    Status: "RuntimeError" "{subject}{calling}, status = {int}";
    Failed: "RuntimeError" "Failed {plain}{calling}, status = {int}";
    Missing: "RuntimeError" "Missing function {plain}{calling}";
    OutputExtent: "ValueError" "Mismatched {plain}.shape[{int}]{calling}, expected a non-negative extent but got {int}";
    OutputSize: "ValueError" "Out of range size of {plain}{calling}, expected at most {int} bytes but got more";
    Allocator: "RuntimeError" "Mismatched {plain}{calling}, expected an allocator of compact tensors at multiples of {unsigned} bytes";
    BigRange: "ValueError" "Out of range {at}{on}, expected {plain} but got {big}";
    BigSymbol: "ValueError" "Out of range {at}{on}, expected {plain} within int64 but got {big}";
    LiteralBig: "ValueError" "Mismatched {at}{on}, expected {plain} but got {big}";
    NoAllocator: "RuntimeError" "Missing allocator of {device} tensors for {plain}{calling}, pass a PyTorch tensor or call TVMFFIEnvSetDLPackManagedTensorAllocator before";
    OutOfMemory: "MemoryError" "Out of memory for {plain}{calling}, {unsigned} bytes";
    NumberBig: "ValueError" "Out of range {path}[{int}]{on}, expected int64 but got {big}";
    NoMemory: "MemoryError" "Out of memory for {subject}{calling}, {unsigned} bytes";
    ResultMemory: "MemoryError" "Out of memory for result{calling}";
    NoDriver: "RuntimeError" "Missing CUDA driver {plain}{calling}{plain}{plain}";
    NoEntry: "RuntimeError" "Missing {plain} in {plain}{calling}, which CUDA drivers have from 12.0 on";
    OldDriver: "RuntimeError" "Outdated CUDA driver {plain}{calling}, expected version {int} or newer but got {int}";
    Driver: "RuntimeError" "Failed {plain}{calling}, {plain} ({int}): {plain}{plain}";
    Kernel: "RuntimeError" "Failed {plain}{plain} of image {plain}{calling}, {plain} ({int}): {plain}{plain}, device = {devicetype}:{int}";
    Launch: "RuntimeError" "Failed {plain} of image {plain}{calling}, {plain} ({int}): {plain}{plain}, grid = ({int}, {int}, {int}), block = ({int}, {int}, {int}), cluster = ({int}, {int}, {int}), shared memory = {int}, device = {devicetype}:{int}";
    Params: "RuntimeError" "Mismatched parameters of {plain}{calling}, expected {int} but got {int}";
    ParamSize: "RuntimeError" "Mismatched size of parameter #{int} of {plain}{calling}, expected {int} but got {int}";
    Limit: "ValueError" "Out of range {plain} of {plain}{calling}, expected 1 to {int} on {devicetype}:{int} but got {int}";
    Cluster: "ValueError" "Mismatched {plain} of {plain}{calling}, expected a multiple of the cluster's {int} but got {int}";
    NoCommand: "RuntimeError" "Missing {plain} in the CUDA driver{calling}, which has it from 12.0 on";
    NoHip: "RuntimeError" "Missing HIP runtime {plain}{calling}{plain}{plain}";
    NoHipEntry: "RuntimeError" "Missing {plain} in {plain}{calling}, which HIP runtimes have from 6.0 on";
    HipLaunch: "RuntimeError" "Failed {plain} of image {plain}{calling}, {plain} ({int}): {plain}{plain}, grid = ({int}, {int}, {int}), block = ({int}, {int}, {int}), shared memory = {int}, device = {devicetype}:{int}";
    UploadAddress: "ValueError" "Misaligned {subject}{calling}, expected a multiple of {int} bytes for an upload but got remainder {int}";
    SharedMemory: "ValueError" "Out of range shared memory of {plain}{calling}, expected at most {int} bytes on {devicetype}:{int} but got {int}";
    MapFailed: "RuntimeError" "Failed {plain} of {plain}{calling}, {plain} ({int}): {plain}{plain}";
    MapAddress: "ValueError" "Misaligned {plain}.data{calling}, expected a multiple of {int} bytes for a tensor map but got remainder {int}";
    MapExtent: "ValueError" "Out of range {plain}.shape[{int}]{calling}, expected 1 to {int} for a tensor map but got {int}";
    MapInner: "ValueError" "Mismatched {plain}.strides[{int}]{calling}, expected 1 for a tensor map but got {int}";
    MapStride: "ValueError" "Mismatched {plain}.strides[{int}]{calling}, expected a multiple of {int} bytes below {int} for a tensor map but got {int}";
    MapOffset: "ValueError" "Misaligned {plain}.data and offset{calling}, expected a multiple of {int} bytes for a tensor map but got remainder {int}";
    MapDims: "ValueError" "Out of range dims of {plain}, dim {int}{calling}, expected 1 to {int} but got {int}";
    MapStrides: "ValueError" "Mismatched strides of {plain}, dim {int}{calling}, expected a multiple of {int} bytes below {int} but got {int} elements of {int} bits";
    MapBox: "ValueError" "Out of range box of {plain}, dim {int}{calling}, expected 1 to {int} but got {int}";
    MapRow: "ValueError" "Mismatched box of {plain}{calling}, expected rows of a multiple of 16 bytes up to {int} but got {int}";
    MapLower: "ValueError" "Out of range lower of {plain}, dim {int}{calling}, expected {int} to {int} but got {int}";
    MapUpper: "ValueError" "Out of range upper of {plain}, dim {int}{calling}, expected {int} to {int} but got {int}";
    MapBounds: "ValueError" "Mismatched lower and upper of {plain}, dim {int}{calling}, expected pixels between them but got {int}";
    MapChannels: "ValueError" "Out of range channels of {plain}{calling}, expected 1 to {int} but got {int}";
    MapPixels: "ValueError" "Out of range pixels of {plain}{calling}, expected 1 to {int} but got {int}";
    MapPixel: "ValueError" "Mismatched channels of {plain}{calling}, expected up to {int} bytes for the swizzle but got {int}";
    MapStep: "ValueError" "Out of range steps of {plain}, dim {int}{calling}, expected 1 to {int} but got {int}";
    FrameSize: "RuntimeError" "Mismatched size of XLA_FFI_CallFrame{calling}, expected at least {int} but got {int}";
    Operands: "TypeError" "Mismatched number of operands{calling}, expected {int} but got {int}";
    Results: "TypeError" "Mismatched number of results{calling}, expected {int} but got {int}";
    Attributes: "TypeError" "Mismatched number of attributes{calling}, expected {int} but got {int}";
    NoAttribute: "TypeError" "Missing {subject}{calling}";
    ForeignAttribute: "TypeError" "Mismatched type of {subject}{calling}, expected a number or text but got another attribute";
    NoArray: "TypeError" "Mismatched type of {subject}{calling}, expected an array of numbers but got another attribute";
    TorchCount: "TypeError" "Mismatched number of {subject}{calling}, expected {int} but got {int}";
    TorchUnknown: "ValueError" "Mismatched {subject}{calling}, expected a value that TVM FFI has, too, but got one that only PyTorch has";
    TorchMemory: "TypeError" "Mismatched type of {subject}{calling}, expected a tensor with strides and memory but got one of PyTorch without";
    TorchDevice: "ValueError" "Mismatched device of {subject}{calling}, expected one with memory but got another, as `meta`: compilers need `frameworks.register_fakes`";
    TorchElement: "TypeError" "Mismatched type of an element of a list{calling}, expected a tensor with strides and memory but got one of PyTorch without";
    TorchDtype: "TypeError" "Failed to allocate {plain}{calling}, PyTorch has no such element type";
    TorchAllocate: "RuntimeError" "Failed to allocate {plain}{calling}, {plain}";
    TorchStream: "RuntimeError" "Failed to get the stream of {subject}{calling}, PyTorch has none";
    TorchResult: "RuntimeError" "Failed to hand over the result{calling}, {plain}";
    TorchLarge: "ValueError" "Out of range result{calling}, expected int64 but got more";
    TorchResultDtype: "TypeError" "Mismatched dtype of result{calling}, expected an element type of PyTorch but got {dtype}";
}

/// Part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    /// Literal text.
    Words(&'static str),
    /// A placeholder.
    Value(PieceKind),
    /// `{subject}`: text that is known when the wrapper is lowered.
    Subject,
}

impl Complaint {
    /// Splits the template into literal text and placeholders.
    ///
    /// # Panics
    /// If a placeholder is not the name of a [`PieceKind`].
    pub(crate) fn parts(self) -> Vec<TemplatePart> {
        let mut parts = Vec::new();
        for (at, part) in self.text().split('{').enumerate() {
            let (name, words) =
                if at == 0 { ("", part) } else { part.split_once('}').unwrap_or((part, "")) };
            if at > 0 {
                parts.push(
                    placeholder(name)
                        .unwrap_or_else(|| panic!("{self:?}: {{{name}}} stands for nothing")),
                );
            }
            if !words.is_empty() {
                parts.push(TemplatePart::Words(words));
            }
        }
        parts
    }
}

/// Parses the name of a placeholder.
fn placeholder(name: &str) -> Option<TemplatePart> {
    if name == "subject" {
        return Some(TemplatePart::Subject);
    }
    let named = |kind: &&PieceKind| format!("{kind:?}").eq_ignore_ascii_case(name);
    PieceKind::ALL.iter().find(named).map(|kind| TemplatePart::Value(*kind))
}

/// Returns the name of what stands in the place of a placeholder.
pub(crate) fn placeholder_name(kind: PieceKind) -> &'static str {
    match kind {
        PieceKind::Words | PieceKind::Plain | PieceKind::Text | PieceKind::Unquoted => "TEXT",
        PieceKind::Int | PieceKind::Unsigned | PieceKind::Big => "INT",
        PieceKind::Sum | PieceKind::Difference | PieceKind::Product => "INT",
        PieceKind::Float => "FLOAT",
        PieceKind::Truth => "BOOL",
        PieceKind::Ptr => "POINTER",
        PieceKind::DType => "DTYPE",
        PieceKind::Device | PieceKind::DeviceType => "DEVICE",
        PieceKind::Type | PieceKind::Written => "TYPE",
        PieceKind::Origin => " (= VALUE)",
        PieceKind::Place | PieceKind::At | PieceKind::Path => "VALUE",
        PieceKind::On => " on argument #INT when calling: `SIGNATURE`",
        PieceKind::Calling => " when calling: `SIGNATURE`",
    }
}
