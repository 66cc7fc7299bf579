//! The rules for the body of a page.

use super::build::{Builder, Content, Done, Mode, Token};
use super::names::Name;
use super::scan::{Attributes, Tag};
use super::stack::{Entry, Scope, is_special};
use super::tree::{NodeId, Space};

impl Builder {
    pub(super) fn in_body(&mut self, token: Token<'_>) -> Done {
        match token {
            Token::Space | Token::Text => {
                self.stack.reopen_formatting();
                self.allows_frameset &= matches!(token, Token::Space);
                self.insert_text()
            }
            Token::Tag(tag) if tag.closing => self.close_in_body(tag, token),
            Token::Tag(tag) => self.open_in_body(tag, token),
        }
    }

    fn open_in_body(&mut self, tag: &Tag, token: Token<'_>) -> Done {
        match tag.name {
            Name::HTML => {
                if !self.stack.is_open(Name::TEMPLATE) {
                    self.add_attributes(self.root(), &tag.attributes);
                }
            }
            name if name.is_metadata() => return self.in_head(token),
            Name::BODY => {
                if self.stack.name_at(1) == Some(Name::BODY) && !self.stack.is_open(Name::TEMPLATE)
                {
                    self.allows_frameset = false;
                    self.add_attributes(self.stack.open.get(1).copied(), &tag.attributes);
                }
            }
            Name::FRAMESET => self.replace_body(tag),
            name if name.is_plain_block() || name == Name::P => self.open_block(tag),
            name if name.is_heading() => {
                self.stack.close_paragraph();
                if self.stack.current_name().is_some_and(Name::is_heading) {
                    self.stack.pop();
                }
                self.stack.open_element(tag);
            }
            Name::PRE | Name::LISTING => {
                self.allows_frameset = false;
                self.open_block(tag);
            }
            Name::FORM => {
                let in_template = self.stack.is_open(Name::TEMPLATE);
                if self.form.is_none() || in_template {
                    self.open_block(tag);
                    if !in_template {
                        self.form = self.stack.current();
                    }
                }
            }
            Name::LI => self.open_item(tag, |name| name == Name::LI),
            Name::DD | Name::DT => self.open_item(tag, |name| matches!(name, Name::DD | Name::DT)),
            Name::PLAINTEXT => {
                self.open_block(tag);
                self.content = Content::Plain;
            }
            Name::BUTTON => {
                if self.stack.has(Scope::Plain, Name::BUTTON) {
                    self.stack.close_implied(None);
                    self.stack.pop_until(|name| name == Name::BUTTON);
                }
                self.allows_frameset = false;
                self.open_inline(tag);
            }
            Name::A => {
                if let Some((_, link)) = self.stack.formatting_named(Name::A) {
                    if !self.stack.close_formatting(Name::A) {
                        self.stack.close_any(Name::A);
                    }
                    self.stack.forget_formatting(link);
                    if let Some(position) = self.stack.open.iter().rposition(|&node| node == link) {
                        self.stack.remove_open(position);
                    }
                }
                self.stack.reopen_formatting();
                self.stack.open_formatting(tag);
            }
            Name::NOBR => {
                self.stack.reopen_formatting();
                if self.stack.has(Scope::Plain, Name::NOBR) {
                    self.close_formatting_or_any(Name::NOBR);
                    self.stack.reopen_formatting();
                }
                self.stack.open_formatting(tag);
            }
            name if name.is_formatting() => {
                self.stack.reopen_formatting();
                self.stack.open_formatting(tag);
            }
            Name::APPLET | Name::MARQUEE | Name::OBJECT => {
                self.open_inline(tag);
                self.stack.formatting.push(Entry::Marker);
                self.allows_frameset = false;
            }
            Name::TABLE => {
                if !self.quirks {
                    self.stack.close_paragraph();
                }
                self.stack.open_element(tag);
                self.allows_frameset = false;
                self.mode = Mode::InTable;
            }
            Name::AREA
            | Name::BR
            | Name::EMBED
            | Name::IMG
            | Name::IMAGE
            | Name::KEYGEN
            | Name::WBR => {
                self.allows_frameset = false;
                self.open_inline(tag);
                self.stack.pop();
            }
            Name::INPUT => {
                if self.stack.has(Scope::Plain, Name::SELECT) {
                    self.stack.pop_until(|name| name == Name::SELECT);
                }
                self.allows_frameset &= tag.attributes.is_hidden_input;
                self.open_inline(tag);
                self.stack.pop();
            }
            Name::PARAM | Name::SOURCE | Name::TRACK => return self.insert_void(tag),
            Name::HR => {
                self.stack.close_paragraph();
                if self.stack.has(Scope::Plain, Name::SELECT) {
                    self.stack.close_implied(None);
                }
                self.allows_frameset = false;
                return self.insert_void(tag);
            }
            Name::TEXTAREA => {
                self.allows_frameset = false;
                return self.insert_raw(tag, Content::Raw(tag.name));
            }
            Name::XMP => {
                self.stack.close_paragraph();
                self.stack.reopen_formatting();
                self.allows_frameset = false;
                return self.insert_raw(tag, Content::Raw(tag.name));
            }
            Name::IFRAME => {
                self.allows_frameset = false;
                return self.insert_raw(tag, Content::Raw(tag.name));
            }
            Name::NOEMBED => return self.insert_raw(tag, Content::Raw(tag.name)),
            Name::SELECT => {
                if self.stack.has(Scope::Plain, Name::SELECT) {
                    self.stack.pop_until(|name| name == Name::SELECT);
                } else {
                    self.open_inline(tag);
                    self.allows_frameset = false;
                }
            }
            Name::OPTION | Name::OPTGROUP => {
                if self.stack.has(Scope::Plain, Name::SELECT) {
                    let except = (tag.name == Name::OPTION).then_some(Name::OPTGROUP);
                    self.stack.close_implied(except);
                } else if self.stack.current_name() == Some(Name::OPTION) {
                    self.stack.pop();
                }
                self.open_inline(tag);
            }
            Name::RB | Name::RTC | Name::RP | Name::RT => {
                if self.stack.has(Scope::Plain, Name::RUBY) {
                    let except = matches!(tag.name, Name::RP | Name::RT).then_some(Name::RTC);
                    self.stack.close_implied(except);
                }
                self.stack.open_element(tag);
            }
            Name::MATH | Name::SVG => {
                self.stack.reopen_formatting();
                let space = if tag.name == Name::SVG { Space::Svg } else { Space::MathMl };
                self.open_foreign(space, tag);
            }
            Name::FRAME | Name::HEAD => {}
            name if name.is_table_part() => {}
            _ => self.open_inline(tag),
        }
        Done::Yes
    }

    fn close_in_body(&mut self, tag: &Tag, token: Token<'_>) -> Done {
        let name = tag.name;
        match name {
            Name::TEMPLATE => return self.in_head(token),
            Name::BODY | Name::HTML => {
                if self.stack.has(Scope::Plain, Name::BODY) {
                    self.mode = Mode::AfterBody;
                    if name == Name::HTML {
                        return Done::Again;
                    }
                }
            }
            Name::BUTTON | Name::LISTING | Name::PRE | Name::SELECT => self.close_block(name),
            name if name.is_plain_block() => self.close_block(name),
            Name::FORM => self.close_form(),
            Name::P => {
                if !self.stack.has(Scope::Button, Name::P) {
                    self.stack.open_implied(Name::P);
                }
                self.stack.close_paragraph();
            }
            Name::LI | Name::DD | Name::DT => {
                let scope = if name == Name::LI { Scope::ListItem } else { Scope::Plain };
                if self.stack.has(scope, name) {
                    self.stack.close_implied(Some(name));
                    self.stack.pop_until(|other| other == name);
                }
            }
            name if name.is_heading() => {
                if self.stack.in_scope(Scope::Plain, Name::is_heading) {
                    self.stack.close_implied(None);
                    self.stack.pop_until(Name::is_heading);
                }
            }
            name if name.is_formatting() => self.close_formatting_or_any(name),
            Name::APPLET | Name::MARQUEE | Name::OBJECT => {
                if self.stack.has(Scope::Plain, name) {
                    self.close_block(name);
                    self.stack.clear_formatting();
                }
            }
            Name::BR => {
                let attributes = Attributes::default();
                let tag = Tag { name, closing: false, self_closing: false, attributes };
                return self.open_in_body(&tag, Token::Tag(&tag));
            }
            _ => self.stack.close_any(name),
        }
        Done::Yes
    }

    fn close_formatting_or_any(&mut self, name: Name) {
        if !self.stack.close_formatting(name) {
            self.stack.close_any(name);
        }
    }

    /// Opens an element, after what was not closed with its block.
    fn open_inline(&mut self, tag: &Tag) {
        self.stack.reopen_formatting();
        self.stack.open_element(tag);
    }

    fn open_block(&mut self, tag: &Tag) {
        self.stack.close_paragraph();
        self.stack.open_element(tag);
    }

    fn close_block(&mut self, name: Name) {
        if self.stack.has(Scope::Plain, name) {
            self.stack.close_implied(None);
            self.stack.pop_until(|other| other == name);
        }
    }

    /// Opens an item of a list, after closing the one before.
    fn open_item(&mut self, tag: &Tag, is_item: impl Fn(Name) -> bool) {
        self.allows_frameset = false;
        for index in (0..self.stack.open.len()).rev() {
            self.stack.steps += 1;
            let node = self.stack.open[index];
            let Some(element) = self.stack.tree.element(node) else { break };
            let name = element.name;
            if element.space == Space::Html && is_item(name) {
                self.stack.close_implied(Some(name));
                self.stack.pop_until(|other| other == name);
                break;
            }
            let is_plain = matches!(name, Name::ADDRESS | Name::DIV | Name::P);
            if is_special(element) && !(element.space == Space::Html && is_plain) {
                break;
            }
        }
        self.open_block(tag);
    }

    fn close_form(&mut self) {
        if self.stack.is_open(Name::TEMPLATE) {
            return self.close_block(Name::FORM);
        }
        let Some(form) = self.form.take() else { return };
        let Some(position) = self.stack.open.iter().rposition(|&node| node == form) else { return };
        if self.stack.is_in_plain_scope(position) {
            self.stack.close_implied(None);
            if let Some(position) = self.stack.open.iter().rposition(|&node| node == form) {
                self.stack.remove_open(position);
            }
        }
    }

    /// A frameset instead of a body that has no content yet.
    fn replace_body(&mut self, tag: &Tag) {
        if self.stack.name_at(1) != Some(Name::BODY) || !self.allows_frameset {
            return;
        }
        let body = self.stack.open[1];
        self.stack.tree.detach(body);
        self.stack.truncate(1);
        self.stack.open_element(tag);
        self.mode = Mode::InFrameset;
    }

    /// Attributes of a second tag for the page or its body: those that the first one lacks.
    fn add_attributes(&mut self, node: Option<NodeId>, attributes: &Attributes) {
        let Some(element) = node.and_then(|node| self.stack.tree.element_mut(node)) else { return };
        if element.language.is_none() {
            element.language =
                attributes.language.clone().or_else(|| attributes.xml_language.clone());
        }
        element.translate = element.translate.or(attributes.translate.flatten());
        element.has_ignored_class |= attributes.class == Some(true);
    }
}
