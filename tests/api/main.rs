//! The public API of the crates that are published, as text, so that a change of it is seen in review.

use std::path::Path;

use insta::{Settings, assert_snapshot};

/// Names of the published libraries.
const LIBRARIES: [&str; 12] = [
    "tvm_ffi_abi_spec",
    "tvm_ffi_codegen",
    "tvm_ffi_codegen_c",
    "tvm_ffi_codegen_cranelift",
    "tvm_ffi_codegen_driver",
    "tvm_ffi_codegen_jit",
    "tvm_ffi_codegen_link",
    "tvm_ffi_codegen_llvm",
    "tvm_ffi_codegen_mlir",
    "tvm_ffi_codegen_prebuilt",
    "tvm_ffi_codegen_routine",
    "tvm_ffi_codegen_triton",
];

/// Items that implementations for all types add are left out, and what `derive` and the compiler add.
#[test]
#[ignore = "tests/api/run writes what this reads"]
fn public_items_are_those_on_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(root.join("tests/api"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for library in LIBRARIES {
        let items =
            public_api::Builder::from_rustdoc_json(root.join(format!("target/doc/{library}.json")))
                .omit_blanket_impls(true)
                .omit_auto_trait_impls(true)
                .omit_auto_derived_impls(true)
                .build();
        let items = items.unwrap_or_else(|error| panic!("{library}: {error}"));
        settings.bind(|| assert_snapshot!(library, items));
    }
}
