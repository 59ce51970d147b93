"""Boxes, texts and arrows as SVG, in colours that follow the reader's scheme."""

import html

MONO, SANS = "ui-monospace, Menlo, Consolas, monospace", "system-ui, sans-serif"
# Widths of a character, of fonts that are wider than most, in units of the size.
WIDTHS = {MONO: 0.602, SANS: 0.56}
STYLE = """
text { fill: #1f2328 } .dim { fill: #59636e } .box { fill: #f6f8fa; stroke: #d1d9e0 }
.key { fill: #ddf4ff; stroke: #54aeff } .bad { fill: #d1242f } .line { stroke: #59636e; fill: none }
.head { fill: #59636e } .dash { stroke: #d1242f; fill: none; stroke-dasharray: 5 4 } .badhead { fill: #d1242f }
.store { fill: #fff8c5; stroke: #d4a72c }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .dim { fill: #9198a1 } .box { fill: #151b23; stroke: #3d444d }
  .key { fill: #0c2d6b; stroke: #1f6feb } .bad { fill: #f85149 } .line { stroke: #9198a1 } .head { fill: #9198a1 }
  .dash { stroke: #f85149 } .badhead { fill: #f85149 } .store { fill: #272115; stroke: #9e6a03 }
}
"""


class Picture:
    """A picture of boxes, texts and arrows."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width = width
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{STYLE}</style>",
        ]

    def text(self, x: float, y: float, text: str, size=13, kind="", mono=False, anchor="start", room: float = 0) -> None:
        """Writes a line of text whose baseline starts at x, y. It must fit into the room, or into the picture."""
        family = MONO if mono else SANS
        width = len(text) * size * WIDTHS[family]
        room = room or (self.width - x if anchor == "start" else x)
        assert width <= room, f"{text!r} needs {width:.0f} of {room:.0f}"
        self.parts.append(
            f'<text x="{x}" y="{y}" class="{kind}" font-family="{family}" font-size="{size}" '
            f'text-anchor="{anchor}" xml:space="preserve">{html.escape(text)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, kind="box") -> None:
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>')

    def panel(self, x: float, y: float, width: float, height: float, lines: list[str], kind="box", size=13, step=20) -> None:
        """Draws a box with lines of text: in a typewriter's letters after a backtick, dim after `~`, as an error after `!`."""
        assert 14 + step * len(lines) <= height + 4, f"{lines} need more than {height}"
        self.box(x, y, width, height, kind)
        for row, line in enumerate(lines):
            mark = line[:1] if line[:1] in ("`", "~", "!") else ""
            look = {"~": "dim", "!": "bad"}.get(mark, "")
            letters = size - 0.5 if mark == "`" else size
            self.text(x + 12, y + 23 + step * row, line.removeprefix(mark), letters, look, mark == "`", room=width - 20)

    def arrow(self, *points: tuple[float, float], tip="right", bad=False) -> None:
        """Draws a line through points, with a head at the last one if it has a tip; dashed if it is a way of errors."""
        line, head = ("dash", "badhead") if bad else ("line", "head")
        self.parts.append(f'<polyline points="{" ".join(f"{x},{y}" for x, y in points)}" class="{line}"/>')
        if not tip:
            return
        (x, y), back = points[-1], {"right": (-8, 0), "left": (8, 0), "down": (0, -8), "up": (0, 8)}[tip]
        across = (0, 4) if back[1] == 0 else (4, 0)
        corners = [(x, y), (x + back[0] + across[0], y + back[1] + across[1]), (x + back[0] - across[0], y + back[1] - across[1])]
        self.parts.append(f'<polygon points="{" ".join(f"{x},{y}" for x, y in corners)}" class="{head}"/>')

    def done(self) -> str:
        return "\n".join([*self.parts, "</svg>", ""])
