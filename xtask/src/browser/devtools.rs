//! A client of the DevTools protocol over a pipe: JSON messages that end with a zero byte.
//!
//! Source: the Chrome DevTools Protocol, domains Target, Page, Runtime, Input, Emulation, Log and Network.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long the browser may take for one answer.
const ANSWER_TIME: Duration = Duration::from_mins(1);
/// The longest message that is read: a picture of a long page.
const MESSAGE_BYTES: u64 = 256 << 20;

/// A connection, with one tab.
pub(super) struct Tab {
    writer: Box<dyn Write>,
    messages: Receiver<Value>,
    next_id: u64,
    session: Option<String>,
    /// Everything that the browser said unasked since the last [`Tab::open`].
    pub(super) events: Vec<Value>,
}

impl Tab {
    /// Talks through these ends, and opens an empty tab.
    pub(super) fn connect(
        writer: impl Write + 'static,
        reader: impl Read + Send + 'static,
    ) -> anyhow::Result<Self> {
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            loop {
                let mut message = Vec::new();
                let read = reader.by_ref().take(MESSAGE_BYTES).read_until(0, &mut message);
                if read.is_err() || message.pop() != Some(0) {
                    return;
                }
                let Ok(message) = serde_json::from_slice(&message) else {
                    return;
                };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut tab = Self {
            writer: Box::new(writer),
            messages,
            next_id: 0,
            session: None,
            events: Vec::new(),
        };
        let target = tab.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attached = tab.call(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        )?;
        let session = attached["sessionId"].as_str().context("the tab has no session")?;
        tab.session = Some(session.to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(tab)
    }

    /// Calls a method and waits for its result.
    pub(super) fn call(&mut self, method: &str, parameters: &Value) -> anyhow::Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut text = serde_json::to_vec(&message)?;
        text.push(0);
        self.writer
            .write_all(&text)
            .and_then(|()| self.writer.flush())
            .context("the browser does not listen")?;
        let until = Instant::now() + ANSWER_TIME;
        loop {
            let mut message = self.receive(until).with_context(|| format!("in {method}"))?;
            if message["id"] != id {
                self.events.push(message);
            } else if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(message["result"].take());
            }
        }
    }

    fn receive(&mut self, until: Instant) -> anyhow::Result<Value> {
        let time = until.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(time).map_err(|error| match error {
            RecvTimeoutError::Timeout => anyhow::anyhow!("the browser did not answer in time"),
            RecvTimeoutError::Disconnected => anyhow::anyhow!("the browser has ended"),
        })
    }

    /// Waits for an event of this name.
    fn wait_for(&mut self, event: &str) -> anyhow::Result<()> {
        let until = Instant::now() + ANSWER_TIME;
        while !self.events.iter().any(|message| message["method"] == event) {
            let message = self
                .receive(until)
                .with_context(|| format!("waiting for {event}"))?;
            self.events.push(message);
        }
        Ok(())
    }

    /// Opens a page and forgets the events of the one before.
    pub(super) fn open(&mut self, url: &str) -> anyhow::Result<()> {
        self.events.clear();
        let answer = self.call("Page.navigate", &json!({ "url": url }))?;
        ensure!(
            answer.get("errorText").is_none(),
            "{url}: {}",
            answer["errorText"]
        );
        self.wait_for("Page.loadEventFired")
    }

    /// The value of an expression in the page, promises awaited.
    pub(super) fn eval<T: DeserializeOwned>(&mut self, expression: &str) -> anyhow::Result<T> {
        let mut answer = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        )?;
        if let Some(exception) = answer.get("exceptionDetails") {
            bail!("{expression}: {exception}");
        }
        let value = answer["result"]["value"].take();
        serde_json::from_value(value).with_context(|| format!("the value of {expression}"))
    }

    /// Width and height in CSS pixels.
    pub(super) fn resize(&mut self, width: u32, height: u32) -> anyhow::Result<()> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        // The layout follows in the next frame.
        self.eval(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
        )
        .map(|_: bool| ())
    }

    /// What the system prefers: `light` or `dark`; and the medium, `screen` or `print`.
    pub(super) fn prefer(&mut self, scheme: &str, medium: &str) -> anyhow::Result<()> {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": medium, "features": features });
        self.call("Emulation.setEmulatedMedia", &media).map(|_| ())
    }

    /// Presses and releases a key, by its name in the UI Events specification.
    pub(super) fn press(&mut self, key: &str) -> anyhow::Result<()> {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "Backspace" => (8, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            other => bail!("no key is called {other}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// Types text into what has the focus.
    pub(super) fn type_text(&mut self, text: &str) -> anyhow::Result<()> {
        self.call("Input.insertText", &json!({ "text": text }))
            .map(|_| ())
    }

    /// Clicks into the middle of the first element that the selector finds.
    pub(super) fn click(&mut self, selector: &str) -> anyhow::Result<()> {
        let selector = serde_json::to_string(selector)?;
        let [x, y]: [f64; 2] = self.eval(&format!(
            "(() => {{ const found = document.querySelector({selector}); found.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = found.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; }})()"
        ))?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Tab;

    #[test]
    fn a_browser_that_says_nothing_or_nonsense_is_an_error() {
        for said in ["", "nonsense\0", "{\"id\":1,\"error\":{\"message\":\"no\"}}\0"] {
            let error = Tab::connect(Vec::new(), said.as_bytes()).err().unwrap();
            let text = format!("{error:#}");
            assert!(text.contains("Target.createTarget"), "{said:?} gave {text}");
        }
    }
}
