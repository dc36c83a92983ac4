// Reads a WARC file with warcio.js and checks the digests of all records. It prints a line of JSON for
// each record: type, URI, offset, HTTP status and content, as the fields of the HTTP head decode it.
//
//   node warc.mjs MODULES FILE
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, path] = process.argv.slice(2);
const { WARCParser } = await import(pathToFileURL(join(modules, "warcio/dist/index.all.js")));

const parsers = (options) => new WARCParser(createReadStream(path), options);
const digest = (data) => "sha256:" + createHash("sha256").update(data).digest("hex");

function check(record, name, data) {
  const want = record.warcHeaders.headers.get(name);
  if (want !== digest(data)) {
    throw new Error(`${record.warcType} ${record.warcTargetURI}: ${name} is ${want}, not ${digest(data)}`);
  }
}

for await (const record of parsers({ parseHttp: false })) {
  check(record, "WARC-Block-Digest", await record.readFully(false));
}
const parser = parsers({});
for await (const record of parser) {
  const line = { type: record.warcType, uri: record.warcTargetURI, offset: parser.offset, status: record.httpHeaders?.statusCode };
  if (record.warcType === "response") {
    check(record, "WARC-Payload-Digest", await record.readFully(false));
    line.content = await record.contentText();
  } else {
    await record.skipFully();
  }
  console.log(JSON.stringify(line));
}
