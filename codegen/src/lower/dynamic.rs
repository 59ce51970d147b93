//! Libraries that are never linked: tables of their functions, which are found at run time. They are the drivers that
//! launch GPU kernels, opened at the first launch, and PyTorch, which is there when operators are registered.

use target_lexicon::{OperatingSystem, Triple};

use crate::ir::typed::{Const, Handle, Int, Pointee, Ref, Single, signature_of, words};
use crate::ir::{Builder, Signature, Type, Value};
use crate::lower::value::zeros;

/// Functions of a library, which [`entries!`] declares.
///
/// An entry in a routine stays a Rust value, so that Rust functions can take it while the routine is emitted.
pub(crate) trait Entries: Copy + Const<Handle = Self> + 'static {
    /// Symbol of the table of their addresses, after which a word is not 0 once the library is open.
    const TABLE: &'static str;

    /// All functions, in the order of their addresses. Those that are needed come first.
    const ALL: &'static [Self];

    /// Number of functions.
    const COUNT: u64 = Self::ALL.len() as u64;

    /// Returns the index of the address.
    fn index(self) -> i32;

    /// Returns the name of the symbol.
    fn name(self) -> &'static str;

    /// Returns true if a library without the function is refused. Functions that are not needed are newer than the
    /// oldest supported library, or belong to commands that few declarations have.
    fn is_needed(self) -> bool;

    fn signature(self) -> Signature;
}

/// Returns the type of a result in a table of [`entries!`], which is a status unless the row says otherwise.
macro_rules! result {
    () => { $crate::ir::typed::Int<i32> };
    ($ty:ty) => { $ty };
}

/// Declares functions of a library. The first literal is the symbol of the table of their addresses. A row is a variant
/// of `Entry`, the name of the symbol, the Rust function that emits a call, the result if that is no status, and
/// whether the function is needed.
macro_rules! entries {
    ($variable:literal;
     $($(#[$doc:meta])* $variant:ident $name:literal $call:ident($($param:ident: $ty:ty),*) $(-> $result:ty,)? $needed:literal;)*) => {
        /// A function of the library.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Entry { $($(#[$doc])* $variant,)* }

        impl $crate::lower::dynamic::Entries for Entry {
            const TABLE: &'static str = $variable;
            const ALL: &'static [Entry] = &[$(Entry::$variant),*];

            fn index(self) -> i32 {
                self as i32
            }

            fn name(self) -> &'static str {
                match self { $(Entry::$variant => $name,)* }
            }

            fn is_needed(self) -> bool {
                match self { $(Entry::$variant => $needed,)* }
            }

            fn signature(self) -> $crate::ir::Signature {
                let (mut params, mut results) = (Vec::new(), Vec::new());
                match self { $(Entry::$variant => {
                    $(<$ty>::types(&mut params);)*
                    <$crate::lower::dynamic::result!($($result)?)>::types(&mut results);
                })* }
                $crate::ir::Signature::new(&params, results.first().copied())
            }
        }

        $(#[doc = concat!("Calls `", $name, "` of the library, which is open; yields the result.")]
        #[allow(dead_code, clippy::too_many_arguments, reason = "those of the library; compiled code launches")]
        pub(crate) fn $call(
            b: &mut $crate::ir::Builder<'_>,
            $($param: impl $crate::ir::typed::Make<$ty>),*
        ) -> $crate::lower::dynamic::result!($($result)?) {
            #[allow(unused_mut, reason = "a function may have no parameters")]
            let mut args = Vec::new();
            $(let $param: $ty = $param.make(b);
            $param.push(b, &mut args);)*
            $crate::lower::dynamic::call_with(b, Entry::$variant, &args)
        })*

        impl $crate::ir::typed::Const for Entry {
            type Handle = Entry;

            fn constant(self, _: &mut $crate::ir::Builder<'_>) -> Entry {
                self
            }
        }
    };
}

pub(crate) use {entries, result};

/// Emits the address of the table of functions.
pub(crate) fn table<E: Entries>(b: &mut Builder<'_>) -> Ref<Ref<u8>> {
    variable(b, E::TABLE, E::COUNT + 1)
}

/// Loads the address of a function of the open library; NULL if the library lacks the function.
pub(crate) fn entry_address<E: Entries>(b: &mut Builder<'_>, entry: E) -> Ref<u8> {
    let table = table::<E>(b).value(b);
    // Threads that open the library at once write the same addresses.
    Ref::new(b.atomic_load(Type::Ptr, table, 8 * entry.index()))
}

/// Calls a function of the open library that returns a status; yields the status.
///
/// # Panics
/// If the arguments are not of the types of its parameters, or the result is no status.
pub(crate) fn call<E: Entries, Args: Handle>(
    b: &mut Builder<'_>,
    entry: E,
    args: Args,
) -> Int<i32> {
    assert_eq!(signature_of::<Args, Int<i32>>(), entry.signature(), "{}", entry.name());
    let args = words(b, args);
    call_with(b, entry, &args)
}

/// Calls a function of the open library with these values; yields its result.
pub(crate) fn call_with<E: Entries, Result: Handle>(
    b: &mut Builder<'_>,
    entry: E,
    args: &[Value],
) -> Result {
    let function = entry_address(b, entry).value(b);
    let result = b.call_indirect(entry.signature(), function, args);
    Result::take(&mut result.into_iter())
}

/// Emits the address of a variable of the module: `count` values in a row, initially zero.
pub(crate) fn variable<T: Pointee>(b: &mut Builder<'_>, name: &str, count: u64) -> Ref<T> {
    let symbol = zeros(b.module, name, count as usize * T::SIZE as usize);
    Ref::new(b.address(symbol))
}

/// Functions with which a platform opens libraries and finds symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Loader {
    /// `dlopen` and `dlsym`.
    #[default]
    Dl,
    /// `LoadLibraryA` and `GetProcAddress`.
    Windows,
}

impl Loader {
    /// The loader of the platform that this crate is compiled for.
    pub const HOST: Loader = if cfg!(windows) { Loader::Windows } else { Loader::Dl };

    /// Returns the loader of a target.
    pub fn of(target: &Triple) -> Loader {
        let is_windows = target.operating_system == OperatingSystem::Windows;
        if is_windows { Loader::Windows } else { Loader::Dl }
    }
}
