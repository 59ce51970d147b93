//! The language of routines: functions of host IR, written in a small subset of Rust.
//!
//! [`routine`] translates each expression to a call of a typed handle of `tvm_ffi_codegen::ir::typed`, at its span in
//! the source, so that rustc itself checks the types there. The result is an ordinary Rust function that emits host IR.
//!
//! # Types
//!
//! `i8` to `u64`, `f32`, `f64`, `bool`; `&T`, an address, which may be NULL, of a number, of another address or of a
//! struct that `typed::structs!` declares; tuples; structs of handles, such as `Text`, the type of `"…"`.
//!
//! # Statements
//!
//! | | |
//! |---|---|
//! | `let x = e;` `let x: T = e;` | a value |
//! | `let mut x: T = e;` `x = e;` `x += e;` | a variable, which becomes parameters of blocks, never memory |
//! | `let x: T;` `let x: [T; N];` | room on the stack; `x` is its address, `&T` |
//! | `*p = e;` `p[i] = e;` `p.field = e;` | a store |
//! | `if`, `match` on integers, `while`, `loop`, `break`, `continue`, `return` | as in Rust |
//! | `for i in a..b`, `for i in (a..b).rev()` | as in Rust |
//! | `if unlikely(c) { … }` | an `if` whose body is cold |
//! | `call(…)?` | returns the result of the call, unless it is 0, or `None` while the routine is emitted |
//! | `raise!(where, complaint, e, …)` | calls `raise`, returns -1, NULL or nothing; an `if` that ends with it is cold |
//!
//! # Expressions
//!
//! Arithmetic wraps; the type decides its sign. `*p`, `p[i]`, `p.field` load; `&p[i]` and `&p.field` are addresses;
//! `as` converts. Names in capitals, `Type::Variant` and literals are Rust's constants. An integer literal takes its
//! type from the other operand, or from its context. `null` is the null address. A call names another routine, or any
//! Rust function whose first parameter is the builder; so does a call of a method of a handle. An `if` or a `match`
//! whose arms have no effects becomes a `select`.
//!
//! `#[routine(inline)]` emits the body at each call instead of defining a function. Parameters with `#[known]` are Rust
//! values.
//!
//! A function may be generic. One that is not inline then says how the symbols of its instances are named:
//! `#[routine(T::SYMBOL)]`.

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

/// The digest of the sources of this crate, as a literal.
#[doc(hidden)]
#[proc_macro]
pub fn sources(_: TokenStream) -> TokenStream {
    quote::quote!(#SOURCES).into()
}

/// The digest of the sources of this crate.
const SOURCES: &str = env!("SOURCES");

/// Translates a function of the language; see [the crate](crate).
#[proc_macro_attribute]
pub fn routine(args: TokenStream, item: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    let inline = args.to_string() == "inline";
    let has_symbol = !inline && !args.is_empty();
    let symbol = has_symbol.then(|| syn::parse(args)).transpose();
    symbol
        .and_then(|symbol| function::translate(&function, inline, symbol.as_ref()))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
