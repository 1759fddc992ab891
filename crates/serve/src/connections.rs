//! Connections: taken, answered, and let go when the server stops or their client does not get on.

use std::{pin::pin, time::Duration};

use axum::{Router, serve::Listener};
use futures_util::future;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::net::TcpListener;

/// Answers connections until `stop` is there, and then those answers that are under way. A
/// connection whose next request has not come whole within `patience` is closed.
pub async fn answer(
    mut listener: TcpListener,
    site: Router,
    patience: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience);
    let under_way = GracefulShutdown::new();
    let taking = async {
        loop {
            // It waits by itself where the system has no more files, and goes on.
            let (stream, _) = Listener::accept(&mut listener).await;
            let service = TowerToHyperService::new(site.clone());
            let connection = http.serve_connection(TokioIo::new(stream), service);
            let connection = under_way.watch(connection);
            tokio::spawn(async move {
                // What goes wrong on the way is the client's: there is nobody to tell.
                let _ = connection.await;
            });
        }
    };
    future::select(pin!(taking), pin!(stop)).await;
    drop(listener);
    under_way.shutdown().await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        runtime::Builder,
        sync::oneshot,
    };

    use super::*;

    #[test]
    fn who_never_ends_a_request_is_let_go_and_others_are_answered() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = oneshot::channel::<()>();
            let site = Router::new().route("/", get(async || "here"));
            let stopped = async { stopped.await.unwrap_or_default() };
            let answering =
                tokio::spawn(answer(listener, site, Duration::from_millis(100), stopped));

            let mut half = TcpStream::connect(address).await.unwrap();
            half.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
            let mut whole = TcpStream::connect(address).await.unwrap();
            whole.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            // Each ends although its client does not end it: it asks no more.
            let mut answers = [String::new(), String::new()];
            half.read_to_string(&mut answers[0]).await.unwrap();
            whole.read_to_string(&mut answers[1]).await.unwrap();
            assert!(!answers[0].contains("here"), "{}", answers[0]);
            assert!(answers[1].ends_with("here"), "{}", answers[1]);

            stop.send(()).unwrap();
            answering.await.unwrap();
            assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
        });
    }
}
