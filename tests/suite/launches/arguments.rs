//! Arguments of kernels: every C type, structs, members of tensors, extents; and launches in every position of a body.

use abi_spec::{Device, DeviceType, TypeIndex};
use jit::abi::Any;

use super::session::{Fake, cuda, float, int};
use super::table::{Row, hold};

const PARAMS: &str = "x: Tensor([n, 4], float32, device=cuda), z: Tensor([m], float64, device=cuda), i: int64, \
    s8: int8, u8: uint8, u16: uint16, s32: int32, u64: uint64, h: float16, g: bfloat16, a: float32, d: float64, \
    b: bool, p: ptr";

/// Calls with the arguments of [`PARAMS`]: 3 rows, 5 elements, and numbers.
fn call(rows: &[Row<'_>]) {
    let x = Fake::new(0x1000, &[3, 4]);
    let z = Fake::new(0x2000, &[5]).of(2, 64);
    let args = [
        x.arg(),
        z.arg(),
        int(7),
        int(-2),
        int(200),
        int(65535),
        int(-3),
        Any::int(TypeIndex::INT, i64::MAX),
        float(1.5),
        float(-2.0),
        float(0.5),
        float(-0.25),
        Any::int(TypeIndex::BOOL, 1),
        Any::ptr(TypeIndex::OPAQUE_PTR, 0xabcd as *mut _),
    ];
    hold(PARAMS, &args, rows);
}

#[test]
fn scalars_have_their_c_types() {
    call(&[
        (
            "launch cubin.\"axpy_kernel\"(x.data, z.data, int32(n), a) grid(1) block(1);",
            "\"axpy_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 0020000000000000, 03000000, 0000003f]",
        ),
        (
            "launch cubin.\"widths\"(u8, u16, s32, u64, a, d, struct(s32, 1.5 == d, a), struct(i, p, x.data)) grid(1) block(1);",
            "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[c8, ffff, fdffffff, ffffffffffffff7f, 0000003f, \
             000000000000d0bf, fdffffff00??????0000003f, 0700000000000000cdab0000000000000010000000000000]",
        ),
        (
            "launch cubin.\"widths\"(s8, h, uint32(i), d, float32(i), 2.5, struct(b, s8, u16, int32(m), g), struct(n, m, i)) \
             grid(1) block(1) on x;",
            "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[fe, 003e, 07000000, 000000000000d0bf, 0000e040, \
             0000000000000440, 01feffff0500000000c0????, 030000000000000005000000000000000700000000000000]",
        ),
        (
            "launch cubin.\"widths\"(b, g, float32(d), null, int32(i - 8), i, struct(a, a, a), struct(null, stream(x), p)) \
             grid(1) block(1) on x;",
            "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[01, 00c0, 000080be, 0000000000000000, ffffffff, \
             0700000000000000, 0000003f0000003f0000003f, 0000000000000000????????????????cdab000000000000]",
        ),
    ]);
}

#[test]
fn structs_are_laid_out_as_in_c() {
    call(&[
        (
            "launch cubin.\"widths\"(struct(u8), struct(struct(u16)), struct(struct(a)), struct(p), a, d, \
             struct(struct(u8, u16), struct(u8), a), struct(u8, struct(d), h)) grid(1) block(1) on x;",
            "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[c8, ffff, 0000003f, cdab000000000000, 0000003f, \
             000000000000d0bf, c8??ffffc8??????0000003f, c8??????????????000000000000d0bf003e????????????]",
        ),
        (
            "launch cubin.\"widths\"(u8, u16, s32, struct(struct(u8, s32)), a, d, struct(u8, s8, u8, s8, u16, h, s32), \
             struct(struct(i, u8), u64)) grid(1) block(1) on x;",
            "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[c8, ffff, fdffffff, c8??????fdffffff, 0000003f, \
             000000000000d0bf, c8fec8feffff003efdffffff, 0700000000000000c8??????????????ffffffffffffff7f]",
        ),
    ]);
}

#[test]
fn members_of_tensors_are_integers() {
    call(&[(
        "launch cubin.\"widths\"(u8, u16, int32(x.ndim), x.strides[0], int32(x.device_id), x.byte_offset, \
             struct(int32(x.shape[0]), int32(x.shape[1]), int32(z.shape[0])), struct(x.strides[1], z.strides[0], z.ndim)) \
             grid(1) block(1) on z;",
        "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[c8, ffff, 02000000, 0400000000000000, 00000000, \
             0000000000000000, 030000000400000005000000, 010000000000000001000000000000000100000000000000]",
    )]);
}

/// Numbers are checked in the order in which they are written, grid and block first.
#[test]
fn what_does_not_fit_is_refused() {
    call(&[
        (
            "launch cubin.\"axpy_kernel\"(x.data, x.data, int32(i * 1000000000), a) grid(1) block(1);",
            "ValueError: Out of range int32(i * 1000000000) …, expected int32 but got 7000000000",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(i * 1000000000000) block(1);",
            "ValueError: Out of range grid.x of cluster_kernel …, expected uint32 but got 7000000000000",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1, n - 4) block(1);",
            "ValueError: Out of range grid.y of cluster_kernel …, expected uint32 but got -1, n = 3 (= x.shape[0])",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(0, 1, n - 8) block(1);",
            "ValueError: Out of range grid.z of cluster_kernel …, expected uint32 but got -5, n = 3 (= x.shape[0])",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1, 1, n - 4);",
            "ValueError: Out of range block.z of cluster_kernel …, expected uint32 but got -1, n = 3 (= x.shape[0])",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) smem(n - 4);",
            "ValueError: Out of range shared memory of cluster_kernel …, expected uint32 but got -1, n = 3 (= x.shape[0])",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) cluster(1, n - 4);",
            "ValueError: Out of range cluster.y …, expected uint32 but got -1, n = 3 (= x.shape[0])",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) priority(i * 1000000000);",
            "ValueError: Out of range priority …, expected int32 but got 7000000000",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(n / (n - 3)) block(1);",
            "ValueError: Division by zero in n / (n - 3) …, n = 3",
        ),
    ]);
}

#[test]
fn bytes_of_a_tensor_are_a_struct() {
    const PARAMS: &str = "x: Tensor([n], float32, device=cuda), c: Tensor([m], int32), t: Tensor([24], uint8), \
        s: Tensor([k], int32), w: Tensor([...], float32)";
    let mut memory: [u8; 32] = std::array::from_fn(|index| index as u8);
    let address = memory.as_mut_ptr().expose_provenance();
    let cpu = Device { ty: DeviceType::CPU, id: 0 };
    let x = Fake::new(0x1000, &[3]);
    let tensors = [(&[6][..], 0, 32), (&[24], 1, 8), (&[3], 0, 32), (&[2, 3], 2, 32)]
        .map(|(shape, code, bits)| Fake::new(address + 4, shape).of(code, bits).on(cpu));
    let args: Vec<Any> = [&x].into_iter().chain(&tensors).map(Fake::arg).collect();
    let launch = |structs: &str| {
        format!(
            "launch cubin.\"widths\"(uint8(n), uint16(m), int32(n), n, float32(0.5), 0.5, {structs}) grid(1) block(1);"
        )
    };
    let [copied, start] =
        ["0405060708090a0b0c0d0e0f101112131415161718191a1b", "0405060708090a0b0c0d0e0f"];
    let launched = format!(
        "\"widths\" grid=1,1,1 block=1,1,1) -> parameters=[03, 0600, 03000000, 0300000000000000, 0000003f, \
         000000000000e03f, {start}, {copied}]"
    );
    let few = |least: u32, found: u32| {
        format!("ValueError: Mismatched s.numel …, expected at least {least} but got {found}")
    };
    let short = launch("bytes(c, 12), bytes(s, 24)");
    let rows = [
        (launch("bytes(c, 12), bytes(c, 24)"), launched.clone()),
        (launch("bytes(t, 12), bytes(w, 24)"), launched.clone()),
        (launch("bytes(s, 12), bytes(t, 24)"), launched),
        (short.clone(), few(6, 3)),
        (short.replace("grid(1)", "grid(m - 6)"), String::new()),
    ];
    let rows: Vec<Row<'_>> =
        rows.iter().map(|(body, expected)| (&body[..], &expected[..])).collect();
    hold(PARAMS, &args, &rows);
}

#[test]
fn an_empty_grid_launches_nothing() {
    call(&[
        ("launch cubin.\"cluster_kernel\"(x.data) grid(0) block(1);", ""),
        ("launch cubin.\"cluster_kernel\"(x.data) grid(n - 3) block(1);", ""),
        ("launch cubin.\"cluster_kernel\"(x.data) grid(1, i - 7, n) block(1);", ""),
        ("launch cubin.\"cluster_kernel\"(x.data) grid(1, 1, 0) block(1);", ""),
        (
            "launch cubin.\"hidden\"(x.data, int32(i), scratch(64, 64), null) grid(m - 5) block(1);",
            "",
        ),
        (
            "launch cubin.\"tma\"(tensormap(x, box=[m + 994, m + 994]), x.data) grid(m - 5) block(1);",
            "",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(n - 3);",
            "\"cluster_kernel\" grid=1,1,1 block=0,1,1) = 1 CUDA_ERROR_INVALID_VALUE (the block is 0,1,1)\n\
             ValueError: Out of range block.x of cluster_kernel …, expected 1 to 1024 on cuda:0 but got 0",
        ),
    ]);
}

#[test]
fn launches_are_statements() {
    call(&[
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); \
             launch fatbin.\"axpy_kernel\"(x.data, z.data, s32, a) grid(2, 3, 4) block(5, 6, 7); \
             launch cubin.\"cluster_kernel\"(z.data) grid(9) block(1);",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000]\n\
             \"axpy_kernel\" grid=2,3,4 block=5,6,7) -> parameters=[0010000000000000, 0020000000000000, fdffffff, 0000003f]\n\
             \"cluster_kernel\" grid=9,1,1 block=1,1,1) -> parameters=[0020000000000000]",
        ),
        (
            "for j in 0..n { launch cubin.\"cluster_kernel\"(x.data) grid(j) block(ceildiv(m, j + 1)); }",
            "\"cluster_kernel\" grid=1,1,1 block=3,1,1) -> parameters=[0010000000000000]\n\
             \"cluster_kernel\" grid=2,1,1 block=2,1,1) -> parameters=[0010000000000000]",
        ),
        (
            "if n > 4 { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); } \
             else { launch cubin.\"cluster_kernel\"(z.data) grid(2) block(1); }",
            "\"cluster_kernel\" grid=2,1,1 block=1,1,1) -> parameters=[0020000000000000]",
        ),
        (
            "let half = n / 2; let first = x.data; launch cubin.\"cluster_kernel\"(first) grid(half) block(half); \
             raise ValueError \"after \", half;",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000]\nValueError: after 1",
        ),
    ]);
}

#[test]
fn the_device_is_that_of_data_or_of_a_parameter() {
    let params = "c: Tensor([k], float32), x: Tensor([n], float32, device=any), y: Tensor([n], float32, device=cuda), \
                  o: Optional[Tensor([n], float32, device=any)], q: Tensor([n], float32, device=cuda_managed)";
    let here = abi_spec::Device::CPU;
    let (c, x) = (Fake::new(0x3000, &[1]).on(here), Fake::new(0x1000, &[3]).on(here));
    let y = Fake::new(0x2000, &[3]).on(cuda(1));
    let managed = abi_spec::Device { ty: abi_spec::DeviceType::CUDA_MANAGED, id: 0 };
    let q = Fake::new(0x4000, &[3]).on(managed);
    let rows = [
        (
            "launch cubin.\"cluster_kernel\"(y.data) grid(1) block(1);",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> device=1 context=primary1 parameters=[0020000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(n) grid(1) block(1) on y;",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> device=1 context=primary1 parameters=[0300000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(q.data) grid(1) block(1) on y;",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1) -> device=1 context=primary1 parameters=[0040000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(y.data) grid(1) block(1) on x;",
            "ValueError: Mismatched x.device on argument #1 …, expected cuda but got cpu",
        ),
        (
            "launch cubin.\"cluster_kernel\"(n) grid(1) block(1);",
            "ValueError: Mismatched x.device on argument #1 …, expected cuda but got cpu",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1);",
            "ValueError: Mismatched x.device on argument #1 …, expected cuda but got cpu",
        ),
        (
            "launch cubin.\"axpy_kernel\"(y.data, struct(x.data), int32(n), int32(0)) grid(n - 3) block(1);",
            "",
        ),
    ];
    hold(params, &[c.arg(), x.arg(), y.arg(), Any::NONE, q.arg()], &rows);
}
