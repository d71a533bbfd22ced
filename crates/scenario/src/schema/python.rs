//! A discipline of your own, written in Python: it runs in the simulator like the built-in ones.
//!
//! # What it does
//! The simulator hands packets to a Python class. A subclass of `forebay.AdmissionLaw` admits, marks or drops a packet
//! on arrival, in front of one FIFO queue. A subclass of `forebay.QueueDiscipline` also decides which packet leaves
//! next. Only integers are passed, no objects: the time in picoseconds, a packet's number, flow and length, the queue
//! in packets and bytes. A method receives only the arguments that it names. Each queue has an instance of its own,
//! with its own stream of random numbers. `python_controller` describes congestion controllers in Python.
//!
//! A scenario file that names Python code runs only with `--allow-python`, or `allow_python=True`. The module is
//! searched for in the folder of the file, then where Python searches for modules.
//!
//! # When to use it
//! Use it to try an algorithm of your own in any scenario, without Rust. Each decision costs a Python call: for long
//! studies compile the law with Numba, or write it in Rust.
//!
//! # Example
//! ```toml
//! queue.python = { class = "short:ShortQueue", parameters = { limit = 50 } }
//! ```
//!
//! The class is in `short.py`, in the folder of the scenario:
//!
//! ```python short.py
//! import forebay as fb
//!
//!
//! class ShortQueue(fb.AdmissionLaw):
//!     def __init__(self, limit=100):
//!         self.limit = limit
//!
//!     def admit(self, queue_packets):
//!         return queue_packets < self.limit
//! ```
//!
//! # Source
//! Your own. `docs/guide/python-disciplines.md` builds RED step by step and checks it against the built-in one: same
//! random numbers, same drops, same digest.
//!
//! # Where we differ
//! - An exception, a verdict that does not exist, or the number of a packet that is not queued ends the run with an
//!   error that names packet, time and flow. Everything up to then is accounted for as usual.
//! - Calls to different queues do not come in the order of time: a port may run ahead of another where the results are
//!   the same. State that instances share by other means than packets has no defined order.
//! - Logarithms, powers and exponentials of Python's `math` are those of the platform. Those of `forebay.portable` have
//!   the same bits everywhere.
//!
//! # Cost
//! The memory of the Python object. Each decision costs a Python call, a few hundred nanoseconds, and the time of the
//! method itself. Within a process only one such run makes progress at a time; commands with many runs start processes.
//!
//! # Parameters
//! A table, `{ class = "module:Class", parameters = { … } }`. The bare text, `queue.python = "module:Class"`, names a
//! class without parameters.
