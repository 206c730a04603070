#!/usr/bin/env python3
"""Draws the four figures of docs/architecture.md. Needs nothing but Python 3.11.

    python3 docs/figures/architecture.py

It writes crates.svg, page-life.svg, page-states.svg and zone.svg beside itself. The floors of the
crates come from their Cargo.toml files, so the figure follows the code; a new crate needs a line
in `ROLES`.
"""

import random
import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
CRATES = HERE.parent.parent / "crates"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

STYLE = """
  text { font: 13px %s; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .name { font-weight: 600; }
  .note { font-size: 12px; fill: #59636e; }
  .small { font-size: 11px; fill: #59636e; }
  .number { font-size: 11px; font-weight: 600; fill: #ffffff; }
  .dot { fill: #57606a; }
  .blue { fill: #e1f0ff; stroke: #2f6fbd; }
  .green { fill: #ddf7e6; stroke: #1a7f5a; }
  .amber { fill: #fff1cf; stroke: #b7791f; }
  .grey { fill: #f3f4f6; stroke: #8b949e; }
  .paper { fill: #ffffff; stroke: #8b949e; }
  .garbage { fill: url(#hatch); stroke: #8b949e; }
  .hatch { stroke: #8b949e; stroke-width: 2; }
  .band { fill: #f6f8fa; stroke: none; }
  .line { fill: none; stroke: #57606a; stroke-width: 1.4; }
  .dashed { stroke-dasharray: 5 4; }
  .head { fill: #57606a; stroke: none; }
  .guide { fill: none; stroke: #afb8c1; stroke-width: 1; }
  .zoom { fill: #eaeef2; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note, .small { fill: #9198a1; }
    .number { fill: #0d1117; }
    .dot { fill: #9198a1; }
    .blue { fill: #12283f; stroke: #539bf5; }
    .green { fill: #0f2b20; stroke: #3fb889; }
    .amber { fill: #33270d; stroke: #d9a441; }
    .grey { fill: #1c2129; stroke: #6e7681; }
    .paper { fill: #0d1117; stroke: #6e7681; }
    .garbage, .hatch { stroke: #6e7681; }
    .band { fill: #161b22; }
    .line { stroke: #9198a1; }
    .head { fill: #9198a1; }
    .guide { stroke: #484f58; }
    .zoom { fill: #1f2630; }
  }
""" % SANS


class Figure:
    """Parts of a figure, in the order in which they are drawn."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []
        self.text(20, 28, title, "title")

    def text(self, x, y, content, style="", anchor="start"):
        style = f' class="{style}"' if style else ""
        anchor = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{style}{anchor}>{escape(content)}</text>')

    def rect(self, x, y, width, height, style, round=4):
        self.parts.append(
            f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round}"/>'
        )

    def box(self, x, y, width, height, style, name, *notes, number=None):
        """A box with a name and lines below it, in its middle."""
        self.rect(x, y, width, height, style, 6)
        top = y + height / 2 - 8 * len(notes) + 4.5
        self.text(x + width / 2, top, name, "name", "middle")
        for line, note in enumerate(notes, 1):
            self.text(x + width / 2, top + 16 * line, note, "note", "middle")
        if number is not None:
            self.dot(x, y, number)

    def dot(self, x, y, number):
        self.parts.append(f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="9"/>')
        self.text(x, y + 4, str(number), "number", "middle")

    def path(self, points, style="line", arrow=True):
        """A line through points with rounded corners, and an arrow at its end."""
        start, *inner, end = points
        d = f"M{start[0]:g} {start[1]:g}"
        for before, corner, after in zip(points, inner, points[2:]):
            into, out = toward(corner, before, 8), toward(corner, after, 8)
            d += f" L{into[0]:g} {into[1]:g} Q{corner[0]:g} {corner[1]:g} {out[0]:g} {out[1]:g}"
        self.line(d + f" L{end[0]:g} {end[1]:g}", style)
        if arrow:
            self.head(points[-2], end)

    def line(self, d, style="line"):
        self.parts.append(f'<path class="{style}" d="{d}"/>')

    def head(self, before, end):
        (x, y), (from_x, from_y) = end, before
        length = ((x - from_x) ** 2 + (y - from_y) ** 2) ** 0.5 / 8
        back_x, back_y = x - (x - from_x) / length, y - (y - from_y) / length
        side_x, side_y = (y - back_y) / 2, (back_x - x) / 2
        corners = (end, (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y))
        self.parts.append('<polygon class="head" points="%s"/>' % " ".join(f"{a:g},{b:g}" for a, b in corners))

    def legend(self, x, y, *entries):
        for style, label in entries:
            self.rect(x, y - 11, 14, 14, style, 3)
            self.text(x + 20, y, label, "note")
            x += 44 + 6.4 * len(label)

    def save(self, name):
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-labelledby="title">'
        )
        hatch = (
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
        )
        title = f'<title id="title">{escape(self.title)}</title>'
        (HERE / name).write_text("\n".join([head, title, f"<style>{STYLE}</style>", hatch, *self.parts, "</svg>", ""]))


def toward(start, end, distance):
    """The point at a distance from one point on the way to another; half of the way at most."""
    (x, y), (to_x, to_y) = start, end
    length = max(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5, 1e-9)
    share = min(distance / length, 0.5)
    return x + (to_x - x) * share, y + (to_y - y) * share


# The floors of the crates

RULES, STORES, USERS, TESTS = "blue", "green", "amber", "grey"
ROLES = {
    "random": (RULES, "numbers from a seed"),
    "placement": (RULES, "schemes, victims"),
    "learn": (RULES, "frozen pages"),
    "log": (RULES, "zones and cleaning"),
    "trace": (RULES, "write traces"),
    "results": (RULES, "what a run says"),
    "sim": (RULES, "the simulator"),
    "zone": (STORES, "zoned devices"),
    "store": (STORES, "the page store"),
    "db": (STORES, "the database"),
    "backup": (STORES, "backups"),
    "disk": (STORES, "bytes, ublk"),
    "sqlite": (STORES, "a VFS of SQLite"),
    "nbd": (STORES, "an NBD server"),
    "watch": (USERS, "metrics over HTTP"),
    "top": (USERS, "zones on a terminal"),
    "workload": (USERS, "TPC-C, YCSB"),
    "benches": (USERS, "stores, databases"),
    "papers": (USERS, "their evaluations"),
    "report": (USERS, "tables and a page"),
    "frostline": (USERS, "the crate to add"),
    "cli": (USERS, "the command"),
    "judge": (TESTS, "a second reader"),
    "testkit": (TESTS, "drivers of tests"),
}


def dependencies():
    """For each crate those that it is built with; what only its tests need is left out."""
    crates = {}
    for manifest in CRATES.glob("*/Cargo.toml"):
        tables = tomllib.loads(manifest.read_text())
        names = set(tables.get("dependencies", {}))
        for target in tables.get("target", {}).values():
            names |= set(target.get("dependencies", {}))
        crates[manifest.parent.name] = {n.removeprefix("frostline-") for n in names if n.startswith("frostline")}
    missing = crates.keys() ^ ROLES.keys()
    assert not missing, f"ROLES does not agree with crates/: {sorted(missing)}"
    return crates


def floors(crates):
    """The floor of each crate: one above the highest crate that it uses."""
    found = {}

    def floor(name):
        if name not in found:
            found[name] = 1 + max((floor(used) for used in crates[name]), default=-1)
        return found[name]

    return {name: floor(name) for name in crates}


def direct(crates):
    """The dependencies that no other dependency implies."""

    def reached(name):
        return set().union(crates[name], *(reached(used) for used in crates[name]))

    return {
        name: {used for used in uses if not any(used in reached(other) for other in uses)}
        for name, uses in crates.items()
    }


WIDE, TALL, STOREY, PASS = 138, 46, 108, 16
BAND = TALL + 16


def crossings(rows, below):
    """Lines that cross, then how far they lean."""
    crossed, lean = 0, 0.0
    for lower, row in zip(rows, rows[1:]):
        place = {node: i for i, node in enumerate(lower)}
        lines = [(i, place[other]) for i, node in enumerate(row) for other in below[node]]
        crossed += sum((a - c) * (b - d) < 0 for n, (a, b) in enumerate(lines) for c, d in lines[:n])
        lean += sum(abs((a + 0.5) / len(row) - (b + 0.5) / len(lower)) for a, b in lines)
    return crossed, lean


def untangle(rows, below):
    """The order of each row with the fewest crossings that exchanges of two nodes lead to."""
    chance, best = random.Random(1), None
    for _ in range(40):
        rows = [chance.sample(row, len(row)) for row in rows]
        cost, improved = crossings(rows, below), True
        while improved:
            improved = False
            for row in rows:
                for i in range(len(row)):
                    for j in range(i):
                        row[i], row[j] = row[j], row[i]
                        now = crossings(rows, below)
                        if now < cost:
                            cost, improved = now, True
                        else:
                            row[i], row[j] = row[j], row[i]
        if best is None or cost < best[0]:
            best = (cost, rows)
    return best[1]


def arrange(level, uses):
    """Crates, and lines that pass floors: by floor, in order, with x of each, and what each leads to."""
    rows = [[] for _ in range(max(level.values()) + 1)]
    below = {}
    for name in sorted(level, key=lambda name: (level[name], name)):
        rows[level[name]].append(name)
        at = name
        highest = max((level[user] for user in uses if name in uses[user]), default=0)
        for passed in range(level[name] + 1, highest):
            rows[passed].append((name, passed))
            below[(name, passed)] = [at]
            at = (name, passed)
    for name in level:
        last = level[name] - 1
        below[name] = sorted((used if level[used] == last else (used, last) for used in uses[name]), key=str)
    rows = untangle(rows, below)
    near = {node: list(below[node]) for row in rows for node in row}
    for node, nodes in below.items():
        for other in nodes:
            near[other].append(node)
    width = {node: WIDE if isinstance(node, str) else PASS for node in near}
    x = {node: 100.0 * i for row in rows for i, node in enumerate(row)}

    def lack(left, right):
        return (width[left] + width[right]) / 2 + 20 - (x[right] - x[left])

    for _ in range(600):
        for row in rows:
            for node in row:
                if near[node]:
                    x[node] += 0.3 * (sum(x[other] for other in near[node]) / len(near[node]) - x[node])
            for left, right in zip(row, row[1:]):
                if (missing := lack(left, right)) > 0:
                    x[left] -= missing / 2
                    x[right] += missing / 2
    for row in rows:
        for left, right in zip(row, row[1:]):
            x[right] += max(0, lack(left, right))
    return rows, x, below


def draw_crates():
    crates = dependencies()
    level = floors(crates)
    rows, x, below = arrange(level, direct(crates))
    least = min(x[node] for node in level) - WIDE / 2
    width = round(max(x[node] for node in level) + WIDE / 2 - least) + 110
    top = 82
    figure = Figure(width, top + STOREY * len(rows), "The floors of the crates")
    figure.text(20, 50, "A crate stands one floor above the highest crate that it uses. Arrows point to what is used;", "note")
    figure.text(20, 67, "a crate may also use what the crates under it use.", "note")
    x = {node: value - least + 84 for node, value in x.items()}

    def y(node):
        floor = level[node] if isinstance(node, str) else node[1]
        return top + STOREY * (len(rows) - 1 - floor) + BAND / 2

    for floor in range(len(rows)):
        high = top + STOREY * (len(rows) - 1 - floor)
        figure.rect(16, high, width - 32, BAND, "band", 6)
        figure.text(28, high + BAND / 2 + 4, f"floor {floor}", "small")
    for node, nodes in below.items():
        if not isinstance(node, str):
            figure.line(f"M{x[node]:g} {y(node) - BAND / 2:g} V{y(node) + BAND / 2:g}")
        for other in nodes:
            begin = y(node) + (TALL if isinstance(node, str) else BAND) / 2
            end = y(other) - (TALL if isinstance(other, str) else BAND) / 2
            middle = (begin + end) / 2
            figure.line(
                f"M{x[node]:g} {begin:g} C{x[node]:g} {middle + 8:g} {x[other]:g} {middle - 8:g} {x[other]:g} {end:g}"
            )
            if isinstance(other, str):
                figure.head((x[other], end - 20), (x[other], end))
    for node in level:
        style, role = ROLES[node]
        figure.box(x[node] - WIDE / 2, y(node) - TALL / 2, WIDE, TALL, style, node, role)
    figure.legend(
        84,
        figure.height - 16,
        (RULES, "decide and simulate, no device"),
        (STORES, "keep data on a device"),
        (USERS, "use, measure, show"),
        (TESTS, "for tests only"),
    )
    figure.save("crates.svg")


# The life of a page


def zone(figure, x, label, note, style, cells):
    """A zone of eight pages: v valid, g garbage, n just written, . not written yet."""
    figure.rect(x, 632, 118, 44, style, 4)
    for i, cell in enumerate(cells):
        kind = {"v": style, "g": "garbage", "n": "amber", ".": "paper"}[cell]
        figure.rect(x + 6 + 13.4 * i, 640, 12, 28, kind, 2)
    figure.text(x + 59, 693, label, "note", "middle")
    figure.text(x + 59, 708, note, "small", "middle")


def draw_life():
    figure = Figure(1000, 776, "The life of a page: from a transaction to its zone, its relocation, and back")
    bands = ((48, 108, "transactions"), (164, 136, "memory"), (308, 262, "the store"), (578, 150, "the device"))
    for y, height, label in bands:
        figure.rect(16, y, 968, height, "band", 6)
        figure.text(52, y + 20, label, "small")
    for x, label in ((287, "written"), (559, "relocated"), (839, "read back")):
        figure.text(x, 68, label, "name", "middle")
    for x, ends in ((287, ((138, 180), (228, 246), (294, 324), (372, 404), (452, 484))), (559, ((372, 404), (452, 484)))):
        for start, end in ends:
            figure.path([(x, start), (x, end)])
    for start, end in ((484, 452), (404, 294), (246, 138)):
        figure.path([(839, start), (839, end)])
    figure.path([(164, 114), (38, 114), (38, 632)])
    figure.text(52, 134, "its log record", "small")
    figure.path([(287, 532), (287, 556), (407, 556), (407, 632)])
    figure.path([(567, 632), (567, 532)])
    figure.text(575, 604, "valid pages", "small")
    figure.path([(682, 508), (698, 508), (698, 632)])
    figure.path([(750, 632), (750, 556), (839, 556), (839, 532)])
    figure.path([(410, 270), (423, 270), (423, 508), (436, 508)], "line dashed")
    figure.text(433, 290, "a newer version, if memory has one", "small")
    figure.path([(716, 270), (640, 270), (640, 204), (410, 204)])
    figure.text(525, 196, "and changed again", "small", "middle")

    left, mid, right, wide = 164, 436, 716, 246
    figure.box(left, 90, wide, 48, "blue", "commit", "claims its keys, logs its writes", number=1)
    figure.box(left, 180, wide, 48, "blue", "changed", "the leaf is in a frame", number=2)
    figure.box(left, 246, wide, 48, "blue", "evicted", "once the log is durable up to it", number=3)
    figure.box(left, 324, wide, 48, "green", "packed", "as an image, a delta or a tail", number=4)
    figure.box(left, 404, wide, 48, "amber", "placed", "the scheme gives a class, the log a slot", number=5)
    figure.box(left, 484, wide, 48, "green", "appended", "with others, in a chunk", number=6)
    figure.box(mid, 324, wide, 48, "amber", "a victim is picked", "GP above 15 %, or few free zones", number=7)
    figure.box(mid, 404, wide, 48, "amber", "valid pages get classes", "from headers, in one question", number=8)
    figure.box(mid, 484, wide, 48, "green", "copied", "base, delta and tail as one image", number=9)
    figure.box(right, 90, wide, 48, "blue", "read, changed", "found from the root of its tree", number=13)
    figure.box(right, 246, wide, 48, "blue", "loaded", "takes what waited in memory", number=12)
    figure.box(right, 404, wide, 48, "green", "checked", "by its sums; delta and tail applied", number=11)
    figure.box(right, 484, wide, 48, "green", "found", "the map has the slots of its records", number=10)

    zone(figure, 28, "log", "commit waits for it", "blue", "vvvvvn..")
    zone(figure, 188, "metadata", "notes, checkpoints", "grey", "vvvv....")
    zone(figure, 348, "class 1, open", "appended in order", "green", "vgvvn...")
    zone(figure, 508, "victim, sealed", "reset when copies are safe", "green", "ggvggvgg")
    zone(figure, 668, "class 4, open", "colder pages", "green", "vvvvnn..")
    zone(figure, 828, "free", "opened when needed", "paper", "........")
    figure.legend(
        28,
        758,
        ("blue", "crates/db"),
        ("green", "crates/store and zone"),
        ("amber", "crates/log and placement, as in the simulator; new pages"),
        ("garbage", "garbage"),
    )
    figure.save("page-life.svg")


# The states of a page in memory


def draw_states():
    figure = Figure(980, 524, "The states of a page in memory")
    figure.text(20, 50, "The pool has one word for each page number: the state, or the frame. White boxes are states within a state.", "note")
    figure.path([(230, 108), (610, 108)])
    figure.text(420, 100, "created: new, all of it changed", "small", "middle")
    figure.path([(610, 146), (230, 146)])
    figure.text(420, 164, "freed; trimmed when the log is durable", "small", "middle")
    figure.path([(390, 300), (440, 300)])
    figure.text(414, 290, "needed", "small", "middle")
    figure.path([(560, 300), (610, 300)])
    figure.text(585, 290, "read", "small", "middle")
    figure.path([(500, 330), (500, 366), (390, 366)])
    figure.text(400, 382, "could not be read", "small")
    figure.path([(610, 446), (390, 446)])
    figure.text(500, 438, "evicted: clean, just written,", "small", "middle")
    figure.text(500, 464, "or its delta is cached", "small", "middle")

    figure.box(50, 82, 180, 90, "grey", "unused", "no tree has the page")
    figure.rect(30, 226, 360, 276, "blue", 6)
    figure.text(210, 250, "absent", "name", "middle")
    figure.text(210, 267, "on the device; parts of it may be in memory", "note", "middle")
    part(figure, 292, "its delta", ("none", "waits", "being written"))
    part(figure, 362, "its rows", ("none", "as on the device", "changed"))
    figure.text(210, 440, "Both only in a store with deltas. All that waits", "small", "middle")
    figure.text(210, 455, "joins the page as it is loaded, under its latch,", "small", "middle")
    figure.text(210, 470, "before another thread can find it.", "small", "middle")
    figure.box(440, 270, 120, 60, "amber", "loading", "others wait")
    figure.rect(610, 82, 340, 420, "green", 6)
    figure.text(780, 106, "in a frame", "name", "middle")
    figure.text(780, 123, "read without a latch, changed under it", "note", "middle")
    x = 680
    figure.path([(745, 196), (745, 260)])
    figure.text(737, 232, "changed", "small", "end")
    figure.path([(780, 306), (780, 386)])
    figure.text(772, 350, "log durable, copied", "small", "end")
    figure.path([(880, 409), (916, 409), (916, 173), (880, 173)])
    figure.text(910, 236, "arrived", "small", "end")
    figure.path([(825, 386), (825, 306)])
    figure.text(833, 334, "failed, or", "small")
    figure.text(833, 348, "changed", "small")
    figure.text(833, 362, "meanwhile", "small")
    figure.box(x, 150, 200, 46, "paper", "clean", "as on the device")
    figure.box(x, 260, 200, 46, "paper", "changed", "needs the log from a position")
    figure.box(x, 386, 200, 46, "paper", "being written", "a copy; the page may change")
    figure.text(780, 464, "Written by the evictor, by a checkpoint, or in", "small", "middle")
    figure.text(780, 479, "place of the copy that cleaning would make.", "small", "middle")
    figure.save("page-states.svg")


def part(figure, y, label, states):
    figure.text(46, y, label, "small")
    for i, state in enumerate(states):
        figure.rect(46 + 110 * i, y + 8, 106, 28, "paper", 4)
        figure.text(99 + 110 * i, y + 26, state, "small", "middle")


# What lies in a zone: a device as `frostline store zones` shows it after
#     frostline bench ycsb --workload a --device file:DIR --size 1GiB --records 200000 --value-bytes 120 --buffer 16MiB --seconds 5
# and one of its zones, read header by header.

ZONE_PAGES = 2048
DEVICE = {  # pages used of each zone that is in use, by its number, and what for
    0: (205, "grey"), 26: (2048, "green"), 27: (1269, "green"), 28: (2048, "green"), 29: (6, "green"),
    30: (2048, "green"), 31: (298, "green"), 32: (1038, "green"), 33: (2048, "green"), 34: (224, "green"),
    121: (1286, "blue"),
}  # fmt: skip
META, DATA, LOG = range(9), range(9, 120), range(120, 128)
CHUNKS = [
    46, 43, 43, 39, 38, 30, 33, 53, 42, 50, 49, 52, 50, 52, 2, 52, 53, 51, 50, 51, 51, 53, 10, 51, 46, 29, 40, 15,
    52, 36, 7,
]  # fmt: skip
CHUNK = 27
HEADER = (("head", 72), ("group", 24), ("witness", 24), ("rows, 16 bytes a record", 480), ("forms, 8 bytes a record", 240), ("hotness, 40 bytes an image", 560))
RECORDS = [
    ("d", 775), ("d", 719), ("d", 507), ("d", 963), ("d", 1173), ("i", 3561), ("d", 1221), ("d", 1085), ("d", 723),
    ("d", 733), ("i", 3150), ("i", 3014), ("d", 791), ("i", 3973), ("i", 3151), ("d", 1065), ("i", 3013), ("i", 3013),
    ("d", 941), ("i", 3149), ("i", 3013), ("d", 379), ("d", 739), ("i", 3149), ("i", 3013), ("i", 3150), ("i", 3012),
    ("i", 3561), ("d", 513), ("d", 747),
]  # fmt: skip
HOLE = (347, 950)
RUNS = [(0, 2), (2, 2), (1, 1), (3, 5), (10, 19), (101, 16), (127, 16)]
UNIT, PAGE, LEFT, LONG = 64, 4096, 40, 900


def zoom(figure, y, part, to_y):
    """A wedge from a part of a row to the whole of the next."""
    (start, end) = part
    figure.line(f"M{start:g} {y:g} L{LEFT} {to_y:g} H{LEFT + LONG} L{end:g} {y:g} Z", "zoom")


def draw_zone():
    figure = Figure(980, 620, "What lies in a zone, to scale")
    figure.text(20, 50, "A real one: a database of 1 GiB after a short run of YCSB. Each row magnifies a part of the row above.", "note")

    y = 84
    figure.text(LEFT, y, "The device: 128 zones of 8 MiB", "name")
    step = LONG / 128
    for number in range(128):
        used, style = DEVICE.get(number, (0, ""))
        figure.rect(LEFT + step * number, y + 10, step, 40, "paper", 0)
        if used:
            tall = max(40 * used / ZONE_PAGES, 1.5)
            figure.rect(LEFT + step * number, y + 50 - tall, step, tall, style, 0)
    for zones, label in ((META, "metadata"), (DATA, "data zones"), (LOG, "log")):
        middle = LEFT + step * (zones.start + zones.stop) / 2
        figure.text(middle, y + 66, label, "small", "middle")
    zoom(figure, y + 50, (LEFT + step * 27, LEFT + step * 28), y + 110)

    y = 180
    figure.text(LEFT, y - 6, "An open zone: 2,048 pages, 31 chunks so far", "name")
    scale = LONG / ZONE_PAGES
    figure.rect(LEFT, y + 14, LONG, 40, "paper", 0)
    at = 0
    for index, pages in enumerate(CHUNKS):
        start = LEFT + scale * at
        figure.rect(start, y + 14, scale * pages, 40, "amber" if index == CHUNK else "green", 0)
        at += pages
    figure.text(LEFT + scale * (at + ZONE_PAGES) / 2, y + 38, "not written yet", "small", "middle")
    first = sum(CHUNKS[:CHUNK])
    zoom(figure, y + 54, (LEFT + scale * first, LEFT + scale * (first + CHUNKS[CHUNK])), y + 110)

    y = 290
    figure.text(LEFT, y - 10, "A chunk: 15 pages, in units of 64 bytes", "name")
    scale = LONG / (CHUNKS[CHUNK] * PAGE)
    header = units(sum(size for _, size in HEADER))
    figure.rect(LEFT, y, LONG, 40, "paper", 0)
    figure.rect(LEFT, y, scale * header, 40, "grey", 0)
    at, places = header, []
    for kind, size in RECORDS:
        places.append(at)
        figure.rect(LEFT + scale * at, y, scale * units(size), 40, {"i": "green", "d": "blue"}[kind], 0)
        at += units(size)
    for page in range(CHUNKS[CHUNK] + 1):
        x = LEFT + scale * PAGE * page
        figure.line(f"M{x:g} {y + 40:g} V{y + 47:g}", "guide")
    figure.text(LEFT + LONG, y + 58, "ticks: pages", "small", "end")
    zoom(figure, y + 40, (LEFT, LEFT + scale * header), y + 100)

    y = 390
    figure.text(LEFT, y - 10, "Its header: 22 units for 30 records, 14 of them images", "name")
    scale = LONG / header
    at = 0
    for name, size in HEADER:
        figure.rect(LEFT + scale * at, y, scale * size, 40, "grey", 0)
        middle = LEFT + scale * (at + size / 2)
        if size > 24:
            figure.text(middle, y + 24, name, "small", "middle")
        at += size
    figure.text(LEFT + scale * 84, y + 56, "group", "small", "middle")
    figure.text(LEFT + scale * 84 + 46, y + 56, "witness", "small", "middle")

    y = 490
    figure.text(LEFT, y - 10, "Two pages of 4,096 bytes, and what a record of each has", "name")
    scale = LONG / PAGE
    begin, length = HOLE
    figure.rect(LEFT, y, LONG, 30, "paper", 0)
    figure.rect(LEFT, y, scale * begin, 30, "green", 0)
    figure.rect(LEFT + scale * (begin + length), y, scale * (PAGE - begin - length), 30, "green", 0)
    figure.text(LEFT + scale * (begin + length / 2), y + 19, "zeroes, left out", "small", "middle")
    figure.text(LEFT + scale * 2700, y + 19, "an image: 3,150 bytes in 50 units", "small", "middle")
    figure.rect(LEFT, y + 44, LONG, 30, "paper", 0)
    at = 0
    for passed, words in RUNS:
        figure.rect(LEFT + scale * 8 * (at + passed), y + 44, scale * 8 * words, 30, "blue", 0)
        at += passed + words
    figure.text(LEFT + scale * 3270, y + 63, "a delta: 61 words of 8 bytes in 7 runs, in 8 units", "small", "middle")
    figure.legend(
        LEFT, 600, ("green", "image"), ("blue", "delta; in the device, log"), ("grey", "header; in the device, metadata"), ("amber", "the chunk below")
    )
    figure.save("zone.svg")


def units(size):
    """Bytes of as many whole units as a size needs."""
    return -(-size // UNIT) * UNIT


if __name__ == "__main__":
    draw_crates()
    draw_life()
    draw_states()
    draw_zone()
