//! The end of a run at an Ethernet switch.

use forebay_qdisc::{Backlog, Time};

use crate::ethernet::pause::EVERY_CLASS;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::switch::EthernetSwitch;
use crate::observe::deadlock::BufferWait;
use crate::observe::handed_in::QueueReport;
use crate::observe::report::Report;
use crate::packet::Packet;

impl EthernetSwitch {
    /// Hands in the books. What is settled and has not begun never will.
    pub fn hand_in(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        self.release_all(end);
        let measured = report.measured();
        for port in &mut self.ports {
            port.take_back(end);
            report.link(port.wire.finish(&measured));
        }
        for port in &mut self.ports {
            port.book_rest();
        }
        let mut waits = self.buffer_waits(end);
        let mut backlogs = vec![Backlog::default(); self.ports.len()];
        while let Some(packet) = self.delayed.pop() {
            let output = self.way(&packet).output();
            self.book_waiting(&packet, output, end, &mut backlogs[output]);
        }
        for (number, backlog) in backlogs.iter_mut().enumerate() {
            self.control.held += self.ports[number].messages.len() as u64;
            while let Some(packet) = self.ports[number].queues.pop(EVERY_CLASS) {
                waits[SwitchPort::input_of(&packet)].held[number].1 += u64::from(packet.len_bytes());
                self.book_waiting(&packet, number, end, backlog);
            }
        }
        for ((number, port), backlog) in self.ports.iter_mut().enumerate().zip(backlogs) {
            let port_report = port.report(self.memory.most_of_input(number), end);
            report.queue(QueueReport {
                name: &port_report.name,
                books: &mut port.books,
                backlog,
                holds_packets: true,
                flow_gauges: &|_, _| {},
            });
            report.port(port_report);
        }
        report.buffer_waits(waits);
        report.control(self.control);
    }

    /// Takes a frame that has not left by the end of the run into the books of its output.
    fn book_waiting(&mut self, packet: &Packet, number: usize, end: Time, backlog: &mut Backlog) {
        let len_bytes = u64::from(packet.len_bytes());
        let row = self.way(packet).row() as usize;
        let book = &mut self.ports[number].books.book;
        book.waited(1, len_bytes, packet.time, end);
        if self.rows.is_control(packet.flow_id()) {
            self.control.held += 1;
            return;
        }
        backlog.packets += 1;
        backlog.bytes += len_bytes;
        book.arrival_at(row, packet.time);
    }

    /// Who waits for whom.
    fn buffer_waits(&self, end: Time) -> Vec<BufferWait> {
        let held: Vec<_> = self.ports.iter().map(|port| (port.out, 0)).collect();
        let excess_bytes = |number| self.memory.of_input(number).saturating_sub(self.low_watermark);
        let waits = self.ports.iter().enumerate();
        waits.map(|(number, port)| port.buffer_wait(excess_bytes(number), held.clone(), end)).collect()
    }
}
