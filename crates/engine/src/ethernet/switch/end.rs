//! The end of a run at an Ethernet switch.

use forebay_qdisc::{Backlog, Time};

use crate::ethernet::pause::EVERY_CLASS;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::switch::EthernetSwitch;
use crate::observe::deadlock::PortWait;
use crate::observe::report::Report;
use crate::observe::reported::QueueReport;
use crate::packet::Packet;

impl EthernetSwitch {
    /// Reports the counters. Committed frames that have not begun count as queued.
    pub fn hand_in(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        self.release_all(end);
        let measured = report.measured();
        for port in &mut self.ports {
            port.revoke(end);
            report.link(port.link.finish(&measured));
            let number = port.link.number();
            report.pauses(number, port.control.obeyed.take_log(report.link_name(number), end));
            port.count_rest();
        }
        let mut waits = self.port_waits(end);
        let mut backlogs = vec![Backlog::default(); self.ports.len()];
        while let Some(packet) = self.delayed.pop() {
            let output = self.entry(&packet).output();
            self.count_waiting(&packet, output, end, &mut backlogs[output]);
        }
        for (number, mut backlog) in backlogs.into_iter().enumerate() {
            let out = self.ports[number].link.number();
            while let Some(packet) = self.ports[number].queues.pop(EVERY_CLASS) {
                let way_out = (out, self.class(&packet) as u8);
                let held = waits[SwitchPort::input_of(&packet)].held.entry(way_out).or_default();
                *held += u64::from(packet.len_bytes());
                self.count_waiting(&packet, number, end, &mut backlog);
            }
            let port = &mut self.ports[number];
            self.control_count.held += port.control.messages.len() as u64;
            if let Some(managed) = &mut port.managed {
                managed.integrate(&mut port.record.counters, end);
                for (wait, held) in waits.iter_mut().zip(&managed.held.bytes) {
                    wait.held.extend((0..).zip(held).map(|(class, &bytes)| ((out, class), bytes)));
                }
                let Backlog { packets, bytes } = managed.queues.backlog();
                (backlog.packets, backlog.bytes) = (backlog.packets + packets, backlog.bytes + bytes);
                port.record.state_bytes = port.record.state_bytes.max(managed.queues.state_bytes());
            }
            port.control.report.memory(self.memory.most_of_input(number));
            let name = report.link_name(out).to_owned();
            let discipline = port.managed.as_ref().and_then(|managed| managed.only());
            report.queue(QueueReport {
                name: &name,
                record: &mut port.record,
                backlog,
                holds_packets: true,
                flow_gauges: &|key, visit| {
                    if let Some(discipline) = discipline {
                        discipline.flow_gauges(key, visit);
                    }
                },
                port: Some(port.control.report(end)),
            });
        }
        report.port_waits(waits);
        report.control(self.control_count);
    }

    /// Counts a frame that has not been sent by the end of the run.
    fn count_waiting(&mut self, packet: &Packet, number: usize, end: Time, backlog: &mut Backlog) {
        let len_bytes = u64::from(packet.len_bytes());
        let row = self.entry(packet).row() as usize;
        let counters = &mut self.ports[number].record.counters;
        counters.waited(1, len_bytes, packet.time, end);
        if packet.time <= end {
            self.ports[number].record_passage(packet, None);
        }
        if self.rows.is_control(packet.flow_id()) {
            self.control_count.held += 1;
            return;
        }
        backlog.packets += 1;
        backlog.bytes += len_bytes;
        self.ports[number].record.counters.arrival_at(row, packet.time);
    }

    /// For deadlock detection, but for what the buffers hold.
    fn port_waits(&self, end: Time) -> Vec<PortWait> {
        let excess = |used: u64| used.saturating_sub(self.low_watermark);
        let wait = |(number, port): (usize, &SwitchPort)| {
            let by_policy = |class| self.memory.excess(number, class).filter(|_| self.stops_by_policy);
            let of_class =
                |class| by_policy(class).unwrap_or_else(|| excess(self.memory.of_input_class(number, class)));
            let of_all = by_policy(0).unwrap_or_else(|| excess(self.memory.of_input(number)));
            port.wait(port.control.orders.stops(of_all, of_class), end)
        };
        self.ports.iter().enumerate().map(wait).collect()
    }
}
