//! What the tests share: the table of calls, the arguments it is written in, and the ways to make a call.

pub mod argument;
pub mod callgrind;
pub mod cases;
pub mod every;
pub mod fake_cuda;
pub mod ffi;
pub mod filetest;
pub mod frame;
pub mod generate;
pub mod hosts;
pub mod kernels;
pub mod machine;
pub mod objects;
pub mod oracle;
pub mod outcome;
pub mod route;
pub mod volume;
