"""Debian's Chromium, driven by Debian's Selenium, and what it noticed while a test ran.

Nothing waits for time to pass: `until` looks at the page until it says what is expected.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from harness import until

CHROMIUM = os.environ.get("LYCOSA_CHROMIUM", "/usr/bin/chromium")
DRIVER = os.environ.get("LYCOSA_CHROMEDRIVER", "/usr/bin/chromedriver")


class Browser:
    """One window. `url`: the node's."""

    def __init__(self, url: str, width: int = 1280, height: int = 900):
        self.url = url
        self._profile = tempfile.TemporaryDirectory(prefix="lycosa-browser-",
                                                    ignore_cleanup_errors=True)
        options = Options()
        options.binary_location = CHROMIUM
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--no-first-run", "--disable-background-networking", "--disable-sync",
                     "--disable-component-update", "--hide-scrollbars", "--lang=en-GB",
                     "--no-proxy-server", f"--user-data-dir={self._profile.name}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.resize(width, height)

    def close(self) -> None:
        self.driver.quit()
        self._profile.cleanup()

    def resize(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def dark(self, on: bool) -> None:
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    # -- going ---------------------------------------------------------------------------------

    def open(self, place: str = "/") -> None:
        """Shows a page of the dashboard, afresh; returns when it has got its data."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/#{place}")
        self.ready()

    def ready(self) -> None:
        until(lambda: self.js("return document.querySelector('main')?.dataset.ready === 'yes'"),
              f"the page {self.driver.current_url} to have its data")

    # -- looking -------------------------------------------------------------------------------

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def text(self, selector: str = "main") -> str:
        """What an element shows; empty when there is none."""
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def see(self, words: str, selector: str = "main") -> None:
        try:
            until(lambda: words in self.text(selector), words)
        except AssertionError:
            raise AssertionError(f"no {words!r} in {selector}:\n{self.text(selector)}") from None

    def find(self, selector: str) -> WebElement:
        return until(lambda: next((e for e in self._all(selector) if e.is_displayed()), None),
                     f"{selector} to be seen in:\n{self.text()}")

    def _all(self, selector: str) -> list[WebElement]:
        kind = By.XPATH if selector.startswith("/") else By.CSS_SELECTOR
        return self.driver.find_elements(kind, selector)

    # -- doing ---------------------------------------------------------------------------------

    def click(self, selector: str) -> None:
        def clicked() -> bool:
            try:
                element = self.find(selector)
                self.js("arguments[0].scrollIntoView({block: 'center'})", element)
                element.click()
                return True
            except StaleElementReferenceException:
                return False
        until(clicked, f"{selector} to be clicked")

    def press(self, words: str, within: str = "") -> None:
        """Presses a button, or follows a link, that says `words`."""
        self.click(f"{within}//*[self::button or self::a][normalize-space()='{words}']")

    def type(self, label: str, words: str) -> WebElement:
        """Fills in the control with this label."""
        box = self.control(label)
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(Keys.DELETE)
        box.send_keys(words)
        return box

    def choose(self, label: str, option: str) -> None:
        Select(self.control(label)).select_by_visible_text(option)

    def control(self, label: str) -> WebElement:
        found = f"//label[normalize-space()='{label}']"
        return self.find(f"//*[@id={found}/@for] | //*[@aria-label='{label}'] | "
                         f"{found}//*[self::input or self::select]")

    def keys(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    # -- what it noticed -----------------------------------------------------------------------

    def console_errors(self) -> list[str]:
        return [f"{e['level']}: {e['message']}" for e in self.driver.get_log("browser")
                if e["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> tuple[list[str], list[str]]:
        """(failed, to others than the node) since it was asked last."""
        failed, foreign, addresses = [], [], {}
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            p, kind = message.get("params", {}), message["method"]
            if kind == "Network.requestWillBeSent":
                address = p["request"]["url"]
                addresses[p["requestId"]] = f"{p['request']['method']} {address}"
                parts = urlsplit(address)
                if parts.scheme in ("http", "https") and f"http://{parts.netloc}" != self.url:
                    foreign.append(address)
            elif kind == "Network.responseReceived" and p["response"]["status"] >= 400:
                failed.append(f"{p['response']['status']} "
                              f"{addresses.get(p['requestId'], p['response']['url'])}")
            elif kind == "Network.loadingFailed" and not p.get("canceled") \
                    and p.get("errorText") != "net::ERR_ABORTED":
                failed.append(f"{p.get('errorText')} {addresses.get(p['requestId'])}")
        return failed, foreign

    def axe(self, source: Path) -> list[str]:
        """What axe-core finds fault with."""
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": source.read_text()})
        return self.driver.execute_async_script("""axe.run(document).then((r) => arguments[0](
            r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target).join())))""")

    def names(self) -> list[dict[str, str]]:
        """What a screen reader is told: role and name of whatever can be used."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        wanted = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio",
                  "image", "img", "table", "dialog", "heading", "spinbutton", "group"}
        out = []
        for node in tree:
            role = node.get("role", {}).get("value", "")
            if not node.get("ignored") and role in wanted:
                out.append({"role": role, "name": node.get("name", {}).get("value", "")})
        return out


__all__ = ["Browser", "Keys", "Select", "WebDriverException"]
