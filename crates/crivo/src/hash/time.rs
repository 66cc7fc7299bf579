//! Dates and moments from text, in the Gregorian calendar and in UTC.

use super::encoding::TimeUnit;

/// Days since 1970-01-01, of `YYYY-MM-DD`. Years may have a sign, and up to seven digits.
pub(super) fn parse_date(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (year, month_and_day) = digits.split_once('-')?;
    let (month, day) = month_and_day.split_once('-')?;
    if !(4..=7).contains(&year.len()) {
        return None;
    }
    let year = number(year, year.len())?;
    let year = if is_negative { -year } else { year };
    let (month, day) = (number(month, 2)?, number(day, 2)?);
    let is_valid = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
    is_valid.then(|| days_since_epoch(year, month, day))
}

/// Units since 1970-01-01T00:00:00Z, of a date, a time and a zone, such as
/// `2026-01-31T12:30:00.25+01:00`. Without a time it is midnight, without a zone UTC.
pub(super) fn parse_timestamp(text: &str, unit: TimeUnit) -> Option<i64> {
    let Some(end) = text.find(['T', 't', ' ']) else {
        return at(parse_date(text)?, 0, "", unit);
    };
    let (date, time) = (parse_date(&text[..end])?, &text[end + 1..]);
    let zone_start = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone_start);
    let (time, fraction) = match time.split_once('.') {
        Some((time, fraction)) if !fraction.is_empty() => (time, fraction),
        Some(_) => return None,
        None => (time, ""),
    };
    let mut parts = time.split(':').map(|part| number(part, 2));
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = match parts.next() {
        Some(seconds) => seconds?,
        None if fraction.is_empty() => 0,
        None => return None,
    };
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    at(date, 3600 * hours + 60 * minutes + seconds - zone_offset(zone)?, fraction, unit)
}

/// A moment in units, or `None` if the unit cannot tell it.
fn at(date: i64, seconds: i64, fraction: &str, unit: TimeUnit) -> Option<i64> {
    let digits = unit.digits() as usize;
    let significant = fraction.trim_end_matches('0');
    if significant.len() > digits || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let power = |digits| 10i64.pow(digits as u32);
    let part = match significant.len() {
        0 => 0,
        length => number(significant, length)? * power(digits - length),
    };
    (86_400 * date + seconds).checked_mul(power(digits))?.checked_add(part)
}

/// The seconds that a zone is ahead of UTC.
fn zone_offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first() {
        None => return Some(0),
        Some(b'Z' | b'z') => return (zone.len() == 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = match &zone[1..] {
        hours if hours.len() == 2 => (hours, "00"),
        both => both.split_once(':').or_else(|| both.split_at_checked(2))?,
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (3600 * hours + 60 * minutes))
}

/// A number of exactly this many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Years are counted from March on, so that a leap day is the last of its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    const EPOCH: i64 = 719_468;
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn days_follow_each_other() {
        let mut expected = parse_date("-0004-01-01").unwrap();
        for year in -4..=2404 {
            for month in 1..=12 {
                for day in 1..=days_of_month(year, month) {
                    let sign = if year < 0 { "-" } else { "" };
                    let text = format!("{sign}{:04}-{month:02}-{day:02}", year.abs());
                    assert_eq!(parse_date(&text), Some(expected), "{text}");
                    expected += 1;
                }
            }
        }
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2026-01-31", 20_484),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(parse_date(text), Some(days), "{text}");
        }
    }

    #[test]
    fn moments_have_units_and_zones() {
        let second = |text| parse_timestamp(text, TimeUnit::Second);
        let expected = Some(1_769_862_600);
        for text in [
            "2026-01-31T12:30:00Z",
            "2026-01-31 12:30:00",
            "2026-01-31T12:30",
            "2026-01-31 12:30:00.000+00",
            "2026-01-31T13:30:00+01:00",
            "2026-01-31t07:00:00-0530",
        ] {
            assert_eq!(second(text), expected, "{text}");
        }
        assert_eq!(second("1969-12-31T23:59:59Z"), Some(-1));
        assert_eq!(second("2026-01-31"), Some(1_769_862_600 - 45_000));
        for (unit, units) in [
            (TimeUnit::Millisecond, 1_769_862_600_250),
            (TimeUnit::Microsecond, 1_769_862_600_250_000),
            (TimeUnit::Nanosecond, 1_769_862_600_250_000_000),
        ] {
            assert_eq!(parse_timestamp("2026-01-31T12:30:00.25Z", unit), Some(units));
        }
        assert_eq!(parse_timestamp("1969-12-31 23:59:59.5", TimeUnit::Millisecond), Some(-500));
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "-",
            "26-01-31",
            "2026-1-31",
            "2026-01-32",
            "2026-02-29",
            "1900-02-29",
            "2026-00-01",
            "2026-13-01",
            "2026-01-00",
            "2026-01-31x",
            "20260131",
            "2026-01-+1",
            "١٩٧٠-01-01",
            "99999999-01-01",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
            assert_eq!(parse_timestamp(text, TimeUnit::Nanosecond), None, "{text}");
        }
        for text in [
            "2026-01-31T",
            "2026-01-31T12",
            "2026-01-31T24:00",
            "2026-01-31T12:60",
            "2026-01-31T12:30:60",
            "2026-01-31T12:30:00.",
            "2026-01-31T12:30.5",
            "2026-01-31T12:30:00.5555",
            "2026-01-31T1:30",
            "2026-01-31T12:30:00ZZ",
            "2026-01-31T12:30:00+",
            "2026-01-31T12:30:00+1",
            "2026-01-31T12:30:00+24:00",
            "2026-01-31T12:30:00 Z",
            "2026-01-31T12:30:00.x",
        ] {
            assert_eq!(parse_timestamp(text, TimeUnit::Millisecond), None, "{text}");
        }
        // Beyond 64 bits.
        assert_eq!(parse_timestamp("9999-12-31", TimeUnit::Nanosecond), None);
    }
}
