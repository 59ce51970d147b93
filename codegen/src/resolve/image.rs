//! Images as functions use them.

use crate::declaration::{Image, ImageKind, Platform};

/// An image that a function uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsedImage<'a> {
    pub(crate) name: &'a str,
    /// Platform that loads it; `None` without its bytes.
    pub(crate) platform: Option<Platform>,
    /// Name of the function that is called after it is loaded.
    pub(crate) on_load: Option<&'a str>,
}

impl<'a> UsedImage<'a> {
    pub(super) fn of(image: &'a Image) -> UsedImage<'a> {
        let platform = image.bytes.as_deref().and_then(ImageKind::of).map(ImageKind::platform);
        UsedImage { name: &image.name, platform, on_load: image.on_load.as_deref() }
    }
}
