# Kernels over vectors, one element at a time.
kernel axpy(a: f64, x: f32[n], y: f32[n]):
    y = a * x + y

kernel blend(x: f32[n], y: f32[n], out: f32[n], t: f64) where n % 4 == 0:
    out = x + t * (y - x)
    y = out
