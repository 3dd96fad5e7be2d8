//! One measurement of hyper on a runtime of one thread: the same job as worker.mjs's, over h2c to one origin, and the same line of JSON.
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

type Fault = Box<dyn Error + Send + Sync>;

struct Client {
    sender: SendRequest<Full<Bytes>>,
    method: Method,
    uri: Uri,
    body: Bytes,
    response_bytes: usize,
}

impl Client {
    async fn ask(&self, sender: &mut SendRequest<Full<Bytes>>) -> Result<(), Fault> {
        let request = Request::builder()
            .method(self.method.clone())
            .uri(self.uri.clone())
            .header("accept", "*/*")
            .header("user-agent", "bench")
            .body(Full::new(self.body.clone()))?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        let (status, version) = (response.status(), response.version());
        let mut body = response.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        if status == StatusCode::OK && version == Version::HTTP_2 && length == self.response_bytes {
            return Ok(());
        }
        Err(format!("a wrong response: status {status}, {length} bytes, {version:?}").into())
    }
}

/// Sends `count` requests, as many at once as shall be in flight.
async fn burst(client: &Arc<Client>, in_flight: usize, count: usize) -> Result<Vec<Duration>, Fault> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..in_flight.min(count) {
        let (client, next) = (client.clone(), next.clone());
        tasks.spawn(async move {
            let mut sender = client.sender.clone();
            let mut took = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < count {
                let began = Instant::now();
                client.ask(&mut sender).await?;
                took.push(began.elapsed());
            }
            Ok::<_, Fault>(took)
        });
    }
    let mut all = Vec::with_capacity(count);
    while let Some(took) = tasks.join_next().await {
        all.extend(took??);
    }
    Ok(all)
}

/// User and system time of the process.
fn cpu_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime]
        .map(|time| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000))
        .iter()
        .sum()
}

fn resident_bytes() -> Result<usize, Fault> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text.split(' ').nth(1).ok_or("no resident pages in statm")?.parse()?;
    Ok(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize)
}

fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank - 1].as_secs_f64() * 1e6
}

async fn measure(job: &Value) -> Result<Value, Fault> {
    let text = |key: &str| job[key].as_str().ok_or(format!("no {key}"));
    let number = |key: &str| job[key].as_u64().map(|value| value as usize).ok_or(format!("no {key}"));
    let origin = job["origins"][0].as_str().ok_or("no origin")?;
    let uri: Uri = format!("{origin}{}", text("path")?).parse()?;
    let socket = TcpStream::connect(uri.authority().ok_or("no authority")?.as_str()).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let client = Arc::new(Client {
        sender,
        method: text("method")?.parse()?,
        uri,
        body: vec![b'a'; number("bodyBytes")?].into(),
        response_bytes: number("responseBytes")?,
    });
    let in_flight = number("inFlight")?;
    let size = if text("pattern")? == "rounds" { in_flight } else { usize::MAX };
    let run = async |count: usize| {
        let mut took = Vec::with_capacity(count);
        while took.len() < count {
            took.extend(burst(&client, in_flight, size.min(count - took.len())).await?);
        }
        Ok::<_, Fault>(took)
    };
    run(number("warmup")?).await?;
    let requests = number("requests")?;
    let (cpu_before, before) = (cpu_time(), Instant::now());
    let mut took = run(requests).await?;
    let (seconds, cpu) = (before.elapsed().as_secs_f64(), cpu_time() - cpu_before);
    took.sort();
    Ok(json!({
        "version": text("version")?,
        "requestsPerSecond": requests as f64 / seconds,
        "cpuMicros": cpu.as_secs_f64() * 1e6 / requests as f64,
        "p50Micros": percentile(&took, 0.5),
        "p99Micros": percentile(&took, 0.99),
        "allocatedBytes": null,
        "gcMicros": null,
        "residentBytes": resident_bytes()?,
    }))
}

fn main() -> Result<(), Fault> {
    let job = std::env::args().nth(1).ok_or("no job")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    println!("{}", runtime.block_on(measure(&serde_json::from_str(&job)?))?);
    Ok(())
}
