//! Attributes of devices: asked for once per device, in conditions, extents and arguments.

use abi_spec::{Device, DeviceType};
use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda;

use super::session::{
    Driver, Fake, assert_same, cuda, error_of, int, library, sessions, take_loading,
};
use super::table::hold;

#[test]
fn attributes_are_numbers() {
    let x = Fake::new(0x1000, &[3]);
    hold(
        "x: Tensor([n], float32, device=cuda)",
        &[x.arg()],
        &[
            (
                "launch cubin.\"cluster_kernel\"(x.data) grid(x.device.multiprocessors * 2) block(x.device.attribute(10));",
                "\"cluster_kernel\" grid=264,1,1 block=32,1,1) -> parameters=[0010000000000000]",
            ),
            (
                "let m = x.device.multiprocessors; if m > 100 and x.device.attribute(75) == 9 \
             { launch cubin.\"shared_kernel\"(x.data, int32(m)) grid(1) block(1); }",
                "\"shared_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 84000000]",
            ),
            (
                "raise ValueError \"capability \", x.device.attribute(75);",
                "ValueError: capability 9",
            ),
            (
                "if x.device.attribute(201) > 0 { raise ValueError \"no\"; }",
                "RuntimeError: Failed cuDeviceGetAttribute …, CUDA_ERROR_INVALID_VALUE (1): invalid argument",
            ),
        ],
    );
}

/// The driver is asked in every call; a thread without a context is on device 0, as CUDA's runtime says.
#[test]
fn the_current_device_is_asked_for() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n], float32, device=any)) -> None where current_device() == x.device_id = {};",
    );
    let driver = Driver(&stand_in);
    let [on0, on1] = [0, 1].map(|device| Fake::new(0x1000, &[3]).on(cuda(device)));
    let on_1 = driver.primary(1);
    for session in sessions(&library) {
        session.call("f", &[on0.arg()]).unwrap();
        driver.push(on_1);
        session.call("f", &[on1.arg()]).unwrap();
        let other = session.call("f", &[on0.arg()]).unwrap_err();
        driver.pop();
        let expected = "ValueError: Violated current_device() == x.device_id …, current_device() = 1, x.device_id = 0";
        assert_same(&other, &error_of(&library, "f", expected), &session.name);
    }
    driver.release(1);
}

/// Each device is asked once; a module remembers the last one.
#[test]
fn a_device_is_asked_once() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n], float32, device=any), k: int64) -> None where x.device.multiprocessors > k = {};",
    );
    let asked = |device: i32| format!("cuDeviceGetAttribute(16 device={device}) -> 132\n");
    let [on0, on1] = [0, 1].map(|device| Fake::new(0x1000, &[3]).on(cuda(device)));
    for session in sessions(&library) {
        stand_in.reset();
        for (x, expected) in [
            (&on0, asked(0)),
            (&on0, String::new()),
            (&on1, asked(1)),
            (&on1, String::new()),
            (&on0, asked(0)),
        ] {
            session.call("f", &[x.arg(), int(131)]).unwrap();
            assert_same(&take_loading(&stand_in), &expected, &session.name);
        }
        let call = |device: Device, k| {
            let x = Fake::new(0x1000, &[3]).on(device);
            session.call("f", &[x.arg(), int(k)]).unwrap_err()
        };
        let rows = [
            (
                cuda(0),
                132,
                "ValueError: Violated x.device.multiprocessors > k …, x.device.multiprocessors = 132, k = 132",
            ),
            (
                Device { ty: DeviceType::CPU, id: 0 },
                0,
                "ValueError: Mismatched x.device on argument #0 …, expected cuda but got cpu",
            ),
            (
                cuda(-1),
                0,
                "RuntimeError: Failed cuDeviceGetAttribute …, CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal",
            ),
            (
                cuda(i32::MIN),
                0,
                "RuntimeError: Failed cuDeviceGetAttribute …, CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal",
            ),
            (
                cuda(2),
                0,
                "RuntimeError: Failed cuDeviceGetAttribute …, CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal",
            ),
        ];
        for (device, k, expected) in rows {
            assert_same(&call(device, k), &error_of(&library, "f", expected), &session.name);
        }
        let null = session.call("f", &[Any::NONE, int(1)]).unwrap_err();
        assert!(null.starts_with("TypeError: "), "{null}");
    }
}

/// After preparing, nothing is asked and nothing is loaded, also while a graph is captured.
#[test]
fn attributes_are_prepared() {
    let stand_in = fake_cuda::exclusive();
    let library = library(
        "f(x: Tensor([n], float32, device=cuda)) -> None
             = { fill x.data, x.device.multiprocessors, x.device.attribute(75); };",
    )
    .with_prepare("ready");
    let driver = Driver(&stand_in);
    let (memory, stream) = (driver.allocate(0, 256), driver.create_stream(0));
    let x = Fake::new(memory.expose_provenance(), &[64]);
    for session in sessions(&library) {
        session.set_stream(0, stream);
        stand_in.reset();
        session.call("ready", &[int(0)]).unwrap();
        let expected = "cuCtxPushCurrent_v2(primary0)\ncuCtxPopCurrent_v2() -> primary0\n\
                        cuDeviceGetAttribute(16 device=0) -> 132\ncuDeviceGetAttribute(75 device=0) -> 9\n";
        assert_same(&take_loading(&stand_in), expected, &session.name);
        let status = driver.capture(stream, || session.call("f", &[x.arg()]).unwrap());
        assert_eq!(status, 0, "{}", session.name);
        assert!(!stand_in.record().contains("cuDeviceGetAttribute"), "{}", session.name);
        let error = session.call("ready", &[int(1 << 32)]).unwrap_err();
        assert!(error.contains("CUDA_ERROR_INVALID_DEVICE (101)"), "{error}");
    }
    driver.free(0, memory);
    driver.destroy_stream(0, stream);
}
