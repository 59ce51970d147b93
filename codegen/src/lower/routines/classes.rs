//! Classes that are registered with the runtime.
//!
//! The runtime ends the process when it is asked about a type index that it does not know, and the header of an object
//! may hold any. So an index is looked for among the keys of all classes, which [`LIST`] returns.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Int, Text, constant, routine};
use crate::lower::routines::access::{ALL, text};
use crate::lower::routines::errors::forget_error;
use crate::lower::routines::memory::{Any, ByteArray, Object, filled, write};
use crate::lower::routines::release::release;
use crate::lower::routines::runtime::{
    function_call, function_get_global, get_type_info, object_dec_ref, type_key_to_index,
};

/// The function of the registry that returns an array of all keys.
const LIST: &str = "ffi.GetRegisteredTypeKeys";

/// Number of registered classes that the cache of a class remembers. The others are looked for each time.
const REMEMBERED: u64 = 4096;

/// Bytes of the cache of a class: its type index, then a bit for each remembered index that the runtime knows.
pub(crate) const CACHE_SIZE: usize = 8 + REMEMBERED as usize / 8;

/// Stores the keys of all classes, an owned array; None if the runtime has no list of them.
#[routine]
pub(crate) fn list_classes(keys: &Any) -> i32 {
    write(keys, TypeIndex::NONE, 0);
    let out: &Object;
    *out = null;
    let array: ByteArray;
    let name = list_name();
    if function_get_global(filled(array, name.data, name.len), out) != 0 {
        forget_error();
    }
    let function = *out;
    if function == null {
        return 0;
    }
    if function_call(function, keys, 0, keys) != 0 {
        forget_error();
        write(keys, TypeIndex::NONE, 0);
    }
    object_dec_ref(function)
}

/// Returns the name of the function that lists classes.
fn list_name(b: &mut Builder<'_>) -> Text {
    constant(b, LIST)
}

/// Returns the key of the class of a type index among the keys of all classes, NULL if it is not there. Small text is
/// kept in `array`.
#[routine]
pub(crate) fn key_of(keys: &Any, index: i32, array: &ByteArray) -> &ByteArray {
    if keys.type_index != TypeIndex::ARRAY {
        return null;
    }
    let list = keys.object;
    let elements = list.elements;
    let found: i32;
    for at in 0..list.size as i64 {
        let key = text(&elements[at], ALL, ALL, array);
        if key != null {
            if type_key_to_index(key, found) == 0 {
                if *found == index {
                    return key;
                }
            } else {
                forget_error();
            }
        }
    }
    null
}

/// Returns 1 if the runtime knows the type index of an object, which is not below that of the first registered class.
/// `cache` is that of any class.
#[routine]
pub(crate) fn is_known(index: i32, cache: &i64) -> i32 {
    let at = (index - TypeIndex::DYN_OBJECT_BEGIN) as i64 as u64;
    let is_remembered = at < remembered();
    let bit = 1u64 << (at & 63);
    let place = &(cache as &u64)[if is_remembered { 1 + (at >> 6) } else { 1 }];
    if is_remembered && place.load_atomic() & bit != 0 {
        return 1;
    }
    let keys: Any;
    let array: ByteArray;
    list_classes(keys);
    let key = key_of(keys, index, array);
    release(keys, 1);
    if key == null {
        return 0;
    }
    if is_remembered {
        place.store_atomic(place.load_atomic() | bit);
    }
    1
}

/// Returns [`REMEMBERED`].
fn remembered(b: &mut Builder<'_>) -> Int<u64> {
    constant(b, REMEMBERED)
}

/// Returns 1 if an object is an instance of the class of a key or of a class derived from it, else 0.
///
/// A NULL object is no instance, and a class that is not registered has no instances. `cache` begins with the type
/// index of the class, once it is known.
#[routine]
pub(crate) fn is_instance(object: &Object, key: Text, cache: &i64) -> i32 {
    if object == null {
        return 0;
    }
    let index = object.type_index;
    let mut class = cache.load_atomic();
    if class == 0 {
        let array: ByteArray;
        let found: i32;
        if type_key_to_index(filled(array, key.data, key.len), found) != 0 {
            forget_error();
            return 0;
        }
        class = *found as i64;
        cache.store_atomic(class);
    }
    if index as i64 == class {
        return 1;
    }
    // A static type index may be unknown too, and is that of no registered class.
    if index < TypeIndex::DYN_OBJECT_BEGIN {
        return 0;
    }
    if is_known(index, cache) == 0 {
        return 0;
    }
    let info = get_type_info(index);
    let ancestors = info.ancestors;
    for at in 0..info.depth {
        let ancestor = ancestors[at];
        if ancestor.type_index as i64 == class {
            return 1;
        }
    }
    0
}
