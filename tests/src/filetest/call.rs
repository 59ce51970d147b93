//! Calls of functions of a module with constants and addresses as arguments.

use codegen::ir::{Module, Symbol, Type};

use super::value::Value;

/// A call of a function.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// A function that the module defines.
    pub(super) function: Symbol,
    /// Arguments, one per parameter.
    pub(super) arguments: Vec<Argument>,
    /// Type of the result.
    pub(super) result: Option<Type>,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Argument {
    /// A constant: its type and bits.
    Bits(Type, u64),
    /// An address: a symbol and an offset in bytes.
    Address(Symbol, i64),
}

impl Call {
    /// Creates a call from the name of the function and arguments in the text form of directives.
    pub(super) fn new(module: &Module, name: &str, arguments: &[&str]) -> Result<Call, String> {
        let mut defined = module.functions.iter();
        let function = defined.find(|function| module.name(function.symbol) == name);
        let function = function.ok_or_else(|| format!("no function `{name}` is defined"))?;
        let signature = &function.signature;
        let (count, given) = (signature.params.len(), arguments.len());
        if count != given {
            return Err(format!("`{name}` takes {count} arguments, not {given}"));
        }
        let types = signature.params.iter().map(|param| param.ty);
        let arguments = types.zip(arguments).map(|(ty, text)| argument(module, ty, text));
        let arguments = arguments.collect::<Result<_, _>>()?;
        let result = signature.result.map(|result| result.ty);
        Ok(Call { function: function.symbol, arguments, result })
    }

    /// Parses `f(1, 2)` and returns the rest of the text too.
    pub(super) fn parse<'t>(module: &Module, text: &'t str) -> Result<(Call, &'t str), String> {
        let parts = text.split_once('(').and_then(|(name, rest)| {
            let (arguments, rest) = rest.split_once(')')?;
            Some((name.trim(), arguments.trim(), rest.trim()))
        });
        let (name, arguments, rest) = parts.ok_or_else(|| format!("`{text}` is no call"))?;
        let arguments: Vec<&str> = match arguments {
            "" => Vec::new(),
            _ => arguments.split(',').map(str::trim).collect(),
        };
        Ok((Call::new(module, name, &arguments)?, rest))
    }

    /// Returns the result of a call from its bits; bits above the width of its type are ignored.
    pub(super) fn value(&self, bits: u64) -> Value {
        self.result
            .map_or(Value::Nothing, |ty| Value::Bits(ty, bits & u64::MAX >> (64 - 8 * ty.bytes())))
    }
}

/// Parses `@name`, `@name+8`, or a constant of the type.
fn argument(module: &Module, ty: Type, text: &str) -> Result<Argument, String> {
    let Some(name) = text.strip_prefix('@').filter(|_| ty == Type::Ptr) else {
        return match Value::parse(ty, text)? {
            Value::Bits(ty, bits) => Ok(Argument::Bits(ty, bits)),
            Value::Nothing => Err(format!("`{text}` is no {ty}")),
        };
    };
    let (name, offset) = name.split_at(name.find(['+', '-']).unwrap_or(name.len()));
    let offset = if offset.is_empty() { Ok(0) } else { offset.parse() };
    let offset = offset.map_err(|_| format!("`{text}` is no address"))?;
    let symbol = module.find(name).ok_or_else(|| format!("`@{name}` is not declared"))?;
    Ok(Argument::Address(symbol, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_fit_their_function() {
        let text = "local data @d size 1 align 1 {\n    \"a\"\n}\n
export func @f(%a: i8, %p: ptr) -> i32 {\nentry:\n    %z: i32 = const 0\n    return %z\n}\n";
        let module: Module = text.parse().unwrap();
        let (call, rest) = Call::parse(&module, "f(-1, @d-4) == 0").unwrap();
        let address = Argument::Address(module.find("d").unwrap(), -4);
        assert_eq!(call.arguments, [Argument::Bits(Type::I8, 0xff), address]);
        assert_eq!((call.result, rest), (Some(Type::I32), "== 0"));
        for (text, expected) in [
            ("f", "`f` is no call"),
            ("g()", "no function `g` is defined"),
            ("f(1)", "`f` takes 2 arguments, not 1"),
            ("f(1, @x)", "`@x` is not declared"),
            ("f(1, @d+x)", "`@d+x` is no address"),
            ("f(@d, null)", "`@d` is no i8"),
        ] {
            assert_eq!(Call::parse(&module, text).unwrap_err(), expected);
        }
    }
}
