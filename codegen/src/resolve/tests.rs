//! What declarations mean, as tables.

mod external;
mod order;
mod print;
mod prototypes;
mod terms;
mod values;
