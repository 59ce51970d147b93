//! Tests of the Cranelift backend: what each instruction computes, how symbols meet a module that is not
//! empty, and what is in text and object files.

mod instructions;
mod jit;
mod objects;
mod operators;
mod sample;
mod symbols;
mod text;
