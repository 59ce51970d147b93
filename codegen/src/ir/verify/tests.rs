//! What is refused, and why.
