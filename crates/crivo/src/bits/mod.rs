//! Bits in bulk: slots of any width, packed without waste.
