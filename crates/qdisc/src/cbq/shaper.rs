//! A shaper: a discipline whose packets wait for the tokens of a bucket.

use alloc::boxed::Box;

use crate::memory::inline_bytes;
use crate::peeked::Peeked;
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Cx, Discipline, Packet, Served};

/// A discipline with a token bucket behind it.
pub(crate) struct Shaper<P> {
    queue: Peeked<P>,
    bucket: TokenBucket,
}

impl<P: Packet> Shaper<P> {
    /// `queue`, held to `bucket`.
    pub fn new(queue: Box<dyn Discipline<P>>, bucket: TokenBucket) -> Self {
        Self { queue: Peeked::new(queue), bucket }
    }
}

impl<P: Packet> Discipline<P> for Shaper<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        match self.queue.peek(cx) {
            Ok(len_bytes) if self.bucket.try_take(len_bytes, cx.now) => self.queue.take(),
            Ok(len_bytes) => Served::PollAt(self.bucket.ready_at(len_bytes)),
            Err(held) => held,
        }
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.queue.queue().state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        visit(self.queue.queue());
    }
}
