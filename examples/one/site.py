"""Walks one site and keeps the titles of its pages.

    LYCOSA_SITE=http://127.0.0.1:8000/ lycosa one examples/one --start
"""

import os
from urllib.parse import urlsplit

from lycosa.handler import BaseHandler, config, every

SITE = os.environ.get("LYCOSA_SITE", "http://127.0.0.1:8000/")


class Handler(BaseHandler):
    retry_delay = {0: 1, "": 10}

    @every(minutes=24 * 60)
    def on_start(self):
        self.crawl(SITE, callback=self.page, age=0)

    @config(age=24 * 60 * 60)
    def page(self, response):
        if "html" not in response.headers.get("content-type", ""):
            return None
        for link in response.links():
            if urlsplit(link).netloc == urlsplit(SITE).netloc:
                self.crawl(link, callback=self.page)
        return {"url": response.url, "title": response.title}

    def on_finished(self):
        print("that was all")
