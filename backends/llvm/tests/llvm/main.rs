//! Tests of the LLVM backend: what each instruction computes, how symbols meet a module that is not
//! empty, how kernels are linked and inlined, and what is in text and object files.

mod constructors;
mod inline;
mod instructions;
mod jit;
mod link;
mod objects;
mod operators;
mod quiet;
mod sample;
mod symbols;
mod text;
