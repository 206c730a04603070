"""The ZNS drive that QEMU emulates, and what a power cut leaves of it.

QEMU keeps the bytes of zones in a file, but forgets their write pointers when it ends. So they are taken from its trace of the drive's
commands, and at the next boot the machine writes each zone's bytes again, up to its pointer.
"""

import re

ZONES = 72
BLOCK = 4096
MOST_ACTIVE = 14

EVENTS = ["pci_nvme_io_cmd", "pci_nvme_write", "pci_nvme_enqueue_req_completion", "pci_nvme_zns_zone_reset", "pci_nvme_finish_zone"]


def capacity(zone_bytes):
    """A zone holds less than its size, as those of real drives do."""
    return zone_bytes // 4 * 3


def qemu_options(image, trace, zone_bytes):
    """The drive, in a file, and its trace, to a file descriptor."""
    zoned = f"zoned=true,zoned.zone_size={zone_bytes},zoned.zone_capacity={capacity(zone_bytes)},zoned.max_open={MOST_ACTIVE},zoned.max_active={MOST_ACTIVE}"
    traced = [word for event in EVENTS for word in ("-trace", event)]
    return ["-drive", f"file={image},id=drive,format=raw,if=none,cache=writeback", "-device", "nvme,id=nvme,serial=frostline",
            "-device", f"nvme-ns,drive=drive,bus=nvme,nsid=1,logical_block_size={BLOCK},physical_block_size={BLOCK},{zoned}",
            "-D", f"/dev/fd/{trace}", *traced]


def number(line, name):
    """The number behind a name."""
    return int(re.search(rf"\b{name}[ =](0x[0-9a-f]+|\d+)", line)[1], 0)


class Zone:
    def __init__(self, zone_bytes):
        self.capacity = capacity(zone_bytes)
        # Bytes that were written; of these, bytes that a flush covered.
        self.written = self.flushed = 0
        # It was finished, and a flush came after that.
        self.finished = self.finish_flushed = False

    def is_full(self):
        return self.finished or self.written == self.capacity

    def left(self, kept, rng):
        """Bytes, and whether it is full."""
        if kept == "all" or kept == "some" and rng.random() < 0.5:
            return self.written, self.is_full()
        least, most = self.flushed // BLOCK, self.written // BLOCK
        written = rng.randint(least, most if kept == "some" else least) * BLOCK
        return written, self.finish_flushed or written == self.capacity


class Zones:
    """The state of all zones, from the beginning of the trace of one run of QEMU."""

    def __init__(self, zone_bytes):
        self.zone_bytes = zone_bytes
        self.zones = [Zone(zone_bytes) for _ in range(ZONES)]
        # Commands under way, by queue and number: writes with their end, flushes with what they cover.
        self.writes, self.flushes = {}, {}
        self.command = None

    def hear(self, line):
        event = re.search(r"pci_nvme_\w+", line)
        if event and event[0] in EVENTS:
            getattr(self, event[0])(line)

    def pci_nvme_io_cmd(self, line):
        # The events of a command follow it directly, and do not name its queue.
        self.command = number(line, "sqid"), number(line, "cid")
        self.writes.pop(self.command, None)
        if "NVME_NVM_CMD_FLUSH" in line:
            self.flushes[self.command] = [(zone, zone.written, zone.finished) for zone in self.zones]

    def pci_nvme_write(self, line):
        assert "APPEND" not in line, "Linux is not known to use zone append here"
        end = number(line, "lba") * BLOCK + number(line, "count")
        self.writes[self.command] = end

    def pci_nvme_enqueue_req_completion(self, line):
        command = number(line, "cqid"), number(line, "cid")
        is_done = number(line, "status") & 0x7FFF == 0
        end, covered = self.writes.pop(command, None), self.flushes.pop(command, None)
        if end and is_done:
            zone = self.zones[(end - 1) // self.zone_bytes]
            zone.written = max(zone.written, (end - 1) % self.zone_bytes + 1)
        for zone, written, finished in covered if covered and is_done else []:
            zone.flushed = max(zone.flushed, written)
            zone.finish_flushed |= finished

    def pci_nvme_zns_zone_reset(self, line):
        # A new object: a flush under way does not cover what is written from now on.
        self.zones[number(line, "zslba") * BLOCK // self.zone_bytes] = Zone(self.zone_bytes)

    def pci_nvme_finish_zone(self, line):
        assert number(line, "all") == 0, "Linux is not known to finish all zones at once"
        self.zones[number(line, "idx")].finished = True

    def left(self, kept, rng):
        """What a power cut leaves: number, bytes and whether it is full, of each zone that is not empty. `kept` is what the drive kept of
        writes and finishes that no flush covered: all, some or none."""
        left = {index: zone.left(kept, rng) for index, zone in enumerate(self.zones)}
        active = [index for index, (written, is_full) in left.items() if written and not is_full]
        # A drive that can't hold more active zones has made others full for good before.
        were_full = [index for index in active if self.zones[index].is_full()]
        for index in rng.sample(were_full, max(0, len(active) - MOST_ACTIVE)):
            left[index] = self.zones[index].left("all", rng)
        found = [(index, written, int(is_full)) for index, (written, is_full) in left.items() if written or is_full]
        # The full ones first, because a zone is active until it is finished.
        return sorted(found, key=lambda zone: -zone[2])
