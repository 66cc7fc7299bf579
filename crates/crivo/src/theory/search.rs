//! Finding the least size that is enough.

/// The least size from 1 to `most` that is enough, where every larger one is enough too.
///
/// It looks around `hint` in steps that double, until it has one size that is enough and one that
/// is not, and then halves what is between them. The nearer the hint, the fewer and the cheaper the
/// looks.
pub(crate) fn least(hint: u64, most: u64, is_enough: impl FnMut(u64) -> bool) -> Option<u64> {
    least_by_steps(hint, hint / 1024, most, is_enough)
}

/// [`least`] with the first step, where it is known how far the answer can be from the hint.
pub(crate) fn least_by_steps(
    hint: u64,
    first_step: u64,
    most: u64,
    mut is_enough: impl FnMut(u64) -> bool,
) -> Option<u64> {
    let hint = hint.clamp(1, most);
    let mut step = first_step.max(1);
    let (mut too_few, mut enough);
    if is_enough(hint) {
        enough = hint;
        too_few = hint.saturating_sub(step);
        while too_few > 0 && is_enough(too_few) {
            enough = too_few;
            step = step.saturating_mul(2);
            too_few = too_few.saturating_sub(step);
        }
    } else {
        too_few = hint;
        loop {
            if too_few == most {
                return None;
            }
            enough = too_few.saturating_add(step).min(most);
            if is_enough(enough) {
                break;
            }
            too_few = enough;
            step = step.saturating_mul(2);
        }
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if is_enough(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_enough() {
        assert_eq!(least(5, 100, |_| false), None);
        assert_eq!(least(1, u64::MAX, |_| false), None);
    }

    proptest! {
        #[test]
        fn any_hint_and_step_lead_to_the_least(
            hint: u64, step: u64, answer in 1u64.., most in 1u64..,
        ) {
            let expected = (answer <= most).then_some(answer);
            prop_assert_eq!(least(hint, most, |size| size >= answer), expected);
            let found = least_by_steps(hint, step, most, |size| size >= answer);
            prop_assert_eq!(found, expected);
        }
    }
}
