//! Tests of the language: what is accepted, what errors say, and that text and values are two faces of
//! the same thing.

mod canonical;
mod errors;
mod fuzz;
mod generate;
mod generate_body;
mod generate_launch;
mod launches;
mod limits;
mod names;
mod positions;
mod round_trip;
mod statements;
