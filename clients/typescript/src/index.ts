/**
 * Client of the REST API of the HCE Distributed Crawler, for browsers and Node.js 20.
 *
 *     const hce = new Client();
 *     console.log((await hce.scrape("https://example.org/")).markdown);
 *
 * Objects are those of the document at /v1/openapi.json. An answer that is no success rejects with an ApiError.
 */

/** A wrong value with its place. */
export interface ProblemDetail { message?: string; location?: string; value?: unknown }

/** An error as RFC 9457 describes it. */
export interface Problem { status: number; title: string; detail?: string; remedy?: string; trace?: string; errors?: ProblemDetail[] }

/** An answer that is no success. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly problem: Problem) {
    const places = (problem.errors ?? []).map((e) => `${e.location ?? ""}: ${e.message ?? ""}`).join("; ");
    super([String(status), problem.detail, places].filter(Boolean).join(" "));
    this.name = "ApiError";
  }
}

/** Where the value of a field is, and what it is. */
export interface Field {
  css?: string; xpath?: string; jsonld?: string; pattern?: string;
  type?: "text" | "number" | "integer" | "boolean" | "url"; list?: boolean; fields?: Record<string, Field>;
}

export interface ScrapeOptions {
  formats?: ("markdown" | "text" | "html" | "rawHtml" | "links" | "media")[];
  mode?: "balanced" | "precision" | "recall" | "whole";
  fields?: Record<string, Field>; schema?: Record<string, unknown>; headers?: Record<string, string>;
}

export interface ScrapedPage {
  url: string; status: number; contentType?: string; fetched: string; title?: string; author?: string; date?: string; modified?: string;
  language?: string; description?: string; canonical?: string; keywords?: string[]; markdown?: string; text?: string; html?: string;
  rawHtml?: string; links?: string[]; media?: string[]; fields?: Record<string, unknown>; whole?: boolean; problems?: string[];
}

export interface MapOptions { scope?: "host" | "domain" | "prefix"; limit?: number; search?: string }
export interface URLMap { urls: { url: string; source: "sitemap" | "link" | "root"; modified?: string }[]; sitemaps: string[]; more: boolean; problems?: string[] }

export interface Settings {
  depth?: number; scope?: "host" | "domain" | "prefix" | "any"; include?: string[]; exclude?: string[]; maxUrls?: number; delayMs?: number;
  recrawlMinutes?: number; browser?: boolean; properties?: Record<string, string>;
}

export interface NewSite { id?: string; roots: string[]; description?: string; settings?: Settings }

export interface Counts {
  urls: number; waiting: number; crawling: number; unprocessed: number; processing: number; pages: number; errors: number; bytes: number;
}

export interface Site {
  id: string; roots: string[]; state: "active" | "paused" | "disabled" | "deleted" | "cleaned"; finished?: boolean; description: string;
  counts: Counts; settings?: Settings; created?: string; changed?: string; nextCrawl?: string;
}

export interface SiteChange { state?: "active" | "paused" | "disabled"; description?: string; settings?: Settings }
export interface Crawl { id: string; status: "crawling" | "finished" | "paused"; counts: Counts; completePercent: number }

/** A URL or page with the fields that were asked for (docs/hce.md, Fields). */
export type Page = Record<string, any>;

export interface Choice {
  fields?: string[]; status?: "new" | "crawling" | "crawled" | "processing" | "processed"; failed?: boolean; prefix?: string; url?: string;
}

export interface Version { number: number; stored?: string; bytes: number }
export interface ExportChoice { format?: "jsonl" | "csv" | "sitemap" | "warc"; fields?: string[]; all?: boolean; noindex?: boolean; since?: string }
export interface Status {
  state: "ok" | "unhealthy"; reasons?: string[]; managers?: Record<string, string>; pauses?: Record<string, string>; silentNodes?: string[];
  refusedNodes?: string[];
}
export interface Caller { key?: string; name?: string; scope: "read" | "crawl" | "admin"; sites?: string[] }

/** What happened to a page or a site (docs/events.md). */
export interface HceEvent {
  id: number; type: "page.new" | "page.changed" | "page.gone" | "site.finished" | "site.trouble" | "site.deleted" | "gap"; timestamp?: string;
  data: { site?: string; url?: string; urlMd5?: string; httpCode?: number; contentType?: string; size?: number; rawContentMd5?: string; changed?: string; reason?: string; counts?: Record<string, number>; oldest?: number };
}

/** Chooses events. after: the number of the last one that the caller has; 0: from the oldest; without it from the next one. */
export interface EventChoice { site?: string[]; types?: string[]; after?: number }

/** A server that gets events. */
export interface Webhook {
  id: string; url: string; types?: string[]; sites?: string[]; created: string; state: "active" | "failing" | "disabled"; position: number; failingSince?: string;
  tries?: number; nextTry?: string; lastFault?: string; deadLetters: number; secret?: string;
}

/** An event that a webhook did not get. */
export interface DeadLetter { event: HceEvent; reason: string; time: string }

/** How a client reaches a daemon. */
export interface ClientOptions {
  url?: string; // default http://127.0.0.1:5581
  key?: string; // of "hce key new"
  timeoutMs?: number; // of one request; default 130000
}

interface Request { query?: Record<string, unknown>; body?: unknown; headers?: Record<string, string> }

/** Talks to one daemon. */
export class Client {
  private readonly url: string;
  private readonly headers: Record<string, string>;
  private readonly timeoutMs: number;

  constructor(options: ClientOptions = {}) {
    this.url = (options.url ?? "http://127.0.0.1:5581").replace(/\/+$/, "");
    this.headers = options.key ? { Authorization: `Bearer ${options.key}` } : {};
    this.timeoutMs = options.timeoutMs ?? 130_000;
  }

  /** Reads one page. */
  scrape(url: string, options: ScrapeOptions = {}): Promise<ScrapedPage> { return this.json("POST", "/v1/scrape", { body: { url, ...options } }); }

  /** Lists the URLs of a site without a crawl. */
  map(url: string, options: MapOptions = {}): Promise<URLMap> { return this.json("POST", "/v1/map", { body: { url, ...options } }); }

  /** Creates a site and crawls it. With waitSeconds, the answer comes when the crawl has ended, or after this time. */
  crawl(site: NewSite, options: { waitSeconds?: number; idempotencyKey?: string } = {}): Promise<Crawl> {
    return this.json("POST", "/v1/crawl", { body: site, headers: headersOf(options.waitSeconds, options.idempotencyKey) });
  }

  /** Shows how far a crawl is. */
  getCrawl(site: string, options: { waitSeconds?: number } = {}): Promise<Crawl> {
    return this.json("GET", path`/v1/crawl/${site}`, { headers: headersOf(options.waitSeconds) });
  }

  /** Pauses a crawl; its pages stay. */
  stopCrawl(site: string): Promise<Crawl> { return this.json("DELETE", path`/v1/crawl/${site}`); }

  /** All sites, ordered by id. */
  sites(): AsyncGenerator<Site> { return this.items("/v1/sites", {}); }

  /** Creates a site, which the daemon crawls at once. */
  createSite(site: NewSite, options: { idempotencyKey?: string } = {}): Promise<Site> {
    return this.json("POST", "/v1/sites", { body: site, headers: headersOf(0, options.idempotencyKey) });
  }

  /** Shows a site with its settings. */
  getSite(site: string): Promise<Site> { return this.json("GET", path`/v1/sites/${site}`); }

  /** Changes, pauses or resumes a site. */
  changeSite(site: string, change: SiteChange): Promise<Site> { return this.json("PATCH", path`/v1/sites/${site}`, { body: change }); }

  /** Deletes a site with all its pages. */
  deleteSite(site: string): Promise<void> { return this.json("DELETE", path`/v1/sites/${site}`); }

  /** Asks for all pages of a site again. */
  recrawl(site: string, options: { failed?: boolean; full?: boolean } = {}): Promise<{ urls: number }> {
    return this.json("POST", path`/v1/sites/${site}/recrawl`, { body: options });
  }

  /** URLs of a site, in the order of their keys. */
  urls(site: string, choice: Choice = {}): AsyncGenerator<Page> { return this.items(path`/v1/sites/${site}/urls`, { ...choice }); }

  /** Processed pages of a site. */
  pages(site: string, choice: Choice = {}): AsyncGenerator<Page> { return this.items(path`/v1/sites/${site}/pages`, { ...choice }); }

  /** Adds URLs to a site. */
  addUrls(site: string, urls: string[]): Promise<{ added: number; known: number }> { return this.json("POST", path`/v1/sites/${site}/urls`, { body: { urls } }); }

  /** Deletes a URL with its page. */
  deleteUrl(site: string, key: string): Promise<void> { return this.json("DELETE", path`/v1/sites/${site}/urls/${key}`); }

  /** Shows a page. The key is the md5 of its URL. */
  getPage(site: string, key: string, fields?: string[]): Promise<Page> { return this.json("GET", path`/v1/sites/${site}/pages/${key}`, { query: { fields } }); }

  /** Stored versions of a page, the oldest first. */
  async versions(site: string, key: string): Promise<Version[]> { return (await this.json<{ items: Version[] }>("GET", path`/v1/sites/${site}/pages/${key}/versions`)).items; }

  /** The bytes of a page as they were received: the present ones, or those of a version. */
  async content(site: string, key: string, version?: number): Promise<Uint8Array> {
    return new Uint8Array(await (await this.send("GET", path`/v1/sites/${site}/pages/${key}/content`, { query: { version } })).arrayBuffer());
  }

  /** The pages of a site as a stream of bytes. The time limit is for its beginning. */
  async export(site: string, choice: ExportChoice = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.send("GET", path`/v1/sites/${site}/export`, { query: { ...choice } }, true)).body!;
  }

  /** The pages of a site as objects. */
  async *exportPages(site: string, choice: Omit<ExportChoice, "format"> = {}): AsyncGenerator<Page> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of await this.export(site, choice)) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) yield JSON.parse(line);
    }
  }

  /** Explains what crawling decides about a URL. */
  explain(url: string, site?: string): Promise<Record<string, unknown>> { return this.json("GET", "/v1/explain", { query: { url, site } }); }

  /** What runs and what is wrong. */
  status(): Promise<Status> { return this.json("GET", "/v1/status"); }

  /** What the key allows. */
  whoami(): Promise<Caller> { return this.json("GET", "/v1/whoami"); }

  /** At most limit events, and the number to go on after. */
  async listEvents(choice: EventChoice = {}, limit = 100): Promise<{ events: HceEvent[]; after: number }> {
    const part = await this.json<{ items: HceEvent[]; next: string }>("GET", "/v1/events", { query: { ...choice, limit }, headers: { Accept: "application/json" } });
    return { events: part.items, after: Number(part.next) };
  }

  /**
   * Events as they come, without an end. A connection that breaks off is opened again behind the last event. An event of type gap says that
   * events were not kept long enough: read the pages again.
   */
  async *events(choice: EventChoice = {}): AsyncGenerator<HceEvent> {
    for (let after = choice.after; ; await new Promise((done) => setTimeout(done, 1000))) {
      try {
        const answer = await this.send("GET", "/v1/events", { query: { ...choice, after }, headers: { Accept: "text/event-stream" } }, true);
        for await (const { id, type, data } of blocksOf(answer.body!)) {
          after = id;
          if (type === "gap") yield { id, type, data: JSON.parse(data) };
          else if (type !== "place") yield JSON.parse(data);
        }
      } catch (e) {
        if (e instanceof ApiError ? e.status < 500 : e instanceof SyntaxError) throw e;
      }
    }
  }

  /** All webhooks. */
  async webhooks(): Promise<Webhook[]> { return (await this.json<{ items: Webhook[] }>("GET", "/v1/webhooks")).items; }

  /** Sends events from now on to a server. The answer has the secret of the signatures, once. */
  createWebhook(hook: { url: string; types?: string[]; sites?: string[] }): Promise<Webhook> { return this.json("POST", "/v1/webhooks", { body: hook }); }

  /** Shows a webhook and how far it is. */
  getWebhook(id: string): Promise<Webhook> { return this.json("GET", path`/v1/webhooks/${id}`); }

  /** Deletes a webhook. */
  deleteWebhook(id: string): Promise<void> { return this.json("DELETE", path`/v1/webhooks/${id}`); }

  /** The events that a webhook did not get. */
  deadLetters(id: string): AsyncGenerator<DeadLetter> { return this.items(path`/v1/webhooks/${id}/dead`, {}); }

  /** Sends events again from a number on; 0: from the oldest that is kept. */
  replayWebhook(id: string, from = 0): Promise<Webhook> { return this.json("POST", path`/v1/webhooks/${id}/replay`, { body: { from } }); }

  private async send(method: string, place: string, request: Request = {}, stream = false): Promise<Response> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, Array.isArray(value) ? value.join(",") : String(value));
    }
    const headers: Record<string, string> = { ...this.headers, ...request.headers };
    if (request.body !== undefined) headers["Content-Type"] = "application/json";
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${this.timeoutMs} ms`)), this.timeoutMs);
    try {
      const answer = await fetch(this.url + place + (query.size > 0 ? `?${query}` : ""), {
        method, headers, body: request.body === undefined ? undefined : JSON.stringify(request.body), signal: limit.signal,
      });
      if (!answer.ok) throw new ApiError(answer.status, await problemOf(answer));
      if (stream) return answer;
      return new Response(answer.status === 204 ? null : await answer.arrayBuffer(), { status: answer.status, headers: answer.headers });
    } finally {
      clearTimeout(timer);
    }
  }

  private async json<T>(method: string, place: string, request: Request = {}): Promise<T> {
    const answer = await this.send(method, place, request);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  private async *items<T>(place: string, choice: Record<string, unknown>): AsyncGenerator<T> {
    for (let cursor: string | undefined; ; ) {
      const part: { items: T[]; next?: string } = await this.json("GET", place, { query: { ...choice, cursor } });
      yield* part.items;
      if (part.next === undefined) return;
      cursor = part.next;
    }
  }
}

/** The blocks of a stream of events. */
async function* blocksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: number; type: string; data: string }> {
  const decoder = new TextDecoder();
  let rest = "", id = 0, type = "", data = "";
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const at = line.indexOf(":");
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (line.startsWith("id:")) id = Number(value);
      else if (line.startsWith("event:")) type = value;
      else if (line.startsWith("data:")) data = value;
      if (line !== "") continue;
      if (type !== "") yield { id, type, data };
      type = data = "";
    }
  }
}

/** A path whose values are escaped. */
function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts.reduce((all, text, i) => all + encodeURIComponent(values[i - 1]!) + text);
}

function headersOf(waitSeconds = 0, idempotencyKey = ""): Record<string, string> {
  const headers: Record<string, string> = {};
  if (waitSeconds > 0) headers["Prefer"] = `wait=${Math.floor(waitSeconds)}`;
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  return headers;
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text();
  try {
    return JSON.parse(text) as Problem;
  } catch {
    return { status: answer.status, title: answer.statusText, detail: text.slice(0, 200) };
  }
}
