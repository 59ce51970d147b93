//! Kernels of Triton, compiled by `tests/triton/kernels.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use codegen::Library;
use proptest::prelude::*;
use tvm_ffi_codegen_driver::{Request, inspect, triton};

use crate::support::folder;

const ADD: &str =
    "x: *fp32:16, y: *fp32:16, out: *fp32:16, n: i32:16, stride: i32:1, BLOCK: tl.constexpr = 1024";
const TILES: &str = "tiles(x: *fp16[rows, columns]:16, out: *fp16[rows, columns]:16, rows: i32 = rows, columns: i32:16 = columns, BLOCK: 32)";
const SCALE: &str =
    "x: tensordesc<bf16[32, 32]>[m, k], out: tensordesc<bf16[32, 32]>, factor: fp32, BLOCK: 32";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/triton").join(name)
}

pub(super) fn metadata(kernel: &str) -> String {
    fs::read_to_string(path(&format!("{kernel}.json"))).expect("a fixture")
}

pub(super) fn code(kernel: &str) -> Vec<u8> {
    let hsaco = path(&format!("{kernel}.hsaco"));
    fs::read(hsaco).or_else(|_| fs::read(path(&format!("{kernel}.cubin")))).expect("a fixture")
}

pub(super) fn import(kernel: &str, signature: &str, grid: &str) -> Result<Library, triton::Error> {
    triton::import(&metadata(kernel), &code(kernel), signature, grid)
}

/// Returns the text of a kernel's declaration. Checks that it parses to the same declaration, and compiles.
pub(super) fn text(kernel: &str, signature: &str, grid: &str) -> String {
    let library = import(kernel, signature, grid).unwrap_or_else(|error| panic!("{error}"));
    let text = library.to_string();
    let mut parsed: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    parsed.images.clone_from(&library.images);
    assert_eq!(parsed, library);
    let object = Request::default().emit(&parsed).expect("it compiles");
    let code = code(kernel);
    assert!(object.windows(code.len()).any(|bytes| bytes == code), "the image is in the object");
    let name = &library.functions[0].signature.name;
    assert_eq!(&inspect(&object).expect("an object").functions[0].name, name);
    text
}

#[test]
fn arguments_are_those_of_the_kernel_and_specialisation_is_checked() {
    insta::assert_snapshot!(text("add", ADD, "triton.cdiv(n, BLOCK), 1, 1"), @r#"
    image add;

    add(x: Tensor([...], float32, device=cuda, align=16), y: Tensor([...], float32, device=cuda, align=16), out: Tensor([...], float32, device=cuda, align=16), n: int32, stride: int32) -> None
        where n % 16 == 0, stride == 1
        = {
            launch add."add"(x.data, y.data, out.data, n, null, null) grid(ceildiv(n, 1024)) block(128);
        };
    "#);
}

#[test]
fn clusters_multiply_the_grid_and_scratch_counts_them_once() {
    insta::assert_snapshot!(text("tiles", TILES, "cdiv(rows, BLOCK), (columns + BLOCK - 1) // BLOCK"), @r#"
    image tiles;

    tiles(x: Tensor([rows, columns], float16, device=cuda, align=16), out: Tensor([rows, columns], float16, device=cuda, align=16)) -> None
        where columns % 16 == 0
        = {
            launch tiles."tiles"(x.data, out.data, int32(rows), int32(columns), scratch(2 * ceildiv(rows, 32) * ((columns + 32 - 1) / 32) * 256, 128), null) grid(2 * ceildiv(rows, 32), (columns + 32 - 1) / 32) block(128) smem(1032) cluster(2) attribute(5, int32(1));
        };
    "#);
}

#[test]
fn descriptors_of_the_host_are_tensor_maps_with_extents_and_strides() {
    insta::assert_snapshot!(text("scale", SCALE, "cdiv(m, BLOCK)"), @r#"
    image _scale;

    _scale(x: Tensor([m, k], bfloat16, strides=[_, 1], device=cuda, align=16), out: Tensor([_, _], bfloat16, strides=[_, 1], device=cuda, align=16), factor: float32) -> None
        = {
            launch _scale."_scale"(tensormap(x, box=[32, 32], swizzle="64b", l2="128b"), int32(x.shape[0]), int32(x.shape[1]), x.strides[0], x.strides[1], tensormap(out, box=[32, 32], swizzle="64b", l2="128b"), int32(out.shape[0]), int32(out.shape[1]), out.strides[0], out.strides[1], factor, null, null) grid(ceildiv(m, 32)) block(256) smem(2056) pdl;
        };
    "#);
}

/// For AMD Triton specialises for tensors of less than 2 GiB.
#[test]
fn kernels_for_amd_are_launched_by_hip() {
    let signature =
        "x: *fp32[n]:16:S, y: *fp32[n]:16, out: *fp32:S:16, n: i32:16, stride: i32:1, BLOCK: 1024";
    insta::assert_snapshot!(text("add_gfx942", signature, "cdiv(n, BLOCK)"), @r#"
    image add;

    add(x: Tensor([n], float32, device=rocm, align=16), y: Tensor([n], float32, device=rocm, align=16), out: Tensor([...], float32, device=rocm, align=16), n: int32, stride: int32) -> None
        where x.numel < 536870912, out.numel < 536870912, n % 16 == 0, stride == 1
        = {
            launch add."add"(x.data, y.data, out.data, n, null, null) grid(ceildiv(n, 1024)) block(256);
        };
    "#);
    let strided = "x: *fp16[n, 8]:S, y: *fp32, out: *fp32, n: i32, stride: i32 = x.strides[0]";
    let library = import("add_gfx942", strided, "1").expect_err("it has one parameter more");
    insta::assert_snapshot!(library, @"kernel `add`: the image says that it has 6 parameters, two of them hidden, and the signature gives it 7");
}

/// Machines without tensor maps get the parts of descriptors.
#[test]
fn without_maps_descriptors_are_what_they_are_made_of() {
    let (start, end) = (r#""tensordesc_meta": ["#, " ],\n \"tmem_size\"");
    let all = metadata("scale");
    let (before, rest) = all.split_once(start).expect("the key");
    let (_, after) = rest.split_once(end).expect("the key after it");
    let metadata = format!("{before}{start}{end}{after}");
    let ptx = b".version 8.0\n.target sm_80\n";
    let library = triton::import(&metadata, ptx, "x: tensordesc<bf16[32]>", "1").unwrap();
    insta::assert_snapshot!(library, @r#"
    image _scale;

    _scale(x: Tensor([_], bfloat16, strides=[1], device=cuda, align=16)) -> None
        = {
            launch _scale."_scale"(x.data, x.shape[0], x.strides[0], bool(0), bool(0), int32(x.shape[0]), x.strides[0], null, null) grid(1) block(256) smem(2056) pdl;
        };
    "#);
}

#[test]
fn parameters_are_given_what_an_expression_says() {
    let signature = "x: *fp32[n], y: *kfp32[n]:16, out: *fp32[n], n: i32 = x.shape[0] + 0, stride: i32:1 = y.strides[0], BLOCK: 1024";
    insta::assert_snapshot!(text("add", signature, "n // -BLOCK * -1"), @r#"
    image add;

    add(x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, strides=any, device=cuda, align=16, access=read), out: Tensor([n], float32, device=cuda)) -> None
        where y.strides[0] == 1
        = {
            launch add."add"(x.data, y.data, out.data, int32(x.shape[0] + 0), null, null) grid(n / -1024 * -1) block(128);
        };
    "#);
}

#[test]
fn launchers_get_functions_that_check_nothing() {
    insta::assert_snapshot!(text("add", ADD, "..."), @r#"
    image add;

    add(x: ptr, y: ptr, out: ptr, n: int32, stride: int32, `launch.device`: Tensor([...], any, strides=any, device=cuda), `launch.stream`: Stream, `launch.x`: int64, `launch.y`: int64, `launch.z`: int64) -> None
        = {
            launch add."add"(x, y, out, n, null, null) grid(`launch.x`, `launch.y`, `launch.z`) block(128) on `launch.device` stream `launch.stream`;
        };
    "#);
    let signature = "tiles(x: *fp16:16, out: *fp16:16, rows: i32, columns: i32:16, BLOCK: 32)";
    insta::assert_snapshot!(text("tiles", signature, " ... "), @r#"
    image tiles;

    tiles(x: ptr, out: ptr, rows: int32, columns: int32, `launch.device`: Tensor([...], any, strides=any, device=cuda), `launch.stream`: Stream, `launch.x`: int64, `launch.y`: int64, `launch.z`: int64) -> None
        = {
            launch tiles."tiles"(x, out, rows, columns, scratch(2 * `launch.x` * `launch.y` * `launch.z` * 256, 128), null) grid(2 * `launch.x`, `launch.y`, `launch.z`) block(128) smem(1032) cluster(2) attribute(5, int32(1)) on `launch.device` stream `launch.stream`;
        };
    "#);
    let signature = "x: *fp32:16:S, y: *fp32, out: *fp32, n: i32, stride: i32:1, BLOCK: 1024";
    insta::assert_snapshot!(text("add_gfx942", signature, "..."), @r#"
    image add;

    add(x: ptr, y: ptr, out: ptr, n: int32, stride: int32, `launch.device`: Tensor([...], any, strides=any, device=rocm), `launch.stream`: Stream, `launch.x`: int64, `launch.y`: int64, `launch.z`: int64) -> None
        = {
            launch add."add"(x, y, out, n, null, null) grid(`launch.x`, `launch.y`, `launch.z`) block(256) on `launch.device` stream `launch.stream`;
        };
    "#);
    insta::assert_snapshot!(text("scale", SCALE, "..."), @r#"
    image _scale;

    _scale(x: Tensor([...], any, strides=any, device=cuda), `x.shape.0`: int64, `x.shape.1`: int64, `x.strides.0`: int64, `x.strides.1`: int64, out: Tensor([...], any, strides=any, device=cuda), `out.shape.0`: int64, `out.shape.1`: int64, `out.strides.0`: int64, `out.strides.1`: int64, factor: float32, `launch.device`: Tensor([...], any, strides=any, device=cuda), `launch.stream`: Stream, `launch.x`: int64, `launch.y`: int64, `launch.z`: int64) -> None
        = {
            launch _scale."_scale"(tensormap(x, dims=[`x.shape.0`, `x.shape.1`], strides=[`x.strides.0`, 1], box=[32, 32], swizzle="64b", l2="128b", dtype="bfloat16"), int32(`x.shape.0`), int32(`x.shape.1`), `x.strides.0`, `x.strides.1`, tensormap(out, dims=[`out.shape.0`, `out.shape.1`], strides=[`out.strides.0`, 1], box=[32, 32], swizzle="64b", l2="128b", dtype="bfloat16"), int32(`out.shape.0`), int32(`out.shape.1`), `out.strides.0`, `out.strides.1`, factor, null, null) grid(`launch.x`, `launch.y`, `launch.z`) block(256) smem(2056) pdl on `launch.device` stream `launch.stream`;
        };
    "#);
}

/// Returns the error of a wrong signature for the kernel `add`.
fn refused(signature: &str, grid: &str) -> String {
    import("add", signature, grid).expect_err("it is wrong").to_string()
}

#[test]
fn grids_are_written_as_in_python() {
    let signature = "x: *fp32, y: *fp32, out: *fp32, n: i32, BLOCK: 64,";
    let found =
        ["(tl.cdiv(n, BLOCK),)", "((n + 1) // BLOCK, 2, 1)", "(n + 1) * (n, 2)", "(n)", "n,"];
    let grid = |grid: &str| match import("add", signature, grid) {
        Ok(library) => library
            .to_string()
            .split_once("grid")
            .expect("a launch")
            .1
            .replace(" block(128);\n    };\n", "\n"),
        Err(error) => format!("{error}\n"),
    };
    let lines: Vec<String> = found.into_iter().map(grid).collect();
    insta::assert_snapshot!(lines.concat(), @r#"
    (ceildiv(n, 64))
    ((n + 1) / 64, 2)
    grid: 1:13: expected an operator or `)`, found `,`
      | (n + 1) * (n, 2)
      |             ^
    (n)
    (n)
    "#);
}

proptest! {
    /// Any text is an error or a declaration, never a panic.
    #[test]
    fn nothing_panics(
        signature in "([a-z0-9_]{0,3}[:*,=()\\[\\]<>. é/-]{0,2}(fp32|i32|16|1|tensordesc)?){0,9}",
        grid in "[a-z0-9,()/é. +-]{0,12}",
    ) {
        let _ = import("add", &signature, &grid);
    }
}

#[test]
fn signatures_that_mean_nothing_are_refused() {
    let found = [
        ("x", "1"),
        ("x: *fp33", "1"),
        ("x: i33", "1"),
        ("x: fp8e5", "1"),
        ("x: *fp32:8", "1"),
        ("x: *fp32:1", "1"),
        ("x: *fp32[n", "1"),
        ("x: *fp32[n][m]", "1"),
        ("x: *fp32[n +]", "1"),
        ("x: fp32:16", "1"),
        ("n: i32[n]", "1"),
        ("n: i32:S", "1"),
        ("x: *fp32[n]:S:S", "1"),
        ("x: *fp32:16 = null", "1"),
        ("x: tensordesc<fp16>", "1"),
        ("x: tensordesc<fp16[32]>[n, m]", "1"),
        ("x: tensordesc<fp16[32]>:16", "1"),
        ("x: *fp32, y: *fp32, out: *fp32, n: i32", ""),
        ("x: *fp32, y: *fp32, out: *fp32, n: i32", "1, 2, 3, 4"),
        ("x: *fp32, y: *fp32, out: *fp32, n: i32", "cdiv(n,)"),
        ("x: *fp32, y: *fp32, out: *fp32, n: i32", "m"),
        ("x: *fp32, x: *fp32, out: *fp32, n: i32", "1"),
        ("x: *fp32, y: *fp32, out: *fp32, n: i32, stride: i32", "1"),
        ("x: *fp32, y: *fp32, out: *fp32, n: i64", "1"),
        ("_doc_add(x: *fp32, y: *fp32, out: *fp32, n: i32)", "1"),
    ];
    let lines: Vec<String> =
        found.iter().map(|(signature, grid)| refused(signature, grid)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    parameter `x`: expected a name, `:` and a type, such as `n: i32`
    parameter `x: *fp33`: Triton has no type `fp33`
    parameter `x: i33`: Triton has no type `i33`
    parameter `x: fp8e5`: `fp8e5` is a type of elements only
    parameter `x: *fp32:8`: Triton specialises for 16, 1 and S, not for `8`
    parameter `x: *fp32:1`: only an integer can be 1
    parameter `x: *fp32[n`: expected `[` and a shape, `:16`, `:1` or `:S`, found `[n`
    parameter `x: *fp32[n][m]`: expected `[` and a shape, `:16`, `:1` or `:S`, found `[m]`
    parameter `x: *fp32[n +]`: 1:4: expected an expression, found the end of the text
      | n +
      |    ^
    parameter `x: fp32:16`: only integers and pointers are specialised
    parameter `n: i32[n]`: only a tensor has a shape and a size in bytes
    parameter `n: i32:S`: only a tensor has a shape and a size in bytes
    parameter `x: *fp32[n]:S:S`: Triton specialises for 16, 1 and S, not for `S`
    parameter `x: *fp32:16 = null`: only a tensor has a shape and is checked for its alignment
    parameter `x: tensordesc<fp16>`: expected a type such as `tensordesc<fp16[32, 32]>`
    parameter `x: tensordesc<fp16[32]>[n, m]`: the shape has another rank than the block
    parameter `x: tensordesc<fp16[32]>:16`: a descriptor is made of a tensor, and never specialised
    grid: expected one to three extents, found 0
    grid: expected one to three extents, found 4
    grid: 1:11: expected an expression, found `)`
      | ceildiv(n,)
      |           ^
    add: statement 0: nothing determines the symbol `m`
    add: x: an earlier parameter has the name `x`
    kernel `add`: the image says that it has 6 parameters, two of them hidden, and the signature gives it 7
    kernel `add`: the image says that parameter 3 has 4 bytes, and the signature gives it 8
    _doc_add: its symbol `__tvm_ffi__doc_add` is that of the documentation of `add`
    "#);
}

/// Returns the error of metadata with one text replaced by another.
fn damaged(kernel: &str, from: &str, to: &str) -> String {
    let text = metadata(kernel);
    assert!(text.contains(from), "{kernel} has {from}");
    let signature = if kernel == "scale" { SCALE } else { ADD };
    let imported = triton::import(&text.replace(from, to), &code(kernel), signature, "1");
    imported.expect_err("it is wrong").to_string()
}

#[test]
fn metadata_that_says_too_little_or_too_much_is_refused() {
    let found = [
        ("add", "{", "["),
        ("add", "\"shared\"", "\"sharing\""),
        ("add", "\"global_scratch_align\"", "\"_\""),
        ("add", "\"num_warps\": 4", "\"num_warps\": \"four\""),
        ("add", "\"num_warps\": 4", "\"num_warps\": 0"),
        ("add", "\"warp_size\": 32", "\"warp_size\": 0"),
        ("add", "\"num_ctas\": 1", "\"num_ctas\": -1"),
        ("add", "\"shared\": 0", "\"shared\": 240000"),
        ("add", "\"backend\": \"cuda\"", "\"backend\": \"metal\""),
        ("add_gfx942", "\"num_ctas\": 1", "\"num_ctas\": 2"),
        ("add_gfx942", "\"tensordesc_meta\": []", "\"tensordesc_meta\": [{}]"),
        ("add_gfx942", "\"shared\": 0", "\"shared\": 400000"),
        ("add_gfx942", "\"name\": \"add\"", "\"name\": \"sub\""),
        ("add", "\"instrumentation_mode\": \"\"", "\"instrumentation_mode\": \"gsan\""),
        ("add", "\"name\": \"add\"", "\"name\": \"sub\""),
        ("scale", "\"fp4_padded\": false", "\"fp4_padded\": true"),
        ("scale", "\"is_im2col\": false", "\"is_im2col\": 0"),
        ("scale", "\"elem_type\": 10", "\"elem_type\": 99"),
    ];
    let lines: Vec<String> =
        found.into_iter().map(|(kernel, from, to)| damaged(kernel, from, to)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    the metadata is not Triton's: expected `,` or `]` at line 2 column 28
    the metadata lacks `shared`, which Triton 3.9 writes
    the metadata lacks `global_scratch_align`, which Triton 3.9 writes
    `num_warps` in the metadata is "four", not a number from 1 to 2147483647
    `num_warps` in the metadata is 0, not a number from 1 to 2147483647
    `warp_size` in the metadata is 0, not a number from 1 to 2147483647
    `num_ctas` in the metadata is -1, not a number from 1 to 2147483647
    `shared` in the metadata: shared memory above 233472 bytes cannot be declared
    `target` in the metadata: a kernel for metal cannot be declared
    `num_ctas` in the metadata: a cluster of blocks on rocm cannot be declared
    `tensordesc_meta` in the metadata: a descriptor for AMD's tensor mover cannot be declared
    `shared` in the metadata: shared memory above 327680 bytes cannot be declared
    kernel `sub`: the image has no such kernel
    `instrumentation_mode` in the metadata: a kernel with the instrumentation `gsan` cannot be declared
    kernel `sub`: the image has no such kernel
    `fp4_padded` in the metadata: a tensor map of padded 4-bit elements cannot be declared
    `is_im2col` in the metadata is 0, not true or false
    `elem_type` in the metadata is 99, not a type of elements
    "#);
    let none = triton::import("[]", &[], "", "1").expect_err("it is wrong").to_string();
    insta::assert_snapshot!(none, @r#"the metadata is not Triton's: it is no object"#);
}

/// The driver is not told where code ends, so code that lacks its last byte is refused, wherever its tables stand.
#[test]
fn code_is_whole() {
    let resolved = |bytes: Vec<u8>| {
        let mut library: Library = "image code;".parse().expect("a declaration");
        library.images[0].bytes = Some(bytes);
        library.resolve().map(drop).map_err(|error| error.to_string())
    };
    let refused = Err("image \"code\": these bytes end before the image does".to_owned());
    for kernel in ["add", "scale", "tiles", "columns", "add_gfx942"] {
        let whole = code(kernel);
        assert_eq!(resolved(whole.clone()), Ok(()), "{kernel}");
        for end in [64, whole.len() / 2, whole.len() - 1] {
            assert_eq!(resolved(whole[..end].to_vec()), refused, "{kernel}: {end}");
        }
        // `e_phoff`, `e_shoff`, and the numbers of entries.
        for (field, size) in [(32, 8), (40, 8), (56, 2), (60, 2)] {
            let mut hostile = whole.clone();
            hostile[field..field + size].fill(0xff);
            assert_eq!(resolved(hostile), refused, "{kernel}: {field}");
        }
    }
}

/// Unknown keys are ignored, and code that is no cubin has no sizes of parameters to check.
#[test]
fn what_launches_do_not_need_is_not_read() {
    let text = metadata("add").replace("\"hash\"", "\"new\"");
    let ptx = b".version 8.0\n.target sm_90\n";
    let short = "x: *fp32, BLOCK: constexpr";
    let library = triton::import(&text, ptx, short, "x.shape[0]").expect("it is enough");
    assert!(library.to_string().contains("launch add.\"add\"(x.data, null, null)"));
}

/// Triton 3.6 knows no columns of pixels, and says nothing of them.
#[test]
fn metadata_of_triton_3_6_is_enough() {
    let text = metadata("scale");
    let older = text.replace("\"is_im2col\": false", "\"new\": 1");
    assert_ne!(older, text);
    let import = |text: &str| triton::import(text, &code("scale"), SCALE, "1");
    assert_eq!(import(&older).expect("it is enough"), import(&text).expect("it is enough"));
}

fn run(arguments: &[&str], output: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"));
    command.args(arguments).arg("-o").arg(output).output().expect("the program runs")
}

#[test]
fn the_command_writes_what_emit_reads() {
    let folder = folder();
    let [json, code] = ["add.json", "add.cubin"].map(|name| path(name).display().to_string());
    let declaration = folder.path().join("add.ffi");
    let import = ["import-triton", &json, &code, "--signature", ADD, "--grid", "cdiv(n, BLOCK)"];
    let done = run(&import, &declaration);
    assert!(done.status.success(), "{done:?}");
    let text = fs::read_to_string(&declaration).expect("it is written");
    let expected = import_text();
    assert_eq!(text, format!("# --image add=add.cubin\n{expected}"));
    let (file, image) = (declaration.display().to_string(), format!("add={code}"));
    let shared = folder.path().join("add.so");
    let done = run(&["emit", &file, "--emit", "shared", "--image", &image], &shared);
    assert!(done.status.success(), "{done:?}");

    let copies = ["json", "cubin"].map(|end| folder.path().join(format!("add.{end}")));
    for (from, to) in [&json, &code].into_iter().zip(&copies) {
        fs::copy(from, to).expect("it can be copied");
    }
    let ttir =
        "tt.func public @add(%x: i1, %y: i1, %out: i1, %n: i32 {tt.divisibility = 16 : i32})";
    fs::write(folder.path().join("add.ttir"), ttir).expect("it can be written");
    let [json, code] = copies.map(|path| path.display().to_string());
    let unchecked = ADD.replace("i32:16", "i32");
    let import = ["import-triton", &json, &code, "--signature", &unchecked, "--grid", "1"];
    let said = fails(&import, &declaration);
    let expected =
        "error: parameter `n: i32`: Triton has compiled the kernel for multiples of 16: `:16`\n";
    assert_eq!(said, expected);
    let import = ["import-triton", &json, &code, "--signature", ADD, "--grid", "1"];
    assert!(fails(&import, Path::new(&json)).ends_with("add.json: it is one of the inputs\n"));
}

/// Returns the message of a run that fails.
fn fails(arguments: &[&str], output: &Path) -> String {
    let done = run(arguments, output);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    String::from_utf8(done.stderr).expect("text")
}

fn import_text() -> String {
    import("add", ADD, "cdiv(n, BLOCK)").expect("a declaration").to_string()
}
