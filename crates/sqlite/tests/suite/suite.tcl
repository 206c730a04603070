# Runs one script of SQLite's test suite on the VFS `frostline`: testfixture suite.tcl SCRIPT EXTENSION FIXTURE. Without an extension, on SQLite's
# own VFS. `testfixture suite.tcl --list PERMUTATION TESTDIR` prints the scripts of a permutation.

if {[lindex $argv 0] eq "--list"} {
    set argv0 [file join [lindex $argv 2] list]
    set permutation [lindex $argv 1]
    set argv {}
    source [file join [file dirname $argv0] permutations.test]
    array set options $testspec($permutation)
    foreach script [lsort $options(-files)] {
        puts [file normalize [expr {[file tail $script] eq $script ? [file join $testdir $script] : $script}]]
    }
    exit
}

lassign $argv script extension fixture
set argv {}
set argv0 $script

# As a permutation has it. Stores are of one process, so tests with several processes are left out, as under valgrind.
set ::G(isquick) 1
set ::G(perm:name) veryquick
set ::G(perm:prefix) ""
set ::G(perm:presql) ""
set ::G(perm:dbconfig) ""
set ::G(valgrind) 1

if {$extension ne ""} {
    sqlite3 loader :memory:
    loader enable_load_extension 1
    loader eval {SELECT load_extension($extension, 'sqlite3_frostlinesqlite_init')}
    loader eval {SELECT load_extension($fixture, 'sqlite3_fixture_init')}
    loader close
    load $fixture Fixture

    # The scripts work in a directory of this name, which is the store.
    set directory [file join [pwd] testdir]
    file mkdir $directory
    sqlite3 made "file:made?vfs=frostline&store=$directory&size=1GiB&zone=4MiB" -uri 1
    made eval {create table t(a)}
    made close
    stored hold testdir/made

    # SQLite makes its own VFS the default one whenever it is initialised, and opening a database initialises it.
    stored default -
    set ::is_shut_down 0
    rename sqlite3_initialize real_initialize
    proc sqlite3_initialize {} {
        set result [real_initialize]
        stored default -
        set ::is_shut_down 0
        return $result
    }
    rename sqlite3_shutdown real_shutdown
    proc sqlite3_shutdown {} {
        set ::is_shut_down 1
        real_shutdown
    }
    rename sqlite3 real_sqlite3
    proc sqlite3 {args} {
        if {$::is_shut_down} { sqlite3_initialize }
        uplevel 1 [list real_sqlite3 {*}$args]
    }

    # Files that a script looks at or makes by Tcl's own commands, but which are in the store.
    proc is_stored {name} {
        if {[regexp {^$|^[|]|-shm$} $name] || [real_file isdirectory $name]} { return 0 }
        expr {[regexp {(\.db[0-9]*|\.db-?[a-z]*|-wal|-journal|^test[0-9]*)$} $name] || ![real_file exists $name] && [real_file tail $name] ni {. .. {}} && [stored exists $name]}
    }
    rename file real_file
    proc file {what args} {
        set name [lindex $args end]
        switch -glob -- $what {
            exi* - isfile - readable - writable {
                if {[is_stored $name] && [stored exists $name]} { return 1 }
            }
            size {
                if {[is_stored $name] && [stored exists $name]} { return [stored size $name] }
            }
            del* {
                foreach name $args {
                    if {[is_stored $name] && [stored exists $name]} { stored delete $name }
                }
            }
            copy - rename {
                lassign [lrange $args end-1 end] from to
                if {[is_stored $from] && [stored exists $from]} {
                    if {[is_stored $to]} {
                        stored write $to [stored read $from]
                    } else {
                        write_real $to [stored read $from]
                    }
                    if {$what eq "rename"} { stored delete $from }
                    return
                }
                if {[is_stored $to]} {
                    stored write $to [read_real $from]
                    if {$what eq "rename"} { real_file delete $from }
                    return
                }
            }
        }
        uplevel 1 [list real_file $what {*}$args]
    }
    proc read_real {name} {
        set channel [real_open $name rb]
        set bytes [read $channel]
        real_close $channel
        return $bytes
    }
    proc write_real {name bytes} {
        set channel [real_open $name wb]
        puts -nonewline $channel $bytes
        real_close $channel
    }

    # A channel to a stored file is one to a copy, which is written back when it is closed.
    rename open real_open
    rename close real_close
    proc open {name args} {
        if {![is_stored $name]} { return [uplevel 1 [list real_open $name {*}$args]] }
        set copy [real_file join [pwd] channel-[incr ::channels]]
        if {[stored exists $name]} { write_real $copy [stored read $name] }
        set channel [uplevel 1 [list real_open $copy {*}$args]]
        set ::channel_of($channel) [list $name $copy [regexp {[wa+]|RDWR|WRONLY} [lindex $args 0]]]
        return $channel
    }
    proc close {channel args} {
        uplevel 1 [list real_close $channel {*}$args]
        if {![info exists ::channel_of($channel)]} return
        lassign $::channel_of($channel) name copy is_written
        unset ::channel_of($channel)
        if {$is_written} { stored write $name [read_real $copy] }
        real_file delete $copy
    }

    rename glob real_glob
    proc glob {args} {
        set found [uplevel 1 [list real_glob -nocomplain {*}$args]]
        foreach pattern $args {
            if {![regexp {^[\w./-]*\*$} $pattern]} continue
            foreach end {"" 2 3 4 -journal -wal 2-journal 2-wal} {
                set name [string trimright $pattern *]$end
                if {[is_stored $name] && [stored exists $name]} { lappend found $name }
            }
        }
        if {$found eq "" && "-nocomplain" ni $args} { error "no files matched glob pattern \"$args\"" }
        return $found
    }

    rename md5file real_md5file
    proc md5file {name args} {
        if {![is_stored $name]} { return [real_md5file $name {*}$args] }
        write_real [real_file join [pwd] of-md5] [stored read $name]
        real_md5file [real_file join [pwd] of-md5] {*}$args
    }
    rename hexio_read real_hexio_read
    rename hexio_write real_hexio_write
    proc hexio_read {name offset count} {
        if {![is_stored $name]} { return [real_hexio_read $name $offset $count] }
        string toupper [binary encode hex [string range [stored read $name] $offset [expr {$offset + $count - 1}]]]
    }
    proc hexio_write {name offset hex} {
        if {![is_stored $name]} { return [real_hexio_write $name $offset $hex] }
        set bytes [stored read $name]
        set new [binary decode hex $hex]
        set count [string length $new]
        if {[string length $bytes] < $offset} {
            append bytes [string repeat \0 [expr {$offset - [string length $bytes]}]]
        }
        stored write $name [string range $bytes 0 $offset-1]$new[string range $bytes $offset+$count end]
        return $count
    }
}
source $script
