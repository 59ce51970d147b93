//! How much the routines know that a linker adds.

/// Which sources made the routines.
const STAMP: &str = env!("ROUTINES_STAMP");

/// How much routines know: a version that knows less is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extent {
    /// Tensors and scalars whose extents are numbers and names.
    Tensors,
    /// The same with the integer expressions that relate them.
    Expressions,
    /// Values of every kind, and programs.
    Values,
    /// Tensors that are allocated: these routines want `malloc` and `free`.
    Allocations,
    /// Launches, without allocations: these want the functions of the platform that open libraries.
    Launches,
    /// All of it.
    All,
}

impl Extent {
    /// All, from the least to the most.
    pub const ALL: [Extent; 6] = [
        Extent::Tensors,
        Extent::Expressions,
        Extent::Values,
        Extent::Allocations,
        Extent::Launches,
        Extent::All,
    ];

    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Extent::Tensors => "tensors",
            Extent::Expressions => "expressions",
            Extent::Values => "values",
            Extent::Allocations => "allocations",
            Extent::Launches => "launches",
            Extent::All => "all",
        }
    }

    /// Whose routines an object wants that refers to a symbol; `None` if the symbol is no routine that a linker adds, or
    /// one of another version.
    ///
    /// ```
    /// use tvm_ffi_codegen::Extent;
    ///
    /// assert_eq!(Extent::of_symbol("tvm_ffi_codegen.explain.tensors.0123456789abcdef"), None);
    /// assert_eq!(Extent::of_symbol("malloc"), None);
    /// ```
    pub fn of_symbol(name: &str) -> Option<Extent> {
        let (start, stamp) = name.strip_prefix("tvm_ffi_codegen.")?.rsplit_once('.')?;
        let (_, name) = start.rsplit_once('.')?;
        Extent::ALL.into_iter().find(|extent| extent.name() == name && stamp == STAMP)
    }

    /// The least extent whose routines do what those of both do.
    #[must_use]
    pub fn join(self, other: Extent) -> Extent {
        let (less, more) = (self.min(other), self.max(other));
        if (less, more) == (Extent::Allocations, Extent::Launches) { Extent::All } else { more }
    }

    /// What objects of this extent call a routine by that those of another one call by this name.
    pub fn symbol_for(self, name: &str) -> Option<String> {
        let other = Extent::of_symbol(name)?;
        let end = format!(".{}.{STAMP}", other.name());
        name.strip_suffix(&end).map(|routine| self.symbol(routine))
    }

    /// What objects call a routine by: its own name, the extent, and the sources.
    pub(crate) fn symbol(self, routine: &str) -> String {
        format!("{routine}.{}.{STAMP}", self.name())
    }
}
