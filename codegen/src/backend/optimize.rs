//! Optimisation levels.

use std::fmt;
use std::str::FromStr;

use super::unknown::UnknownWord;
use crate::ir::{Function, Module};
use crate::trace::explain;

/// The optimisation level of backends that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Optimize {
    /// No optimisation.
    O0,
    /// Optimisations from which host functions gain, and none of cold functions; cheap ones of what else is in a
    /// module.
    O1,
    /// Optimisations of cold functions, too; inlining and vectorisation of what else is in a module.
    #[default]
    O2,
    /// More inlining and vectorisation.
    O3,
}

impl Optimize {
    /// All levels, in order.
    pub const ALL: [Optimize; 4] = [Optimize::O0, Optimize::O1, Optimize::O2, Optimize::O3];

    /// Returns the suffix of `-O`.
    pub const fn name(self) -> &'static str {
        match self {
            Optimize::O0 => "0",
            Optimize::O1 => "1",
            Optimize::O2 => "2",
            Optimize::O3 => "3",
        }
    }
}

/// The number of instructions above which a function is [long](is_long).
const LONG: usize = 16_384;

/// Returns true for functions that LLVM does not optimise at any level, since its time grows with the square of their
/// size. They are programs of about a thousand statements or more. Routines and other cold functions are never long.
pub fn is_long(function: &Function) -> bool {
    !function.cold && function.size() > LONG
}

impl Optimize {
    /// Returns the level for a native module that defines `source` and nothing else: [`O0`](Optimize::O0) if long
    /// functions are 99 % of what is not cold. LLVM's code generator has one level for a module. At any other than `O0`
    /// it takes three times as long, even for functions that are exempt.
    pub fn for_module(self, source: &Module) -> Optimize {
        let hot = source.functions.iter().filter(|function| !function.cold);
        let (long, short): (Vec<_>, Vec<_>) = hot.partition(|function| is_long(function));
        let [long, short] =
            [long, short].map(|all| all.into_iter().map(Function::size).sum::<usize>());
        if long > 99 * short {
            explain!(
                "-O0 instead of -O{self}: functions that are too long have {long} instructions"
            );
            return Optimize::O0;
        }
        self
    }
}

impl fmt::Display for Optimize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Optimize {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Optimize, UnknownWord> {
        let level = Optimize::ALL.into_iter().find(|level| level.name() == text);
        let expected = |_: &str, _: &str| "expected 0, 1, 2 or 3".to_owned();
        level.ok_or_else(|| UnknownWord::new(text, Optimize::ALL.map(Optimize::name), expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Inst, Linkage, Placed, Signature, Type};

    /// Adds a function of so many instructions.
    fn add(module: &mut Module, name: &str, size: usize, cold: bool) {
        let mut b = Builder::function(module, name, Linkage::Export, Signature::new(&[], None));
        if cold {
            b.set_cold();
        }
        b.ret(None);
        let mut function = b.finish();
        function.blocks[0].insts = vec![Placed::from(Inst::Const { ty: Type::I64, bits: 0 }); size];
        module.functions.push(function);
    }

    #[test]
    fn modules_of_long_functions_are_not_optimised() {
        for (functions, expected) in [
            (&[(LONG, false)][..], Optimize::O2),
            (&[(LONG + 1, false)], Optimize::O0),
            (&[(LONG + 1, true)], Optimize::O2),
            (&[(LONG + 1, false), (LONG, true)], Optimize::O0),
            (&[(LONG + 1, false), (LONG / 99, false)], Optimize::O0),
            (&[(LONG + 1, false), (LONG / 99 + 1, false)], Optimize::O2),
            (&[], Optimize::O2),
        ] {
            let mut module = Module::default();
            for (i, &(size, cold)) in functions.iter().enumerate() {
                add(&mut module, &format!("f{i}"), size, cold);
            }
            assert_eq!(Optimize::O2.for_module(&module), expected, "{functions:?}");
        }
    }
}
