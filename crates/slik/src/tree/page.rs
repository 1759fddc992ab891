//! The layout of a page, a sorted run of distinct byte strings in one allocation, each with a word
//! of the owner's if the page is of a leaf.
//!
//! ```text
//! head of the prefix: u64 │ heads: capacity x u64 │ words: capacity x u64 │ slots: capacity x u32
//! │ prefix │ tails … spare
//! ```
//!
//! The bytes that all strings of the page begin with, the prefix, are kept once (prefix
//! truncation: Graefe, "Modern B-Tree Techniques", 2011, section 3.5). What remains of a string is
//! cut in two: its first 8 bytes, the head, kept as a number that compares as the bytes do
//! (Graefe's poor man's normalized keys; the "heads" of Leis, Haubenschild, Kemper and Neumann,
//! LeanStore, 2018), and the tail, the rest. A search compares numbers that lie side by side and
//! mostly needs one tail.
//!
//! A head shorter than 8 bytes is padded with zeros, and its slot tells its true length, so that
//! strings order by (head, head length, tail). A slot is `end of the tail << 4 | head length`;
//! tails lie in order without gaps, so a tail begins where the one before ends. Heads beyond the
//! last string are `u64::MAX`, so a search may compare whole blocks of them.
//!
//! The capacity is a multiple of [`BLOCK`], and pages grow by a little at a time: memory stays near
//! what the strings need whatever the fill of the pages.

use std::ops::Range;

use crate::prefetch;

/// Bytes of a head.
pub(super) const HEAD: usize = 8;
const SLOT: usize = 4;
/// Heads in a block: as many as a cache line has.
pub(super) const BLOCK: usize = 8;
/// Bytes of a word, in pages that have words.
pub(super) const WORD: usize = 8;

/// Most bytes of a page that are asked for ahead.
const MOST_PREFETCHED: usize = 4096;

const LENGTH_BITS: u32 = 4;
const LENGTH_MASK: u32 = (1 << LENGTH_BITS) - 1;
/// The most bytes of tails that slots can tell the places of.
pub(super) const MOST_TAILS: usize = (1 << (32 - LENGTH_BITS)) - 1;

/// Kept small, because the pages of all leaves are looked up through their `Page`s: lengths that
/// the data tell are not repeated here.
pub(super) struct Page<const WORDS: usize> {
    data: Box<[u8]>,
    prefix_len: u32,
    count: u16,
    capacity: u16,
}

/// A string without its page's prefix.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) head: u64,
    pub(super) head_len: usize,
    pub(super) tail: &'a [u8],
}

impl<'a> Piece<'a> {
    #[inline]
    pub(super) fn of(rest: &'a [u8]) -> Piece<'a> {
        if let Some((head, tail)) = rest.split_first_chunk::<HEAD>() {
            Piece { head: u64::from_be_bytes(*head), head_len: HEAD, tail }
        } else {
            let mut head = [0; HEAD];
            head[..rest.len()].copy_from_slice(rest);
            Piece { head: u64::from_be_bytes(head), head_len: rest.len(), tail: &[] }
        }
    }

    /// How many bytes the two begin with in common.
    pub(super) fn shared_len(&self, other: &Piece) -> usize {
        let same_bits = (self.head ^ other.head).leading_zeros() as usize;
        let heads = (same_bits / 8).min(self.head_len).min(other.head_len);
        if heads < HEAD { heads } else { HEAD + shared_len(self.tail, other.tail) }
    }
}

/// How many bytes the two begin with in common.
pub(super) fn shared_len(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

impl<const WORDS: usize> Default for Page<WORDS> {
    fn default() -> Self {
        Page::with_room(&[], 0, 0)
    }
}

impl<const WORDS: usize> Page<WORDS> {
    /// What a string costs apart from its tail, in bytes.
    pub(super) const FIXED: usize = HEAD + WORDS + SLOT;

    /// An empty page with room for `capacity` strings (rounded up to whole blocks) that begin
    /// with `prefix` and have `tails` bytes after their heads.
    pub(super) fn with_room(prefix: &[u8], capacity: usize, tails: usize) -> Self {
        let capacity = capacity.next_multiple_of(BLOCK);
        let mut data = Vec::with_capacity(HEAD + capacity * Self::FIXED + prefix.len() + tails);
        data.extend_from_slice(&Piece::of(prefix).head.to_ne_bytes());
        data.resize(HEAD + capacity * HEAD, 0xFF);
        data.resize(HEAD + capacity * Self::FIXED, 0);
        data.extend_from_slice(prefix);
        data.resize(data.capacity(), 0);
        Page {
            data: data.into_boxed_slice(),
            prefix_len: prefix.len() as u32,
            count: 0,
            capacity: capacity as u16,
        }
    }

    /// The strings of `range`, with the same prefix, in a page with room as in
    /// [`Page::with_room`].
    pub(super) fn copied(&self, range: Range<usize>, capacity: usize, tails: usize) -> Self {
        let capacity = capacity.next_multiple_of(BLOCK);
        let size = HEAD + capacity * Self::FIXED + self.prefix_len() + tails;
        let bytes = self.tail_start(range.start)..self.tail_start(range.end);
        let shift = (bytes.start as u32) << LENGTH_BITS;

        let mut data = Vec::with_capacity(size);
        data.extend_from_slice(&self.prefix_head().to_ne_bytes());
        data.extend_from_slice(self.heads()[range.clone()].as_flattened());
        data.resize(HEAD + capacity * HEAD, 0xFF);
        let words = self.words_start();
        data.extend_from_slice(&self.data[words + range.start * WORDS..words + range.end * WORDS]);
        data.resize(HEAD + capacity * (HEAD + WORDS), 0);
        for slot in &self.slots()[range.clone()] {
            data.extend_from_slice(&(u32::from_ne_bytes(*slot) - shift).to_ne_bytes());
        }
        data.resize(HEAD + capacity * Self::FIXED, 0);
        data.extend_from_slice(self.prefix());
        data.extend_from_slice(&self.tails()[bytes]);
        data.resize(size, 0);
        Page {
            data: data.into_boxed_slice(),
            prefix_len: self.prefix_len,
            count: range.len() as u16,
            capacity: capacity as u16,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.count)
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::from(self.capacity)
    }

    /// The bytes of the strings as stored, without spare room.
    pub(super) fn used_bytes(&self) -> usize {
        self.len() * Self::FIXED + self.prefix_len() + self.tails_bytes()
    }

    pub(super) fn tails_bytes(&self) -> usize {
        self.tail_start(self.len())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.data.len()
    }

    pub(super) fn has_room(&self, tail: usize) -> bool {
        let used = self.tails_start() + self.tails_bytes();
        self.count < self.capacity && used + tail <= self.data.len()
    }

    #[inline]
    pub(super) fn prefix_len(&self) -> usize {
        self.prefix_len as usize
    }

    #[inline]
    pub(super) fn prefix(&self) -> &[u8] {
        let start = self.tails_start();
        &self.data[start - self.prefix_len()..start]
    }

    /// The head of the prefix, kept before the other heads: a prefix of up to 8 bytes is
    /// compared without one more cache miss.
    #[inline]
    fn prefix_head(&self) -> u64 {
        u64::from_ne_bytes(self.data.as_chunks().0[0])
    }

    /// The string after the prefix, if it begins with it.
    #[inline]
    pub(super) fn without_prefix<'a>(&self, string: &'a [u8]) -> Option<&'a [u8]> {
        let len = self.prefix_len();
        if len == 0 {
            return Some(string);
        }
        let (start, rest) = string.split_at_checked(len)?;
        let other_bits = 64 - 8 * len.min(HEAD);
        let differs = (Piece::of(string).head ^ self.prefix_head()) >> other_bits != 0;
        if differs || (len > HEAD && start[HEAD..] != self.prefix()[HEAD..]) {
            return None;
        }
        Some(rest)
    }

    /// Asks for heads, words and slots, so that all of them come at once.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch::lines(&self.data[..self.slots_start() + self.capacity() * SLOT]);
    }

    /// Asks for all that an insertion or a removal may move, of a page of the usual size.
    pub(super) fn prefetch_whole(&self) {
        prefetch::lines(&self.data[..self.data.len().min(MOST_PREFETCHED)]);
    }

    #[inline]
    fn words_start(&self) -> usize {
        HEAD + self.capacity() * HEAD
    }

    #[inline]
    fn slots_start(&self) -> usize {
        HEAD + self.capacity() * (HEAD + WORDS)
    }

    /// The word of a string; 0 in a page without words.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        let start = self.words_start() + at * WORDS;
        let mut word = [0; WORD];
        word[..WORDS].copy_from_slice(&self.data[start..start + WORDS]);
        u64::from_ne_bytes(word)
    }

    /// Gives a string another word. Of no effect in a page without words.
    pub(super) fn set_word(&mut self, at: usize, word: u64) {
        let start = self.words_start() + at * WORDS;
        self.data[start..start + WORDS].copy_from_slice(&word.to_ne_bytes()[..WORDS]);
    }

    /// All heads, those beyond the last string included, in native byte order.
    #[inline]
    pub(super) fn heads(&self) -> &[[u8; HEAD]] {
        self.data[HEAD..HEAD + self.capacity() * HEAD].as_chunks().0
    }

    #[inline]
    fn slots(&self) -> &[[u8; SLOT]] {
        let start = self.slots_start();
        self.data[start..start + self.capacity() * SLOT].as_chunks().0
    }

    #[inline]
    fn tails_start(&self) -> usize {
        HEAD + self.capacity() * Self::FIXED + self.prefix_len()
    }

    fn tails(&self) -> &[u8] {
        &self.data[self.tails_start()..]
    }

    #[inline]
    pub(super) fn head(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.heads()[at])
    }

    #[inline]
    fn slot(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.slots()[at])
    }

    /// Where the tail of a string begins among the tails; for the one after the last, where
    /// they end.
    #[inline]
    pub(super) fn tail_start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { (self.slot(at - 1) >> LENGTH_BITS) as usize }
    }

    #[inline]
    pub(super) fn piece(&self, at: usize) -> Piece<'_> {
        let slot = self.slot(at);
        let start = self.tails_start();
        let tail = start + self.tail_start(at)..start + (slot >> LENGTH_BITS) as usize;
        Piece {
            head: self.head(at),
            head_len: (slot & LENGTH_MASK) as usize,
            tail: &self.data[tail],
        }
    }

    /// The length of a string, its prefix included.
    pub(super) fn entry_len(&self, at: usize) -> usize {
        let piece = self.piece(at);
        self.prefix_len() + piece.head_len + piece.tail.len()
    }

    /// Appends a whole string to `out`.
    pub(super) fn write_entry(&self, at: usize, out: &mut Vec<u8>) {
        let piece = self.piece(at);
        out.extend_from_slice(self.prefix());
        out.extend_from_slice(&piece.head.to_be_bytes()[..piece.head_len]);
        out.extend_from_slice(piece.tail);
    }

    /// A copy of a whole string.
    pub(super) fn entry(&self, at: usize) -> Vec<u8> {
        let mut entry = Vec::with_capacity(self.entry_len(at));
        self.write_entry(at, &mut entry);
        entry
    }

    /// Puts a piece at `at`. There must be room for it.
    pub(super) fn place(&mut self, at: usize, piece: Piece, word: u64) {
        let count = self.len();
        let capacity = self.capacity();
        let added = piece.tail.len();
        let from = self.tail_start(at);
        let tails_end = self.tails_start() + self.tails_bytes();
        let tail_at = self.tails_start() + from;

        self.data.copy_within(tail_at..tails_end, tail_at + added);
        self.data[tail_at..tail_at + added].copy_from_slice(piece.tail);

        let (heads, rest) = self.data[HEAD..].split_at_mut(capacity * HEAD);
        let heads = heads.as_chunks_mut::<HEAD>().0;
        heads.copy_within(at..count, at + 1);
        heads[at] = piece.head.to_ne_bytes();

        let (words, rest) = rest.split_at_mut(capacity * WORDS);
        words.copy_within(at * WORDS..count * WORDS, (at + 1) * WORDS);
        words[at * WORDS..(at + 1) * WORDS].copy_from_slice(&word.to_ne_bytes()[..WORDS]);

        let slots = &mut rest[..capacity * SLOT].as_chunks_mut::<SLOT>().0[..=count];
        slots.copy_within(at..count, at + 1);
        slots[at] = ((from as u32) << LENGTH_BITS | piece.head_len as u32).to_ne_bytes();
        for slot in &mut slots[at..] {
            *slot = (u32::from_ne_bytes(*slot) + ((added as u32) << LENGTH_BITS)).to_ne_bytes();
        }
        self.count += 1;
    }

    /// Takes out the string at `at`, without giving memory back.
    pub(super) fn displace(&mut self, at: usize) {
        let count = self.len();
        let capacity = self.capacity();
        let tail = self.tail_start(at)..self.tail_start(at + 1);
        let tails_start = self.tails_start();
        let tails_end = tails_start + self.tails_bytes();

        self.data.copy_within(tails_start + tail.end..tails_end, tails_start + tail.start);

        let (heads, rest) = self.data[HEAD..].split_at_mut(capacity * HEAD);
        let heads = heads.as_chunks_mut::<HEAD>().0;
        heads.copy_within(at + 1..count, at);
        heads[count - 1] = [0xFF; HEAD];

        let (words, rest) = rest.split_at_mut(capacity * WORDS);
        words.copy_within((at + 1) * WORDS..count * WORDS, at * WORDS);

        let slots = &mut rest[..capacity * SLOT].as_chunks_mut::<SLOT>().0[..count];
        slots.copy_within(at + 1..count, at);
        for slot in &mut slots[at..count - 1] {
            *slot =
                (u32::from_ne_bytes(*slot) - ((tail.len() as u32) << LENGTH_BITS)).to_ne_bytes();
        }
        self.count -= 1;
    }
}
