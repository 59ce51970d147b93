//! Floating-point numbers in messages.

use super::code::Code;

/// `(state, value)`
pub(super) fn put_float(c: &mut Code<'_>) {
    let s = c.state();
    c.say(s, "?");
    c.b.ret(None);
}
