//! Libraries that launch GPU kernels: tables of their functions, which are found at the first launch. The libraries are
//! never linked.

use target_lexicon::{OperatingSystem, Triple};

use crate::ir::Builder;
use crate::ir::typed::{Pointee, Ref, Single};
use crate::lower::value::zeros;

/// Declares functions of a library. The first literal is the symbol of the table of their addresses. A row is a variant
/// of `Entry`, the name of the symbol, the Rust function that emits a call, and whether the function is needed.
macro_rules! entries {
    ($variable:literal;
     $($(#[$doc:meta])* $variant:ident $name:literal $call:ident($($param:ident: $ty:ty),*) $needed:literal;)*) => {
        /// A function of the library. Each returns a status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Entry { $($(#[$doc])* $variant,)* }

        impl Entry {
            /// All functions, in the order of their addresses in [`Table`].
            pub(crate) const ALL: &[Entry] = &[$(Entry::$variant),*];

            /// Returns the name of the symbol.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Entry::$variant => $name,)* }
            }

            /// Returns true if a library without the function is refused. Functions that are not needed are newer than the
            /// oldest supported one, or belong to commands that few libraries have.
            pub(crate) const fn is_needed(self) -> bool {
                match self { $(Entry::$variant => $needed,)* }
            }

            pub(crate) fn signature(self) -> $crate::ir::Signature {
                let mut params = Vec::new();
                match self { $(Entry::$variant => { $(<$ty>::types(&mut params);)* })* }
                $crate::ir::Signature::new(&params, Some($crate::ir::Type::I32))
            }
        }

        $(#[doc = concat!("Calls `", $name, "` of the library, which is open; yields the status.")]
        #[allow(dead_code, clippy::too_many_arguments, reason = "those of the library; compiled code launches")]
        pub(crate) fn $call(
            b: &mut $crate::ir::Builder<'_>,
            $($param: impl $crate::ir::typed::Make<$ty>),*
        ) -> Int<i32> {
            let mut args = Vec::new();
            $(let $param: $ty = $param.make(b);
            $param.push(b, &mut args);)*
            let function = driver_address(b, Entry::$variant).value(b);
            Int::new(b.call_indirect_value(Entry::$variant.signature(), function, &args))
        })*

        /// An entry in a routine stays a Rust value, so that Rust functions can take it while the routine is emitted.
        impl $crate::ir::typed::Const for Entry {
            type Handle = Entry;

            fn constant(self, _: &mut $crate::ir::Builder<'_>) -> Entry {
                self
            }
        }

        /// Number of functions.
        pub(crate) const COUNT: u64 = Entry::ALL.len() as u64;

        $crate::ir::typed::structs! {
            /// The addresses of the functions, then a word that is not 0 once the library is open.
            Table TableFields: 8 * COUNT as u32 + 8, 8 => {
                functions: Nested<Ref<u8>> = 0,
                ready: Field<u64> = 8 * COUNT as i32,
            }
        }

        /// Emits the address of the table of functions.
        pub(crate) fn table(b: &mut $crate::ir::Builder<'_>) -> Ref<Table> {
            $crate::lower::driver::variable(b, $variable, 1)
        }

        /// Loads the address of a function of the open library; NULL if the library lacks the function.
        pub(crate) fn driver_address(b: &mut $crate::ir::Builder<'_>, entry: Entry) -> Ref<u8> {
            let table = table(b).value(b);
            // Threads that open the library at once write the same addresses.
            Ref::new(b.atomic_load($crate::ir::Type::Ptr, table, 8 * entry as i32))
        }
    };
}

/// Declares structs of 8-byte fields. A row is the constant of the byte offset, the index of the field, and the typed
/// field that routines access.
macro_rules! fields {
    ($($(#[$doc:meta])* $module:ident $struct:ident $fields:ident {
        $($(#[$field_doc:meta])* $name:ident $index:literal $field:ident: $kind:ident<$ty:ty>;)*
    } $size:expr;)*) => {
        $($(#[$doc])*
        pub(crate) mod $module {
            $($(#[$field_doc])* pub(crate) const $name: i32 = 8 * $index;)*
            pub(crate) const SIZE: u32 = 8 * $size;
        })*

        $crate::ir::typed::structs! {
            $($(#[$doc])* $struct $fields: $module::SIZE, 8 => { $($field: $kind<$ty> = $module::$name,)* })*
        }
    };
}

pub(crate) use {entries, fields};

/// Emits the address of a variable of the module: `count` values in a row, initially zero.
pub(crate) fn variable<T: Pointee>(b: &mut Builder<'_>, name: &str, count: u64) -> Ref<T> {
    let symbol = zeros(b.module, name, count as usize * T::SIZE as usize);
    Ref::new(b.address(symbol))
}

/// Functions with which a platform opens libraries and finds symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
