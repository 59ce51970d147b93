//! The kernels of the graph, as a compiler would have made them: C functions that trust their arguments. The
//! example calls them in process; `rustc --crate-type lib --emit obj -O` makes an object of this file, which is
//! linked ahead of time.

/// Computes `c = a · b`, matrices of n × k and k × m.
///
/// # Safety
/// All are compact and of these sizes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn matmul_kernel(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    n: i64,
    k: i64,
    m: i64,
) {
    for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
        // SAFETY: inside of both.
        let product =
            |l| unsafe { *a.offset((i * k + l) as isize) * *b.offset((l * m + j) as isize) };
        // SAFETY: inside of it.
        unsafe { *c.offset((i * m + j) as isize) = (0..k).map(product).sum() };
    }
}

/// Adds a row of m to each of n rows.
///
/// # Safety
/// All are compact and of these sizes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn bias_kernel(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    n: i64,
    m: i64,
) {
    for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i * m + j, j))) {
        // SAFETY: inside of all three.
        unsafe { *c.offset(i as isize) = *a.offset(i as isize) + *b.offset(j as isize) };
    }
}

/// Computes `c = max(a, 0)` for n elements.
///
/// # Safety
/// Both are compact and of this size.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn relu_kernel(a: *const f32, c: *mut f32, n: i64) {
    for i in 0..n as isize {
        // SAFETY: inside of both.
        unsafe { *c.offset(i) = (*a.offset(i)).max(0.0) };
    }
}

/// Copies n elements from `a` to `c`.
///
/// # Safety
/// Both are compact and of this size.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn reshape_kernel(a: *const f32, c: *mut f32, n: i64) {
    for i in 0..n as isize {
        // SAFETY: inside of both.
        unsafe { *c.offset(i) = *a.offset(i) };
    }
}
