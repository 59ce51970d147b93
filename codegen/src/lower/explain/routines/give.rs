//! Returning constant text.

use abi_spec::layout::{ANY, BYTE_ARRAY, any, byte_array};
use abi_spec::runtime;

use crate::ir::{Builder, Cond, Type};
use crate::lower::explain::codes::Used;

/// `(text, length, result)`: the whole of a function that returns a constant text, as an owned string. The
/// result is written at once and whole, if all went well; else the runtime has raised, and so has this.
pub(crate) fn text(b: &mut Builder<'_>, _: Used) {
    let [text, length, result] = [0, 1, 2].map(|i| b.param(i));
    let bytes = b.stack_slot(BYTE_ARRAY.size, 8);
    let string = b.stack_slot(ANY.size, 8);
    b.store(text, bytes, byte_array::DATA.offset);
    b.store(length, bytes, byte_array::SIZE.offset);
    let zero = b.i64(0);
    let words = [any::TYPE_INDEX.offset, any::PAYLOAD.offset];
    words.into_iter().for_each(|word| b.store(zero, string, word));
    let status = b.runtime(&runtime::STRING_FROM_BYTE_ARRAY, &[bytes, string]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.return_if(failed, -1);
    for word in words {
        let value = b.load(Type::I64, string, word);
        b.store(value, result, word);
    }
    b.return_code(0);
}
