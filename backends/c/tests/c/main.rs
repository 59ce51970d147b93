//! Tests of the C backend: the result of each instruction, the text, and what compilers say to it.

mod headers;
mod jit;
mod objects;
mod symbols;
mod text;

// Tests that every backend in process must pass.
#[path = "../../../tests/atomics.rs"]
mod atomics;
#[path = "../../../tests/constructor.rs"]
mod constructor;
#[path = "../../../tests/flow.rs"]
mod flow;
#[path = "../../../tests/functions.rs"]
mod functions;
#[path = "../../../tests/instructions.rs"]
mod instructions;
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
