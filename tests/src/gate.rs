//! Parts of the tests that the gate leaves to the weekly run. That sets the variable `TESTS` to `all`; it may also name
//! single parts: `TESTS=mlir,targets tests/run`.

use std::env;
use std::sync::LazyLock;

use crate::route::BACKENDS;

/// A part of the tests that the gate leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Behaviour of code from MLIR. Its machine code is LLVM's, which `suite/equivalence.rs` compares.
    Mlir,
    /// Objects of the whole table for every target and level. Otherwise each backend makes one, and the rest are of a
    /// slice of the table with every operation of host IR: see `suite/libcalls.rs`.
    Targets,
    /// Libraries for other machines from one backend each. Otherwise these are from Cranelift and LLVM, and the others
    /// make a part of one library: see `suite/cross.rs`.
    Machines,
    /// Outputs of LLVM's optimiser in other processes. Otherwise the text that it is given is compared, and code that
    /// it has not changed: see `suite/same_bytes.rs`.
    Optimizer,
    /// Stack of failing calls at the middle level of optimisation: see `suite/stack_of_failure.rs`.
    Levels,
    /// 100,000 random calls in the machine for host IR. Otherwise there are 30,000: see `suite/machine.rs`.
    Random,
    /// The table in C with the runtime's headers as C++17 and by clang. Otherwise GCC compiles it as C11: see
    /// `suite/headers.rs`.
    Headers,
    /// Every change of every byte of an image. Otherwise each byte has one of them: see `suite/images.rs`.
    Images,
}

impl Part {
    /// Returns true if the part is asked for.
    pub fn runs(self) -> bool {
        let asked = env::var("TESTS").unwrap_or_default();
        let name = format!("{self:?}").to_lowercase();
        asked.split(',').any(|part| part == "all" || part == name)
    }
}

/// Names of the backends whose code is called.
pub fn backends() -> &'static [&'static str] {
    static CALLED: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let mlir = Part::Mlir.runs();
        BACKENDS.iter().copied().filter(|backend| mlir || *backend != "mlir").collect()
    });
    &CALLED
}
