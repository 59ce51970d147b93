//! Kernels of Triton with descriptors of columns of pixels, and what the IR says behind descriptors.

use tvm_ffi_codegen_driver::triton;

use super::triton::{code, import, metadata, text};

const TYPE: &str = "tensordesc_im2col<fp16[128, 64],input_rank=4,NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)>";
const OUT: &str = "out: tensordesc<fp16[128, 64],NVMMASharedLayout(128, 16, rank=2)>, BLOCK: 128";

fn signature(rest: &str) -> String {
    format!("images: {TYPE}{rest}, {OUT}")
}

#[test]
fn columns_have_the_corners_that_the_host_gives() {
    let given = signature(
        "[n, h, w, 64] = im2col(upper=[pad - 2, pad - 2], lower=[-pad, -pad], steps=[1, 2, 2, 1]), pad: i32 = pad",
    );
    let refused = import("columns", &given, "n").expect_err("it has no such parameter").to_string();
    assert_eq!(
        refused,
        "kernel `columns`: the image says that it has 16 parameters, two of them hidden, and the signature gives it 17"
    );
    let given = signature(
        "[n, h, w, 64] = im2col(upper=[1 - 2, BLOCK - 129], lower=[-1, -1], steps=[1, 2, 2, 1])",
    );
    insta::assert_snapshot!(text("columns", &given, "n"), @r#"
    image columns;

    columns(images: Tensor([n, h, w, 64], float16, strides=[_, _, _, 1], device=cuda, align=16), out: Tensor([_, _], float16, strides=[_, 1], device=cuda, align=16)) -> None
        = {
            launch columns."columns"(tensormap(images, im2col(lower=[-1, -1], upper=[1 - 2, 128 - 129], channels=64, pixels=128), steps=[1, 2, 2, 1], swizzle="128b", l2="128b"), int32(images.shape[0]), int32(images.shape[1]), int32(images.shape[2]), int32(images.shape[3]), images.strides[0], images.strides[1], images.strides[2], images.strides[3], tensormap(out, box=[128, 64], swizzle="128b", l2="128b"), int32(out.shape[0]), int32(out.shape[1]), out.strides[0], out.strides[1], null, null) grid(n) block(128) smem(16392);
        };
    "#);
    insta::assert_snapshot!(text("columns", &signature(" = im2col(lower=[0, 0], upper=[0, 0])"), "1"), @r#"
    image columns;

    columns(images: Tensor([_, _, _, _], float16, strides=[_, _, _, 1], device=cuda, align=16), out: Tensor([_, _], float16, strides=[_, 1], device=cuda, align=16)) -> None
        = {
            launch columns."columns"(tensormap(images, im2col(lower=[0, 0], upper=[0, 0], channels=64, pixels=128), swizzle="128b", l2="128b"), int32(images.shape[0]), int32(images.shape[1]), int32(images.shape[2]), int32(images.shape[3]), images.strides[0], images.strides[1], images.strides[2], images.strides[3], tensormap(out, box=[128, 64], swizzle="128b", l2="128b"), int32(out.shape[0]), int32(out.shape[1]), out.strides[0], out.strides[1], null, null) grid(1) block(128) smem(16392);
        };
    "#);
}

#[test]
fn launchers_pass_the_corners() {
    insta::assert_snapshot!(text("columns", &signature(""), "..."), @r#"
    image columns;

    columns(images: Tensor([...], any, strides=any, device=cuda), `images.shape.0`: int64, `images.shape.1`: int64, `images.shape.2`: int64, `images.shape.3`: int64, `images.strides.0`: int64, `images.strides.1`: int64, `images.strides.2`: int64, `images.strides.3`: int64, `images.lower.0`: int64, `images.lower.1`: int64, `images.upper.0`: int64, `images.upper.1`: int64, `images.steps.0`: int64, `images.steps.1`: int64, `images.steps.2`: int64, `images.steps.3`: int64, out: Tensor([...], any, strides=any, device=cuda), `out.shape.0`: int64, `out.shape.1`: int64, `out.strides.0`: int64, `out.strides.1`: int64, `launch.device`: Tensor([...], any, strides=any, device=cuda), `launch.stream`: Stream, `launch.x`: int64, `launch.y`: int64, `launch.z`: int64) -> None
        = {
            launch columns."columns"(tensormap(images, dims=[`images.shape.0`, `images.shape.1`, `images.shape.2`, `images.shape.3`], strides=[`images.strides.0`, `images.strides.1`, `images.strides.2`, 1], im2col(lower=[`images.lower.0`, `images.lower.1`], upper=[`images.upper.0`, `images.upper.1`], channels=64, pixels=128), steps=[`images.steps.0`, `images.steps.1`, `images.steps.2`, `images.steps.3`], swizzle="128b", l2="128b", dtype="float16"), int32(`images.shape.0`), int32(`images.shape.1`), int32(`images.shape.2`), int32(`images.shape.3`), `images.strides.0`, `images.strides.1`, `images.strides.2`, `images.strides.3`, tensormap(out, dims=[`out.shape.0`, `out.shape.1`], strides=[`out.strides.0`, 1], box=[128, 64], swizzle="128b", l2="128b", dtype="float16"), int32(`out.shape.0`), int32(`out.shape.1`), `out.strides.0`, `out.strides.1`, null, null) grid(`launch.x`, `launch.y`, `launch.z`) block(128) smem(16392) on `launch.device` stream `launch.stream`;
        };
    "#);
}

#[test]
fn columns_that_mean_nothing_are_refused() {
    const CORNERS: &str = "im2col(lower=[0, 0], upper=[0, 0])";
    let of = |ty: &str| format!("images: {ty} = {CORNERS}, {OUT}");
    let found = [
        (signature(""), "1"),
        (signature(" = 5"), "1"),
        (signature(" = im2col(lower=[0, 0])"), "1"),
        (signature(" = im2col(lower=[0, 0], lower=[0, 0], upper=[0, 0])"), "1"),
        (signature(" = im2col(lower=[0, 0], upper=[0, 0], left=[1])"), "1"),
        (signature(" = im2col(lower=[0, 0], upper=[0, 0] 1)"), "1"),
        (signature(" = im2col(lower=[0], upper=[0])"), "1"),
        (signature(" = im2col(lower=[0, 0], upper=[0, 200])"), "1"),
        (signature("[n, h, 64] = im2col(lower=[0, 0], upper=[0, 0])"), "1"),
        (signature(" = im2col(lower=[0, 0], upper=[0, 0])"), "..."),
        (of("tensordesc_im2col<fp16[128, 64]>"), "1"),
        (of("tensordesc_im2col<fp16[128, 64],input_rank=2>"), "1"),
        (format!("images: tensordesc<fp16[128, 64]>, {OUT}"), "1"),
        (format!("images: {TYPE} = {CORNERS}, out: {TYPE} = {CORNERS}"), "1"),
    ];
    let refused = |(signature, grid): &(String, &str)| {
        import("columns", signature, grid).expect_err("it is wrong").to_string()
    };
    let text: Vec<String> = found.iter().map(refused).collect();
    let text = text.join("\n").replace(TYPE, "TYPE");
    insta::assert_snapshot!(text, @r#"
    parameter `images: TYPE`: the host gives its corners: ` = im2col(lower=[-1, -1], upper=[-1, -1])` in the order of the dims
    parameter `images: TYPE = 5`: expected `im2col(lower=[…], upper=[…])`, with `steps=[…]` where they are not 1
    parameter `images: TYPE = im2col(lower=[0, 0])`: expected `im2col(lower=[…], upper=[…])`, with `steps=[…]` where they are not 1
    parameter `images: TYPE = im2col(lower=[0, 0], lower=[0, 0], upper=[0, 0])`: expected `im2col(lower=[…], upper=[…])`, with `steps=[…]` where they are not 1
    parameter `images: TYPE = im2col(lower=[0, 0], upper=[0, 0], left=[1])`: expected `im2col(lower=[…], upper=[…])`, with `steps=[…]` where they are not 1
    parameter `images: TYPE = im2col(lower=[0, 0], upper=[0, 0] 1)`: expected `im2col(lower=[…], upper=[…])`, with `steps=[…]` where they are not 1
    columns: statement 0: `images` has 4 dims, and its `im2col` is for 3
    columns: statement 0: upper of `images` in dim 2 is 200, which is not -128 to 127
    parameter `images: TYPE[n, h, 64] = im2col(lower=[0, 0], upper=[0, 0])`: the shape has another rank than the block
    parameter `images: TYPE = im2col(lower=[0, 0], upper=[0, 0])`: the launcher passes the corners
    parameter `images: tensordesc_im2col<fp16[128, 64]> = im2col(lower=[0, 0], upper=[0, 0])`: expected a type such as `tensordesc_im2col<fp16[64, 64], input_rank=4>`
    parameter `images: tensordesc_im2col<fp16[128, 64],input_rank=2> = im2col(lower=[0, 0], upper=[0, 0])`: expected a type such as `tensordesc_im2col<fp16[64, 64], input_rank=4>`
    parameter `images: tensordesc<fp16[128, 64]>`: the metadata says that it is a `tensordesc_im2col`
    parameter `out: TYPE = im2col(lower=[0, 0], upper=[0, 0])`: the metadata says that it is a `tensordesc`
    "#);
    let three = metadata("columns").replacen("128,", "128, 1,", 1);
    let three = triton::import(&three, &code("columns"), &signature(&format!(" = {CORNERS}")), "1");
    insta::assert_snapshot!(three.expect_err("it is wrong"), @r#"`block_size` in the metadata is [128,1,64], not two numbers"#);
}

/// In the IR a descriptor is followed by its extents and strides.
#[test]
fn hints_behind_descriptors_are_compared() {
    let ttir = "tt.func public @f(%x: !tt.tensordesc<32x32xbf16>, %x.shape.0: i32, %x.shape.1: i32, %x.stride.0: i64, \
                %x.stride.1: i64, %n: i32 {tt.divisibility = 16 : i32})";
    let check = |signature| triton::check_specialization(ttir, signature);
    check("x: tensordesc<bf16[32, 32]>, n: i32:16").unwrap();
    let error = check("x: tensordesc<bf16[32, 32]>, n: i32").unwrap_err().to_string();
    assert_eq!(
        error,
        "parameter `n: i32`: Triton has compiled the kernel for multiples of 16: `:16`"
    );
}
