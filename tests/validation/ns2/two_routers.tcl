# SFB paper, Table I: 5 source nodes, two routers, 5 sink nodes; TCP flows between nodes drawn at random, and a
# constant-rate source.
#
#   ns two_routers.tcl queue=red udp_rate=2Mb seed=1
source [file join [file dirname [info script]] lib.tcl]

read_options {
    queue red   limit 200   min_threshold 40   max_threshold 160   max_p 0.1   weight 0.002   buckets 46
    tcp 400   variant Reno   window 64   tick 0.01   tcp_start {0 1}
    udp_rate 2Mb   udp_start {0 1}   random 0   nodes 5
    ecn 0   old_timers 0   access 100Mb   rate 45Mb   delay 10ms   warmup 0   duration 100   seed 1
} $argv
seed_everything $opt(seed)
configure_tcp $opt(window) $opt(tick)

set ns [new Simulator]
set near [$ns node]
set far [$ns node]
set type [configure_queue]
$ns simplex-link $near $far $opt(rate) $opt(delay) $type
$ns simplex-link $far $near $opt(rate) $opt(delay) DropTail
$ns queue-limit $far $near 1000000
watch_queue $near $far
for {set i 0} {$i < $opt(nodes)} {incr i} {
    set source($i) [$ns node]
    access_link $source($i) $near $opt(access) $opt(delay)
    set sink($i) [$ns node]
    access_link $far $sink($i) $opt(access) $opt(delay)
}

proc any_node {} {
    global opt
    return [expr {int([draw [list 0 $opt(nodes)]])}]
}

for {set fid 1} {$fid <= $opt(tcp)} {incr fid} {
    tcp_flow tcp $opt(variant) $source([any_node]) $sink([any_node]) $fid [draw $opt(tcp_start)]
}
udp_flow udp $source([any_node]) $sink([any_node]) $fid $opt(udp_rate) $opt(random) [draw $opt(udp_start)]
simulate $opt(warmup) $opt(duration)
