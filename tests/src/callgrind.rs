//! Counts of instructions, branches and jumps by callgrind, which do not depend on the machine.
//!
//! [`Process`] starts the current program again under valgrind. There each call of [`count`] is a *measure*: code whose
//! costs are counted under a name.

mod counted;
mod dump;

use std::path::Path;
use std::process::Command;

use crate::kernels::cc;

pub use counted::{COLLECT, collect, count};
pub use dump::Counts;

/// Keeps glibc from choosing functions by the processor's features. Valgrind shows the same processor everywhere,
/// unless the real one is older.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,\
    -BMI1,-BMI2,-ERMS,-FSRM,-LZCNT,-MOVBE,-POPCNT,-RTM,-SSE4_1,-SSE4_2,-SSSE3,-XSAVE,-XSAVEC,\
    -Prefer_No_VZEROUPPER,-Fast_Unaligned_Copy:glibc.cpu.x86_data_cache_size=32768:\
    glibc.cpu.x86_shared_cache_size=1048576:glibc.cpu.x86_non_temporal_threshold=1048576:\
    glibc.cpu.x86_rep_movsb_threshold=2048:glibc.cpu.x86_rep_stosb_threshold=2048";

/// A library that seeds the hash tables of the standard library with the same numbers in every process.
const SEEDS: &str = "#include <string.h>
long getrandom(void *bytes, size_t size, unsigned flags) {
  (void)flags;
  memset(bytes, 1, size);
  return (long)size;
}
";

/// Variables of the environment that the program gets: search path of programs and working folder.
const ENVIRONMENT: [&str; 2] = ["PATH", "CARGO_TARGET_DIR"];

/// Name of the copy of the program, without debug information, which valgrind cannot read.
const PROGRAM: &str = "program";

/// Writes the library that replaces the system's random numbers, and a copy of the program.
pub fn prepare(folder: &Path) {
    let program = std::env::current_exe().expect("the program has a path");
    cc(Command::new("objcopy").arg("--strip-debug").arg(program).arg(folder.join(PROGRAM)));
    let source = folder.join("seeds.c");
    std::fs::write(&source, SEEDS).expect("the folder can be written to");
    cc(Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join("seeds.so"))
        .arg(source));
}

/// A run of the current program under valgrind.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// A folder that [`prepare`] has prepared.
    pub folder: &'a Path,
    /// Name of the run's files in the folder.
    pub name: &'a str,
    /// Arguments that select the measures.
    pub arguments: &'a [&'a str],
    /// Functions in which valgrind counts; a star stands for any text.
    pub collect: &'a [&'a str],
    /// A function of `collect` whose own instructions no measure includes; its callees count.
    pub caller: Option<&'a str>,
    /// True if taken branches are counted, which makes large files of large measures.
    pub taken: bool,
}

impl Process<'_> {
    /// Runs the program and returns its measures by name, in order.
    ///
    /// # Errors
    /// If there is no valgrind, or the program fails.
    pub fn run(&self) -> Result<Vec<(String, Counts)>, String> {
        let dumps = self.folder.join(format!("{}.counts", self.name));
        let output = self.command(&dumps).output().map_err(|error| format!("valgrind: {error}"))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}\n{}", output.status, errors.trim_end()));
        }
        let names = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
        let counted = |(index, name): (usize, &str)| {
            let dump = dumps.with_extension(format!("counts.{}", counted::dump(index)));
            let text = std::fs::read_to_string(&dump);
            let counts = text.map_err(|error| error.to_string()).and_then(|text| self.read(&text));
            let counts = counts.map_err(|error| format!("{}: {error}", dump.display()))?;
            Ok((name.to_owned(), counts.each(counted::TIMES)))
        };
        names.lines().enumerate().map(counted).collect()
    }

    fn read(&self, dump: &str) -> Result<Counts, String> {
        Counts::read(dump, self.caller, self.taken)
    }

    fn command(&self, dumps: &Path) -> Command {
        let mut valgrind = Command::new("valgrind");
        valgrind.env_clear().env("GLIBC_TUNABLES", TUNABLES);
        let set = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        valgrind.envs(set).env("LD_PRELOAD", self.folder.join("seeds.so"));
        valgrind.args(["--tool=callgrind", "--quiet", "--cache-sim=no", "--branch-sim=yes"]);
        valgrind.args(["--compress-strings=no", "--compress-pos=no"]);
        if self.taken {
            // Callgrind writes jumps only together with the places of instructions.
            valgrind.args(["--collect-jumps=yes", "--dump-instr=yes"]);
        }
        valgrind.args(self.collect.iter().map(|name| format!("--toggle-collect={name}")));
        valgrind.arg(format!("--dump-after={}", counted::MEASURE));
        valgrind.arg(format!("--callgrind-out-file={}", dumps.display()));
        valgrind.arg(self.folder.join(PROGRAM));
        valgrind.args(self.arguments);
        valgrind
    }
}
