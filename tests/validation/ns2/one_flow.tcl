# One TCP flow: against a small drop-tail buffer (loss 0), or against independent random loss (buffer large).
#
#   ns one_flow.tcl variant=Reno limit=10
#   ns one_flow.tcl variant=Linux/cubic limit=10
#   ns one_flow.tcl variant=Reno rate=100Mb loss=0.03 limit=100000
source [file join [file dirname [info script]] lib.tcl]

read_options {
    queue droptail   limit 10   variant Newreno   window 1000   tick 0.01   start 0   delayed_ack 0
    rate 10Mb   access_rate 100Mb   delay 20ms   access_delay 0ms   loss 0   warmup 20   duration 320   seed 1
} $argv
seed_everything $opt(seed)
configure_tcp $opt(window) $opt(tick)

set ns [new Simulator]
set sender [$ns node]
set router [$ns node]
set sink [$ns node]
access_link $sender $router $opt(access_rate) $opt(access_delay)
set type [configure_queue]
$ns simplex-link $router $sink $opt(rate) $opt(delay) $type
$ns simplex-link $sink $router $opt(rate) $opt(delay) DropTail
$ns queue-limit $sink $router 1000000
if {$opt(loss) == 0} {
    watch_queue $router $sink
} else {
    set dice [new RNG]
    $dice seed [expr {15485863 * $opt(seed) + 3}]
    set unit [new RandomVariable/Uniform]
    $unit use-rng $dice
    set errors [new ErrorModel]
    $errors set rate_ $opt(loss)
    $errors unit pkt
    $errors ranvar $unit
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $router $sink
}
tcp_flow tcp $opt(variant) $sender $sink 1 $opt(start)
simulate $opt(warmup) $opt(duration)
