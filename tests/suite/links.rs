//! Random objects of C and C++ compilers, linked by the linker of this library and by that of the C compiler.

use tvm_ffi_codegen_tests::links::{Plan, run};

#[test]
fn libraries_of_random_objects_do_the_same() {
    let report = run(&Plan { seed: 0, programs: 40 });
    assert!(report.wrong.is_empty(), "{report}\n{}", report.wrong.join("\n\n"));
    // A run that compares little proves little.
    assert!(report.accepted >= 36 && report.calls >= 68, "{report}");
}
