//! Corners of launches: unusual names, allocated or missing tensors, huge numbers, stack.

use std::ptr;

use codegen::Library;
use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda::{self, CUBIN};

use super::scratch::{live, set_allocator};
use super::session::{
    Driver, Fake, assert_same, cuda, error_of, int, library, sessions, take_launches,
};
use super::table::{brief, hold};
use crate::stack_of_failure::{depth, painted};

/// Kernels may have any name on every backend. Only the driver reads PTX.
#[test]
fn kernels_have_any_name() {
    let names = [
        "_ZN3foo3barEPfi",
        "a.b$c@d",
        "with space, (parentheses) and %percent",
        "früh_größer_λ",
        "back\\\\slash",
        "f",
        "__tvm_ffi_f0",
        "tvm_ffi_codegen.launch",
    ];
    let [long, longer] = [900, 5000].map(|length| "n".repeat(length));
    let function = |(index, name): (usize, &str)| {
        format!(
            "f{index}(x: Tensor([n], float32, device=cuda)) -> None \
             = {{ launch ptx.\"{name}\"(x.data) grid(1) block(1); }};\n"
        )
    };
    let names: Vec<&str> = names.into_iter().chain([&*long, &*longer]).collect();
    let library = library(&names.iter().copied().enumerate().map(function).collect::<String>());
    let sessions = sessions(&library);
    let _stand_in = fake_cuda::exclusive();
    for session in sessions {
        for (index, name) in names.iter().enumerate() {
            let x = Fake::new(0x1000, &[3]);
            // Text after a name that is too long for a message is still part of the message.
            let shown =
                if name.len() > 1024 { format!("{}...", &name[..1021]) } else { (*name).into() };
            let name = shown.replace("\\\\", "\\");
            let text = format!(
                "RuntimeError: Failed cuLibraryGetKernel for {name} of image ptx …, CUDA_ERROR_NOT_FOUND (500): named symbol not found, \
                 device = cuda:0"
            );
            let function = format!("f{index}");
            let expected = error_of(&library, &function, &text);
            let found = session.call(&function, &[x.arg()]).unwrap_err();
            assert_same(&found, &expected, &session.name);
        }
    }
}

/// A missing tensor has NULL as its data; the device is that of another tensor.
#[test]
fn tensors_are_anywhere() {
    let params =
        "x: Tensor([n], float32, device=cuda), o: Optional[Tensor([n], float32, device=any)]";
    let x = Fake::new(0x1000, &[3]);
    let none = Any::NONE;
    let rows = [
        (
            "launch cubin.\"cluster_kernel\"(o.data) grid(1) block(1);",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0000000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(struct(o.data)) grid(1) block(1) on x;",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0000000000000000]",
        ),
    ];
    hold(params, &[x.arg(), none], &rows);
    let present = Fake::new(0x2000, &[3]);
    let here = rows.map(|(body, text)| (body, text.replace("[00000", "[00200")));
    hold(params, &[x.arg(), present.arg()], &here.each_ref().map(|(body, text)| (*body, &**text)));
    let elsewhere = Fake::new(0x2000, &[3]).on(abi_spec::Device::CPU);
    let refused = "ValueError: Mismatched o.device on argument #1 …, expected cuda but got cpu";
    hold(params, &[x.arg(), elsewhere.arg()], &rows.map(|(body, _)| (body, refused)));
}

/// Launches with a tensor that the function allocates are on the device of that tensor.
#[test]
fn workspace_is_launched_on() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n], float32, device=cuda)) -> None = {
            let t = alloc Tensor([n], float32) on x;
            launch cubin.\"cluster_kernel\"(t.data) grid(1) block(1);
            launch cubin.\"tma\"(tensormap(t, box=[4]), t.data) grid(n) block(1);
        };",
    );
    let driver = Driver(&stand_in);
    let stream = driver.create_stream(1);
    for session in sessions(&library) {
        session.set_stream(1, stream);
        set_allocator(&session, true);
        stand_in.reset();
        session.call("f", &[Fake::new(0x1000, &[16]).on(cuda(1)).arg()]).unwrap();
        let record = brief(&take_launches(&stand_in));
        let launched =
            record.lines().filter(|line| line.contains("device=1 context=primary1")).count();
        assert_eq!((launched, live()), (2, 0), "{}\n{record}", session.name);
        set_allocator(&session, false);
    }
    driver.destroy_stream(1, stream);
}

/// Declarations with huge numbers resolve, and lower to host IR that verifies.
#[test]
fn numbers_have_no_end() {
    let most = u32::MAX;
    for attribute in [
        format!("cluster({most}, {most}, {most})"),
        format!("preferred_cluster({most}, {most}, {most})"),
        "attribute(4, 9223372036854775807, 9223372036854775807)".to_owned(),
        format!("attribute({most}, -9223372036854775807)"),
        format!("smem({most})"),
        "priority(-2147483648)".to_owned(),
    ] {
        let text = format!(
            "f(x: Tensor([n], float32, device=cuda)) -> None \
             = {{ launch cubin.\"cluster_kernel\"(x.data) grid({most}, {most}, {most}) block({most}) {attribute}; }};"
        );
        let library = library(&text);
        codegen::ir::verify(&codegen::lower(
            &library.resolve().unwrap(),
            &codegen::Options::default(),
        ))
        .unwrap();
    }
}

/// The function that prepares launches needs a valid name of its own, and images need their bytes.
#[test]
fn functions_have_different_names() {
    let text = "f(x: Tensor([n], float32, device=cuda)) -> None \
                = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); };";
    let wrong = [
        ("f", "f: an earlier function has this name"),
        (
            "_library_bin",
            "_library_bin: its symbol `__tvm_ffi__library_bin` is that of the import tree of the library",
        ),
        ("a\nb", "function 1: the name holds the control character '\\n' at byte 1"),
    ];
    for (name, expected) in wrong {
        let library = library(text).with_prepare(name);
        let error = library.resolve().map(drop).unwrap_err().to_string();
        assert_eq!(error, expected, "{name}");
    }
    let mut library: Library = format!("image cubin; {text}").parse().unwrap();
    let error = library.resolve().map(drop).unwrap_err().to_string();
    assert_eq!(
        error,
        "image \"cubin\": its bytes are not given, by `--image NAME=FILE`, by `images=` in Python, or by `Image::bytes`"
    );
    library.images[0].bytes = Some(CUBIN.to_vec());
    library.resolve().unwrap();
}

/// The stand-in records nothing, so that its own frames are small.
#[test]
fn launches_take_little_stack() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n, 4], float32, device=cuda), i: int64) -> None
            = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); };
         map(x: Tensor([n, 4], float32, device=cuda), i: int64) -> None
            = { launch cubin.\"tma\"(tensormap(x, box=[1, i]), x.data) grid(1) block(1); };",
    );
    for session in sessions(&library) {
        session.set_stream(0, ptr::null_mut());
        let x = Fake::new(0x1000, &[3, 4]);
        let call = |function: &str, i: i64| {
            let (function, args, mut result) =
                (session.function(function), [x.arg(), int(i)], Any::NONE);
            // SAFETY: the arguments are valid, and the code is alive.
            let status = painted(&mut || unsafe {
                function(ptr::null_mut(), args.as_ptr(), 2, &mut result)
            });
            session.ffi.take_error();
            (status, depth())
        };
        call("f", 4);
        call("map", 4);
        stand_in.quiet(true);
        let calls = [call("f", 4), call("map", 4), call("map", 5)];
        stand_in.quiet(false);
        assert_eq!(calls.map(|(status, _)| status), [0, 0, -1], "{}", session.name);
        assert!(
            calls[0].1 < 2048 && calls[1].1 < 2048 && calls[2].1 < 9 << 10,
            "{}: {calls:?}",
            session.name
        );
    }
}
