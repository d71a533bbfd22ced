"""The measurements of `make bench` and `make profile`, and the page that they write.

A packet-hop is one packet, data or ACK, that crossed one link. Speed is packet-hops per second of CPU
time in the run phase. Forebay reports its own hops and the CPU time of its run; the peers' hops come from `peers/`
(which explains how they are counted), their CPU time from the operating system. Set-up (a new process, the network, the
routes) is a run of no simulated time, and is taken off wherever a simulator does not report its run phase itself.

A run phase with several threads is judged by its wall time. Memory is the peak resident set of the process.
"""
