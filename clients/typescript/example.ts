// Crawl a site and print the titles of its pages.
import { Client } from "hce-client";

const hce = new Client();
const crawl = await hce.crawl({ roots: ["https://example.org/"], settings: { maxUrls: 20 } }, { waitSeconds: 60 });
for await (const page of hce.pages(crawl.id, { fields: ["url", "title"] })) {
  console.log(page.url, page.title);
}
