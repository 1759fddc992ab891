//! The sockets of one client to the nodes of a cluster, as one socket to whoever drives the client.
//!
//! What is written to a bundle, and what is read from it, are frames: which node, and the bytes. The
//! codec of a cluster makes and takes them ([`frame`]); the event loop and
//! [`Blocking`](crate::blocking::Blocking) see a socket as any other. Its descriptor is that of an
//! epoll of its own, which is readable when a node has something to say (epoll(7) allows to nest
//! them). A write never blocks and takes all it is given.
//!
//! A node is connected to when something is first sent to it, and again after its connection broke,
//! without waiting. That a connection is gone, or cannot be made, is a frame as well: what it means is
//! the codec's business, and the other nodes' connections go on.

use std::{
    cell::Cell,
    io::{self, ErrorKind, Read, Write},
    mem::MaybeUninit,
    net::{TcpStream, ToSocketAddrs},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use assay_model::Address;
use rustix::{
    event::{EventfdFlags, Timespec, epoll, eventfd},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt},
};

/// The frames that pass between a bundle and the codec that drives it.
pub(crate) mod frame {
    /// The bytes of a frame before its content: kind, node, length.
    pub(crate) const HEADER: usize = 7;

    /// To a node, or from it.
    const DATA: u8 = 0;
    /// Out: where a node is. In: its connection is gone, and why.
    const NOTE: u8 = 1;
    /// Fills a buffer up: one byte, no header.
    pub(super) const PAD: u8 = 0xff;

    /// What a frame has to say of a node.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Frame<'a> {
        /// Bytes to it, or from it.
        Data(&'a [u8]),
        /// Out: `host:port` of it. In: why its connection is gone.
        Note(&'a [u8]),
    }

    /// Appends bytes for a node.
    pub(crate) fn data(node: u16, bytes: &[u8], out: &mut Vec<u8>) {
        append(DATA, node, bytes, out);
    }

    /// Appends a note about a node.
    pub(crate) fn note(node: u16, text: &[u8], out: &mut Vec<u8>) {
        append(NOTE, node, text, out);
    }

    fn append(kind: u8, node: u16, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&header(kind, node, bytes.len()));
        out.extend_from_slice(bytes);
    }

    fn header(kind: u8, node: u16, length: usize) -> [u8; HEADER] {
        let [low, high] = node.to_le_bytes();
        let [a, b, c, d] = (length as u32).to_le_bytes();
        [kind, low, high, a, b, c, d]
    }

    /// The header of data that stands in place already.
    pub(super) fn data_header(node: u16, length: usize) -> [u8; HEADER] {
        header(DATA, node, length)
    }

    /// The first frame of `input`, its node, and the bytes up to its end, padding included; `None` if it
    /// is not all there.
    pub(crate) fn first(input: &[u8]) -> Option<(u16, Frame<'_>, usize)> {
        let padding = input.iter().take_while(|byte| **byte == PAD).count();
        let (header, rest) = input[padding..].split_first_chunk::<HEADER>()?;
        let [kind, low, high, a, b, c, d] = *header;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let content = rest.get(..length)?;
        let frame = if kind == DATA { Frame::Data(content) } else { Frame::Note(content) };
        Some((u16::from_le_bytes([low, high]), frame, padding + HEADER + length))
    }

    /// How many bytes at the start of `input` are no frame.
    pub(crate) fn padding(input: &[u8]) -> usize {
        input.iter().take_while(|byte| **byte == PAD).count()
    }
}

/// Hands `take` what a node sent, behind what was `left` of it before; it says how many bytes it took, and
/// the others are left.
pub(crate) fn take_from<T, E>(
    left: &mut Vec<u8>,
    bytes: &[u8],
    take: impl FnOnce(&[u8]) -> Result<(usize, T), E>,
) -> Result<T, E> {
    if left.is_empty() {
        let (taken, given) = take(bytes)?;
        left.extend_from_slice(&bytes[taken..]);
        return Ok(given);
    }
    left.extend_from_slice(bytes);
    let (taken, given) = take(left)?;
    left.drain(..taken);
    Ok(given)
}

/// Sockets to nodes, which are numbered from 0.
#[derive(Debug)]
pub struct Bundle {
    epoll: OwnedFd,
    /// Makes the bundle readable when a node is lost while something is written.
    bell: OwnedFd,
    links: Vec<Link>,
    blocking: Cell<bool>,
    timeout: Cell<Option<Duration>>,
}

#[derive(Debug)]
struct Link {
    address: Address,
    socket: Option<TcpStream>,
    output: Vec<u8>,
    sent: usize,
    /// Whether there may be something to read.
    readable: bool,
    /// Whether the other side has ended: then it is read to the end.
    ended: bool,
    /// Why the connection is gone, until that was told.
    lost: Option<String>,
}

/// How many events are taken at a time.
const EVENTS: usize = 16;

/// Marks the bell among the events; nodes have their numbers.
const BELL: u64 = u64::MAX;

const WATCHED: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

impl Bundle {
    /// A bundle to nodes at these addresses, connected to none of them yet, in blocking mode.
    pub(crate) fn new(addresses: impl IntoIterator<Item = Address>) -> io::Result<Bundle> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), flags)?;
        let links: Vec<Link> = addresses.into_iter().map(Link::new).collect();
        Ok(Bundle { epoll, bell, links, blocking: Cell::new(true), timeout: Cell::new(None) })
    }

    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) {
        self.timeout.set(timeout);
    }

    pub(crate) fn set_nonblocking(&self, nonblocking: bool) {
        self.blocking.set(!nonblocking);
    }

    /// Takes the content of a frame: it is sent when all frames have been taken.
    fn take(&mut self, node: usize, content: frame::Frame<'_>) -> io::Result<()> {
        match content {
            frame::Frame::Data(bytes) => {
                let link = self.links.get_mut(node).ok_or_else(no_such_node)?;
                link.output.extend_from_slice(bytes);
            }
            frame::Frame::Note(text) => {
                let address = std::str::from_utf8(text).ok().and_then(address);
                let address =
                    address.ok_or_else(|| io::Error::other("a node without an address"))?;
                if node != self.links.len() {
                    return Err(no_such_node());
                }
                self.links.push(Link::new(address));
            }
        }
        Ok(())
    }

    /// Sends what is to be sent to a node, as far as its socket takes it.
    fn send(&mut self, node: usize) {
        let (epoll, bell) = (&self.epoll, &self.bell);
        let link = &mut self.links[node];
        if let Err(error) = link.send(epoll, node) {
            link.lose(&error.to_string());
            // It cannot be full: it is emptied at every read.
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
    }

    /// Looks which nodes have something to say, and waits for one if so told; says whether there was
    /// anything.
    fn look(&mut self, wait: bool) -> io::Result<bool> {
        let mut timeout = match (wait, self.timeout.get()) {
            (false, _) => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
            (true, None) => None,
            (true, Some(time)) => Some(Timespec {
                tv_sec: time.as_secs() as i64,
                tv_nsec: i64::from(time.subsec_nanos()),
            }),
        };
        let mut found = false;
        loop {
            let mut events = [const { MaybeUninit::uninit() }; EVENTS];
            let (events, _) = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
                Ok(events) => events,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            self.take_note(events);
            found |= !events.is_empty();
            if events.len() < EVENTS {
                return Ok(found);
            }
            timeout = Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
    }

    fn take_note(&mut self, events: &[epoll::Event]) {
        for event in events {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == BELL {
                let _ = rustix::io::read(&self.bell, &mut [0; 8]);
                continue;
            }
            let node = data as usize;
            let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            let link = &mut self.links[node];
            link.ended |= flags.intersects(ends);
            link.readable |= link.ended || flags.contains(epoll::EventFlags::IN);
            if flags.contains(epoll::EventFlags::OUT) && link.sent < link.output.len() {
                self.send(node);
            }
        }
    }

    /// Fills `buffer` with frames of what there is; says how far. A buffer that is not filled has all.
    fn gather(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        for (node, link) in self.links.iter_mut().enumerate() {
            while link.readable || link.lost.is_some() {
                let room = &mut buffer[filled..];
                if room.len() <= frame::HEADER {
                    room.fill(frame::PAD);
                    return buffer.len();
                }
                let (header, content) = room.split_at_mut(frame::HEADER);
                let length = if let Some(why) = link.lost.take() {
                    let mut told = Vec::new();
                    let most = why.len().min(content.len());
                    frame::note(node as u16, &why.as_bytes()[..most], &mut told);
                    header.copy_from_slice(&told[..frame::HEADER]);
                    content[..most].copy_from_slice(&told[frame::HEADER..]);
                    most
                } else {
                    let length = link.receive(content);
                    header.copy_from_slice(&frame::data_header(node as u16, length));
                    if length == 0 {
                        continue;
                    }
                    length
                };
                filled += frame::HEADER + length;
            }
        }
        filled
    }
}

impl Read for Bundle {
    /// Whole frames; a read that does not fill the buffer has taken all there is.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut wait = false;
        loop {
            let found = self.look(wait)?;
            let filled = self.gather(buffer);
            if filled > 0 || buffer.is_empty() {
                return Ok(filled);
            }
            if !self.blocking.get() || (wait && !found) {
                return Err(ErrorKind::WouldBlock.into());
            }
            wait = true;
        }
    }
}

impl Write for Bundle {
    /// Takes all of `frames`, which are whole.
    fn write(&mut self, frames: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while let Some((node, content, length)) = frame::first(&frames[taken..]) {
            self.take(usize::from(node), content)?;
            taken += length;
        }
        if taken < frames.len() {
            return Err(io::Error::other("a frame that was cut"));
        }
        for node in 0..self.links.len() {
            if self.links[node].sent < self.links[node].output.len() {
                self.send(node);
            }
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Bundle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Link {
    fn new(address: Address) -> Link {
        Link {
            address,
            socket: None,
            output: Vec::new(),
            sent: 0,
            readable: false,
            ended: false,
            lost: None,
        }
    }

    fn send(&mut self, epoll: &OwnedFd, node: usize) -> io::Result<()> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            none => {
                let socket = none.insert(connect(&self.address)?);
                epoll::add(epoll, &*socket, epoll::EventData::new_u64(node as u64), WATCHED)?;
                socket
            }
        };
        while self.sent < self.output.len() {
            match socket.write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    // Still connecting, or full: the epoll tells when it goes on.
                    ErrorKind::WouldBlock | ErrorKind::NotConnected => return Ok(()),
                    _ => return Err(error),
                },
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    /// Reads into `room`; nothing if there is nothing more, or if the connection was lost.
    fn receive(&mut self, room: &mut [u8]) -> usize {
        let Some(socket) = &mut self.socket else {
            self.readable = false;
            return 0;
        };
        loop {
            match socket.read(room) {
                Ok(0) => self.lose("the server closed the connection"),
                Ok(count) => {
                    // Less than there was room for was all there was (epoll(7), question 9).
                    self.readable = count == room.len() || self.ended;
                    return count;
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => continue,
                    ErrorKind::WouldBlock | ErrorKind::NotConnected => self.readable = false,
                    _ => self.lose(&error.to_string()),
                },
            }
            return 0;
        }
    }

    /// The connection is of no more use: closed, and with that no longer watched.
    #[cold]
    fn lose(&mut self, why: &str) {
        self.socket = None;
        self.output.clear();
        self.sent = 0;
        (self.readable, self.ended) = (false, false);
        self.lost = Some(format!("{}: {why}", self.address));
    }
}

/// Begins a connection; whether it comes about shows when it is used.
#[cold]
fn connect(address: &Address) -> io::Result<TcpStream> {
    let Address::Tcp { host, port } = address else {
        return Err(io::Error::other("a node without a TCP address"));
    };
    let mut last = io::Error::other(format!("'{host}' has no address"));
    for candidate in (host.as_str(), *port).to_socket_addrs()? {
        let family = if candidate.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &candidate) {
            Ok(()) | Err(Errno::INPROGRESS) => return Ok(TcpStream::from(socket)),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// `host:port` as an address; the host may have colons itself, with or without brackets.
pub(crate) fn address(text: &str) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some(Address::Tcp { host: host.to_owned(), port: port.parse().ok()? })
}

fn no_such_node() -> io::Error {
    io::Error::other("there is no such node")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::{frame::Frame, *};

    fn listener() -> (TcpListener, Address) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, Address::Tcp { host: "127.0.0.1".into(), port })
    }

    fn bundle(addresses: impl IntoIterator<Item = Address>) -> Bundle {
        let bundle = Bundle::new(addresses).unwrap();
        bundle.set_timeout(Some(Duration::from_secs(10)));
        bundle
    }

    fn sent(frames: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        frames.iter().for_each(|(node, bytes)| frame::data(*node, bytes, &mut out));
        out
    }

    /// All that comes before `enough` says so, by node.
    fn received(
        bundle: &mut Bundle,
        room: usize,
        enough: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; room];
        let mut came = vec![Vec::new(); bundle.links.len()];
        while !enough(&came) {
            let count = bundle.read(&mut buffer).unwrap();
            let mut at = 0;
            while let Some((node, Frame::Data(bytes), length)) = frame::first(&buffer[at..count]) {
                came[usize::from(node)].extend_from_slice(bytes);
                at += length;
            }
            assert_eq!(at + frame::padding(&buffer[at..count]), count, "only whole frames");
        }
        came
    }

    #[test]
    fn bytes_go_to_their_nodes_and_come_from_them() {
        let (nodes, addresses): (Vec<_>, Vec<_>) = (0..3).map(|_| listener()).unzip();
        let mut bundle = bundle(addresses);
        let frames = sent(&[(2, b"two"), (0, b"zero"), (2, b" and")]);
        bundle.write_all(&frames).unwrap();
        let mut ends: Vec<_> = [0, 2].map(|at: usize| nodes[at].accept().unwrap().0).into();
        let mut text = [0; 7];
        ends[1].read_exact(&mut text).unwrap();
        assert_eq!(&text, b"two and");
        ends[1].write_all(&vec![b'y'; 100_000]).unwrap();
        ends[0].write_all(b"x").unwrap();
        for room in [9, 64, 65_536] {
            let bytes = if room == 9 { 1 } else { 40_000 };
            let whole = |came: &[Vec<u8>]| came[2].len() >= bytes;
            assert!(received(&mut bundle, room, whole)[2].iter().all(|byte| *byte == b'y'));
        }
        nodes[1].set_nonblocking(true).unwrap();
        assert!(nodes[1].accept().is_err(), "nothing was sent there");
    }

    #[test]
    fn a_node_that_is_lost_is_told_of_and_connected_to_again() {
        let (first, at_first) = listener();
        let (second, at_second) = listener();
        let mut bundle = bundle([at_first, at_second]);
        bundle.write_all(&sent(&[(0, b"a"), (1, b"b")])).unwrap();
        let gone = first.accept().unwrap().0;
        let (mut stays, _) = second.accept().unwrap();
        drop(gone);
        let mut buffer = [0; 256];
        let count = bundle.read(&mut buffer).unwrap();
        let (node, note, _) = frame::first(&buffer[..count]).unwrap();
        assert!(node == 0 && matches!(note, Frame::Note(_)), "{note:?}");
        bundle.write_all(&sent(&[(0, b"again")])).unwrap();
        let mut text = [0; 5];
        let (mut anew, _) = first.accept().unwrap();
        anew.read_exact(&mut text).unwrap();
        stays.write_all(b"here").unwrap();
        let came = loop {
            let count = bundle.read(&mut buffer).unwrap();
            if let Some((1, Frame::Data(bytes), _)) = frame::first(&buffer[..count]) {
                break bytes;
            }
        };
        assert_eq!((&text, came), (b"again", &b"here"[..]));
    }

    #[test]
    fn a_node_that_refuses_is_told_of_and_one_that_is_silent_times_out() {
        let (closed, at_closed) = listener();
        drop(closed);
        let (_silent, at_silent) = listener();
        let mut bundle = bundle([at_closed, at_silent]);
        bundle.set_timeout(Some(Duration::from_millis(50)));
        bundle.write_all(&sent(&[(0, b"a"), (1, b"b")])).unwrap();
        let mut buffer = [0; 256];
        let count = bundle.read(&mut buffer).unwrap();
        let (node, note, length) = frame::first(&buffer[..count]).unwrap();
        assert_eq!((node, length), (0, count));
        let Frame::Note(why) = note else { panic!("{note:?}") };
        assert!(String::from_utf8_lossy(why).contains("refused"), "{why:?}");
        assert_eq!(bundle.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn addresses_are_read_with_any_kind_of_host() {
        for (text, host) in
            [("10.0.0.1:7000", "10.0.0.1"), ("::1:7000", "::1"), ("[::1]:7000", "::1")]
        {
            let Some(Address::Tcp { host: read, port }) = address(text) else { panic!("{text}") };
            assert_eq!((read.as_str(), port), (host, 7000));
        }
        assert_eq!(address("nowhere"), None);
    }
}
