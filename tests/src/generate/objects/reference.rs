//! References of sources, by every relocation that compilers make: lines that a reference needs, and its term, which
//! may use `n`.
//!
//! In the lines and terms `NAME` is the name that is referred to, `OWN` a name that no other reference has, `VALUE` a
//! number, and `SHARED` a number that few references have.

use super::symbol::{Kind, Symbol};
use crate::generate::Choices;

/// Lines and a term.
type Reference = [&'static str; 2];

const TO_DATA: [Reference; 6] = [
    ["", "NAME"],
    ["static long* volatile OWN = (long*)&NAME;", "*OWN"],
    ["extern long* const OWN[2]; long* const OWN[2] = {0, (long*)&NAME};", "*OWN[1]"],
    ["static char* volatile OWN = (char*)&NAME - 24;", "*(long*)(OWN + 24)"],
    ["", "((long)&NAME & 7)"],
    ["extern __attribute__((weak)) long OWN;", "(&OWN ? OWN : NAME + 1)"],
];

/// A load of the address from the table of addresses.
const LOADED: Reference = [
    "static long* OWN(void) { long* at; \
     __asm__(\"movq NAME@GOTPCREL(%%rip), %0\" : \"=r\"(at)); return at; }",
    "*OWN()",
];

/// A distance from read-only data.
const DISTANCE: Reference = [
    "__asm__(\".pushsection .rodata\\n.balign 8\\nOWN: .quad NAME - .\\n.popsection\");\n\
     extern __attribute__((visibility(\"hidden\"))) const long OWN;",
    "*(long*)((char*)&OWN + OWN)",
];

const TO_THREADS: [Reference; 5] = [
    ["", "NAME"],
    ["", "(NAME += n, NAME)"],
    ["", "((long)&NAME & 7)"],
    ["static __thread long OWN = 5;", "(OWN += n, OWN + NAME)"],
    ["__attribute__((noinline)) static long* OWN(void) { return &NAME; }", "(*OWN() += 1)"],
];

const TO_FUNCTIONS: [Reference; 5] = [
    ["", "NAME(n)"],
    ["static long (*volatile OWN)(long) = NAME;", "OWN(n)"],
    ["static long (*const OWN[])(long) = {NAME, 0, NAME};", "OWN[n & 2](n)"],
    ["extern __attribute__((weak)) long OWN(long);", "(OWN ? OWN(n) : NAME(n))"],
    [
        "__attribute__((noinline)) static long OWN(long n) { return n > 5 ? NAME(n - 4) : NAME(n) - 1; }",
        "OWN(n)",
    ],
];

/// The address of a function, which is the same everywhere.
const SAME_ADDRESS: Reference = ["static long (*volatile OWN)(long) = NAME;", "(OWN == NAME)"];

const OF_ITS_OWN: [Reference; 12] = [
    // Texts that end alike may share their ends.
    [
        "static const char* volatile OWN[] = {\"one tail\", \"tail\", \"another tail\", \"ail\"};",
        "OWN[n % 3][n / 2] + OWN[0][4] + OWN[3][0]",
    ],
    [
        "static const double OWN = VALUE.25;\nstatic volatile double with_OWN = 1.5;",
        "(OWN * with_OWN + n * 0.5)",
    ],
    ["static long OWN[5000];", "(OWN[n * 9] += VALUE, OWN[n * 9] - OWN[n])"],
    [
        "__attribute__((noinline)) static long OWN(long n) { switch (n) { case 0: return 5; \
         case 1: return VALUE; case 2: return 9; case 3: return n - VALUE; case 4: return 2; \
         case 5: return 77; case 6: return 1; } return 3; }",
        "OWN(n) + OWN(n + 1)",
    ],
    [
        "__attribute__((noinline)) static long OWN(long n) { static void* const at[] = {&&a, &&b}; \
         goto *at[n & 1]; a: return VALUE; b: return 6; }",
        "OWN(n)",
    ],
    ["__attribute__((constructor)) static void OWN(void) { order = order * 7 + VALUE; }", "0"],
    [
        "__attribute__((constructor(LATER(101)))) static void OWN(void) { order = order * 7 + VALUE; }",
        "0",
    ],
    [
        "__attribute__((constructor(LATER(5000)))) static void OWN(void) { order = order * 7 + VALUE; }",
        "0",
    ],
    ["__attribute__((destructor)) static void OWN(void) { printf(\"OWN \"); }", "0"],
    ["__attribute__((destructor(LATER(101)))) static void OWN(void) { printf(\"OWN \"); }", "0"],
    ["__attribute__((aligned(4096))) static char OWN[VALUE + 1];", "((long)OWN & 4095)"],
    [
        "static __thread long OWN = VALUE;\nstatic __thread char zero_OWN[40];",
        "(++OWN + (zero_OWN[n] += 3))",
    ],
];

/// An entry of the section that the first source walks.
pub(super) const ENTRY: Reference =
    ["__attribute__((section(\"entries\"), used)) static long OWN = VALUE;", "OWN"];

/// Classes and inline functions, of which several sources may have the same, and a linker keeps one.
const OF_CLASSES: [Reference; 7] = [
    [
        "#ifndef HAS_CLASS_SHARED\n#define HAS_CLASS_SHARED\n\
         struct Base_SHARED { virtual long get(long n) const { return n + VALUE; } virtual ~Base_SHARED() {} };\n\
         struct Derived_SHARED : Base_SHARED { long get(long n) const override { return Base_SHARED::get(n) * 2; } };\n\
         #endif\n\
         static Derived_SHARED object_OWN;\nstatic Base_SHARED* volatile OWN = &object_OWN;",
        "OWN->get(n)",
    ],
    [
        "#ifndef HAS_GUARD_SHARED\n#define HAS_GUARD_SHARED\n\
         __attribute__((noinline)) static long seed_SHARED() { return VALUE; }\n\
         inline long& counter_SHARED() { static long counter = seed_SHARED(); return counter; }\n#endif",
        "++counter_SHARED()",
    ],
    [
        "#ifndef HAS_TEMPLATE_SHARED\n#define HAS_TEMPLATE_SHARED\n\
         template <int N> struct Template_SHARED { static long value; static long of(long n) { return value += n; } };\n\
         template <int N> long Template_SHARED<N>::value = N + VALUE;\n#endif",
        "Template_SHARED<4>::of(n)",
    ],
    [
        "__attribute__((noinline)) static long throws_OWN(long n) { if (n > VALUE % 6) throw n; return VALUE; }\n\
         static long OWN(long n) { try { return throws_OWN(n); } catch (long caught) { return caught * 5; } }",
        "OWN(n)",
    ],
    [
        "struct Ordered_OWN { Ordered_OWN() { order = order * 5 + VALUE; } ~Ordered_OWN() { printf(\"OWN \"); } };\n\
         static Ordered_OWN OWN;",
        "0",
    ],
    [
        "#ifndef HAS_INLINE_SHARED\n#define HAS_INLINE_SHARED\n\
         inline thread_local long local_SHARED = VALUE;\ninline long inline_SHARED = VALUE + 1;\n#endif",
        "(local_SHARED += n, local_SHARED + ++inline_SHARED)",
    ],
    [
        "struct Thread_OWN { long value; Thread_OWN() : value(order + VALUE) {} ~Thread_OWN() { order += value; } };\n\
         static thread_local Thread_OWN OWN;",
        "(OWN.value += n)",
    ],
];

/// The references of one source.
pub(super) struct References<'t> {
    /// The text of the source, which gets the lines.
    pub(super) text: &'t mut String,
    /// The number of the source.
    pub(super) source: usize,
    /// True if the source is C++.
    pub(super) is_cxx: bool,
    /// The terms so far.
    pub(super) terms: Vec<String>,
}

impl References<'_> {
    /// Adds a reference to a name.
    pub(super) fn to(&mut self, choices: &mut Choices<'_>, symbol: &Symbol) {
        let is_x86 = cfg!(target_arch = "x86_64");
        let mut all = match symbol.kind {
            Kind::Data => TO_DATA.to_vec(),
            Kind::Thread => TO_THREADS.to_vec(),
            Kind::Function => TO_FUNCTIONS.to_vec(),
        };
        if symbol.kind == Kind::Data && is_x86 {
            all.push(LOADED);
            let is_near = symbol.is_defined_in(self.source) && !self.is_cxx;
            all.extend(is_near.then_some(DISTANCE));
        }
        if symbol.kind == Kind::Function && !symbol.is_indirect() {
            all.push(SAME_ADDRESS);
        }
        let reference = choices.pick(&all);
        self.add(choices, reference, &symbol.name);
    }

    /// Adds something that no other source knows.
    pub(super) fn of_its_own(&mut self, choices: &mut Choices<'_>) {
        let reference = choices.pick(&OF_ITS_OWN);
        self.add(choices, reference, "");
    }

    /// Adds something of C++.
    pub(super) fn of_classes(&mut self, choices: &mut Choices<'_>) {
        let reference = choices.pick(&OF_CLASSES);
        self.add(choices, reference, "");
    }

    pub(super) fn add(&mut self, choices: &mut Choices<'_>, [lines, term]: Reference, name: &str) {
        let own = format!("own_{}_{}", self.source, self.terms.len());
        let [value, shared] = [200, 2].map(|count| choices.below(count).to_string());
        let fill = |template: &str| {
            let text = template.replace("NAME", name).replace("OWN", &own);
            text.replace("VALUE", &value).replace("SHARED", &shared)
        };
        if !lines.is_empty() {
            self.text.push_str(&fill(lines));
            self.text.push('\n');
        }
        self.terms.push(fill(term));
    }
}
