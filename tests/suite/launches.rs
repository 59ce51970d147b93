//! Launches, by every route, on a stand-in for the CUDA driver: what is compared is what that was asked.

mod arguments;
mod attributes;
mod corners;
mod faults;
mod linked;
mod loading;
mod maps;
mod prepared;
mod scratch;
mod session;
mod streams;
mod table;
