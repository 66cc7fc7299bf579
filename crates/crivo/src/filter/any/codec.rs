//! A filter of any kind as a file: whatever its own kind makes of it.

use super::AnyFilter;
use crate::filter::*;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};

macro_rules! persist {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        /// The parameters of a file of any kind.
        pub enum AnyLayout {
            $($kind(<$filter as Persist>::Layout),)*
        }

        impl Persist for AnyFilter {
            type Layout = AnyLayout;

            fn parts(&self) -> Parts<'_> {
                match self { $(Self::$kind(filter) => filter.parts(),)* }
            }

            fn metadata(&self) -> &Metadata {
                match self { $(Self::$kind(filter) => Persist::metadata(filter),)* }
            }

            fn metadata_mut(&mut self) -> &mut Metadata {
                match self { $(Self::$kind(filter) => Persist::metadata_mut(filter),)* }
            }

            fn parse(kind: FileKind, parameters: &[u64]) -> Result<AnyLayout, DecodeError> {
                match Kind::from_id(kind.id()) {
                    $(Some(Kind::$kind) => <$filter>::parse(kind, parameters).map(AnyLayout::$kind),)*
                    None => Err(DecodeError::NotAFilter(kind)),
                }
            }

            fn payload_length(layout: &AnyLayout) -> u64 {
                match layout { $(AnyLayout::$kind(layout) => <$filter>::payload_length(layout),)* }
            }

            fn from_content(layout: AnyLayout, content: Content) -> Result<Self, DecodeError> {
                match layout {
                    $(AnyLayout::$kind(layout) => {
                        <$filter>::from_content(layout, content).map(Self::$kind)
                    })*
                }
            }
        }
    };
}
for_each_kind!(persist);
