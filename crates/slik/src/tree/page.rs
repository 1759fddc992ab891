//! A page: a sorted run of distinct byte strings, each with a word of the owner's if the page is of a
//! leaf.
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
//! Heads, words and slots lie in the page itself, and only prefix and tails in an allocation of
//! their own: who knows the number of a page asks for all that a search needs at once, without
//! waiting for a pointer. The allocation grows by a little at a time, near what the strings need.

use std::cmp::Ordering;
use std::ops::Range;

use crate::prefetch;

/// Bytes of a head.
pub(super) const HEAD: usize = 8;
const SLOT: usize = 4;
/// Heads in a block: as many as fit a cache line.
pub(super) const BLOCK: usize = 8;
/// Bytes of a word.
const WORD: usize = 8;

/// Most bytes of a page's text that are asked for ahead.
const MOST_PREFETCHED: usize = 4096;

const LENGTH_BITS: u32 = 4;
const LENGTH_MASK: u32 = (1 << LENGTH_BITS) - 1;
/// The most bytes of tails that slots can tell the places of.
pub(super) const MOST_TAILS: usize = (1 << (32 - LENGTH_BITS)) - 1;

/// Room for `N` strings; `W` is as much in a page with words, and 0 in one without.
#[repr(C)]
pub(super) struct Page<const N: usize, const W: usize> {
    /// The head of the prefix: one of up to 8 bytes is compared without one more cache miss.
    prefix_head: u64,
    /// The prefix and the tails, and room for more.
    text: Box<[u8]>,
    prefix_len: u32,
    count: u16,
    heads: [u64; N],
    words: [u64; W],
    slots: [u32; N],
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

    /// How the two strings compare, if they have the same prefix.
    #[inline]
    pub(super) fn cmp(&self, other: &Piece) -> Ordering {
        let heads = (self.head, self.head_len).cmp(&(other.head, other.head_len));
        heads.then_with(|| self.tail.cmp(other.tail))
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

impl<const N: usize, const W: usize> Default for Page<N, W> {
    fn default() -> Self {
        Page::with_room(&[], 0)
    }
}

impl<const N: usize, const W: usize> Page<N, W> {
    /// What a string costs apart from its tail, in bytes.
    pub(super) const FIXED: usize = HEAD + WORD * W / N + SLOT;

    /// An empty page for strings that begin with `prefix`, with room for `tails` bytes after their
    /// heads.
    pub(super) fn with_room(prefix: &[u8], tails: usize) -> Self {
        let mut text = vec![0; prefix.len() + tails].into_boxed_slice();
        text[..prefix.len()].copy_from_slice(prefix);
        Page {
            prefix_head: Piece::of(prefix).head,
            text,
            prefix_len: prefix.len() as u32,
            count: 0,
            heads: [u64::MAX; N],
            words: [0; W],
            slots: [0; N],
        }
    }

    /// The strings of `range`, with the same prefix, in a page with room as in
    /// [`Page::with_room`].
    pub(super) fn copied(&self, range: Range<usize>, tails: usize) -> Self {
        let count = range.len();
        let bytes = self.tail_start(range.start)..self.tail_start(range.end);
        let shift = (bytes.start as u32) << LENGTH_BITS;
        let mut page = Page::with_room(self.prefix(), tails);
        page.count = count as u16;
        let used = self.prefix_len() + bytes.len();
        page.text[self.prefix_len()..used].copy_from_slice(&self.tails()[bytes]);
        page.heads[..count].copy_from_slice(&self.heads[range.clone()]);
        if W > 0 {
            page.words[..count].copy_from_slice(&self.words[range.clone()]);
        }
        for (slot, old) in page.slots.iter_mut().zip(&self.slots[range]) {
            *slot = old - shift;
        }
        page
    }

    /// Gives the tails room for as many bytes.
    pub(super) fn resize(&mut self, tails: usize) {
        let used = self.prefix_len() + self.tails_bytes();
        let mut text = vec![0; self.prefix_len() + tails].into_boxed_slice();
        text[..used].copy_from_slice(&self.text[..used]);
        self.text = text;
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// The bytes of the strings as stored, without spare room.
    pub(super) fn used_bytes(&self) -> usize {
        self.len() * Self::FIXED + self.text_used()
    }

    /// The bytes of prefix and tails.
    pub(super) fn text_used(&self) -> usize {
        self.prefix_len() + self.tails_bytes()
    }

    pub(super) fn tails_bytes(&self) -> usize {
        self.tail_start(self.len())
    }

    /// The bytes of the allocation for prefix and tails.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether the tail of one more string fits.
    pub(super) fn has_room(&self, tail: usize) -> bool {
        self.text_used() + tail <= self.text.len()
    }

    #[inline]
    pub(super) fn prefix_len(&self) -> usize {
        self.prefix_len as usize
    }

    #[inline]
    pub(super) fn prefix(&self) -> &[u8] {
        &self.text[..self.prefix_len()]
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
        let differs = (Piece::of(string).head ^ self.prefix_head) >> other_bits != 0;
        if differs || (len > HEAD && start[HEAD..] != self.prefix()[HEAD..]) {
            return None;
        }
        Some(rest)
    }

    /// Asks for heads, words and slots, so that all of them come at once.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch::elements(&self.heads);
        prefetch::elements(&self.words);
        prefetch::elements(&self.slots);
    }

    /// Asks for the beginning of a tail.
    #[inline]
    pub(super) fn prefetch_tail(&self, at: usize) {
        if at < self.len() {
            prefetch::index(&self.text, self.prefix_len() + self.tail_start(at));
        }
    }

    /// Asks for prefix and tails, of a page of the usual size.
    pub(super) fn prefetch_text(&self) {
        prefetch::elements(&self.text[..self.text.len().min(MOST_PREFETCHED)]);
    }

    /// The word of a string; 0 in a page without words.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        if W > 0 { self.words[at] } else { 0 }
    }

    /// Gives a string another word. Of no effect in a page without words.
    pub(super) fn set_word(&mut self, at: usize, word: u64) {
        if W > 0 {
            self.words[at] = word;
        }
    }

    /// All heads, those beyond the last string included.
    #[inline]
    pub(super) fn heads(&self) -> &[u64; N] {
        &self.heads
    }

    fn tails(&self) -> &[u8] {
        &self.text[self.prefix_len()..]
    }

    #[inline]
    pub(super) fn head(&self, at: usize) -> u64 {
        self.heads[at]
    }

    /// Where the tail of a string begins among the tails; for the one after the last, where
    /// they end.
    #[inline]
    pub(super) fn tail_start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { (self.slots[at - 1] >> LENGTH_BITS) as usize }
    }

    #[inline]
    pub(super) fn piece(&self, at: usize) -> Piece<'_> {
        let slot = self.slots[at];
        let tail = self.tail_start(at)..(slot >> LENGTH_BITS) as usize;
        Piece {
            head: self.heads[at],
            head_len: (slot & LENGTH_MASK) as usize,
            tail: &self.tails()[tail],
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
        let added = piece.tail.len();
        let from = self.tail_start(at);
        let tails = self.prefix_len() + from..self.text_used();
        let tail_at = tails.start;
        self.text.copy_within(tails, tail_at + added);
        self.text[tail_at..tail_at + added].copy_from_slice(piece.tail);

        self.heads.copy_within(at..count, at + 1);
        self.heads[at] = piece.head;
        if W > 0 {
            self.words.copy_within(at..count, at + 1);
            self.words[at] = word;
        }
        self.slots.copy_within(at..count, at + 1);
        self.slots[at] = (from as u32) << LENGTH_BITS | piece.head_len as u32;
        for slot in &mut self.slots[at..=count] {
            *slot += (added as u32) << LENGTH_BITS;
        }
        self.count += 1;
    }

    /// Takes out the string at `at`, without giving memory back.
    pub(super) fn displace(&mut self, at: usize) {
        let count = self.len();
        let tail = self.tail_start(at)..self.tail_start(at + 1);
        let removed = tail.len();
        let tails = self.prefix_len() + tail.end..self.text_used();
        self.text.copy_within(tails, self.prefix_len as usize + tail.start);

        self.heads.copy_within(at + 1..count, at);
        self.heads[count - 1] = u64::MAX;
        if W > 0 {
            self.words.copy_within(at + 1..count, at);
        }
        self.slots.copy_within(at + 1..count, at);
        for slot in &mut self.slots[at..count - 1] {
            *slot -= (removed as u32) << LENGTH_BITS;
        }
        self.count -= 1;
    }
}
