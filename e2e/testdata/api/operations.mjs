// Each operation of the TypeScript client: node operations.mjs CLIENT URL ROOT
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";

const [module, url, root] = process.argv.slice(2);
const { ApiError, Client } = await import(pathToFileURL(module).href);
const md5 = (text) => createHash("md5").update(text).digest("hex");
const collect = async (list) => { const all = []; for await (const one of list) all.push(one); return all; };
const fails = (status, call) => assert.rejects(call, (e) => e instanceof ApiError && e.status === status && e.problem.detail !== undefined);

const hce = new Client({ url });
const { after } = await hce.listEvents({}, 1); // the log begins
const hook = await hce.createWebhook({ url: root + "hook", types: ["page.new"], sites: ["typescript"] });
assert.ok(hook.secret.startsWith("whsec_") && (await hce.webhooks()).some((h) => h.id === hook.id));
assert.equal((await hce.status()).state, "ok");
assert.equal((await hce.whoami()).scope, "admin");
assert.deepEqual((await hce.scrape(root, { fields: { head: { css: "h1" } } })).fields, { head: "Page 0" });
assert.ok((await hce.map(root)).urls.some((u) => u.url === root));
const site = { id: "typescript", roots: [root], settings: { delayMs: 0, maxUrls: 50 } };
const crawl = await hce.crawl(site, { waitSeconds: 60 });
assert.equal(crawl.status, "finished");
assert.equal((await hce.getCrawl("typescript")).completePercent, 100);
await fails(409, hce.createSite(site));
assert.equal((await hce.createSite(site, { idempotencyKey: "1" })).id, "typescript");
assert.ok((await collect(hce.sites())).some((s) => s.id === "typescript"));
assert.deepEqual((await hce.getSite("typescript")).roots, [root]);
const pages = await collect(hce.pages("typescript", { fields: ["url", "title"] }));
assert.equal(pages.length, crawl.counts.pages);
assert.ok(pages.some((p) => p.url === root && p.title === "Page 0"));
assert.equal((await collect(hce.urls("typescript"))).length, crawl.counts.urls);
assert.deepEqual(await hce.getPage("typescript", md5(root), ["title"]), { title: "Page 0" });
assert.ok(new TextDecoder().decode(await hce.content("typescript", md5(root))).includes("<title>Page 0"));
assert.equal((await hce.versions("typescript", md5(root))).length, 1);
assert.equal((await collect(hce.exportPages("typescript", { fields: ["url"] }))).length, pages.length);
for await (const event of hce.events({ site: ["typescript"], types: ["page.new"], after })) {
  assert.ok(event.type === "page.new" && event.data.url.startsWith(root));
  break;
}
assert.equal((await hce.getWebhook(hook.id)).url, root + "hook");
assert.deepEqual(await collect(hce.deadLetters(hook.id)), []);
assert.equal((await hce.replayWebhook(hook.id)).id, hook.id);
await hce.deleteWebhook(hook.id);
await fails(404, hce.getWebhook(hook.id));
assert.equal((await hce.explain(root, "typescript")).due, false);
assert.equal((await hce.stopCrawl("typescript")).id, "typescript");
assert.equal((await hce.changeSite("typescript", { description: "by TypeScript" })).description, "by TypeScript");
assert.deepEqual(await hce.addUrls("typescript", [root, root + "new"]), { added: 1, known: 1 });
await hce.deleteUrl("typescript", md5(root + "new"));
assert.equal((await hce.recrawl("typescript")).urls, crawl.counts.urls); // with one that was not found
await hce.deleteSite("typescript");
await fails(404, hce.getSite("typescript"));
await fails(404, hce.getSite("a/b"));
console.log("done");
process.exit(0); // a stream that was left may be open
