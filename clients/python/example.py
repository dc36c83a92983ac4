"""Crawl a site and print the titles of its pages: python3 example.py https://example.org/"""

import sys

from hce_client import Client

with Client() as hce:
    crawl = hce.crawl(sys.argv[1], settings={"maxUrls": 20}, wait=60)
    for page in hce.pages(crawl["id"], fields=["url", "title"]):
        print(page["url"], page["title"])
