//! A shaper: a discipline whose packets wait for the tokens of a bucket.

use alloc::boxed::Box;

use crate::memory::inline_bytes;
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Cx, Discipline, Packet, Served};

/// A discipline with a token bucket behind it.
pub(crate) struct Shaper<P> {
    queue: Box<dyn Discipline<P>>,
    bucket: TokenBucket,
    /// The next packet, which the discipline has released. Only its length says when it may go.
    head: Option<P>,
}

impl<P: Packet> Shaper<P> {
    /// `queue`, held to `bucket`.
    pub fn new(queue: Box<dyn Discipline<P>>, bucket: TokenBucket) -> Self {
        Self { queue, bucket, head: None }
    }
}

impl<P: Packet> Discipline<P> for Shaper<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if self.head.is_none() {
            match self.queue.dequeue(cx) {
                Served::Packet(packet) => self.head = Some(packet),
                held => return held,
            }
        }
        let len_bytes = self.head.as_ref().map_or(0, Packet::len_bytes);
        if self.bucket.try_take(len_bytes, cx.now) {
            return self.head.take().into();
        }
        Served::PollAt(self.bucket.ready_at(len_bytes))
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.queue.backlog();
        let head = self.head.as_ref().map_or(0, Packet::len_bytes);
        Backlog { packets: packets + u64::from(self.head.is_some()), bytes: bytes + u64::from(head) }
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.queue.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        visit(&*self.queue);
    }
}
