//! A server of S3 in this process, whose buckets are directories.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener as Listener};
use std::path::Path;
use std::sync::{Arc, Mutex};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s::{S3Result, s3_error};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A running server.
pub(crate) struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    requests: Arc<Requests>,
    _runtime: Runtime,
}

/// The requests that came, and those that are refused.
#[derive(Default)]
struct Requests {
    counts: Mutex<BTreeMap<String, usize>>,
    /// Objects that may still be put before requests to put more are refused.
    puts_left: Mutex<Option<usize>>,
}

#[allow(dead_code)] // The example only starts it.
impl Server {
    /// Starts a server for the directory.
    pub(crate) fn start(root: &Path, address: &str, key: (&str, &str)) -> io::Result<Server> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let requests = Arc::new(Requests::default());
        let files =
            FileSystem::new(root).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(key.0, key.1));
        service.set_access(Access(requests.clone()));
        let service = service.build();
        let listener = Listener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let connection = auto::Builder::new(TokioExecutor::new());
                    let _ = connection.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Ok(Server { address, requests, _runtime: runtime })
    }

    /// The settings of its clients.
    pub(crate) fn settings(&self, key: (&str, &str)) -> Vec<(String, String)> {
        let address = format!("http://{}", self.address);
        let settings = [
            ("AWS_ENDPOINT_URL", &address[..]),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", key.0),
            ("AWS_SECRET_ACCESS_KEY", key.1),
            ("AWS_REGION", "us-east-1"),
        ];
        settings.map(|(name, value)| (name.to_string(), value.to_string())).to_vec()
    }

    /// Refuses to put more than this number of objects.
    pub(crate) fn refuse_after(&self, puts: Option<usize>) {
        *self.requests.puts_left.lock().unwrap() = puts;
    }

    /// The requests since the last call, by name.
    pub(crate) fn requests(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut *self.requests.counts.lock().unwrap())
    }
}

struct Access(Arc<Requests>);

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, request: &mut S3AccessContext<'_>) -> S3Result<()> {
        if request.credentials().is_none() {
            return Err(s3_error!(AccessDenied, "a key is needed"));
        }
        let name = request.s3_op().name();
        *self.0.counts.lock().unwrap().entry(name.to_string()).or_default() += 1;
        match &mut *self.0.puts_left.lock().unwrap() {
            Some(0) if name == "PutObject" || name == "UploadPart" => {
                Err(s3_error!(AccessDenied, "no more for now"))
            }
            Some(left) if name == "PutObject" || name == "UploadPart" => {
                *left -= 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
