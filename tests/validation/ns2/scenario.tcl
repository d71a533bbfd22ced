# Reads a scenario of `recorded/` with hosts behind the nodes a and b: NewReno flows through a drop-tail queue.
#
#   ns scenario.tcl scenario=twins overhead=0.000001 seed=1
#
# `overhead` is ns-2's overhead_: each segment leaves its sender after a random delay of at most that many seconds.
source [file join [file dirname [info script]] lib.tcl]

read_options {scenario twins   overhead 0   seed 1} $argv
seed_everything $opt(seed)
configure_tcp 1000 0.01
foreach class {Agent/TCP Agent/TCP/Newreno} { $class set overhead_ $opt(overhead) }

set file [open [file join [file dirname [info script]] .. recorded $opt(scenario).toml]]
set text [read $file]
close $file

# The only match of `pattern` in a block of the scenario; empty where there is none.
proc value {block pattern} {
    set found {}
    regexp -line $pattern $block -> found
    return $found
}

# The blocks that begin with a header, each without it.
proc blocks {header} {
    global text
    set found {}
    foreach block [lrange [split [string map [list $header \u0001] $text] \u0001] 1 end] {
        lappend found [lindex [split [string map [list \n\[ \u0002] $block] \u0002] 0]
    }
    return $found
}

set ns [new Simulator]
foreach block [blocks {[[topology.graph.links]]}] {
    set from [value $block {^from = '(.*)'}]
    set to [value $block {^to = '(.*)'}]
    foreach name [list $from $to] { if {![info exists node($name)]} { set node($name) [$ns node] } }
    set rate [value $block {^rate = '(\d+) Mbps'}]Mb
    set delay [expr {[value $block {^delay = '(\d+) ns'}] / 1e9}]
    set limit [value $block {drop_tail = \{ limit = '(\d+) packets'}]
    if {$limit eq ""} { access_link $node($from) $node($to) $rate $delay; continue }
    # ns-2 counts the packet in service.
    Queue set limit_ [expr {$limit + 1}]
    $ns simplex-link $node($from) $node($to) $rate $delay DropTail
    $ns simplex-link $node($to) $node($from) $rate $delay DropTail
    $ns queue-limit $node($to) $node($from) 1000000
    watch_queue $node($from) $node($to)
}

set fid 0
foreach block [blocks {[[flows]]}] {
    set size [value $block {app.fixed = \{ size = '(\d+)000 B'}]
    foreach {- host} [regexp -all -inline {'(h-[^']*)'} [value $block {^from = (.*)$}]] {
        set start [value $block {^start = '(\d+) us'}]
        set start [expr {$start eq "" ? [draw [list 0 [value $block {^start = .*'([0-9.]+) s'\]}]]] : $start / 1e6}]
        tcp_flow [value $block {^name = '(.*)'}] Newreno $node($host) $node(sink-b) [incr fid] $start $size
    }
}
simulate [value $text {^warmup = '(\d+) s'}] [value $text {^duration = '(\d+) s'}]
