// SPDX-License-Identifier: Apache-2.0
//! What a kernel's argument can be.

use crate::objects::buffer::Buffer;

/// Memory of this process, for a context that shares it ([`Context::share_process`](crate::Context::share_process)): it is on the card
/// while the kernel runs. May as well lie in a live buffer of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRange {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) writable: bool,
    pub(crate) kept: bool,
}

impl HostRange {
    /// `bytes` bytes at `address`.
    ///
    /// # Safety
    /// The memory is there until the launch has ended, nobody holds a reference to it that forbids what the kernel does, and every
    /// content that the kernel can write is valid there.
    pub unsafe fn new(address: u64, bytes: u64, writable: bool) -> Self {
        Self {
            address,
            bytes,
            writable,
            kept: false,
        }
    }

    /// Its owner calls [`Context::forget`](crate::Context::forget) before it frees it. Only then can memory in an arena of `malloc`
    /// move.
    pub fn kept(self) -> Self {
        Self { kept: true, ..self }
    }

    /// First address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<T> From<&[T]> for HostRange {
    fn from(memory: &[T]) -> Self {
        Self {
            address: memory.as_ptr() as u64,
            bytes: size_of_val(memory) as u64,
            writable: false,
            kept: false,
        }
    }
}

impl<T: Plain> From<&mut [T]> for HostRange {
    fn from(memory: &mut [T]) -> Self {
        Self {
            writable: true,
            ..Self::from(&*memory)
        }
    }
}

impl<'a> From<HostRange> for Value<'a> {
    fn from(memory: HostRange) -> Self {
        Self::Memory(memory)
    }
}

/// Numbers: types of which every content is valid.
pub trait Plain: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($number:ty)*) => {
        $(impl sealed::Sealed for $number {}
        impl Plain for $number {})*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

/// A kernel's argument.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// The null pointer, for a buffer.
    Null,
    /// A buffer's first address.
    Buffer(&'a Buffer),
    /// A number, signed ones in two's complement; for a buffer an address inside a live buffer of the context.
    Number(u64),
    /// Memory of this process, for a buffer.
    Memory(HostRange),
    /// An address for a buffer that is given to the kernel as it is, checked by nobody but the hardware.
    Address(u64),
}

impl<'a> From<&'a Buffer> for Value<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self::Buffer(buffer)
    }
}

impl<'a, T> From<&'a [T]> for Value<'a> {
    fn from(memory: &'a [T]) -> Self {
        Self::Memory(memory.into())
    }
}

impl<'a, T: Plain> From<&'a mut [T]> for Value<'a> {
    fn from(memory: &'a mut [T]) -> Self {
        Self::Memory(memory.into())
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number as u64)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i32> for Value<'_> {
    fn from(number: i32) -> Self {
        Self::from(i64::from(number))
    }
}

impl From<usize> for Value<'_> {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

/// The low 32 bits of a number that fits them, unsigned or as a negative number.
pub(crate) fn as_u32(number: u64) -> Option<u32> {
    let signed = number as i64;
    (number <= u64::from(u32::MAX) || (i64::from(i32::MIN)..0).contains(&signed))
        .then_some(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_32_bits_may_be_negative() {
        assert_eq!(as_u32(u64::from(u32::MAX)), Some(u32::MAX));
        assert_eq!(as_u32(-1i64 as u64), Some(u32::MAX));
        assert_eq!(as_u32(1 << 32), None);
        assert_eq!(as_u32(i64::from(i32::MIN) as u64 - 1), None);
    }
}
