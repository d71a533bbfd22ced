# DBL paper, Figure 8: one TCP flow over `hops` links in a row, a wire-speed source joining at the router before each.
#
#   ns chain.tcl queue=red hops=1 seed=1
source [file join [file dirname [info script]] lib.tcl]

read_options {
    queue red   limit 1024   min_threshold 64   max_threshold 192   max_p 0.02   weight 0.002   buckets 64
    hops 1   variant Newreno   window 64   tick 0.01   tcp_start {0 1}   belligerent_start {0 1}   random 0
    rate 100Mb   delay 550ns   warmup 20   duration 120   seed 1
} $argv
seed_everything $opt(seed)
configure_tcp $opt(window) $opt(tick)

set ns [new Simulator]
for {set i 0} {$i <= $opt(hops)} {incr i} { set router($i) [$ns node] }
set sink $router($opt(hops))
set type [configure_queue]
for {set i 0} {$i < $opt(hops)} {incr i} {
    set next [expr {$i + 1}]
    $ns simplex-link $router($i) $router($next) $opt(rate) $opt(delay) $type
    $ns simplex-link $router($next) $router($i) $opt(rate) $opt(delay) DropTail
    $ns queue-limit $router($next) $router($i) 1000000
}
watch_queue $router(0) $router(1)

set src [$ns node]
access_link $src $router(0) $opt(rate) $opt(delay)
tcp_flow tcp $opt(variant) $src $sink 1 [draw $opt(tcp_start)]
for {set i 0} {$i < $opt(hops)} {incr i} {
    set node [$ns node]
    access_link $node $router($i) $opt(rate) $opt(delay)
    udp_flow belligerent $node $sink [expr {$i + 2}] $opt(rate) $opt(random) [draw $opt(belligerent_start)]
}
simulate $opt(warmup) $opt(duration)
