#!/usr/bin/env python3
"""Draws what engines write to the device as docs/figures/bytes.svg. Needs nothing but Python 3.11.

    python3 docs/figures/bytes.py

The figures are those of the tables in docs/side-by-side.md.
"""

import re

from architecture import HERE, Figure

ENGINES = (("sqlite", "B+-tree, SQLite", "grey"), ("rocksdb", "LSM tree, RocksDB", "blue"), ("frostline", "Frostline", "green"))
LOADS = (("## YCSB, half reads", "YCSB, half reads, half updates"), ("## TPC-C", "TPC-C"))
LEFT, BAR, ROW, WIDTH = 170, 18, 26, 560


def measured(page, heading, engine):
    """Device bytes a byte updated of an engine, in the first table below a heading."""
    lines = page[page.index(heading) :].splitlines()
    head = next(line for line in lines if line.startswith("| engine"))
    column = [cell.strip() for cell in head.split("|")].index("device bytes per byte updated")
    row = next(line for line in lines if re.match(rf"\| {engine}\b", line))
    return float(row.split("|")[column])


def draw():
    page = (HERE.parent / "side-by-side.md").read_text()
    figure = Figure(LEFT + WIDTH + 90, 262, "Bytes written to the device for each byte updated")
    y = 52
    for heading, load in LOADS:
        found = [(label, style, measured(page, heading, engine)) for engine, label, style in ENGINES]
        most = max(value for _, _, value in found)
        figure.text(LEFT, y + 8, load, "name")
        y += 18
        for label, style, value in found:
            figure.text(LEFT - 10, y + BAR / 2 + 4.5, label, anchor="end")
            figure.rect(LEFT, y, WIDTH * value / most, BAR, style, 2)
            figure.text(LEFT + WIDTH * value / most + 8, y + BAR / 2 + 4.5, f"{value:g}", "name")
            y += ROW
        y += 10
    figure.save("bytes.svg")


if __name__ == "__main__":
    draw()
