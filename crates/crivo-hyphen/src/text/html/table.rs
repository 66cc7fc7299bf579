//! The rules for tables.

use super::build::{Builder, Done, Mode, Token};
use super::names::Name;
use super::stack::{Entry, Scope};

impl Builder {
    pub(super) fn in_table(&mut self, token: Token<'_>) -> Done {
        let Token::Tag(tag) = token else { return self.move_out(token) };
        let name = tag.name;
        if tag.closing {
            return match name {
                Name::TABLE => {
                    self.close_table();
                    Done::Yes
                }
                Name::TEMPLATE => self.in_head(token),
                Name::BODY | Name::HTML => Done::Yes,
                name if name.is_table_part() => Done::Yes,
                _ => self.move_out(token),
            };
        }
        match name {
            Name::CAPTION => {
                self.clear_to(is_table_context);
                self.stack.formatting.push(Entry::Marker);
                self.stack.open_element(tag);
                self.mode = Mode::InCaption;
            }
            Name::COLGROUP => {
                self.clear_to(is_table_context);
                self.stack.open_element(tag);
                self.mode = Mode::InColumnGroup;
            }
            Name::COL => {
                self.clear_to(is_table_context);
                self.stack.open_implied(Name::COLGROUP);
                self.mode = Mode::InColumnGroup;
                return Done::Again;
            }
            name if name.is_row_group() => {
                self.clear_to(is_table_context);
                self.stack.open_element(tag);
                self.mode = Mode::InTableBody;
            }
            Name::TD | Name::TH | Name::TR => {
                self.clear_to(is_table_context);
                self.stack.open_implied(Name::TBODY);
                self.mode = Mode::InTableBody;
                return Done::Again;
            }
            Name::TABLE => {
                if self.close_table() {
                    return Done::Again;
                }
            }
            Name::STYLE | Name::SCRIPT | Name::TEMPLATE => return self.in_head(token),
            Name::INPUT if tag.attributes.is_hidden_input => return self.insert_void(tag),
            Name::FORM => {
                if self.form.is_none() && !self.stack.is_open(Name::TEMPLATE) {
                    self.form = Some(self.stack.open_element(tag));
                    self.stack.pop();
                }
            }
            _ => return self.move_out(token),
        }
        Done::Yes
    }

    /// Content that a table does not allow is moved before it.
    fn move_out(&mut self, token: Token<'_>) -> Done {
        let is_table = |name: Name| {
            matches!(name, Name::TABLE | Name::TEMPLATE | Name::TR) || name.is_row_group()
        };
        if matches!(token, Token::Space) && self.stack.current_name().is_some_and(is_table) {
            return self.insert_text();
        }
        self.stack.moves_out_of_tables = true;
        let done = self.in_body(token);
        self.stack.moves_out_of_tables = false;
        done
    }

    fn clear_to(&mut self, context: fn(Name) -> bool) {
        self.stack.pop_to(context);
    }

    fn close_table(&mut self) -> bool {
        let is_open = self.stack.has(Scope::Table, Name::TABLE);
        if is_open {
            self.stack.pop_until(|name| name == Name::TABLE);
            self.reset_mode();
        }
        is_open
    }

    pub(super) fn in_caption(&mut self, token: Token<'_>) -> Done {
        let Token::Tag(tag) = token else { return self.in_body(token) };
        let name = tag.name;
        let again = match tag.closing {
            true if name == Name::CAPTION => false,
            true if name == Name::TABLE => true,
            true if name.is_table_part() || matches!(name, Name::BODY | Name::HTML) => {
                return Done::Yes;
            }
            false if name.is_table_part() => true,
            _ => return self.in_body(token),
        };
        if !self.stack.has(Scope::Table, Name::CAPTION) {
            return Done::Yes;
        }
        self.stack.close_implied(None);
        self.stack.pop_until(|name| name == Name::CAPTION);
        self.stack.clear_formatting();
        self.mode = Mode::InTable;
        if again { Done::Again } else { Done::Yes }
    }

    pub(super) fn in_column_group(&mut self, token: Token<'_>) -> Done {
        let closes = match token {
            Token::Space => return self.insert_text(),
            Token::Tag(tag) => match (tag.closing, tag.name) {
                (false, Name::HTML) => return self.in_body(token),
                (false, Name::COL) => return self.insert_void(tag),
                (true, Name::COLGROUP) => true,
                (true, Name::COL) => return Done::Yes,
                (_, Name::TEMPLATE) => return self.in_head(token),
                _ => false,
            },
            Token::Text => false,
        };
        if self.stack.current_name() != Some(Name::COLGROUP) {
            return Done::Yes;
        }
        self.stack.pop();
        self.mode = Mode::InTable;
        if closes { Done::Yes } else { Done::Again }
    }

    pub(super) fn in_table_body(&mut self, token: Token<'_>) -> Done {
        let Token::Tag(tag) = token else { return self.in_table(token) };
        let name = tag.name;
        let again = match tag.closing {
            false if name == Name::TR => {
                self.clear_to(is_group_context);
                self.stack.open_element(tag);
                self.mode = Mode::InRow;
                return Done::Yes;
            }
            false if name.is_cell() => {
                self.clear_to(is_group_context);
                self.stack.open_implied(Name::TR);
                self.mode = Mode::InRow;
                return Done::Again;
            }
            true if name.is_row_group() => {
                if !self.stack.has(Scope::Table, name) {
                    return Done::Yes;
                }
                false
            }
            true if name == Name::TABLE => true,
            false if name.is_table_part() => true,
            true if name.is_table_part() || matches!(name, Name::BODY | Name::HTML) => {
                return Done::Yes;
            }
            _ => return self.in_table(token),
        };
        if again && !self.stack.in_scope(Scope::Table, Name::is_row_group) {
            return Done::Yes;
        }
        self.clear_to(is_group_context);
        self.stack.pop();
        self.mode = Mode::InTable;
        if again { Done::Again } else { Done::Yes }
    }

    pub(super) fn in_row(&mut self, token: Token<'_>) -> Done {
        let Token::Tag(tag) = token else { return self.in_table(token) };
        let name = tag.name;
        let again = match tag.closing {
            false if name.is_cell() => {
                self.clear_to(is_row_context);
                self.stack.open_element(tag);
                self.mode = Mode::InCell;
                self.stack.formatting.push(Entry::Marker);
                return Done::Yes;
            }
            true if name == Name::TR => false,
            true if name == Name::TABLE => true,
            true if name.is_row_group() => {
                if !self.stack.has(Scope::Table, name) {
                    return Done::Yes;
                }
                true
            }
            false if name.is_table_part() => true,
            true if name.is_table_part() || matches!(name, Name::BODY | Name::HTML) => {
                return Done::Yes;
            }
            _ => return self.in_table(token),
        };
        if !self.stack.has(Scope::Table, Name::TR) {
            return Done::Yes;
        }
        self.clear_to(is_row_context);
        self.stack.pop();
        self.mode = Mode::InTableBody;
        if again { Done::Again } else { Done::Yes }
    }

    pub(super) fn in_cell(&mut self, token: Token<'_>) -> Done {
        let Token::Tag(tag) = token else { return self.in_body(token) };
        let name = tag.name;
        match tag.closing {
            true if name.is_cell() => {
                if self.stack.has(Scope::Table, name) {
                    self.stack.close_implied(None);
                    self.stack.pop_until(|other| other == name);
                    self.stack.clear_formatting();
                    self.mode = Mode::InRow;
                }
                Done::Yes
            }
            true if name == Name::TABLE || name == Name::TR || name.is_row_group() => {
                if !self.stack.has(Scope::Table, name) {
                    return Done::Yes;
                }
                self.close_cell()
            }
            true if name.is_table_part() || matches!(name, Name::BODY | Name::HTML) => Done::Yes,
            false if name.is_table_part() => {
                if !self.stack.in_scope(Scope::Table, Name::is_cell) {
                    return Done::Yes;
                }
                self.close_cell()
            }
            _ => self.in_body(token),
        }
    }

    fn close_cell(&mut self) -> Done {
        self.stack.close_implied(None);
        self.stack.pop_until(Name::is_cell);
        self.stack.clear_formatting();
        self.mode = Mode::InRow;
        Done::Again
    }
}

fn is_table_context(name: Name) -> bool {
    matches!(name, Name::TABLE | Name::TEMPLATE | Name::HTML)
}

fn is_group_context(name: Name) -> bool {
    name.is_row_group() || matches!(name, Name::TEMPLATE | Name::HTML)
}

fn is_row_context(name: Name) -> bool {
    matches!(name, Name::TR | Name::TEMPLATE | Name::HTML)
}
