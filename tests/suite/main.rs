//! One binary, since linking takes longer than running.

mod table;
