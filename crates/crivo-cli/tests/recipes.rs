//! Runs the recipes of the README.

use std::fs;
use std::process::Command;

/// The files that the recipes use.
const FILES: [(&str, &str); 9] = [
    ("leaked.txt", "123456\nqwerty\nletmein\nhunter2\n"),
    ("passwords.txt", "correct horse\nletmein\nbattery staple\n123456\n"),
    ("visited.txt", "https://example.org/a\nhttps://example.org/b\n"),
    (
        "found.txt",
        "https://example.org/c\nhttps://example.org/a\nhttps://example.org/d\n\
         https://example.org/c\n",
    ),
    (
        "customers.csv",
        "id,name,email\n1,Ana,ana@example.org\n2,Bia,bia@example.org\n\
         3,\"Cid, the younger\",cid@example.org\n",
    ),
    ("unsubscribed.csv", "email,when\nbia@example.org,2026-01-31\n"),
    ("page.html", "<p>Hyphenation of <code>hyphenation</code></p>\n"),
    ("known.txt", "192.0.2.1\n192.0.2.7\n"),
    (
        "access.log",
        "192.0.2.1 GET /\n198.51.100.2 GET /\n192.0.2.7 GET /crivo\n203.0.113.9 GET /\n",
    ),
];

/// The lines between the next fence of `language` in `text` and its end.
fn block<'t>(text: &'t str, language: &str) -> &'t str {
    let fence = format!("```{language}\n");
    let start = text.find(&fence).expect("a recipe has this block") + fence.len();
    let length = text[start..].find("```").expect("a block has an end");
    &text[start..start + length]
}

/// The path of the shell, with the command in it.
fn path() -> std::ffi::OsString {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_crivo"));
    std::env::join_paths(
        std::iter::once(binary.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap()
}

#[test]
fn every_recipe_prints_what_the_readme_says() {
    let readme = include_str!("../../../README.md");
    let recipes: Vec<&str> = readme.split("<!-- recipe -->").skip(1).collect();
    assert!(recipes.len() >= 4, "{}", recipes.len());
    let path = path();
    for recipe in recipes {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in FILES {
            fs::write(dir.path().join(name), content).unwrap();
        }
        let commands = block(recipe, "sh");
        if commands.contains("crivo hyphenate") && !cfg!(feature = "hyphen") {
            continue;
        }
        let output = Command::new("sh")
            .args(["-e", "-c", commands])
            .current_dir(dir.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{commands}{stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), block(recipe, "text"), "{commands}");
    }
}

/// The files of the Debian package are those that the README makes.
#[test]
fn the_package_has_the_files_that_the_readme_makes() {
    let readme = include_str!("../../../README.md");
    let (_, package) = readme.split_once("<!-- package -->").unwrap();
    let commands: String = block(package, "sh")
        .lines()
        .filter(|line| !line.starts_with("cargo "))
        .map(|line| format!("{line}\n"))
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-e", "-c", &commands])
        .current_dir(dir.path())
        .env("PATH", path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut made = 0;
    for line in include_str!("../Cargo.toml").lines() {
        let Some((_, rest)) = line.split_once("\"../../target/assets/") else { continue };
        let asset = rest.split('"').next().unwrap().replace("*.1", "crivo-count.1");
        let length = fs::metadata(dir.path().join("target/assets").join(&asset)).unwrap().len();
        assert!(length > 100, "{asset}");
        made += 1;
    }
    assert_eq!(made, 4);
}
