#!/usr/bin/env python3
"""Draws the scheme `survival` as docs/figures/survival.svg. Needs nothing but Python 3.11.

    python3 docs/figures/survival.py
"""

from math import exp

from architecture import Figure

# The page of docs/survival.md that is worked through: of a log that comes round every 960,000 writes.
STEPS = [(0, 1.0), (0.12, 0.42), (0.2, 0.36), (0.72, 0.35), (0.8, 0.05), (1.0, 0.03)]
FROZEN = [(i / 10, 0.55 + 0.45 * exp(-4 * i / 10)) for i in range(11)]
RATE = [(i / 10, exp(-2.6 * i / 10)) for i in range(11)]


def curve(figure, x, y, width, height, points, style):
    """A survival curve in a frame: x to the right is age, y is the share that lives on."""
    figure.line(f"M{x:g} {y:g} V{y + height:g} H{x + width:g}", "guide")
    d = " L".join(f"{x + a * width:.1f} {y + (1 - s) * height:.1f}" for a, s in points)
    figure.line(f"M{d}", style)


def hazards(figure, x, y):
    """Rows are contexts, columns are ages; the darker the higher the hazard."""
    rows = ("9500001", "5111106", "8421000", "0000000")
    for row, digits in enumerate(rows):
        for column, digit in enumerate(digits):
            figure.parts.append(
                f'<rect class="dot" x="{x + 17 * column:g}" y="{y + 15 * row:g}" width="15" height="13" rx="2" '
                f'opacity="{0.08 + int(digit) / 10.5:.2f}"/>'
            )


def draw():
    figure = Figure(900, 476, "survival: from a write to a zone")
    top, low = 62, 258
    figure.box(20, top, 150, 92, "blue", "user write", "LBA, time,", "pages that follow", number=1)
    figure.box(210, top, 170, 92, "blue", "the page's entry", "8 bytes: last write,", "lifespans, context", number=2)
    figure.rect(420, top, 200, 92, "green", 6)
    figure.text(434, top + 22, "hazards, learned", "name")
    hazards(figure, 434, top + 32)
    figure.text(562, top + 52, "context", "small")
    figure.text(562, top + 66, "by age", "small")
    figure.dot(420, top, 3)
    figure.rect(660, top, 220, 92, "green", 6)
    figure.text(674, top + 22, "survival curves", "name")
    for place, points in enumerate((STEPS, RATE, FROZEN)):
        curve(figure, 676 + 68 * place, top + 34, 54, 42, points, "line")
    figure.dot(660, top, 4)
    for left, right in ((170, 210), (380, 420), (620, 660)):
        figure.path([(left, top + 46), (right, top + 46)])

    figure.box(660, low, 220, 92, "green", "classes", "clusters of curves: k-means", "from the last centres", number=5)
    figure.path([(770, top + 92), (770, low)])
    figure.box(420, low, 200, 92, "amber", "an open zone a class", "pages of one zone", "have curves alike", number=6)
    figure.path([(660, low + 46), (620, low + 46)])
    figure.box(210, low, 170, 92, "amber", "the victim", "where waiting", "gains least", number=7)
    figure.path([(420, low + 46), (380, low + 46)])
    figure.box(20, low, 150, 92, "blue", "relocation", "a valid page;", "its age is known", number=8)
    figure.path([(210, low + 46), (170, low + 46)])
    figure.path([(95, low), (95, 206), (240, 206), (240, top + 92)])
    figure.text(110, 198, "context at its age", "small")

    figure.path([(340, top + 92), (340, 184), (470, 184), (470, top + 92)], "line dashed")
    figure.text(256, 200, "a write ends a version: a death", "small")
    figure.path([(560, 214), (560, top + 92)], "line dashed")
    figure.text(474, 228, "a survey looks at one page a write:", "small")
    figure.text(474, 242, "pages that are alive, by context and age", "small")

    figure.text(20, 390, "3  A hazard is the risk to die at an age: deaths over pages that were alive at it, in each context.", "note")
    figure.text(20, 409, "4  From its age on a page's curve follows from the hazards ahead: a log's page, one of a steady rate, a frozen one.", "note")
    figure.text(20, 428, "5  Contexts at an age are points; a user write is at age 0. An epoch later the centres move on a little.", "note")
    figure.text(20, 447, "7  Victims have hazards of their own, by class, age and garbage: a log's zone waits until the log comes round.", "note")
    figure.save("survival.svg")


if __name__ == "__main__":
    draw()
