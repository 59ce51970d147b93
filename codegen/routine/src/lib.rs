//! The language of the routines: functions of host IR, written in a small subset of Rust.
//!
//! [`routine`] translates a function into calls of the typed handles of `tvm_ffi_codegen::ir::typed`, each at the place
//! in the source that it comes from, so that rustc itself checks the types there. What it makes is an ordinary Rust
//! function that emits: nothing is interpreted, and backends see host IR like any other.
//!
//! # Types
//!
//! `i8` to `u64`, `f32`, `f64`, `bool`; `&T`, an address that may be NULL, of a number, of another address or of a
//! struct that is declared to `typed`; tuples; structs of handles, such as `Text`, the type of `"…"`.
//!
//! # Statements
//!
//! | | |
//! |---|---|
//! | `let x = e;` `let x: T = e;` | a value |
//! | `let mut x: T = e;` `x = e;` `x += e;` | a variable, which becomes parameters of blocks, never memory |
//! | `let x: T;` `let x: [T; N];` | room on the stack; `x` is its address, `&T` |
//! | `*p = e;` `p[i] = e;` `p.field = e;` | a store |
//! | `if`, `match` on integers, `while`, `loop`, `for i in a..b`, `for i in (a..b).rev()`, `break`, `continue`, `return` | as in Rust |
//! | `if unlikely(c) { … }` | the same, and the code stands with what is cold |
//! | `call(…)?` | returns what the call yields, unless it is 0 |
//! | `raise!(where, complaint, e, …)` | calls `raise`, and returns -1, NULL or nothing; an `if` that ends so is cold |
//!
//! # Expressions
//!
//! Arithmetic wraps; the type says whether it has a sign. `*p`, `p[i]`, `p.field` load; `&p[i]` and `&p.field` are
//! addresses; `as` converts. Names in capitals, `Type::Variant` and literals are Rust's constants. An integer literal
//! takes its type from the other operand, or from where it goes. `null` is no address. A call is of another function
//! of the language, or of any Rust function that takes the builder first; so is a method of a handle. An `if` or a
//! `match` whose arms have no effects is a `select`.
//!
//! With `#[routine(inline)]` a function is no function of its own: its code is where it is called. Its parameters with
//! `#[known]` are Rust values.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "the language is a part of Rust; the rest is refused, or plain"
)]

mod analysis;
mod control;
mod expression;
mod function;
mod loops;
mod place;
mod statement;
mod types;

use proc_macro::TokenStream;

/// Translates a function of the language, see [the crate](crate).
#[proc_macro_attribute]
pub fn routine(args: TokenStream, item: TokenStream) -> TokenStream {
    let inline = match args.to_string().as_str() {
        "" => false,
        "inline" => true,
        other => {
            let message = format!("expected `inline` or nothing, found `{other}`");
            return syn::Error::new(proc_macro2::Span::call_site(), message)
                .to_compile_error()
                .into();
        }
    };
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    function::translate(&function, inline).unwrap_or_else(|error| error.to_compile_error()).into()
}
