# DBL paper, Tables 2 and 3, Figures 4 and 5: every source behind its own link to one router, one link to the sink.
#
#   ns star.tcl queue=red tcp=5 belligerents=1 random=0 seed=1
source [file join [file dirname [info script]] lib.tcl]

read_options {
    queue red   limit 1024   min_threshold 64   max_threshold 192   max_p 0.02   weight 0.002   buckets 64
    tcp 5   variant Newreno   window 64   tick 0.01   tcp_start {0 1}
    fragile 0   fragile_rate 2Mb   fragile_start {0 1}
    belligerents 1   belligerent_start {0 1}   random 0
    rate 100Mb   delay 550ns   warmup 20   duration 120   seed 1
} $argv
seed_everything $opt(seed)
configure_tcp $opt(window) $opt(tick)

set ns [new Simulator]
set router [$ns node]
set sink [$ns node]
set type [configure_queue]
$ns simplex-link $router $sink $opt(rate) $opt(delay) $type
$ns simplex-link $sink $router $opt(rate) $opt(delay) DropTail
$ns queue-limit $sink $router 1000000
watch_queue $router $sink

# A source behind its own link. ns-2's DRR and SFQ hash node numbers such that 16k - 1 and 16k meet in one bucket (DRR by
# the source's number, SFQ by the sum of source and sink); numbers of the second kind stay unused, so that no flows share.
proc source_node {} {
    global ns router sink opt
    set node [$ns node]
    while {[$node id] % 16 == 0 || ([$node id] + [$sink id]) % 16 == 0} { set node [$ns node] }
    access_link $node $router $opt(rate) $opt(delay)
    return $node
}

set fid 0
for {set i 0} {$i < $opt(tcp)} {incr i} {
    tcp_flow tcp $opt(variant) [source_node] $sink [incr fid] [draw $opt(tcp_start)]
}
for {set i 0} {$i < $opt(fragile)} {incr i} {
    udp_flow fragile [source_node] $sink [incr fid] $opt(fragile_rate) $opt(random) [draw $opt(fragile_start)]
}
for {set i 0} {$i < $opt(belligerents)} {incr i} {
    udp_flow belligerent [source_node] $sink [incr fid] $opt(rate) $opt(random) [draw $opt(belligerent_start)]
}
simulate $opt(warmup) $opt(duration)
