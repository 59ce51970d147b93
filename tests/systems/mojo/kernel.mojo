# A kernel in Mojo, with the C calling convention.


@export
def add_one_kernel(
    x: Pointer[Float32, MutAnyOrigin], y: Pointer[Float32, MutAnyOrigin], n: Int64
) abi("C"):
    for i in range(Int(n)):
        y[unsafe_offset=i] = x[unsafe_offset=i] + 1
