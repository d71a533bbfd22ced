//! A discipline whose next packet can be looked at: for parents that decide by its length.

use alloc::boxed::Box;

use crate::{Backlog, Cx, Discipline, Packet, Served};

/// A discipline, and its next packet, which it has released.
pub(crate) struct Peeked<P> {
    queue: Box<dyn Discipline<P>>,
    head: Option<(P, u32)>,
}

impl<P: Packet> Peeked<P> {
    pub fn new(queue: Box<dyn Discipline<P>>) -> Self {
        Self { queue, head: None }
    }

    /// The discipline, without the packet that it has released.
    pub fn queue(&self) -> &dyn Discipline<P> {
        &*self.queue
    }

    pub fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.queue.enqueue(packet, cx);
    }

    /// The length of the next packet, if it was looked at.
    pub fn seen(&self) -> Option<u32> {
        self.head.as_ref().map(|(_, len_bytes)| *len_bytes)
    }

    /// The length of the next packet, or the discipline's answer if there is none.
    pub fn peek(&mut self, cx: &mut Cx<'_, P>) -> Result<u32, Served<P>> {
        if let Some(len_bytes) = self.seen() {
            return Ok(len_bytes);
        }
        match self.queue.dequeue(cx) {
            Served::Packet(packet) => {
                let len_bytes = packet.len_bytes();
                self.head = Some((packet, len_bytes));
                Ok(len_bytes)
            }
            held => Err(held),
        }
    }

    /// The packet whose length was returned.
    pub fn take(&mut self) -> Served<P> {
        self.head.take().map(|(packet, _)| packet).into()
    }

    /// The next packet, whether it was looked at or not.
    pub fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if self.head.is_some() { self.take() } else { self.queue.dequeue(cx) }
    }

    pub fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.queue.backlog();
        match self.seen() {
            Some(len_bytes) => Backlog { packets: packets + 1, bytes: bytes + u64::from(len_bytes) },
            None => Backlog { packets, bytes },
        }
    }
}
