//! Functions: the translation table from host IR to Cranelift IR.
