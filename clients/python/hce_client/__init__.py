"""Client of the REST API of the HCE Distributed Crawler.

    from hce_client import Client

    with Client("http://127.0.0.1:5581") as hce:
        print(hce.scrape("https://example.org/")["markdown"])

Objects are those of the document at /v1/openapi.json, as dictionaries. An answer that is no success raises ApiError. One client may be
used by several threads.
"""

import json
import os
import time

import httpx

__all__ = ["ApiError", "Client"]


class ApiError(Exception):
    """A problem (RFC 9457): status, title, detail, remedy, trace and errors, each with message, location and value."""

    def __init__(self, status, problem):
        self.status = status
        self.problem = problem
        self.detail = problem.get("detail", "")
        self.remedy = problem.get("remedy", "")
        self.trace = problem.get("trace", "")
        self.errors = problem.get("errors", [])
        places = "; ".join("{}: {}".format(e.get("location", ""), e.get("message", "")) for e in self.errors)
        super().__init__(" ".join(part for part in (str(status), self.detail, places) if part))


class Client:
    """Talks to one daemon.

    key is that of "hce key new"; default: the environment variable HCE_API_KEY. timeout is for one request, in seconds.
    """

    def __init__(self, url="http://127.0.0.1:5581", key=None, timeout=130.0):
        key = key if key is not None else os.environ.get("HCE_API_KEY", "")
        headers = {"Authorization": "Bearer " + key} if key else {}
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close the connections."""
        self._http.close()

    # Single pages of the web.

    def scrape(self, url, **options):
        """Read one page. Options: formats, mode, fields, schema, headers."""
        return self._json("POST", "/v1/scrape", json={"url": url, **options})

    def map(self, url, **options):
        """List the URLs of a site without a crawl. Options: scope, limit, search."""
        return self._json("POST", "/v1/map", json={"url": url, **options})

    # A site and its crawl.

    def crawl(self, roots, id=None, settings=None, wait=0, idempotency_key=None):
        """Create a site and crawl it. With wait, the answer comes when the crawl has ended, or after this number of seconds."""
        return self._json("POST", "/v1/crawl", json=_site(roots, id, None, settings), headers=_headers(wait, idempotency_key))

    def get_crawl(self, site, wait=0):
        """Show how far a crawl is."""
        return self._json("GET", _path("/v1/crawl/{}", site), headers=_headers(wait))

    def stop_crawl(self, site):
        """Pause a crawl; its pages stay."""
        return self._json("DELETE", _path("/v1/crawl/{}", site))

    # Sites.

    def sites(self):
        """Iterate over all sites, ordered by id."""
        return self._items("/v1/sites", {})

    def create_site(self, roots, id=None, description=None, settings=None, idempotency_key=None):
        """Create a site, which the daemon crawls at once."""
        return self._json("POST", "/v1/sites", json=_site(roots, id, description, settings), headers=_headers(0, idempotency_key))

    def get_site(self, site):
        """Show a site with its settings."""
        return self._json("GET", _path("/v1/sites/{}", site))

    def change_site(self, site, **change):
        """Change a site: state (active, paused, disabled), description, settings."""
        return self._json("PATCH", _path("/v1/sites/{}", site), json=change)

    def delete_site(self, site):
        """Delete a site with all its pages."""
        self._json("DELETE", _path("/v1/sites/{}", site))

    def recrawl(self, site, failed=False, full=False):
        """Ask for all pages of a site again. Returns the number of URLs."""
        return self._json("POST", _path("/v1/sites/{}/recrawl", site), json={"failed": failed, "full": full})["urls"]

    # URLs and pages of a site.

    def urls(self, site, **choice):
        """Iterate over the URLs of a site. Choice: fields (a list), status, failed, prefix, url."""
        return self._items(_path("/v1/sites/{}/urls", site), choice)

    def pages(self, site, **choice):
        """Iterate over the processed pages of a site. Choice: as urls()."""
        return self._items(_path("/v1/sites/{}/pages", site), choice)

    def add_urls(self, site, urls):
        """Add URLs to a site. Returns added and known."""
        return self._json("POST", _path("/v1/sites/{}/urls", site), json={"urls": list(urls)})

    def delete_url(self, site, key):
        """Delete a URL with its page."""
        self._json("DELETE", _path("/v1/sites/{}/urls/{}", site, key))

    def get_page(self, site, key, fields=None):
        """Show a page. The key is the md5 of its URL."""
        return self._json("GET", _path("/v1/sites/{}/pages/{}", site, key), params=_params({"fields": fields}))

    def versions(self, site, key):
        """List the stored versions of a page, the oldest first."""
        return self._json("GET", _path("/v1/sites/{}/pages/{}/versions", site, key))["items"]

    def content(self, site, key, version=None):
        """Return the bytes of a page as they were received: the present ones, or those of a version."""
        return self._send("GET", _path("/v1/sites/{}/pages/{}/content", site, key), params=_params({"version": version})).content

    def export(self, site, **choice):
        """Iterate over the pages of a site as objects. Choice: fields (a list), all, noindex, since."""
        with self._stream(_path("/v1/sites/{}/export", site), _params({"format": "jsonl", **choice})) as answer:
            for line in _lines(answer):
                yield json.loads(line)

    def export_to(self, site, file, format="jsonl", **choice):
        """Write an export (jsonl, csv, sitemap, warc) to a binary file."""
        with self._stream(_path("/v1/sites/{}/export", site), _params({"format": format, **choice})) as answer:
            for part in answer.iter_bytes():
                file.write(part)

    # Events.

    def list_events(self, sites=None, types=None, after=None, limit=100):
        """Return events and the number to go on after. after=0 begins with the oldest."""
        params = _params({"site": sites, "types": types, "after": after, "limit": limit})
        part = self._json("GET", "/v1/events", params=params, headers={"Accept": "application/json"})
        return part["items"], int(part["next"])

    def events(self, sites=None, types=None, after=None):
        """Iterate over events as they come, without an end. A connection that breaks off is opened again behind the last event. An event of
        type gap says that events were not kept long enough: read the pages again."""
        while True:
            params = _params({"site": sites, "types": types, "after": after})
            try:
                with self._stream("/v1/events", params, headers={"Accept": "text/event-stream"}, timeout=60.0) as answer:
                    for number, kind, data in _events(answer):
                        after = number
                        if kind == "gap":
                            yield {"id": number, "type": "gap", "data": data}
                        elif kind != "place":
                            yield data
            except httpx.TransportError:
                pass
            except ApiError as problem:
                if problem.status < 500:
                    raise
            time.sleep(1)

    def webhooks(self):
        """List the webhooks."""
        return self._json("GET", "/v1/webhooks")["items"]

    def create_webhook(self, url, types=None, sites=None):
        """Send events from now on to a server. The answer has the secret of the signatures, once."""
        body = {name: value for name, value in (("url", url), ("types", types), ("sites", sites)) if value}
        return self._json("POST", "/v1/webhooks", json=body)

    def get_webhook(self, id):
        """Show a webhook and how far it is."""
        return self._json("GET", _path("/v1/webhooks/{}", id))

    def delete_webhook(self, id):
        """Delete a webhook."""
        self._json("DELETE", _path("/v1/webhooks/{}", id))

    def dead_letters(self, id):
        """Iterate over the events that a webhook did not get."""
        return self._items(_path("/v1/webhooks/{}/dead", id), {})

    def replay_webhook(self, id, from_=0):
        """Send events again from a number on; 0: from the oldest that is kept."""
        return self._json("POST", _path("/v1/webhooks/{}/replay", id), json={"from": from_})

    # The daemon.

    def explain(self, url, site=None):
        """Explain what crawling decides about a URL."""
        return self._json("GET", "/v1/explain", params=_params({"url": url, "site": site}))

    def status(self):
        """Show what runs and what is wrong."""
        return self._json("GET", "/v1/status")

    def whoami(self):
        """Show what the key allows."""
        return self._json("GET", "/v1/whoami")

    def _send(self, method, path, **arguments):
        answer = self._http.request(method, path, **arguments)
        _check(answer)
        return answer

    def _json(self, method, path, **arguments):
        answer = self._send(method, path, **arguments)
        return answer.json() if answer.content else None

    def _stream(self, path, params, **options):
        return _Stream(self._http.stream("GET", path, params=params, **options))

    def _items(self, path, choice):
        params = _params(choice)
        while True:
            part = self._json("GET", path, params=params)
            yield from part["items"]
            if "next" not in part:
                return
            params = {**params, "cursor": part["next"]}


class _Stream:
    """A stream whose answer is checked."""

    def __init__(self, stream):
        self._stream = stream

    def __enter__(self):
        answer = self._stream.__enter__()
        if answer.status_code >= 400:
            answer.read()
        _check(answer)
        return answer

    def __exit__(self, *reason):
        return self._stream.__exit__(*reason)


def _lines(answer):
    """Lines that end with a line feed. iter_lines of httpx 0.24 and later also ends them at characters that JSON may have, such as U+0085."""
    rest = b""
    for part in answer.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _events(answer):
    """Number, type and data of the events of a stream."""
    number, kind, data = None, None, None
    for line in _lines(answer):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ").decode()
        if name == b"id":
            number = int(value)
        elif name == b"event":
            kind = value
        elif name == b"data":
            data = json.loads(value)
        if not line:
            if kind is not None:
                yield number, kind, data
            kind, data = None, None


def _check(answer):
    if answer.status_code < 400:
        return
    try:
        problem = answer.json()
    except ValueError:
        problem = {"detail": answer.text[:200]}
    raise ApiError(answer.status_code, problem)


def _path(form, *parts):
    return form.format(*(httpx.URL("http://x/").copy_with(path="/" + str(p)).raw_path.decode()[1:].replace("/", "%2F") for p in parts))


def _params(choice):
    """Leave out what is None; lists are separated by commas."""
    params = {}
    for name, value in choice.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        params[name] = ",".join(value) if isinstance(value, (list, tuple)) else value
    return params


def _headers(wait=0, idempotency_key=None):
    headers = {}
    if wait:
        headers["Prefer"] = "wait={}".format(int(wait))
    if idempotency_key:
        headers["Idempotency-Key"] = idempotency_key
    return headers


def _site(roots, id, description, settings):
    site = {"roots": [roots] if isinstance(roots, str) else list(roots)}
    for name, value in (("id", id), ("description", description), ("settings", settings)):
        if value is not None:
            site[name] = value
    return site
