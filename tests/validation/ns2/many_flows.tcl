# BREATHe paper, Figure 2: 1000 TCP flows and 30 constant-rate sources of five rates through 1 Mb/s.
#
#   ns many_flows.tcl queue=red seed=1
source [file join [file dirname [info script]] lib.tcl]

read_options {
    queue red   limit 300   min_threshold 100   max_threshold 200   max_p 0.02   weight 0.002   buckets 16
    tcp 1000   variant Newreno   window 64   tick 0.01   start {0 1}   random 0
    udp {10 10kb 5 100kb 5 500kb 5 1Mb 5 10Mb}
    access 100Mb   rate 1Mb   delay 1ms   warmup 0   duration 1000   seed 1
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

proc source_node {} {
    global ns router opt
    set node [$ns node]
    access_link $node $router $opt(access) $opt(delay)
    return $node
}

# ns-2 computes routes in time that grows with the cube of the nodes: the TCP sources share ten of them, which their
# 100 Mb/s never makes wait.
for {set i 0} {$i < 10} {incr i} { set shared($i) [source_node] }
set fid 0
for {set i 0} {$i < $opt(tcp)} {incr i} {
    tcp_flow tcp $opt(variant) $shared([expr {$i % 10}]) $sink [incr fid] [draw $opt(start)]
}
foreach {count rate} $opt(udp) {
    for {set i 0} {$i < $count} {incr i} {
        udp_flow udp-$rate [source_node] $sink [incr fid] $rate $opt(random) [draw $opt(start)]
    }
}
simulate $opt(warmup) $opt(duration)
