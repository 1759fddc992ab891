//! Changes of a page: insertion, removal, copies and unions, with the prefix and the room that
//! fit the strings.

use std::ops::Range;

use super::page::{BLOCK, HEAD, Page, Piece, shared_len};

/// The room for tails grows by one part in this many.
const GROWTH: usize = 8;

/// The most room for tails to come, in bytes.
const MOST_SPARE: usize = 1024;

/// Room for tails below this is not worth shrinking, in bytes.
const SMALL: usize = 512;

impl<const N: usize, const W: usize> Page<N, W> {
    /// Puts a string at `at`, where [`Page::find`] said it belongs. O(page).
    pub(super) fn insert(&mut self, at: usize, string: &[u8], word: u64) {
        // An emptied page has no use for the prefix it had.
        let shared = if self.len() == 0 { 0 } else { self.prefix_shared_with(string) };
        if shared < self.prefix_len() {
            *self = self.recoded(0..self.len(), shared, string.len() - shared, 1);
        }
        let piece = Piece::of(&string[self.prefix_len()..]);
        if self.has_room(piece.tail.len()) {
            self.place(at, piece, word);
            return;
        }
        // The text moves anyway: the time to see whether the strings share more than before.
        let gained = match self.len() {
            0 | 1 => 0,
            _ => self.shared_in(0..self.len()).min(self.piece(0).shared_len(&piece)),
        };
        let more = 1 + self.len() / GROWTH;
        if gained == 0 {
            let tails = self.tails_bytes();
            self.resize(room_for(self.len(), tails, piece.tail.len(), more));
            self.place(at, piece, word);
        } else {
            *self = self.recoded(0..self.len(), self.prefix_len() + gained, piece.tail.len(), more);
            self.place(at, Piece::of(&string[self.prefix_len()..]), word);
        }
    }

    /// Takes out the string at `at`. O(page).
    pub(super) fn remove(&mut self, at: usize) {
        self.displace(at);
        if self.text_bytes() > SMALL && self.text_used() * 2 < self.text_bytes() {
            *self = self.copy(0..self.len());
        }
    }

    /// A page of the strings in `range`, with the longest prefix they share.
    pub(super) fn copy(&self, range: Range<usize>) -> Self {
        let gained = if range.len() < 2 { 0 } else { self.shared_in(range.clone()) };
        self.recoded(range, self.prefix_len() + gained, 0, 1)
    }

    /// A page of the strings of both, those of `right` being above.
    pub(super) fn joined(&self, right: &Self) -> Self {
        if self.len() == 0 || right.len() == 0 {
            let only = if self.len() == 0 { right } else { self };
            return only.copy(0..only.len());
        }
        let last = right.entry(right.len() - 1);
        let mut prefix_len = self.prefix_shared_with(&last);
        if prefix_len == self.prefix_len() {
            prefix_len += self.piece(0).shared_len(&Piece::of(&last[prefix_len..]));
        }
        let tails = self.tails_with(0..self.len(), prefix_len)
            + right.tails_with(0..right.len(), prefix_len);
        let mut joined = Page::with_room(&last[..prefix_len], tails + tails / 8);
        let mut string = last;
        for page in [self, right] {
            joined.push_all(page, 0..page.len(), &mut string);
        }
        joined
    }

    /// The bytes in use if the string came in, an upper bound.
    pub(super) fn used_bytes_with(&self, string: &[u8]) -> usize {
        let shared = self.prefix_shared_with(string);
        let lost = self.prefix_len() - shared;
        self.used_bytes() + self.len() * lost + Self::FIXED + string.len() - shared
    }

    /// How many bytes of the prefix the string begins with.
    pub(super) fn prefix_shared_with(&self, string: &[u8]) -> usize {
        match self.without_prefix(string) {
            Some(_) => self.prefix_len(),
            None => shared_len(self.prefix(), string),
        }
    }

    /// How many bytes more than the prefix the strings of the range share. The range must not
    /// be empty.
    fn shared_in(&self, range: Range<usize>) -> usize {
        self.piece(range.start).shared_len(&self.piece(range.end - 1))
    }

    /// A page of the strings in `range`, which share a prefix of `prefix_len` bytes, with room for the
    /// tails of `more` others, of which one has `tail` bytes.
    fn recoded(&self, range: Range<usize>, prefix_len: usize, tail: usize, more: usize) -> Self {
        let tails = self.tails_with(range.clone(), prefix_len);
        let room = room_for(range.len(), tails, tail, more);
        if prefix_len == self.prefix_len() {
            return self.copied(range, room);
        }
        let mut string = Vec::new();
        if !range.is_empty() {
            self.write_entry(range.start, &mut string);
        }
        let mut page = Page::with_room(&string[..prefix_len.min(string.len())], room);
        page.push_all(self, range, &mut string);
        page
    }

    /// Appends strings of another page, which begin with the prefix of this one, and for which
    /// there is room.
    fn push_all(&mut self, from: &Self, range: Range<usize>, string: &mut Vec<u8>) {
        for at in range {
            string.clear();
            from.write_entry(at, string);
            let piece = Piece::of(&string[self.prefix_len()..]);
            self.place(self.len(), piece, from.word(at));
        }
    }

    /// The bytes of the tails of a range if the prefix had the given length.
    fn tails_with(&self, range: Range<usize>, prefix_len: usize) -> usize {
        if prefix_len == self.prefix_len() {
            return self.tail_start(range.end) - self.tail_start(range.start);
        }
        range.map(|at| self.entry_len(at).saturating_sub(prefix_len + HEAD)).sum()
    }
}

/// The room for tails where `count` strings have `tails` bytes of them, and one of `tail` bytes and
/// others come: at least `more` in all.
fn room_for(count: usize, tails: usize, tail: usize, more: usize) -> usize {
    // For strings as long as these, but of long strings never much.
    let spare = ((count + more).next_multiple_of(BLOCK) - count) * (tails / count.max(1));
    tails + tail + spare.min(tails / 4 + 64).min(MOST_SPARE)
}
