//! The names of elements, as numbers, and the groups that HTML's rules distinguish.

use std::collections::HashMap;

/// The name of an element, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Name(u32);

macro_rules! names {
    ($($constant:ident $text:literal)*) => {
        /// In alphabetical order.
        const KNOWN: &[&str] = &[$($text),*];

        impl Name {
            $(pub(super) const $constant: Name = Name::at($text);)*
        }
    };
}

names! {
    A "a" ADDRESS "address" ANNOTATION_XML "annotation-xml" APPLET "applet" AREA "area"
    ARTICLE "article" ASIDE "aside" B "b" BASE "base" BASEFONT "basefont" BGSOUND "bgsound"
    BIG "big" BLOCKQUOTE "blockquote" BODY "body" BR "br" BUTTON "button" CAPTION "caption"
    CENTER "center" CODE "code" COL "col" COLGROUP "colgroup" DD "dd" DESC "desc"
    DETAILS "details" DIALOG "dialog" DIR "dir" DIV "div" DL "dl" DT "dt" EM "em" EMBED "embed"
    FIELDSET "fieldset" FIGCAPTION "figcaption" FIGURE "figure" FONT "font" FOOTER "footer"
    FOREIGNOBJECT "foreignobject" FORM "form" FRAME "frame" FRAMESET "frameset" H1 "h1" H2 "h2"
    H3 "h3" H4 "h4" H5 "h5" H6 "h6" HEAD "head" HEADER "header" HGROUP "hgroup" HR "hr"
    HTML "html" I "i" IFRAME "iframe" IMAGE "image" IMG "img" INPUT "input" KBD "kbd"
    KEYGEN "keygen" LEGEND "legend" LI "li" LINK "link" LISTING "listing" MAIN "main"
    MALIGNMARK "malignmark" MARQUEE "marquee" MATH "math" MENU "menu" META "meta"
    MGLYPH "mglyph" MI "mi" MN "mn" MO "mo" MS "ms" MTEXT "mtext" NAV "nav" NOBR "nobr"
    NOEMBED "noembed" NOFRAMES "noframes" NOSCRIPT "noscript" OBJECT "object" OL "ol"
    OPTGROUP "optgroup" OPTION "option" P "p" PARAM "param" PLAINTEXT "plaintext" PRE "pre"
    RB "rb" RP "rp" RT "rt" RTC "rtc" RUBY "ruby" S "s" SAMP "samp" SCRIPT "script"
    SEARCH "search" SECTION "section" SELECT "select" SMALL "small" SOURCE "source" SPAN "span"
    STRIKE "strike" STRONG "strong" STYLE "style" SUB "sub" SUMMARY "summary" SUP "sup"
    SVG "svg" TABLE "table" TBODY "tbody" TD "td" TEMPLATE "template" TEXTAREA "textarea"
    TFOOT "tfoot" TH "th" THEAD "thead" TITLE "title" TR "tr" TRACK "track" TT "tt" U "u"
    UL "ul" VAR "var" WBR "wbr" XMP "xmp"
}

impl Name {
    const fn at(text: &str) -> Self {
        let mut index = 0;
        while !same(KNOWN[index].as_bytes(), text.as_bytes()) {
            index += 1;
        }
        Name(index as u32)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The text of a name that is in the list.
    pub(super) fn text(self) -> &'static str {
        KNOWN.get(self.index()).copied().unwrap_or_default()
    }

    pub(super) fn is_heading(self) -> bool {
        matches!(self, Name::H1 | Name::H2 | Name::H3 | Name::H4 | Name::H5 | Name::H6)
    }

    /// Elements that text with a certain look is wrapped in. They are opened again in the next
    /// paragraph if they were not closed in theirs.
    pub(super) fn is_formatting(self) -> bool {
        matches!(
            self,
            Name::A
                | Name::B
                | Name::BIG
                | Name::CODE
                | Name::EM
                | Name::FONT
                | Name::I
                | Name::NOBR
                | Name::S
                | Name::SMALL
                | Name::STRIKE
                | Name::STRONG
                | Name::TT
                | Name::U
        )
    }

    /// Blocks that end an open paragraph, and whose end tags end what is open inside.
    pub(super) fn is_plain_block(self) -> bool {
        matches!(
            self,
            Name::ADDRESS
                | Name::ARTICLE
                | Name::ASIDE
                | Name::BLOCKQUOTE
                | Name::CENTER
                | Name::DETAILS
                | Name::DIALOG
                | Name::DIR
                | Name::DIV
                | Name::DL
                | Name::FIELDSET
                | Name::FIGCAPTION
                | Name::FIGURE
                | Name::FOOTER
                | Name::HEADER
                | Name::HGROUP
                | Name::MAIN
                | Name::MENU
                | Name::NAV
                | Name::OL
                | Name::SEARCH
                | Name::SECTION
                | Name::SUMMARY
                | Name::UL
        )
    }

    /// Elements that the standard calls special: end tags of other elements do not close them.
    pub(super) fn is_special(self) -> bool {
        self.is_plain_block() && self != Name::DIALOG
            || self.is_heading()
            || self.is_table_part()
            || matches!(
                self,
                Name::APPLET
                    | Name::AREA
                    | Name::BASE
                    | Name::BASEFONT
                    | Name::BGSOUND
                    | Name::BODY
                    | Name::BR
                    | Name::BUTTON
                    | Name::DD
                    | Name::DT
                    | Name::EMBED
                    | Name::FORM
                    | Name::FRAME
                    | Name::FRAMESET
                    | Name::HEAD
                    | Name::HR
                    | Name::HTML
                    | Name::IFRAME
                    | Name::IMG
                    | Name::INPUT
                    | Name::KEYGEN
                    | Name::LI
                    | Name::LINK
                    | Name::LISTING
                    | Name::MARQUEE
                    | Name::META
                    | Name::NOEMBED
                    | Name::NOFRAMES
                    | Name::NOSCRIPT
                    | Name::OBJECT
                    | Name::P
                    | Name::PARAM
                    | Name::PLAINTEXT
                    | Name::PRE
                    | Name::SCRIPT
                    | Name::SELECT
                    | Name::SOURCE
                    | Name::STYLE
                    | Name::TABLE
                    | Name::TEMPLATE
                    | Name::TEXTAREA
                    | Name::TITLE
                    | Name::TRACK
                    | Name::WBR
                    | Name::XMP
            )
    }

    /// The parts of a table.
    pub(super) fn is_table_part(self) -> bool {
        self.is_row_group()
            || matches!(
                self,
                Name::CAPTION | Name::COL | Name::COLGROUP | Name::TD | Name::TH | Name::TR
            )
    }

    pub(super) fn is_row_group(self) -> bool {
        matches!(self, Name::TBODY | Name::TFOOT | Name::THEAD)
    }

    pub(super) fn is_cell(self) -> bool {
        matches!(self, Name::TD | Name::TH)
    }

    /// Elements that belong into the head of a page.
    pub(super) fn is_metadata(self) -> bool {
        matches!(
            self,
            Name::BASE
                | Name::BASEFONT
                | Name::BGSOUND
                | Name::LINK
                | Name::META
                | Name::NOFRAMES
                | Name::SCRIPT
                | Name::STYLE
                | Name::TEMPLATE
                | Name::TITLE
        )
    }

    /// Elements whose end tags may be omitted before most others.
    pub(super) fn has_implied_end(self) -> bool {
        matches!(
            self,
            Name::DD
                | Name::DT
                | Name::LI
                | Name::OPTGROUP
                | Name::OPTION
                | Name::P
                | Name::RB
                | Name::RP
                | Name::RT
                | Name::RTC
        )
    }

    /// Tags of HTML that end SVG and MathML.
    pub(super) fn ends_foreign_content(self) -> bool {
        self.is_heading()
            || matches!(
                self,
                Name::B
                    | Name::BIG
                    | Name::BLOCKQUOTE
                    | Name::BODY
                    | Name::BR
                    | Name::CENTER
                    | Name::CODE
                    | Name::DD
                    | Name::DIV
                    | Name::DL
                    | Name::DT
                    | Name::EM
                    | Name::EMBED
                    | Name::HEAD
                    | Name::HR
                    | Name::I
                    | Name::IMG
                    | Name::LI
                    | Name::LISTING
                    | Name::MENU
                    | Name::META
                    | Name::NOBR
                    | Name::OL
                    | Name::P
                    | Name::PRE
                    | Name::RUBY
                    | Name::S
                    | Name::SMALL
                    | Name::SPAN
                    | Name::STRIKE
                    | Name::STRONG
                    | Name::SUB
                    | Name::SUP
                    | Name::TABLE
                    | Name::TT
                    | Name::U
                    | Name::UL
                    | Name::VAR
            )
    }

    /// Elements whose content is not HTML.
    pub(super) fn is_raw(self) -> bool {
        matches!(
            self,
            Name::IFRAME
                | Name::NOEMBED
                | Name::NOFRAMES
                | Name::PLAINTEXT
                | Name::SCRIPT
                | Name::STYLE
                | Name::TEXTAREA
                | Name::TITLE
                | Name::XMP
        )
    }

    /// Elements whose text is not prose.
    pub(super) fn is_hidden(self) -> bool {
        self.is_raw()
            || matches!(
                self,
                Name::CODE
                    | Name::KBD
                    | Name::LISTING
                    | Name::MATH
                    | Name::OPTION
                    | Name::PRE
                    | Name::SAMP
                    | Name::SVG
                    | Name::TT
                    | Name::VAR
            )
    }

    /// Elements that no word continues across, because they begin a new line or a new block.
    pub(super) fn is_block(self) -> bool {
        self.is_plain_block()
            || self.is_heading()
            || self.is_table_part()
            || matches!(
                self,
                Name::BODY
                    | Name::BR
                    | Name::DD
                    | Name::DT
                    | Name::FORM
                    | Name::FRAMESET
                    | Name::HEAD
                    | Name::HR
                    | Name::HTML
                    | Name::LEGEND
                    | Name::LI
                    | Name::LISTING
                    | Name::OPTGROUP
                    | Name::OPTION
                    | Name::P
                    | Name::PLAINTEXT
                    | Name::PRE
                    | Name::SELECT
                    | Name::TABLE
                    | Name::TEMPLATE
                    | Name::TEXTAREA
                    | Name::TITLE
                    | Name::XMP
            )
    }
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Gives every name its number.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Names that are not in the list.
    others: HashMap<Vec<u8>, u32>,
}

impl Names {
    pub(super) fn find(&mut self, name: &[u8]) -> Name {
        let lower = name.to_ascii_lowercase();
        if let Ok(index) = KNOWN.binary_search_by_key(&&*lower, |known| known.as_bytes()) {
            return Name(index as u32);
        }
        let next = (KNOWN.len() + self.others.len()) as u32;
        Name(*self.others.entry(lower).or_insert(next))
    }

    /// The name of a number.
    #[cfg(test)]
    pub(super) fn text(&self, name: Name) -> String {
        let other = || self.others.iter().find(|(_, number)| **number == name.0);
        let text = KNOWN.get(name.index()).map(|known| known.as_bytes());
        let text = text.or_else(|| other().map(|(text, _)| &**text)).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_sorted_so_that_they_are_found() {
        assert!(KNOWN.is_sorted());
        let mut names = Names::default();
        assert_eq!(names.find(b"TABLE"), Name::TABLE);
        assert_eq!(names.find(b"x-Menu"), names.find(b"X-MENU"));
        assert_ne!(names.find(b"x-menu"), names.find(b"x-men"));
    }
}
