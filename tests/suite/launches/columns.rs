//! Tensor maps of columns of pixels: requests to the driver, the encoded maps in kernels' arguments, the error of every
//! rule, and where maps are kept.

use std::fmt::Display;

use tvm_ffi_codegen_tests::fake_cuda;

use super::closures::Held;
use super::session::{Driver, Fake, int, library, sessions, take_launches};
use super::table::{Call, hold_calls};

const PARAMS: &str = "x: Tensor([n, h, w, c], float16, device=cuda), l: Tensor([n, k, c], bfloat16, device=cuda, strides=[_, _, 1]), \
    v: Tensor([n, d, h, w, c], int8, device=cuda), i: int64, p: int64";

/// Checks maps of images of 12 by 14 pixels, of rows of 100 pixels and of volumes, all of 64 channels, with the
/// expected request or error. `i` is 7 and `p`, the padding, 1.
fn hold(rows: &[(&str, &str)]) {
    let x = Fake::new(0x10000, &[8, 12, 14, 64]).of(2, 16);
    let l = Fake::new(0x20000, &[8, 100, 64]).of(4, 16).with_strides(&[8000, 80, 1]);
    let v = Fake::new(0x30000, &[8, 5, 12, 14, 64]).of(0, 8);
    let args = [x.arg(), l.arg(), v.arg(), int(7), int(1)];
    let rows: Vec<_> = rows
        .iter()
        .map(|(map, expected)| {
            let launch = format!("launch cubin.\"tma\"({map}, x.data) grid(1) block(1);");
            (launch, launched(expected))
        })
        .collect();
    let calls: Vec<Call<'_>> =
        rows.iter().map(|(body, expected)| (&args[..], &**body, &**expected)).collect();
    hold_calls(PARAMS, &calls);
}

/// Expands the short form `type address dims strides lower upper channels pixels steps options` of a map into the
/// request to the driver and the argument of the kernel; errors stay as they are.
fn launched(expected: &str) -> String {
    if expected.contains("Error") {
        return expected.to_owned();
    }
    let parts: Vec<&str> = expected.split(' ').collect();
    let [ty, address, dims, strides, lower, upper, channels, pixels, steps, options] = parts[..]
    else {
        panic!("{expected}");
    };
    let list = |text: &str| -> Vec<i64> { text.split(',').map(|n| n.parse().unwrap()).collect() };
    let rank = list(dims).len();
    let [interleave, swizzle, promotion, fill] = list(options)[..] else { panic!("{options}") };
    let asked = format!(
        "cuTensorMapEncodeIm2col(type={ty} rank={rank} dims={dims} strides={strides} lower={lower} upper={upper} \
         channels={channels} pixels={pixels} steps={steps} interleave={interleave} swizzle={swizzle} \
         promotion={promotion} fill={fill})"
    );
    let mut bytes = b"columns\0".to_vec();
    let mut put = |text: &str, count: usize, width: usize| {
        let numbers = list(text).into_iter().chain(std::iter::repeat(0)).take(count);
        numbers.for_each(|number| bytes.extend(&number.to_le_bytes()[..width]));
    };
    put(&i64::from_str_radix(address, 16).unwrap().to_string(), 1, 8);
    put(dims, 5, 8);
    put(strides, 4, 8);
    // No box.
    put("0", 5, 2);
    put(steps, 5, 1);
    [ty, &rank.to_string()].into_iter().for_each(|number| put(number, 1, 1));
    put(options, 5, 1);
    [lower, upper].into_iter().for_each(|corner| put(corner, 3, 2));
    [channels, pixels].into_iter().for_each(|number| put(number, 1, 2));
    bytes.resize(128, 0);
    let map: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{asked}\n\"tma\" grid=1,1,1 block=1,1,1) -> parameters=[{map}, 0000010000000000]")
}

#[test]
fn columns_are_of_the_tensor_as_it_is() {
    hold(&[
        (
            "tensormap(x, im2col(lower=[-1, -2], upper=[-1, 0], channels=64, pixels=128), swizzle=\"128b\")",
            "6 10000 64,14,12,8 128,1792,21504 -2,-1 0,-1 64 128 1,1,1,1 0,3,0,0",
        ),
        // A convolution: a filter of 3 by 3 with dilation 2, and a stride of 2.
        (
            "tensormap(x, im2col(lower=[-p, -p], upper=[p - 2 * 2, p - 2 * 2], channels=i + 1, pixels=16 * i), steps=[1, 2, 2, 1], \
             l2=\"256b\", fill=\"nan_request_zero_fma\")",
            "6 10000 64,14,12,8 128,1792,21504 -1,-1 -3,-3 8 112 1,2,2,1 0,0,3,1",
        ),
        (
            "tensormap(l, im2col(lower=[-32768], upper=[32767], channels=32, pixels=1024), swizzle=\"64b\")",
            "9 20000 64,100,8 160,16000 -32768 32767 32 1024 1,1,1 0,2,0,0",
        ),
        (
            "tensormap(v, im2col(lower=[-16, 1, 2], upper=[15, 0, -1], channels=64, pixels=1), steps=[1, i, 2, 3, 1])",
            "0 30000 64,14,12,5,8 64,896,10752,53760 2,1,-16 -1,0,15 64 1 1,3,2,7,1 0,0,0,0",
        ),
        (
            "tensormap(v, im2col(lower=[0, 0, 0], upper=[0, 0, 0], channels=256, pixels=1), interleave=\"32b\", swizzle=\"32b\")",
            "0 30000 64,14,12,5,8 64,896,10752,53760 0,0,0 0,0,0 256 1 1,1,1,1,1 2,1,0,0",
        ),
        (
            "tensormap(x, dims=[n, h * w, c], strides=[h * w * c, c, 1], offset=128 * p, im2col(lower=[-128 * i], upper=[p], channels=1, pixels=i))",
            "6 10080 64,168,8 128,21504 -896 1 1 7 1,1,1 0,0,0,0",
        ),
        (
            "tensormap(v, dims=[n, i, 3, 128], strides=[384, 128, 128, 1], im2col(lower=[0, 0], upper=[0, 0], channels=128, pixels=8), \
             dtype=\"16u4_align16b\", swizzle=\"128b\")",
            "14 30000 128,3,7,8 64,64,192 0,0 0,0 128 8 1,1,1,1 0,3,0,0",
        ),
    ]);
}

/// Checks the ValueErrors of maps.
fn refuse(rows: &[(String, impl Display)]) {
    let rows: Vec<_> = rows
        .iter()
        .map(|(map, error)| (format!("tensormap({map})"), format!("ValueError: {error}")))
        .collect();
    let rows: Vec<_> = rows.iter().map(|(map, error)| (&**map, &**error)).collect();
    hold(&rows);
}

#[test]
fn corners_out_of_range_are_refused() {
    const LOWER: &str = "Out of range lower of";
    const UPPER: &str = "Out of range upper of";
    const NONE: &str = "Mismatched lower and upper of x, dim";
    let rows = [
        ("x", "-128 * i, 0", "0, 0", LOWER, "x, dim 1 …, expected -128 to 127 but got -896"),
        ("x", "0, 121 + i", "0, 0", LOWER, "x, dim 2 …, expected -128 to 127 but got 128"),
        ("x", "0, 0", "0, -122 - i", UPPER, "x, dim 2 …, expected -128 to 127 but got -129"),
        ("l", "32761 + i", "0", LOWER, "l, dim 1 …, expected -32768 to 32767 but got 32768"),
        ("v", "0, 0, 0", "9 + i, 0, 0", UPPER, "v, dim 1 …, expected -16 to 15 but got 16"),
        (
            "v",
            "0, 0, 4294967296 * i",
            "0, 0, 0",
            LOWER,
            "v, dim 3 …, expected -16 to 15 but got 30064771072",
        ),
        ("x", "5, 0", "-i, 0", NONE, "1 …, expected pixels between them but got 0"),
        ("x", "0, 9", "0, -i", NONE, "2 …, expected pixels between them but got -2"),
    ];
    refuse(&rows.map(|(tensor, lower, upper, start, rest)| {
        let corners = format!("lower=[{lower}], upper=[{upper}]");
        let map = format!("{tensor}, im2col({corners}, channels=64, pixels=1)");
        (map, format!("{start} {rest}"))
    }));
}

#[test]
fn what_no_columns_can_be_made_of_is_refused() {
    const ZERO: &str = "lower=[0, 0], upper=[0, 0]";
    let columns = |numbers: &str| format!("x, im2col({ZERO}, {numbers}");
    refuse(&[
        (
            columns("channels=i - 7, pixels=1)"),
            "Out of range channels of x …, expected 1 to 256 but got 0",
        ),
        (
            columns("channels=250 + i, pixels=1)"),
            "Out of range channels of x …, expected 1 to 256 but got 257",
        ),
        (
            columns("channels=64, pixels=-i)"),
            "Out of range pixels of x …, expected 1 to 1024 but got -7",
        ),
        (
            columns("channels=64, pixels=1018 + i)"),
            "Out of range pixels of x …, expected 1 to 1024 but got 1025",
        ),
        (
            columns("channels=10 + i, pixels=1), swizzle=\"32b\""),
            "Mismatched channels of x …, expected up to 32 bytes for the swizzle but got 34",
        ),
        (
            columns("channels=26 + i, pixels=1), swizzle=\"64b\""),
            "Mismatched channels of x …, expected up to 64 bytes for the swizzle but got 66",
        ),
        (
            columns("channels=58 + i, pixels=1), swizzle=\"128b_atom_32b\""),
            "Mismatched channels of x …, expected up to 128 bytes for the swizzle but got 130",
        ),
        (
            columns("channels=64, pixels=1), steps=[1, i + 2, 1, 1]"),
            "Out of range steps of x, dim 1 …, expected 1 to 8 but got 9",
        ),
        (
            columns("channels=64, pixels=1), dims=[n, 2, i - 7, 64]"),
            "Out of range dims of x, dim 2 …, expected 1 to 4294967296 but got 0",
        ),
        (
            columns("channels=64, pixels=1), offset=i"),
            "Misaligned x.data and offset …, expected a multiple of 16 bytes for a tensor map but got remainder 7",
        ),
    ]);
}

/// Errors that only the driver can find.
#[test]
fn the_driver_has_the_last_word_about_columns() {
    hold(&[(
        "tensormap(v, dims=[n, i, 128], strides=[896, 128, 1], im2col(lower=[0], upper=[0], channels=57 + i, pixels=8), \
         dtype=\"16u4_align16b\")",
        "cuTensorMapEncodeIm2col(type=14 rank=3 dims=128,7,8 strides=64,448 lower=0 upper=0 channels=64 pixels=8 steps=1,1,1 \
         interleave=0 swizzle=0 promotion=0 fill=0) = 1 CUDA_ERROR_INVALID_VALUE (channels of packed elements)\n\
         RuntimeError: Failed cuTensorMapEncodeIm2col of v …, CUDA_ERROR_INVALID_VALUE (1): invalid argument",
    )]);
}

/// A map is encoded once for equal inputs, also for launches in a loop, and once in a closure, whose calls only launch.
#[test]
fn columns_are_kept() {
    const TENSOR: &str = "x: Tensor([n, h, w, c], float16, device=cuda), p: int64";
    const MAP: &str =
        "tensormap(x, im2col(lower=[-p, -p], upper=[p - 2, p - 2], channels=64, pixels=128))";
    const LAUNCH: &str = "grid(1) block(1);";
    let text = format!(
        "several({TENSOR}) -> None = {{
            for j in 0..3 {{ launch cubin.\"tma\"({MAP}, x.data) {LAUNCH} }}
        }};
        prepare({TENSOR}) -> Function = {{
            let m = {MAP};
            return function() -> None {{ launch cubin.\"tma\"(m, x.data) {LAUNCH} }};
        }};"
    );
    let cuda = fake_cuda::exclusive();
    let stream = Driver(&cuda).create_stream(0);
    for session in sessions(&library(&text)) {
        let counts = |cuda: &fake_cuda::FakeCuda| {
            let record = take_launches(cuda);
            ["cuTensorMapEncodeIm2col", "cuLaunchKernelEx"].map(|call| record.matches(call).count())
        };
        session.set_stream(0, stream);
        let x = Fake::new(0x10000, &[8, 12, 14, 64]).of(2, 16);
        for (padding, encoded) in [(1, 1), (1, 0), (2, 1), (1, 1)] {
            cuda.reset();
            session.call("several", &[x.arg(), int(padding)]).unwrap();
            assert_eq!(counts(&cuda), [encoded, 3], "{}", session.name);
        }
        let x = super::session::FakeObject::new(x);
        let held = Held::new(&session, "prepare", &[x.arg(), int(1)]).unwrap();
        assert_eq!(counts(&cuda), [1, 0], "{}", session.name);
        for _ in 0..2 {
            held.call(&[]).unwrap();
            assert_eq!(counts(&cuda), [0, 1], "{}", session.name);
        }
    }
    Driver(&cuda).destroy_stream(0, stream);
}
