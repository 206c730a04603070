"""SepBIT (Wang et al., FAST 2022, Algorithm 1) as a scheme in Python: the same counts as the one
that comes with Frostline.

    python examples/own_sepbit.py TRACE
"""

import sys
import time

import frostline as fl

NEVER = 2**32 - 1


@fl.jit
def times(factor, total):
    """The mean of 16 lifespans, times a factor, rounded up."""
    return min(-(-factor * total // 16), NEVER)


@fl.scheme
class PySepbit:
    """User writes by inferred lifespan, relocations by age."""

    classes = 6
    page = {"written": "u4"}
    state = {"sum": "i8", "zones": "i8", "mean": "i8", "cuts": ("i8", 2)}

    def start(self, volume):
        self.mean = NEVER
        self.cuts[0] = NEVER
        self.cuts[1] = NEVER

    def place_user(self, write, page):
        lifespan = NEVER if write.first else write.now - page.written
        page.written = write.now
        return 0 if lifespan < self.mean else 1

    def place_relocation(self, move, page):
        if move.class_ == 0:
            return 2
        age = move.now - page.written
        return 3 + (age >= self.cuts[0]) + (age >= self.cuts[1])

    def on_victim(self, zone):
        if zone.class_ != 0:
            return
        self.sum += zone.now - zone.opened_at
        self.zones += 1
        if self.zones == 16:
            self.mean = times(1, self.sum)
            self.cuts[0] = times(4, self.sum)
            self.cuts[1] = times(16, self.sum)
            self.sum = 0
            self.zones = 0


if __name__ == "__main__":
    trace = fl.open(sys.argv[1])
    for scheme in ["sepbit", PySepbit, "sepbit", PySepbit]:
        begun = time.process_time()
        runs = fl.simulate(trace, scheme, gain=False, threads=1)
        speed = len(trace) / (time.process_time() - begun) / 1e6
        name, waf, relocations = (runs[column][0] for column in ("scheme", "waf", "relocations"))
        print(f"{name:10} WAF {waf:.4f}, {relocations} relocations, {speed:.1f} M writes/s")
