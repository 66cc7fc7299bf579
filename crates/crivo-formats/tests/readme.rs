//! The README's table is the table of formats.

use crivo_formats::{FORMATS, Recognition};

#[test]
fn the_readme_lists_every_format() {
    let readme = include_str!("../README.md");
    let (_, rest) = readme.split_once("<!-- formats -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- end -->").unwrap();
    let mut expected =
        String::from("| format | system | keys | changes | recognised |\n|---|---|---|---|---|\n");
    for format in FORMATS {
        let keys: Vec<_> = format.key_types.iter().map(|key_type| key_type.name()).collect();
        let operations = format.operations.iter().map(|operation| match operation {
            crivo::filter::Operation::Insert => "insert",
            crivo::filter::Operation::Remove => "remove",
            crivo::filter::Operation::Count => "count",
            crivo::filter::Operation::Union => "merge",
            other => panic!("{other:?}"),
        });
        let operations: Vec<_> = operations.collect();
        let operations = if operations.is_empty() { vec!["none"] } else { operations };
        let recognised = match format.recognition {
            Recognition::Magic(_) => "magic",
            Recognition::Structure => "structure",
            Recognition::Nothing => "no",
        };
        expected += &format!(
            "| `{}` | {} | {} | {} | {recognised} |\n",
            format.name,
            format.description,
            keys.join(", "),
            operations.join(", ")
        );
    }
    assert!(table == expected, "the table should be:\n{expected}");
}
