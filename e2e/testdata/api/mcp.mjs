// Drives the tools with the client of npm: node mcp.mjs MODULES stdio|URL PAGE ROOT COMMAND...
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, place, page, root, ...command] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(path.join(modules, "x.js")).resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
let transport;
if (place === "stdio") {
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  transport = new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "inherit" });
} else {
  transport = new StreamableHTTPClientTransport(new URL(place), command.length ? { requestInit: { headers: { Authorization: `Bearer ${command[0]}` } } } : {});
}
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const seen = { tools: (await client.listTools()).tools.map((t) => t.name).sort() };
const call = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args });
  return (answer.isError ? "ERROR " : "") + answer.content.map((c) => c.text).join("\n");
};
seen.scrape = await call("scrape", { url: page, max_chars: 40 });
seen.map = await call("map", { url: root });
seen.crawl = await call("crawl", { url: root });
const id = /^id: (.*)$/m.exec(seen.crawl)?.[1];
if (id) {
  for (let i = 0; i < 20 && /status: crawling/.test(seen.crawl); i++) seen.crawl = await call("crawl", { id });
  seen.search = await call("search", { site: id, query: "moon" });
  seen.page = await call("get_page", { site: id, url: page });
  const key = /^key: (.*)$/m.exec(seen.search)?.[1];
  seen.resource = (await client.readResource({ uri: `hce://sites/${id}/pages/${key}` })).contents[0];
  seen.version = (await client.readResource({ uri: `hce://sites/${id}/pages/${key}/versions/1` })).contents[0];
  seen.explain = await call("explain", { url: page, site: id });
}
seen.sites = await call("list_sites", {});
seen.refused = await call("scrape", { url: "http://10.9.8.7/" });
seen.missing = await client.readResource({ uri: "hce://sites/none/pages/00000000000000000000000000000000" }).then(() => "found", (e) => String(e.message));
console.log(JSON.stringify(seen));
await client.close();
