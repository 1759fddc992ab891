//! Objects: a version, a primary key, secondary keys and a value in one run of bytes.
//!
//! Layout, integers little-endian: version (8), length of the primary key (2), number of secondary
//! keys (2), then index and length (2 + 2) of each secondary key, the primary key, the secondary
//! keys, the value.

use std::fmt;

use crate::error::Error;
use crate::schema::IndexId;

/// Longest primary or secondary key, in bytes.
pub const MAX_KEY_BYTES: usize = 16_384;
/// Most secondary keys of one object. A write compares the new keys with the old ones, each with
/// each, while other writers of the primary key wait.
pub const MAX_KEYS: usize = 4_096;
/// Longest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1 << 30;

const FIXED: usize = 12;
const KEY_HEADER: usize = 4;

/// A secondary key to be written: the index it feeds, and its bytes.
pub type Key<'a> = (IndexId, &'a [u8]);

/// An object as the store holds it, borrowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ObjectRef<'a>(&'a [u8]);

/// An object read from the store; a copy that later writes do not change.
#[derive(Clone, PartialEq, Eq)]
pub struct Object(Box<[u8]>);

/// Writes an object of version 0 over `out`.
pub(crate) fn encode(primary: &[u8], keys: &[Key<'_>], value: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&(primary.len() as u16).to_le_bytes());
    out.extend_from_slice(&(keys.len() as u16).to_le_bytes());
    for (index, key) in keys {
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    }
    out.extend_from_slice(primary);
    for (_, key) in keys {
        out.extend_from_slice(key);
    }
    out.extend_from_slice(value);
}

/// Gives an encoded object its version.
pub(crate) fn set_version(object: &mut [u8], version: u64) {
    object[..8].copy_from_slice(&version.to_le_bytes());
}

/// Refuses what the layout cannot hold.
pub(crate) fn check(primary: &[u8], keys: &[Key<'_>], value: &[u8]) -> Result<(), Error> {
    let longest = keys.iter().map(|(_, key)| key.len()).fold(primary.len(), usize::max);
    if longest > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { bytes: longest });
    }
    if keys.len() > MAX_KEYS {
        return Err(Error::TooManyKeys { keys: keys.len() });
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLong { bytes: value.len() });
    }
    Ok(())
}

impl<'a> ObjectRef<'a> {
    /// `bytes` must come from [`encode`].
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> ObjectRef<'a> {
        ObjectRef(bytes)
    }

    /// An object of bytes from elsewhere, if they can be one.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<ObjectRef<'a>> {
        let object = ObjectRef(bytes);
        let whole = bytes.len() >= FIXED
            && bytes.len() >= object.primary_at()
            && bytes.len() >= object.value_at();
        whole.then_some(object)
    }

    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    #[inline]
    fn u16_at(self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    /// The object's version: each write of a primary key gives it a greater one, across removals.
    #[inline]
    pub fn version(self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(bytes)
    }

    #[inline]
    fn key_count(self) -> usize {
        usize::from(self.u16_at(10))
    }

    #[inline]
    fn primary_at(self) -> usize {
        FIXED + KEY_HEADER * self.key_count()
    }

    #[inline]
    fn keys_at(self) -> usize {
        self.primary_at() + usize::from(self.u16_at(8))
    }

    #[inline]
    fn value_at(self) -> usize {
        let lengths = (0..self.key_count()).map(|i| self.u16_at(FIXED + KEY_HEADER * i + 2));
        self.keys_at() + lengths.map(usize::from).sum::<usize>()
    }

    /// The primary key.
    #[inline]
    pub fn primary(self) -> &'a [u8] {
        &self.0[self.primary_at()..self.keys_at()]
    }

    /// The value.
    #[inline]
    pub fn value(self) -> &'a [u8] {
        &self.0[self.value_at()..]
    }

    /// The secondary keys with the index of each, in the order they were written.
    #[inline]
    pub fn keys(self) -> impl Iterator<Item = Key<'a>> {
        let mut at = self.keys_at();
        (0..self.key_count()).map(move |i| {
            let header = FIXED + KEY_HEADER * i;
            let start = at;
            at += usize::from(self.u16_at(header + 2));
            (self.u16_at(header), &self.0[start..at])
        })
    }

    /// Whether `key` is one of the object's keys for `index`.
    #[inline]
    pub fn bears(self, index: IndexId, key: &[u8]) -> bool {
        self.keys().any(|(i, k)| i == index && k == key)
    }

    /// The keys that another object does not bear; all of them if there is no other.
    #[inline]
    pub(crate) fn keys_beyond<'o>(
        self,
        other: Option<ObjectRef<'o>>,
    ) -> impl Iterator<Item = Key<'a>> + use<'a, 'o> {
        // Where both have at most one key for each index, in order of the indexes, one walk along
        // both will do.
        let side_by_side = other.is_some_and(|other| self.has_ordered() && other.has_ordered());
        let mut others = other.into_iter().flat_map(ObjectRef::keys).peekable();
        self.keys().filter(move |&(index, key)| match other {
            Some(_) if side_by_side => {
                while others.next_if(|(i, _)| *i < index).is_some() {}
                others.peek() != Some(&(index, key))
            }
            Some(other) => !other.bears(index, key),
            None => true,
        })
    }

    /// Whether each key is for a higher index than the one before.
    #[inline]
    fn has_ordered(self) -> bool {
        let index = |at| self.u16_at(FIXED + KEY_HEADER * at);
        (1..self.key_count()).all(|at| index(at - 1) < index(at))
    }

    /// Everything from the lengths to the last secondary key: equal for two objects of the same
    /// keys.
    #[inline]
    pub(crate) fn key_section(self) -> &'a [u8] {
        &self.0[8..self.value_at()]
    }

    /// The object without its value, in the same layout.
    #[inline]
    pub(crate) fn head(self) -> &'a [u8] {
        &self.0[..self.value_at()]
    }

    /// A copy of its own.
    pub fn to_object(self) -> Object {
        Object(self.0.into())
    }
}

impl Object {
    /// The object, borrowed: see [`ObjectRef`] for the parts.
    #[inline]
    pub fn as_ref(&self) -> ObjectRef<'_> {
        ObjectRef(&self.0)
    }

    /// See [`ObjectRef::version`].
    pub fn version(&self) -> u64 {
        self.as_ref().version()
    }

    /// See [`ObjectRef::primary`].
    pub fn primary(&self) -> &[u8] {
        self.as_ref().primary()
    }

    /// See [`ObjectRef::value`].
    pub fn value(&self) -> &[u8] {
        self.as_ref().value()
    }

    /// See [`ObjectRef::keys`].
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        self.as_ref().keys()
    }
}

impl fmt::Debug for ObjectRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("version", &self.version())
            .field("primary", &self.primary().escape_ascii().to_string())
            .field(
                "keys",
                &self.keys().map(|(i, k)| (i, k.escape_ascii().to_string())).collect::<Vec<_>>(),
            )
            .field("value_bytes", &self.value().len())
            .finish()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_parts_of_an_object_come_back() {
        let keys: [Key<'_>; 3] = [(1, b"one"), (7, b""), (1, b"another")];
        let mut bytes = Vec::new();
        encode(b"primary", &keys, b"value", &mut bytes);
        set_version(&mut bytes, 42);
        let object = ObjectRef::new(&bytes);
        assert_eq!(object.version(), 42);
        assert_eq!(object.primary(), b"primary");
        assert_eq!(object.value(), b"value");
        assert_eq!(object.keys().collect::<Vec<_>>(), keys);
        assert!(object.bears(1, b"another") && object.bears(7, b""));
        assert!(!object.bears(7, b"one") && !object.bears(1, b""));
        assert_eq!(ObjectRef::new(object.head()).keys().collect::<Vec<_>>(), keys);
        assert_eq!(ObjectRef::new(object.head()).value(), b"");
    }

    proptest! {
        #[test]
        fn the_keys_beyond_another_object_are_those_it_does_not_bear(
            one in keys(), two in keys(), sorted in any::<bool>(),
        ) {
            let (mut one, mut two) = (one, two);
            if sorted {
                for keys in [&mut one, &mut two] {
                    keys.sort();
                    keys.dedup_by_key(|(index, _)| *index);
                }
            }
            let encoded = |keys: &[(IndexId, Vec<u8>)]| {
                let keys: Vec<Key<'_>> = keys.iter().map(|(i, key)| (*i, &key[..])).collect();
                let mut bytes = Vec::new();
                encode(b"p", &keys, b"v", &mut bytes);
                bytes
            };
            let (one_bytes, two_bytes) = (encoded(&one), encoded(&two));
            let (object, other) = (ObjectRef::new(&one_bytes), ObjectRef::new(&two_bytes));
            let beyond = |other| {
                object.keys_beyond(other).map(|(i, key)| (i, key.to_vec())).collect::<Vec<_>>()
            };
            let expected: Vec<_> = one.iter().filter(|key| !two.contains(key)).cloned().collect();
            prop_assert_eq!(beyond(Some(other)), expected);
            prop_assert_eq!(beyond(None), one);
        }
    }

    fn keys() -> impl Strategy<Value = Vec<(IndexId, Vec<u8>)>> {
        prop::collection::vec((0..5u16, prop::collection::vec(0..2u8, 0..3)), 0..7)
    }

    #[test]
    fn what_is_over_a_limit_is_refused() {
        let long = vec![0; MAX_KEY_BYTES + 1];
        let refused = Err(Error::KeyTooLong { bytes: MAX_KEY_BYTES + 1 });
        assert_eq!(check(&long, &[], b""), refused);
        assert_eq!(check(b"", &[(1, &long)], b""), refused);
        assert_eq!(check(&long[1..], &[(1, &long[1..])], b""), Ok(()));
        let many = vec![(1u16, b"".as_slice()); MAX_KEYS + 1];
        assert_eq!(check(b"", &many, b""), Err(Error::TooManyKeys { keys: MAX_KEYS + 1 }));
    }
}
