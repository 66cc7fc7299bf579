//! From tags to the tree, by the rules of the HTML standard for the construction of trees: which tags
//! end which elements, and where text belongs.
//!
//! A page is read in one of several modes, which follow its outline: the head, the body, a table and
//! its parts. `body` has the rules for the body, `table` those for tables.

use super::names::Name;
use super::scan::Tag;
use super::stack::{Entry, Stack, is_math_text};
use super::tree::{NodeId, Space, Tree};

/// The part of the page that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    InTemplate,
    AfterBody,
    InFrameset,
    AfterFrameset,
    AfterAfterBody,
    AfterAfterFrameset,
}

/// How the text after a start tag is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Html,
    /// Up to the end tag of this element there are no tags.
    Raw(Name),
    Script,
    /// There are no more tags.
    Plain,
}

/// What a page consists of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token<'t> {
    /// ASCII white space.
    Space,
    Text,
    Tag(&'t Tag),
}

/// Whether a token was used, or must be processed again in another mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Yes,
    Again,
}

/// The state of the construction.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) stack: Stack,
    pub(super) mode: Mode,
    /// The modes of the open templates.
    pub(super) templates: Vec<Mode>,
    pub(super) head: Option<NodeId>,
    pub(super) form: Option<NodeId>,
    /// Whether a `frameset` may still replace the body.
    pub(super) allows_frameset: bool,
    /// Whether the page asks browsers to imitate old ones, in which tables do not end paragraphs.
    pub(super) quirks: bool,
    /// The node of the last text.
    pub(super) text: Option<NodeId>,
    pub(super) content: Content,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            stack: Stack::new(),
            mode: Mode::Initial,
            templates: Vec::new(),
            head: None,
            form: None,
            allows_frameset: true,
            quirks: true,
            text: None,
            content: Content::Html,
        }
    }

    pub(super) fn doctype(&mut self, quirks: bool) {
        if self.mode == Mode::Initial {
            self.quirks = quirks;
            self.mode = Mode::BeforeHtml;
        }
    }

    /// Adds text, and returns its node; `None` if the text is dropped.
    pub(super) fn text(&mut self, is_space: bool) -> Option<NodeId> {
        self.text = None;
        self.process(if is_space { Token::Space } else { Token::Text });
        self.text
    }

    pub(super) fn tag(&mut self, tag: &Tag) -> Content {
        self.content = Content::Html;
        self.process(Token::Tag(tag));
        self.content
    }

    /// Whether `<![CDATA[` begins text here.
    pub(super) fn is_foreign(&self) -> bool {
        let current = self.stack.current().and_then(|node| self.stack.tree.element(node));
        current.is_some_and(|element| element.space != Space::Html)
    }

    fn process(&mut self, token: Token<'_>) {
        // The first time, SVG and MathML have rules of their own.
        let mut done = match self.has_foreign_rules(token) {
            true => self.foreign(token),
            false => self.step(self.mode, token),
        };
        while done == Done::Again {
            done = self.step(self.mode, token);
        }
    }

    /// Applies the rules of a mode.
    pub(super) fn step(&mut self, mode: Mode, token: Token<'_>) -> Done {
        match mode {
            Mode::Initial => self.switch(Mode::BeforeHtml, token),
            Mode::BeforeHtml => self.before_html(token),
            Mode::BeforeHead => self.before_head(token),
            Mode::InHead => self.in_head(token),
            Mode::InHeadNoscript => self.in_head_noscript(token),
            Mode::AfterHead => self.after_head(token),
            Mode::InBody => self.in_body(token),
            Mode::InTable => self.in_table(token),
            Mode::InCaption => self.in_caption(token),
            Mode::InColumnGroup => self.in_column_group(token),
            Mode::InTableBody => self.in_table_body(token),
            Mode::InRow => self.in_row(token),
            Mode::InCell => self.in_cell(token),
            Mode::InTemplate => self.in_template(token),
            Mode::AfterBody | Mode::AfterAfterBody => self.after_body(mode, token),
            Mode::InFrameset | Mode::AfterFrameset | Mode::AfterAfterFrameset => {
                self.in_frameset(mode, token)
            }
        }
    }

    /// Ignores white space; anything else belongs to the next mode.
    fn switch(&mut self, mode: Mode, token: Token<'_>) -> Done {
        if matches!(token, Token::Space) {
            return Done::Yes;
        }
        self.mode = mode;
        Done::Again
    }

    pub(super) fn insert_text(&mut self) -> Done {
        self.text = Some(self.stack.add_text());
        Done::Yes
    }

    /// Opens an element that has no content.
    pub(super) fn insert_void(&mut self, tag: &Tag) -> Done {
        self.stack.open_element(tag);
        self.stack.pop();
        Done::Yes
    }

    /// Opens an element with raw content.
    pub(super) fn insert_raw(&mut self, tag: &Tag, content: Content) -> Done {
        self.stack.open_element(tag);
        self.content = content;
        Done::Yes
    }

    fn before_html(&mut self, token: Token<'_>) -> Done {
        match token {
            Token::Space => return Done::Yes,
            Token::Tag(tag) if !tag.closing && tag.name == Name::HTML => {
                self.stack.open_element(tag);
                self.mode = Mode::BeforeHead;
                return Done::Yes;
            }
            Token::Tag(tag) if tag.closing && !is_outline_end(tag.name) => return Done::Yes,
            _ => {}
        }
        self.stack.open_implied(Name::HTML);
        self.mode = Mode::BeforeHead;
        Done::Again
    }

    fn before_head(&mut self, token: Token<'_>) -> Done {
        match token {
            Token::Space => return Done::Yes,
            Token::Tag(tag) if !tag.closing && tag.name == Name::HTML => {
                return self.in_body(token);
            }
            Token::Tag(tag) if !tag.closing && tag.name == Name::HEAD => {
                self.head = Some(self.stack.open_element(tag));
                self.mode = Mode::InHead;
                return Done::Yes;
            }
            Token::Tag(tag) if tag.closing && !is_outline_end(tag.name) => return Done::Yes,
            _ => {}
        }
        self.head = Some(self.stack.open_implied(Name::HEAD));
        self.mode = Mode::InHead;
        Done::Again
    }

    pub(super) fn in_head(&mut self, token: Token<'_>) -> Done {
        let leaves = match token {
            Token::Space => return self.insert_text(),
            Token::Text => true,
            Token::Tag(tag) if tag.closing => match tag.name {
                Name::HEAD => {
                    self.stack.pop();
                    self.mode = Mode::AfterHead;
                    return Done::Yes;
                }
                Name::TEMPLATE => return self.close_template(),
                name => matches!(name, Name::BODY | Name::HTML | Name::BR),
            },
            Token::Tag(tag) => match tag.name {
                Name::HTML => return self.in_body(token),
                Name::BASE | Name::BASEFONT | Name::BGSOUND | Name::LINK | Name::META => {
                    return self.insert_void(tag);
                }
                Name::TITLE | Name::NOFRAMES | Name::STYLE => {
                    return self.insert_raw(tag, Content::Raw(tag.name));
                }
                Name::SCRIPT => return self.insert_raw(tag, Content::Script),
                Name::NOSCRIPT => {
                    self.stack.open_element(tag);
                    self.mode = Mode::InHeadNoscript;
                    return Done::Yes;
                }
                Name::TEMPLATE => {
                    self.stack.open_element(tag);
                    self.stack.formatting.push(Entry::Marker);
                    self.allows_frameset = false;
                    self.mode = Mode::InTemplate;
                    self.templates.push(Mode::InTemplate);
                    return Done::Yes;
                }
                name => name != Name::HEAD,
            },
        };
        if !leaves {
            return Done::Yes;
        }
        self.stack.pop();
        self.mode = Mode::AfterHead;
        Done::Again
    }

    fn close_template(&mut self) -> Done {
        if self.stack.is_open(Name::TEMPLATE) {
            self.stack.close_all_implied();
            self.stack.pop_until(|name| name == Name::TEMPLATE);
            self.stack.clear_formatting();
            self.templates.pop();
            self.reset_mode();
        }
        Done::Yes
    }

    fn in_head_noscript(&mut self, token: Token<'_>) -> Done {
        match token {
            Token::Space => return self.in_head(token),
            Token::Tag(tag) if tag.closing => match tag.name {
                Name::NOSCRIPT => {
                    self.stack.pop();
                    self.mode = Mode::InHead;
                    return Done::Yes;
                }
                Name::BR => {}
                _ => return Done::Yes,
            },
            Token::Tag(tag) => match tag.name {
                Name::HTML => return self.in_body(token),
                Name::BASEFONT
                | Name::BGSOUND
                | Name::LINK
                | Name::META
                | Name::NOFRAMES
                | Name::STYLE => return self.in_head(token),
                Name::HEAD | Name::NOSCRIPT => return Done::Yes,
                _ => {}
            },
            Token::Text => {}
        }
        self.stack.pop();
        self.mode = Mode::InHead;
        Done::Again
    }

    fn after_head(&mut self, token: Token<'_>) -> Done {
        match token {
            Token::Space => return self.insert_text(),
            Token::Text => {}
            Token::Tag(tag) if tag.closing => match tag.name {
                Name::TEMPLATE => return self.in_head(token),
                Name::BODY | Name::HTML | Name::BR => {}
                _ => return Done::Yes,
            },
            Token::Tag(tag) => match tag.name {
                Name::HTML => return self.in_body(token),
                Name::BODY => {
                    self.stack.open_element(tag);
                    self.allows_frameset = false;
                    self.mode = Mode::InBody;
                    return Done::Yes;
                }
                Name::FRAMESET => {
                    self.stack.open_element(tag);
                    self.mode = Mode::InFrameset;
                    return Done::Yes;
                }
                Name::HEAD => return Done::Yes,
                name if name.is_metadata() => {
                    let Some(head) = self.head else { return Done::Yes };
                    self.stack.push(head);
                    let done = self.in_head(token);
                    let position = self.stack.open.iter().rposition(|&node| node == head);
                    position.map(|position| self.stack.remove_open(position));
                    return done;
                }
                _ => {}
            },
        }
        self.stack.open_implied(Name::BODY);
        self.mode = Mode::InBody;
        Done::Again
    }

    fn in_template(&mut self, token: Token<'_>) -> Done {
        let mode = match token {
            Token::Space | Token::Text => return self.in_body(token),
            Token::Tag(tag) if tag.closing => {
                return match tag.name {
                    Name::TEMPLATE => self.close_template(),
                    _ => Done::Yes,
                };
            }
            Token::Tag(tag) => match tag.name {
                name if name.is_metadata() => return self.in_head(token),
                Name::CAPTION | Name::COLGROUP => Mode::InTable,
                name if name.is_row_group() => Mode::InTable,
                Name::COL => Mode::InColumnGroup,
                Name::TR => Mode::InTableBody,
                name if name.is_cell() => Mode::InRow,
                _ => Mode::InBody,
            },
        };
        self.templates.pop();
        self.templates.push(mode);
        self.mode = mode;
        Done::Again
    }

    fn after_body(&mut self, mode: Mode, token: Token<'_>) -> Done {
        match token {
            Token::Space => return self.in_body(token),
            Token::Tag(tag) if tag.name == Name::HTML && !tag.closing => {
                return self.in_body(token);
            }
            Token::Tag(tag) if tag.name == Name::HTML && tag.closing && mode == Mode::AfterBody => {
                self.mode = Mode::AfterAfterBody;
                return Done::Yes;
            }
            _ => {}
        }
        self.mode = Mode::InBody;
        Done::Again
    }

    fn in_frameset(&mut self, mode: Mode, token: Token<'_>) -> Done {
        let inside = mode == Mode::InFrameset;
        match token {
            Token::Space if mode == Mode::AfterAfterFrameset => self.in_body(token),
            Token::Space => self.insert_text(),
            Token::Tag(tag) if tag.closing => {
                match tag.name {
                    Name::FRAMESET if inside && self.stack.open.len() > 1 => {
                        self.stack.pop();
                        if self.stack.current_name() != Some(Name::FRAMESET) {
                            self.mode = Mode::AfterFrameset;
                        }
                    }
                    Name::HTML if mode == Mode::AfterFrameset => {
                        self.mode = Mode::AfterAfterFrameset;
                    }
                    _ => {}
                }
                Done::Yes
            }
            Token::Tag(tag) => match tag.name {
                Name::HTML => self.in_body(token),
                Name::FRAMESET if inside => {
                    self.stack.open_element(tag);
                    Done::Yes
                }
                Name::FRAME if inside => self.insert_void(tag),
                Name::NOFRAMES => self.in_head(token),
                _ => Done::Yes,
            },
            Token::Text => Done::Yes,
        }
    }

    /// The mode that belongs to the innermost open element.
    pub(super) fn reset_mode(&mut self) {
        for index in (0..self.stack.open.len()).rev() {
            self.stack.steps += 1;
            let Some(name) = self.stack.name_at(index) else { continue };
            self.mode = match name {
                name if name.is_cell() && index > 0 => Mode::InCell,
                Name::TR => Mode::InRow,
                name if name.is_row_group() => Mode::InTableBody,
                Name::CAPTION => Mode::InCaption,
                Name::COLGROUP => Mode::InColumnGroup,
                Name::TABLE => Mode::InTable,
                Name::TEMPLATE => self.templates.last().copied().unwrap_or(Mode::InBody),
                Name::HEAD if index > 0 => Mode::InHead,
                Name::BODY => Mode::InBody,
                Name::FRAMESET => Mode::InFrameset,
                Name::HTML if self.head.is_none() => Mode::BeforeHead,
                Name::HTML => Mode::AfterHead,
                _ => continue,
            };
            return;
        }
        self.mode = Mode::InBody;
    }

    /// Whether a token is read by the rules for SVG and MathML.
    fn has_foreign_rules(&self, token: Token<'_>) -> bool {
        let Some(element) = self.stack.current().and_then(|node| self.stack.tree.element(node))
        else {
            return false;
        };
        if element.space == Space::Html {
            return false;
        }
        let begun = match token {
            Token::Tag(tag) if tag.closing => return true,
            Token::Tag(tag) => Some(tag.name),
            Token::Space | Token::Text => None,
        };
        let is_html = element.holds_html
            || (is_math_text(element) && !matches!(begun, Some(Name::MGLYPH | Name::MALIGNMARK)))
            || (element.space == Space::MathMl
                && element.name == Name::ANNOTATION_XML
                && begun == Some(Name::SVG));
        !is_html
    }

    fn foreign(&mut self, token: Token<'_>) -> Done {
        let tag = match token {
            Token::Space | Token::Text => {
                self.allows_frameset &= matches!(token, Token::Space);
                return self.insert_text();
            }
            Token::Tag(tag) => tag,
        };
        let breaks_out = match tag.closing {
            true => matches!(tag.name, Name::BR | Name::P),
            false => {
                tag.name.ends_foreign_content()
                    || (tag.name == Name::FONT && tag.attributes.is_styled)
            }
        };
        if breaks_out {
            let is_html = |element: &super::tree::Element| {
                element.space == Space::Html || element.holds_html || is_math_text(element)
            };
            while let Some(node) = self.stack.current() {
                if self.stack.tree.element(node).is_some_and(is_html) {
                    break;
                }
                self.stack.pop();
            }
            return Done::Again;
        }
        if tag.closing {
            return self.close_foreign(tag);
        }
        let space = self.stack.current().and_then(|node| self.stack.tree.element(node));
        let space = space.map_or(Space::Html, |element| element.space);
        self.open_foreign(space, tag);
        Done::Yes
    }

    pub(super) fn open_foreign(&mut self, space: Space, tag: &Tag) {
        self.stack.open_in(space, tag);
        if tag.self_closing {
            self.stack.pop();
        }
    }

    fn close_foreign(&mut self, tag: &Tag) -> Done {
        for index in (0..self.stack.open.len()).rev() {
            self.stack.steps += 1;
            let node = self.stack.open[index];
            let Some(element) = self.stack.tree.element(node) else { break };
            if element.space == Space::Html {
                return self.step(self.mode, Token::Tag(tag));
            }
            if element.name == tag.name {
                self.stack.truncate(index);
                break;
            }
        }
        Done::Yes
    }

    /// The element of the page itself.
    pub(super) fn root(&self) -> Option<NodeId> {
        self.stack.open.first().copied().filter(|&node| node != Tree::PAGE)
    }
}

/// End tags that end the part before the body.
fn is_outline_end(name: Name) -> bool {
    matches!(name, Name::HEAD | Name::BODY | Name::HTML | Name::BR)
}
