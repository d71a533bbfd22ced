# The benchmark scenarios a, b, c and breathe in ns-2, for the comparison of speed: no monitor, no trace.
#
#   ns bench.tcl a 60 1        scenario, simulated seconds (0: set up, then stop), seed
#
# Prints one JSON object. Packet-hops are computed from the end points' own counters, which cost nothing: each data packet
# that was sent crossed the links before the bottleneck; each that arrived crossed the rest and made one ACK, which crossed
# all links back. Packets in flight at the end are counted on the first leg only.

foreach {scenario duration seed} $argv break
$defaultRNG seed [expr {7919 * $seed + 13}]
set placement [new RNG]
$placement seed [expr {104729 * $seed + 7}]
proc draw {low high} { global placement; return [$placement uniform $low $high] }
proc pick {count} { return [expr {int([draw 0 $count])}] }

foreach class {Agent/TCP Agent/TCP/Newreno} {
    $class set packetSize_ 960
    $class set window_ 64
    $class set windowInit_ 2
    $class set minrto_ 0.2
    $class set rtxcur_init_ 3.0
    $class set tcpTick_ 0.01
}
Queue set limit_ 1000000

proc red {min max limit inverse_max_p} {
    Queue/RED set thresh_ $min
    Queue/RED set maxthresh_ $max
    Queue/RED set limit_ $limit
    Queue/RED set linterm_ $inverse_max_p
    Queue/RED set q_weight_ 0.002
    Queue/RED set gentle_ false
    Queue/RED set adaptive_ 0
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set mean_pktsize_ 1000
}

set ns [new Simulator]
set senders {}
set udp {}

proc tcp_flow {from to start} {
    global ns senders
    set sender [new Agent/TCP/Newreno]
    set receiver [new Agent/TCPSink]
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    set application [new Application/FTP]
    $application attach-agent $sender
    $ns at $start "$application start"
    lappend senders $sender
}

proc udp_flow {from to rate start} {
    global ns udp
    set sender [new Agent/UDP]
    $sender set packetSize_ 1000
    set receiver [new Agent/LossMonitor]
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    set application [new Application/Traffic/CBR]
    $application set packetSize_ 1000
    $application set rate_ $rate
    $application attach-agent $sender
    $ns at $start "$application start"
    lappend udp [list $receiver [expr {$rate / 8000.0}] $start]
}

proc build_a {} {
    global ns
    red 64 192 1024 50
    set router [$ns node]
    set sink [$ns node]
    $ns simplex-link $router $sink 100Mb 550ns RED
    $ns simplex-link $sink $router 100Mb 550ns DropTail
    for {set i 0} {$i < 6} {incr i} {
        set node [$ns node]
        $ns duplex-link $node $router 100Mb 550ns DropTail
        if {$i < 5} { tcp_flow $node $sink [draw 0 1] } else { udp_flow $node $sink 100e6 [draw 0 1] }
    }
    return {1 1}
}

proc build_b {} {
    global ns
    red 40 160 200 10
    set left [$ns node]
    set right [$ns node]
    $ns simplex-link $left $right 45Mb 10ms RED
    $ns simplex-link $right $left 45Mb 10ms DropTail
    for {set i 0} {$i < 5} {incr i} {
        set source($i) [$ns node]
        set sink($i) [$ns node]
        $ns duplex-link $source($i) $left 100Mb 10ms DropTail
        $ns duplex-link $right $sink($i) 100Mb 10ms DropTail
    }
    for {set i 0} {$i < 400} {incr i} { tcp_flow $source([pick 5]) $sink([pick 5]) [draw 0 1] }
    udp_flow $source([pick 5]) $sink([pick 5]) 2e6 [draw 0 1]
    return {1 2}
}

# ns-2's DropTail counts the packet in service: 101 is a queue of 100.
proc build_c {} {
    global ns
    set left [$ns node]
    set right [$ns node]
    $ns duplex-link $left $right 2500Mb 10ms DropTail
    $ns queue-limit $left $right 101
    for {set i 0} {$i < 490} {incr i} {
        set source [$ns node]
        set sink [$ns node]
        $ns duplex-link $source $left 25Mb [draw 0.0265 0.0515] DropTail
        $ns duplex-link $right $sink 25Mb 1ms DropTail
        tcp_flow $source $sink [draw 0 1]
    }
    return {1 2}
}

# A source's node behind a link of its own to `router`, with its routes set by hand.
proc routed_source {router} {
    global ns
    set node [$ns node]
    $ns duplex-link $node $router 100Mb 1ms DropTail
    [$node get-module Manual] add-route-to-adj-node -default $router
    [$router get-module Manual] add-route-to-adj-node $node
    return $node
}

# 1000 TCP and 30 UDP flows, each behind a link of its own, before 1 Mb/s. Routes by hand: ns-2 takes half a minute to
# compute them for so many nodes.
proc build_breathe {} {
    global ns
    $ns rtproto Manual
    Node enable-module Manual
    red 100 200 300 50
    set router [$ns node]
    set sink [$ns node]
    $ns simplex-link $router $sink 1Mb 1ms RED
    $ns simplex-link $sink $router 1Mb 1ms DropTail
    [$router get-module Manual] add-route-to-adj-node $sink
    [$sink get-module Manual] add-route-to-adj-node -default $router
    for {set i 0} {$i < 1000} {incr i} { tcp_flow [routed_source $router] $sink [draw 0 1] }
    foreach {count rate} {10 10e3 5 100e3 5 500e3 5 1e6 5 10e6} {
        for {set i 0} {$i < $count} {incr i} { udp_flow [routed_source $router] $sink $rate [draw 0 1] }
    }
    return {1 1}
}

# `before`: links up to the bottleneck's queue; `after`: the bottleneck and the links behind it.
proc finish {before after} {
    global senders udp ns
    set sent 0.0
    set acknowledgements 0.0
    foreach sender $senders {
        set sent [expr {$sent + [$sender set ndatapack_]}]
        set acknowledgements [expr {$acknowledgements + [$sender set nackpack_]}]
    }
    set arrived $acknowledgements
    foreach flow $udp {
        foreach {receiver rate start} $flow break
        set sent [expr {$sent + $rate * ([$ns now] - $start)}]
        set arrived [expr {$arrived + [$receiver set npkts_]}]
    }
    set hops 0
    if {[$ns now] > 0} {
        set hops [expr {$sent * $before + $arrived * $after + $acknowledgements * ($before + $after)}]
    }
    puts [format {{"packet_hops": %.0f, "simulated_s": %g}} $hops [$ns now]]
    exit 0
}

foreach {before after} [build_$scenario] break
# Routes are computed before the first event, so a run of 0 seconds is the set-up and no more.
$ns at $duration "finish $before $after"
$ns run
