"""A real Chromium, driven over its debugging pipe: opens pages, presses keys, and tells what went wrong.  Needs no other package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}


class Browser:
    """One tab.  `errors` are messages of the console and of scripts, `asked` the addresses that pages asked for."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int) -> None:
        self.process, self._to, self._back = process, to, back
        self._buffer, self._number = b"", 0
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.statuses: dict[str, int] = {}
        self._events: list[str] = []
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{part}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """One command of the protocol; its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": given} | ({"sessionId": self._session} if self._session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._read(60)
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]
            self._note(told)

    def _read(self, seconds: float) -> dict[str, Any]:
        import select

        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._back], [], [], seconds)
            assert ready, "Chromium does not answer"
            self._buffer += os.read(self._back, 1 << 20)
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)

    def _note(self, told: dict[str, Any]) -> None:
        name, given = told.get("method", ""), told.get("params", {})
        self._events.append(name)
        if name == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(given["exceptionDetails"])[:600])
        elif name == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(given["args"])[:600])
        elif name == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")
        elif name == "Network.requestWillBeSent":
            self.asked.append(given["request"]["url"])
        elif name == "Network.responseReceived" and given["type"] == "Document":
            self.statuses[given["response"]["url"]] = given["response"]["status"]

    def open(self, address: str) -> None:
        """Go to a page and wait until it is there."""
        self._events.clear()
        self.call("Page.navigate", url=address)
        self.wait_for_load()
        path = address.partition("?")[0]
        self.until(f"document.readyState == 'complete' && location.href.startsWith({path!r})")

    def wait_for_load(self) -> None:
        """Until the page that is being opened is there."""
        while "Page.loadEventFired" not in self._events:
            self._note(self._read(30))
        self._events.clear()

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, script: str, seconds: float = 20.0) -> Any:
        """The value of an expression once it is true."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                if value := self.run(script):
                    return value
            except AssertionError:  # the page is being replaced by another
                pass
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}\n{self.text()[:2000]}")

    def text(self) -> str:
        """What a reader sees."""
        return str(self.run("document.body.innerText"))

    def press(self, key: str) -> None:
        """One key."""
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def tab_to(self, script: str, most: int = 200) -> None:
        """Press Tab until the focused element, `it`, fulfils the expression."""
        for _ in range(most):
            self.press("Tab")
            if self.run(f"(it => !!({script}))(document.activeElement || document.body || {{}})"):
                return
        raise AssertionError(f"Tab never reaches {script}")

    def screen(self, width: int, height: int = 900, dark: bool = False) -> None:
        """The size of the window, and light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen."""
        return int(self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def picture(self, file: Path, whole: bool = False) -> Path:
        """A screenshot."""
        told = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(told["data"]))
        return file

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own."""
    assert CHROMIUM is not None
    to_read, to_write = os.pipe()
    back_read, back_write = os.pipe()

    def as_three_and_four() -> None:
        os.dup2(to_read, 13)
        os.dup2(back_write, 14)
        os.dup2(13, 3)
        os.dup2(14, 4)

    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, preexec_fn=as_three_and_four, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(to_read)
    os.close(back_write)
    try:
        yield Browser(process, to_write, back_read)
    finally:
        process.terminate()
        process.wait(timeout=20)
        os.close(to_write)
        os.close(back_read)
