//! Platforms: the devices whose kernels they launch.

use abi_spec::DeviceType;

use super::{Device, DeviceAttribute, Platform};

impl Platform {
    /// Returns the type of devices on which kernels run.
    pub const fn device_type(self) -> DeviceType {
        match self {
            Platform::Cuda => DeviceType::CUDA,
            Platform::Hip => DeviceType::ROCM,
        }
    }

    /// Returns true for memory that kernels can access and that belongs to no device.
    pub(crate) const fn shares(self, device: DeviceType) -> bool {
        match self {
            Platform::Cuda => {
                matches!(device, DeviceType::CUDA_HOST | DeviceType::CUDA_MANAGED)
            }
            Platform::Hip => matches!(device, DeviceType::ROCM_HOST),
        }
    }

    /// Returns false for numbers below those of the attributes of devices. The numbers of HIP begin with 0.
    pub(crate) const fn has_attribute(self, id: u32) -> bool {
        match self {
            Platform::Cuda => id > 0,
            Platform::Hip => true,
        }
    }

    /// Returns the number of an attribute of devices: a `CUdevice_attribute` or a `hipDeviceAttribute_t`.
    pub(crate) const fn attribute(self, attribute: DeviceAttribute) -> u32 {
        match (self, attribute) {
            (_, DeviceAttribute::Other(id)) => id,
            (Platform::Cuda, DeviceAttribute::Multiprocessors) => 16,
            (Platform::Hip, DeviceAttribute::Multiprocessors) => 63,
        }
    }

    /// Returns the platform that launches kernels on devices of a declared type; `None` for other devices.
    pub(crate) fn of_device(device: Device) -> Option<Platform> {
        [Platform::Cuda, Platform::Hip]
            .into_iter()
            .find(|platform| device == Device::Type(platform.device_type()))
    }
}
