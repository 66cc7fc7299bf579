//! Formatting numbers.

/// With thin spaces between groups of three digits: 348 454.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len());
    for (i, digit) in digits.chars().enumerate() {
        // Four digits are still read at a glance.
        if i > 0 && digits.len() > 4 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// With a number of significant digits; very large and very small numbers as powers of ten.
pub(crate) fn decimal(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..=6).contains(&magnitude) {
        return scientific(value, digits);
    }
    let places = (digits as i32 - 1 - magnitude).max(0) as usize;
    let text = format!("{value:.places$}");
    let text = match text.strip_prefix('-') {
        Some(positive) => format!("−{positive}"),
        None => text,
    };
    if places == 0 && value >= 10_000.0 { thousands(value.round() as u64) } else { text }
}

/// 1.23·10⁻⁴
pub(crate) fn scientific(value: f64, digits: usize) -> String {
    let places = digits.saturating_sub(1);
    let text = format!("{value:.places$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let power: String = exponent.chars().map(raised).collect();
    match mantissa {
        "1" => format!("10{power}"),
        mantissa => format!("{}·10{power}", mantissa.replace('-', "−")),
    }
}

fn raised(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        other => other,
    }
}

/// A fraction in percent: 2.16%.
pub(crate) fn percent(fraction: f64, digits: usize) -> String {
    format!("{}%", decimal(100.0 * fraction, digits))
}

/// A difference of fractions in percentage points.
pub(crate) fn points(fraction: f64) -> String {
    format!("{} percentage points", decimal(100.0 * fraction, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(348_454), "348\u{202f}454");
        assert_eq!(thousands(1751), "1751");
        assert_eq!(decimal(0.021577, 3), "0.0216");
        assert_eq!(decimal(-12.345, 3), "−12.3");
        assert_eq!(decimal(65_000.0, 2), "65\u{202f}000");
        assert_eq!(decimal(0.0, 3), "0");
        assert_eq!(decimal(1.0e-7, 1), "10⁻⁷");
        assert_eq!(scientific(0.000123, 3), "1.23·10⁻⁴");
        assert_eq!(percent(0.021577, 3), "2.16%");
        assert_eq!(points(0.0001), "0.010 percentage points");
    }
}
