//! Errors of rustc about kernels that are no pointers: they say what to write, and list no types.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Returns the crate as it was compiled last.
fn library() -> PathBuf {
    let program = env::current_exe().expect("a program has a path");
    let files = fs::read_dir(program.parent().expect("a program is in a folder")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libtvm_ffi_codegen_jit-") && name.ends_with(".rlib")
    };
    let made = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    files.filter(is_ours).max_by_key(made).expect("cargo has compiled the crate")
}

/// Checks a program with these statements; returns what rustc says, or nothing if it compiles.
fn check(name: &str, statements: &str) -> String {
    let folder =
        env::temp_dir().join(format!("tvm-ffi-codegen-wrong-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let source = format!(
        "#![allow(unused)]\nuse tvm_ffi_codegen_jit::Jit;\n\
         extern \"C\" fn k(x: *const f32, n: i64) {{}}\n\
         fn main() {{\n    let jit = Jit::new().unwrap();\n    {statements}\n}}\n"
    );
    let (file, library) = (folder.join("main.rs"), library());
    fs::write(&file, source).unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--out-dir"]).arg(&folder);
    rustc.arg("-L").arg(format!("dependency={}", library.parent().unwrap().display()));
    rustc.arg("--extern").arg(format!("tvm_ffi_codegen_jit={}", library.display()));
    let output = rustc.arg(&file).env_remove("RUSTC_BOOTSTRAP").output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.is_empty(), output.status.success(), "{said}");
    said
}

/// A closure may be written with every type of parameter; one of another type is named, without a list of types.
#[test]
fn rustc_says_what_a_closure_may_be() {
    let wrap = |closure: &str| format!("let jit = jit.function(\"f\", {closure});");
    assert_eq!(check("closure", &wrap("|s: &str, n: i64| Ok::<_, String>(n)")), "");
    let rows = [
        ("slice", "|x: &[f32]| 1", "is no closure that becomes a function of TVM FFI"),
        ("result", "|n: i64| vec![n]", "ClosureResult"),
        ("borrowed", "{ let n = 1; |m: i64| n + m }", "may outlive"),
    ];
    for (name, closure, expected) in rows {
        let said = check(name, &wrap(closure));
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[test]
fn rustc_says_how_a_kernel_is_given() {
    let right = "let k: extern \"C\" fn(_, _) = k; let jit = unsafe { jit.kernel(\"k\", k) };";
    assert_eq!(check("right", right), "");
    let rows = [
        ("item", "let jit = unsafe { jit.kernel(\"k\", k) };"),
        ("closure", "let jit = unsafe { jit.kernel(\"k\", |x: i64| x) };"),
        ("rust", "let k: fn(i64) = |_| (); let jit = unsafe { jit.kernel(\"k\", k) };"),
        (
            "text",
            "let k: extern \"C\" fn(&str) = todo!(); let jit = unsafe { jit.kernel(\"k\", k) };",
        ),
    ];
    for (name, statements) in rows {
        let said = check(name, statements);
        for line in ["is no pointer to a C function", "let k: extern \"C\" fn(_, _) = k;"] {
            assert!(said.contains(line), "{name}: {said}");
        }
        assert!(!said.contains("the following other types"), "{name}: {said}");
    }
}
