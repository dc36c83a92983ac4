-- Not in the specification: what a page is (wire.FetchedPage). Servers and proxies send whole pages with 201,
-- 203, 300 and the like; a page that has not changed was answered with 304; a page that is due again still
-- has its content; a script or a style sheet is no page.

UPDATE {dc_sites.sites_filters}
SET Pattern = REPLACE(Pattern, ' AND %HTTPCODE%=200', ' AND %HTTPCODE% BETWEEN 200 AND 300 AND %HTTPCODE% NOT IN (204,205,206)')
WHERE OperationCode = 7 AND Stage = 7 AND Pattern = '%TYPE%<>6 AND %STATUS%=4 AND %STATE%=0 AND %CRAWLED%>0 AND %SIZE%>0 AND (%ERRORMASK% & 4198399)=0 AND %CONTENTTYPE% IN (''text/html'', ''text/xml'', ''application/rss+xml'', ''text/json'') AND %HTTPCODE%=200';

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
  RetryCause AS retry_cause,
  TagsMask AS tags_mask
FROM {dc_urls.urls};

CREATE VIEW pages AS SELECT
  u.*,
  (SELECT p.url FROM urls p WHERE p.site = u.site AND p.md5 = u.parent_md5) AS parent
FROM urls u
WHERE u.times_crawled > 0 AND u.state = 'enabled' AND (u.tags > 0 OR u.tags_mask = 0)
  AND (u.http_code BETWEEN 200 AND 300 AND u.http_code NOT IN (204, 205, 206) OR u.http_code = 304);
