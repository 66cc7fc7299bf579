//! The page.

use std::fmt::Write as _;

use super::Chapter;
use super::glossary::GLOSSARY;
use crate::plot::{css_variables, escape, inline, inline_sign, legend};
use crate::section::{Figure, Finding, Source, Table, Verdict};

const STYLE: &str = include_str!("../../assets/report.css");

/// The whole page. Writing to a string cannot fail, here and below.
pub(super) fn render(chapters: &[Chapter]) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Membership, measured: the crivo study</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n:root{{{}}}\n@media (prefers-color-scheme: dark){{:root{{{}}}}}\n\
         @media print{{:root{{{}}}}}\n{STYLE}</style>\n</head>\n<body>\n",
        css_variables(false),
        css_variables(true),
        css_variables(false),
    );
    header(&mut page, chapters);
    page.push_str("<main>\n");
    summary(&mut page, chapters);
    let mut number = 0;
    for chapter in chapters {
        section(&mut page, chapter, &mut number);
    }
    glossary(&mut page);
    references(&mut page);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// Text of the report in HTML: `^[…]` is a superscript.
fn rich(text: &str) -> String {
    let mut html = escape(text);
    while let Some((before, after)) = html.split_once("^[")
        && let Some((raised, rest)) = after.split_once(']')
    {
        html = format!("{before}<sup>{raised}</sup>{rest}");
    }
    html
}

fn header(page: &mut String, chapters: &[Chapter]) {
    let _ = write!(
        page,
        "<header>\n<p class=\"kicker\">The crivo study</p>\n<h1>Membership, measured</h1>\n\
         <p class=\"lead\">Have I seen this key? Filters answer in a few bits per key, with some \
         false positives; dictionaries answer exactly and need more memory. This study repeats \
         published experiments on both, and compares every measurement with theory.</p>\n"
    );
    // One line for each combination of machine and settings; usually one.
    let mut origins: Vec<String> = Vec::new();
    for Chapter { data, .. } in chapters {
        let origin = format!("{}. Measured on {}.", data.settings(), data.machine());
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    for origin in origins {
        let _ = writeln!(page, "<p class=\"origin\">{}</p>", escape(&origin));
    }
    page.push_str("</header>\n");
}

fn summary(page: &mut String, chapters: &[Chapter]) {
    page.push_str(
        "<section id=\"summary\">\n<h2>Summary</h2>\n\
         <div class=\"scroll\"><table class=\"summary\">\n<thead><tr><th>Question</th>\
         <th>Verdict</th><th>Answer</th></tr></thead>\n<tbody>\n",
    );
    for Chapter { section, data } in chapters {
        let _ = writeln!(
            page,
            "<tr class=\"group\"><th colspan=\"3\"><a href=\"#{}\">{}</a></th></tr>",
            data.experiment(),
            escape(section.title),
        );
        for figure in &section.figures {
            let _ = writeln!(
                page,
                "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td></tr>",
                figure.id,
                rich(&figure.question),
                badge(figure.verdict.finding),
                rich(&figure.verdict.sentence),
            );
        }
    }
    page.push_str("</tbody>\n</table></div>\n</section>\n");
}

fn badge(finding: Finding) -> String {
    format!("<span class=\"badge {0}\">{0}</span>", finding.name())
}

fn section(page: &mut String, chapter: &Chapter, number: &mut usize) {
    let Chapter { section, data } = chapter;
    let _ = write!(
        page,
        "<section id=\"{}\" class=\"experiment\">\n<h2>{}</h2>\n<p>{}</p>\n",
        data.experiment(),
        escape(section.title),
        rich(&section.introduction),
    );
    let sources: Vec<String> = section
        .sources
        .iter()
        .map(|source| {
            let (id, cited, _) = source.entry();
            format!("<a href=\"#{id}\">{}</a>", escape(cited))
        })
        .collect();
    let name = data.experiment();
    let tables: Vec<String> = data
        .table_names()
        .map(|table| format!("<a href=\"data/{}\">{table}</a>", data.csv_name(table)))
        .collect();
    let data = match tables.is_empty() {
        true => "none".to_string(),
        false => {
            let tables = tables.join(", ");
            format!("{tables}; all as <a href=\"data/{name}.json\">JSON</a>")
        }
    };
    let _ = writeln!(page, "<p class=\"sources\">After {}. Data: {data}.</p>", sources.join("; "));
    for each in &section.figures {
        *number += 1;
        figure(page, each, *number);
    }
    page.push_str("</section>\n");
}

fn figure(page: &mut String, figure: &Figure, number: usize) {
    let Figure { id, title, question, method, panels, table, verdict } = figure;
    let _ = write!(
        page,
        "<figure id=\"{id}\">\n<figcaption><span class=\"number\">Figure {number}</span> {}</figcaption>\n\
         <dl class=\"how\"><dt>Question</dt><dd>{}</dd><dt>Method</dt><dd>{}</dd></dl>\n",
        escape(title),
        rich(question),
        rich(method),
    );
    // A tall, narrow table is placed beside one panel, or beside two stacked panels.
    let beside = table.as_ref().is_some_and(|table| {
        table.head.len() <= 5 && (panels.len() == 1 || panels.len() == 2 && table.rows.len() > 12)
    });
    let single = panels.len() == 1 || beside;
    let _ = write!(
        page,
        "<div class=\"{}\">\n<div class=\"drawing\">\n<div class=\"panels {}\">\n",
        if beside { "beside" } else { "stacked" },
        match panels.len() {
            _ if single => "one",
            2..=6 => "many",
            _ => "tiny",
        },
    );
    for panel in panels {
        let heading = panel.title();
        let description =
            if heading.is_empty() { title.clone() } else { format!("{title}: {heading}") };
        page.push_str("<div class=\"panel\">");
        if !heading.is_empty() {
            let _ = write!(page, "<p class=\"heading\">{}</p>", escape(heading));
        }
        let _ = writeln!(
            page,
            "{}</div>",
            inline(panel, if single { 1 } else { panels.len() }, &description)
        );
    }
    page.push_str("</div>\n");
    let entries = legend(panels);
    if !entries.is_empty() {
        page.push_str("<p class=\"legend\">");
        for (label, hue, look) in &entries {
            let _ = write!(page, "<span>{} {}</span>", inline_sign(*hue, *look), escape(label));
        }
        page.push_str("</p>\n");
    }
    let _ = write!(
        page,
        "<p class=\"files\">As a file: <a href=\"figures/{id}.svg\">SVG</a>, <a href=\"figures/{id}.png\">PNG</a></p>\n</div>\n",
    );
    if let Some(rows) = table {
        numbers(page, rows);
    }
    page.push_str("</div>\n");
    answer(page, verdict);
    page.push_str("</figure>\n");
}

fn numbers(page: &mut String, table: &Table) {
    page.push_str("<div class=\"scroll\"><table class=\"numbers\">\n<thead><tr>");
    for head in &table.head {
        let _ = write!(page, "<th>{}</th>", rich(head));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for cell in row {
            let _ = write!(page, "<td>{}</td>", rich(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn answer(page: &mut String, verdict: &Verdict) {
    let _ = write!(
        page,
        "<div class=\"verdict {}\"><p>{} {}</p>",
        verdict.finding.name(),
        badge(verdict.finding),
        rich(&verdict.sentence),
    );
    if !verdict.test.is_empty() {
        let _ = write!(page, "<p class=\"test\">{}</p>", rich(&verdict.test));
    }
    page.push_str("</div>\n");
}

fn glossary(page: &mut String) {
    page.push_str("<section id=\"glossary\">\n<h2>Glossary</h2>\n<dl class=\"glossary\">\n");
    for (word, meaning) in GLOSSARY {
        let _ = writeln!(page, "<dt>{}</dt><dd>{}</dd>", escape(word), escape(meaning));
    }
    page.push_str("</dl>\n</section>\n");
}

fn references(page: &mut String) {
    page.push_str("<section id=\"references\">\n<h2>References</h2>\n<ul class=\"references\">\n");
    for source in Source::ALL {
        let (id, _, entry) = source.entry();
        let _ = writeln!(page, "<li id=\"{id}\">{}</li>", escape(entry));
    }
    page.push_str("</ul>\n</section>\n");
}
