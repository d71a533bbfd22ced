# Tiny buffers: TCP flows, each over access links of its own, through a core link with a drop-tail buffer of `limit`
# packets, the one in service included.
#
#   ns dumbbell.tcl variant=Reno limit=10 seed=1
source [file join [file dirname [info script]] lib.tcl]

read_options {
    queue droptail   limit 10   flows 49   variant Reno   window 64   tick 0.01   start {0 10}
    rate 250Mb   delay 10ms   access_rate 25Mb   access_delay {26.5 51.5}   sink_delay 1ms
    warmup 30   duration 90   seed 1
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
for {set fid 1} {$fid <= $opt(flows)} {incr fid} {
    set source [$ns node]
    set sink [$ns node]
    access_link $source $near $opt(access_rate) [draw $opt(access_delay)]ms
    access_link $far $sink $opt(access_rate) $opt(sink_delay)
    tcp_flow tcp $opt(variant) $source $sink $fid [draw $opt(start)]
}
simulate $opt(warmup) $opt(duration)
