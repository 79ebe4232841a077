//! Memory for decoding, one piece for each thread.

use std::cell::RefCell;

use blockgate_fatbin::Scratch;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// Calls `work`, which must not come here again, with the memory of this thread.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}
