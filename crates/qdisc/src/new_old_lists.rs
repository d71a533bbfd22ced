//! The order of many flow queues: new ones first, and turns by a quantum of bytes (RFC 8290, section 4.2).

/// The end of a list.
const NONE: u32 = u32::MAX;

/// On which list a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Inactive,
    New,
    Old,
}

/// A queue's place in the order. The queues hold it, by [`AsMut`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Bytes that the queue may still send in its turn; negative when it has overdrawn.
    pub deficit: i64,
    pub activity: Activity,
    /// The next queue of the list on which it is.
    next: u32,
}

impl Turn {
    /// The place of a queue without packets.
    pub const INACTIVE: Self = Self::inactive(0);

    /// The place of a queue without packets that may send this many bytes.
    pub const fn inactive(deficit: i64) -> Self {
        Self { deficit, activity: Activity::Inactive, next: NONE }
    }
}

/// A list of active queues, linked through [`Turn::next`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveList {
    first: u32,
    last: u32,
    len: u32,
}

impl ActiveList {
    /// A list without queues.
    pub const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };

    /// The first queue of the list.
    pub fn first(&self) -> Option<u32> {
        Some(self.first).filter(|&first| first != NONE)
    }

    /// Appends a queue that is in no list.
    pub fn push_back(&mut self, index: u32, queues: &mut [impl AsMut<Turn>]) {
        queues[index as usize].as_mut().next = NONE;
        match core::mem::replace(&mut self.last, index) {
            NONE => self.first = index,
            last => queues[last as usize].as_mut().next = index,
        }
        self.len += 1;
    }

    /// Takes the first queue out of the list, which has one.
    pub fn pop_front(&mut self, queues: &mut [impl AsMut<Turn>]) {
        self.first = queues[self.first as usize].as_mut().next;
        if self.first == NONE {
            self.last = NONE;
        }
        self.len -= 1;
    }
}

/// The lists of new and old queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewOldLists {
    new: ActiveList,
    old: ActiveList,
    quantum: i64,
}

impl NewOldLists {
    /// Empty lists of queues that have this quantum.
    pub fn new(quantum: i64) -> Self {
        Self { new: ActiveList::EMPTY, old: ActiveList::EMPTY, quantum }
    }

    /// Number of new queues.
    pub fn new_len(&self) -> u32 {
        self.new.len
    }

    /// Number of old queues.
    pub fn old_len(&self) -> u32 {
        self.old.len
    }

    /// A packet has joined a queue: an inactive one becomes new. Returns whether it does.
    pub fn activate(&mut self, index: u32, queues: &mut [impl AsMut<Turn>]) -> bool {
        let turn = queues[index as usize].as_mut();
        let becomes_new = turn.activity == Activity::Inactive;
        if becomes_new {
            *turn = Turn { deficit: self.quantum, activity: Activity::New, next: NONE };
            self.new.push_back(index, queues);
        }
        becomes_new
    }

    /// The queue whose turn it is. It may be empty.
    pub fn next(&mut self, queues: &mut [impl AsMut<Turn>]) -> Option<u32> {
        loop {
            let list = if self.new.len > 0 { &mut self.new } else { &mut self.old };
            let index = list.first;
            if index == NONE {
                return None;
            }
            let turn = queues[index as usize].as_mut();
            if turn.deficit > 0 {
                return Some(index);
            }
            turn.deficit += self.quantum;
            list.pop_front(queues);
            self.retire(index, queues);
        }
    }

    /// The queue whose turn it is was found empty. A new one goes through the old list once, so that a flow cannot be
    /// new again before the others had their turns; unless there are no others and `always_through_old` is false.
    pub fn found_empty(&mut self, index: u32, queues: &mut [impl AsMut<Turn>], always_through_old: bool) {
        let list = if self.new.len > 0 { &mut self.new } else { &mut self.old };
        list.pop_front(queues);
        let turn = queues[index as usize].as_mut();
        if turn.activity == Activity::New && (always_through_old || self.old.len > 0) {
            self.retire(index, queues);
        } else {
            turn.activity = Activity::Inactive;
        }
    }

    /// Moves a queue to the end of the old list.
    fn retire(&mut self, index: u32, queues: &mut [impl AsMut<Turn>]) {
        queues[index as usize].as_mut().activity = Activity::Old;
        self.old.push_back(index, queues);
    }
}
