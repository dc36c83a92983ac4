"""A spider that follows all links below a start URL and saves each body as a file.

Each page also becomes an item, which the feed writes as a line of JSON. Arguments: root, the
start URL, and folder, for the bodies.
"""
import hashlib
import os

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor


class Spider(scrapy.Spider):
    name = "bench"

    def __init__(self, root, folder):
        super().__init__()
        self.start_urls = [root]
        self.folder = folder
        self.links = LinkExtractor(
            allow="^" + root.replace(".", r"\."),
            tags=("a", "area", "link", "img", "script", "frame", "iframe", "embed", "object", "source", "form"),
            attrs=("href", "src", "data", "action"),
            deny_extensions=[],
        )

    def parse(self, response):
        name = hashlib.md5(response.url.encode()).hexdigest()
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(response.body)
        if not isinstance(response, HtmlResponse):
            return
        yield {
            "url": response.url,
            "depth": response.meta.get("depth", 0),
            "size": len(response.body),
            "title": response.css("title::text").get(),
            "file": name,
        }
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
