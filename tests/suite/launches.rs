//! Launches by every route, on the stand-in for the CUDA driver: tests compare the recorded calls of the driver.

mod arguments;
mod attributes;
mod attributes_of_devices;
mod cached;
mod closures;
mod columns;
mod commands;
mod corners;
mod faults;
mod globals;
mod hip;
mod hip_globals;
mod hip_streams;
mod hooks;
mod limits;
mod linked;
mod loading;
mod maps;
mod on_load;
mod prepared;
mod scratch;
mod session;
mod streams;
mod table;
mod waits;
