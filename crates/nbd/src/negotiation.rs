//! The handshake, in which client and server agree on options before requests.

use std::io::{self, ErrorKind, Read, Write};

use frostline_disk::PAGE;

use crate::reply::ALLOCATION;
use crate::wire::{
    self, LONGEST_OPTION, LONGEST_REQUEST, answer, export, handshake, info, option, read_u16,
    read_u32, read_u64,
};

/// The only metadata context; below, its namespace.
const CONTEXT: &str = "base:allocation";
const NAMESPACE: &str = "base:";

/// The description of the export.
const DESCRIPTION: &str = "a Frostline store";

/// The longest name that the protocol allows.
const LONGEST_NAME: u32 = 4096;

/// The result of the negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// True if replies are structured.
    pub is_structured: bool,
    /// True if the client may ask for block status.
    pub has_allocation: bool,
}

/// The export in the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownExport {
    /// Size in bytes.
    pub size: u64,
    /// True if clients can't write.
    pub is_read_only: bool,
}

/// Both directions of a connection.
pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Negotiates. `None` if the client ends the connection.
pub(crate) fn negotiate(stream: &mut dyn Stream, shown: ShownExport) -> io::Result<Option<Agreed>> {
    stream.write_all(&wire::HELLO.to_be_bytes())?;
    stream.write_all(&wire::OPTION.to_be_bytes())?;
    let ours = handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES;
    stream.write_all(&ours.to_be_bytes())?;
    stream.flush()?;
    let theirs = read_u32(stream)?;
    if theirs & !u32::from(ours) != 0 {
        return Err(invalid("a client sets flags that it was not offered"));
    }
    let has_zeroes = theirs & u32::from(handshake::NO_ZEROES) == 0;
    Negotiation { stream, shown, has_zeroes, agreed: Agreed::default() }.run()
}

struct Negotiation<'a> {
    stream: &'a mut dyn Stream,
    shown: ShownExport,
    has_zeroes: bool,
    agreed: Agreed,
}

/// The next step after an option.
enum Next {
    Option,
    Requests,
    End,
}

/// The data of an option violate the protocol: the client gets an error, and may continue.
struct Malformed(&'static str);

impl Negotiation<'_> {
    fn run(mut self) -> io::Result<Option<Agreed>> {
        loop {
            match self.option()? {
                Next::Option => {}
                Next::Requests => return Ok(Some(self.agreed)),
                Next::End => return Ok(None),
            }
        }
    }

    fn option(&mut self) -> io::Result<Next> {
        if read_u64(self.stream)? != wire::OPTION {
            return Err(invalid("no option where one must begin"));
        }
        let (option, length) = (read_u32(self.stream)?, read_u32(self.stream)?);
        if length > LONGEST_OPTION {
            let mut rest = self.stream.take(length.into());
            io::copy(&mut rest, &mut io::sink())?;
            self.reply(option, answer::TOO_BIG, b"the option is too long")?;
            return Ok(Next::Option);
        }
        let mut data = vec![0; length as usize];
        self.stream.read_exact(&mut data)?;
        match option {
            option::EXPORT_NAME => return self.export_name(&data),
            option::ABORT => {
                // The client may be gone already.
                let _ = self.reply(option, answer::ACK, &[]);
                return Ok(Next::End);
            }
            _ => {}
        }
        match self.answer(option, &mut &data[..])? {
            Ok(next) => Ok(next),
            Err(Malformed(why)) => {
                self.reply(option, answer::INVALID, why.as_bytes())?;
                Ok(Next::Option)
            }
        }
    }

    fn answer(
        &mut self,
        option: u32,
        data: &mut &[u8],
    ) -> io::Result<std::result::Result<Next, Malformed>> {
        match option {
            option::LIST if data.is_empty() => {
                self.reply(option, answer::SERVER, &0u32.to_be_bytes())?;
                self.reply(option, answer::ACK, &[])?;
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.agreed.is_structured = true;
                self.reply(option, answer::ACK, &[])?;
            }
            option::LIST | option::STRUCTURED_REPLY => {
                return Ok(Err(Malformed("the option has no data")));
            }
            option::INFO | option::GO => return self.info(option, data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                return self.contexts(option, data);
            }
            _ => self.reply(option, answer::UNSUPPORTED, b"")?,
        }
        Ok(Ok(Next::Option))
    }

    /// Serves the old option to choose an export, which has no error reply.
    fn export_name(&mut self, name: &[u8]) -> io::Result<Next> {
        if !name.is_empty() {
            return Err(invalid("a client asks for an export that is not there"));
        }
        self.stream.write_all(&self.shown.size.to_be_bytes())?;
        self.stream.write_all(&self.flags().to_be_bytes())?;
        if self.has_zeroes {
            self.stream.write_all(&[0; 124])?;
        }
        self.stream.flush()?;
        Ok(Next::Requests)
    }

    fn info(
        &mut self,
        option: u32,
        data: &mut &[u8],
    ) -> io::Result<std::result::Result<Next, Malformed>> {
        let (name, wanted) = match (text(data), u16s(data)) {
            (Ok(name), Ok(wanted)) => (name, wanted),
            (Err(malformed), _) | (_, Err(malformed)) => return Ok(Err(malformed)),
        };
        if !name.is_empty() {
            self.reply(option, answer::UNKNOWN, b"there is one export, without a name")?;
            return Ok(Ok(Next::Option));
        }
        let size = self.shown.size.to_be_bytes();
        let flags = self.flags().to_be_bytes();
        self.tell(option, info::EXPORT, &[&size[..], &flags].concat())?;
        let sizes = [1, PAGE as u32, LONGEST_REQUEST].map(u32::to_be_bytes).concat();
        for kind in wanted {
            match kind {
                info::NAME => self.tell(option, kind, b"")?,
                info::DESCRIPTION => self.tell(option, kind, DESCRIPTION.as_bytes())?,
                info::BLOCK_SIZE => self.tell(option, kind, &sizes)?,
                _ => {}
            }
        }
        self.reply(option, answer::ACK, &[])?;
        Ok(Ok(if option == option::GO { Next::Requests } else { Next::Option }))
    }

    fn tell(&mut self, option: u32, kind: u16, data: &[u8]) -> io::Result<()> {
        self.reply(option, answer::INFO, &[&kind.to_be_bytes()[..], data].concat())
    }

    fn contexts(
        &mut self,
        option: u32,
        data: &mut &[u8],
    ) -> io::Result<std::result::Result<Next, Malformed>> {
        let (name, queries) = match (text(data), texts(data)) {
            (Ok(name), Ok(queries)) => (name, queries),
            (Err(malformed), _) | (_, Err(malformed)) => return Ok(Err(malformed)),
        };
        if !self.agreed.is_structured {
            return Ok(Err(Malformed("structured replies come first")));
        }
        if !name.is_empty() {
            self.reply(option, answer::UNKNOWN, b"there is one export, without a name")?;
            return Ok(Ok(Next::Option));
        }
        let lists = option == option::LIST_META_CONTEXT;
        let is_asked = queries.contains(&CONTEXT)
            || lists && (queries.is_empty() || queries.contains(&NAMESPACE));
        if !lists {
            self.agreed.has_allocation = is_asked;
        }
        if is_asked {
            let id = if lists { 0 } else { ALLOCATION };
            let context = [&id.to_be_bytes()[..], CONTEXT.as_bytes()].concat();
            self.reply(option, answer::META_CONTEXT, &context)?;
        }
        self.reply(option, answer::ACK, &[])?;
        Ok(Ok(Next::Option))
    }

    fn flags(&self) -> u16 {
        let always = export::HAS_FLAGS | export::FLUSH | export::SEVERAL_CONNECTIONS;
        let changes = export::FUA | export::TRIM | export::WRITE_ZEROES | export::FAST_ZERO;
        let for_all = if self.shown.is_read_only { export::READ_ONLY } else { changes };
        let for_chunks = if self.agreed.is_structured { export::ONE_PIECE } else { 0 };
        always | for_all | for_chunks
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let mut reply = wire::OPTION_REPLY.to_be_bytes().to_vec();
        reply.extend(option.to_be_bytes());
        reply.extend(kind.to_be_bytes());
        reply.extend((data.len() as u32).to_be_bytes());
        reply.extend(data);
        self.stream.write_all(&reply)?;
        self.stream.flush()
    }
}

/// A text that follows its length.
fn text<'a>(data: &mut &'a [u8]) -> Result<&'a str, Malformed> {
    let short = |_| Malformed("the option ends early");
    let length = read_u32(data).map_err(short)?;
    if length > LONGEST_NAME {
        return Err(Malformed("a text is longer than 4096 bytes"));
    }
    let bytes = data.split_off(..length as usize).ok_or(Malformed("the option ends early"))?;
    std::str::from_utf8(bytes).map_err(|_| Malformed("a text is not UTF-8"))
}

/// Texts that follow their number; nothing may follow them.
fn texts<'a>(data: &mut &'a [u8]) -> Result<Vec<&'a str>, Malformed> {
    let count = read_u32(data).map_err(|_| Malformed("the option ends early"))?;
    let texts = (0..count).map(|_| text(data)).collect::<Result<_, _>>()?;
    if data.is_empty() { Ok(texts) } else { Err(Malformed("the option goes on behind its end")) }
}

/// Numbers of two bytes that follow their number; nothing may follow them.
fn u16s(data: &mut &[u8]) -> Result<Vec<u16>, Malformed> {
    let short = |_| Malformed("the option ends early");
    let count = read_u16(data).map_err(short)?;
    let numbers = (0..count).map(|_| read_u16(data).map_err(short)).collect::<Result<_, _>>()?;
    if data.is_empty() { Ok(numbers) } else { Err(Malformed("the option goes on behind its end")) }
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}
