//! Common facts of the drivers of CUDA and HIP: devices, hooks, opaque types, structs of 8-byte fields.

/// Number of devices with a bit in masks and an entry in tables.
pub(crate) const DEVICES: u64 = 64;

/// Values of the word of a device in the table of an image with a function that is [called once it is
/// loaded](crate::declaration::Image::on_load). Others are the number of the thread that calls the function.
pub(crate) const HOOK_OPEN: u64 = 0;
pub(crate) const HOOK_DONE: u64 = 1;

/// Opaque types of all platforms.
pub(crate) enum Stream {}
pub(crate) enum Event {}

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

pub(crate) use fields;
