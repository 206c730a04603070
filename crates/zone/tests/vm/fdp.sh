#!/bin/bash
# Runs the suite of all devices and the store's bench on a drive with flexible data placement, as QEMU emulates it, and prints
# the blocks that each of its 8 placement handles took in the bench: with block: all go to one, with fdp: each zone's go to one of several.
#
# usage: fdp.sh KERNEL [BUSYBOX]
#   KERNEL   a bzImage of Linux 6.16 or newer with NVMe built in, as Debian's linux-image-cloud-amd64 of trixie-backports
#   BUSYBOX  a static one [default: busybox]
# Needs QEMU 9 or newer, a C compiler, and the programs: cargo build -p frostline-cli; cargo build -p frostline-zone --example device-suite
set -eu
here=$(cd "$(dirname "$0")" && pwd)
programs=${PROGRAMS:-$here/../../../../target/debug}
kernel=$1
busybox=$(command -v "${2:-busybox}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp}
cp "$busybox" "$root/bin/busybox"
cc -O1 -static -o "$root/bin/handles" "$here/handles.c"
for program in "$programs/frostline" "$programs/examples/device-suite"; do
    cp "$program" "$root/bin/"
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root${library%/*}"
        cp -L "$library" "$root$library"
    done
done
cat >"$root/init" <<'I'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
for kind in $(sed 's/.*kinds=\([a-z,]*\).*/\1/; s/,/ /g' /proc/cmdline); do
    drive=$kind:/dev/nvme0n1
    device-suite "$drive" >/tmp/suite || cat /tmp/suite
    echo "$drive: $(grep -c '^ok' /tmp/suite) checks passed"
    dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=1 conv=fsync 2>/dev/null
    set -- $(handles /dev/nvme0n1)
    frostline bench store --device "$drive" --size 384MiB --zone 4MiB --writes 30000 -q --force >/tmp/bench || cat /tmp/bench
    frostline store check "$drive"
    took=
    for left in $(handles /dev/nvme0n1); do took="$took $(($1 - left))"; shift; done
    echo "$drive: blocks by handle:$took"
done >/dev/ttyS1 2>&1
poweroff -f
I
chmod 755 "$root/init"
(cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$work/init.cpio"
for kind in block fdp; do
    rm -f "$work/drive"
    truncate -s 512M "$work/drive"
    timeout 600 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -smp 2 -display none -monitor none -no-reboot \
        -kernel "$kernel" -initrd "$work/init.cpio" -append "console=ttyS0 quiet panic=-1 kinds=$kind" \
        -serial "file:$work/console" -serial "file:$work/said" \
        -drive "file=$work/drive,if=none,id=drive,format=raw,discard=unmap" \
        -device nvme-subsys,id=all,nqn=all,fdp=on,fdp.runs=4G,fdp.nrg=1,fdp.nruh=8 \
        -device nvme,serial=1,subsys=all \
        -device "nvme-ns,drive=drive,nsid=1,logical_block_size=4096,physical_block_size=4096,fdp.ruhs=0;1;2;3;4;5;6;7" ||
        tail "$work/console"
    cat "$work/said"
done
