//! Tests of the language: accepted texts, errors, and the round trip of text and values.

mod built;
mod canonical;
mod commands;
mod deep;
mod errors;
mod fuzz;
mod generate;
mod generate_body;
mod generate_launch;
mod globals;
mod launches;
mod limits;
mod maps;
mod names;
mod positions;
mod round_trip;
mod statements;
