//! A kernel in Rust, compiled by itself.

#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// # Safety
///
/// Both are `n` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: see above.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}
