"""What counts as a page of a site, and which links of a page lead to others."""

from __future__ import annotations

from html.parser import HTMLParser
from posixpath import splitext
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

_LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}
_SAFE = "/:@!$&'()*+,;=~-._"


class _LinkParser(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.base: str | None = None

    def handle_starttag(self, tag, attrs):
        if tag == "base" and self.base is None:
            self.base = dict(attrs).get("href")
        wanted = _LINKS.get(tag)
        if wanted is None:
            return
        for name, value in attrs:
            if name == wanted and value:
                self.links.append(value)


def normalise(url: str) -> str | None:
    """One spelling for one page; None for what is no HTML page by its address.

    The fragment goes, scheme and host are lower case, a default port goes, dots in the path are
    resolved, and each character of the path has one way to be written.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https") or not parts.hostname:
        return None
    host = parts.hostname
    if port is not None and port != {"http": 80, "https": 443}[scheme]:
        host = f"{host}:{port}"
    path = quote(unquote(urlsplit(urljoin(url, parts.path or "/")).path), safe=_SAFE)
    if splitext(path)[1].lower() not in ("", ".html", ".htm", ".xhtml"):
        return None
    return urlunsplit((scheme, host, path or "/", parts.query, ""))


def links_of(html: str, url: str, prefix: str) -> list[str]:
    """The pages under `prefix` that a page links to, each once, in order of appearance."""
    parser = _LinkParser()
    parser.feed(html)
    parser.close()
    base = urljoin(url, parser.base) if parser.base else url
    found: dict[str, None] = {}
    for link in parser.links:
        try:
            absolute = urljoin(base, link.strip())
        except ValueError:  # a malformed address such as http://[
            continue
        page = normalise(absolute)
        if page is not None and page.startswith(prefix):
            found[page] = None
    return list(found)
