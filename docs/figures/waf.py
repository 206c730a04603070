#!/usr/bin/env python3
"""Draws WAF by scheme as docs/figures/waf.svg. Needs nothing but Python.

    frostline sim traces/mariadb-tpcc.u32.zst --preload traces/mariadb-tpcc.load.u32.zst \
        --zone 4MiB --scheme all --victim cost-benefit,survival --no-timing --json waf.json
    python3 docs/figures/waf.py waf.json docs/figures/waf.svg

A bar a scheme: up to 1 it is what the user wrote, drawn paler; the rest are copies. At its end
stand WAF and the share of the way from nosep to oracle-plan. Pairings that repeat a scheme with
the same victim policy are left out. The victims of survival are shown with its own scheme only.
"""

import json
import sys
from html import escape

ROW, BAR, TOP, LEFT, WIDTH, RIGHT = 24, 15, 124, 160, 520, 120
BASELINE, BOUND = "nosep", "oracle-plan"
OURS = ("lifespan", "frozen", "midas-frozen", "frozen:lifespan", "survival", "frostline")
FORESIGHT = ("frozen-perfect", "fk", "fk-kmeans", "oracle-death", "oracle-rate", "oracle-rate-frozen", "ora", "oracle-plan")
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

STYLE = """
  text { font: 13px %s; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .note, .tick, .gain { fill: #59636e; }
  .note, .tick { font-size: 12px; }
  .user { opacity: 0.45; }
  .value { font-weight: 600; font-variant-numeric: tabular-nums; }
  .gain { font-variant-numeric: tabular-nums; }
  .one { stroke: #59636e; stroke-width: 1; }
  .rule { fill: #2f6fbd; }
  .ours { fill: #1a7f5a; }
  .baseline { fill: #8b949e; }
  .oracle { fill: url(#hatch); stroke: #b7791f; stroke-width: 1; }
  .hatch { stroke: #b7791f; stroke-width: 2.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note, .tick, .gain { fill: #9198a1; }
    .one { stroke: #9198a1; }
    .rule { fill: #539bf5; }
    .ours { fill: #3fb889; }
    .baseline { fill: #6e7681; }
    .oracle { stroke: #d9a441; }
    .hatch { stroke: #d9a441; }
  }
""" % SANS


def kind(run):
    if len(run["classes"]) == 1:
        return "baseline"
    if run["scheme"] in FORESIGHT:
        return "oracle"
    return "ours" if run["scheme"] in OURS else "rule"


def label(run):
    return "survival, its victims" if run["victim"] == "survival" else run["scheme"]


def wanted(runs):
    """One run a scheme; of equal results under two names the first."""
    seen, kept = set(), []
    for run in runs:
        if run["victim"] == "survival" and run["scheme"] != "survival":
            continue
        key = (run["victim"], run["relocations"])
        if key not in seen:
            kept.append(run)
        seen.add(key)
    return sorted(kept, key=lambda run: -run["waf"])


def text(x, y, content, style="", anchor="start"):
    style = f' class="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}"{style} text-anchor="{anchor}">{content}</text>'


def rect(x, y, width, height, style):
    return f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


def legend(y):
    parts, x = [], LEFT
    for style, label in (
        ("rule", "published schemes"),
        ("ours", "Frostline's"),
        ("baseline", "no separation"),
        ("oracle", "knows the future"),
    ):
        parts += [rect(x, y - 10, 12, 12, style), text(x + 18, y, label, "note")]
        x += 40 + 7 * len(label)
    return parts


def bar(run, y, scale):
    mid = y + BAR / 2 + 4.5
    copies = (run["waf"] - 1) * scale
    value = f'<tspan class="value">{run["waf"]:.2f}</tspan>'
    if run["possible_gain"] is not None and run["scheme"] != BASELINE:
        value += f'<tspan class="gain" dx="8">{100 * run["possible_gain"]:.0f} %</tspan>'
    return [
        text(LEFT - 10, mid, escape(label(run)), anchor="end"),
        rect(LEFT, y, scale, BAR, kind(run) + " user"),
        rect(LEFT + scale, y, copies, BAR, kind(run)),
        text(LEFT + scale + copies + 8, mid, value),
    ]


def draw(report):
    runs = wanted(report["runs"])
    last = int(max(run["waf"] for run in runs) + 0.999)
    scale = WIDTH / last
    height = TOP + ROW * len(runs) + 28
    width = LEFT + WIDTH + RIGHT
    zone = runs[0]["zone_pages"] * 4 // 1024
    writes = report["trace"]["user_writes"] / 1e6
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="title">',
        '<title id="title">Write amplification by scheme: MariaDB, TPC-C</title>',
        f"<style>{STYLE}</style>",
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/>'
        "</pattern></defs>",
        text(LEFT, 24, "Write amplification by scheme", "title"),
        text(
            LEFT,
            44,
            f"MariaDB under TPC-C, {writes:.1f} million page writes; zones of {zone} MiB, cleaned above "
            f"{100 * runs[0]['trigger']['gp']:.0f} % garbage.",
            "note",
        ),
        text(
            LEFT,
            62,
            "Victims by cost-benefit, or as a scheme brings its own. Beside each bar: WAF, and the share "
            "of the way",
            "note",
        ),
        text(LEFT, 80, f"from {BASELINE} (0 %) to {BOUND} (100 %).", "note"),
        *legend(104),
    ]
    bottom = TOP + ROW * len(runs)
    for tick in range(last + 1):
        svg.append(text(LEFT + tick * scale, bottom + 16, str(tick), "tick", "middle"))
    for place, run in enumerate(runs):
        svg += bar(run, TOP + place * ROW, scale)
    x = LEFT + scale
    svg.append(f'<line class="one" x1="{x:g}" y1="{TOP - 5}" x2="{x:g}" y2="{bottom}"/>')
    return "\n".join([*svg, "</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(report))


if __name__ == "__main__":
    main()
