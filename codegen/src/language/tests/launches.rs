//! Tests of images and launches: canonical text and errors.

use super::errors::check_statements;
use crate::declaration::Library;
use crate::error::Error;

/// Start of a function with the statements of tests.
pub(super) const START: &str = "image i; f(x: Tensor([n, 4], float32, device=cuda), c: Tensor([n], float32), \
                     a: Tensor([...], float32, device=any), m: int8, t: str, \
                     s: Tensor([n], float32, strides=any, device=cuda), p: Tensor([n, 6, 64], float16, device=cuda)) -> None \
                     = {";

#[test]
fn text_is_canonical() {
    let rows = [
        (
            "launch i.\"k\"(x.data,n) block(1,2,3)grid(n)on x;",
            "launch i.\"k\"(x.data, n) grid(n) block(1, 2, 3) on x;",
        ),
        (
            "launch i.\"k\"() cooperative smem(4) attribute(13, int32(1)) pdl grid(2) cluster(2, 1) block(1) on x;",
            "launch i.\"k\"() grid(2) block(1) smem(4) cooperative attribute(13, int32(1)) pdl cluster(2, 1) on x;",
        ),
        (
            "launch i.\"k\"(struct(m, struct(1.5, n)), scratch(n*4,16), x.data) grid(1) block(1);",
            "launch i.\"k\"(struct(m, struct(1.5, n)), scratch(n * 4, 16), x.data) grid(1) block(1);",
        ),
        (
            "launch i.\"k\"(bytes(c,64), current_device( )) grid(1) block(1);",
            "launch i.\"k\"(bytes(c, 64), current_device()) grid(1) block(1);",
        ),
        (
            "launch i.\"k\"(tensormap(x, swizzle=\"128b\", steps=[1, 1], box=[64, 4], l2=\"none\")) grid(1) block(1);",
            "launch i.\"k\"(tensormap(x, box=[64, 4], steps=[1, 1], swizzle=\"128b\")) grid(1) block(1);",
        ),
        (
            "launch i.\"k\"(tensormap(x, box=[64], offset=n*16, strides=[1], dtype=\"uint8\", dims=[n*16])) grid(1) block(1);",
            "launch i.\"k\"(tensormap(x, dims=[n * 16], strides=[1], offset=n * 16, box=[64], dtype=\"uint8\")) grid(1) block(1);",
        ),
        (
            "let m0=tensormap(p,steps=[1,2,1],im2col(pixels=n*2,channels=m,upper=[n-1],lower=[-1]),offset=0);",
            "let m0 = tensormap(p, offset=0, im2col(lower=[-1], upper=[n - 1], channels=m, pixels=n * 2), steps=[1, 2, 1]);",
        ),
        (
            "let m0=tensormap( x,box=[1,4] ) ;launch i.\"k\"(m0, m0) grid(1) block(1);",
            "let m0 = tensormap(x, box=[1, 4]);\n        launch i.\"k\"(m0, m0) grid(1) block(1);",
        ),
        // Words of launches are names elsewhere.
        ("launch(grid);\n        image(struct);", "launch(grid);\n        image(struct);"),
        (
            "let k: int64 = tensormap(n);\n        let v = tensormap;",
            "let k: int64 = tensormap(n);\n        let v = tensormap;",
        ),
    ];
    for (text, expected) in rows {
        let symbols = "grid: int64, struct: int64, tensormap: int64, ";
        let text = format!("{START} {text} }};").replace("f(", &format!("f({symbols}"));
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let printed = library.functions[0].body.to_string();
        assert_eq!(printed, format!("{{\n        {expected}\n    }}"));
        assert_eq!(library.to_string().parse::<Library>().as_ref(), Ok(&library));
    }
}

#[test]
fn syntax() {
    let rows = [
        ("launch 5;", "2:8: expected the name of an image, found `5`"),
        ("launch i(1);", "2:9: expected `.` and the name of a kernel in quotes, found `(`"),
        ("launch i.k(1);", "2:10: expected the name of a kernel in quotes, found `k`"),
        ("launch i.\"k\" grid(1);", "2:14: expected `(`, found `grid`"),
        (
            "launch i.\"k\"() cubes(1);",
            "2:16: expected `grid`, `block` or another clause, found `cubes`",
        ),
        ("launch i.\"k\"() grid(1) smem;", "2:28: expected `(`, found `;`"),
        ("launch i.\"k\"() grid(1, 2, 3, 4);", "2:28: expected an operator or `)`, found `,`"),
        (
            "launch i.\"k\"() grid(1) grid(1);",
            "2:24: expected every clause once, found a second `grid`",
        ),
        ("launch i.\"k\"() on x 5;", "2:21: expected an operator, a clause or `;`, found `5`"),
        (
            "launch i.\"k\"() attribute(x, 1);",
            "2:26: expected the number of an attribute, found `x`",
        ),
        (
            "launch i.\"k\"(scratch(1)) grid(1);",
            "2:23: expected an operator, or `,` and an alignment, found `)`",
        ),
        (
            "launch i.\"k\"(bytes(x)) grid(1);",
            "2:21: expected an operator, or `,` and a number of bytes, found `)`",
        ),
        ("launch i.\"k\"(bytes(x, n)) grid(1);", "2:23: expected a number of bytes, found `n`"),
        (
            "launch i.\"k\"(tensormap(x, boxes=[1]));",
            "2:27: expected `dims`, `strides`, `offset`, `box`, `im2col`, `steps`, `interleave`, `swizzle`, `l2`, `fill` or \
             `dtype`, found `boxes`",
        ),
        (
            "launch i.\"k\"(tensormap(x, fill=\"zero\"));",
            "2:32: expected \"none\", \"nan_request_zero_fma\", found `\"zero\"`",
        ),
        (
            "launch i.\"k\"(tensormap(x, l2=\"64b\", l2=\"64b\"));",
            "2:37: expected every option once, found a second `l2`",
        ),
        ("let m0 = tensormap(x, dims=n);", "2:28: expected `[`, found `n`"),
        ("let m0 = tensormap(p, im2col=1);", "2:29: expected `(`, found `=`"),
        (
            "let m0 = tensormap(p, im2col(lower=[0], left=1));",
            "2:41: expected `lower`, `upper`, `channels` and `pixels`, each once, found `left`",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0], upper=[0], pixels=1));",
            "2:60: expected `lower`, `upper`, `channels` and `pixels`, each once, found `)`",
        ),
        (
            "let m0 = tensormap(p, im2col(pixels=1, pixels=1));",
            "2:40: expected `lower`, `upper`, `channels` and `pixels`, each once, found `pixels`",
        ),
        (
            "let m0 = tensormap(p, box=[1, 1, 8], im2col(lower=[0]));",
            "2:38: expected one of `box` and `im2col`, found both",
        ),
        (
            "let m0 = tensormap(x, strides=[1 1]);",
            "2:34: expected an operator, `,` or `]`, found `1`",
        ),
        (
            "let m0 = tensormap(x, offset=16, offset=0);",
            "2:34: expected every option once, found a second `offset`",
        ),
        ("let m0 = tensormap(x, box=[1, 4]) + 1;", "2:35: expected `;`, found `+`"),
        (
            "let m0 = tensormap(x box=[1, 4]);",
            "2:22: expected an operator, `,` or `)`, found `box`",
        ),
    ];
    check_statements(START, &rows);
    let image = "image 5;".parse::<Library>().expect_err("no name").to_string();
    assert!(image.starts_with("1:7: expected the name of an image, found `5`"), "{image}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn meaning() {
    let rows = [
        ("launch j.\"k\"(x.data) grid(1) block(1);", "2:1: there is no image `j`"),
        ("launch i.\"\"(x.data) grid(1) block(1);", "2:1: \"\" names no kernel"),
        ("launch i.\"k\"(x.data) block(1);", "2:1: `grid` has one to three extents"),
        ("launch i.\"k\"(x.data) grid(1);", "2:1: `block` has one to three extents"),
        (
            "launch i.\"k\"(x.data) grid(-1) block(1);",
            "2:1: grid.x of k is -1, which is no `uint32`",
        ),
        (
            "launch i.\"k\"(x.data) grid(1, 4294967296) block(1);",
            "2:1: grid.y of k is 4294967296, which is no `uint32`",
        ),
        (
            "launch i.\"k\"(x.data) grid(n) block(n, 0);",
            "2:1: block.y of k is 0, which is not 1 to 4294967295",
        ),
        (
            "launch i.\"k\"(x.data) grid(n) block(1) cluster(n, 1, 1 - 1);",
            "2:1: cluster.z of k is 0, which is not 1 to 4294967295",
        ),
        (
            "launch i.\"k\"(x.data) grid(n, 3) block(1) cluster(2, 2);",
            "2:1: grid.y of k is 3, which is no multiple of the cluster's 2",
        ),
        ("launch i.\"k\"(x.data) grid(1.5) block(1);", "2:1: `1.5` is not an integer"),
        ("launch i.\"k\"(x.data) grid(1) block(1) smem(x);", "2:1: `x` is not an integer"),
        (
            "launch i.\"k\"(x) grid(1) block(1);",
            "2:1: `x` is no scalar and no address on the device, as `x.data` is",
        ),
        (
            "launch i.\"k\"(x.data, t) grid(1) block(1);",
            "2:1: `t` is no scalar and no address on the device, as `x.data` is",
        ),
        (
            "launch i.\"k\"(x.data, \"s\") grid(1) block(1);",
            "2:1: `\"s\"` is no scalar and no address on the device, as `x.data` is",
        ),
        (
            "launch i.\"k\"(c.data) grid(1) block(1);",
            "2:1: `c` is on cpu, and this statement is for cuda",
        ),
        (
            "launch i.\"k\"(n) grid(1) block(1) on c;",
            "2:1: `c` is on cpu, and this statement is for cuda",
        ),
        ("launch i.\"k\"(n) grid(1) block(1) on n;", "2:1: `n` is no tensor"),
        ("launch i.\"k\"(struct()) grid(1) block(1);", "2:1: a struct has a field"),
        (
            "launch i.\"k\"(struct(scratch(1, 1))) grid(1) block(1);",
            "2:1: `scratch(1, 1)` cannot be a field of a struct",
        ),
        (
            "launch i.\"k\"(struct(bytes(x, 4))) grid(1) block(1);",
            "2:1: `bytes(x, 4)` cannot be a field of a struct",
        ),
        (
            "launch i.\"k\"(bytes(x, 4)) grid(1) block(1);",
            "2:1: `x` is on cuda, and its bytes are read on the cpu",
        ),
        (
            "launch i.\"k\"(bytes(a, 4)) grid(1) block(1);",
            "2:1: `a` may be on any device: declare it with `device=cpu`",
        ),
        ("launch i.\"k\"(bytes(m, 4)) grid(1) block(1);", "2:1: `m` is no tensor"),
        (
            "launch i.\"k\"(bytes(x, 0)) grid(1) block(1);",
            "2:1: a kernel has no parameter of 0 bytes: it has 1 to 32764",
        ),
        (
            "launch i.\"k\"(scratch(1, 3)) grid(1) block(1);",
            "2:1: 3 is no alignment: a power of two up to 1073741824 is",
        ),
        (
            "launch i.\"k\"() grid(1) block(1) cluster(2) attribute(4, 1);",
            "2:1: `attribute(4, 1)` is set twice",
        ),
        (
            "launch i.\"k\"() grid(1) block(1) attribute(0, 1);",
            "2:1: the driver ignores attribute 0",
        ),
        (
            "launch i.\"k\"() grid(1) block(1) attribute(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) on x;",
            "2:1: the value of `attribute(9, 1, 2, 3, 4, 5, 6, 7, 8, 9)` has 72 bytes, not up to 64",
        ),
        (
            "launch i.\"k\"(tensormap(a, box=[1])) grid(1) block(1);",
            "2:1: the rank of `a` is not known: give `dims`",
        ),
        (
            "launch i.\"k\"(tensormap(x, box=[1])) grid(1) block(1);",
            "2:1: `x` has 2 dims and its box 1",
        ),
        (
            "launch i.\"k\"(tensormap(x, box=[1, 1], steps=[1])) grid(1) block(1);",
            "2:1: `tensormap(x, box=[1, 1], steps=[1])` needs a box of one to five extents, and as many dims, strides and steps if any",
        ),
        (
            "launch i.\"k\"(tensormap(x, box=[1, 1], dtype=\"uint8\")) grid(1) block(1);",
            "2:1: elements of `x` have 32 bits, not 8: give `dims`",
        ),
        (
            "launch i.\"k\"(tensormap(x, box=[257, 4])) grid(1) block(1);",
            "2:1: box of `x` in dim 0 is 257, which is not 1 to 256",
        ),
        (
            "launch i.\"k\"(tensormap(x, box=[1, 4], steps=[1, 3 * 3])) grid(1) block(1);",
            "2:1: steps of `x` in dim 1 is 9, which is not 1 to 8",
        ),
        (
            "let m0 = tensormap(x, dims=[n], box=[1, 4]);",
            "2:1: `tensormap(x, dims=[n], box=[1, 4])` needs a box of one to five extents, and as many dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(x, strides=[4], box=[1, 4]);",
            "2:1: `tensormap(x, strides=[4], box=[1, 4])` needs a box of one to five extents, and as many dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(x, dims=[0, n], box=[1, 4]);",
            "2:1: dims of `x` in dim 0 is 0, which is not 1 to 4294967296",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 4294967297], box=[1, 4]);",
            "2:1: dims of `x` in dim 1 is 4294967297, which is not 1 to 4294967296",
        ),
        ("let m0 = tensormap(x, dims=[1.5, n], box=[1, 4]);", "2:1: `1.5` is not an integer"),
        (
            "let m0 = tensormap(x, strides=[4, n], box=[1, 4]);",
            "2:1: the last stride of the map of `x` is `n`, not 1",
        ),
        (
            "let m0 = tensormap(x, strides=[3, 1], box=[1, 4]);",
            "2:1: strides of `x` in dim 0 is 3 elements of 32 bits, which is no multiple of 16 bytes below 1099511627776",
        ),
        (
            "let m0 = tensormap(x, strides=[-4, 1], box=[1, 4]);",
            "2:1: strides of `x` in dim 0 is -4 elements of 32 bits, which is no multiple of 16 bytes below 1099511627776",
        ),
        (
            "let m0 = tensormap(x, strides=[274877906944, 1], box=[1, 4]);",
            "2:1: strides of `x` in dim 0 is 274877906944 elements of 32 bits, which is no multiple of 16 bytes below 1099511627776",
        ),
        (
            "let m0 = tensormap(x, dims=[8, n], strides=[33, 1], box=[1, 128], dtype=\"16u4_align16b\");",
            "2:1: strides of `x` in dim 0 is 33 elements of 4 bits, which is no multiple of 32 bytes below 1099511627776",
        ),
        (
            "let m0 = tensormap(s, dims=[n], box=[4]);",
            "2:1: the map of `s` has no strides, and `s` is not declared contiguous: give `strides`",
        ),
        ("let m0 = tensormap(x, offset=x, box=[1, 4]);", "2:1: `x` is not an integer"),
        ("let m0 = tensormap(c, box=[4]);", "2:1: `c` is on cpu, and this statement is for cuda"),
        ("let m0 = tensormap(n, box=[4]);", "2:1: `n` is no tensor"),
        ("let n = tensormap(x, box=[1, 4]);", "2:1: `n` is the name of something else here"),
        (
            "let m0 = tensormap(x, box=[1, 4]); launch i.\"k\"(struct(n, m0)) grid(1) block(1);",
            "2:36: f: statement 1: the tensor map `m0` cannot be a field of a struct",
        ),
        (
            "let m0 = tensormap(x, box=[1, 4]); k(m0);",
            "2:36: f: statement 1: `m0` is a tensor map, which only a launch takes",
        ),
        (
            "let m0 = tensormap(x, box=[1, 4]); @k(m0);",
            "2:36: f: statement 1: `m0` is a tensor map, which only a launch takes",
        ),
        (
            "let m0 = tensormap(x, box=[1, 4]); let m1 = m0;",
            "2:36: f: statement 1: `m0` is a tensor map, which only a launch takes",
        ),
        (
            "let m0 = tensormap(x, box=[1, 4]); let t0 = alloc Tensor([m0], int8) on x;",
            "2:36: f: statement 1: `m0` is a tensor map, which only a launch takes",
        ),
        (
            "if n > 1 { let m0 = tensormap(x, box=[1, 4]); } launch i.\"k\"(m0) grid(1) block(1);",
            "2:49: f: statement 2: nothing determines the symbol `m0`",
        ),
        (
            "launch i.\"k\"(x.data) grid(1) block(1); launch i.\"k\"(m, x.data) grid(1) block(1);",
            "2:40: f: statement 1: `k` is launched with parameters of [1, 8] bytes, but earlier of [8]",
        ),
    ];
    check_statements(START, &rows);
    let nowhere = "image i; f(n: int64) -> None = { launch i.\"k\"(n) grid(1) block(1); };";
    let error = nowhere.parse::<Library>().expect_err("no device").to_string();
    assert!(error.contains("no tensor says on which device this runs: `on x`"), "{error}");
}

#[test]
fn images() {
    let rows = [
        ("image i; image j;\n image i;", "2:2: image \"i\": an earlier image has this name"),
        ("image i; dlopen() -> None = dlopen(1);", ""),
        (
            "image i; f(x: Tensor([n], int8, device=cuda)) -> None = { dlopen(1); launch i.\"k\"(x.data) grid(1) block(1); };",
            "1:59: f: statement 0: `dlopen` is called as (i64), but to find the driver as (ptr, i32) -> ptr",
        ),
    ];
    for (text, expected) in rows {
        let error =
            text.parse::<Library>().err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(error.lines().next().unwrap_or_default(), expected, "{text}");
    }
    let unused: Library = "image i; f() -> None = k();".parse().unwrap();
    assert!(unused.resolve().is_ok());
    let used = "image i; f(x: Tensor([n], float32, device=cuda)) -> None \
                = { launch i.\"k\"(x.data) grid(1) block(1); };";
    let mut library: Library = used.parse().unwrap();
    let unknown = |library: &Library| match library.resolve() {
        Err(Error::Image { index: 0, reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        unknown(&library),
        "its bytes are not given, by `--image NAME=FILE`, by `images=` in Python, or by `Image::bytes`"
    );
    library.images[0].bytes = Some(b"\x7fELF".to_vec());
    let junk =
        "these bytes are no cubin, fatbin, PTX, hsaco or offload bundle, as their header says";
    assert_eq!(unknown(&library), junk);
    library.images[0].bytes = Some(b"/* c */ // d\n.version 8.0\n".to_vec());
    library.resolve().unwrap();
}
