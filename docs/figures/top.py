#!/usr/bin/env python3
"""Records `frostline bench ... --live` as docs/figures/top.svg: pictures that follow one another. Needs `pyte`.

    cargo build --release --features full && python3 docs/figures/top.py target/release/frostline

What the terminal shows is put into the file as text, a picture for each of some moments. Browsers show one after the other;
who asks for less motion sees the last.
"""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from html import escape
from itertools import groupby
from pathlib import Path

import pyte

BENCH = "bench tpcc --device mem: --size 320MiB --zone 512KiB --warehouses 1 --buffer 8MiB --seconds 40 --live"
COLUMNS, ROWS = 100, 30
FIRST, STEP, PICTURES = 6, 3, 10
CELL, LINE, EDGE = 7.2, 16, 12
BACK, TEXT = "#16181d", "#d5d8de"
COLOURS = {
    "black": "#30343c", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef", "magenta": "#c678dd",
    "cyan": "#56b6c2", "white": "#d5d8de", "brightblack": "#7a808c", "brightred": "#ef8b93", "brightgreen": "#b4d79a",
    "brightbrown": "#f0d399", "brightyellow": "#f0d399", "brightblue": "#8cc5f5", "brightmagenta": "#d79ee8",
    "brightcyan": "#83cfd9", "brightwhite": "#ffffff",
}


def pictures(program):
    """The screen at each moment, as rows of (character, colour, background)."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    bench = subprocess.Popen([program, *BENCH.split()], stdin=inner, stdout=inner, stderr=inner, env=environment)
    begun, taken = time.monotonic(), 0
    while taken < PICTURES:
        if select.select([terminal], [], [], 0.1)[0]:
            stream.feed(os.read(terminal, 1 << 16))
        if time.monotonic() - begun >= FIRST + STEP * taken:
            taken += 1
            yield [[shown(screen.buffer[row][column]) for column in range(COLUMNS)] for row in range(ROWS)]
    os.write(terminal, b"q")
    bench.terminate()
    bench.wait()


def shown(cell):
    """A cell of the terminal: its character, colour and background."""
    front, back = colour(cell.fg, TEXT), colour(cell.bg, BACK)
    return (cell.data, back, front) if cell.reverse else (cell.data, front, back)


def colour(name, default):
    if name == "default":
        return default
    return COLOURS.get(name, f"#{name}" if len(name) == 6 else default)


def drawn(rows):
    """A picture, as elements of SVG."""
    for number, row in enumerate(rows):
        y, at = EDGE + number * LINE, 0
        for (front, back), cells in groupby(row, key=lambda cell: cell[1:]):
            text = "".join(cell[0] or " " for cell in cells)
            x, width = EDGE + at * CELL, len(text) * CELL
            at += len(text)
            if back != BACK:
                yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" fill="{back}"/>'
            if text.strip():
                lead = len(text) - len(text.lstrip())
                text, x = text.strip(), x + lead * CELL
                yield f'<text x="{x:.1f}" y="{y + 12}" fill="{front}" textLength="{len(text) * CELL:.1f}">{escape(text)}</text>'


def main(program):
    width, height = COLUMNS * CELL + 2 * EDGE, ROWS * LINE + 2 * EDGE
    share = 100 / PICTURES
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" xml:space="preserve">',
        "<title>The zones of a database under TPC-C, on a terminal</title>",
        "<style>text { font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }",
        f".p {{ visibility: hidden; animation: show {PICTURES}s steps(1) infinite }}",
        f"@keyframes show {{ 0% {{ visibility: visible }} {share:g}% {{ visibility: hidden }} }}",
        "@media (prefers-reduced-motion) { .p { animation: none } .p:last-child { visibility: visible } }</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
    ]
    for number, rows in enumerate(pictures(program)):
        parts.append(f'<g class="p" style="animation-delay:{number}s">' + "".join(drawn(rows)) + "</g>")
    parts.append("</svg>\n")
    (Path(__file__).parent / "top.svg").write_text("\n".join(parts))


if __name__ == "__main__":
    main(sys.argv[1])
