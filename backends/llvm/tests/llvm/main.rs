//! Tests of the LLVM backend: the result of each instruction, symbols in modules that are not empty, linking and
//! inlining of kernels, and the contents of text and object files.

mod constructors;
mod extend;
mod inline;
mod jit;
mod link;
mod objects;
mod quiet;
mod symbols;
mod text;

// Tests that every backend in process must pass.
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
