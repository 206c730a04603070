"""What the loads of zns_power_cuts.py say, and what must be there after a power cut. The loads are crates/store/tests/power_cuts.rs and
crates/db/tests/power_cuts.rs; that of the disk is files.sh."""

import collections


class World:
    """What the host knows."""

    # Until a cut: lines of the load, or seconds from when it begins to open.
    MOST_LINES, MOST_SECONDS = 5000, 0.4

    def __init__(self):
        # The store or database was there, and it was opened since the last boot.
        self.is_made = self.is_opened = False
        # Operations that were acknowledged as durable.
        self.acknowledged = 0

    def boot(self):
        self.is_opened = False

    def hear(self, words):
        """Takes a line of the load; returns what it shows to be lost."""
        handler = getattr(self, f"hear_{words[0]}", None)
        return handler and handler(*map(int, words[1:]))

    def hear_made(self):
        self.is_made = True


class Pages(World):
    """The store: a page has one of the versions that were written since the last sync, or the one of the sync."""

    def __init__(self):
        super().__init__()
        # By page, the versions that it may have, the last as it is now; None is a page that is not there.
        self.pages = collections.defaultdict(lambda: [None])
        self.found, self.last, self.unsynced, self.syncs, self.compared = {}, 0, 0, 0, 0

    def task(self, rng):
        return f"{rng.getrandbits(64)} {self.last} {str(self.is_made).lower()}"

    def counts(self):
        return f"{self.syncs} syncs, {self.acknowledged} writes and trims acknowledged by them, {self.compared} pages compared"

    def boot(self):
        super().boot()
        self.unsynced, self.found = 0, {}

    def hear_is(self, page, version):
        self.found[page] = version

    def hear_opened(self):
        self.is_opened = True
        self.compared += len(self.pages)
        lost = {page: self.found.get(page) for page, versions in self.pages.items() if self.found.get(page) not in versions}
        lost.update((page, version) for page, version in self.found.items() if page not in self.pages)
        for page, versions in self.pages.items():
            versions.append(self.found.get(page))
        return {page: (version, self.pages.get(page)) for page, version in lost.items()}

    def hear_write(self, page, version):
        self.last = version
        self.change(page, version)

    def hear_trim(self, page):
        self.change(page, None)

    def change(self, page, version):
        self.pages[page].append(version)
        self.unsynced += 1

    def hear_synced(self):
        self.syncs += 1
        self.acknowledged += self.unsynced
        self.unsynced = 0
        for versions in self.pages.values():
            del versions[:-1]


class Commits(World):
    """The database: the first commits are there, at least up to the last that was acknowledged. The load compares each record and says
    how many commits it found; it ends if one is missing."""

    def __init__(self):
        super().__init__()
        self.durable = 0

    def task(self, rng):
        return f"{rng.getrandbits(64)} {self.durable} {str(self.is_made).lower()}"

    def counts(self):
        return f"{self.acknowledged} commits acknowledged, {self.durable} the last"

    def hear_found(self, last):
        self.is_opened = True
        return last < self.durable and f"found {last} of {self.durable}"

    def hear_durable(self, number):
        self.durable = number
        self.acknowledged += 1


class Files(World):
    """A file system on the disk: each file is one that was written at the last sync of it or later. The machine compares its bytes."""

    MOST_LINES, MOST_SECONDS = 100, 3

    def __init__(self):
        super().__init__()
        # By name, the number that was acknowledged, and the one that was found since the boot.
        self.durable, self.found = {}, {}

    def task(self, _rng):
        return str(max(self.durable.values(), default=0))

    def counts(self):
        return f"{self.acknowledged} files acknowledged"

    def boot(self):
        super().boot()
        self.found = {}

    def hear_found(self, name, number):
        self.found[name] = number

    def hear_changing(self):
        self.is_opened = True
        lost = {name: (self.found.get(name), number) for name, number in self.durable.items() if self.found.get(name, 0) < number}
        # Later ones may be there, which nobody acknowledged; they are durable now.
        self.durable.update(self.found)
        return lost

    def hear_durable(self, name, number):
        self.durable[name] = number
        self.acknowledged += 1
