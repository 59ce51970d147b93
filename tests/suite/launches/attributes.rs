//! Attributes of launches, byte by byte, and attributes of kernels: shared memory and large clusters.

use tvm_ffi_codegen_tests::fake_cuda;

use super::session::{Driver, Fake, assert_same, error_of, int, library, sessions, take_loading};
use super::table::{Row, hold};

const PARAMS: &str = "x: Tensor([n], float32, device=cuda), i: int64";

fn call(rows: &[Row<'_>]) {
    let x = Fake::new(0x1000, &[3]);
    hold(PARAMS, &[x.arg(), int(7)], rows);
}

#[test]
fn attributes_are_what_the_driver_reads() {
    call(&[
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(4, 2) block(1) cluster(2, 2);",
            "\"cluster_kernel\" grid=4,2,1 block=1,1,1 attributes=[4:020000000200000001]) -> parameters=[0010000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(8) block(1) cluster(i - 5) preferred_cluster(4);",
            "\"cluster_kernel\" grid=8,1,1 block=1,1,1 attributes=[4:020000000100000001, 11:040000000100000001]) \
             -> parameters=[0010000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) cooperative pdl;",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[2:01, 6:01]) -> parameters=[0010000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) priority(-3) mem_sync_domain(n - 2);",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[8:fdffffff, 10:01]) -> parameters=[0010000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) attribute(13, int32(i)) attribute(7, x.data, int32(n), i > 2);",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[13:07, 7:00100000000000000300000001]) \
             -> parameters=[0010000000000000]",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) attribute(1, x.data, i, 1.0, int32(i), i, int32(i));",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[1:00100000000000000700000000000000000000000000f03f\
             0700000000000000070000000000000007]) -> parameters=[0010000000000000]",
        ),
        // All attributes, larger values first, so that values left by one launch would show in the next.
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) attribute(1, -1, -1, -1, -1, -1, -1, -1, -1) attribute(7, -1, -1); \
             launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) pdl cooperative;",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[1:ffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
             ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff, \
             7:ffffffffffffffffffffffffffffffff]) -> parameters=[0010000000000000]\n\
             \"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[6:01, 2:01]) -> parameters=[0010000000000000]",
        ),
    ]);
}

#[test]
fn what_the_driver_refuses_is_said_with_all_that_was_asked() {
    call(&[
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(i - 4, 2, 1) block(1, 2, 3) cluster(2, 1, 1) smem(64);",
            "\"cluster_kernel\" grid=3,2,1 block=1,2,3 shared=64 attributes=[4:020000000100000001]) \
             = 912 CUDA_ERROR_INVALID_CLUSTER_SIZE (clusters of 2,1,1)\n\
             ValueError: Mismatched grid.x of cluster_kernel …, expected a multiple of the cluster's 2 but got 3",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1000000) block(1024) cooperative;",
            "\"cluster_kernel\" grid=1000000,1,1 block=1024,1,1 attributes=[2:01]) \
             = 720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (more than 264 blocks)\n\
             RuntimeError: Failed cluster_kernel of image cubin …, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720): too many \
             blocks in cooperative launch, grid = (1000000, 1, 1), block = (1024, 1, 1), cluster = (1, 1, 1), \
             shared memory = 0, device = cuda:0",
        ),
        (
            "launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1) attribute(3, i);",
            "\"cluster_kernel\" grid=1,1,1 block=1,1,1 attributes=[3:07]) = 1 CUDA_ERROR_INVALID_VALUE (3 is no attribute of launches)\n\
             RuntimeError: Failed cluster_kernel of image cubin …, CUDA_ERROR_INVALID_VALUE (1): invalid argument, \
             grid = (1, 1, 1), block = (1, 1, 1), cluster = (1, 1, 1), shared memory = 0, device = cuda:0",
        ),
    ]);
}

/// The kernel uses 1024 of the 232448 bytes that a block may have. An excess is reported at every launch, even after a
/// smaller one has succeeded.
#[test]
fn shared_memory_is_within_what_the_device_has() {
    const LAUNCHED: &str = "\"shared_kernel\" grid=1,1,1 block=1,1,1 shared=231424) -> parameters=[0010000000000000, 03000000]";
    const TOO_MUCH: &str = "ValueError: Out of range shared memory of shared_kernel …, expected at most 231424 bytes \
                            on cuda:0 but got 231425";
    let (fits, more) = (
        "launch cubin.\"shared_kernel\"(x.data, int32(n)) grid(1) block(1) smem(231424);",
        "launch cubin.\"shared_kernel\"(x.data, int32(n)) grid(1) block(1) smem(231418 + i);",
    );
    let refused = "\"shared_kernel\" grid=1,1,1 block=1,1,1 shared=231425) = 1 CUDA_ERROR_INVALID_VALUE \
                   (shared memory above 231424)\n";
    let refused = &*format!("{refused}{TOO_MUCH}");
    call(&[
        (more, TOO_MUCH),
        (more, TOO_MUCH),
        (fits, LAUNCHED),
        (more, refused),
        (
            "launch cubin.\"shared_kernel\"(x.data, int32(n)) grid(1) block(1);",
            "\"shared_kernel\" grid=1,1,1 block=1,1,1) -> parameters=[0010000000000000, 03000000]",
        ),
        (fits, LAUNCHED),
    ]);
}

/// Attributes of a kernel are set once per device: at the first launch there, or when it is prepared.
#[test]
fn kernels_are_allowed_what_they_need_once() {
    let cuda = fake_cuda::exclusive();
    let text = "f(x: Tensor([n], float32, device=cuda), s: int64, c: int64) -> None \
                = { launch cubin.\"cluster_kernel\"(x.data) grid(16) block(1) smem(s) cluster(c); };";
    let (library, driver) = (library(text), Driver(&cuda));
    let streams = [0, 1].map(|device| driver.create_stream(device));
    for session in sessions(&library) {
        (0..).zip(streams).for_each(|(device, stream)| session.set_stream(device, stream));
        let call = |device, bytes, blocks| {
            let x = Fake::new(0x1000, &[3]).on(super::session::cuda(device));
            session.call("f", &[x.arg(), int(bytes), int(blocks)]).unwrap();
            let record = take_loading(&cuda);
            record
                .lines()
                .filter(|line| line.starts_with("cuKernelSet"))
                .map(|l| format!("{l}\n"))
                .collect::<String>()
        };
        cuda.reset();
        let set = |device| {
            format!(
                "cuKernelSetAttribute(lib.\"cluster_kernel\" 8=232448 device={device})\n\
                 cuKernelSetAttribute(lib.\"cluster_kernel\" 14=1 device={device})\n"
            )
        };
        assert_same(&call(0, 100, 2), &set(0), &session.name);
        assert_same(&call(0, 200000, 16), "", &session.name);
        assert_same(&call(1, 60000, 16), &set(1), &session.name);
        assert_same(&call(0, 1, 1), "", &session.name);
        assert_same(&call(1, 1, 1), "", &session.name);
        let x = Fake::new(0x1000, &[3]);
        let error = session.call("f", &[x.arg(), int(232449), int(1)]).unwrap_err();
        let expected = "ValueError: Out of range shared memory of cluster_kernel …, expected at most 232448 bytes on \
                        cuda:0 but got 232449";
        assert_eq!(error, error_of(&library, "f", expected), "{}", session.name);
    }
    (0..).zip(streams).for_each(|(device, stream)| driver.destroy_stream(device, stream));
}
