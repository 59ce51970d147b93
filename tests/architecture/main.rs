//! Rules of the architecture that neither rustc, clippy nor the manifests of the crates express.

mod comments;
mod crates;
mod manifests;
mod rooms;
mod sources;
