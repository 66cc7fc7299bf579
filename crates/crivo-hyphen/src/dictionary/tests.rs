use super::*;
use crate::Hyphenator;
use crate::text::Html;

fn divided(dictionary: &str, word: &str) -> String {
    let dictionary = Dictionary::parse(dictionary.as_bytes()).unwrap();
    Hyphenator::from_dictionary(dictionary).hyphenate(word, "-")
}

#[test]
fn only_the_longest_pattern_at_a_place_is_applied() {
    // "abc" says nothing about the gap that "c1d" would allow, because it does not end with it.
    assert_eq!(divided("UTF-8\nb1c\nab2cd\n", "xabcdx"), "xabcdx");
    assert_eq!(divided("UTF-8\nb1c\na1bcde\n", "xabcdx"), "xabcdx");
    assert_eq!(divided("UTF-8\nb1c\nc1d\n", "xabcdx"), "xab-c-dx");
}

#[test]
fn spelling_changes_at_a_break() {
    let hungarian = "UTF-8\ns3sz/sz=,1,1\nn3ny/ny=,1,1\n";
    assert_eq!(divided(hungarian, "asszonnyal"), "asz-szony-nyal");
    assert_eq!(divided(hungarian, "ASSZONNYAL"), "ASZ-SZONY-NYAL");
    assert_eq!(divided("UTF-8\nl\u{b7}1l/l=l,1,3\n", "paral\u{b7}lel"), "paral-lel");
    assert_eq!(divided("UTF-8\n.schif1fahrt/ff=f,5,2\n", "Schiffahrt"), "Schiff-fahrt");
    assert_eq!(divided("ISO8859-1\nc1k/k=k,1,2\n", "Zucker"), "Zuk-ker");
    // A stronger pattern without a change wins.
    assert_eq!(divided("UTF-8\nc1k/k=k,1,2\nuc3ke\n", "Zucker"), "Zuc-ker");
}

#[test]
fn minima_count_the_changed_spelling() {
    let rule = "a1atje./a=t,1,3\n";
    assert_eq!(divided(&format!("UTF-8\nLEFTHYPHENMIN 3\n{rule}"), "omaatje"), "oma-tje");
    assert_eq!(divided(&format!("UTF-8\nLEFTHYPHENMIN 4\n{rule}"), "omaatje"), "omaatje");
    assert_eq!(divided("UTF-8\nRIGHTHYPHENMIN 3\n1b\n", "cacabaca"), "caca-baca");
    assert_eq!(divided("UTF-8\nRIGHTHYPHENMIN 5\n1b\n", "cacabaca"), "cacabaca");
}

/// libhyphen does not look at the first byte of a word.
#[test]
fn a_break_after_the_first_letter_is_clipped_at_the_end_if_the_letter_is_wide() {
    let patterns = "LEFTHYPHENMIN 1\nRIGHTHYPHENMIN 2\n1b\n1\u{fe}\n";
    assert_eq!(divided(&format!("UTF-8\n{patterns}"), "\u{ed}\u{fe}"), "\u{ed}\u{fe}");
    assert_eq!(divided(&format!("UTF-8\n{patterns}"), "\u{ed}\u{fe}a"), "\u{ed}-\u{fe}a");
    assert_eq!(divided(&format!("UTF-8\n{patterns}"), "ab"), "a-b");
    assert_eq!(divided(&format!("UTF-8\n{patterns}"), "aba"), "a-ba");
}

#[test]
fn parts_of_compound_words_have_their_own_minima() {
    let text = |min: usize| format!("UTF-8\nCOMPOUNDLEFTHYPHENMIN {min}\nn1h\nNEXTLEVEL\n1b\n");
    // "hababa" is a part, whose first break is after two letters.
    assert_eq!(divided(&text(2), "babanhababa"), "ba-ban-ha-ba-ba");
    assert_eq!(divided(&text(3), "babanhababa"), "ba-ban-haba-ba");
    // As in libhyphen since 2.8.9, a part may be divided before its last letter.
    let all = "UTF-8\nCOMPOUNDLEFTHYPHENMIN 1\nCOMPOUNDRIGHTHYPHENMIN 1\na1b\nNEXTLEVEL\n1a\n";
    assert_eq!(divided(all, "bonabon"), "bon-a-bon");
    // Without a first level, apostrophes and hyphens divide a word, and no break is beside them.
    assert_eq!(divided("UTF-8\n1b\n", "bababa'bababa"), "ba-baba'baba-ba");
}

#[test]
fn soft_hyphens_never_change_the_spelling() {
    let dictionary = Dictionary::parse(b"UTF-8\n1to\ns3sz/sz=,1,1\n").unwrap();
    let hyphenator = Hyphenator::from_dictionary(dictionary);
    assert_eq!(hyphenator.hyphenate_text("asszonyto", "\u{ad}"), "asszony\u{ad}to");
    assert_eq!(
        hyphenator.hyphenate_text("Az asszonyto, asszony.", "|"),
        "Az asz|szony|to, asz|szony."
    );
    assert_eq!(hyphenator.hyphenate_html("<b>asszonyto", &Html::default()), "<b>asszony&shy;to");
    assert_eq!(hyphenator.with_minima(4, 2).hyphenate("asszonyto", "-"), "asszony-to");
}

#[test]
fn ligatures_and_composed_letters_are_those_of_the_patterns_or_their_parts() {
    // The patterns have the ligature, or only its letters.
    assert_eq!(divided("UTF-8\na1\u{fb01}\nf1i\n", "ba\u{fb01}b"), "ba-\u{fb01}b");
    assert_eq!(divided("UTF-8\na1f\ni1b\n", "ba\u{fb01}ba"), "ba-\u{fb01}-ba");
    assert_eq!(divided("UTF-8\na1\u{e9}\n", "bae\u{301}b"), "ba-e\u{301}b");
}

#[test]
fn a_middle_dot_is_a_letter_where_the_patterns_have_it() {
    let catalan = Dictionary::parse("UTF-8\nl\u{b7}9l/=,2,1\n1ra\n".as_bytes()).unwrap();
    let catalan = Hyphenator::from_dictionary(catalan);
    assert_eq!(catalan.hyphenate_text("Paral\u{b7}lel, ara", "-"), "Pa-ral-lel, ara");
    let other = Hyphenator::from_dictionary(Dictionary::parse(b"UTF-8\n1ra\nl1l\n").unwrap());
    assert_eq!(other.hyphenate_text("para\u{b7}ra", "-"), "pa-ra\u{b7}ra");
}

#[test]
fn other_files_are_refused() {
    assert!(Dictionary::parse(b"").is_err());
    assert!(Dictionary::parse(b"UTF-8\n").is_err());
    assert!(Dictionary::parse(b"martian\n1a\n").is_err());
}
