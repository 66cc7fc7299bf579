//! From SVG to PNG, with the embedded font.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::StudyError;

/// Inter; see `assets/README.md` for source and licence.
const FONT: &[u8] = include_bytes!("../../assets/Inter-Regular.otf");

/// Pixels per unit of the drawing.
const SCALE: f32 = 2.0;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

/// The drawing as a PNG file.
pub(crate) fn to_png(svg: &str) -> Result<Vec<u8>, StudyError> {
    let options =
        Options { font_family: "Inter".to_string(), fontdb: FONTS.clone(), ..Options::default() };
    let failed = |error: &dyn std::fmt::Display| StudyError::Drawing(error.to_string());
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let mut pixels = size
        .and_then(|size| Pixmap::new(size.width(), size.height()))
        .ok_or_else(|| failed(&"it has no size"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error))
}
