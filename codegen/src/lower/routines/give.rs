//! Returning constant text.

use crate::ir::typed::{Text, routine};
use crate::lower::routines::access::filled;
use crate::lower::routines::memory::{Any, ByteArray};
use crate::lower::routines::runtime::string_from_byte_array;

/// The whole of a function that returns a constant text, as an owned string. The result is written at once and whole, if
/// all went well; else the runtime has raised, and so has this.
#[routine]
pub(crate) fn give_text(text: Text, result: &Any) -> i32 {
    let bytes: ByteArray;
    let string: Any;
    string.head = 0;
    string.payload = 0;
    if string_from_byte_array(filled(bytes, text.data, text.len), string) != 0 {
        return -1;
    }
    result.head = string.head;
    result.payload = string.payload;
    0
}
