#!/usr/bin/env python3
"""Draws the survival curves of learned clusters. Needs nothing but Python.

    frostline sim TRACE --zone 4MiB --no-gain --scheme survival --victim cost-benefit --explain | python3 docs/figures/curves.py TITLE > FILE.svg

A line a cluster, the wider the more pages were placed in it lately: full if mostly user writes, dashed if
relocations.
"""

import re
import sys
from html import escape
from math import log

WIDTH, HEIGHT, LEFT, TOP = 560, 260, 60, 50
COLOURS = "#2f6fbd #1a7f5a #b7791f #8250df #cf222e #0a7ea4 #6e7781".split()

curves = []
for line in sys.stdin:
    found = re.search(r"class (\d+): ([\d.]+) % user writes, ([\d.]+) % relocations; live on for zones: (.*)", line)
    if found:
        points = [tuple(map(float, point.split(" % "))) for point in found[4].split(", ")]
        curves.append((int(found[1]), float(found[2]), float(found[3]), points))
first, last = curves[0][3][0][1], curves[0][3][-1][1]


def x(zones):
    return LEFT + WIDTH * log(zones / first) / log(last / first)


def y(percent):
    return TOP + HEIGHT * (1 - percent / 100)


title = escape(sys.argv[1])
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 160} {HEIGHT + 110}" role="img" aria-label="{title}">')
print(f'<style>text {{ font: 12px sans-serif; fill: #59636e }} path {{ fill: none }}</style><text x="{LEFT}" y="24">{title}: pages that live on, in percent</text>')
for percent in (0, 25, 50, 75, 100):
    print(f'<path d="M{LEFT} {y(percent):.0f}h{WIDTH}" stroke="#d0d7de"/><text x="{LEFT - 32}" y="{y(percent) + 4:.0f}">{percent}</text>')
for _, zones in curves[0][3]:
    print(f'<text x="{x(zones) - 8:.0f}" y="{TOP + HEIGHT + 20}">{zones:.0f}</text>')
print(f'<text x="{LEFT}" y="{TOP + HEIGHT + 42}">zones\' worth of user writes; dashed: mostly relocations; wide: many pages</text>')
for number, user, copied, points in curves:
    path = "L".join(f"{x(zones):.1f} {y(percent):.1f}" for percent, zones in points)
    colour, dash = COLOURS[number % len(COLOURS)], ' stroke-dasharray="6 4"' if copied > user else ""
    print(f'<path d="M{path}" stroke="{colour}" stroke-width="{1 + (user + copied) ** 0.5:.1f}" stroke-opacity="0.8"{dash}/>')
    print(f'<text x="{LEFT + WIDTH + 8}" y="{TOP + 16 * number}" style="fill:{colour}">class {number}: {user + copied:.0f} %</text>')
print("</svg>")
