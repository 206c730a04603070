# Files on a file system at /mnt, for the virtual machines whose power is cut: each has a number that says what else is in it.
# Used with `tell` and `die`, and the number FROM of the last file that is known.

# The content of the file of a number.
content() { echo "$1"; yes "$1 and no other" | head -c $(($1 * 7919 % 60000)); }

# Tells each file, and that it is whole.
files_found() {
    for file in /mnt/file.*; do
        [ -f "$file" ] || continue
        number=$(head -n 1 "$file")
        content "$number" | cmp -s - "$file" || die "$file is torn"
        tell "found ${file##*.} $number"
    done
}

# Writes one file after the other, each in the place of an older one, and tells when it is durable.
files_change() {
    number=$FROM
    while :; do
        number=$((number + 1)); slot=$((number % 61))
        content $number >/mnt/new.$slot && sync /mnt/new.$slot && mv /mnt/new.$slot /mnt/file.$slot && sync /mnt || die "write"
        tell "durable $slot $number"
    done
}
