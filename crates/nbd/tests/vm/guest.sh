#!/bin/busybox sh
# Process 1 of the virtual machine of power_cuts.py. It mounts the disk, tells what it finds there, and then changes it until
# the machine is killed. Lines to the host go to the second serial port.
/bin/busybox --install -s /bin
export PATH=/bin:/pg/bin HOME=/root TERM=dumb
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /mnt /tmp; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp; chmod 777 /tmp /dev/shm
ifconfig lo 127.0.0.1 up
stty -F /dev/ttyS1 raw -echo
tell() { echo "$*" >/dev/ttyS1; }
die() { tell "failed $*"; tail -n 20 /tmp/log /tmp/postgres.log 2>/dev/null | while read -r line; do tell "log $line"; done; sleep 1; poweroff -f; }
. /settings
. /files.sh
for module in $MODULES; do insmod "/modules/$module.ko" || die "insmod $module"; done
i=0; while [ ! -b /dev/vda ]; do i=$((i + 1)); [ $i -gt 100 ] && die "no disk"; sleep 0.1; done

mount_disk() { mount -t "$FS" -o discard /dev/vda /mnt >/tmp/log 2>&1 || die "mount"; }
check_disk() {
    case $FS in
        ext4) e2fsck -f -n /dev/vda ;;
        xfs) xfs_repair -n /dev/vda ;;
    esac >/tmp/log 2>&1 || die "$FS is damaged"
}

# PostgreSQL. A session counts up, a row a transaction; pgbench works beside it.
as_postgres() { su postgres -c "PATH=$PATH LD_LIBRARY_PATH=/lib $*"; }
sql() { as_postgres "psql -h /tmp -X -A -t -q -v ON_ERROR_STOP=1 postgres -c \"$1\"" 2>>/tmp/log; }
postgres_start() { as_postgres "pg_ctl -D /mnt/data -l /tmp/postgres.log -w -t 900 start" >/dev/null 2>/tmp/log || die "start"; }
postgres_stop() { as_postgres "pg_ctl -D /mnt/data -w -t 900 -m fast stop" >/dev/null 2>>/tmp/log || die "stop"; }
postgres_make() {
    mkdir /mnt/data; chown postgres /mnt/data
    as_postgres "initdb -D /mnt/data -k -A trust -E UTF8 --no-locale" >/tmp/log 2>&1 || die "initdb"
    cat >>/mnt/data/postgresql.conf <<-C
		jit = off
		listen_addresses = ''
		unix_socket_directories = '/tmp'
		shared_buffers = 16MB
		max_wal_size = 64MB
		checkpoint_timeout = 30s
	C
    postgres_start
    sql 'create extension amcheck; create table counted(number bigint primary key)' || die "create"
    as_postgres "pgbench -h /tmp -i -q -s 2 postgres" >/dev/null 2>>/tmp/log || die "pgbench -i"
    postgres_stop
}
postgres_found() {
    postgres_start
    as_postgres "pg_amcheck -h /tmp --install-missing --heapallindexed --parent-check --rootdescend postgres" >>/tmp/log 2>&1 || die "amcheck"
    set -- $(sql "select coalesce(max(number), 0), count(*) from counted" | tr '|' ' ')
    [ "$1" = "$2" ] || die "$2 rows of $1"
    tell "found 0 $1"
    # A row may be there that nobody heard of.
    FROM=$1
    sums=$(sql "select (select sum(abalance) from pgbench_accounts) = all(array[(select sum(bbalance) from pgbench_branches),
        (select sum(tbalance) from pgbench_tellers), (select coalesce(sum(delta), 0) from pgbench_history)])")
    [ "$sums" = t ] || die "balances differ"
    tell "pgbench $(sql 'select count(*) from pgbench_history')"
    postgres_stop
}
postgres_change() {
    postgres_start
    as_postgres "pgbench -h /tmp -n -c 3 -T 100000 postgres" >/dev/null 2>>/tmp/log &
    number=$FROM
    while :; do
        number=$((number + 1))
        echo "insert into counted values ($number);"
        echo "\\echo durable 0 $number"
    done | as_postgres "psql -h /tmp -X -q -v ON_ERROR_STOP=1 postgres" >/dev/ttyS1 2>>/tmp/log
    die "psql ended"
}

if [ "$MAKE" = 1 ]; then
    case $FS in
        ext4) mkfs.ext4 -q -F /dev/vda ;;
        xfs) mkfs.xfs -q -f /dev/vda ;;
    esac >/tmp/log 2>&1 || die "mkfs"
    mount_disk
    [ "$WORK" = postgres ] && postgres_make
    umount /mnt || die "umount"
    tell "made"
fi
# The first mount recovers; the check must then find nothing.
mount_disk
umount /mnt || die "umount"
check_disk
mount_disk
"${WORK}_found"
tell "changing"
"${WORK}_change"
