"""The rows as bars in one SVG file, grouped by durability class. No I/O."""

from __future__ import annotations

from xml.sax.saxutils import escape

from report import CLASS_TEXT, OURS, rate_text
from rows import CLASSES

WIDTH, LABELS, BAR, GAP = 960, 430, 18, 6
FILL = {True: "#2f6f4f", False: "#9aa5ad"}  # Lycosa, others


def svg(rows: list[dict]) -> str:
    """Bars on a linear scale of each class's own: classes are not to be compared."""
    out: list[str] = []
    y = 10
    for durability in CLASSES:
        of = [one for one in rows if one["durability"] == durability and not one["void"]]
        if not of:
            continue
        y += 24
        out.append(f'<text x="10" y="{y}" font-weight="bold">{escape(CLASS_TEXT[durability])}'
                   " (tasks/s)</text>")
        y += 10
        most = max(one["median"] for one in of)
        for one in of:
            length = max(1.0, (WIDTH - LABELS - 90) * one["median"] / most)
            middle = y + BAR - 5
            out.append(f'<text x="{LABELS - 8}" y="{middle}" text-anchor="end">'
                       f'{escape(label(one))}</text>')
            out.append(f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" '
                       f'fill="{FILL[one["peer"] == OURS]}"/>')
            out.append(f'<text x="{LABELS + length + 6:.1f}" y="{middle}">'
                       f'{escape(rate_text(one["median"]))}</text>')
            y += BAR + GAP
    height = y + 10
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' + "\n".join(out)
            + "\n</svg>\n")


def label(one: dict) -> str:
    name = one["name"] if len(one["name"]) <= 48 else one["name"][:47] + "…"
    return f'{name}, {one["shape"].replace("in one process, ", "")}'
