//! Tests of resolved declarations, as tables.

mod lent;
mod order;
mod presence;
mod print;
mod prototypes;
mod terms;
mod text;
mod values;
mod warnings;
