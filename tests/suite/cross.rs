//! The table and launches on other machines: their outcomes must be those of the same host on this machine.
//!
//! `tests/setup` installs compilers and emulators; `tests/run` sets the folders of the runtimes.

mod express;
mod launches;
pub(crate) mod machine;
pub(crate) mod system;
pub(crate) mod tools;

use codegen::Routines;
use driver::Optimize;
use machine::{How, Machine, native, runtime};
use system::{CLANG, MINGW, System, WINE};
use tools::Tools;
use tvm_ffi_codegen_tests::cases::{self, Case, Row};
use tvm_ffi_codegen_tests::gate::Part;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// Groups of the table whose tensors the runtime allocates, if there is no other allocator.
const ALLOCATING: [&str; 3] = ["closures", "programs", "results_allocated"];

/// Writes a call of the table for the host, if the host can make it.
fn express(case: &Case, row: &Row) -> Option<String> {
    let there = row.arguments.len();
    let count = row.count.unwrap_or(there as i32);
    let arguments = express::arguments(&row.arguments)?;
    Some(format!("call {count} {there} {}\n{arguments}", case.function.signature.name))
}

/// Writes the calls of all rows, then those of [`ALLOCATING`] again without the allocator of the kernels.
fn calls(table: &[Case]) -> Vec<String> {
    let rows = |cases: &[&Case]| -> Vec<String> {
        let rows = cases.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)));
        rows.filter_map(|(case, row)| express(case, row)).collect()
    };
    let mut all = rows(&table.iter().collect::<Vec<_>>());
    let allocating = |case: &&Case| ALLOCATING.contains(&&*case.group);
    let mut again = rows(&table.iter().filter(allocating).collect::<Vec<_>>());
    all[0].insert_str(0, "allocator kernels\n");
    again[0].insert_str(0, "allocator none\n");
    all.extend(again);
    all
}

/// Replaces the NaN that x86-64 makes by the one of other machines, in the arguments of kernels that a line shows.
fn unsigned(line: &str) -> String {
    line.replace(" 0000c0ff", " 0000c07f").replace(" 000000000000f8ff", " 000000000000f87f")
}

/// Returns the ways with embedded routines. Cranelift has one level, and MLIR yields the code of LLVM. GCC without
/// optimisation leaves the upper bits of narrow arguments open, as the ABI of aarch64 allows; the table has kernels
/// that read them.
fn embedded() -> Vec<How> {
    let cranelift = How::One("cranelift", Optimize::O2, Routines::Embedded);
    let llvm = How::One("llvm", Optimize::O0, Routines::Embedded);
    let has_llvm = BACKENDS.contains(&"llvm");
    [cranelift].into_iter().chain(has_llvm.then_some(llvm)).collect()
}

/// Returns the ways with linked routines, one for each backend that does not only take part in [`How::Several`].
fn linked() -> Vec<How> {
    let takes_part = |backend: &str| matches!(backend, "mlir" | "c") && !Part::Machines.runs();
    let alone = BACKENDS.iter().filter(|backend| !takes_part(backend));
    alone.map(|&backend| How::One(backend, Optimize::O2, Routines::Linked)).collect()
}

/// Compares the outcomes of all calls with those of this machine.
fn compare(other: &Machine, ways: &[How]) {
    let mut table = cases::table();
    let calls_one = |case: &Case, is_one: fn(&str) -> bool| {
        case.function.body.kernel_calls().any(|call| call.symbol().is_some_and(is_one))
    };
    let is_noisy = |symbol: &str| symbol.starts_with("noisy_");
    table.retain(|case| !(other.extends && calls_one(case, is_noisy)));
    // GCC for Windows writes names into assembly as they are, and no assembler reads a blank there.
    table.retain(|case| other.compiler != MINGW || case.group != "names");
    // GCC for Windows takes 16-bit floats from integer registers, LLVM from those for floats.
    let takes_halves =
        |symbol: &str| symbol.starts_with("halves_") || symbol.starts_with("bits_of_");
    table.retain(|case| !(other.compiler == MINGW && calls_one(case, takes_halves)));
    let (mut library, mut calls) = (cases::library(&table), calls(&table));
    assert!(calls.len() > 2000, "only {} calls of the table", calls.len());
    if other.system.driver().is_some() {
        calls.extend(launches::add(&mut library));
    }
    let text = calls.concat();
    let first = How::One(BACKENDS[0], Optimize::O2, Routines::Embedded);
    let here = native().outcomes(&library, &text, &[first]);
    let here = &here[0].text;
    assert_eq!(here.lines().count(), calls.len(), "{here}");
    for there in other.outcomes(&library, &text, ways) {
        let pairs = here.lines().zip(there.text.lines()).zip(&calls);
        let pairs = pairs.map(|((here, there), call)| ((unsigned(here), unsigned(there)), call));
        let differ = pairs.filter(|((here, there), _)| here != there);
        let differ: Vec<String> =
            differ.map(|((here, there), call)| format!("{call}  {here}\n  {there}\n")).collect();
        assert!(differ.is_empty(), "{}: {}\n{}", there.name, differ.len(), differ.concat());
        assert_eq!(there.text.lines().count(), calls.len(), "{}", there.name);
    }
}

fn aarch64() -> Machine {
    Machine {
        triple: "aarch64-unknown-linux-gnu",
        system: System::Linux,
        compiler: "aarch64-linux-gnu-gcc",
        kernels: &[],
        runtime: runtime("TVM_FFI_AARCH64"),
        emulator: &["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
        extends: false,
    }
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn aarch64_does_what_this_machine_does() {
    compare(&aarch64(), &[embedded(), linked(), vec![How::Several]].concat());
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn aarch64_has_the_other_hosts() {
    let aarch64 = Tools::aarch64();
    for said in [crate::handlers::outcomes, crate::operators::outcomes] {
        let here = said(&Tools::here());
        for (backend, there) in said(&aarch64) {
            assert_eq!(there, here[0].1, "{backend}");
        }
    }
}

/// Wine starts slowly, so that each of the two kinds of objects for Windows goes some of the ways: LLVM's linker with a
/// library of each backend here, and the linker of MinGW and one library of all backends below.
#[test]
#[ignore = "tests/setup installs what it needs"]
fn windows_msvc_does_what_this_machine_does() {
    let cranelift = embedded()[..1].to_vec();
    compare(&windows("x86_64-pc-windows-msvc"), &[cranelift, linked()].concat());
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn windows_gnu_does_what_this_machine_does() {
    let alone = if Part::Machines.runs() { embedded() } else { Vec::new() };
    compare(&windows("x86_64-pc-windows-gnu"), &[alone, vec![How::Several]].concat());
}

fn windows(triple: &'static str) -> Machine {
    let (system, runtime) = (System::Windows, runtime("TVM_FFI_WINDOWS"));
    let (compiler, kernels, emulator) = (MINGW, &[], WINE);
    Machine { triple, system, compiler, kernels, runtime, emulator, extends: false }
}

/// Apple's processors, whose arguments on the stack are packed and whose functions extend narrow results.
#[test]
#[ignore = "tests/setup installs what it needs"]
fn macos_on_aarch64_does_what_this_machine_does() {
    let kernels =
        &[CLANG, "--target=arm64-apple-macosx11", "-isystem", "/usr/aarch64-linux-gnu/include"];
    let machine = Machine {
        triple: "aarch64-apple-darwin",
        system: System::MacOs,
        kernels,
        extends: true,
        ..aarch64()
    };
    compare(&machine, &macos());
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn macos_on_x86_64_does_what_this_machine_does() {
    let kernels =
        &[CLANG, "--target=x86_64-apple-macosx11", "-isystem", "/usr/include/x86_64-linux-gnu"];
    let machine =
        Machine { triple: "x86_64-apple-darwin", system: System::MacOs, kernels, ..native() };
    compare(&machine, &macos());
}

/// Returns the ways of macOS: those without the C compiler of this machine.
fn macos() -> Vec<How> {
    let is_c = |how: &How| matches!(how, How::One("c", ..));
    [embedded(), linked()].concat().into_iter().filter(|how| !is_c(how)).collect()
}

/// No package has a runtime for riscv64: `TVM_FFI_RISCV64` is a folder with one that was compiled from its sources.
#[test]
#[ignore = "needs a runtime that nobody offers"]
fn riscv64_does_what_this_machine_does() {
    let machine = Machine {
        triple: "riscv64gc-unknown-linux-gnu",
        system: System::Linux,
        compiler: "riscv64-linux-gnu-gcc",
        kernels: &[],
        runtime: runtime("TVM_FFI_RISCV64"),
        emulator: &["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"],
        extends: true,
    };
    compare(&machine, &[embedded(), linked(), vec![How::Several]].concat());
}
