//! The choice of the runtime, and two runtimes in one process.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::ir::{arg, compile, identity, import, installed, int, runtimes, share, wrapper};
use tvm_ffi_codegen::ir::{Module, Type};
use tvm_ffi_codegen_jit::{ArrayObject, Context, Error, Jit, ObjectRef, Origin, Runtime, runtime};

#[test]
fn runtime_functions_differ_by_runtime() {
    for runtime in runtimes() {
        assert!(runtime.symbol("TVMFFIErrorSetRaised").is_some());
        assert!(runtime.symbol("free").is_none());
        assert!(runtime.symbol("TVMFFINoSuchFunction").is_none());
        let builtin = *runtime.origin() == Origin::BuiltIn;
        assert_eq!(runtime.symbol("TVMFFIFunctionSetGlobal").is_none(), builtin);
    }
    if let Origin::Environment(path) | Origin::Tool(path) =
        runtimes()[runtimes().len() - 1].origin()
    {
        // SAFETY: it is the runtime that was found before.
        let loaded = unsafe { Runtime::load(path) }.unwrap();
        assert_eq!(*loaded.origin(), Origin::Path(path.clone()));
        let returned = compile(loaded, &identity()).unwrap().function("identity").unwrap();
        assert_eq!(int(returned.call((1,))), 1);
    }
    // SAFETY: there is no such library.
    let error = unsafe { Runtime::load("/no/such/library.so".as_ref()) }.unwrap_err();
    assert!(matches!(error, Error::Runtime { .. }));
    assert!(error.to_string().starts_with("/no/such/library.so is not a TVM FFI runtime: "));
}

#[test]
fn objects_are_counted() {
    // Returns its argument, an object, with a new reference.
    let mut module = Module::default();
    wrapper(&mut module, "share", |b| {
        let inc = import(b, "TVMFFIObjectIncRef", &[Type::Ptr], Some(Type::I32));
        let object = arg(b, Type::Ptr, 0);
        b.call(inc, &[object]);
        let index = b.load(Type::I32, object, 8);
        let index = b.convert(tvm_ffi_codegen::ir::Convert::Zext, index, Type::I64);
        let result = b.param(crate::ir::RESULT);
        b.store(index, result, 0);
        b.store(object, result, 8);
        let zero = b.i32(0);
        b.ret(Some(zero));
    });
    for runtime in runtimes() {
        let share = compile(runtime, &module).unwrap().function("share").unwrap();
        let object: ObjectRef = {
            let function = share.clone().into_ffi_function(Context::none());
            // SAFETY: the reference is the function's.
            unsafe { ObjectRef::from_raw(function.unwrap().into_raw(), runtime) }.unwrap()
        };
        // SAFETY: the object is alive.
        let count =
            || unsafe { &(*object.as_raw()).combined_ref_count }.load(Ordering::SeqCst) & 0xffff;
        assert_eq!(count(), 1);
        let returned = share.call((&object,)).unwrap();
        assert_eq!(count(), 2);
        assert_eq!(returned.as_object().unwrap().as_raw(), object.as_raw());
        drop(returned.clone());
        assert_eq!(count(), 2);
        drop(returned);
        assert_eq!(count(), 1);
    }
}

/// Functions of one runtime refuse objects of another.
#[test]
fn objects_do_not_cross() {
    let Some(installed) = installed() else { return };
    let builtin = Runtime::builtin();
    let [ours, theirs] = [builtin, installed].map(|runtime| {
        let function = compile(runtime, &share()).unwrap().function("share").unwrap();
        (function.clone(), function.into_ffi_function(Context::none()).unwrap())
    });
    for ((function, object), (_, foreign)) in [(&ours, &theirs), (&theirs, &ours)] {
        let expected = format!(
            "TypeError: argument #0 is an object of another runtime ({}) than the function ({})",
            ObjectRef::from(foreign.clone()).runtime().origin(),
            function.runtime().origin()
        );
        assert_eq!(function.call((foreign,)).unwrap_err().to_string(), expected);
        assert_eq!(object.call((foreign,)).unwrap_err().to_string(), expected);
        let array = ArrayObject::new((1,), ObjectRef::from(foreign.clone()).runtime()).unwrap();
        assert_eq!(function.call((&array,)).unwrap_err().to_string(), expected);
        assert!(function.call((object,)).is_ok());
    }
    // Two handles to one library are the same runtime.
    if let Origin::Environment(path) | Origin::Tool(path) = installed.origin() {
        // SAFETY: it is the runtime that was found before.
        let again = unsafe { Runtime::load(path) }.unwrap();
        assert!(again.is_same(installed) && !again.is_same(builtin));
        let function = compile(again, &share()).unwrap().function("share").unwrap();
        assert!(function.call((&theirs.1,)).is_ok());
    }
}

/// Runs [`found`] in a process with another environment. Returns the line that it prints, and the time that it took.
fn find(environment: &[(&str, &str)]) -> (String, Duration) {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", "runtime::found", "--nocapture"]);
    command.env_remove("TVM_FFI_LIBRARY").envs(environment.iter().copied());
    let start = Instant::now();
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("found: "));
    (line.unwrap_or_else(|| panic!("{text}")).to_owned(), start.elapsed())
}

/// The default runtime is used unless it replaces a library that was rejected. Prints its origin or the error, and
/// whether the tool answers in time.
#[test]
fn found() {
    let jit = Jit::new().map(|_| runtime().origin().to_string());
    assert_eq!(jit.as_ref().err(), runtime().rejected());
    // SAFETY: whoever runs the tests vouches for the path.
    let asked = unsafe { Runtime::ask_tool(Duration::from_millis(300)) };
    if let Ok(found) = asked {
        assert!(matches!(found.origin(), Origin::Tool(path) if path.exists()), "{found:?}");
    }
    let asked = asked.map(|_| ()).map_err(|error| error.to_string());
    println!("found: {} {asked:?}", jit.unwrap_or_else(|error| error.to_string()));
}

#[test]
#[cfg(unix)]
fn the_runtime_is_explicit_and_no_tool_delays_anybody() {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::env::temp_dir().join(format!("tvm-ffi-codegen-tool-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let tool = folder.join("tvm-ffi-config");
    let path = folder.to_str().unwrap();
    // Without a tool, and with one that hangs.
    let missing = find(&[("PATH", path)]);
    std::fs::write(&tool, "#!/bin/sh\nexec /bin/sleep 60\n").unwrap();
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let hanging = find(&[("PATH", path)]);
    std::fs::remove_dir_all(&folder).unwrap();
    let default = if cfg!(feature = "tvm-ffi") { "libtvm_ffi of this process" } else { "built in" };
    assert!(missing.0.starts_with(default), "{}", missing.0);
    assert!(
        missing.0.contains("tvm-ffi-config is not a TVM FFI runtime: No such file"),
        "{}",
        missing.0
    );
    assert!(hanging.0.starts_with(default), "{}", hanging.0);
    assert!(hanging.0.contains("no answer within 300ms"), "{}", hanging.0);
    assert!(hanging.1 < Duration::from_secs(10), "{:?}", hanging.1);
    if cfg!(feature = "tvm-ffi") {
        return;
    }
    if let Some(Origin::Environment(path) | Origin::Tool(path)) =
        installed().map(|runtime| runtime.origin())
    {
        let path = path.to_str().unwrap();
        assert!(find(&[("TVM_FFI_LIBRARY", path)]).0.starts_with(path));
    }
    let (found, _) = find(&[("TVM_FFI_LIBRARY", "/no/such/library.so")]);
    assert!(found.starts_with("/no/such/library.so is not a TVM FFI runtime: "), "{found}");
}

/// Tests that need the installed runtime fail in CI if there is none, and elsewhere print that they are left out.
#[test]
#[cfg(not(feature = "tvm-ffi"))]
fn nothing_passes_silently_for_want_of_a_runtime() {
    let modules = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "modules::modules_have_functions_metadata_and_docs"]);
        command.env_remove("TVM_FFI_LIBRARY").env_remove("CI").env("PATH", "");
        command
    };
    let output = modules().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = "modules_have_functions_metadata_and_docs: there is no installed runtime\n";
    assert!(output.status.success() && said.ends_with(expected), "{output:?}");
    assert!(!modules().env("CI", "true").output().unwrap().status.success());
}
