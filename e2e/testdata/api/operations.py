"""Each operation of the Python client: python3 operations.py URL ROOT"""

import hashlib
import io
import sys

from hce_client import ApiError, Client

url, root = sys.argv[1:3]
key = hashlib.md5(root.encode()).hexdigest()


def fails(status, call, *args, **named):
    try:
        call(*args, **named)
    except ApiError as e:
        assert e.status == status and e.detail and e.trace, e.problem
        return e
    raise AssertionError("no error")


with Client(url) as hce:
    after = hce.list_events(limit=1)[1]  # the log begins
    hook = hce.create_webhook(root + "hook", types=["page.new"], sites=["python"])
    assert hook["secret"].startswith("whsec_") and hook["id"] in [h["id"] for h in hce.webhooks()]
    assert hce.status()["state"] == "ok" and hce.whoami()["scope"] == "admin"
    assert hce.scrape(root, formats=["text"], fields={"head": {"css": "h1"}})["fields"] == {"head": "Page 0"}
    assert root in [u["url"] for u in hce.map(root)["urls"]]
    crawl = hce.crawl(root, id="python", settings={"delayMs": 0, "maxUrls": 50}, wait=60)
    assert crawl["status"] == "finished" and crawl["counts"]["pages"] > 1, crawl
    assert hce.get_crawl("python")["completePercent"] == 100
    fails(409, hce.crawl, root, id="python")
    assert hce.crawl(root, id="python", settings={"delayMs": 0, "maxUrls": 50}, idempotency_key="1")["id"] == "python"
    assert "python" in [s["id"] for s in hce.sites()] and hce.get_site("python")["roots"] == [root]
    pages = list(hce.pages("python", fields=["url", "title", "urlMd5"]))
    assert len(pages) == crawl["counts"]["pages"] and {"url": root, "title": "Page 0", "urlMd5": key} in pages, pages
    assert len(list(hce.urls("python", limit=1, fields=["url"]))) == crawl["counts"]["urls"]
    assert hce.get_page("python", key, fields=["title"]) == {"title": "Page 0"}
    assert b"<title>Page 0" in hce.content("python", key) and hce.content("python", key, version=1) == hce.content("python", key)
    assert [v["number"] for v in hce.versions("python", key)] == [1]
    assert len(list(hce.export("python", fields=["url"]))) == len(pages)
    file = io.BytesIO()
    hce.export_to("python", file, format="warc")
    assert file.getvalue().startswith(b"WARC/1.1")
    event = next(iter(hce.events(sites=["python"], types=["page.new"], after=after)))
    assert event["type"] == "page.new" and event["data"]["url"].startswith(root), event
    assert hce.get_webhook(hook["id"])["url"] == root + "hook" and list(hce.dead_letters(hook["id"])) == []
    assert hce.replay_webhook(hook["id"])["id"] == hook["id"]
    hce.delete_webhook(hook["id"])
    fails(404, hce.get_webhook, hook["id"])
    assert hce.explain(root, site="python")["due"] is False
    assert hce.stop_crawl("python")["id"] == "python" and hce.change_site("python", description="by Python")["description"] == "by Python"
    assert hce.add_urls("python", [root, root + "new"]) == {"added": 1, "known": 1}
    hce.delete_url("python", hashlib.md5((root + "new").encode()).hexdigest())
    assert hce.recrawl("python") == crawl["counts"]["urls"]  # with one that was not found
    hce.delete_site("python")
    assert fails(404, hce.get_site, "python").remedy
    assert fails(422, hce.create_site, ["x"]).errors[0]["location"] == "body.roots[0]"
    fails(404, hce.get_site, "a/b")
print("done")
