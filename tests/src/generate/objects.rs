//! Random sources of objects to link: what C and C++ compilers put into sections, symbols and relocations.
//!
//! Every name means the same kind of thing in all sources of a program; what it is worth depends on which definition a
//! linker takes. Each source has one function `part_I`, which mixes all that the source refers to into a number, and
//! the first has `__tvm_ffi_f`, which mixes the parts.

mod reference;
mod symbol;

use std::fmt::Write;

use super::Choices;
use reference::{ENTRY, References};
use symbol::Symbol;

/// A source and how it is compiled and linked.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text.
    pub text: String,
    /// Options of the compiler, among them the language.
    pub options: Vec<&'static str>,
    /// Way of the object to the linker.
    pub place: Place,
    /// True if another compiler than `cc` makes the object, where there is one that takes the source.
    pub other: bool,
}

/// Way of an object to a linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Given by itself.
    Alone,
    /// Given in the archive of this number.
    Archive(usize),
    /// Linked with the others of its kind to one object before.
    Merged,
}

/// Options that change how code and data are laid out, of which an object gets a few.
const OPTIONS: [&str; 27] = [
    "-O2",
    "-O1",
    "-Os",
    "-O3",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-plt",
    "-ftls-model=initial-exec",
    "-ftls-model=local-dynamic",
    "-fcommon",
    "-fvisibility=hidden",
    "-fvisibility=protected",
    "-fno-asynchronous-unwind-tables",
    "-fno-semantic-interposition",
    "-fstack-protector-all",
    "-fno-merge-constants",
    "-fno-zero-initialized-in-bss",
    "-fno-section-anchors",
    "-freorder-functions",
    "-falign-functions=64",
    "-fno-jump-tables",
    "-g",
    "-ggdb3",
    "-gz=zlib",
    "-g1",
    "-Wa,--no-pad-sections",
    "-fpic",
];

/// Options of compilers for x86-64.
const OF_X86: [&str; 6] = [
    "-mtls-dialect=gnu2",
    "-mcmodel=large",
    "-mcmodel=medium",
    "-fcf-protection=full",
    "-Wa,-mrelax-relocations=no",
    "-mno-red-zone",
];

/// Gives clang's constructors priorities of their own: GNU's linker orders those of one priority by the names of their
/// sections, which clang spells without leading zeros, and others by the order of the inputs.
const PRIORITIES: &str = "\
#ifdef __clang__
#define LATER(priority) (priority + 1)
#else
#define LATER(priority) (priority)
#endif
";

/// Number of names of data and of functions in a program.
const NAMES: usize = 6;

/// Generates the sources of a program.
pub fn objects(choices: &mut Choices<'_>) -> Vec<Source> {
    let count = 1 + choices.below(5);
    let symbols: Vec<Symbol> =
        (0..2 * NAMES).map(|index| Symbol::new(choices, index, count)).collect();
    (0..count).map(|index| source(choices, &symbols, (index, count))).collect()
}

fn source(choices: &mut Choices<'_>, symbols: &[Symbol], (index, count): (usize, usize)) -> Source {
    let is_cxx = choices.once_in(4);
    let mut options = vec![if is_cxx { "-xc++" } else { "-xc" }, "-fPIC", "-w"];
    for _ in 0..choices.below(5) {
        let is_of_x86 = cfg!(target_arch = "x86_64") && choices.once_in(4);
        options.push(if is_of_x86 { choices.pick(&OF_X86) } else { choices.pick(&OPTIONS) });
    }
    let mut text = String::from(PRIORITIES);
    if is_cxx {
        text.push_str("extern \"C\" {\n");
    }
    text.push_str("extern long order;\nint printf(const char*, ...);\n");
    if index == 0 {
        text.push_str("long order __attribute__((visibility(\"hidden\"))) = 1;\n");
    }
    for symbol in symbols {
        symbol.declare(&mut text, index);
    }
    let terms = Vec::new();
    let mut references = References { text: &mut text, source: index, is_cxx, terms };
    for _ in 0..choices.below(7) {
        let symbol = choices.below(symbols.len());
        references.to(choices, &symbols[symbol]);
    }
    for _ in 0..choices.below(4) {
        references.of_its_own(choices);
    }
    if choices.once_in(3) {
        references.add(choices, ENTRY, "");
    }
    if is_cxx {
        references.text.push_str("}\n");
        for _ in 0..1 + choices.below(3) {
            references.of_classes(choices);
        }
        references.text.push_str("extern \"C\" {\n");
    }
    let terms = references.terms;
    writeln!(text, "long part_{index}(long n) {{\n    long sum = 0;").expect("text");
    for term in terms {
        writeln!(text, "    sum = sum * 31 + (long)({term});").expect("text");
    }
    text.push_str("    return sum;\n}\n");
    if index == 0 {
        main(&mut text, count);
    }
    if is_cxx {
        text.push_str("}\n");
    }
    let place = match choices.below(8) {
        0..4 => Place::Alone,
        4..6 if index > 0 => Place::Archive(choices.below(2)),
        6 => Place::Merged,
        _ => Place::Alone,
    };
    Source { text, options, place, other: choices.once_in(3) }
}

/// Writes the function that calls all parts, and walks the section of entries, whose name is an identifier: linkers
/// define where such sections begin and end.
fn main(text: &mut String, count: usize) {
    text.push_str(
        "extern long __start_entries[] __attribute__((weak, visibility(\"hidden\")));
extern long __stop_entries[] __attribute__((weak, visibility(\"hidden\")));\n",
    );
    for index in 1..count {
        writeln!(text, "long part_{index}(long n);").expect("text");
    }
    text.push_str(
        "__attribute__((visibility(\"default\")))
int __tvm_ffi_f(void* handle, const void* args, int n, void* result) {
    long sum = order;
    for (long* entry = __start_entries; entry != __stop_entries; ++entry) sum = sum * 31 + *entry;\n",
    );
    for index in 0..count {
        writeln!(text, "    sum = sum * 31 + part_{index}(n);").expect("text");
    }
    text.push_str("    return (int)(sum ^ sum >> 32);\n}\n");
}
