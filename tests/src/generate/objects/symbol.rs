//! The names that sources share: what each is, and who defines it in which way.

use std::fmt::Write;

use crate::generate::Choices;

/// A name and its definitions.
#[derive(Debug)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Attributes of all definitions and declarations.
    attributes: &'static str,
    /// The sources that define the name, each with a value.
    definitions: Vec<(usize, Definition, usize)>,
}

/// The kind of thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A variable of type `long`.
    Data,
    /// A variable of every thread.
    Thread,
    /// A function from `long` to `long`.
    Function,
}

/// A way to define a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Definition {
    Plain,
    Zero,
    Constant,
    Aligned,
    Section,
    Weak,
    Common,
    Alias,
    /// A function that the loader chooses.
    Indirect,
}

const OF_DATA: [Definition; 7] = [
    Definition::Plain,
    Definition::Zero,
    Definition::Constant,
    Definition::Aligned,
    Definition::Section,
    Definition::Common,
    Definition::Alias,
];
const OF_THREADS: [Definition; 3] = [Definition::Plain, Definition::Zero, Definition::Aligned];
const OF_FUNCTIONS: [Definition; 5] = [
    Definition::Plain,
    Definition::Aligned,
    Definition::Section,
    Definition::Alias,
    Definition::Indirect,
];
const VISIBILITIES: [&str; 4] = [
    "",
    "",
    "__attribute__((visibility(\"hidden\")))",
    "__attribute__((visibility(\"protected\")))",
];

impl Symbol {
    /// Chooses what a name is, and which of `count` sources define it: one strongly, others weakly or as common data.
    pub(super) fn new(choices: &mut Choices<'_>, index: usize, count: usize) -> Symbol {
        let is_data = index < super::NAMES;
        let kind = match (is_data, choices.once_in(3)) {
            (true, true) => Kind::Thread,
            (true, false) => Kind::Data,
            (false, _) => Kind::Function,
        };
        let ways: &[Definition] = match kind {
            Kind::Data => &OF_DATA,
            Kind::Thread => &OF_THREADS,
            Kind::Function => &OF_FUNCTIONS,
        };
        let strong = choices.below(count);
        let (way, value) = (choices.pick(ways), choices.below(200));
        let mut definitions = vec![(strong, way, value)];
        for other in (0..count).filter(|&other| other != strong) {
            if choices.once_in(4) {
                let is_common = kind == Kind::Data && choices.once_in(2);
                let way = if is_common { Definition::Common } else { Definition::Weak };
                definitions.push((other, way, choices.below(200)));
            }
        }
        // Sometimes no definition is strong.
        if choices.once_in(8) {
            definitions[0].1 = Definition::Weak;
        }
        let attributes = choices.pick(&VISIBILITIES);
        Symbol { name: format!("name_{index}"), kind, attributes, definitions }
    }

    /// Writes the declaration of the name and, if the source defines it, the definition.
    pub(super) fn declare(&self, text: &mut String, source: usize) {
        let Symbol { name, kind, attributes, definitions } = self;
        let own = definitions.iter().find(|(owner, ..)| *owner == source);
        let (class, params) = match kind {
            Kind::Data => ("long", ""),
            Kind::Thread => ("__thread long", ""),
            Kind::Function => ("long", "(long)"),
        };
        let Some(&(_, way, value)) = own else {
            writeln!(text, "extern {attributes} {class} {name}{params};").expect("text");
            return;
        };
        let body = match kind {
            Kind::Function => format!("(long n) {{ return n * 3 + {value}; }}"),
            Kind::Data | Kind::Thread => format!(" = {value};"),
        };
        let start = format!("{attributes} {class} {name}");
        let line = match (way, kind) {
            (Definition::Plain, _) => format!("{start}{body}"),
            (Definition::Zero, _) => format!("{start} = 0;"),
            (Definition::Constant, _) => {
                format!("extern {attributes} const long {name}; const long {name} = {value};")
            }
            (Definition::Aligned, _) => format!("__attribute__((aligned(128))) {start}{body}"),
            (Definition::Section, Kind::Function) => {
                format!("__attribute__((section(\".text.special.{name}\"))) {start}{body}")
            }
            (Definition::Section, _) => {
                format!("__attribute__((section(\".data.special.{name}\"))) {start}{body}")
            }
            (Definition::Weak, _) => format!("__attribute__((weak)) {start}{body}"),
            (Definition::Common, _) => format!("{start} __attribute__((common));"),
            (Definition::Alias, Kind::Function) => format!(
                "__attribute__((visibility(\"hidden\"))) long of_{name}{body}\n\
                 extern {start}(long) __attribute__((alias(\"of_{name}\")));"
            ),
            (Definition::Alias, _) => format!(
                "__attribute__((visibility(\"hidden\"))) long of_{name}[3]{}\nextern {start} __attribute__((alias(\"of_{name}\")));",
                format_args!(" = {{{value}, 1, 2}};"),
            ),
            (Definition::Indirect, _) => format!(
                "static long of_{name}{body}\n\
                 __attribute__((visibility(\"hidden\"))) void* choose_{name}(void) {{ return (void*)of_{name}; }}\n\
                 {start}(long) __attribute__((ifunc(\"choose_{name}\")));"
            ),
        };
        writeln!(text, "{line}").expect("text");
    }

    /// Returns true if the loader chooses the function, whose address is then not one.
    pub(super) fn is_indirect(&self) -> bool {
        self.definitions.iter().any(|(_, way, _)| *way == Definition::Indirect)
    }

    /// Returns true if a source defines the name.
    pub(super) fn is_defined_in(&self, source: usize) -> bool {
        self.definitions.iter().any(|(owner, ..)| *owner == source)
    }
}
