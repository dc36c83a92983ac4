-- name: site_recount
-- All counters of a site by counting (storage 4.0.4), with the helpers of the
-- triggers.
UPDATE {dc_sites.sites} SET (Resources, Contents, CollectedURLs, NewURLs, Size, Errors, SpeedSum, AVGSpeedCounter,
  OwnURLs, InFlight, InProcess) = (
  SELECT COALESCE(SUM(Status = 4 AND Crawled > 0 AND Size > 0 AND (ErrorMask & 4198399) = 0
      AND ContentType = 'text/html' COLLATE NOCASE), 0),
    COALESCE(SUM(Status = 7 AND TagsCount > 0 AND Processed > 0), 0),
    COALESCE(SUM(ParentMd5 <> '' AND (Status <> 4 OR Crawled <> 0)), 0),
    COALESCE(SUM(Status = 1), 0),
    COALESCE(SUM(Size * (Status <> 4 OR Crawled <> 0)), 0),
    COALESCE(SUM(ErrorMask <> 0 AND (Status <> 4 OR Crawled <> 0)), 0),
    COALESCE(SUM(IIF(CrawlingTime > 0 AND (Status <> 4 OR Crawled <> 0), Size * 1000 / CrawlingTime, 0)), 0),
    COALESCE(SUM(CrawlingTime > 0 AND (Status <> 4 OR Crawled <> 0)), 0),
    COALESCE(SUM(Status <> 4 OR Crawled <> 0), 0),
    COALESCE(SUM(Status IN (2, 3, 8)), 0),
    COALESCE(SUM(Status IN (5, 6)), 0)
  FROM {dc_urls.urls} WHERE Site_Id = ?1),
  DeletedURLs = (SELECT COUNT(*) FROM {dc_urls_deleted.urls} WHERE Site_Id = ?1)
WHERE Id = ?1;
