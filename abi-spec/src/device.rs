//! Devices.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::error::canonical_number;

/// `DLDeviceType` of DLPack: any `int32_t`, known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceType(pub i32);

/// Defines the known types: number, C enumerator and name.
macro_rules! device_types {
    ($($constant:ident = $number:literal, $c_name:ident, $name:literal;)*) => {
        impl DeviceType {
            $(
                #[doc = concat!("`", stringify!($c_name), "`")]
                pub const $constant: DeviceType = DeviceType($number);
            )*

            /// All known types, in the order of their numbers.
            pub const ALL: [DeviceType; [$($number),*].len()] = [$(DeviceType::$constant),*];

            /// Returns the name of a known type: the string that the runtime accepts, where it accepts one.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(DeviceType::$constant => Some($name),)*
                    DeviceType(_) => None,
                }
            }

            /// Returns the C enumerator of a known type in `dlpack.h`.
            pub const fn c_name(self) -> Option<&'static str> {
                match self {
                    $(DeviceType::$constant => Some(stringify!($c_name)),)*
                    DeviceType(_) => None,
                }
            }
        }
    };
}

device_types! {
    CPU = 1, kDLCPU, "cpu";
    CUDA = 2, kDLCUDA, "cuda";
    CUDA_HOST = 3, kDLCUDAHost, "cuda_host";
    OPENCL = 4, kDLOpenCL, "opencl";
    VULKAN = 7, kDLVulkan, "vulkan";
    METAL = 8, kDLMetal, "metal";
    VPI = 9, kDLVPI, "vpi";
    ROCM = 10, kDLROCM, "rocm";
    ROCM_HOST = 11, kDLROCMHost, "rocm_host";
    EXT_DEV = 12, kDLExtDev, "ext_dev";
    CUDA_MANAGED = 13, kDLCUDAManaged, "cuda_managed";
    ONEAPI = 14, kDLOneAPI, "oneapi";
    WEBGPU = 15, kDLWebGPU, "webgpu";
    HEXAGON = 16, kDLHexagon, "hexagon";
    MAIA = 17, kDLMAIA, "maia";
    TRN = 18, kDLTrn, "trn";
}

impl DeviceType {
    /// Returns every string that the runtime reads as a device type, with its type.
    pub fn texts() -> impl Iterator<Item = (&'static str, DeviceType)> {
        [
            ("cpu", DeviceType::CPU),
            ("cuda", DeviceType::CUDA),
            ("opencl", DeviceType::OPENCL),
            ("vulkan", DeviceType::VULKAN),
            ("metal", DeviceType::METAL),
            ("mps", DeviceType::METAL),
            ("vpi", DeviceType::VPI),
            ("rocm", DeviceType::ROCM),
            ("ext_dev", DeviceType::EXT_DEV),
            ("hexagon", DeviceType::HEXAGON),
            ("wgpu", DeviceType::WEBGPU),
            ("webgpu", DeviceType::WEBGPU),
            ("maia", DeviceType::MAIA),
            ("trn", DeviceType::TRN),
        ]
        .into_iter()
    }
}

/// Prints the name, or `device(77)`.
impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "device({})", self.0),
        }
    }
}

/// Parses the name of a known type.
impl FromStr for DeviceType {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<DeviceType, ParseError> {
        let found = DeviceType::ALL.into_iter().find(|ty| ty.name() == Some(text));
        found.ok_or_else(|| ParseError::DeviceType(text.into()))
    }
}

/// `DLDevice` of DLPack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// The type of the device.
    pub ty: DeviceType,
    /// The index among the devices of that type.
    pub id: i32,
}

impl Device {
    /// The processor that runs the host function.
    pub const CPU: Device = Device { ty: DeviceType::CPU, id: 0 };

    /// Returns the eight bytes of the struct as a little-endian word.
    pub const fn to_word(self) -> u64 {
        self.ty.0 as u32 as u64 | (self.id as u32 as u64) << 32
    }
}

/// Prints `cpu` for the first CPU, else the type and the index: `cuda:1`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Device::CPU { self.ty.fmt(f) } else { write!(f, "{}:{}", self.ty, self.id) }
    }
}

/// Parses a known type, with an index that is not negative or without one, for index 0.
impl FromStr for Device {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Device, ParseError> {
        let Some((ty, id)) = text.split_once(':') else {
            return Ok(Device { ty: text.parse()?, id: 0 });
        };
        let ty = ty.parse()?;
        let id = canonical_number(id).ok_or_else(|| ParseError::DeviceId(id.into()))?;
        Ok(Device { ty, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for ty in DeviceType::ALL {
            assert_eq!(Some(ty.to_string().as_str()), ty.name());
            assert_eq!(ty.to_string().parse(), Ok(ty));
            for id in [0, 1, i32::MAX] {
                let device = Device { ty, id };
                assert_eq!(device.to_string().parse(), Ok(device));
            }
        }
        for text in ["", "gpu", "CPU", "cpu ", "mps", "device(77)"] {
            assert_eq!(text.parse::<DeviceType>(), Err(ParseError::DeviceType(text.into())));
        }
    }

    #[test]
    fn devices_print_their_index() {
        let print = |ty, id| Device { ty, id }.to_string();
        assert_eq!(print(DeviceType::CPU, 0), "cpu");
        assert_eq!(print(DeviceType::CPU, 1), "cpu:1");
        assert_eq!(print(DeviceType::CUDA, 0), "cuda:0");
        assert_eq!(print(DeviceType(77), 1), "device(77):1");
        assert_eq!(print(DeviceType(-1), -2), "device(-1):-2");
    }

    #[test]
    fn device_text_is_strict() {
        assert_eq!("cuda".parse(), Ok(Device { ty: DeviceType::CUDA, id: 0 }));
        for id in ["", "-1", "+1", "01", "x", "2147483648", "1:2"] {
            let text = format!("cuda:{id}");
            assert_eq!(text.parse::<Device>(), Err(ParseError::DeviceId(id.into())));
        }
        assert_eq!("gpu:0".parse::<Device>(), Err(ParseError::DeviceType("gpu".into())));
    }

    #[test]
    fn words_are_the_little_endian_struct() {
        let device = Device { ty: DeviceType::CUDA, id: -1 };
        assert_eq!(device.to_word().to_le_bytes(), [2, 0, 0, 0, 255, 255, 255, 255]);
    }
}
