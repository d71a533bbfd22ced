//! A shaper: a discipline whose packets wait for the tokens of a bucket.

use alloc::boxed::Box;

use crate::memory::inline_bytes;
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Cx, Discipline, Packet, Served};

/// A discipline with a token bucket behind it.
pub(crate) struct Shaper<P> {
    queue: Box<dyn Discipline<P>>,
    bucket: TokenBucket,
    /// The next packet, which the discipline has released, and its length, which decides when it may go.
    head: Option<(P, u32)>,
}

impl<P: Packet> Shaper<P> {
    /// `queue`, held to `bucket`.
    pub fn new(queue: Box<dyn Discipline<P>>, bucket: TokenBucket) -> Self {
        Self { queue, bucket, head: None }
    }

    fn head_bytes(&self) -> u32 {
        self.head.as_ref().map_or(0, |(_, len_bytes)| *len_bytes)
    }
}

impl<P: Packet> Discipline<P> for Shaper<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if self.head.is_none() {
            match self.queue.dequeue(cx) {
                Served::Packet(packet) => {
                    let len_bytes = packet.len_bytes();
                    self.head = Some((packet, len_bytes));
                }
                held => return held,
            }
        }
        let len_bytes = self.head_bytes();
        if self.bucket.try_take(len_bytes, cx.now) {
            return self.head.take().map(|(packet, _)| packet).into();
        }
        Served::PollAt(self.bucket.ready_at(len_bytes))
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.queue.backlog();
        let head_bytes = u64::from(self.head_bytes());
        Backlog { packets: packets + u64::from(self.head.is_some()), bytes: bytes + head_bytes }
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.queue.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        visit(&*self.queue);
    }
}
