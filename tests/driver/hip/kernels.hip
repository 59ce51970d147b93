// The kernels of the tests of launches through HIP, at least one for every kind of parameter. Written by hand; `build`
// makes kernels.hsaco of them, and of those up to the mark kernels.bundle. Names and parameters are those of
// kernels.ptx where both have a kernel.

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

// The size of the block is a hidden argument that the driver adds to the others.
static __attribute__((device)) long index() {
  return (long)__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}

KERNEL axpy_kernel(const float *x, float *y, int n, float a) {
  if (index() < n) y[index()] += a * x[index()];
}

KERNEL add_kernel(const float *x, const float *y, float *z, long n) {
  if (index() < n) z[index()] = x[index()] + y[index()];
}

// 1 KiB of static shared memory.
KERNEL shared_kernel(float *x, int n) {
  SHARED static float tile[256];
  unsigned at = __builtin_amdgcn_workitem_id_x() % 256;
  tile[at] = index() < n ? x[index()] : 0;
  __builtin_amdgcn_s_barrier();
  if (index() < n) x[index()] = tile[255 - at];
}

// The bundle ends here.

struct small { int fields[3]; };
struct large { double fields[3]; };

// Unused arguments have no hidden ones after them.
KERNEL widths(unsigned char a, unsigned short b, unsigned c, unsigned long d, float e, double f, small g, large h) {}

KERNEL pointers(void *x) {}

// Parameters that a compiler adds to those of the source.
KERNEL hidden(float *x, int n, void *scratch, void *profile) {
  if (index() < n) x[index()] = 0;
}

// At most 64 threads.
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 64))) bounded(float *x) { x[index()] = 0; }

KERNEL nothing() {}

// Variables of the device: 64 bytes, and a constant of 12.
extern "C" {
__attribute__((device)) float state[16];
__attribute__((constant)) float factors[3];
}

KERNEL state_kernel(float *x) { x[0] = state[0] + factors[0]; }
