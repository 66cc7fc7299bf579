//! A hint of no instruction.

#![allow(unsafe_code)] // Assembly, though there is no instruction in it.

/// The same number, in a register, but nothing that the compiler could know of it: so it draws no conclusions from how the
/// number came about, as to leave a loop early or to compute two at once. Unlike [`std::hint::black_box`] it needs no
/// memory, and where nobody asks for the number it is not computed.
///
/// On processors other than x86-64 it is no hint.
///
/// ```
/// assert_eq!(crivo_core::opaque(7), 7);
/// ```
#[inline(always)]
pub fn opaque(number: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let number = {
        let mut number = number;
        // SAFETY: nothing is done.
        unsafe {
            std::arch::asm!("/* {} */", inout(reg) number,
                options(pure, nomem, nostack, preserves_flags));
        }
        number
    };
    number
}
