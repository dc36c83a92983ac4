-- Not in the specification: what a row keeps of the answers of its server. docs/spec/storage.md 1.5
-- explains the columns.

ALTER TABLE {dc_sites.sites_urls} ADD COLUMN Redirects TEXT NOT NULL DEFAULT '';
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN Canonical TEXT NOT NULL DEFAULT '';
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN RobotsMask INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN UnavailableAfter TEXT;
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN ContentDate TEXT;
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN Retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN RetryDate TEXT;
ALTER TABLE {dc_sites.sites_urls} ADD COLUMN RetryCause TEXT NOT NULL DEFAULT '';

ALTER TABLE {dc_urls.urls} ADD COLUMN Redirects TEXT NOT NULL DEFAULT '';
ALTER TABLE {dc_urls.urls} ADD COLUMN Canonical TEXT NOT NULL DEFAULT '';
ALTER TABLE {dc_urls.urls} ADD COLUMN RobotsMask INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_urls.urls} ADD COLUMN UnavailableAfter TEXT;
ALTER TABLE {dc_urls.urls} ADD COLUMN ContentDate TEXT;
ALTER TABLE {dc_urls.urls} ADD COLUMN Retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_urls.urls} ADD COLUMN RetryDate TEXT;
ALTER TABLE {dc_urls.urls} ADD COLUMN RetryCause TEXT NOT NULL DEFAULT '';

ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN Redirects TEXT NOT NULL DEFAULT '';
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN Canonical TEXT NOT NULL DEFAULT '';
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN RobotsMask INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN UnavailableAfter TEXT;
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN ContentDate TEXT;
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN Retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN RetryDate TEXT;
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN RetryCause TEXT NOT NULL DEFAULT '';

DROP VIEW pages;
DROP VIEW urls;

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
  TcDate AS crawled_at,
  Redirects AS redirects,
  Canonical AS canonical,
  RobotsMask AS robots_mask,
  UnavailableAfter AS unavailable_after,
  ContentDate AS content_changed,
  Retries AS retries,
  RetryDate AS retry_at,
  RetryCause AS retry_cause
FROM {dc_urls.urls};

CREATE VIEW pages AS SELECT
  u.*,
  (SELECT p.url FROM urls p WHERE p.site = u.site AND p.md5 = u.parent_md5) AS parent
FROM urls u
WHERE u.times_crawled > 0 AND u.http_code BETWEEN 200 AND 299 AND u.state = 'enabled'
  AND u.status IN ('crawled', 'selected for processing', 'processing', 'processed');
