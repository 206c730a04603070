#!/bin/busybox sh
# Process 1 of the virtual machine of zns_power_cuts.py. It gives the zones their content, has the store or database checked as the power
# cut left it, and starts the program that opens and uses it. Lines to the host go through a port that keeps none of them back.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /tmp /zns; mount -t tmpfs tmp /tmp
ifconfig lo 127.0.0.1 up
. /settings
. /files.sh
for module in $MODULES; do insmod "/modules/$module.ko" || echo "insmod $module failed" >/dev/console; done
drive=/dev/nvme0n1
until [ -b $drive ] && [ "$(echo /dev/vport*)" != "/dev/vport*" ]; do sleep 0.1; done
exec 3>"$(echo /dev/vport*)"
tell() { echo "> $*" >&3; }
die() { tell "failed $*"; tail -n 30 /tmp/log | while read -r line; do echo "> log $line" >&3; done; sleep 1; poweroff -f; }

tell "booted"

# What a zone holds behind its write pointer can still be read.
while read -r zone bytes full; do
    at=$((zone * ZONE_BYTES))
    if [ "$bytes" -gt 0 ]; then
        dd if=$drive of=$drive bs="$bytes" count=1 skip=$at seek=$at iflag=skip_bytes,direct oflag=seek_bytes,direct conv=notrunc 2>/tmp/log ||
            die "zone $zone"
    fi
    if [ "$full" = 1 ] && [ "$bytes" -lt "$CAPACITY" ]; then
        blkzone finish -o $((at / 512)) -c 1 $drive || die "finish of zone $zone"
    fi
done </zones
# A flush: all of this was durable.
dd if=/dev/null of=$drive conv=notrunc,fsync 2>/tmp/log || die "flush"
if [ "$URI" = zonefs:/zns ]; then
    mount -t zonefs $drive /zns || die "mount"
fi
if [ "$IS_MADE" = 1 ]; then
    case $WHAT in
        db) frostline db check "$URI" ;;
        *) frostline store check "$URI" ;;
    esac >/tmp/log 2>&1 || die "check"
    tell "checked"
fi

# A file system on the disk that `frostline serve ublk` makes of the store.
mount_disk() { mount -t ext4 -o discard /dev/ublkb0 /mnt >/tmp/log 2>&1 || die "mount"; }
disk() {
    mkdir -p /mnt
    if [ "$IS_MADE" = 0 ]; then
        frostline store format "$URI" --force >/tmp/log 2>&1 || die "format"
    fi
    frostline serve ublk "$URI" >/tmp/log 2>&1 &
    until [ -b /dev/ublkb0 ]; do
        kill -0 $! 2>/dev/null || die "the server ended"
        sleep 0.1
    done
    if [ "$IS_MADE" = 0 ]; then
        mkfs.ext4 -q -F /dev/ublkb0 >/tmp/log 2>&1 || die "mkfs"
        tell "made"
    fi
    # The first mount recovers; the check must then find nothing.
    mount_disk
    umount /mnt || die "umount"
    e2fsck -f -n /dev/ublkb0 >/tmp/log 2>&1 || die "ext4 is damaged"
    mount_disk
    files_found
    tell "changing"
    files_change
}

tell "opening"
if [ "$WHAT" = disk ]; then
    FROM=$TASK
    disk
fi
FROSTLINE_TASK="$TASK $URI" load as_a_process --exact --nocapture --test-threads=1 >&3 2>/tmp/log
die "the load ended"
