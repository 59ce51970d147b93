//! How much the routines know that a linker adds.

/// Which sources made the routines.
const STAMP: &str = env!("ROUTINES_STAMP");

/// What routines are about. Those that are about more than tensors know expressions too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Tensors and scalars whose extents are numbers and names.
    Tensors,
    /// Integer expressions that relate them.
    Expressions,
    /// Values of every kind, and programs.
    Values,
    /// Tensors that are allocated: these routines want `malloc` and `free`.
    Allocations,
    /// Launches: these want the functions of the platform that open libraries.
    Launches,
    /// What only other routines call: it comes with them, and no version is about it.
    Inside,
}

impl Topic {
    /// What comes with it.
    const fn bits(self) -> u8 {
        match self {
            Topic::Tensors => 0,
            Topic::Expressions => 1,
            Topic::Values => 1 | 1 << 1,
            Topic::Allocations => 1 | 1 << 2,
            Topic::Launches => 1 | 1 << 3,
            Topic::Inside => 1 << 7,
        }
    }
}

/// What a version of the routines is about: tensors and scalars, and any of expressions, values of other kinds,
/// allocations and launches. A version that knows less is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent(u8);

impl Extent {
    /// Tensors and scalars whose extents are numbers and names.
    pub const TENSORS: Extent = Extent(Topic::Tensors.bits());
    /// The same with the integer expressions that relate them.
    pub const EXPRESSIONS: Extent = Extent(Topic::Expressions.bits());
    /// Values of every kind, and programs.
    pub const VALUES: Extent = Extent(Topic::Values.bits());
    /// Expressions, and tensors that are allocated: these routines want `malloc` and `free`.
    pub const ALLOCATIONS: Extent = Extent(Topic::Allocations.bits());
    /// Expressions, and launches: these routines want the functions of the platform that open libraries.
    pub const LAUNCHES: Extent = Extent(Topic::Launches.bits());
    /// All of it.
    pub const ALL: Extent = Extent::VALUES.join(Extent::ALLOCATIONS).join(Extent::LAUNCHES);

    /// All that there are, with a word for each; what knows less comes first.
    pub const KNOWN: [(&str, Extent); 9] = [
        ("tensors", Extent::TENSORS),
        ("expressions", Extent::EXPRESSIONS),
        ("allocations", Extent::ALLOCATIONS),
        ("launches", Extent::LAUNCHES),
        ("allocations_launches", Extent::ALLOCATIONS.join(Extent::LAUNCHES)),
        ("values", Extent::VALUES),
        ("values_allocations", Extent::VALUES.join(Extent::ALLOCATIONS)),
        ("values_launches", Extent::VALUES.join(Extent::LAUNCHES)),
        ("all", Extent::ALL),
    ];

    /// What both are about.
    #[must_use]
    pub const fn join(self, other: Extent) -> Extent {
        Extent(self.0 | other.0)
    }

    /// Whether the routines are about something.
    pub(crate) fn has(self, topic: Topic) -> bool {
        topic.bits() & !self.0 == 0
    }

    /// A word for it.
    pub fn name(self) -> &'static str {
        let known = Extent::KNOWN.iter().find(|(_, extent)| *extent == self);
        known.expect("every choice of topics is there").0
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
        let known = Extent::KNOWN.iter().find(|(word, _)| *word == name && stamp == STAMP);
        known.map(|(_, extent)| *extent)
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
