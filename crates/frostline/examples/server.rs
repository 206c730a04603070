//! Files over HTTP, by the standard library alone: `PUT`, `GET` and `DELETE` of a name. A file may
//! be longer than memory: it goes from the socket to the database, and back.
//!
//! `cargo run -p frostline --example server DIRECTORY 127.0.0.1:8080` serves until it is ended;
//! then `curl -T film.mp4 http://127.0.0.1:8080/film` and `curl http://127.0.0.1:8080/film -o
//! film.mp4`. Without an address it serves three requests of its own, and prints the answers.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use frostline::{Db, Options, Table};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The first line of a request, and the length of its body.
fn request(from: &mut impl BufRead) -> io::Result<(String, String, u64)> {
    let (mut line, mut length) = (String::new(), 0);
    // No line of a request that this answers is longer.
    from.take(8192).read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_string);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    loop {
        let mut field = String::new();
        from.take(8192).read_line(&mut field)?;
        let Some((name, value)) = field.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    Ok((method, path, length))
}

fn answer(db: &Db, files: Table, socket: &TcpStream) -> Outcome<()> {
    let (mut from, mut to) = (BufReader::new(socket), socket);
    let (method, path, length) = request(&mut from)?;
    let name = path.trim_start_matches('/');
    let mut say = |status: &str| write!(to, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    match method.as_str() {
        "PUT" => {
            // A body can be read once, so this is no update, which might run again.
            let mut tx = db.begin()?;
            let bytes = tx.put_from(files, name, from.take(length))?;
            if bytes < length {
                return Ok(say("400 Bad Request")?);
            }
            tx.commit()?;
            say("201 Created")?;
        }
        "GET" => {
            let look = db.read()?;
            let Some(mut file) = look.value_reader(files, name)? else {
                return Ok(say("404 Not Found")?);
            };
            write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", file.len())?;
            io::copy(&mut file, &mut to)?;
        }
        "DELETE" => {
            db.update(|tx| tx.delete(files, name))?;
            say("204 No Content")?;
        }
        _ => say("405 Method Not Allowed")?,
    }
    Ok(())
}

fn serve(db: &Arc<Db>, files: Table, listener: &TcpListener) {
    for socket in listener.incoming().flatten() {
        let db = db.clone();
        thread::spawn(move || {
            if let Err(error) = answer(&db, files, &socket) {
                eprintln!("{error}");
            }
        });
    }
}

/// Sends a request with a body, and returns the first line of the answer and the bytes of what
/// comes behind its head.
fn ask(address: std::net::SocketAddr, method: &str, body: &[u8]) -> Outcome<(String, usize)> {
    let mut socket = TcpStream::connect(address)?;
    write!(socket, "{method} /film HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len())?;
    socket.write_all(body)?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap_or(0) + 4;
    let line = answer.split(|&byte| byte == b'\r').next().unwrap_or_default();
    Ok((String::from_utf8_lossy(line).into_owned(), answer.len().saturating_sub(head)))
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "files.frost".to_string());
    let db = Arc::new(Options::new().bound(16 << 30).open(&directory)?);
    let files = db.table("files")?;
    if let Some(address) = arguments.next() {
        serve(&db, files, &TcpListener::bind(address)?);
        return Ok(());
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let served = db.clone();
    thread::spawn(move || serve(&served, files, &listener));
    let film: Vec<u8> = (0..5_000_000u32).map(|n| (n / 7) as u8).collect();
    for (method, body) in [("PUT", &film[..]), ("GET", &[]), ("DELETE", &[]), ("GET", &[])] {
        let (line, bytes) = ask(address, method, body)?;
        println!("{method}: {line}, {bytes} bytes");
    }
    Ok(())
}
