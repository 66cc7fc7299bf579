//! Work that is finished even where a part of it panics.

/// Calls `step` until it returns `false`. If one call panics, the others are still made, and then
/// the panic goes on; a second panic aborts, as with the elements of a `Vec`.
pub(super) fn repeat_to_end(step: impl FnMut() -> bool) {
    struct Rest<F: FnMut() -> bool>(F);

    impl<F: FnMut() -> bool> Rest<F> {
        fn repeat(&mut self) {
            while (self.0)() {}
        }
    }

    impl<F: FnMut() -> bool> Drop for Rest<F> {
        fn drop(&mut self) {
            self.repeat();
        }
    }

    Rest(step).repeat();
}
