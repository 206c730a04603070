//! A server of S3 for trying backups without one: `s3_server DIRECTORY ADDRESS KEY SECRET`, as
//! `s3_server buckets 127.0.0.1:9000 me mine`. Its buckets are the directories in DIRECTORY.

use std::error::Error;

#[path = "../tests/server/mod.rs"]
mod server;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [directory, address, key, secret] = &args[..] else {
        return Err("usage: s3_server DIRECTORY ADDRESS KEY SECRET".into());
    };
    let server = server::Server::start(directory.as_ref(), address, (key, secret))?;
    println!("http://{}", server.address);
    loop {
        std::thread::park();
    }
}
