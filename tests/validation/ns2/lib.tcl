# Shared by the ns-2 scripts of this folder: command line, queues, flows, measurement, one line of JSON.
#
# A script is run as `ns star.tcl key=value ...`. Every key has a default in the script's `defaults` list; an unknown key
# is an error. What is measured goes to standard output as one JSON object on a line of its own; Linux agents add lines
# of theirs.
#
# Counting. A data packet is 1000 bytes on the wire: ns-2 adds 40 bytes of header to packetSize_, hence 960. All of its
# bytes count as goodput. Queue lengths are of packets that wait, without the one on the wire.

proc read_options {defaults argv} {
    global opt
    array set opt $defaults
    foreach word $argv {
        if {![regexp {^([a-z_]+)=(.*)$} $word -> key value] || ![info exists opt($key)]} {
            puts stderr "unknown option '$word'; known: [lsort [array names opt]]"
            exit 2
        }
        set opt($key) $value
    }
}

# An option, or what goes for it in scripts that do not know it.
proc option {name default} {
    global opt
    return [expr {[info exists opt($name)] ? $opt($name) : $default}]
}

# A number drawn uniformly from `range`, a list of two; ns-2's own generator, seeded by seed_everything.
proc draw {range} {
    global start_variable
    $start_variable set min_ [lindex $range 0]
    $start_variable set max_ [lindex $range 1]
    return [$start_variable value]
}

# Seeds the default generator (RED, CBR gaps) and a second one for the start times.
proc seed_everything {seed} {
    global defaultRNG start_variable
    $defaultRNG seed [expr {7919 * $seed + 13}]
    set starts [new RNG]
    $starts seed [expr {104729 * $seed + 7}]
    set start_variable [new RandomVariable/Uniform]
    $start_variable use-rng $starts
}

# Class-wide settings of the queue under test; to be called before the first link is made. Returns ns-2's queue type.
proc configure_queue {} {
    global opt
    Queue set limit_ $opt(limit)
    switch -exact -- $opt(queue) {
        droptail { return DropTail }
        red - gentle_red {
            Queue/RED set thresh_ $opt(min_threshold)
            Queue/RED set maxthresh_ $opt(max_threshold)
            Queue/RED set linterm_ [expr {1.0 / $opt(max_p)}]
            Queue/RED set q_weight_ $opt(weight)
            Queue/RED set gentle_ [expr {$opt(queue) eq "gentle_red" ? "true" : "false"}]
            Queue/RED set wait_ true
            Queue/RED set adaptive_ 0
            Queue/RED set bytes_ false
            Queue/RED set queue_in_bytes_ false
            Queue/RED set mean_pktsize_ 1000
            Queue/RED set idle_pktsize_ 1000
            Queue/RED set setbit_ [option ecn 0]
            return RED
        }
        fq { return FQ }
        sfq {
            Queue/SFQ set maxqueue_ $opt(limit)
            Queue/SFQ set buckets_ $opt(buckets)
            return SFQ
        }
        drr {
            Queue/DRR set buckets_ $opt(buckets)
            Queue/DRR set blimit_ [expr {1000 * $opt(limit)}]
            Queue/DRR set quantum_ 1000
            Queue/DRR set mask_ 0
            return DRR
        }
    }
    puts stderr "unknown queue '$opt(queue)'"
    exit 2
}

# Settings of every TCP sender; `tick` is the granularity of its timer in seconds.
proc configure_tcp {window tick} {
    foreach class {Agent/TCP Agent/TCP/Reno Agent/TCP/Newreno Agent/TCP/Sack1 Agent/TCP/Linux} {
        $class set packetSize_ 960
        $class set window_ $window
        $class set windowInit_ 2
        $class set singledup_ 1
        $class set minrto_ 0.2
        $class set maxrto_ 60
        $class set rtxcur_init_ 3.0
        $class set tcpTick_ $tick
        $class set timestamps_ false
        $class set ecn_ [option ecn 0]
    }
    Agent/TCP/Newreno set newreno_changes1_ 1
    Agent/TCP/Newreno set partial_window_deflation_ 1
    if {[option old_timers 0]} { configure_tcp_of_2000 }
}

# What the dated comments of ns-default.tcl say of the defaults before 2001; the caller gives window 20 and tick 0.1.
proc configure_tcp_of_2000 {} {
    foreach class {Agent/TCP Agent/TCP/Reno Agent/TCP/Newreno Agent/TCP/Sack1} {
        $class set windowInit_ 1
        $class set singledup_ 0
        $class set minrto_ 0
        $class set rtxcur_init_ 6.0
        $class set syn_ false
        $class set delay_growth_ false
        $class set precisionReduce_ false
    }
}

# Makes both directions of an access link; neither ever drops.
proc access_link {a b rate delay} {
    global ns
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b 1000000
    $ns queue-limit $b $a 1000000
}

# A TCP flow of `group` from `from` to `to`, flow id `fid`, begun at `start`; unlimited, or of `segments`. variant: Reno,
# Newreno, Sack1, or Linux/cubic and the like: what ns-2 runs of Linux 2.6.22, with SACK.
proc tcp_flow {group variant from to fid start {segments {}}} {
    global ns flows
    foreach {class law} [split $variant /] break
    set sender [new Agent/TCP/$class]
    set has_sack [expr {$class eq "Sack1" || $class eq "Linux"}]
    set sink [expr {$has_sack ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]
    if {[option delayed_ack 0]} {
        append sink /DelAck
        $sink set interval_ 100ms
    }
    set receiver [new $sink]
    $sender set fid_ $fid
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    if {$class eq "Linux"} { $ns at 0 "$sender select_ca $law" }
    set application [new Application/FTP]
    $application attach-agent $sender
    $ns at $start "$application [expr {$segments eq "" ? "start" : "produce $segments"}]"
    set flows($fid) [list $group tcp $sender $receiver]
}

# A constant-rate UDP flow of `group`, 1000-byte packets; random 1 multiplies each gap by U(0.5, 1.5).
proc udp_flow {group from to fid rate random start} {
    global ns flows
    set sender [new Agent/UDP]
    $sender set packetSize_ 1000
    $sender set fid_ $fid
    set receiver [new Agent/LossMonitor]
    $ns attach-agent $from $sender
    $ns attach-agent $to $receiver
    $ns connect $sender $receiver
    set application [new Application/Traffic/CBR]
    $application set packetSize_ 1000
    $application set rate_ $rate
    $application set random_ $random
    $application attach-agent $sender
    $ns at $start "$application start"
    set flows($fid) [list $group udp $sender $receiver]
}

# Watches a link's queue: per-flow arrivals, drops and waits, and the length over time.
proc watch_queue {from to} {
    global ns monitor length
    set link [$ns link $from $to]
    # A fair-queueing link hands this to its per-flow queues for their drops, but only tracing would set it.
    if {[catch {$link set drpT_}]} { $link set drpT_ [$link set drophead_] }
    set monitor [$ns makeflowmon Fid]
    $ns attach-fmon $link $monitor 0
    set length [new Integrator]
    $monitor set-pkts-integrator $length
    return $monitor
}

proc delivered_bytes {fid} {
    global flows
    foreach {group kind sender receiver} $flows($fid) break
    if {$kind eq "tcp"} {
        set acknowledged [$sender set ack_]
        return [expr {$acknowledged > 0 ? 1000.0 * $acknowledged : 0.0}]
    }
    return [$receiver set bytes_]
}

# Notes every counter; called at the end of the warm-up and at the end of the run.
proc take_counters {name} {
    global flows monitor length ns
    upvar #0 $name at
    set at(time) [$ns now]
    foreach fid [array names flows] {
        set at(bytes,$fid) [delivered_bytes $fid]
        foreach counter {arrivals drops waits wait_sum} { set at($counter,$fid) 0.0 }
    }
    if {![info exists monitor]} { return }
    $length newpoint [$ns now] [$monitor set pkts_]
    set at(length) [$length set sum_]
    foreach flow [$monitor flows] {
        set fid [$flow set flowid_]
        set at(arrivals,$fid) [$flow set parrivals_]
        set at(drops,$fid) [$flow set pdrops_]
        set samples [$flow get-delay-samples]
        set at(waits,$fid) [$samples cnt]
        set at(wait_sum,$fid) [expr {[$samples cnt] > 0 ? [$samples mean] * [$samples cnt] : 0.0}]
    }
}

# The JSON line: per flow, and over the watched queue.
proc report {} {
    global flows before after monitor
    set span [expr {$after(time) - $before(time)}]
    set lines {}
    foreach fid [lsort -integer [array names flows]] {
        foreach key {bytes arrivals drops waits wait_sum} {
            set $key [expr {$after($key,$fid) - $before($key,$fid)}]
        }
        set wait [expr {$waits > 0 ? $wait_sum / $waits : 0.0}]
        lappend lines [format {{"group": "%s", "goodput_bps": %.1f, "arrivals": %.0f, "drops": %.0f,\
            "wait_s": %.9f}} [lindex $flows($fid) 0] [expr {8.0 * $bytes / $span}] \
            $arrivals $drops $wait]
    }
    set queue null
    if {[info exists monitor]} {
        set queue [format "%.4f" [expr {($after(length) - $before(length)) / $span}]]
    }
    puts "{\"span_s\": $span, \"queue_mean_packets\": $queue, \"flows\": \[[join $lines {, }]\]}"
}

# Runs from 0 to `duration`, measuring from `warmup` on.
proc simulate {warmup duration} {
    global ns
    $ns at $warmup "take_counters before"
    $ns at $duration "take_counters after; report; exit 0"
    $ns run
}
