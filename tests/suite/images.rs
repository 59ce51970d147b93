//! What is read from images for AMD's GPUs: those of the stand-in, and damaged ones.

use codegen::{GlobalFacts, GpuKernelFacts, Image, ImageKind, Library, Platform};
use tvm_ffi_codegen_tests::fake_cuda::{CUBIN, FATBIN};
use tvm_ffi_codegen_tests::fake_hip::{BUNDLE, HSACO};
use tvm_ffi_codegen_tests::gate::Part;

fn facts(bytes: &[u8], kernel: &str) -> GpuKernelFacts {
    Image::new("code").with_bytes(bytes).gpu_kernel(kernel)
}

/// Returns the kernels that an image has.
fn kernels(bytes: &[u8]) -> Vec<String> {
    match facts(bytes, "no kernel") {
        GpuKernelFacts::Missing(names) => names,
        other @ (GpuKernelFacts::Unknown | GpuKernelFacts::Sizes(_)) => panic!("{other:?}"),
    }
}

fn sizes(sizes: &[u32]) -> GpuKernelFacts {
    GpuKernelFacts::Sizes(sizes.to_vec())
}

#[test]
fn headers_tell_format_and_platform() {
    let kinds =
        [CUBIN, FATBIN, HSACO, BUNDLE, b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__"].map(ImageKind::of);
    let expected = [
        ImageKind::Cubin,
        ImageKind::Fatbin,
        ImageKind::Hsaco,
        ImageKind::OffloadBundle,
        ImageKind::OffloadBundle,
        ImageKind::OffloadBundle,
    ];
    assert_eq!(kinds, expected.map(Some));
    let platforms = expected.map(ImageKind::platform);
    assert_eq!(
        (platforms[1], platforms[2], platforms[3]),
        (Platform::Cuda, Platform::Hip, Platform::Hip)
    );
    // Code of another system for the same machine.
    let mut other = HSACO.to_vec();
    other[7] = 65;
    assert_eq!(ImageKind::of(&other), None);
}

#[test]
fn parameters_are_those_without_the_hidden_ones() {
    let expected: [(&str, &[u32]); 9] = [
        ("axpy_kernel", &[8, 8, 4, 4]),
        ("add_kernel", &[8, 8, 8, 8]),
        ("shared_kernel", &[8, 4]),
        ("widths", &[1, 2, 4, 8, 4, 8, 12, 24]),
        ("pointers", &[8]),
        ("hidden", &[8, 4, 8, 8]),
        ("bounded", &[8]),
        ("nothing", &[]),
        ("state_kernel", &[8]),
    ];
    for (kernel, parameters) in expected {
        assert_eq!(facts(HSACO, kernel), sizes(parameters), "{kernel}");
    }
    assert_eq!(kernels(HSACO), expected.map(|(kernel, _)| kernel));
}

#[test]
fn a_bundle_has_the_kernels_of_its_members_once() {
    assert_eq!(kernels(BUNDLE), ["axpy_kernel", "add_kernel", "shared_kernel"]);
    assert_eq!(facts(BUNDLE, "axpy_kernel"), sizes(&[8, 8, 4, 4]));
    assert_eq!(facts(b"CCOB\x02\0", "axpy_kernel"), GpuKernelFacts::Unknown);
}

/// Machine code says which variables it has; nothing is known of PTX, of compressed code and of bytes that are cut.
#[test]
fn variables_are_those_of_the_symbols() {
    let global = |bytes: &[u8], name: &str| Image::new("code").with_bytes(bytes).global(name);
    for bytes in [CUBIN, HSACO] {
        assert_eq!(global(bytes, "state"), GlobalFacts::Size(64));
        assert_eq!(global(bytes, "factors"), GlobalFacts::Size(12));
        // Kernels and their descriptors are none.
        for name in ["axpy_kernel", "axpy_kernel.kd", "", "stat"] {
            let GlobalFacts::Missing(known) = global(bytes, name) else { panic!("{name}") };
            assert!(["state", "factors"].iter().all(|name| known.iter().any(|one| one == name)));
            assert!(!known.iter().any(|name| name.ends_with(".kd")), "{known:?}");
        }
    }
    assert_eq!(global(FATBIN, "state"), GlobalFacts::Missing(Vec::new()));
    assert!(matches!(global(BUNDLE, "state"), GlobalFacts::Missing(_)));
    let cut = &CUBIN[..CUBIN.len() / 2];
    for bytes in [&b".version 8.0"[..], b"CCOB\x02\0", cut, b"", b"\x7fELF"] {
        assert_eq!(global(bytes, "state"), GlobalFacts::Unknown, "{} bytes", bytes.len());
    }
}

/// A library takes an image if its bytes do not end before what its header says.
#[test]
fn images_that_are_cut_are_refused() {
    let is_taken = |bytes: &[u8]| {
        Library::new([]).with_image(Image::new("code").with_bytes(bytes)).resolve().is_ok()
    };
    for bytes in [HSACO, BUNDLE] {
        assert!(is_taken(bytes));
        for end in 0..bytes.len() {
            assert!(!is_taken(&bytes[..end]), "{end} of {} bytes", bytes.len());
        }
    }
    let compressed = |version: u8, size: u8| {
        let mut bytes = b"CCOB".to_vec();
        bytes.extend([version, 0, 1, 0, size, 0, 0, 0]);
        bytes.resize(32, 0);
        bytes
    };
    let taken = [(1, 99), (2, 32), (2, 33), (3, 32), (3, 33)];
    let taken = taken.map(|(version, size)| is_taken(&compressed(version, size)));
    assert_eq!(taken, [true, true, false, true, false]);
}

/// Every byte is changed, and the image is cut everywhere: reading ends, without a panic.
#[test]
fn damaged_images_are_read_to_an_end() {
    for image in [HSACO, BUNDLE] {
        let mut bytes = image.to_vec();
        for at in 0..bytes.len() {
            let changes = [0xff, 0x80, 1];
            let one = at % changes.len();
            for change in if Part::Images.runs() { &changes[..] } else { &changes[one..=one] } {
                bytes[at] ^= change;
                facts(&bytes, "shared_kernel");
                Image::new("code").with_bytes(&bytes[..]).global("state");
                bytes[at] ^= change;
            }
            facts(&bytes[..at], "shared_kernel");
            Image::new("code").with_bytes(&bytes[..at]).global("state");
        }
    }
}
