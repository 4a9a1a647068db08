//! Values that the host has borrowed.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::HostBorrow;

/// Values of a [`ManagedBuffer`](crate::ManagedBuffer), borrowed by the host for reading: a `[T]`.
///
/// A graph that uses the memory cannot be launched until this is dropped
/// ([`MemoryError::HostBorrowed`](crate::MemoryError::HostBorrowed)).
pub struct HostSlice<'a, T> {
    values: &'a [T],
    _borrow: HostBorrow<'a>,
}

/// Values of a [`ManagedBuffer`](crate::ManagedBuffer), borrowed by the host for reading and writing: a
/// `[T]`.
///
/// A graph that uses the memory cannot be launched until this is dropped
/// ([`MemoryError::HostBorrowed`](crate::MemoryError::HostBorrowed)).
pub struct HostSliceMut<'a, T> {
    values: &'a mut [T],
    _borrow: HostBorrow<'a>,
}

impl<'a, T> HostSlice<'a, T> {
    pub(in crate::memory) fn new(values: &'a [T], borrow: HostBorrow<'a>) -> HostSlice<'a, T> {
        HostSlice { values, _borrow: borrow }
    }
}

impl<'a, T> HostSliceMut<'a, T> {
    pub(in crate::memory) fn new(values: &'a mut [T], borrow: HostBorrow<'a>) -> HostSliceMut<'a, T> {
        HostSliceMut { values, _borrow: borrow }
    }
}

impl<T> DerefMut for HostSliceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.values
    }
}

impl<'s, T> IntoIterator for &'s mut HostSliceMut<'_, T> {
    type Item = &'s mut T;
    type IntoIter = std::slice::IterMut<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter_mut()
    }
}

macro_rules! as_slice {
    ($name:ident) => {
        impl<T> Deref for $name<'_, T> {
            type Target = [T];

            fn deref(&self) -> &[T] {
                self.values
            }
        }

        impl<T> AsRef<[T]> for $name<'_, T> {
            fn as_ref(&self) -> &[T] {
                self.values
            }
        }

        impl<'s, T> IntoIterator for &'s $name<'_, T> {
            type Item = &'s T;
            type IntoIter = std::slice::Iter<'s, T>;

            fn into_iter(self) -> Self::IntoIter {
                self.values.iter()
            }
        }

        impl<T, U: AsRef<[T]> + ?Sized> PartialEq<U> for $name<'_, T>
        where
            T: PartialEq,
        {
            fn eq(&self, other: &U) -> bool {
                *self.values == *other.as_ref()
            }
        }

        impl<T: fmt::Debug> fmt::Debug for $name<'_, T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.values.fmt(formatter)
            }
        }
    };
}

as_slice!(HostSlice);
as_slice!(HostSliceMut);
