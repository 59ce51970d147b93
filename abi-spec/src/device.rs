//! Devices.

/// `DLDeviceType` of DLPack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceType(pub i32);

impl DeviceType {
    /// `kDLCPU`
    pub const CPU: DeviceType = DeviceType(1);
}
