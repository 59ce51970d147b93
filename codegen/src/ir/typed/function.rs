//! Functions of the language: declaration, definition, calls and errors.

use super::{Bool, Float, FloatType, Handle, Int, Integer, Ref, Single, words};
use crate::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value};

/// A function of host IR that is written in the language. The attribute `routine` implements it for a type of the
/// function's name.
pub trait Routine {
    /// The name of its symbol.
    const NAME: &'static str;

    /// Returns its signature.
    fn signature() -> Signature;

    /// Emits its body into the entry block.
    fn build(b: &mut Builder<'_>);
}

/// Declares a function, if the module has not declared it yet.
///
/// # Panics
/// As [`Module::declare`].
pub fn declare<R: Routine>(module: &mut Module, linkage: Linkage) -> Symbol {
    module.declare(R::NAME, linkage, SymbolKind::Function(R::signature()))
}

/// Defines a function in a module.
///
/// # Panics
/// As [`Module::declare`].
pub fn define<R: Routine>(module: &mut Module, linkage: Linkage) {
    let mut b = Builder::function(module, R::NAME, linkage, R::signature());
    R::build(&mut b);
    let function = b.finish();
    module.functions.push(function);
}

/// Returns the signature of a function of these parameters and this result.
pub fn signature_of<Params: Handle, Result: Handle>() -> Signature {
    let (mut params, mut results) = (Vec::new(), Vec::new());
    Params::types(&mut params);
    Result::types(&mut results);
    Signature::new(&params, results.first().copied())
}

/// Returns the parameters of the function that is being built.
pub fn param<Params: Handle>(b: &Builder<'_>) -> Params {
    let mut types = Vec::new();
    Params::types(&mut types);
    let values: Vec<Value> = (0..types.len()).map(|at| b.param(at)).collect();
    Params::take(&mut values.into_iter())
}

/// Emits a call of a routine. A routine that is not declared yet gets the linkage of the caller.
pub fn call<R: Routine, Result: Handle>(b: &mut Builder<'_>, args: impl Handle) -> Result {
    let symbol = b.module.find(R::NAME).unwrap_or_else(|| {
        let linkage = b.module.symbols[b.symbol().index()].linkage;
        declare::<R>(b.module, linkage)
    });
    let args = words(b, args);
    let result = b.call(symbol, &args);
    Result::take(&mut result.into_iter())
}

/// Emits a call through a pointer.
pub fn call_indirect<Args: Handle, Result: Handle>(
    b: &mut Builder<'_>,
    function: Value,
    args: Args,
) -> Result {
    let args = words(b, args);
    let result = b.call_indirect(signature_of::<Args, Result>(), function, &args);
    Result::take(&mut result.into_iter())
}

/// Results of functions that raise errors.
pub trait Failing: Handle {
    /// Returns the result after an error: -1, NULL or nothing.
    fn failing(b: &mut Builder<'_>) -> Self;
}

impl Failing for () {
    fn failing(_: &mut Builder<'_>) -> Self {}
}

impl Failing for Int<i32> {
    fn failing(b: &mut Builder<'_>) -> Self {
        Int::new(b.i32(-1))
    }
}

impl<T> Failing for Ref<T> {
    fn failing(b: &mut Builder<'_>) -> Self {
        Ref::new(b.null())
    }
}

/// Values that a message can show.
pub trait Raise {
    /// Appends the value as words of 64 bits.
    fn words(self, b: &mut Builder<'_>, words: &mut Vec<Value>);
}

impl Raise for () {
    fn words(self, _: &mut Builder<'_>, _: &mut Vec<Value>) {}
}

impl<T: Integer> Raise for Int<T> {
    fn words(self, b: &mut Builder<'_>, words: &mut Vec<Value>) {
        let word: Int<u64> = super::cast(b, self);
        words.push(word.value(b));
    }
}

impl<T: FloatType> Raise for Float<T> {
    fn words(self, b: &mut Builder<'_>, words: &mut Vec<Value>) {
        let bits: Int<T::Bits> = self.to_bits(b);
        bits.words(b, words);
    }
}

impl Raise for Bool {
    fn words(self, b: &mut Builder<'_>, words: &mut Vec<Value>) {
        let value = self.value(b);
        words.push(b.widen_bool(value, Type::I64));
    }
}

impl<T> Raise for Ref<T> {
    fn words(self, b: &mut Builder<'_>, words: &mut Vec<Value>) {
        let address: Int<u64> = super::cast(b, self);
        words.push(address.value(b));
    }
}
