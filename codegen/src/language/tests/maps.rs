//! Tests of tensor maps: errors of declarations.

use super::errors::check_statements;
use super::launches::START;

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn rules() {
    let rows = [
        (
            "let m0 = tensormap(p, im2col(lower=[], upper=[], channels=64, pixels=128));",
            "2:1: `tensormap(p, im2col(lower=[], upper=[], channels=64, pixels=128))` needs one to three offsets in `lower`, as many in `upper`, and two more dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0, 0, 0, 0], upper=[0, 0, 0, 0], channels=64, pixels=128));",
            "2:1: `tensormap(p, im2col(lower=[0, 0, 0, 0], upper=[0, 0, 0, 0], channels=64, pixels=128))` needs one to three offsets in `lower`, as many in `upper`, and two more dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0], upper=[0, 0], channels=64, pixels=128));",
            "2:1: `tensormap(p, im2col(lower=[0], upper=[0, 0], channels=64, pixels=128))` needs one to three offsets in `lower`, as many in `upper`, and two more dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[-1], upper=[-1], channels=64, pixels=128), steps=[1]);",
            "2:1: `tensormap(p, im2col(lower=[-1], upper=[-1], channels=64, pixels=128), steps=[1])` needs one to three offsets in `lower`, as many in `upper`, and two more dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(p, dims=[n, 64], im2col(lower=[-1], upper=[-1], channels=64, pixels=128));",
            "2:1: `tensormap(p, dims=[n, 64], im2col(lower=[-1], upper=[-1], channels=64, pixels=128))` needs one to three offsets in `lower`, as many in `upper`, and two more dims, strides and steps if any",
        ),
        (
            "let m0 = tensormap(x, im2col(lower=[-1], upper=[-1], channels=64, pixels=128));",
            "2:1: `x` has 2 dims, and its `im2col` is for 3",
        ),
        (
            "let m0 = tensormap(a, im2col(lower=[-1], upper=[-1], channels=64, pixels=128));",
            "2:1: the rank of `a` is not known: give `dims`",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[-32769], upper=[-1], channels=64, pixels=128));",
            "2:1: lower of `p` in dim 1 is -32769, which is not -32768 to 32767",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0], upper=[32768], channels=64, pixels=128));",
            "2:1: upper of `p` in dim 1 is 32768, which is not -32768 to 32767",
        ),
        (
            "let m0 = tensormap(p, dims=[n, 1, 6, 64], im2col(lower=[0, -129], upper=[0, 0], channels=64, pixels=128));",
            "2:1: lower of `p` in dim 2 is -129, which is not -128 to 127",
        ),
        (
            "let m0 = tensormap(p, dims=[n, 1, 1, 6, 64], im2col(lower=[0, 0, 0], upper=[16, 0, 0], channels=64, pixels=128));",
            "2:1: upper of `p` in dim 1 is 16, which is not -16 to 15",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[2], upper=[-4], channels=64, pixels=128));",
            "2:1: the bounding box of `p` has no pixels in dim 1",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[1.5], upper=[0], channels=64, pixels=128));",
            "2:1: `1.5` is not an integer",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0], upper=[0], channels=0, pixels=128));",
            "2:1: channels of `p` is 0, which is not 1 to 256",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0], upper=[0], channels=257, pixels=128));",
            "2:1: channels of `p` is 257, which is not 1 to 256",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[0], upper=[0], channels=n, pixels=1025));",
            "2:1: pixels of `p` is 1025, which is not 1 to 1024",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[-1], upper=[-1], channels=64, pixels=128), steps=[1, 9, 1]);",
            "2:1: steps of `p` in dim 1 is 9, which is not 1 to 8",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[-1], upper=[-1], channels=64, pixels=128), swizzle=\"64b\");",
            "2:1: a pixel of `p` has 128 bytes, and its swizzle 64",
        ),
        (
            "let m0 = tensormap(p, dims=[n, 6, 128], strides=[n, 128, 1], im2col(lower=[-1], upper=[-1], channels=64, pixels=128), dtype=\"16u4_align16b\");",
            "2:1: channels of `p` is 64, and elements of `16u4_align16b` come by 128",
        ),
        (
            "let m0 = tensormap(p, im2col(lower=[-1], upper=[-1], channels=64, pixels=128), interleave=\"32b\");",
            "2:1: `interleave=\"32b\"` of the map of `p` needs `swizzle=\"32b\"`",
        ),
        (
            "let m0 = tensormap(p, dims=[n, 6, 128], im2col(lower=[-1], upper=[-1], channels=64, pixels=128), fill=\"nan_request_zero_fma\", dtype=\"uint8\");",
            "2:1: `fill=\"nan_request_zero_fma\"` of the map of `p` needs elements of a floating-point type",
        ),
        (
            "let m0 = tensormap(x, box=[1, 4], interleave=\"32b\");",
            "2:1: `interleave=\"32b\"` of the map of `x` needs `swizzle=\"32b\"`",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 128], strides=[64, 1], box=[1, 128], swizzle=\"64b\", dtype=\"16u4_align16b\");",
            "2:1: `swizzle=\"64b\"` of the map of `x` needs elements of another type",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 128], strides=[64, 1], box=[1, 128], swizzle=\"128b_atom_64b\", dtype=\"16u4_align16b\");",
            "2:1: `swizzle=\"128b_atom_64b\"` of the map of `x` needs elements of another type",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 128], box=[1, 128], interleave=\"16b\", dtype=\"16u6_align16b\");",
            "2:1: `interleave=\"16b\"` of the map of `x` needs elements of another type",
        ),
        (
            "let m0 = tensormap(x, box=[1, 4], interleave=\"16b\");",
            "2:1: `interleave=\"16b\"` of the map of `x` needs three dims or more",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 192], strides=[64, 1], box=[1, 128], dtype=\"16u4_align16b\");",
            "2:1: the last of the dims of `x` is 192, and elements of `16u4_align16b` come by 128",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 128], strides=[64, 1], box=[1, 64], dtype=\"16u4_align16b\");",
            "2:1: the last extent of the box of `x` is 64, and elements of `16u4_align16b` come by 128",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 33], strides=[32, 1], box=[1, 32], dtype=\"16u4_align8b\");",
            "2:1: the last of the dims of `x` is 33, and elements of `16u4_align8b` come by 2",
        ),
        (
            "let m0 = tensormap(x, dims=[n, 64], strides=[32, 1], box=[1, 16], dtype=\"16u4_align8b\");",
            "2:1: a row of the box of `x` has 16 elements of 4 bits, which is no multiple of 16 bytes",
        ),
        (
            "let m0 = tensormap(x, box=[n, 2]);",
            "2:1: a row of the box of `x` has 2 elements of 32 bits, which is no multiple of 16 bytes",
        ),
    ];
    check_statements(START, &rows);
}
