//! Tensor maps: requests to the driver, the encoded maps in kernels' arguments, and the error of every rule.

use super::session::{Fake, int};
use super::table::{Call, hold, hold_calls};

const PARAMS: &str = "x: Tensor([n, m], float32, device=cuda, strides=any), h: Tensor([a, b, c], float16, device=cuda), \
    v: Tensor([k], int8, device=cuda, align=1), i: int64, w: Tensor([...], float32, device=cuda, strides=any)";

/// Writes a launch whose only argument is a map of `x`.
fn launch(map: &str) -> String {
    format!("launch cubin.\"tma\"({map}, x.data) grid(1) block(1);")
}

/// Calls with tensors; each has maps with the expected request or error.
fn call(groups: &[(&Fake, &[(&str, &str)])]) {
    let h = Fake::new(0x20000, &[4, 5, 64]).of(2, 16);
    let v = Fake::new(0x30000, &[256]).of(0, 8);
    let rows = groups.iter().flat_map(|(x, rows)| rows.iter().map(move |row| (x, row)));
    let rows: Vec<_> = rows
        .map(|(x, (map, expected))| {
            ([x.arg(), h.arg(), v.arg(), int(7), x.arg()], launch(map), launched(expected))
        })
        .collect();
    let calls: Vec<Call<'_>> =
        rows.iter().map(|(args, body, text)| (&args[..], &**body, &**text)).collect();
    hold_calls(PARAMS, &calls);
}

/// Expands the short form `type rank address dims strides box steps options` of a map into the request to the driver
/// and the argument of the kernel; errors stay as they are.
fn launched(expected: &str) -> String {
    if expected.contains("Error") {
        return expected.to_owned();
    }
    let parts: Vec<&str> = expected.split(' ').collect();
    let [ty, address, dims, strides, extents, steps, options] = parts[..] else {
        panic!("{expected}");
    };
    let list = |text: &str| -> Vec<u64> {
        text.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect()
    };
    let rank = list(dims).len();
    let [interleave, swizzle, promotion, fill] = list(options)[..] else { panic!("{options}") };
    let asked = format!(
        "cuTensorMapEncodeTiled(type={ty} rank={rank} dims={dims} strides={strides} box={extents} steps={steps} \
         interleave={interleave} swizzle={swizzle} promotion={promotion} fill={fill})"
    );
    let address = u64::from_str_radix(address, 16).unwrap();
    let mut bytes = b"tilemap\0".to_vec();
    let words = |list: Vec<u64>, count: usize| {
        let words = list.into_iter().chain(std::iter::repeat(0)).take(count);
        words.collect::<Vec<u64>>()
    };
    for word in [vec![address], words(list(dims), 5), words(list(strides), 4)].concat() {
        bytes.extend(word.to_le_bytes());
    }
    words(list(extents), 5)
        .into_iter()
        .for_each(|extent| bytes.extend((extent as u16).to_le_bytes()));
    words(list(steps), 5).into_iter().for_each(|step| bytes.push(step as u8));
    bytes.extend([ty.parse().unwrap(), rank as u8]);
    bytes.extend([interleave, swizzle, promotion, fill].map(|option| option as u8));
    bytes.resize(128, 0);
    let map: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{asked}\n\"tma\" grid=1,1,1 block=1,1,1) -> parameters=[{map}, 0000010000000000]")
}

#[test]
fn maps_are_of_the_tensor_as_it_is() {
    let rows = [
        ("tensormap(x, box=[64, 32])", "7 10000 128,96 512 32,64 1,1 0,0,0,0"),
        (
            "tensormap(x, box=[i, 4 * i + 4], steps=[2, i - 6])",
            "7 10000 128,96 512 32,7 1,2 0,0,0,0",
        ),
        (
            "tensormap(x, box=[256, 8], swizzle=\"32b\", l2=\"256b\", fill=\"nan_request_zero_fma\", dtype=\"tfloat32\")",
            "11 10000 128,96 512 8,256 1,1 0,1,3,1",
        ),
        (
            "tensormap(x, box=[1, 16], swizzle=\"64b\", l2=\"64b\")",
            "7 10000 128,96 512 16,1 1,1 0,2,1,0",
        ),
        (
            "tensormap(x, box=[1, 32], swizzle=\"128b\", l2=\"128b\", dtype=\"int32\")",
            "3 10000 128,96 512 32,1 1,1 0,3,2,0",
        ),
        (
            "tensormap(x, box=[1, 32], swizzle=\"128b_atom_64b\")",
            "7 10000 128,96 512 32,1 1,1 0,6,0,0",
        ),
        ("tensormap(h, box=[1, 1, 8])", "6 20000 64,5,4 128,640 8,1,1 1,1,1 0,0,0,0"),
        (
            "tensormap(h, box=[1, 5, 4], interleave=\"32b\", swizzle=\"32b\")",
            "6 20000 64,5,4 128,640 4,5,1 1,1,1 2,1,0,0",
        ),
        (
            "tensormap(h, box=[2, 2, 4], interleave=\"16b\")",
            "6 20000 64,5,4 128,640 4,2,2 1,1,1 1,0,0,0",
        ),
        ("tensormap(v, box=[256])", "0 30000 256  256 1 0,0,0,0"),
        ("tensormap(v, box=[16], steps=[8])", "0 30000 256  16 8 0,0,0,0"),
    ];
    call(&[
        (&Fake::new(0x10000, &[96, 128]), &rows),
        (
            &Fake::new(0x10000, &[96, 12]).with_strides(&[256, 1]),
            &[("tensormap(x, box=[4, 4])", "7 10000 12,96 1024 4,4 1,1 0,0,0,0")],
        ),
        // The stride of a single row may be anything.
        (
            &Fake::new(0x10000, &[1, 12]).with_strides(&[-5, 1]),
            &[("tensormap(x, box=[1, 4])", "7 10000 12,1 16 4,1 1,1 0,0,0,0")],
        ),
        (
            &Fake::new(0x10000, &[2, 1]).with_strides(&[4, 99]),
            &[("tensormap(x, box=[1, 4])", "7 10000 1,2 16 4,1 1,1 0,0,0,0")],
        ),
    ]);
}

/// Dims, strides and offsets of the declaration.
#[test]
fn maps_are_as_they_are_said() {
    let rows = [
        ("tensormap(h, dims=[a * b, c], box=[4, 64])", "6 20000 64,20 128 64,4 1,1 0,0,0,0"),
        (
            "tensormap(h, dims=[a, c / 8, b, 8], strides=[b * c, 8, c, 1], box=[1, 1, 5, 8])",
            "6 20000 8,5,8,4 128,16,640 8,5,1,1 1,1,1,1 0,0,0,0",
        ),
        (
            "tensormap(h, dims=[1, 2, i, 4, 64], strides=[64, 128, 256, 320, 1], box=[1, 1, 1, 1, 64], steps=[1, 2, 3, 4, 5])",
            "6 20000 64,4,7,2,1 640,512,256,128 64,1,1,1,1 5,4,3,2,1 0,0,0,0",
        ),
        (
            "tensormap(h, offset=32 * i - 208, box=[1, 1, 8])",
            "6 20010 64,5,4 128,640 8,1,1 1,1,1 0,0,0,0",
        ),
        ("tensormap(h, offset=-64, box=[1, 1, 8])", "6 1ffc0 64,5,4 128,640 8,1,1 1,1,1 0,0,0,0"),
        (
            "tensormap(x, strides=[4 * i + 100, 1], box=[1, 8])",
            "7 10000 128,96 512 8,1 1,1 0,0,0,0",
        ),
        (
            "tensormap(x, dims=[n, 4 * m], strides=[x.strides[0] * 4, 1], box=[1, 16], dtype=\"uint8\")",
            "0 10000 512,96 512 16,1 1,1 0,0,0,0",
        ),
        (
            "tensormap(v, dims=[k / 128, 256], box=[2, 128], dtype=\"16u4_align8b\")",
            "13 30000 256,2 128 128,2 1,1 0,0,0,0",
        ),
        (
            "tensormap(v, dims=[2, 128], strides=[64, 1], offset=32, box=[2, 128], dtype=\"16u4_align16b\")",
            "14 30020 128,2 32 128,2 1,1 0,0,0,0",
        ),
        // A given stride is passed on where the extent is 1, and may be 0.
        (
            "tensormap(h, dims=[1, c], strides=[32, 1], box=[1, 8])",
            "6 20000 64,1 64 8,1 1,1 0,0,0,0",
        ),
        (
            "tensormap(h, dims=[i, c], strides=[i - 7, 1], box=[1, 8])",
            "6 20000 64,7 0 8,1 1,1 0,0,0,0",
        ),
        // Any rank.
        (
            "tensormap(w, dims=[w.shape[0], 4294967296], strides=[34359738368 - 8 * i, 1], box=[1, 4])",
            "7 10000 4294967296,96 137438953248 4,1 1,1 0,0,0,0",
        ),
        ("tensormap(w, dims=[i], strides=[1], box=[4])", "7 10000 7  4 1 0,0,0,0"),
    ];
    call(&[(&Fake::new(0x10000, &[96, 128]), &rows)]);
}

#[test]
fn what_is_said_wrongly_is_refused() {
    const STRIDES: &str = "ValueError: Mismatched strides of h, dim 0 …, expected a multiple of 16 bytes below 1099511627776 \
                           but got";
    let strides = |got: &str| format!("{STRIDES} {got} elements of 16 bits");
    let (seven, negative, large) = (strides("7"), strides("-56"), strides("549755813888"));
    let (huge, little) = (strides("4611686018427387904"), strides("8589934592001"));
    let rows = [
        (
            "tensormap(h, dims=[i - 7, c], box=[1, 8])",
            "ValueError: Out of range dims of h, dim 0 …, expected 1 to 4294967296 but got 0",
        ),
        (
            "tensormap(h, dims=[4, -i], box=[1, 8])",
            "ValueError: Out of range dims of h, dim 1 …, expected 1 to 4294967296 but got -7",
        ),
        (
            "tensormap(h, dims=[i + 4294967290, c], box=[1, 8])",
            "ValueError: Out of range dims of h, dim 0 …, expected 1 to 4294967296 but got 4294967297",
        ),
        (
            "tensormap(h, dims=[c / (i - 7), c], box=[1, 8])",
            "ValueError: Division by zero in c / (i - 7) …, c = 64, i = 7",
        ),
        ("tensormap(h, dims=[4, c], strides=[i, 1], box=[1, 8])", &seven),
        ("tensormap(h, dims=[4, i], box=[1, 8])", &seven),
        ("tensormap(h, dims=[4, c], strides=[-8 * i, 1], box=[1, 8])", &negative),
        ("tensormap(h, dims=[4, c], strides=[549755813881 + i, 1], box=[1, 8])", &large),
        ("tensormap(h, dims=[4, c], strides=[4611686018427387897 + i, 1], box=[1, 8])", &huge),
        ("tensormap(h, dims=[4, c], strides=[8589934591994 + i, 1], box=[1, 8])", &little),
        (
            "tensormap(v, dims=[2, 128], strides=[i, 1], box=[2, 128], dtype=\"16u4_align8b\")",
            "ValueError: Mismatched strides of v, dim 0 …, expected a multiple of 16 bytes below 1099511627776 but got 7 elements of 4 bits",
        ),
        (
            "tensormap(h, offset=i, box=[1, 1, 8])",
            "ValueError: Misaligned h.data and offset …, expected a multiple of 16 bytes for a tensor map but got remainder 7",
        ),
        (
            "tensormap(v, dims=[2, 128], strides=[64, 1], offset=i + 9, box=[2, 128], dtype=\"16u4_align16b\")",
            "ValueError: Misaligned v.data and offset …, expected a multiple of 32 bytes for a tensor map but got remainder 16",
        ),
        (
            "tensormap(w, dims=[w.shape[2]], strides=[1], box=[4])",
            "ValueError: Mismatched w.ndim on argument #4 …, expected at least 3 but got 2",
        ),
    ];
    call(&[(&Fake::new(0x10000, &[96, 128]), &rows)]);
}

#[test]
fn what_no_map_can_be_made_of_is_refused() {
    let rows = [
        (
            "tensormap(x, box=[i + 250, 4])",
            "ValueError: Out of range box of x, dim 0 …, expected 1 to 256 but got 257",
        ),
        (
            "tensormap(x, box=[1, i - 7])",
            "ValueError: Out of range box of x, dim 1 …, expected 1 to 256 but got 0",
        ),
        (
            "tensormap(x, box=[-i, 4])",
            "ValueError: Out of range box of x, dim 0 …, expected 1 to 256 but got -7",
        ),
        (
            "tensormap(x, box=[1, i + 4294967293])",
            "ValueError: Out of range box of x, dim 1 …, expected 1 to 256 but got 4294967300",
        ),
        (
            "tensormap(x, box=[1, 4], steps=[i + 2, 1])",
            "ValueError: Out of range steps of x, dim 0 …, expected 1 to 8 but got 9",
        ),
        (
            "tensormap(x, box=[1, 4], steps=[1, i - 7])",
            "ValueError: Out of range steps of x, dim 1 …, expected 1 to 8 but got 0",
        ),
        (
            "tensormap(x, box=[4, i - 2])",
            "ValueError: Mismatched box of x …, expected rows of a multiple of 16 bytes up to 2048 but got 20",
        ),
        (
            "tensormap(x, box=[4, 12], swizzle=\"32b\")",
            "ValueError: Mismatched box of x …, expected rows of a multiple of 16 bytes up to 32 but got 48",
        ),
        (
            "tensormap(x, box=[4, 20], swizzle=\"64b\")",
            "ValueError: Mismatched box of x …, expected rows of a multiple of 16 bytes up to 64 but got 80",
        ),
        (
            "tensormap(x, box=[4, 36], swizzle=\"128b_atom_32b\")",
            "ValueError: Mismatched box of x …, expected rows of a multiple of 16 bytes up to 128 but got 144",
        ),
    ];
    call(&[(&Fake::new(0x10000, &[96, 128]), &rows)]);
}

#[test]
fn what_no_map_can_be_made_for_is_refused() {
    let odd = [
        (
            Fake::new(0x10008, &[96, 128]),
            "Misaligned x.data …, expected a multiple of 16 bytes for a tensor map but got remainder 8",
        ),
        (
            Fake::new(0x10000, &[96, 0]),
            "Out of range x.shape[1] …, expected 1 to 4294967296 for a tensor map but got 0",
        ),
        (
            Fake::new(0x10000, &[4294967297, 128]),
            "Out of range x.shape[0] …, expected 1 to 4294967296 for a tensor map but got 4294967297",
        ),
        (
            Fake::new(0x10000, &[96, 128]).with_strides(&[1, 96]),
            "Mismatched x.strides[1] …, expected 1 for a tensor map but got 96",
        ),
        (
            Fake::new(0x10000, &[96, 127]),
            "Mismatched x.strides[0] …, expected a multiple of 16 bytes below 1099511627776 for a tensor map but got 508",
        ),
        (
            Fake::new(0x10000, &[96, 128]).with_strides(&[-128, 1]),
            "Mismatched x.strides[0] …, expected a multiple of 16 bytes below 1099511627776 for a tensor map but got -512",
        ),
        (
            Fake::new(0x10000, &[96, 128]).with_strides(&[1 << 38, 1]),
            "Mismatched x.strides[0] …, expected a multiple of 16 bytes below 1099511627776 for a tensor map but got 1099511627776",
        ),
        (
            Fake::new(0x10000, &[96, 128]).with_strides(&[1 << 62, 1]),
            "Mismatched x.strides[0] …, expected a multiple of 16 bytes below 1099511627776 for a tensor map but got 0",
        ),
    ];
    let rows: Vec<_> =
        odd.into_iter().map(|(x, expected)| (x, format!("ValueError: {expected}"))).collect();
    let rows: Vec<_> =
        rows.iter().map(|(x, expected)| (x, [("tensormap(x, box=[4, 4])", &**expected)])).collect();
    let groups: Vec<_> = rows.iter().map(|(x, rows)| (*x, &rows[..])).collect();
    call(&groups);
}

/// A map of a tensor of which only the last dims are declared has the declared dims.
#[test]
fn maps_of_declared_dims() {
    const PARAMS: &str = "x: Tensor([outer..., k], float32, device=cuda, strides=[s, 1]), \
        y: Tensor([..., k], float32, device=cuda, strides=[..., 1])";
    let x = Fake::new(0x10000, &[4, 3, 128]).with_strides(&[768, 256, 1]);
    let y = Fake::new(0x20000, &[9, 128]);
    let flat = Fake::new(0x10000, &[12, 128]).with_strides(&[256, 1]);
    let folded = launched("7 10000 128,12 1024 32,4 1,1 0,0,0,0");
    let last = launched("7 20000 128  32 1 0,0,0,0");
    let [first, second] = ["tensormap(x, box=[4, 32])", "tensormap(y, box=[32])"].map(launch);
    for x in [x, flat] {
        hold(PARAMS, &[x.arg(), y.arg()], &[(&first, &folded), (&second, &last)]);
    }
}

/// Errors that only the driver can find.
#[test]
fn the_driver_has_the_last_word() {
    let refused = (
        "tensormap(x, dims=[2, i], strides=[64, 1], box=[2, 32], dtype=\"16u4_align8b\")",
        "cuTensorMapEncodeTiled(type=13 rank=2 dims=7,2 strides=32 box=32,2 steps=1,1 interleave=0 swizzle=0 \
         promotion=0 fill=0) = 1 CUDA_ERROR_INVALID_VALUE (rows of packed elements)\n\
         RuntimeError: Failed cuTensorMapEncodeTiled of x …, CUDA_ERROR_INVALID_VALUE (1): invalid argument",
    );
    call(&[(&Fake::new(0x10000, &[96, 128]), &[refused])]);
}

/// Maps in a loop are encoded anew for each launch.
#[test]
fn maps_in_loops() {
    let x = Fake::new(0x10000, &[4, 128]);
    let body = "for j in 1..3 { launch cubin.\"tma\"(tensormap(x, box=[j, 4 * j]), x.data) grid(j) block(1); }";
    let one = |j: u64| {
        let short = format!("7 10000 128,4 512 {},{j} 1,1 0,0,0,0", 4 * j);
        launched(&short).replace("grid=1", &format!("grid={j}"))
    };
    let expected = format!("{}\n{}", one(1), one(2));
    hold("x: Tensor([n, m], float32, device=cuda)", &[x.arg()], &[(body, &*expected)]);
}
