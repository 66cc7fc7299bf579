//! The list of languages: name, code, minima, licence, and whether there is a list of exceptions.
//!
//! Codes and minima are those of hyph-utf8. Licences are those stated in its files; if there are
//! several, the most permissive one. See `data/README.md`.

/// Defines the enumeration and its table from one list.
macro_rules! languages {
    ($($variant:ident: $code:literal, $name:literal, $minima:expr, $licence:literal
        $(, $exceptions:ident)?;)*) => {
        /// A language whose patterns are included.
        ///
        /// ```
        /// use crivo_hyphen::Language;
        ///
        /// let german = Language::from_code("de-1996")?;
        /// assert_eq!(german, Language::German);
        /// assert_eq!(german.name(), "German, spelling of 1996");
        /// assert_eq!(german.minima(), (2, 2));
        /// assert!(Language::all().len() > 70);
        /// # Ok::<(), crivo_hyphen::UnknownLanguage>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Language {
            $(#[doc = concat!($name, " (`", $code, "`).")] $variant,)*
        }

        /// All languages, in the order of the enumeration.
        pub(super) const LANGUAGES: &[Language] = &[$(Language::$variant,)*];

        /// The facts about every language, in the same order.
        pub(super) static FACTS: &[Facts] = &[$(Facts {
            code: $code,
            name: $name,
            minima: $minima,
            licence: $licence,
            has_exceptions: false $(|| stringify!($exceptions).len() > 0)?,
            packed: include_bytes!(concat!("../../data/packed/", $code, ".z")),
            notice: include_str!(concat!("../../data/notices/hyph-", $code, ".txt")),
        },)*];
    };
}

/// The facts about a language.
pub(super) struct Facts {
    pub code: &'static str,
    pub name: &'static str,
    pub minima: (usize, usize),
    pub licence: &'static str,
    pub has_exceptions: bool,
    /// Its texts, compressed: see [`Language::packed_texts`](super::Language).
    pub packed: &'static [u8],
    /// Authors, copyright and licence.
    pub notice: &'static str,
}

#[rustfmt::skip]
languages! {
    Afrikaans: "af", "Afrikaans", (1, 2), "LPPL-1.3+", exceptions;
    Albanian: "sq", "Albanian", (2, 2), "MIT";
    Assamese: "as", "Assamese", (1, 1), "MIT";
    Basque: "eu", "Basque", (2, 2), "Unicode-like";
    Belarusian: "be", "Belarusian", (2, 2), "MIT";
    Bengali: "bn", "Bengali", (1, 1), "MIT";
    Bulgarian: "bg", "Bulgarian", (2, 2), "BSD-like";
    Catalan: "ca", "Catalan", (2, 2), "LPPL-1.0+", exceptions;
    ChinesePinyin: "zh-latn-pinyin", "Chinese, pinyin", (1, 2), "MIT";
    ChurchSlavonic: "cu", "Church Slavonic", (1, 2), "MIT", exceptions;
    Coptic: "cop", "Coptic", (1, 1), "MIT";
    Croatian: "hr", "Croatian", (2, 2), "Unicode-like";
    Danish: "da", "Danish", (2, 2), "MIT";
    Dutch: "nl", "Dutch", (2, 2), "LPPL-1.0+", exceptions;
    EnglishGb: "en-gb", "English, British", (2, 3), "MIT", exceptions;
    EnglishUs: "en-us", "English, American", (2, 3), "all-permissive", exceptions;
    Esperanto: "eo", "Esperanto", (2, 2), "LPPL-1.0+";
    Estonian: "et", "Estonian", (2, 3), "MIT";
    Ethiopic: "mul-ethi", "Languages in Ethiopic script", (1, 1), "MIT";
    Finnish: "fi", "Finnish", (2, 2), "freely distributable";
    FinnishSchool: "fi-x-school", "Finnish, as taught in schools", (1, 1), "MIT";
    French: "fr", "French", (2, 2), "MIT";
    Friulan: "fur", "Friulan", (2, 2), "MIT";
    Galician: "gl", "Galician", (2, 2), "LPPL-1.3";
    Georgian: "ka", "Georgian", (1, 2), "LPPL-1.3+";
    German: "de-1996", "German, spelling of 1996", (2, 2), "MIT";
    German1901: "de-1901", "German, spelling of 1901", (2, 2), "MIT";
    GermanSwiss1901: "de-ch-1901", "Swiss German, spelling of 1901", (2, 2), "MIT";
    GreekAncient: "grc", "Ancient Greek", (1, 1), "LPPL";
    GreekMonotonic: "el-monoton", "Greek, monotonic", (1, 1), "LPPL";
    GreekPolytonic: "el-polyton", "Greek, polytonic", (1, 1), "LPPL";
    Gujarati: "gu", "Gujarati", (1, 1), "MIT";
    Hindi: "hi", "Hindi", (1, 1), "MIT";
    Hungarian: "hu", "Hungarian", (2, 2), "MPL-1.1";
    Icelandic: "is", "Icelandic", (2, 2), "LPPL-1.2+";
    Interlingua: "ia", "Interlingua", (2, 2), "LPPL-1.3", exceptions;
    Irish: "ga", "Irish", (2, 3), "MIT", exceptions;
    Italian: "it", "Italian", (2, 2), "MIT";
    Kannada: "kn", "Kannada", (1, 1), "MIT";
    Kurmanji: "kmr", "Kurdish, Kurmanji", (2, 2), "LPPL-1.3";
    Latin: "la", "Latin", (2, 2), "MIT";
    LatinClassical: "la-x-classic", "Latin, classical", (2, 2), "MIT";
    LatinLiturgical: "la-x-liturgic", "Latin, liturgical", (2, 2), "MIT";
    Lithuanian: "lt", "Lithuanian", (2, 2), "MIT";
    Malayalam: "ml", "Malayalam", (1, 1), "MIT";
    Marathi: "mr", "Marathi", (1, 1), "MIT";
    Mongolian: "mn-cyrl", "Mongolian, Cyrillic script", (2, 2), "MIT";
    NorwegianBokmal: "nb", "Norwegian, Bokmål", (2, 2), "all-permissive", exceptions;
    NorwegianNynorsk: "nn", "Norwegian, Nynorsk", (2, 2), "all-permissive", exceptions;
    Occitan: "oc", "Occitan", (2, 2), "MIT";
    Odia: "or", "Odia", (1, 1), "MIT";
    Pali: "pi", "Pāli", (1, 2), "MIT";
    Panjabi: "pa", "Panjabi", (1, 1), "MIT";
    Piedmontese: "pms", "Piedmontese", (2, 2), "MIT";
    Polish: "pl", "Polish", (2, 2), "MIT", exceptions;
    Portuguese: "pt", "Portuguese", (2, 3), "BSD-3-Clause", exceptions;
    Romansh: "rm", "Romansh", (2, 2), "MIT";
    Russian: "ru", "Russian", (2, 2), "LPPL-1.2+", exceptions;
    Sanskrit: "sa", "Sanskrit", (1, 3), "all-permissive";
    SerboCroatianCyrillic: "sh-cyrl", "Serbo-Croatian, Cyrillic script", (2, 2), "LPPL-1.0+", exceptions;
    SerboCroatianLatin: "sh-latn", "Serbo-Croatian, Latin script", (2, 2), "LPPL-1.0+", exceptions;
    Slovenian: "sl", "Slovenian", (2, 2), "MIT";
    Spanish: "es", "Spanish", (2, 2), "MIT";
    Swedish: "sv", "Swedish", (2, 2), "LPPL-1.2+";
    Tamil: "ta", "Tamil", (1, 1), "MIT";
    Telugu: "te", "Telugu", (1, 1), "MIT";
    Thai: "th", "Thai", (2, 3), "LPPL-1.3+";
    Turkish: "tr", "Turkish", (2, 2), "LPPL-1.0+";
    Turkmen: "tk", "Turkmen", (2, 2), "MIT";
    Ukrainian: "uk", "Ukrainian", (2, 2), "LPPL";
    UpperSorbian: "hsb", "Upper Sorbian", (2, 2), "LPPL-1.3+", exceptions;
    Welsh: "cy", "Welsh", (2, 3), "MIT";
}

/// Tags that are not codes of the table, and the languages that they usually mean.
pub(super) static EQUIVALENTS: &[(&str, Language)] = &[
    ("am", Language::Ethiopic),
    ("de", Language::German),
    ("el", Language::GreekMonotonic),
    ("en", Language::EnglishUs),
    // Where the spelling is the British one.
    ("en-001", Language::EnglishGb),
    ("en-au", Language::EnglishGb),
    ("en-ie", Language::EnglishGb),
    ("en-in", Language::EnglishGb),
    ("en-nz", Language::EnglishGb),
    ("en-uk", Language::EnglishGb),
    ("en-za", Language::EnglishGb),
    ("gez", Language::Ethiopic),
    ("ku", Language::Kurmanji),
    ("mn", Language::Mongolian),
    ("no", Language::NorwegianBokmal),
    ("sh", Language::SerboCroatianLatin),
    ("sr", Language::SerboCroatianCyrillic),
    ("sr-latn", Language::SerboCroatianLatin),
    ("ti", Language::Ethiopic),
    ("zh-latn", Language::ChinesePinyin),
];
