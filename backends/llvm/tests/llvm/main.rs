//! Tests of the LLVM backend: what each instruction computes, how symbols meet a module that is not
//! empty, how kernels are linked and inlined, and what is in text and object files.

mod constructors;
mod inline;
mod jit;
mod link;
mod objects;
mod quiet;
mod symbols;
mod text;

// What every backend that runs in process must do alike.
#[path = "../../../tests/atomics.rs"]
mod atomics;
#[path = "../../../tests/constructor.rs"]
mod constructor;
#[path = "../../../tests/flow.rs"]
mod flow;
#[path = "../../../tests/frames.rs"]
mod frames;
#[path = "../../../tests/functions.rs"]
mod functions;
#[path = "../../../tests/instructions.rs"]
mod instructions;
#[path = "../../../tests/once.rs"]
mod once;
#[path = "../../../tests/operators.rs"]
mod operators;
#[path = "../../../tests/relocations.rs"]
mod relocations;
#[path = "../../../tests/results.rs"]
mod results;
#[path = "../../../tests/sample.rs"]
mod sample;
#[path = "../../../tests/sections.rs"]
mod sections;
