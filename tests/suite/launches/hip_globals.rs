//! Device variables through HIP, and functions that are called once an image is loaded there.

use std::sync::{Arc, Mutex};

use tvm_ffi_codegen_tests::fake_hip::{self, FakeHip};

use super::globals::{WORK, number};
use super::hip;
use super::hooks::{self, Loaded};
use super::session::{assert_same, int, sessions};

/// The record of HIP's first call: the module is loaded, and the variables are found on the device.
#[test]
fn hip_has_variables() {
    let hip = fake_hip::exclusive();
    hip.set("devices", 2);
    let text = "
        state(x: Tensor([n], float32, device=rocm)) -> ptr = { return code.global(\"state\"); };
        size(x: Tensor([n], float32, device=rocm)) -> int64 = { return code.global(\"factors\").size; };
    ";
    let error = hip::library(
        "f(x: Tensor([n], float32, device=rocm)) -> ptr = { return code.global(\"none\"); };",
    );
    let error = error.resolve().expect_err("no variable").to_string();
    assert!(error.contains("image `code` has no variable `none`: it has "), "{error}");
    for session in sessions(
        &hip::library(&(text.to_owned() + &WORK.replace("DEVICE", "rocm"))).with_prepare("ready"),
    ) {
        let mut addresses = Vec::new();
        for device in [1, 0] {
            let x = hip::vector(0x1000, 3, device);
            hip.reset();
            addresses.push(number(&session, "state", &[x.arg()]).unwrap());
            let loaded = format!(
                "hipModuleLoadData() -> mod# device={device} gfx942\nhipModuleGetGlobal(mod# \"state\") -> size=64\n"
            );
            let loaded = match device {
                0 => loaded,
                _ => format!("hipSetDevice(1)\n{loaded}hipSetDevice(0)\n"),
            };
            assert_same(&loads(&hip), &loaded, &session.name);
            assert_eq!(number(&session, "size", &[x.arg()]), Ok(12), "{}", session.name);
            session.call("f", &[x.arg()]).unwrap();
            hip.reset();
            session.call("f", &[x.arg()]).unwrap();
            let again = loads(&hip);
            assert!(!again.contains("GetGlobal") && !again.contains("Load"), "{again}");
            session.call("ready", &[int(device.into())]).unwrap();
            assert_eq!(hip.live().pushed, 0, "{}", session.name);
        }
        assert!(addresses[0] != addresses[1], "{}: {addresses:x?}", session.name);
        for device in [2, 64] {
            let error = number(&session, "state", &[hip::vector(0x1000, 3, device).arg()]);
            let expected = format!("device = rocm:{device}");
            assert!(error.as_ref().is_err_and(|e| e.ends_with(&expected)), "{error:?}");
        }
    }
}

/// Takes the record with modules unnumbered.
fn loads(hip: &FakeHip) -> String {
    let record = hip::taken(hip);
    let lines = record.lines().map(|line| match line.split_once("-> mod") {
        Some((before, after)) => {
            let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}-> mod#{after}\n")
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// HIP has no library, and a module for each device.
#[test]
fn hip_gives_its_module() {
    let stand_in = fake_hip::exclusive();
    stand_in.set("devices", 2);
    let name = "test.rocshmem.init";
    let seen: Arc<Mutex<Vec<Loaded>>> = Arc::default();
    let noted = Arc::clone(&seen);
    hooks::set(name, move |loaded| {
        noted.lock().unwrap().push(loaded);
        Ok(())
    });
    let text = "
        f(x: Tensor([n], float32, device=rocm)) -> None = { launch code.\"pointers\"(x.data) grid(n) block(1); };
        g(x: Tensor([n], float32, device=rocm)) -> None = { launch code.\"nothing\"() grid(n) block(1); };
    ";
    let mut library = hip::library(text).with_prepare("ready");
    library.images[0].on_load = Some(name.to_owned());
    for session in sessions(&library) {
        let mut modules = Vec::new();
        for device in [1, 0] {
            let x = hip::vector(0x1000, 3, device);
            session.call("f", &[x.arg()]).unwrap();
            session.call("g", &[x.arg()]).unwrap();
            session.call("ready", &[int(device.into())]).unwrap();
            let calls = std::mem::take(&mut *seen.lock().unwrap());
            assert_eq!(calls.len(), 1, "{}: {calls:x?}", session.name);
            assert_eq!((calls[0].library, calls[0].device), (0, device.into()), "{}", session.name);
            modules.push(calls[0].module);
            assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
        }
        assert!(modules[0] != modules[1] && !modules.contains(&0), "{modules:x?}");
    }
}
