//! Platforms of functions, and the driver that launches their kernels.

use crate::declaration::{AttributeKind, Body, Expr, Function, LaunchArg, Platform, Tensor};
use crate::resolve::image::UsedImage;
use crate::resolve::{Explained, Items};

/// Returns true if a function may use a driver: it has statements, or asks for attributes of devices.
fn may_use_driver(function: &Function) -> bool {
    let Body::Call(call) = &function.body else { return true };
    let constraints = function.signature.constraints.iter();
    constraints.map(|constraint| &constraint.condition).chain(call.exprs()).any(asks_driver)
}

/// Returns true if a part of an expression is asked of a driver.
pub(in crate::resolve) fn asks_driver(expr: &Expr) -> bool {
    matches!(expr, Expr::DeviceAttribute(..) | Expr::CurrentDevice | Expr::Global(_))
        || expr.children().any(asks_driver)
}

/// Returns the platform of a function: that of the first tensor on a GPU of a known type, else of the first image whose
/// bytes are known, else CUDA.
pub(in crate::resolve) fn of(function: &Function, items: &Items<'_>) -> Platform {
    if !may_use_driver(function) {
        return Platform::Cuda;
    }
    let statements = function.body.statements();
    let within = statements.flat_map(|statement| statement.kind.tensors());
    let mut tensors = function.signature.tensors().chain(within);
    if let Some(platform) = tensors.find_map(|tensor: &Tensor| Platform::of_device(tensor.device)) {
        return platform;
    }
    let images = items.used(function);
    images.into_iter().find_map(|image| image.platform).unwrap_or(Platform::Cuda)
}

/// Checks that a platform has all that a launch asks for.
pub(super) fn check(
    platform: Platform,
    launch: &crate::Launch,
    image: &UsedImage<'_>,
) -> Explained<()> {
    check_image(platform, image)?;
    let mut attributes = launch.attributes.iter().map(|attribute| attribute.kind);
    let missing = attributes.find(|kind| !has_attribute(platform, *kind));
    if let Some(kind) = missing {
        return Err(format!("{} has no `{}`", platform.device_type(), kind.word()));
    }
    if launch.args.iter().any(|arg| matches!(arg, LaunchArg::TensorMap(_))) {
        return check_maps(platform);
    }
    Ok(())
}

/// Checks that a platform loads an image.
pub(in crate::resolve) fn check_image(platform: Platform, image: &UsedImage<'_>) -> Explained<()> {
    match image.platform.filter(|other| *other != platform) {
        Some(other) => Err(format!(
            "image `{}` is for {}, but the function launches on {}",
            image.name,
            other.device_type(),
            platform.device_type()
        )),
        None => Ok(()),
    }
}

/// Checks that a platform has tensor maps.
pub(super) fn check_maps(platform: Platform) -> Explained<()> {
    match platform {
        Platform::Cuda => Ok(()),
        Platform::Hip => Err(format!("{} has no `tensormap`", platform.device_type())),
    }
}

fn has_attribute(platform: Platform, kind: AttributeKind) -> bool {
    match platform {
        Platform::Cuda => true,
        Platform::Hip => kind == AttributeKind::Cooperative,
    }
}
