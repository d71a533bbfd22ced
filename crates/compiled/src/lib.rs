//! Calls of functions that Numba compiled from Python: the one crate of the simulator with unsafe code.
//!
//! A law that is compiled has a *record* of 64-bit fields as its state. Its function is a C function
//!
//! ```text
//! int64 function(record *state, int64 now, int64 packet, … )    nine integers, see ARGUMENTS
//! ```
//!
//! # The proof
//! There are two unsafe operations, both in `function.rs`: to take the address that Numba tells for a function of this
//! type, and to call it. They are sound because:
//!
//! 1. **The address is that of such a function.** It is read from an object whose type is Numba's own `CFunc`, and
//!    whose signature is equal to the one above. Numba compiles a `CFunc` to the C calling convention of its signature.
//!    Only Python code that can write to any address anyway could forge such an object (`ctypes`): Python code that is
//!    allowed to run is trusted.
//! 2. **The function lives as long as its pointer.** A `CFunc` owns its machine code. `Function` holds a reference to
//!    it and does not give the pointer away.
//! 3. **The pointer to the state is valid.** The signature names the record, which `Record` has made: n fields of eight
//!    bytes. `call` checks that the state has n words, aligned as `u64`, and hands over a pointer made from a unique
//!    reference that outlives the call. Numba knows the fields and nothing else of what is there; all bit patterns are
//!    valid for integers and floats, on both sides.
//! 4. **Nothing unwinds through the call.** Numba does not unwind: an exception is a status, which the function that
//!    the Python package wraps around a law turns into [`FAILED`]. `draw`, the only Rust code that a law calls, does
//!    not panic.
//! 5. **The interpreter is not needed.** Code compiled by `cfunc` without objects (`nopython`, the only mode there is)
//!    does not touch Python's objects, so it may run on any thread, attached or not.
//!
//! Random numbers need no pointer: the stream of the law that is running is a variable of its thread, which `draw`
//! looks into.

mod function;
mod record;
mod rng;

pub use function::{ARGUMENTS, FAILED, Function};
pub use record::{Record, State};
pub use rng::draw_address;
