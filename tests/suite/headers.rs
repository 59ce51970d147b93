//! C that includes the headers of the runtime: the table of calls, in one file with its kernels or behind its header.

use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::gate::Part;
use tvm_ffi_codegen_tests::route::{Before, Shared};

use crate::table::check;

/// Compiles the table and makes its calls.
fn run(compiler: &[&str], before: Before) {
    let table = cases::table();
    check(&Shared::including(&cases::library(&table), compiler, before), &table, &[]);
}

#[test]
fn the_table_runs_in_one_file_with_its_kernels() {
    let aliasing = "-fstrict-aliasing";
    run(&["cc", "-xc", "-std=c11", "-O1", aliasing, "-frounding-math"], Before::Kernels);
}

#[test]
fn other_compilers_take_the_table_too() {
    if Part::Headers.runs() {
        let cxx = ["c++", "-xc++", "-std=c++17", "-O2", "-frounding-math"];
        // GCC 12 has no name for the type, which is passed as the other one.
        run(&[&cxx[..], &["-D__bf16=_Float16"]].concat(), Before::Header);
        #[cfg(feature = "mlir")]
        run(&["clang-22", "-xc", "-std=c11", "-O2"], Before::Header);
    }
}
