use std::io::{self, Read};
use std::sync::LazyLock;

use proptest::prelude::*;

use super::words::MAX_TOKEN_LENGTH;
use super::*;
use crate::exceptions::MemoryExceptions;
use crate::{Automaton, Exception, Language, Patterns};

/// Divides before every letter: the strictest test of what must not be changed.
static EVERYWHERE: LazyLock<Hyphenator> = LazyLock::new(|| {
    let letters = ('a'..='z').chain("\u{e9}\u{df}\u{436}\u{3b1}\u{915}".chars());
    let patterns: String = letters.map(|letter| format!("1{letter} ")).collect();
    Hyphenator::from_patterns(&Patterns::parse(&patterns).unwrap()).with_minima(1, 1)
});

static ENGLISH: LazyLock<Hyphenator> = LazyLock::new(|| Hyphenator::new(Language::EnglishUs));

/// The input is the expected output without its dots.
fn divides(hyphenator: &Hyphenator, expected: &str) {
    let text = expected.replace('\u{b7}', "");
    assert_eq!(hyphenator.hyphenate_text(&text, "\u{b7}"), expected);
    assert_eq!(hyphenator.hyphenate_bytes(text.as_bytes(), "\u{b7}"), expected.as_bytes());
}

/// The same for a page.
fn divides_html(expected: &str) {
    let page = expected.replace('\u{b7}', "");
    let options = Html { separator: "\u{b7}", language: Some("en"), ..Html::default() };
    assert_eq!(EVERYWHERE.hyphenate_html(&page, &options), expected);
    assert_eq!(
        EVERYWHERE.hyphenate_html_bytes(page.as_bytes(), &options).unwrap().bytes,
        expected.as_bytes()
    );
}

#[test]
fn words_are_divided_and_gaps_are_not() {
    for expected in [
        "",
        "  \n\t ",
        "ab",
        "(a\u{b7}b\u{b7}c), a\u{b7}b!",
        "\u{201c}a\u{b7}b.\u{201d}\u{2014}a\u{b7}b\u{2026}a\u{b7}b",
        "_a\u{b7}b_ **a\u{b7}b** a\u{b7}b:a\u{b7}b",
        "a\u{b7}b\u{a0}a\u{b7}b\u{3000}a\u{b7}b",
    ] {
        divides(&EVERYWHERE, expected.trim_end_matches("ab"));
    }
}

#[test]
fn apostrophes_and_hyphens_stand_between_words() {
    divides(
        &EVERYWHERE,
        "a\u{b7}b'a\u{b7}b\u{2019}a\u{b7}b-a\u{b7}b\u{2010}a\u{b7}b\u{2011}a\u{b7}b",
    );
    // The minima apply on both sides of a hyphen: "co-op-erate" has no break in "op".
    divides(&ENGLISH, "well-known self-ev\u{b7}i\u{b7}dent co-op");
    divides(
        &ENGLISH,
        "The Mass\u{b7}a\u{b7}chu\u{b7}setts-based gov\u{b7}ern\u{b7}ment\u{2019}s, don\u{2019}t",
    );
}

#[test]
fn words_with_apostrophes_may_be_listed_as_one() {
    let list = Exception::parse_list("aujour-d'hui rock'n'r-oll pres-qu\u{2019}\u{ee}le").unwrap();
    let patterns = Patterns::parse("1i 1o").unwrap();
    let folded = Hyphenator::from_automaton(Automaton::with_exceptions(&patterns, &list));
    let added = Hyphenator::from_patterns(&patterns).with_exceptions(MemoryExceptions::new(list));
    for hyphenator in [folded, added].map(|hyphenator| hyphenator.with_minima(1, 1)) {
        divides(&hyphenator, "'Aujour\u{b7}d'hui', ROCK'N'R\u{b7}OLL pres\u{b7}qu\u{2019}\u{ee}le");
        // The patterns apply to every other word: one more or less.
        divides(&hyphenator, "aujour\u{b7}d\u{2019}hui l'auj\u{b7}ourd'hu\u{b7}i auj\u{b7}ourd'");
        divides(
            &hyphenator,
            "auj\u{b7}ourd'1 auj\u{b7}ourd''hu\u{b7}i auj\u{b7}ourd' hu\u{b7}i r\u{b7}ock'n",
        );
    }
    // A token full of apostrophes takes linear time.
    let text = "a'".repeat(MAX_TOKEN_LENGTH / 2);
    assert_eq!(ENGLISH.hyphenate_text(&text, "-"), text);
}

#[test]
fn words_with_soft_hyphens_or_digits_are_not_changed() {
    divides(&EVERYWHERE, "so\u{ad}ft \u{ad}soft soft\u{ad} a\u{b7}b-so\u{ad}ft-a\u{b7}b");
    divides(&EVERYWHERE, "mp3 2nd h2o a\u{b7}b-19 \u{bd}cup 42");
}

#[test]
fn addresses_and_code_are_not_changed() {
    divides(&EVERYWHERE, "a\u{b7}b http://example.org/path?query=text#part a\u{b7}b");
    divides(&EVERYWHERE, "(some.one@example.org), www.example.org. /usr/lib C:\\Temp a\u{b7}b");
    divides(&EVERYWHERE, "snake_case `code` #tag $HOME std::fmt readme.txt e.g. and/or");
    // Parts between white space beyond ASCII are checked separately.
    divides(
        &EVERYWHERE,
        "a\u{b7}b\u{a0}http://example.org/a\u{a0}a\u{b7}b.\u{2003}e.g.\u{2003}a\u{b7}b",
    );
}

#[test]
fn marks_stay_with_their_letters() {
    divides(&EVERYWHERE, "a\u{b7}e\u{301}\u{b7}a \u{e9}\u{b7}a\u{b7}\u{df} \u{436}\u{b7}\u{436}");
    let text = "e\u{301}ta\u{308}t\u{327}";
    assert_eq!(words_and_gaps(text).collect::<Vec<_>>(), [Piece::Word(text)]);
    // A mark without a letter, as in an emoji, begins no word.
    let emoji = "\u{2764}\u{fe0f}love";
    let pieces = [Piece::Gap("\u{2764}\u{fe0f}"), Piece::Word("love")];
    assert_eq!(words_and_gaps(emoji).collect::<Vec<_>>(), pieces);
    // Devanagari has vowel signs and a virama, joiners are inside of words.
    let hindi = "\u{915}\u{94d}\u{200d}\u{937}\u{93f}";
    assert_eq!(words_and_gaps(hindi).collect::<Vec<_>>(), [Piece::Word(hindi)]);
}

#[test]
fn words_and_gaps_alternate() {
    let pieces: Vec<_> = words_and_gaps("one, two").collect();
    assert_eq!(pieces, [Piece::Word("one"), Piece::Gap(", "), Piece::Word("two")]);
    let pieces: Vec<_> = words_and_gaps(" 1st a.b ").collect();
    assert_eq!(pieces, [Piece::Gap(" 1st a.b ")]);
    assert_eq!(words_and_gaps("").next(), None);
}

#[test]
fn tokens_with_invalid_utf8_are_copied() {
    let out = EVERYWHERE.hyphenate_bytes(b"ab c\xe9ab ab\xff ab", ".");
    assert_eq!(out, b"a.b c\xe9ab ab\xff a.b");
    assert_eq!(EVERYWHERE.hyphenate_bytes(b"\xff", "."), b"\xff");
    assert_eq!(EVERYWHERE.hyphenate_bytes(b"ab \xe2\x82", "."), b"a.b \xe2\x82");
}

/// A reader that gives a few bytes at a time, and is interrupted in between.
struct Trickle<'b> {
    bytes: &'b [u8],
    step: usize,
    interrupted: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = self.step.min(buffer.len());
        self.bytes.read(&mut buffer[..count])
    }
}

fn streamed(bytes: &[u8], step: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let reader = Trickle { bytes, step, interrupted: false };
    EVERYWHERE.hyphenate_stream(reader, &mut out, "\u{b7}", Some(Encoding::UTF_8)).unwrap();
    out
}

#[test]
fn a_stream_gives_the_same_result_as_a_text() {
    let text = "ab, ab@ab caf\u{e9} \u{a0}ab ".repeat(40_000);
    let whole = EVERYWHERE.hyphenate_bytes(text.as_bytes(), "\u{b7}");
    for step in [777, 4096, usize::MAX] {
        assert_eq!(streamed(text.as_bytes(), step), whole, "{step}");
    }
    assert_eq!(streamed(b"", 1), b"");
}

#[test]
fn tokens_that_are_too_long_are_not_changed() {
    for length in [
        MAX_TOKEN_LENGTH - 1,
        MAX_TOKEN_LENGTH,
        MAX_TOKEN_LENGTH + 1,
        MAX_TOKEN_LENGTH + 2,
        300_000,
    ] {
        for before in ["", "ab "] {
            let token = "ab-".repeat(length).split_off(2 * length);
            let text = format!("{before}{token} ab {token}\nab");
            let whole = EVERYWHERE.hyphenate_bytes(text.as_bytes(), "\u{b7}");
            for step in [60_000, usize::MAX] {
                assert!(streamed(text.as_bytes(), step) == whole, "{length} {before:?} {step}");
            }
            let divided = whole.len() - text.len() > 100;
            assert_eq!(divided, length <= MAX_TOKEN_LENGTH, "{length}");
        }
    }
}

#[test]
fn tags_are_not_changed() {
    divides_html("<p class='abc' title=\"a > b\">a\u{b7}b<br/>a\u{b7}b</p>");
    divides_html("<!DOCTYPE html><!-- abc --> a\u{b7}b <!--> a\u{b7}b <!-- a -- b > c -->a\u{b7}b");
    divides_html("<?xml version=\"1.0\"?><![CDATA[ab > ab]]> a\u{b7}b </ab> </ ab> a\u{b7}b");
    divides_html("a\u{b7}b < a\u{b7}b <3 &amp;&amp; a\u{b7}b");
    divides_html("a\u{b7}b <unfinished tag ab ab");
    divides_html("a\u{b7}b <a href=\"unfinished ab> ab");
    divides_html("<a href=http://ab/ab ab>a\u{b7}b</a> <img alt='ab' src = \"ab\"> a\u{b7}b");
}

#[test]
fn code_and_similar_elements_are_not_changed() {
    divides_html("a\u{b7}b <code>ab <b>ab</b> ab</code> a\u{b7}b");
    divides_html("<PRE>ab <code>ab</code> ab</pre>a\u{b7}b <kbd>ab</KBD> <samp>ab</samp>");
    divides_html("<script>if (ab < ab) \"<b>\" </b> ab</script >a\u{b7}b");
    divides_html("<style>ab { }</style><title>ab</title><textarea>ab <p> ab</textarea>a\u{b7}b");
    // Only an end tag ends a script, and one after `<!--` and `<script` does not.
    divides_html("<script src='x'/> ab");
    divides_html("<script><!-- ab <script></script> ab --></script> a\u{b7}b");
    divides_html("<script><!-- ab --> <script></script> a\u{b7}b");
    divides_html("<script src='x'> ab");
    divides_html("<p class=\"x nohyphen\">ab <b>ab</b></p> a\u{b7}b <i translate=no>ab</i>");
    // Omitted and wrong end tags.
    divides_html(
        "<p class=nohyphen>ab<p>a\u{b7}b<ul><li class=nohyphen>ab<li>a\u{b7}b</ul>a\u{b7}b",
    );
    divides_html("<div><p translate=no>ab</div>a\u{b7}b <code>ab</b>ab</code></code> a\u{b7}b");
    divides_html("<table><tr><td class=nohyphen>ab<th>a\u{b7}b<tr><td>a\u{b7}b</table>");
    divides_html("<hr class=nohyphen>a\u{b7}b <select><option>ab<option>ab</select> a\u{b7}b");
}

#[test]
fn tags_end_only_the_elements_that_the_standard_says() {
    divides_html("<p><code>ab<br>ab</code> a\u{b7}b</p>");
    for inside in ["select", "option", "template", "legend", "span", "label"] {
        let page = format!("<p class=nohyphen>ab<{inside}>ab</{inside}>ab</p>a\u{b7}b");
        divides_html(&page);
    }
    // A formatting element that was not closed is opened again in the next paragraph.
    divides_html("<p><code>ab<p>ab</code> a\u{b7}b");
    divides_html("<table><tr lang=fr><td>ab<tr><td>a\u{b7}b</table>");
    divides_html("<table class=nohyphen><tr><td>ab</table> <table class=nohyphen>a\u{b7}b</table>");
    // Of two attributes the first one counts.
    divides_html("<i lang=en lang=fr>a\u{b7}b</i> <i class=x class=nohyphen>a\u{b7}b</i>");
    divides_html("<i lang=fr lang=en>ab</i> <i translate=no translate=yes>ab</i>");
    divides_html("<p translate=no>ab <i translate=yes>a\u{b7}b</i> ab");
}

#[test]
fn notes_are_not_part_of_a_word() {
    divides_html("a\u{b7}b<sup>1</sup> a\u{b7}b<a href=x><sup>2</sup></a>, a\u{b7}b<sub>i</sub>");
    divides(&EVERYWHERE, "a\u{b7}b\u{b2} a\u{b7}b\u{b9}\u{2070}, a\u{b7}b\u{2074}");
}

#[test]
fn ligatures_are_matched_as_their_letters_and_kept() {
    divides(&ENGLISH, "of\u{b7}\u{fb01}ce"); // of-fice
    divides(&Hyphenator::new(Language::Dutch), "vr\u{133}\u{b7}heid");
    // A word joiner is inside of a word, and forbids a break.
    divides(&ENGLISH, "hy\u{2060}phen\u{b7}a\u{b7}tion hy\u{b7}phen\u{b7}a\u{b7}ti\u{2060}on");
}

#[test]
fn apostrophes_are_letters_where_the_patterns_have_them() {
    for (language, expected) in [
        (Language::Italian, "del\u{b7}l'a\u{b7}mo\u{b7}re del\u{b7}l\u{2019}a\u{b7}mo\u{b7}re"),
        (Language::French, "au\u{b7}jour\u{b7}d'hui au\u{b7}jour\u{b7}d\u{2019}hui"),
    ] {
        divides(&Hyphenator::new(language), expected);
    }
    let joining: Vec<&str> = Language::all()
        .filter(|&language| Hyphenator::new(language).joins_apostrophes())
        .map(Language::code)
        .collect();
    assert_eq!(
        joining,
        [
            "af",
            "sq",
            "be",
            "fr",
            "fur",
            "grc",
            "el-monoton",
            "el-polyton",
            "it",
            "oc",
            "pms",
            "rm",
            "uk"
        ]
    );
}

#[test]
fn languages_switch_inside_a_page() {
    let find = |tag: &str| Some(Hyphenator::new(Language::from_code(tag).ok()?));
    let options =
        Html { separator: "-", language: Some("en-us"), languages: Some(&find), ..Html::default() };
    let page = "<p>Extensive <i lang=it>dell'amore <b lang=en-GB>extensive</b> amore</i> \
                <i lang=xx>extensive</i> <i lang=''>extensive</i> <i lang=en>extensive</i>";
    let expected = "<p>Ex-ten-sive <i lang=it>del-l'a-mo-re <b lang=en-GB>ex-tens-ive</b> amo-re</i> \
                    <i lang=xx>extensive</i> <i lang=''>extensive</i> <i lang=en>ex-ten-sive</i>";
    let found = ENGLISH.hyphenate_html_bytes(page.as_bytes(), &options).unwrap();
    assert_eq!(String::from_utf8(found.bytes).unwrap(), expected);
    assert_eq!(found.skipped_languages, ["xx", ""]);
}

#[test]
fn pages_in_other_encodings_keep_every_byte() {
    let french = Hyphenator::new(Language::French);
    let head =
        b"<html><head><meta http-equiv=Content-Type content='text/html; charset=ISO-8859-1'>\
        <p title='\xe9l\xe9phant'>";
    let page = [&head[..], b"\xc9l\xe9phant &eacute;l\xe9phant \xa0\xe9l\xe9phants"].concat();
    let found = french.hyphenate_html_bytes(&page, &Html::default()).unwrap().bytes;
    let body = b"\xc9l\xe9&shy;phant &eacute;l\xe9phant \xa0\xe9l\xe9&shy;phants";
    assert_eq!(found, [&head[..], body].concat());
    // UTF-8 and a name for it may be contradicted by bytes, a page without a name may not.
    let named = french.hyphenate_html_bytes(b"<meta charset=utf-8>\xff", &Html::default());
    assert_eq!(named.unwrap().bytes, b"<meta charset=utf-8>\xff");
    let unnamed = french.hyphenate_html_bytes(b"<p>\xff", &Html::default());
    assert_eq!(unnamed, Err(EncodingError::NotUtf8 { offset: 3, byte: 0xff }));
    for label in ["utf-16", "shift_jis", "gbk", "big5", "iso-2022-jp", "martian"] {
        let page = format!("<?xml version='1.0' encoding='{label}'?><p>a");
        let found = french.hyphenate_html_bytes(page.as_bytes(), &Html::default());
        // In ASCII, UTF-16 cannot be meant.
        assert_eq!(found.is_err(), label != "utf-16", "{label}");
    }
    assert!(french.hyphenate_html_bytes(b"\xff\xfe<\0p\0", &Html::default()).is_err());
}

#[test]
fn a_slash_closes_an_element_only_in_xml() {
    divides_html("<p><span class=nohyphen /> ab</p> a\u{b7}b <pre class=a/>ab</pre> a\u{b7}b");
    divides_html("<pre />ab</pre> a\u{b7}b <svg/> a\u{b7}b");
    divides_html(&format!("<svg>{}ab</svg> a\u{b7}b", "<path d='x'/>".repeat(1000)));
    divides_html("<?xml version='1.0'?><p><span class=\"nohyphen\"/> a\u{b7}b</p>");
    divides_html("<?xml version='1.0'?><script src=\"x\"/>a\u{b7}b<script>ab</script>");
    divides_html("<?xml version='1.0'?><pre class=a/>ab</pre>a\u{b7}b");
}

#[test]
fn other_languages_are_not_changed() {
    divides_html(
        "<html lang=en-GB>a\u{b7}b <i lang='fr'>ab <b lang=EN>a\u{b7}b</b> ab</i> a\u{b7}b",
    );
    divides_html("<i lang=de><code lang=en>ab</code></i> <i lang=''>ab</i>");
    let bokmal = Html { separator: "-", language: Some("nb"), ..Html::default() };
    assert_eq!(
        EVERYWHERE.hyphenate_html("<html lang=no>ab <i lang=nn>ab</i> <i lang=zz>ab</i>", &bokmal),
        "<html lang=no>a-b <i lang=nn>ab</i> <i lang=zz>ab</i>"
    );
    let any = Html { separator: "-", ..Html::default() };
    assert_eq!(EVERYWHERE.hyphenate_html("<i lang=de>ab</i>", &any), "<i lang=de>a-b</i>");
}

#[test]
fn parts_of_words_are_not_changed() {
    divides_html("ab<b>ab</b> <b>ab</b>ab a\u{b7}b, <b>a\u{b7}b</b>, a\u{b7}b");
    divides_html("ab<i></i><!-- --><b>ab</b> a<wbr>b ab<code>x</code>");
    divides_html("<b>a\u{b7}b</b>\u{2014}a\u{b7}b <b>\u{e9}b</b>\u{e9}b");
    divides_html("a\u{b7}b<p>a\u{b7}b</p>a\u{b7}b<br>a\u{b7}b<td>a\u{b7}b");
    divides_html("(<b>a\u{b7}b</b>), <b>a\u{b7}b.</b><i>a\u{b7}b</i>:<i>a\u{b7}b</i>");
    // Nor are parts of addresses, but adjacent words are hyphenated.
    divides_html(
        "a\u{b7}b https://example.org/<wbr>abc <b>www.example.org/</b><i>abc</i> a\u{b7}b",
    );
    divides_html("www.example.org/<b>abc</b><br>a\u{b7}b<p>example.org/</p>a\u{b7}b");
}

#[test]
fn words_with_entities_are_not_changed() {
    divides_html("caf&eacute;ab ab&#233;ab ab&#xE9;ab so&shy;ft ab&eacute ab&unknown;ab");
    divides_html(
        "a\u{b7}b&nbsp;a\u{b7}b&mdash;a\u{b7}b&rsquo;a\u{b7}b &quot;a\u{b7}b&quot; &#8220;a\u{b7}b",
    );
    divides_html("http://ab.ab/?ab=ab&amp;ab &lt;ab&gt; AT&T & a\u{b7}b &; a\u{b7}b &#; &#x;");
}

#[test]
fn an_apostrophe_written_as_an_entity_divides_words_as_the_character_does() {
    let own = Hyphenator::new(Language::EnglishUs)
        .with_exceptions(MemoryExceptions::new(Exception::parse_list("don't-ever").unwrap()));
    let languages = [Language::Italian, Language::French, Language::Catalan].map(Hyphenator::new);
    let text = "<p>Dell\u{2019}amore, l\u{2019}amour d\u{2019}aujourd\u{2019}hui. Don\u{2019}tever \
                l\u{2019}<b>amour</b> \u{2019}amore\u{2019} dell\u{2019}\u{2019}amore l\u{2019}2nd \
                paral\u{2019}lel dell\u{2019}\n";
    for (sign, entities) in [
        (
            "\u{2019}",
            &["&rsquo;", "&#8217;", "&#x2019;", "&rsquor;", "&#39;", "&apos;", "&#0039;"][..],
        ),
        ("\u{b7}", &["&middot;", "&#183;", "&#xb7;", "&centerdot;"]),
    ] {
        let text = text.replace('\u{2019}', sign);
        for hyphenator in languages.iter().chain([&own, &*EVERYWHERE]) {
            let page = hyphenator.hyphenate_html(&text, &Html::default());
            let markdown = hyphenator.hyphenate_markdown(&text, "&shy;");
            for entity in entities {
                let written = text.replace(sign, entity);
                assert_eq!(
                    hyphenator.hyphenate_html(&written, &Html::default()),
                    page.replace(sign, entity)
                );
                assert_eq!(
                    hyphenator.hyphenate_markdown(&written, "&shy;"),
                    markdown.replace(sign, entity)
                );
            }
        }
    }
    let italian = languages[0].hyphenate_html("dell&rsquo;amore", &Html::default());
    assert_eq!(italian, "del&shy;l&rsquo;a&shy;mo&shy;re");
    let french = languages[1].hyphenate_html("aujourd&#8217;hui", &Html::default());
    assert_eq!(french, "au&shy;jour&shy;d&#8217;hui");
    let latin1 = Html { encoding: Encoding::from_label("latin1").ok(), ..Html::default() };
    let page = languages[0].hyphenate_html_bytes(b"\xe9 dell&rsquo;amore", &latin1).unwrap();
    assert_eq!(page.bytes, b"\xe9 del&shy;l&rsquo;a&shy;mo&shy;re");
    assert_eq!(own.hyphenate_html("don&apos;tever", &Html::default()), "don&apos;t&shy;ever");
}

#[test]
fn templates_are_not_changed() {
    divides_html("a\u{b7}b {{ ab }} {% if ab %}<p>a\u{b7}b{% endif %} <% ab %> ${ab} a\u{b7}b");
    divides_html(
        "<a href='{{ \"ab>\" }}'>a\u{b7}b</a> ab{{ x }}ab {{ '<code>' }} a\u{b7}b {{ a\u{b7}b",
    );
    divides_html("<table>{% for ab %}<tr lang=fr><td>ab</tr>{% end %}</table>");
}

#[test]
fn soft_hyphens_are_removed_from_text_alone() {
    let page = "<p title='a&shy;\u{ad}b'>a&shy;b\u{ad}c&#173;d&#xAD;e<!-- \u{ad} --><script>\u{ad}</script>";
    let expected = "<p title='a&shy;\u{ad}b'>abcde<!-- \u{ad} --><script>\u{ad}</script>";
    let found = remove_soft_hyphens_from_html(page.as_bytes(), None).unwrap();
    assert_eq!(String::from_utf8(found).unwrap(), expected);
    let latin1 = Some(Encoding::from_label("latin1").unwrap());
    assert_eq!(remove_soft_hyphens_from_bytes(b"a\xadb\xe9", latin1).unwrap(), b"ab\xe9");
    // What was inserted is removed again.
    let text = "Hyphenation of hyphenation.";
    assert_eq!(remove_soft_hyphens(&ENGLISH.hyphenate_text(text, "\u{ad}")), text);
}

#[test]
fn hostile_pages_take_linear_time() {
    let page = "<b>".repeat(50_000) + &"</i>".repeat(50_000) + "ab";
    assert!(EVERYWHERE.hyphenate_html(&page, &Html::default()).ends_with("</i>a&shy;b"));
    // Elements that are opened again in every paragraph, and end tags that close nothing: from some
    // place on, such a page is not changed.
    let many: String = (0..2000).map(|number| format!("<b id={number}>")).collect();
    let page = format!("<p>{many}{}ab", "<p>x".repeat(100_000));
    assert_eq!(EVERYWHERE.hyphenate_html(&page, &Html::default()), page);
    let page = format!("<i><div>{}{}ab", "<span>".repeat(50_000), "</i>".repeat(50_000));
    assert!(EVERYWHERE.hyphenate_html(&page, &Html::default()).starts_with("<i><div><span>"));
    // Raw elements without an end tag: it is searched once, not at every tag.
    for tag in ["<script/></a>", "<title/></a>"] {
        let page = tag.repeat(200_000) + "ab";
        assert_eq!(EVERYWHERE.hyphenate_html(&page, &Html::default()), page);
    }
}

/// Text with everything that is treated specially, close together.
fn difficult_text() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "a",
        "b",
        "ab",
        "\u{e9}",
        "e\u{301}",
        "\u{436}",
        " ",
        "\n",
        "\u{a0}",
        "'",
        "-",
        "\u{ad}",
        "\u{2019}",
        "1",
        ".",
        "/",
        "@",
        "_",
        ":",
        "<",
        ">",
        "&",
        ";",
        "#",
        "\"",
        "=",
        "!",
        "--",
        "<b>",
        "</b>",
        "<p>",
        "<code>",
        "</code>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "&shy;",
        "&nbsp;",
        "&eacute;",
        "&#",
        " lang=",
        "\u{4e00}",
        "\u{200d}",
        "\u{1f600}",
    ]);
    prop_oneof![prop::collection::vec(bits, 0..60).prop_map(|bits| bits.concat()), any::<String>(),]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        rng_seed: prop::test_runner::RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn without_separators_the_text_is_unchanged(text in difficult_text()) {
        // A separator that is in no text.
        let text = text.replace('\u{b7}', "");
        prop_assert_eq!(EVERYWHERE.hyphenate_text(&text, "\u{b7}").replace('\u{b7}', ""), &*text);
        let options = Html { separator: "\u{b7}", language: Some("en"), ..Html::default() };
        let page = EVERYWHERE.hyphenate_html(&text, &options);
        prop_assert_eq!(page.replace('\u{b7}', ""), &*text);
        let whole: String = words_and_gaps(&text).map(Piece::as_str).collect();
        prop_assert_eq!(whole, text);
    }

    #[test]
    fn bytes_and_streams_give_the_same_result_as_text(
        mut bytes in difficult_text().prop_map(String::into_bytes),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        step in 1usize..50,
    ) {
        if let (Some((at, byte)), false) = (damage, bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let divided = EVERYWHERE.hyphenate_bytes(&bytes, "\u{b7}");
        prop_assert_eq!(&streamed(&bytes, step), &divided);
        let options = Html { separator: "", encoding: Some(Encoding::UTF_8), ..Html::default() };
        let page = EVERYWHERE.hyphenate_html_bytes(&bytes, &options).unwrap();
        prop_assert_eq!(&page.bytes, &bytes);
        if let Ok(text) = str::from_utf8(&bytes) {
            prop_assert_eq!(EVERYWHERE.hyphenate_text(text, "\u{b7}").into_bytes(), divided);
        }
    }

    #[test]
    fn words_consist_of_letters(text in difficult_text()) {
        let mut last_was_word = None;
        for piece in words_and_gaps(&text) {
            let is_word = matches!(piece, Piece::Word(_));
            prop_assert_ne!(last_was_word.replace(is_word), Some(is_word), "they alternate");
            prop_assert!(!piece.as_str().is_empty());
            if let Piece::Word(word) = piece {
                prop_assert!(word.chars().next().is_some_and(char::is_alphabetic));
                prop_assert!(word.chars().all(super::words::joins));
                let barred = word.contains(['\u{ad}', '1']);
                prop_assert!(!barred);
            }
        }
    }
}
