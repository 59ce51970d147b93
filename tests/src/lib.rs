//! Shared parts of the tests: the table of calls, its arguments, and the routes by which calls are made.

pub mod argument;
pub mod callgrind;
pub mod cases;
pub mod every;
pub mod fake_cuda;
pub mod fake_hip;
pub mod ffi;
pub mod filetest;
pub mod frame;
pub mod gate;
pub mod generate;
pub mod hosts;
pub mod kernels;
pub mod links;
pub mod machine;
pub mod mutated;
pub mod objects;
pub mod oracle;
pub mod outcome;
pub mod published;
pub mod reduce;
pub mod route;
pub mod submits;
pub mod volume;
