//! Declarations without text: constructors, conversions and operators.

mod expression;
mod launch;
mod signature;
mod statement;
mod types;
