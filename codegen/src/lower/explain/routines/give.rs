//! Returning constant text.

use abi_spec::layout::{ANY, BYTE_ARRAY, any, byte_array};
use abi_spec::runtime;

use crate::ir::{Cond, Type};
use crate::lower::explain::routines::code::Code;

/// `(text, length, result)`: an owned string. The result is written at once and whole, if all went well;
/// else the runtime has raised, and so has this.
pub(crate) fn text(c: &mut Code<'_>) {
    let [text, length, result] = [0, 1, 2].map(|i| c.b.param(i));
    let bytes = c.b.stack_slot(BYTE_ARRAY.size, 8);
    let string = c.b.stack_slot(ANY.size, 8);
    c.b.store(text, bytes, byte_array::DATA.offset);
    c.b.store(length, bytes, byte_array::SIZE.offset);
    let zero = c.b.i64(0);
    let words = [any::TYPE_INDEX.offset, any::PAYLOAD.offset];
    words.into_iter().for_each(|word| c.b.store(zero, string, word));
    let make = crate::lower::runtime(c.b.module, &runtime::STRING_FROM_BYTE_ARRAY);
    let status = c.b.call_value(make, &[bytes, string]);
    let made = c.b.compare_const(Cond::Eq, status, 0);
    c.when(made, |c| {
        for word in words {
            let value = c.b.load(Type::I64, string, word);
            c.b.store(value, result, word);
        }
        c.return_code(0);
    });
    c.return_code(-1);
}
