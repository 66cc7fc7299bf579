use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::Hyphenator;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// Hyphenates every word of a text again, after removing its hyphens.
fn hyphenate_again(language: Language, text: &str) {
    let hyphenator = Hyphenator::new(language);
    for word in text.split_whitespace() {
        assert_eq!(hyphenator.hyphenate(&word.replace('-', ""), "-"), word, "{language}");
    }
}

#[test]
fn packed_data_equal_the_source_files() {
    for language in Language::all() {
        let code = language.code();
        let mut expected =
            vec![fs::read_to_string(data(&format!("patterns/hyph-{code}.pat.txt"))).unwrap()];
        expected.extend(fs::read_to_string(data(&format!("patterns/hyph-{code}.hyp.txt"))));
        if language == Language::EnglishUs {
            expected.push(fs::read_to_string(data("ushyphex.tex")).unwrap());
        }
        let packed = language.packed_texts();
        assert!(packed.split('\0').eq(&expected), "{code}: run `cargo run --example pack`");
        assert_eq!(language.has_exceptions(), expected.len() > 1, "{code}");
    }
}

#[test]
fn packed_data_take_less_than_two_megabytes() {
    let size: usize = FACTS.iter().map(|facts| facts.packed.len() + facts.notice.len()).sum();
    assert!(size < 2_000_000, "{size}");
}

#[test]
fn every_language_is_well_formed_and_has_breaks_and_a_notice() {
    let readme = fs::read_to_string(data("README.md")).unwrap();
    for language in Language::all() {
        assert!(language.patterns().count() > 50, "{language}");
        assert_eq!(language.exceptions().is_empty(), !language.has_exceptions(), "{language}");
        assert!(language.notice().contains("opyright"), "{language}");
        let (left, right) = language.minima();
        let row = format!(
            "| {} | `{}` | {left}, {right} | {} |",
            language.name(),
            language.code(),
            language.licence()
        );
        assert!(readme.contains(&row), "data/README.md lacks {row:?}");
    }
}

#[test]
fn the_documented_number_of_languages_is_right() {
    let count = Language::all().len();
    for (file, text) in [
        ("../README.md", format!("`Language` has {count} of them")),
        ("../../../README.md", format!("patterns for {count} languages")),
    ] {
        assert!(fs::read_to_string(data(file)).unwrap().contains(&text), "{file}: {text}");
    }
}

#[test]
fn automata_of_large_languages_stay_small() {
    for (language, megabytes) in
        [(Language::EnglishUs, 2), (Language::German, 6), (Language::Hungarian, 8)]
    {
        let size = language.automaton().size_in_bytes();
        assert!(size < megabytes << 20, "{language}: {size} bytes");
    }
}

#[test]
fn words_of_many_languages_are_divided_as_expected() {
    hyphenate_again(
        Language::EnglishUs,
        "hy-phen-a-tion ex-ten-sive al-go-rithm wel-come con-cate-na-tion su-per-cal-ifrag-ilis-tic \
         as-so-ciate ta-ble project present Mass-a-chu-setts MASS-A-CHU-SETTS",
    );
    hyphenate_again(Language::EnglishGb, "hy-phen-a-tion ex-tens-ive");
    hyphenate_again(Language::German, "Sil-ben-tren-nung Fuß-ball Übun-gen");
    hyphenate_again(Language::French, "pa-ra-pluie élé-phant");
    hyphenate_again(Language::Spanish, "es-te-ri-li-za-ción");
    hyphenate_again(Language::Portuguese, "com-pu-ta-dor hi-fe-ni-za-ção");
    hyphenate_again(Language::Russian, "при-вет пе-ре-но-сы за-мо́к");
    hyphenate_again(Language::Turkish, "İs-tan-bul");
    hyphenate_again(Language::Hungarian, "szá-mí-tó-gép");
}

#[test]
fn tags_find_their_language() {
    for language in Language::all() {
        assert_eq!(language.code().parse(), Ok(language));
        assert_eq!(language.code().to_uppercase().replace('-', "_").parse(), Ok(language));
    }
    for (tag, code) in [
        ("en", "en-us"),
        ("en-CA", "en-us"),
        ("en-GB-oxendict", "en-gb"),
        ("en_NZ", "en-gb"),
        ("de", "de-1996"),
        ("de-DE", "de-1996"),
        ("de-CH", "de-1996"),
        ("de-DE-1901", "de-1901"),
        ("de-ch-1901", "de-ch-1901"),
        ("de-Latn-CH-1901", "de-ch-1901"),
        ("pt-BR", "pt"),
        ("fr-CA", "fr"),
        ("no", "nb"),
        ("nn-NO", "nn"),
        ("el-GR", "el-monoton"),
        ("el-polyton", "el-polyton"),
        ("fi-FI", "fi"),
        ("la-VA", "la"),
        ("mn", "mn-cyrl"),
        ("sr", "sh-cyrl"),
        ("sr-Latn-RS", "sh-latn"),
        ("zh-Latn", "zh-latn-pinyin"),
        ("zh-Latn-CN-pinyin", "zh-latn-pinyin"),
    ] {
        assert_eq!(Language::from_code(tag).map(Language::code), Ok(code), "{tag}");
    }
}

#[test]
fn the_nearest_code_is_suggested() {
    let nearest = |code| Language::from_code(code).unwrap_err().nearest.map(Language::code);
    assert_eq!(nearest("german"), Some("de-1996"));
    assert_eq!(nearest("hungarain"), Some("hu"));
    assert_eq!(nearest("frr"), Some("fr"));
    assert_eq!(nearest("zh-hans"), Some("zh-latn-pinyin"));
    assert_eq!(nearest("xla-classic"), Some("la-x-classic"));
    // Nothing is near.
    for code in ["qqq", "klingon", "xx-yy"] {
        assert_eq!(nearest(code), None, "{code}");
    }
    // A part of a code is not a code, and neither is the empty string.
    for code in ["1996", "", "-", "x", "und", "e"] {
        assert!(Language::from_code(code).is_err(), "{code}");
    }
}

#[test]
fn exceptions_of_english_are_found_in_every_case_and_later_lists_override() {
    let english = Hyphenator::new(Language::EnglishUs);
    let exceptions = Language::EnglishUs.exceptions();
    assert_eq!(exceptions.len(), 14 + 1753);
    for exception in &exceptions {
        let last = exceptions.iter().rfind(|other| other.word() == exception.word()).unwrap();
        let word = exception.word();
        let (first, rest) = word.split_at(1);
        for cased in [word.to_string(), word.to_uppercase(), first.to_uppercase() + rest] {
            let found = english.hyphenate(&cased, "-").to_lowercase();
            assert_eq!(found, last.to_string(), "{cased}");
        }
    }
}
