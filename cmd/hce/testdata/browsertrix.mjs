// Writes the records of a crawl to a WARC file, with warcio.js, as Browsertrix Crawler shapes them: names of
// fields in lower case, bodies without codings, dates in milliseconds, revisits by URI and date, and
// records that are no pages (urn:pageinfo, urn:text).
//
//   node browsertrix.mjs MODULES FILE ROOT
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, path, root] = process.argv.slice(2);
const { WARCRecord, WARCSerializer } = await import(pathToFileURL(join(modules, "warcio/dist/index.all.js")));

const warcVersion = "WARC/1.1";
const out = createWriteStream(path);
const gzip = path.endsWith(".gz");
const bytes = (text) => [typeof text === "string" ? new TextEncoder().encode(text) : text];
const html = { "content-type": "text/html; charset=utf-8", "x-orig-content-encoding": "br", server: "test" };
const head = { "WARC-Page-ID": "8e4c7a8b-1", "WARC-Resource-Type": "document", "WARC-Protocol": "h2, tls/1.3" };
let seconds = 0;

async function write(options, body) {
  const record = WARCRecord.create({ warcVersion, keepHeadersCase: true, ...options }, body);
  out.write(await WARCSerializer.serialize(record, { gzip }));
  return record;
}

async function page(url, status, text, fields = {}, method = "GET", warcHeaders = {}) {
  const date = `2026-05-06T07:08:${String(seconds++).padStart(2, "0")}.123Z`;
  const body = bytes(text);
  const length = body[0].length ? { "content-length": String(body[0].length) } : {};
  const response = await write({ type: "response", url, date, warcHeaders: { ...head, ...warcHeaders }, statusline: `HTTP/1.1 ${status}`, httpHeaders: { ...html, ...length, ...fields } }, body);
  const asked = new URL(url);
  await write({
    type: "request", url, date, warcHeaders: { "WARC-Concurrent-To": response.warcHeader("WARC-Record-ID"), ...head },
    statusline: `${method} ${asked.pathname}${asked.search} HTTP/1.1`, httpHeaders: { accept: "text/html", "user-agent": "Browser/1.0" },
  }, bytes(""));
  return { response, date };
}

out.write(await WARCSerializer.serialize(await WARCRecord.createWARCInfo({ filename: "x.warc", warcVersion }, { software: "test", format: "WARC File Format 1.1" }), { gzip }));
const first = await page(root, "200 OK", "<title>Root é</title><p>body");
await page(root + "moved", "301 Moved Permanently", "", { location: "dir/", "content-length": "0" });
await page(root + "cyrillic", "200 ", new Uint8Array([0x3c, 0x70, 0x3e, 0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]), { "content-type": "text/html; charset=windows-1251" });
await page(root + "image.png", "200 OK", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 255]), { "content-type": "image/png" });
await page(root + "100%-odd?a=b&c", "200 OK", "<title>Odd</title>");
await page(root + "cut", "200 OK", "<p>half of", {}, "GET", { "WARC-Truncated": "disconnect" });
await page(root + "part", "206 Partial Content", "<p>part", { "content-range": "bytes 1-7/20" });
await page(root + "unchanged", "304 Not Modified", "");
await page(root + "gone", "404 Not Found", "<p>gone");
await page(root + "form", "200 OK", "<p>answer", {}, "POST");
for (const [name, fields] of [["again", { ...html, "x-second": "1" }], ["bare", {}]]) {
  await write({
    type: "revisit", url: root + name, date: `2026-05-06T08:00:00.45${name.length}Z`, statusline: "HTTP/1.1 200 OK", httpHeaders: fields, refersToUrl: root, refersToDate: first.date,
    warcHeaders: { "WARC-Payload-Digest": first.response.warcPayloadDigest, ...head },
  }, bytes(""));
}
await write({ type: "resource", url: "urn:pageinfo:" + root, date: first.date, warcHeaders: { "Content-Type": "application/json" } }, bytes('{"pageid": "x", "urls": {}}'));
await write({ type: "resource", url: "urn:text:" + root, date: first.date, warcHeaders: { "Content-Type": "text/plain" } }, bytes("body"));
await write({ type: "resource", url: root + "resource.txt", date: first.date, warcHeaders: { "Content-Type": "text/plain" } }, bytes("a resource"));
await write({ type: "metadata", url: root, date: first.date, warcHeaders: { "Content-Type": "application/warc-fields" } }, bytes("via: x\r\n"));
out.end();
