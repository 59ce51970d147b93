//! This program under valgrind: once per group of measures, with nothing of the machine in its way.

use std::path::Path;
use std::process::Command;

use tvm_ffi_codegen_tests::kernels::cc;

use crate::counted::{COLLECT, MEASURE, TIMES};

/// Keeps glibc from choosing functions by processor. Valgrind itself shows the same processor everywhere, as
/// long as the real one is not older.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,\
    -BMI1,-BMI2,-ERMS,-FSRM,-LZCNT,-MOVBE,-POPCNT,-RTM,-SSE4_1,-SSE4_2,-SSSE3,-XSAVE,-XSAVEC,\
    -Prefer_No_VZEROUPPER,-Fast_Unaligned_Copy:glibc.cpu.x86_data_cache_size=32768:\
    glibc.cpu.x86_shared_cache_size=1048576:glibc.cpu.x86_non_temporal_threshold=1048576:\
    glibc.cpu.x86_rep_movsb_threshold=2048:glibc.cpu.x86_rep_stosb_threshold=2048";

/// What the standard library seeds its hash tables with: the same in every process.
const SEEDS: &str = "#include <string.h>
long getrandom(void *bytes, size_t size, unsigned flags) {
  (void)flags;
  memset(bytes, 1, size);
  return (long)size;
}
";

/// Writes the library that takes the place of the system's random numbers.
pub(crate) fn prepare(folder: &Path) {
    let source = folder.join("seeds.c");
    std::fs::write(&source, SEEDS).expect("the folder can be written to");
    cc(Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join("seeds.so"))
        .arg(source));
}

/// A measure and its instructions.
pub(crate) type Counts = Vec<(String, u64)>;

/// Makes the measures of a group.
///
/// # Panics
/// If one of them fails.
pub(crate) fn run(group: &str, folder: &Path) -> Counts {
    let dumps = folder.join(format!("{}.counts", group.replace(' ', "-")));
    let mut valgrind = Command::new("valgrind");
    valgrind.env_clear().env("GLIBC_TUNABLES", TUNABLES);
    valgrind.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    valgrind.env("LD_PRELOAD", folder.join("seeds.so"));
    valgrind.args(["--tool=callgrind", "--quiet"]);
    valgrind.args(COLLECT.map(|name| format!("--toggle-collect={name}")));
    valgrind.arg(format!("--dump-after={MEASURE}"));
    valgrind.arg(format!("--callgrind-out-file={}", dumps.display()));
    valgrind.arg(std::env::current_exe().expect("this program")).args(["measure", group]);
    let output = valgrind.arg(folder).output();
    let output = output.unwrap_or_else(|error| panic!("valgrind: {error}; use tests/guard"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{group}: {}\n{errors}", output.status);
    let names = String::from_utf8(output.stdout).expect("names of measures");
    let counted = |(index, name): (usize, &str)| {
        let dump = dumps.with_extension(format!("counts.{}", 2 * (index + 1)));
        (name.to_owned(), total(&dump).div_ceil(TIMES))
    };
    names.lines().enumerate().map(counted).collect()
}

/// What a file of valgrind sums up to.
fn total(dump: &Path) -> u64 {
    let text = std::fs::read_to_string(dump);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", dump.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = line.and_then(|number| number.trim().parse().ok());
    total.filter(|total| *total > 0).unwrap_or_else(|| panic!("{}: no total", dump.display()))
}
