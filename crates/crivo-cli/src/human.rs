//! Numbers as users write and read them.

/// A number with thousands separators: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 key`, `2,000 keys`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// An amount of memory in decimal units: `999 bytes`, `1.20 MB`.
pub(crate) fn bytes(number: u64) -> String {
    if number < 1000 {
        return counted(number, "byte");
    }
    let mut value = number as f64;
    let mut unit = "";
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        // 999.5 and more would be rounded to four digits.
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    format!("{} {unit}", significant(value))
}

/// A share or false-positive rate: `1%`, `0.0123%`; very small ones as `1.2e-9`.
pub(crate) fn percentage(share: f64) -> String {
    const MIN_PERCENTAGE: f64 = 1e-7;
    if share == 0.0 {
        "0%".to_owned()
    } else if share < MIN_PERCENTAGE {
        format!("{share:.1e}")
    } else {
        let text = significant(100.0 * share);
        match text.contains('.') {
            true => format!("{}%", text.trim_end_matches('0').trim_end_matches('.')),
            false => format!("{text}%"),
        }
    }
}

/// A share as a whole percentage: `66%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Three significant digits, without a power of ten.
fn significant(value: f64) -> String {
    // Rounding may lift a number to the next power of ten, so that the formatter decides.
    let power = format!("{value:.2e}").rsplit('e').next().and_then(|power| power.parse().ok());
    let decimals = (2 - power.unwrap_or(0i32)).max(0);
    format!("{value:.0$}", decimals as usize)
}

/// Parses a number of keys, at least 1: `1000000`, `1_000_000`, `1,000,000`, `10k`, `1.5M`, `2G`.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let scales = [("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    parse_scaled(text, &scales).filter(|&keys| keys > 0).ok_or_else(|| {
        format!("{text:?} is not a number of keys, which is at least 1; write it as 1000000, 1_000_000 or 1M")
    })
}

/// Parses a false-positive rate: `0.01` or `1%`, strictly between 0 and 1.
pub(crate) fn parse_fpr(text: &str) -> Result<f64, String> {
    let fpr = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse(),
    };
    fpr.ok().filter(|&fpr| fpr > 0.0 && fpr < 1.0).ok_or_else(|| {
        format!(
            "{text:?} is not a false-positive rate, which is strictly between 0 and 1: 0.01 or 1%"
        )
    })
}

/// Parses an amount of memory: `65536`, `64kB`, `64MB`, `1.5GB`, or in powers of two `64MiB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    const KILO: u64 = 1000;
    const KIBI: u64 = 1024;
    let scales = [
        ("", 1),
        ("B", 1),
        ("k", KILO),
        ("kB", KILO),
        ("M", KILO.pow(2)),
        ("MB", KILO.pow(2)),
        ("G", KILO.pow(3)),
        ("GB", KILO.pow(3)),
        ("T", KILO.pow(4)),
        ("TB", KILO.pow(4)),
        ("KiB", KIBI),
        ("MiB", KIBI.pow(2)),
        ("GiB", KIBI.pow(3)),
        ("TiB", KIBI.pow(4)),
    ];
    parse_scaled(text, &scales).ok_or_else(|| {
        format!(
            "{text:?} is not an amount of memory; write it as 65536, 64kB, 64MB, 1.5GB or 64MiB"
        )
    })
}

/// Parses a number followed by a unit, ignoring the case of the unit.
fn parse_scaled(text: &str, scales: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(number_end(text));
    let unit = unit.trim_start();
    let (_, scale) = scales.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    let number = without_separators(number)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*scale);
    }
    let (mantissa, _) = number.split_once(['e', 'E']).unwrap_or((&number, ""));
    let fraction = mantissa.split_once('.').map(|(_, fraction)| fraction);
    if fraction == Some("") || mantissa.is_empty() {
        return None;
    }
    let value = number.parse::<f64>().ok()? * *scale as f64;
    // A fraction of a byte or key is a mistake, and beyond 2^53 an f64 is not exact.
    let exact = value.fract() == 0.0 && value < (1u64 << 53) as f64;
    exact.then_some(value as u64)
}

/// The length of the number before its unit: `1.5` in `1.5M`, `1e6` in `1e6`.
fn number_end(text: &str) -> usize {
    let digits = |from: usize, also: &str| {
        let is_part = |c: char| c.is_ascii_digit() || also.contains(c);
        text[from..].find(|c| !is_part(c)).map_or(text.len(), |length| from + length)
    };
    let mantissa = digits(0, "_,.");
    match &text.as_bytes()[mantissa..] {
        [b'e' | b'E', b'0'..=b'9', ..] => digits(mantissa + 1, ""),
        [b'e' | b'E', b'+', b'0'..=b'9', ..] => digits(mantissa + 2, ""),
        _ => mantissa,
    }
}

/// A number without the underscores and commas between its digits. Commas separate groups of three:
/// in `1,5` one stands for a decimal point, and the number is not what it seems.
fn without_separators(number: &str) -> Option<String> {
    if let Some((first, groups)) = number.split_once(',') {
        let is_digits = |group: &str| group.bytes().all(|digit| digit.is_ascii_digit());
        let groups_are_whole = groups.split(',').all(|group| group.len() == 3 && is_digits(group));
        if !groups_are_whole || !(1..=3).contains(&first.len()) || !is_digits(first) {
            return None;
        }
    }
    Some(number.chars().filter(|digit| !matches!(digit, '_' | ',')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let texts = [0, 999, 1_000, 1_234_567, u64::MAX].map(count);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567", "18,446,744,073,709,551,615"]);
        assert_eq!([0, 1, 2].map(|n| counted(n, "key")), ["0 keys", "1 key", "2 keys"]);
    }

    #[test]
    fn memory_has_three_digits_and_a_unit() {
        let texts = [1, 999, 1_000, 1_196_032, 64_000_000, 999_999, u64::MAX].map(bytes);
        let expected =
            ["1 byte", "999 bytes", "1.00 kB", "1.20 MB", "64.0 MB", "1.00 MB", "18.4 EB"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn rates_are_percentages_or_powers_of_ten() {
        let texts = [0.0, 0.01, 0.5, 1.0, 0.000_123_4, 0.1, 1.2e-9].map(percentage);
        assert_eq!(texts, ["0%", "1%", "50%", "100%", "0.0123%", "10%", "1.2e-9"]);
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, expected) in [
            ("65536", 65_536),
            ("64kB", 64_000),
            ("64MB", 64_000_000),
            ("64 mb", 64_000_000),
            ("64m", 64_000_000),
            ("64MiB", 64 << 20),
            ("1.5GB", 1_500_000_000),
            ("0.5KiB", 512),
            (".5MB", 500_000),
        ] {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        for bad in ["", "MB", "-1", "1.", "1.0001kB", "64XB", "1e", "99999999TB", "1.5.2"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_parsed() {
        assert_eq!(parse_fpr("0.01"), Ok(0.01));
        assert_eq!(parse_fpr("1%"), Ok(0.01));
        assert_eq!(parse_fpr("1e-6"), Ok(1e-6));
        for bad in ["", "0", "1", "100%", "-0.1", "nan", "inf", "few"] {
            assert!(parse_fpr(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_are_parsed() {
        for (text, expected) in [
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1,000", 1_000),
            ("1,000,000", 1_000_000),
            ("1.5M", 1_500_000),
            ("1e6", 1_000_000),
            ("1.5E+6", 1_500_000),
            ("2e3k", 2_000_000),
        ] {
            assert_eq!(parse_count(text), Ok(expected), "{text}");
        }
        for bad in ["many", "0", "1,5M", "1,5", "1,0000", ",100", "1,000.5", "1e", "1e-6", "1e400"]
        {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }
}
