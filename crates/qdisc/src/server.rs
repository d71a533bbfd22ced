//! The loop that serves a discipline: when the link asks it for a packet.
//!
//! A port of the simulator and a [`Line`](crate::Line) differ in what they do with a packet; that is their
//! [`Transmitter`]. When to ask is the same for both, and is decided here.

use crate::{Discipline, Packet, Served, Time};

/// The sending side of a port.
pub trait Transmitter<P: Packet> {
    /// The time advances to `now`, when the server acts. `queue` has not changed since the last event.
    fn advance(&mut self, now: Time, queue: &dyn Discipline<P>);

    /// Asks `queue` for a packet at `now`, with the port's random stream and sink.
    fn ask(&mut self, now: Time, queue: &mut dyn Discipline<P>) -> Served<P>;

    /// Starts to send `packet` at `now`; returns the end of the transmission.
    fn transmit(&mut self, packet: P, now: Time) -> Time;
}

/// The state of a link that a discipline feeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    next: Option<Time>,
    sending: bool,
}

impl Server {
    /// The end of the transmission, or the time at which to ask again. `None` if only an arrival gives the link work.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Whether the last packet's end of transmission has not been dealt with.
    #[inline]
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.sending
    }

    /// Moves what is due before `earliest` to then.
    #[inline]
    pub fn start_no_earlier(&mut self, earliest: Time) {
        self.next = self.next.map(|next| next.max(earliest));
    }

    /// Does all that is due at `until` or before.
    #[inline]
    pub fn run_until<P: Packet>(
        &mut self,
        until: Time,
        queue: &mut dyn Discipline<P>,
        transmitter: &mut impl Transmitter<P>,
    ) {
        while let Some(at) = self.next.filter(|&at| at <= until) {
            transmitter.advance(at, queue);
            self.serve(at, queue, transmitter);
        }
    }

    /// The link is free at `now`, to which the transmitter has advanced: sends the next packet, or notes when to ask
    /// again.
    #[inline]
    pub fn serve<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut dyn Discipline<P>,
        transmitter: &mut impl Transmitter<P>,
    ) {
        match transmitter.ask(now, queue) {
            Served::Packet(packet) => {
                self.sending = true;
                self.next = Some(transmitter.transmit(packet, now));
            }
            held => {
                self.sending = false;
                self.next = match held {
                    // A discipline that wants to be asked again at once would never let the next packet arrive.
                    Served::PollAt(at) if at > now => Some(at),
                    _ => None,
                };
            }
        }
    }
}
