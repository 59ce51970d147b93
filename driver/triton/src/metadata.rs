//! Metadata of a kernel: the keys of the JSON beside an image that launches need.

use codegen::{MapType, Platform, Swizzle};
use serde_json::{Map, Value};

use crate::Error;

/// Parameters of the launch.
pub(crate) struct Metadata {
    /// Platform of the image.
    pub(crate) platform: Platform,
    /// Name of the kernel in the image.
    pub(crate) name: String,
    /// Threads in a block.
    pub(crate) threads: i64,
    /// Blocks in a cluster, which run one program together.
    pub(crate) ctas: i64,
    /// Bytes of dynamic shared memory.
    pub(crate) shared: i64,
    pub(crate) pdl: bool,
    pub(crate) cooperative: bool,
    /// Hidden parameters, in order.
    pub(crate) scratch: [Scratch; 2],
    /// Tensor maps; empty for devices that have none.
    pub(crate) descriptors: Vec<Descriptor>,
}

/// Scratch memory on the device.
pub(crate) struct Scratch {
    /// Bytes per block.
    pub(crate) size: i64,
    pub(crate) align: u64,
}

/// A tensor map.
pub(crate) struct Descriptor {
    pub(crate) swizzle: Swizzle,
    pub(crate) dtype: MapType,
    /// Extents of a box; for columns pixels and channels.
    pub(crate) extents: Vec<i64>,
    /// True for columns of pixels.
    pub(crate) by_columns: bool,
}

/// Returns the most bytes of shared memory that a device has: with CUDA as much as the driver gives without a further
/// mode, for AMD the local memory of gfx1250. A launch on a device with less is an error of the call.
const fn most_shared(platform: Platform) -> i64 {
    match platform {
        Platform::Cuda => 228 * 1024,
        Platform::Hip => 320 * 1024,
    }
}

impl Metadata {
    pub(crate) fn parse(text: &str) -> Result<Metadata, Error> {
        let refused = |reason: String| Error::Metadata { reason };
        let value: Value =
            serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        let object = value.as_object().ok_or_else(|| refused("it is no object".into()))?;
        let keys = Keys(object);
        let platform = keys.platform()?;
        keys.check_supported(platform)?;
        let descriptors = keys.objects("tensordesc_meta")?;
        Ok(Metadata {
            platform,
            name: keys.text("name")?.to_owned(),
            threads: keys.count("num_warps")? * keys.count("warp_size")?,
            ctas: keys.count("num_ctas")?,
            shared: keys.number("shared")?,
            pdl: platform == Platform::Cuda && keys.flag("launch_pdl")?,
            cooperative: keys.flag("launch_cooperative_grid")?,
            scratch: [
                keys.scratch("global_scratch_size", "global_scratch_align")?,
                keys.scratch("profile_scratch_size", "profile_scratch_align")?,
            ],
            descriptors: descriptors
                .into_iter()
                .map(|keys| keys.descriptor())
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A JSON object of the metadata.
struct Keys<'a>(&'a Map<String, Value>);

impl<'a> Keys<'a> {
    fn find<T>(
        &self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, Error> {
        let value = self.0.get(key).ok_or(Error::MissingKey { key })?;
        read(value).ok_or_else(|| Error::Key { key, expected, found: value.to_string() })
    }

    /// Reads a number so small that products of two do not overflow.
    fn number(&self, key: &'static str) -> Result<i64, Error> {
        self.find(key, "a number from 0 to 2147483647", small)
    }

    /// Reads such a number that is not 0.
    fn count(&self, key: &'static str) -> Result<i64, Error> {
        let count = |value: &Value| small(value).filter(|count| *count > 0);
        self.find(key, "a number from 1 to 2147483647", count)
    }

    fn flag(&self, key: &'static str) -> Result<bool, Error> {
        self.find(key, "true or false", Value::as_bool)
    }

    fn text(&self, key: &'static str) -> Result<&'a str, Error> {
        self.find(key, "text", Value::as_str)
    }

    fn objects(&self, key: &'static str) -> Result<Vec<Keys<'a>>, Error> {
        self.find(key, "a list of objects", |value| {
            value.as_array()?.iter().map(|value| value.as_object().map(Keys)).collect()
        })
    }

    fn scratch(&self, size: &'static str, align: &'static str) -> Result<Scratch, Error> {
        let size = self.number(size)?;
        Ok(Scratch { size, align: self.find(align, "a number", Value::as_u64)? })
    }

    fn descriptor(&self) -> Result<Descriptor, Error> {
        if self.flag("fp4_padded")? {
            let reason = "a tensor map of padded 4-bit elements".to_owned();
            return Err(unsupported("fp4_padded", reason));
        }
        // Triton 3.6 has no maps of columns.
        let by_columns = self.0.contains_key("is_im2col") && self.flag("is_im2col")?;
        let named = |numbers: &'static [MapType]| {
            move |value: &Value| {
                let number = host_type(small(value)?);
                numbers.iter().copied().find(|ty| *ty as i64 == number)
            }
        };
        let swizzle = |value: &Value| {
            let number = small(value)?;
            Swizzle::ALL.iter().copied().find(|swizzle| *swizzle as i64 == number)
        };
        let extents = |value: &Value| {
            let extents: Option<Vec<i64>> = value.as_array()?.iter().map(small).collect();
            extents.filter(|extents| !by_columns || extents.len() == 2)
        };
        let expected = if by_columns { "two numbers" } else { "a list of numbers" };
        Ok(Descriptor {
            swizzle: self.find("swizzle", "a swizzle of the driver", swizzle)?,
            dtype: self.find("elem_type", "a type of elements", named(MapType::ALL))?,
            extents: self.find("block_size", expected, extents)?,
            by_columns,
        })
    }

    /// Reads the platform that the kernel is for.
    fn platform(&self) -> Result<Platform, Error> {
        let backend =
            self.find("target", "a target", |target| target.as_object()?.get("backend")?.as_str())?;
        match backend {
            "cuda" => Ok(Platform::Cuda),
            "hip" => Ok(Platform::Hip),
            other => Err(unsupported("target", format!("a kernel for {other}"))),
        }
    }

    /// Checks that the platform has what the launch needs, and that no sanitizer has added parameters.
    fn check_supported(&self, platform: Platform) -> Result<(), Error> {
        let most = most_shared(platform);
        if self.number("shared")? > most {
            return Err(unsupported("shared", format!("shared memory above {most} bytes")));
        }
        let mode = self.0.get("instrumentation_mode").and_then(Value::as_str).unwrap_or_default();
        if !mode.is_empty() {
            let reason = format!("a kernel with the instrumentation `{mode}`");
            return Err(unsupported("instrumentation_mode", reason));
        }
        match platform {
            Platform::Cuda => Ok(()),
            Platform::Hip if self.number("num_ctas")? > 1 => {
                Err(unsupported("num_ctas", "a cluster of blocks on rocm".to_owned()))
            }
            Platform::Hip if !self.objects("tensordesc_meta")?.is_empty() => Err(unsupported(
                "tensordesc_meta",
                "a descriptor for AMD's tensor mover".to_owned(),
            )),
            Platform::Hip => Ok(()),
        }
    }
}

fn unsupported(key: &'static str, reason: String) -> Error {
    Error::Unsupported { key, reason }
}

fn small(value: &Value) -> Option<i64> {
    value.as_u64().and_then(|number| i32::try_from(number).ok()).map(i64::from)
}

/// Converts Triton's number of an element type to the driver's, which differs for three types.
fn host_type(number: i64) -> i64 {
    match number {
        8 => MapType::Float32Ftz as i64,
        9 => MapType::Float64 as i64,
        10 => MapType::BFloat16 as i64,
        other => other,
    }
}
