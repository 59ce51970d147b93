//! Declarations without text: constructors, conversions and operators.

mod expression;
mod signature;
mod statement;
mod types;
