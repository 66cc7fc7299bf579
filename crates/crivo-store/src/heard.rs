//! What tests hear of `tracing`.

use std::fmt::{self, Write};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// While there is one subscriber alone, the thread that first comes to an event decides for all whether somebody
/// hears it: one of another test would say no. Of several, each is asked.
static SECOND: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(Listener { on_event: |_, _: &str| () }));

/// Calls `on_event` for every event of this crate that `work` causes on this thread.
pub(crate) fn hear<T>(
    on_event: impl Fn(Level, &str) + Send + Sync + 'static,
    work: impl FnOnce() -> T,
) -> T {
    LazyLock::force(&SECOND);
    tracing::subscriber::with_default(Listener { on_event }, work)
}

/// The events of this crate that `work` causes on this thread: levels, and messages without their fields.
pub(crate) fn events<T>(work: impl FnOnce() -> T) -> (T, Vec<(Level, String)>) {
    let (sender, events) = mpsc::channel();
    let done = hear(move |level, message| sender.send((level, message.to_owned())).unwrap(), work);
    (done, events.into_iter().collect())
}

/// Runs work that may wait for itself for ever, on a thread of its own. At most a minute.
pub(crate) fn ends(work: impl FnOnce() + Send + 'static) {
    let (sender, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        work();
        sender.send(()).unwrap();
    });
    let end = end.recv_timeout(Duration::from_secs(60));
    assert_ne!(end, Err(mpsc::RecvTimeoutError::Timeout), "it waits for itself");
    thread.join().unwrap();
}

struct Listener<F> {
    on_event: F,
}

impl<F: Fn(Level, &str) + Send + Sync + 'static> Subscriber for Listener<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("crivo_store")
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        (self.on_event)(*event.metadata().level(), &message.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").unwrap();
        }
    }
}
