//! The rules of the architecture that the sources themselves must keep.

mod crates;
mod floors;
mod methods;
mod paths;
mod rooms;
mod sources;
