"""Plots as SVG, drawn by hand: three kinds are all that the report needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, MARGIN = 720, 300, 48
_CELL = 10
# From far too few over what is expected to far too many (ColorBrewer RdBu).
_SHADES = (
    "#2166ac",
    "#67a9cf",
    "#d1e5f0",
    "#f7f7f7",
    "#fddbc7",
    "#ef8a62",
    "#b2182b",
)
_STEPS = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)


def bars(
    title: str, labels: Sequence[str], observed: Sequence[float], expected: Sequence[float], x: str
) -> str:
    """Counts as bars, what is expected as dots."""
    top = max(*observed, *expected, 1e-9)
    step = (WIDTH - 2 * MARGIN) / len(observed)

    def height(value: float) -> float:
        return (HEIGHT - 2 * MARGIN) * value / top

    parts = [
        f'<rect x="{MARGIN + n * step + 1:.1f}" y="{HEIGHT - MARGIN - height(value):.1f}" '
        f'width="{max(step - 2, 1):.1f}" height="{height(value):.1f}" fill="#67a9cf"/>'
        for n, value in enumerate(observed)
    ]
    parts += [
        f'<circle cx="{MARGIN + (n + 0.5) * step:.1f}" '
        f'cy="{HEIGHT - MARGIN - height(value):.1f}" r="2.5" fill="#b2182b"/>'
        for n, value in enumerate(expected)
    ]
    every = max(1, len(labels) // 14)
    parts += [
        _text(MARGIN + (n + 0.5) * step, HEIGHT - MARGIN + 16, label)
        for n, label in enumerate(labels)
        if n % every == 0
    ]
    parts.append(_text(MARGIN - 6, MARGIN + 4, f"{top:,.0f}", "end"))
    parts.append(_text(MARGIN - 6, HEIGHT - MARGIN + 4, "0", "end"))
    parts.append(_text(WIDTH - MARGIN, HEIGHT - 10, f"{x}; bars: counted, dots: expected", "end"))
    return _figure(title, parts, WIDTH, HEIGHT)


def around_zero(
    title: str, labels: Sequence[str], values: Sequence[float], errors: Sequence[float], x: str
) -> str:
    """Values with their 95 % bounds around 0."""
    top = max(max(map(abs, values)), 1.96 * max(errors)) * 1.15
    step = (WIDTH - 2 * MARGIN) / len(values)
    middle = HEIGHT / 2

    def at(value: float) -> float:
        return middle - (HEIGHT / 2 - MARGIN) * value / top

    parts = [
        f'<line x1="{MARGIN}" y1="{middle}" x2="{WIDTH - MARGIN}" y2="{middle}" stroke="#999"/>'
    ]
    for n, (value, error) in enumerate(zip(values, errors, strict=True)):
        center = MARGIN + (n + 0.5) * step
        parts.append(
            f'<rect x="{center - 12:.1f}" y="{at(1.96 * error):.1f}" width="24" '
            f'height="{at(-1.96 * error) - at(1.96 * error):.1f}" fill="#d1e5f0"/>'
        )
        parts.append(f'<circle cx="{center:.1f}" cy="{at(value):.1f}" r="4" fill="#2166ac"/>')
        parts.append(_text(center, HEIGHT - MARGIN + 16, labels[n]))
    parts += [
        _text(MARGIN - 6, at(value) + 4, f"{1000 * value:.1f} ‰", "end")
        for value in (top, 0.0, -top)
    ]
    parts.append(_text(WIDTH - MARGIN, HEIGHT - 10, f"{x}; band: 95 % without any", "end"))
    return _figure(title, parts, WIDTH, HEIGHT)


def heat(
    title: str, z: Sequence[Sequence[float]], columns: Mapping[int, str], x: str, y: str
) -> str:
    """Cells by how many standard deviations they are off; `columns`: those with a label."""
    cells: list[list[str]] = [[] for _ in _SHADES]
    for row, line in enumerate(z):
        for column, value in enumerate(line):
            place = f"M{MARGIN + column * _CELL} {MARGIN + row * _CELL}"
            cells[_shade(value)].append(f"{place}h{_CELL}v{_CELL}h-{_CELL}z")
    width = 2 * MARGIN + _CELL * len(z[0])
    height = 2 * MARGIN + _CELL * len(z)
    parts = [
        f'<path d="{"".join(places)}" fill="{shade}"/>'
        for places, shade in zip(cells, _SHADES, strict=True)
        if places
    ]
    parts += [_text(MARGIN + (n + 0.5) * _CELL, MARGIN - 6, label) for n, label in columns.items()]
    parts += [
        _text(MARGIN - 4, MARGIN + (n + 0.5) * _CELL + 4, str(n), "end")
        for n in range(0, len(z), 5)
    ]
    parts.append(_text(width / 2, height - MARGIN + 18, x))
    parts.append(
        f'<text transform="translate({MARGIN - 28} {height / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y)}</text>'
    )
    for n, shade in enumerate(_SHADES):
        left = width / 2 - 77 + 22 * n
        parts.append(
            f'<rect x="{left:.0f}" y="{height - 22}" width="22" height="8" fill="{shade}"/>'
        )
    parts.append(_text(width / 2 - 84, height - 14, "−3 σ", "end"))
    parts.append(_text(width / 2 + 84, height - 14, "+3 σ", "start"))
    return _figure(title, parts, width, height)


def _shade(value: float) -> int:
    return sum(value > step for step in _STEPS)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _figure(title: str, parts: Sequence[str], width: float, height: float) -> str:
    heading = f'<text x="{MARGIN}" y="26" font-size="15" font-weight="bold">{escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="white"/>{heading}{"".join(parts)}</svg>\n'
    )
