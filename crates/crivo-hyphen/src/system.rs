//! Patterns that the system has: files of TeX and dictionaries of LibreOffice.
//!
//! The patterns of some languages cannot be included, because their licence does not allow it or because
//! they state none. Where TeX or LibreOffice is installed, they are found.

use std::path::{Path, PathBuf};

use crate::{Dictionary, Hyphenator, PatternFile, ReadError};

/// A language whose patterns are not included, but are packaged by Debian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnincludedLanguage {
    /// The code, as in BCP 47.
    pub code: &'static str,
    /// The name.
    pub name: &'static str,
    /// The package of Debian, and of systems made from it, that contains patterns.
    pub package: &'static str,
}

/// Languages whose patterns are not included.
const UNINCLUDED: &[UnincludedLanguage] = &[
    UnincludedLanguage { code: "cs", name: "Czech", package: "hyphen-cs" },
    UnincludedLanguage { code: "hy", name: "Armenian", package: "texlive-lang-other" },
    UnincludedLanguage { code: "id", name: "Indonesian", package: "hyphen-id" },
    UnincludedLanguage { code: "lv", name: "Latvian", package: "hyphen-lv" },
    UnincludedLanguage { code: "mk", name: "Macedonian", package: "texlive-lang-european" },
    UnincludedLanguage { code: "ro", name: "Romanian", package: "hyphen-ro" },
    UnincludedLanguage { code: "sk", name: "Slovak", package: "hyphen-sk" },
    UnincludedLanguage { code: "zu", name: "Zulu", package: "hyphen-zu" },
];

impl UnincludedLanguage {
    /// The language of a tag such as `cs` or `cs-CZ`.
    ///
    /// ```
    /// use crivo_hyphen::UnincludedLanguage;
    ///
    /// assert_eq!(UnincludedLanguage::find("cs-CZ").map(|language| language.package), Some("hyphen-cs"));
    /// assert_eq!(UnincludedLanguage::find("en"), None);
    /// ```
    pub fn find(tag: &str) -> Option<Self> {
        let primary = subtags(tag).next()?;
        UNINCLUDED.iter().copied().find(|language| language.code == primary)
    }
}

/// Where the patterns of a system are: see [`SystemPatterns::default`].
///
/// ```
/// use crivo_hyphen::SystemPatterns;
///
/// let directory = tempfile::tempdir()?;
/// std::fs::write(directory.path().join("hyph_cs_CZ.dic"), "UTF-8\n1ba\n")?;
/// let patterns = SystemPatterns::new([directory.path()]);
/// let czech = patterns.hyphenator("cs").expect("there is a file")?;
/// assert_eq!(czech.hyphenate("zababa", "-"), "za-ba-ba");
/// assert!(patterns.find("sk").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SystemPatterns {
    directories: Vec<PathBuf>,
}

impl Default for SystemPatterns {
    /// The directories of TeX Live and LibreOffice on Unix systems.
    fn default() -> Self {
        const HYPH_UTF8: &str = "tex/generic/hyph-utf8/patterns/tex";
        let roots = ["/usr/share/texlive/texmf-dist", "/usr/share/texmf", "/usr/share/texmf-dist"];
        let tex = roots.iter().map(|root| Path::new(root).join(HYPH_UTF8));
        let local =
            children("/usr/local/texlive").map(|year| year.join("texmf-dist").join(HYPH_UTF8));
        let packages = ["/usr/share/hyphen", "/usr/local/share/hyphen"].map(PathBuf::from);
        let offices = ["/usr/lib/libreoffice", "/usr/lib64/libreoffice"].map(PathBuf::from);
        let offices = offices.into_iter().chain(children("/opt"));
        let extensions = offices.flat_map(|office| children(office.join("share/extensions")));
        Self::new(tex.chain(local).chain(packages).chain(extensions))
    }
}

impl SystemPatterns {
    /// Searches these directories, the first one first.
    pub fn new(directories: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { directories: directories.into_iter().map(Into::into).collect() }
    }

    /// The file for a language tag: `hyph-cs.tex` of TeX, or `hyph_cs_CZ.dic` of LibreOffice.
    pub fn find(&self, tag: &str) -> Option<PathBuf> {
        let subtags: Vec<String> = subtags(tag).collect();
        let language = subtags.first().filter(|language| is_name(language))?;
        // From the whole tag down to the language alone.
        for count in (1..=subtags.len()).rev() {
            let wanted = &subtags[..count];
            if !wanted.iter().all(|subtag| is_name(subtag)) {
                continue;
            }
            for directory in &self.directories {
                let tex = directory.join(format!("hyph-{}.tex", wanted.join("-")));
                let dictionary = format!("hyph_{}", wanted.join("_"));
                if tex.is_file() {
                    return Some(tex);
                }
                let mut found: Vec<PathBuf> = children(directory)
                    .filter(|path| {
                        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
                        let name = name.strip_suffix(".dic").map(str::to_ascii_lowercase);
                        name.is_some_and(|name| {
                            name == dictionary
                                || (count == 1 && name.starts_with(&format!("hyph_{language}_")))
                        })
                    })
                    .collect();
                found.sort();
                if let Some(path) = found.into_iter().next() {
                    return Some(path);
                }
            }
        }
        None
    }

    /// A hyphenator with the file for a language tag; `None` if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn hyphenator(&self, tag: &str) -> Option<Result<Hyphenator, ReadError>> {
        self.find(tag).map(Hyphenator::from_file)
    }
}

impl Hyphenator {
    /// A hyphenator with a file of patterns: a dictionary of LibreOffice if its name ends with `.dic`,
    /// or else a [file of TeX patterns](PatternFile).
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        match path.extension().is_some_and(|extension| extension == "dic") {
            true => Ok(Self::from_dictionary(Dictionary::read(path)?)),
            false => Ok(Self::from_pattern_file(&PatternFile::read(path)?)),
        }
    }
}

fn subtags(tag: &str) -> impl Iterator<Item = String> + '_ {
    tag.split(['-', '_']).map(str::to_ascii_lowercase)
}

/// Whether a subtag may be part of the name of a file.
fn is_name(subtag: &str) -> bool {
    !subtag.is_empty() && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// What is in a directory, if it can be read.
fn children(directory: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_file_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["hyph_sr.dic", "hyph_sr_Latn.dic", "hyph-cs.tex", "hyph_lv_LV.dic"] {
            std::fs::write(path(name), "UTF-8\n1a\n").unwrap();
        }
        let patterns = SystemPatterns::new([directory.path()]);
        for (tag, name) in [
            ("sr-Latn-RS", Some("hyph_sr_Latn.dic")),
            ("sr_RS", Some("hyph_sr.dic")),
            ("CS-cz", Some("hyph-cs.tex")),
            ("lv", Some("hyph_lv_LV.dic")),
            ("s", None),
            ("", None),
            ("../x", None),
        ] {
            assert_eq!(patterns.find(tag), name.map(path), "{tag}");
        }
    }

    #[cfg(feature = "languages")]
    #[test]
    fn no_language_is_both_included_and_not() {
        for language in UNINCLUDED {
            assert!(crate::Language::from_code(language.code).is_err(), "{}", language.name);
        }
    }
}
