//! Routines: functions that all wrappers share. A few are on the hot path; most run only after a check has failed.
//!
//! Routines are host IR, so each backend compiles the same code. They are written in the language of
//! [`routine`](crate::ir::typed::routine), and the symbol of a routine is [`PREFIX`] and the name of its function.

mod access;
mod allocate;
mod big_int;
pub(crate) mod cached;
pub(crate) mod callee;
mod classes;
pub(crate) mod commands;
pub(crate) mod complaints;
mod cuda;
mod driver;
mod errors;
mod fail;
mod fail_tensor;
mod fail_value;
mod float;
mod functions;
mod hip;
pub(crate) mod linked;
mod loading;
pub(crate) mod memory;
mod message;
mod names;
pub(crate) mod place;
pub(crate) mod records;
mod release;
mod result;
mod runtime;
mod scalar;
pub(crate) mod schema;
#[cfg(test)]
mod tests;
mod text;
pub(crate) mod torch;
mod view;
pub(crate) mod xla;

pub(crate) use classes::CACHE_SIZE as CLASS_CACHE;
pub(crate) use driver::command::{NO_ATTRIBUTE, NO_DEVICE};
pub(crate) use memory::NUMBERS_SIZE;

/// Prefix of the symbols of routines.
const PREFIX: &str = "tvm_ffi_codegen.";

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind, Value, typed};
use crate::lower::dynamic::Loader;
use driver::{Cuda, Hip};

/// Declares [`Routine`]. A row is a variant, its [`Heat`], a [`Word`] if one applies, the path of the function with its
/// source, and that of the function in its place where the [`Loader`] is that of Windows, if there is one.
macro_rules! routines {
    ($($name:ident $heat:ident $($word:ident)?, $path:path $(, windows $windows:path)?;)*) => {
        /// A shared routine. Predicates return 0 or 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Routine {
            $(#[doc = concat!("See [`", stringify!($path), "`](fn@", stringify!($path), ").")] $name,)*
        }

        impl Routine {
            /// All routines, in the order of emission.
            const ALL: &[Routine] = &[$(Routine::$name),*];

            /// Returns the name of the symbol, which no declaration can spell.
            const fn name(self) -> &'static str {
                match self {
                    $(Routine::$name => <$path as typed::Routine>::NAME,)*
                }
            }

            fn signature(self) -> Signature {
                match self {
                    $(Routine::$name => <$path as typed::Routine>::signature(),)*
                }
            }

            fn build(self, loader: Loader) -> fn(&mut Builder<'_>) {
                match (self, loader) {
                    $($((Routine::$name, Loader::Windows) => <$windows as typed::Routine>::build,)?
                    (Routine::$name, _) => <$path as typed::Routine>::build,)*
                }
            }

            /// Returns how often the routine is called.
            const fn heat(self) -> Heat {
                match self {
                    $(Routine::$name => Heat::$heat,)*
                }
            }

            const fn words(self) -> &'static [Word] {
                match self {
                    $(Routine::$name => &[$(Word::$word)?],)*
                }
            }

            /// Returns the rooms whose routines share variables, if the routine is in one of them.
            fn sharing(self) -> Option<linked::Sharing> {
                match self {
                    $(Routine::$name => linked::Sharing::of(stringify!($path)),)*
                }
            }
        }
    };
}

/// Frequency of calls of a routine.
#[derive(Clone, Copy)]
#[expect(non_camel_case_types, reason = "words of the table")]
enum Heat {
    /// Called on the hot path of some functions; backends may inline it.
    hot,
    /// Called on the hot path of some functions, never inlined.
    outline,
    /// Called only after a failure or in an unusual case.
    cold,
}

/// Fact that a row states about a routine besides its heat.
#[derive(Clone, Copy)]
#[expect(non_camel_case_types, reason = "words of the table")]
enum Word {
    /// A routine that only other routines call.
    inner,
    /// The last parameter is the address of the indices of the enclosing loops.
    indices,
}

routines! {
    FailAt cold, message::fail_at;
    PassPending cold inner, message::pass_pending;
    IsOwned hot, result::is_owned;
    CopyAny hot, result::copy_any;
    Own outline, result::own;
    LookUp cold, functions::look_up;
    CallNamed outline, functions::call_named;
    CallObject outline, functions::call_object;
    Release hot, release::release;
    Leave cold, release::leave;
    Allocate outline, allocate::allocate;
    AllocateOne outline inner, allocate::allocate_one;
    AllocatePlain outline inner, allocate::allocate_plain;
    DataSize outline inner, allocate::data_size;
    CheckSize outline inner, allocate::check_size;
    MakeArray outline, functions::make_array;
    MakeShape outline, functions::make_shape;
    MakeFunction outline, functions::make_function;
    KeepCode outline, functions::keep_code;
    MakeBytes outline, functions::make_bytes;
    CachedKeep cold, cached::cached_keep;
    CachedInsert cold inner, cached::cached_insert;
    CachedAppend cold inner, cached::cached_append;
    CachedForget cold, cached::cached_forget;
    Make outline inner, functions::make;
    Settle outline, view::settle;
    Leading outline, view::leading;
    Fold outline, view::fold;
    FoldedExtent outline inner, view::folded_extent;
    ExtentsFrom outline, view::extents_from;
    CheckHeader outline, fail_tensor::check_header;
    CheckDevice cold, fail_tensor::check_device;
    StrideAt cold inner, view::stride_at;
    CompactAt cold inner, view::compact_at;
    NotEmpty cold inner, view::not_empty;
    IsCompact outline, view::is_compact;
    Object hot, access::object;
    Text outline, access::text;
    SameText hot, access::same_text;
    OneOfTexts outline, access::one_of_texts;
    Numbers outline, access::numbers;
    ToDtype cold, access::to_dtype;
    ToDevice cold, access::to_device;
    ToHandle cold, access::to_handle;
    IsInstance outline, classes::is_instance;
    IsKnown cold inner, classes::is_known;
    ListClasses cold inner, classes::list_classes;
    KeyOf cold inner, classes::key_of;
    GiveText cold, result::give_text;
    PassOn cold inner, errors::pass_on;
    SetPassing cold inner, errors::set_passing;
    Raise cold inner, errors::raise;
    PutDtype cold inner, names::put_dtype;
    PutDevice cold inner, names::put_device;
    PutType cold inner, names::put_type;
    PutKey cold inner, names::put_key;
    PutWritten cold inner, names::put_written;
    Put cold inner, text::put;
    PutInt cold inner, text::put_int;
    PutUnsigned cold inner, text::put_unsigned;
    PutQuoted cold inner, text::put_quoted;
    PutUnquoted cold inner, text::put_unquoted;
    PutWords cold inner, big_int::put_words;
    PutFloat cold inner, float::put_float;
    PutDigits cold inner, float::put_digits;
    BigScale cold inner, float::big_scale;
    BigCompare cold inner, float::big_compare;
    BigSubtract cold inner, float::big_subtract;
    RoundHalf outline, scalar::round_half;
    WidenHalf outline, scalar::widen_half;
    BigShift cold inner, float::big_shift;
    Clear hot, cuda::clear;
    TensorMap outline, cuda::map::tensor_map;
    Im2colMap outline, cuda::map::im2col_map;
    Prepare cold, cuda::context::prepare;
    PrepareHere cold inner, cuda::context::prepare_here;
    Unload cold, cuda::load::unload_image;
    LoadKernel cold, cuda::load::load_kernel;
    LoadImage cold inner, cuda::load::load_image;
    CheckParams cold inner, cuda::load::check_params;
    Allow outline, cuda::load::allow;
    KeepLaunch cold, cuda::kept::keep_launch;
    FitShared cold inner, cuda::shared::fit_shared;
    EnterContext outline inner, cuda::context::enter_context;
    EnterPrimary cold, cuda::context::enter_primary;
    PushPrimary cold inner, cuda::context::push_primary;
    LeaveContext cold, cuda::context::leave_context;
    Fill outline, driver::command::fill::<Cuda>;
    Copy outline, driver::command::copy::<Cuda>;
    Upload outline, cuda::command::upload;
    Operate outline inner, cuda::command::operate;
    Wait outline, driver::command::wait::<Cuda>;
    RecordEvent outline inner, driver::command::record::<Cuda>;
    EnterStream outline inner, cuda::command::enter_stream;
    DeviceAttribute cold, driver::command::device_attribute::<Cuda>;
    CurrentDevice outline, driver::command::current_device::<Cuda>;
    FindGlobal cold, driver::global::find_global::<Cuda>;
    RunHook cold, driver::global::run_hook::<Cuda>;
    ThisThread cold inner, driver::thread::this_thread, windows driver::thread::this_thread_on_windows;
    Pause cold inner, driver::thread::pause, windows driver::thread::pause_on_windows;
    PrepareCommands cold, cuda::command::prepare_commands;
    CheckLimits cold inner, cuda::limits::check_limits;
    CheckCluster cold inner, cuda::limits::check_cluster;
    UpTo cold inner, driver::limits::up_to::<Cuda>;
    Fits cold inner, driver::limits::fits::<Cuda>;
    Divides cold inner, cuda::limits::divides;
    DriverFailed cold inner, driver::failed::driver_failed::<Cuda>;
    KernelFailed cold inner, driver::failed::kernel_failed::<Cuda>;
    LaunchFailed cold, driver::limits::launch_failed::<Cuda>;
    OpenDriver cold inner, driver::open::open_driver::<Cuda>, windows driver::open::open_driver_on_windows::<Cuda>;
    OpenHip cold inner, driver::open::open_driver::<Hip>, windows driver::open::open_driver_on_windows::<Hip>;
    EnterDevice cold inner, hip::device::enter_device;
    LeaveDevice cold inner, hip::device::leave_device;
    LaunchThere cold, hip::launch::launch_there;
    LoadFunction cold, hip::load::load_function;
    LoadHere cold inner, hip::load::load_here;
    LoadModule cold inner, hip::load::load_module;
    UnloadModules cold, hip::load::unload_modules;
    ForgetFunction cold, hip::load::forget_function;
    HipFill outline, driver::command::fill::<Hip>;
    HipCopy outline, driver::command::copy::<Hip>;
    HipUpload outline, hip::command::hip_upload;
    HipWait outline, driver::command::wait::<Hip>;
    HipRecord outline inner, driver::command::record::<Hip>;
    StreamDevice outline inner, hip::command::stream_device;
    HipDeviceAttribute cold, driver::command::device_attribute::<Hip>;
    HipCurrentDevice outline, driver::command::current_device::<Hip>;
    HipFindGlobal cold, driver::global::find_global::<Hip>;
    HipRunHook cold, driver::global::run_hook::<Hip>;
    HipPrepareCommands cold, hip::command::hip_prepare_commands;
    HipCheckLimits cold inner, hip::limits::hip_check_limits;
    HipUpTo cold inner, driver::limits::up_to::<Hip>;
    HipFits cold inner, driver::limits::fits::<Hip>;
    HipLaunchFailed cold, driver::limits::launch_failed::<Hip>;
    HipFailed cold inner, driver::failed::driver_failed::<Hip>;
    HipKernelFailed cold inner, driver::failed::kernel_failed::<Hip>;
    FailCount cold, fail::fail_count;
    FailNumber cold indices, fail::fail_number;
    FailScalar cold indices, fail::fail_scalar;
    FailHeader cold indices, fail_tensor::fail_header;
    FailTrailing cold indices, fail_tensor::fail_trailing;
    FailLeading cold indices, fail_tensor::fail_leading;
    FailDevice cold indices, fail_tensor::fail_device;
    FailOtherDtype cold indices, fail_tensor::fail_other_dtype;
    FailLayout cold indices, fail_tensor::fail_layout;
    FailValue cold indices, fail_value::fail_value;
    FailType cold inner, fail_value::fail_type;
    WrongType cold inner, fail_value::wrong_type;
    FailText cold inner, fail_value::fail_text;
    FailNumbers cold inner, fail_value::fail_numbers;
    FailElement cold inner, fail_value::fail_element;
    FailSize cold inner, fail_value::fail_size;
    FailLiteral cold inner, fail_value::fail_literal;
    FailOwned cold, result::fail_owned;
    Fail cold, message::fail;
    FailAny cold, message::fail_any;
    Say cold inner, message::say;
    SayAny cold inner, message::say_any;
    PutPiece cold inner, message::put_piece;
    PutCalling cold inner, message::put_calling;
    PutPlace cold inner, message::put_place;
    PutPath cold inner, message::put_path;
    PutDeviceType cold inner, names::put_device_type;
    PutBig cold inner, big_int::put_big;
    XlaDescribe cold, xla::xla_describe;
    XlaView outline, xla::xla_view;
    XlaAttribute outline, xla::xla_attribute;
    XlaNumber outline inner, xla::xla_number;
    XlaArray outline inner, xla::xla_array;
    XlaEnter outline, xla::xla_enter;
    XlaError cold, xla::xla_error;
    XlaLend outline, xla::scratch::xla_lend;
    XlaTakeBack outline, xla::scratch::xla_take_back;
    XlaAllocator outline inner, xla::scratch::xla_allocator;
    XlaAllocate outline inner, xla::scratch::xla_allocate;
    XlaDelete outline inner, xla::scratch::xla_delete;
    XlaSetState cold, xla::state::xla_set_state;
    XlaGetState outline, xla::state::xla_get_state;
    TorchView outline, torch::torch_view;
    TorchDevice outline, torch::torch_device;
    TorchDtype outline, torch::torch_dtype;
    TorchUnbox outline, torch::torch_unbox;
    TorchDrop outline, torch::torch_drop;
    TorchText outline, torch::torch_text;
    TorchBytes outline, torch::torch_bytes;
    TorchGive outline, torch::give::torch_give;
    TorchWord outline inner, torch::give::torch_word;
    TorchGiveList outline inner, torch::give::torch_give_list;
    TorchGiveElement outline inner, torch::give::torch_give_element;
    TorchLend outline inner, torch::give::torch_lend;
    TorchGiveBack outline inner, torch::give::torch_give_back;
    TorchList outline, torch::list::torch_list;
    TorchItem outline inner, torch::list::torch_item;
    TorchShare outline, torch::list::torch_share;
    TorchOwn outline inner, torch::list::torch_own;
    TorchDelete outline inner, torch::allocate::torch_delete;
    TorchAllocate outline, torch::allocate::torch_allocate;
    TorchAllocateOne outline inner, torch::allocate::torch_allocate_one;
    TorchEmpty outline inner, torch::allocate::torch_empty;
    TorchLendAllocator outline, torch::allocate::torch_lend_allocator;
    TorchTakeAllocator outline, torch::allocate::torch_take_allocator;
    TorchAllocator outline inner, torch::allocate::torch_allocator;
    TorchEnter outline, torch::torch_enter;
    LeaveStream outline, place::leave_stream;
    TorchThrow cold, torch::torch_throw;
    TorchBegin cold, torch::register::torch_begin;
    TorchFind cold inner, torch::register::torch_find, windows torch::register::torch_find_on_windows;
    TorchDefine cold, torch::register::torch_define;
    TorchEnd cold, torch::register::torch_end;
}

impl Routine {
    /// Returns true if only other routines call the routine.
    const fn is_inner(self) -> bool {
        matches!(self.words(), [Word::inner])
    }

    /// Returns true if the last parameter is the address of the indices of the enclosing loops.
    pub(crate) const fn takes_indices(self) -> bool {
        matches!(self.words(), [Word::indices])
    }

    /// Returns the symbol of the routine and declares it in a module that lacks it.
    pub(crate) fn declare(self, module: &mut Module, linkage: Linkage) -> Symbol {
        module.declare(self.name(), linkage, SymbolKind::Function(self.signature()))
    }

    /// Emits the address of the routine, within another one.
    pub(crate) fn address(self, b: &mut Builder<'_>) -> Value {
        let linkage = b.module.symbols[b.symbol().index()].linkage;
        let symbol = self.declare(b.module, linkage);
        b.address(symbol)
    }

    /// Emits a call of the routine. Returns its result, if it has one.
    pub(crate) fn call(
        self,
        b: &mut Builder<'_>,
        linkage: Linkage,
        args: &[Value],
    ) -> Option<Value> {
        let symbol = self.declare(b.module, linkage);
        b.call(symbol, args)
    }
}

/// Declares every routine.
pub(crate) fn declare_all(module: &mut Module, linkage: Linkage) {
    for routine in Routine::ALL {
        routine.declare(module, linkage);
    }
}

/// Defines the routines that the module declares and that satisfy `wanted`, and likewise the routines that they call.
pub(crate) fn define_used(
    module: &mut Module,
    linkage: Linkage,
    loader: Loader,
    wanted: impl Fn(Routine) -> bool,
) {
    let (mut left, mut seen) = (BTreeSet::new(), 0);
    loop {
        // A routine declares others while it is defined. The next one is the first of the table.
        let declared = module.symbols[seen..].iter();
        let places = declared.filter_map(|symbol| PLACES.get(&*symbol.name).copied());
        left.extend(places.filter(|&at| wanted(Routine::ALL[at])));
        seen = module.symbols.len();
        let Some(at) = left.pop_first() else { return };
        define(module, Routine::ALL[at], linkage, loader);
    }
}

/// Indices of the routines in [`Routine::ALL`] by their names.
static PLACES: LazyLock<FxHashMap<&str, usize>> = LazyLock::new(|| {
    let names = Routine::ALL.iter().map(|routine| routine.name());
    names.enumerate().map(|(at, name)| (name, at)).collect()
});

fn define(module: &mut Module, routine: Routine, linkage: Linkage, loader: Loader) {
    let mut builder = Builder::function(module, routine.name(), linkage, routine.signature());
    match routine.heat() {
        Heat::hot => {}
        Heat::outline => builder.set_no_inline(),
        Heat::cold => builder.set_cold(),
    }
    routine.build(loader)(&mut builder);
    if let Heat::cold = routine.heat() {
        builder.share_returns();
    }
    let function = builder.finish();
    module.functions.push(function);
}
