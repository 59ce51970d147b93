//! Errors of failed launches: each names the limit that the launch exceeds.

use std::ptr;

use tvm_ffi_codegen_tests::fake_cuda;

use super::session::{Driver, Fake, error_of, int, library, sessions};

#[test]
fn the_limit_is_named() {
    let x = Fake::new(0x1000, &[3]);
    let rows: &[(i64, &str, &str)] = &[
        (
            1025,
            "block(k)",
            "Out of range block.x of cluster_kernel …, expected 1 to 1024 on cuda:0 but got 1025",
        ),
        (
            0,
            "block(1, k)",
            "Out of range block.y of cluster_kernel …, expected 1 to 1024 on cuda:0 but got 0",
        ),
        (
            65,
            "block(1, 1, k)",
            "Out of range block.z of cluster_kernel …, expected 1 to 64 on cuda:0 but got 65",
        ),
        (
            64,
            "block(32, k)",
            "Out of range threads per block of cluster_kernel …, expected 1 to 1024 on cuda:0 but got 2048",
        ),
        (
            4_294_967_295,
            "block(k, k, k)",
            "Out of range block.x of cluster_kernel …, expected 1 to 1024 on cuda:0 but got 4294967295",
        ),
        (
            4_294_967_295,
            "grid(k) block(1)",
            "Out of range grid.x of cluster_kernel …, expected 1 to 2147483647 on cuda:0 but got 4294967295",
        ),
        (
            65536,
            "grid(1, k) block(1)",
            "Out of range grid.y of cluster_kernel …, expected 1 to 65535 on cuda:0 but got 65536",
        ),
        (
            65536,
            "grid(1, 1, k) block(1)",
            "Out of range grid.z of cluster_kernel …, expected 1 to 65535 on cuda:0 but got 65536",
        ),
        (
            3,
            "grid(4) block(1) cluster(k)",
            "Mismatched grid.x of cluster_kernel …, expected a multiple of the cluster's 3 but got 4",
        ),
        (
            0,
            "grid(4) block(1) cluster(1, k)",
            "Out of range cluster.y of cluster_kernel …, expected 1 to 1 on cuda:0 but got 0",
        ),
        (
            32,
            "grid(k) block(1) cluster(k)",
            "Out of range blocks per cluster of cluster_kernel …, expected 1 to 16 on cuda:0 but got 32",
        ),
    ];
    let stand_in = fake_cuda::exclusive();
    let function = |(at, (_, clauses, _)): (usize, &(i64, &str, &str))| {
        let grid = if clauses.contains("grid") { "" } else { "grid(1)" };
        format!(
            "f{at}(x: Tensor([n], float32, device=cuda), k: int64) -> None \
             = {{ launch cubin.\"cluster_kernel\"(x.data) {grid} {clauses}; }};\n"
        )
    };
    let library = library(&rows.iter().enumerate().map(function).collect::<String>());
    let driver = Driver(&stand_in);
    let stream = driver.create_stream(0);
    for session in sessions(&library) {
        session.set_stream(0, stream);
        for (at, (k, clauses, expected)) in rows.iter().enumerate() {
            let name = format!("f{at}");
            let found = session.call(&name, &[x.arg(), int(*k)]).expect_err(clauses);
            let expected = error_of(&library, &name, &format!("ValueError: {expected}"));
            assert_eq!(found, expected, "{}: {clauses}", session.name);
        }
    }
    driver.destroy_stream(0, stream);
}

/// The limit of clusters is that of the device of the launch, whether no context is current or that of another device.
#[test]
fn the_limit_of_clusters_is_that_of_the_device() {
    let stand_in = fake_cuda::exclusive();
    let driver = Driver(&stand_in);
    let library = library(
        "f(x: Tensor([n], float32, device=cuda), k: int64) -> None
            = { launch cubin.\"cluster_kernel\"(x.data) grid(k) block(1) cluster(k); };",
    );
    let text = "ValueError: Out of range blocks per cluster of cluster_kernel …, expected 1 to 16 on cuda:0 but got 32";
    let (expected, x) = (error_of(&library, "f", text), Fake::new(0x1000, &[3]));
    let other = driver.primary(1);
    for session in sessions(&library) {
        session.set_stream(0, ptr::null_mut());
        for is_other in [false, true] {
            if is_other {
                driver.push(other);
            }
            let found = session.call("f", &[x.arg(), int(32)]).unwrap_err();
            if is_other {
                assert_eq!(driver.pop(), other, "{}", session.name);
            }
            assert_eq!(found, expected, "{}: {is_other}", session.name);
            assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
        }
    }
    driver.release(1);
}
