-- Since this step the sqlite3 program of older systems (3.31 and newer) reads, checks and restores
-- the file: it does not know octet_length.
DROP INDEX {dc_urls.urls.status};
CREATE INDEX {dc_urls.urls.status} ON {dc_urls.urls}
  (Site_Id, Status, State, length(CAST(ParentMd5 AS BLOB)), Priority DESC, Depth, UDate DESC);

-- Views for people and their tools, described in docs/database.md. Times are in UTC.

DROP VIEW IF EXISTS sites;
DROP VIEW IF EXISTS urls;
DROP VIEW IF EXISTS pages;

CREATE VIEW sites AS SELECT
  Id AS site,
  Description AS description,
  CASE State WHEN 1 THEN 'active' WHEN 2 THEN 'disabled' WHEN 3 THEN 'suspended' WHEN 4 THEN 'deleted'
    WHEN 7 THEN 'cleaned' ELSE 'state ' || State END AS state,
  (SELECT r.URL FROM {dc_sites.sites_urls} r WHERE r.Site_Id = s.Id ORDER BY r.rowid LIMIT 1) AS root,
  OwnURLs AS urls,
  NewURLs AS waiting,
  InFlight AS crawling,
  Resources AS crawled,
  InProcess AS processing,
  Contents AS processed,
  Errors AS errors,
  Size AS bytes,
  AVGSpeed AS bytes_per_second,
  Iterations AS iterations,
  RecrawlPeriod AS recrawl_minutes,
  RecrawlDate AS next_recrawl,
  CDate AS created,
  UDate AS changed,
  TcDate AS crawled_at,
  TcDateProcess AS processed_at
FROM {dc_sites.sites} s;

CREATE VIEW urls AS SELECT
  Site_Id AS site,
  URL AS url,
  URLMd5 AS md5,
  CASE Status WHEN 1 THEN 'new' WHEN 2 THEN 'selected' WHEN 3 THEN 'crawling' WHEN 4 THEN 'crawled' WHEN 5 THEN 'selected for processing'
    WHEN 6 THEN 'processing' WHEN 7 THEN 'processed' WHEN 8 THEN 'selected' ELSE 'status ' || Status END AS status,
  CASE State WHEN 0 THEN 'enabled' WHEN 1 THEN 'disabled' WHEN 2 THEN 'error' ELSE 'state ' || State END AS state,
  ErrorMask AS error_mask,
  HTTPCode AS http_code,
  ContentType AS content_type,
  Charset AS charset,
  Size AS bytes,
  Depth AS depth,
  Priority AS priority,
  ParentMd5 AS parent_md5,
  LinksI AS links_inside,
  LinksE AS links_outside,
  Freq AS links_to_it,
  Crawled AS times_crawled,
  Processed AS times_processed,
  CrawlingTime AS crawl_ms,
  ProcessingTime AS process_ms,
  TagsCount AS tags,
  RawContentMd5 AS content_md5,
  ETag AS etag,
  LastModified AS last_modified,
  PDate AS published,
  CDate AS created,
  UDate AS changed,
  TcDate AS crawled_at
FROM {dc_urls.urls};

CREATE VIEW pages AS SELECT
  u.*,
  (SELECT p.url FROM urls p WHERE p.site = u.site AND p.md5 = u.parent_md5) AS parent
FROM urls u
WHERE u.times_crawled > 0 AND u.http_code BETWEEN 200 AND 299 AND u.state = 'enabled'
  AND u.status IN ('crawled', 'selected for processing', 'processing', 'processed');
