"""One library, three doors: NumPy by TVM FFI, PyTorch's operators, XLA's handlers. Hosts that are not installed are left out.

    pip install ./python numpy torch jax
    python python/examples/doors.py
"""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi_codegen as codegen

DECLARED = """
/// A times x plus b, elementwise.
scale(x: Tensor([n], float32, access=read), a: float64, b: float64 = 0.0) -> y: Tensor([n], float32)
    = scale_kernel(x.data, a, b, y.data, n);
"""
KERNEL = codegen.C(
    "void scale_kernel(const float* x, double a, double b, float* y, long n) { while (n--) y[n] = a * x[n] + b; }"
)


def by_tvm_ffi(library: Any, x: Any) -> Any:
    return np.from_dlpack(library.scale(x, 2.0, b=1.0))


def by_torch(library: Any, x: Any) -> Any:
    import torch

    return torch.ops.doors.scale(torch.from_numpy(x), 2.0, b=1.0).numpy()


def by_jax(library: Any, x: Any) -> Any:
    import jax
    import jax.numpy as jnp
    from tvm_ffi_codegen.frameworks import jax_target

    scale = jax_target(library, "scale")
    return np.asarray(jax.jit(lambda x: scale(x, a=2.0, b=1.0))(jnp.asarray(x)))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "doors.so"
        path.write_bytes(codegen.emit(DECLARED, "shared", link=[KERNEL], register=["xla", "torch=doors"]))
        x = np.arange(4, dtype="float32")
        if importlib.util.find_spec("torch"):
            # The library registers its operators in a process that has PyTorch.
            import torch  # noqa: F401
        library = codegen.load(path)
        for host, door in (("tvm_ffi", by_tvm_ffi), ("torch", by_torch), ("jax", by_jax)):
            if importlib.util.find_spec(host) is None:
                print(f"{host}: not installed")
                continue
            found = door(library, x)
            print(f"{host}: {found.tolist()}")
            assert found.tolist() == [1, 3, 5, 7]


if __name__ == "__main__":
    main()
