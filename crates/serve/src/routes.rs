//! What is answered to which request.

use std::{convert::Infallible, sync::Arc, time::Duration};

use assay_report::page::escaped;
use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{
        Html, IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
    routing::get,
};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::json;
use tokio::sync::{Semaphore, broadcast::error::RecvError};

use crate::{
    board::{Board, View},
    guard::{Guard, Pass, Refusal},
    html, list_page, listing, policy, run_page,
};

/// How many reports are drawn at once. One can take a second and much memory.
const DRAWN_AT_ONCE: usize = 2;

/// How soon a browser asks again when the server has gone away.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// How often a listener is written to when nothing happens, so that one that has gone is found out.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// What all requests share.
pub struct Site {
    board: Arc<Board>,
    guard: Guard,
    drawing: Semaphore,
}

/// The site of a board behind a guard.
pub fn routes(board: Arc<Board>, guard: Guard) -> Router {
    let site = Arc::new(Site { board, guard, drawing: Semaphore::new(DRAWN_AT_ONCE) });
    Router::new()
        .route("/", get(list))
        .route("/runs/{id}", get(run))
        .route("/events", get(events))
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guarded))
        .with_state(site)
}

/// Judges the request before anything else sees it, and says of every answer how it may be used.
async fn guarded(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let judged = site.guard.judge(request.method(), request.uri(), request.headers());
    let mut response = match judged {
        Ok(Pass::Through) => next.run(request).await,
        Ok(Pass::Welcome(path)) => welcome(&site.guard, &path),
        Err(refusal) => refused(refusal),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn list(State(site): State<Arc<Site>>) -> Response {
    let html = list_page::render(site.board.folder(), &site.board.view());
    with_policy(policy::own(Some(list_page::SCRIPT)), Html(html))
}

async fn run(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    // Looked up, never made a path of: what is not in the list is not there.
    let view = site.board.view();
    let Some(entry) = view.runs.iter().find(|entry| entry.id == id).cloned() else {
        return message(StatusCode::NOT_FOUND, "No such run", "There is no run of this name.");
    };
    // Never closed.
    let _turn = site.drawing.acquire().await.ok();
    match tokio::task::spawn_blocking(move || run_page::render(&entry)).await {
        Ok(Ok(page)) => with_policy(page.policy, Html(page.html)),
        Ok(Err(error)) => {
            let why = assay_report::escape(&error.to_string());
            message(StatusCode::INTERNAL_SERVER_ERROR, "This run cannot be shown", &why)
        }
        Err(_) => {
            let why = "Its report cannot be drawn. Standard error of 'assay serve' says more.";
            message(StatusCode::INTERNAL_SERVER_ERROR, "This run cannot be shown", why)
        }
    }
}

async fn events(State(site): State<Arc<Site>>) -> Response {
    match follow(Arc::clone(&site.board)) {
        Some(events) => {
            Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE)).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "the server stops\n").into_response(),
    }
}

async fn nothing() -> Response {
    message(StatusCode::NOT_FOUND, "There is nothing here", "The runs are in the list.")
}

/// The state of things, and then each change; none once the server stops.
fn follow(board: Arc<Board>) -> Option<impl Stream<Item = Result<Event, Infallible>>> {
    let (view, changes) = board.listen()?;
    let first = stream::iter([hello(&view).retry(RETRY_AFTER)]);
    let rest = stream::unfold((board, changes), async |(board, mut changes)| {
        let event = match changes.recv().await {
            Ok(change) => Event::default()
                .event(change.kind.name())
                .data(serde_json::to_string(&change).unwrap_or_default()),
            Err(RecvError::Lagged(_)) => {
                let (view, fresh) = board.listen()?;
                changes = fresh;
                hello(&view)
            }
            Err(RecvError::Closed) => return None,
        };
        Some((event, (board, changes)))
    });
    Some(first.chain(rest).map(Ok))
}

/// What a listener must know to see what it missed.
fn hello(view: &View) -> Event {
    let running = view.runs.iter().filter(|run| run.state == listing::State::Running);
    let running: Vec<_> = running
        .map(|run| json!({"id": run.id, "done": run.done, "planned": run.planned}))
        .collect();
    let told = json!({"version": view.version, "running": running});
    Event::default().event("hello").data(told.to_string())
}

/// A page that gives the browser the cookie and leads on. Led by a page of this server the browser
/// sends the cookie, also when it came from elsewhere; a redirect would not do.
fn welcome(guard: &Guard, path: &str) -> Response {
    let path = escaped(path);
    let go = format!("<meta http-equiv=\"refresh\" content=\"0; url={path}\">\n");
    let body = format!("<main><p><a href=\"{path}\">Go on to the runs</a></p></main>\n");
    let page = Html(html::page("Welcome", &go, &body));
    let mut response = with_policy(policy::own(None), page);
    let cookie = guard.token.as_ref().map(|token| {
        let name = guard.cookie_name();
        format!("{name}={}; HttpOnly; SameSite=Strict; Path=/", token.cookie())
    });
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn refused(refusal: Refusal) -> Response {
    let mut response = (refusal.status, format!("{}\n", refusal.why)).into_response();
    let (name, value) = match refusal.status {
        StatusCode::METHOD_NOT_ALLOWED => (header::ALLOW, "GET, HEAD"),
        StatusCode::UNAUTHORIZED => (header::WWW_AUTHENTICATE, "Bearer"),
        _ => return response,
    };
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

fn message(status: StatusCode, title: &str, told: &str) -> Response {
    let body = format!(
        "<main>\n<h1>{}</h1>\n<p>{}</p>\n<p><a href=\"/\">All runs</a></p>\n</main>\n",
        escaped(title),
        escaped(told)
    );
    let page = Html(html::page(title, "", &body));
    let mut response = with_policy(policy::own(None), page);
    *response.status_mut() = status;
    response
}

fn with_policy(policy: String, body: impl IntoResponse) -> Response {
    let mut headers = HeaderMap::new();
    // Hashes and words: a header takes all of them. Without a policy there is no page.
    let Ok(policy) = HeaderValue::from_str(&policy) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    (headers, body).into_response()
}
