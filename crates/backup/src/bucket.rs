//! A bucket of S3 as a place of backups.

use std::future::Future;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, MultipartUpload, ObjectStore, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};

use crate::BackupError;
use crate::bucket_error::plain;
use crate::place::{Name, Place, Unfinished};

/// Bytes that are sent at a time. A bucket takes up to 10,000 such pieces of an object.
const PIECE: usize = 8 << 20;

/// Names that are taken from a list at a time: as many as an answer has.
const NAMES: usize = 1000;

/// How a request that fails is tried again.
const RETRIES: RetryConfig = RetryConfig {
    backoff: BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    },
    max_retries: 6,
    retry_timeout: Duration::from_secs(10),
};

/// The longest time for which an answer to a request is waited for.
const ANSWER: Duration = Duration::from_secs(30);

/// A bucket, and what the names of all objects in it begin with.
pub(crate) struct Bucket {
    /// The URL, without a `/` at its end.
    url: String,
    prefix: Path,
    client: Arc<Client>,
}

/// The client, and the threads on which its requests run. It blocks the caller, which may be any
/// thread, one of another runtime too.
struct Client {
    store: AmazonS3,
    runtime: Option<Runtime>,
}

/// An object that is sent piece by piece, or at once if it is small.
struct Upload {
    client: Arc<Client>,
    path: Path,
    pieces: Option<Box<dyn MultipartUpload>>,
    unsent: Vec<u8>,
}

/// An object that is read as it arrives.
struct Download {
    client: Arc<Client>,
    /// `None` while a piece is waited for, and at the end.
    rest: Option<BoxStream<'static, object_store::Result<Bytes>>>,
    piece: Bytes,
}

impl Bucket {
    /// The bucket of a URL. Settings have the names of environment variables.
    pub(crate) fn new(
        url: &str,
        settings: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, BackupError> {
        let url = url.trim_end_matches('/');
        let wrong = |why: String| BackupError::Target { target: url.to_string(), why };
        let name = url.strip_prefix("s3://").unwrap_or_default();
        let (bucket, prefix) = name.split_once('/').unwrap_or((name, ""));
        if bucket.is_empty() {
            return Err(wrong("names no bucket".to_string()));
        }
        let prefix = Path::parse(prefix).map_err(|error| wrong(format!("is no name: {error}")))?;
        let store = client(bucket, settings);
        let store = store.map_err(|error| wrong(format!("can't be used: {error}")))?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(BackupError::object(url.to_string()))?;
        let client = Arc::new(Client { store, runtime: Some(runtime) });
        Ok(Bucket { url: url.to_string(), prefix, client })
    }

    /// The name of the object with this path.
    fn object(&self, path: &Path) -> String {
        let names = path.prefix_match(&self.prefix).into_iter().flatten();
        names.map(|name| name.as_ref().to_owned()).collect::<Vec<_>>().join("/")
    }

    /// The path of an object.
    fn path(&self, object: &str) -> Path {
        object.split('/').filter(|name| !name.is_empty()).fold(self.prefix.clone(), Path::join)
    }
}

fn client(
    bucket: &str,
    settings: impl IntoIterator<Item = (String, String)>,
) -> object_store::Result<AmazonS3> {
    // The program may have chosen ciphers already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let of_s3 = settings.into_iter().filter(|(name, _)| name.starts_with("AWS_"));
    let known = of_s3.filter_map(|(name, value)| {
        name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().ok().map(|key| (key, value))
    });
    // The longest wait first, so that the settings of its kind count.
    let new = AmazonS3Builder::new()
        .with_client_options(ClientOptions::new().with_timeout(ANSWER))
        .with_retry(RETRIES);
    let set = known.fold(new, |builder, (key, value)| builder.with_config(key, value));
    set.with_bucket_name(bucket).build()
}

impl Client {
    /// Runs a request, and waits for its end.
    fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, answer) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move { sender.send(request.await) });
        }
        let answer = answer.recv().map_err(|_| io::Error::other("the request ended"))?;
        answer.map_err(plain)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Waits for nothing: a runtime must not do so on a thread of another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Place for Bucket {
    fn name_of(&self, object: &str) -> String {
        match object {
            "" => self.url.clone(),
            object => format!("{}/{object}", self.url),
        }
    }

    fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    fn begin(&self, object: &str) -> io::Result<Box<dyn Unfinished>> {
        let (client, path) = (self.client.clone(), self.path(object));
        Ok(Box::new(Upload { client, path, pieces: None, unsent: Vec::new() }))
    }

    fn open(&self, object: &str) -> io::Result<Box<dyn Read>> {
        let (client, path) = (self.client.clone(), self.path(object));
        let got = self.client.wait(async move {
            client.store.get_opts(&path, GetOptions::default()).await.map(|got| got.into_stream())
        });
        let got = match got {
            // Some servers say the same if there is no bucket; listing tells that.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.names(&mut |_| ControlFlow::Break(())).and(Err(error));
            }
            got => got?,
        };
        let client = self.client.clone();
        Ok(Box::new(Download { client, rest: Some(got), piece: Bytes::new() }))
    }

    fn names(&self, each: &mut dyn FnMut(Name<'_>) -> ControlFlow<()>) -> io::Result<()> {
        let mut rest = self.client.store.list(Some(&self.prefix)).chunks(NAMES);
        loop {
            let (found, left) = self.client.wait(async move { Ok((rest.next().await, rest)) })?;
            let Some(found) = found else { return Ok(()) };
            rest = left;
            for object in found {
                let name = self.object(&object.map_err(plain)?.location);
                // Some programs put an empty object for the prefix itself.
                if !name.is_empty() && each(Name { name: &name, is_object: true }).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn remove(&self, objects: &[&str], gone: &mut dyn FnMut(&str)) -> io::Result<()> {
        let paths: Vec<_> = objects.iter().map(|object| Ok(self.path(object))).collect();
        let removed = self.client.store.delete_stream(stream::iter(paths).boxed());
        let removed = self.client.wait(async move { Ok(removed.collect::<Vec<_>>().await) })?;
        let mut result = Ok(());
        for removed in removed {
            match removed {
                Ok(path) => gone(&self.object(&path)),
                Err(error) => result = result.and(Err(plain(error))),
            }
        }
        result
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn at_a_time(&self) -> usize {
        8
    }
}

impl Upload {
    /// Sends what is not sent yet as a piece.
    fn send_piece(&mut self) -> io::Result<()> {
        let mut pieces = match self.pieces.take() {
            Some(pieces) => pieces,
            None => {
                let (client, path) = (self.client.clone(), self.path.clone());
                self.client.wait(async move {
                    client.store.put_multipart_opts(&path, Default::default()).await
                })?
            }
        };
        let piece = pieces.put_part(std::mem::take(&mut self.unsent).into());
        self.pieces = Some(pieces);
        self.client.wait(piece)
    }
}

impl Unfinished for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.unsent.len() + bytes.len() > PIECE {
            self.send_piece()?;
        }
        self.unsent.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.pieces.is_some() && !self.unsent.is_empty() {
            self.send_piece()?;
        }
        let client = self.client.clone();
        match self.pieces.take() {
            Some(mut pieces) => self.client.wait(async move { pieces.complete().await })?,
            None => {
                let (path, content) = (self.path.clone(), std::mem::take(&mut self.unsent));
                self.client.wait(async move {
                    client.store.put_opts(&path, content.into(), Default::default()).await
                })?
            }
        };
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(mut pieces) = self.pieces.take() {
            // If that fails, too, the pieces stay until a rule of the bucket removes them.
            let _ = self.client.wait(async move { pieces.abort().await });
        }
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(mut rest) = self.rest.take() else { return Ok(0) };
            let (piece, rest) = self.client.wait(async move { Ok((rest.next().await, rest)) })?;
            let Some(piece) = piece else { return Ok(0) };
            self.piece = piece.map_err(plain)?;
            self.rest = Some(rest);
        }
        let len = buffer.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut buffer[..len]);
        Ok(len)
    }
}
