#!/usr/bin/env python3
"""Opens pages in headless Chromium and uses them: `browser.py CHROMIUM FOLDER [SCREENSHOTS]`.

FOLDER has the pages that the example `sample` writes. Chromium is driven over its DevTools pipe, so that
Python's standard library is enough.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--hide-scrollbars",
]


class Browser:
    """A Chromium with one page, and the messages between the two."""

    def __init__(self, chromium, profile):
        to_child, ours_out = os.pipe()
        ours_in, from_child = os.pipe()

        def place():
            # The pipe is file descriptors 3 and 4.
            os.dup2(to_child, 103)
            os.dup2(from_child, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.out, self.into = ours_out, ours_in
        self.left, self.number, self.errors = b"", 0, []
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.left:
            part = os.read(self.into, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.left += part
        text, self.left = self.left.split(b"\0", 1)
        message = json.loads(text)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"].get("exception", {}).get("description", params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:")):
            self.errors.append(f"a request to {params['request']['url']}")
        return message

    def ask(self, method, params=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def run(self, script):
        result = self.ask("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, path, width=1440, height=900, scheme="light", scale=1):
        self.ask("Emulation.setDeviceMetricsOverride",
                 {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})
        self.ask("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
        started = time.monotonic()
        self.ask("Page.navigate", {"url": pathlib.Path(path).resolve().as_uri()})
        ready = None
        while ready is None:
            ready = self.run("document.documentElement?.dataset?.ready ?? null")
            if time.monotonic() - started > 60:
                raise RuntimeError(f"{path} is not ready after a minute: {self.errors}")
        self.frame()
        return time.monotonic() - started

    def frame(self):
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key):
        text = key if len(key) == 1 else None
        for kind in ("keyDown", "keyUp"):
            press = {"type": kind, "key": key}
            if text and kind == "keyDown":
                press["text"] = text
            self.ask("Input.dispatchKeyEvent", press)
        self.frame()

    def type(self, text):
        self.ask("Input.insertText", {"text": text})
        time.sleep(0.3)
        self.frame()

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click(self, selector):
        box = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView();"
                       "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, *box, button="left", clickCount=1)
        self.frame()

    def picture(self, path, full=False):
        clip = {}
        if full:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {**size, "scale": 1}, "captureBeyondViewport": True}
        data = self.ask("Page.captureScreenshot", {"format": "png", **clip})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.session = None
        self.ask("Browser.close")
        self.process.wait(20)


def check(what, holds):
    print(f"{'ok' if holds else 'FAILED'}: {what}")
    if not holds:
        FAILED.append(what)


FAILED = []
DETAILS = "document.querySelector('#details').innerText"
# Pixels of the canvas that have the colours of custom properties, by name.
PIXELS = """((names) => { const c = document.querySelector('#canvas'); const d = c.getContext('2d')
  .getImageData(0, 0, c.width, c.height).data; const style = getComputedStyle(document.documentElement);
  const wanted = new Map(names.map((name) => [parseInt(style.getPropertyValue('--' + name).trim().slice(1), 16),
  name])); const seen = Object.fromEntries(names.map((name) => [name, 0]));
  for (let i = 0; i < d.length; i += 4) { const name = wanted.get(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
  if (name) seen[name] += 1; } return seen; })(['kernel', 'down', 'up', 'peer', 'wait'])"""


def use_sample(browser, page):
    browser.open(page)
    check("the sample has ops of four devices", browser.run("document.querySelectorAll('#totals div').length") == 7)
    drawn = browser.run(PIXELS)
    check(f"kernels, copies and waits are drawn {drawn}", min(drawn.values()) > 100)
    check("both sites of the race are side by side", browser.run(
        "document.querySelectorAll('.finding')[0].querySelectorAll('.site').length") >= 2)
    check("source lines are shown, the call's marked", browser.run(
        "document.querySelector('.finding .source .here')?.textContent.includes('source.fill(7, first)')"))
    browser.click(".finding .jump")
    details = browser.run(DETAILS)
    check("a click on a finding selects its first op", "fill" in details.lower() and "stream" in details.lower())
    check("and moves the timeline into view", browser.run(
        "Math.abs(document.querySelector('#timeline').getBoundingClientRect().top) < innerHeight / 2"))
    browser.key("/")
    check("/ leads to the search", browser.run("document.activeElement.id") == "search")
    browser.type("add_columns")
    found = browser.run("document.querySelector('#matches').value")
    check(f"the search finds a kernel by its readable name ({found})", found.split()[0].isdigit() and found[0] != "0")
    browser.key("Enter")
    check("and Enter goes to it", "matrix::add_columns" in browser.run(DETAILS))
    browser.key("Escape")
    browser.run("document.querySelector('#stage').focus()")
    for key in ("+", "ArrowRight", "]", "-", "0", "f"):
        browser.key(key)
    check("keys zoom, pan and select", browser.run(DETAILS) != "")
    heads = "[...document.querySelectorAll('#kernels th')]"
    browser.run(f"{heads}[0].querySelector('button').click()")
    check("kernels are sorted by a click on a heading", browser.run(f"{heads}[0].getAttribute('aria-sort')") == "ascending")
    names = browser.run("[...document.querySelectorAll('#kernels td:first-child')].map((cell) => cell.innerText)")
    check("in that order", names == sorted(names) and len(names) == 3)
    browser.click("#show-calls")
    check("calls are a view of their own", browser.run("document.querySelector('#show-calls').ariaPressed") == "true")
    check("memory has charts, links a picture", browser.run("document.querySelectorAll('.chart svg').length") >= 4
          and browser.run("document.querySelectorAll('.picture svg .flow').length") >= 8)
    browser.key("?")
    check("? lists the keys", browser.run("document.querySelector('#help').open"))
    box = browser.run("(() => { const b = document.querySelector('#canvas').getBoundingClientRect();"
                      "return [b.x + b.width / 2, b.y + 60]; })()")
    browser.key("Escape")
    browser.mouse("mouseWheel", *box, deltaX=0, deltaY=-400)
    browser.frame()


def use_large(browser, page):
    seconds = browser.open(page)
    size = pathlib.Path(page).stat().st_size / 1e6
    print(f"100,000 ops: {size:.1f} MB, open after {seconds:.2f} s")
    check("a page of 100,000 ops is under 15 MB", size < 15)
    check("and opens", browser.run("document.querySelector('#totals').innerText").count("100,000") == 1)
    started = time.monotonic()
    browser.key("/")
    browser.type("backward")
    print(f"searched after {time.monotonic() - started:.2f} s")
    check("the search finds every launch", browser.run("document.querySelector('#matches').value") == "20,000 matches")


def use_several(browser, page):
    browser.open(page)
    check("several processes have one page", "2 processes" in browser.run("document.querySelector('#subtitle').innerText"))
    check("with the ops of both", "3,000" in browser.run("document.querySelector('#totals').innerText"))
    launches = browser.run("document.querySelector('#kernels td:nth-child(2)').innerText")
    check(f"and the launches of a kernel by both as one number ({launches})", launches == "600")
    browser.run("document.querySelector('#stage').focus()")
    browser.key("]")
    check("an op names its process", "process" in browser.run(DETAILS))


def use_hostile(browser, page):
    browser.open(page)
    browser.click(".finding .jump")
    title = browser.run("document.title")
    check("hostile names stay text", title != "broken" and "script" in title)
    check("and make no element", browser.run("document.querySelectorAll('img').length") == 0)


def use_all(browser, folder, pictures):
    use_sample(browser, folder / "sample.html")
    use_large(browser, folder / "large.html")
    use_several(browser, folder / "several.html")
    use_hostile(browser, folder / "hostile.html")
    check(f"no errors and no requests {browser.errors[:3]}", not browser.errors)
    for pictures in map(pathlib.Path, pictures):
        pictures.mkdir(parents=True, exist_ok=True)
        for scheme in ("light", "dark"):
            browser.open(folder / "sample.html", scheme=scheme)
            browser.picture(pictures / f"{scheme}.png", full=True)


def main():
    chromium, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(chromium, profile)
        try:
            use_all(browser, folder, sys.argv[3:])
            browser.close()
        finally:
            browser.process.kill()
    print(f"page: {'FAILED' if FAILED else 'ok'}")
    sys.exit(bool(FAILED))


if __name__ == "__main__":
    main()
