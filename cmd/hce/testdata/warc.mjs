// Reads a WARC file with warcio.js and checks the digests of all records. It prints a line of JSON for
// each record: type, URI, date, offset, HTTP status line and fields, what it revisits, and content, as the
// fields of the HTTP head decode it. With the option --lax it does not check block digests: GNU wget 1.21
// writes those of revisits wrongly.
//
//   node warc.mjs MODULES FILE [--lax]
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, path, lax] = process.argv.slice(2);
const { WARCParser } = await import(pathToFileURL(join(modules, "warcio/dist/index.all.js")));

const parsers = (options) => new WARCParser(createReadStream(path), options);

function base32(bytes) {
  let bits = "";
  for (const b of bytes) bits += b.toString(2).padStart(8, "0");
  return bits.match(/.{5}/g).map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[parseInt(five, 2)]).join("");
}

function check(record, name, data) {
  const want = record.warcHeaders.headers.get(name);
  if (!want) return;
  const sum = createHash(want?.startsWith("sha1:") ? "sha1" : "sha256").update(data);
  const got = want?.startsWith("sha1:") ? "sha1:" + base32(sum.digest()) : "sha256:" + sum.digest("hex");
  if (want !== got) {
    throw new Error(`${record.warcType} ${record.warcTargetURI}: ${name} is ${want}, not ${got}`);
  }
}

for await (const record of parsers({ parseHttp: false })) {
  const block = await record.readFully(false);
  if (!lax) check(record, "WARC-Block-Digest", block);
}
for await (const record of parsers({})) {
  if (["response", "resource"].includes(record.warcType)) check(record, "WARC-Payload-Digest", await record.readFully(false));
  else await record.skipFully();
}
const parser = parsers({ keepHeadersCase: true });
for await (const record of parser) {
  const http = record.httpHeaders, warc = record.warcHeaders.headers;
  const line = {
    type: record.warcType, uri: record.warcTargetURI, date: record.warcDate, offset: parser.offset, status: http?.statusCode, start: http?.statusline,
    fields: http ? [...http.headers].map(([name, value]) => name + ": " + value) : [],
    revisits: [warc.get("WARC-Refers-To-Target-URI"), warc.get("WARC-Refers-To-Date")].join(" ").trim(), truncated: warc.get("WARC-Truncated"),
  };
  if (["response", "resource"].includes(record.warcType)) {
    line.content = await record.contentText();
    line.bytes = createHash("sha256").update(record.payload ?? "").digest("hex");
  } else {
    await record.skipFully();
  }
  console.log(JSON.stringify(line));
}
