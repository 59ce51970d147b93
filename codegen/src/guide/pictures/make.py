"""Draws the pictures of the guide as SVG: python3 make.py [--check].

With --check it writes nothing and fails if a file differs from what it draws. Colours follow the reader's scheme.
"""

import html
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
MONO, SANS = "ui-monospace, Menlo, Consolas, monospace", "system-ui, sans-serif"
STYLE = """
text { fill: #1f2328 } .dim { fill: #59636e } .box { fill: #f6f8fa; stroke: #d1d9e0 }
.key { fill: #ddf4ff; stroke: #54aeff } .bad { fill: #d1242f } .line { stroke: #59636e; fill: none }
.head { fill: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .dim { fill: #9198a1 } .box { fill: #151b23; stroke: #3d444d }
  .key { fill: #0c2d6b; stroke: #1f6feb } .bad { fill: #f85149 } .line { stroke: #9198a1 } .head { fill: #9198a1 }
}
"""


class Picture:
    """A picture of boxes, texts and arrows."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{STYLE}</style>",
        ]

    def text(self, x: float, y: float, text: str, size=13, kind="", mono=False, anchor="start") -> None:
        """Writes a line of text whose baseline starts at x, y."""
        family, text = MONO if mono else SANS, html.escape(text)
        self.parts.append(
            f'<text x="{x}" y="{y}" class="{kind}" font-family="{family}" font-size="{size}" '
            f'text-anchor="{anchor}" xml:space="preserve">{text}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, kind="box") -> None:
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>')

    def arrow(self, *points: tuple[float, float], tip="right") -> None:
        """Draws a line through points, with a head at the last one."""
        self.parts.append(f'<polyline points="{" ".join(f"{x},{y}" for x, y in points)}" class="line"/>')
        (x, y), back = points[-1], {"right": (-8, 0), "left": (8, 0), "down": (0, -8)}[tip]
        across = (0, 4) if back[1] == 0 else (4, 0)
        corners = [(x, y), (x + back[0] + across[0], y + back[1] + across[1]), (x + back[0] - across[0], y + back[1] - across[1])]
        self.parts.append(f'<polygon points="{" ".join(f"{x},{y}" for x, y in corners)}" class="head"/>')

    def done(self) -> str:
        return "\n".join([*self.parts, "</svg>", ""])


def wrapper() -> str:
    """A declaration, the checks that follow from it, and the hosts that call the function."""
    p = Picture(1000, 372, "A declaration becomes a function that checks its arguments, which every host can call")
    p.text(12, 24, "you declare", 15)
    p.box(12, 36, 318, 148)
    for row, line in enumerate(
        ["add_one(", "    x: Tensor([n], float32),", "    y: Tensor([n], float32),", ") -> None", "    = add_one_kernel(x.data, y.data, n);"]
    ):
        p.text(26, 64 + 24 * row, line, 12.5, mono=True)
    p.text(12, 222, "you bring", 15)
    p.box(12, 234, 318, 60)
    p.text(26, 259, "the kernel: object code, a cubin,", 13)
    p.text(26, 280, "an address, LLVM IR, C", 13)

    p.text(372, 24, "__tvm_ffi_add_one", 14, mono=True)
    p.box(372, 36, 346, 258, "key")
    checks = [
        ("2 arguments", "TypeError"),
        ("x and y: tensors of float32", "TypeError"),
        ("1 dim each, both on one device", "ValueError"),
        ("x.shape[0] is n, y.shape[0] equals it", "ValueError"),
        ("compact strides, aligned data", "ValueError"),
        ("call the kernel, its errors passed on", ""),
        ("write the result, release what is owned", ""),
    ]
    for row, (check, error) in enumerate(checks):
        p.text(388, 66 + 34 * row, check, 13)
        p.text(706, 66 + 34 * row, error, 11, "bad", anchor="end")
    p.arrow((330, 110), (372, 110))
    p.arrow((330, 264), (372, 264))

    p.text(760, 24, "anybody calls", 15)
    hosts = ["Python: NumPy, PyTorch, JAX", "C++ with TVM FFI", "C and Rust", "another library, by name", "Apache TVM's VM"]
    for row, host in enumerate(hosts):
        p.box(760, 36 + 53 * row, 228, 42)
        p.text(774, 62 + 53 * row, host, 13)
        p.arrow((760, 57 + 53 * row), (718, 57 + 53 * row), tip="left")

    p.text(12, 328, "as", 13, "dim")
    p.text(36, 328, "LLVM IR · MLIR LLVM dialect · Cranelift code · C · an object · a shared library · a function in this process", 13)
    p.text(12, 354, "ValueError: Mismatched y.shape[0] on argument #1 …, expected 5 (= x.shape[0]) but got 4", 12.5, "bad", mono=True)
    return p.done()


PICTURES = {"wrapper.svg": wrapper}

if __name__ == "__main__":
    stale = []
    for name, draw in PICTURES.items():
        path, drawn = HERE / name, draw()
        if "--check" not in sys.argv[1:]:
            path.write_text(drawn)
        elif not path.exists() or path.read_text() != drawn:
            stale.append(name)
    if stale:
        sys.exit(f"python3 {pathlib.Path(__file__).name} draws other pictures: {', '.join(stale)}")
