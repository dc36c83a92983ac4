-- name: urls_return
-- Returns a row of a lost batch for another attempt (docs/spec/DECISIONS.md 3.4, 3.5).
UPDATE {dc_urls.urls} SET Status = ?, State = 0, Batch_Id = 0, Attempts = Attempts + ?, TcDate = ?
WHERE Site_Id = ? AND URLMd5 = ?;

-- name: urls_retry
-- Failed rows of a restarted site are due again.
UPDATE {dc_urls.urls} SET Status = 1, State = 0, Batch_Id = 0, Attempts = 0, Retries = 0, RetryDate = NULL, RetryCause = ''
WHERE Site_Id = ? AND State = 2 AND Status IN (4, 7);

-- name: urls_clear_errors
UPDATE {dc_urls.urls} SET ErrorMask = 0 WHERE Site_Id = ? AND ErrorMask <> 0;

-- name: urls_attempt
-- Counts an attempt of a row that stays with its batch.
UPDATE {dc_urls.urls} SET Attempts = Attempts + 1 WHERE Site_Id = ? AND URLMd5 = ?;

-- name: urls_give_up
-- Disables a row without attempts left: State 2 and bit 52 of ErrorMask. Crawled must not be
-- 0, because Status 4 with Crawled 0 marks a row of another node.
UPDATE {dc_urls.urls} SET Status = 4, State = 2, Crawled = Crawled + (Crawled = 0), Batch_Id = 0, Attempts = 0, ErrorMask = ErrorMask | ?, TcDate = ?
WHERE Site_Id = ? AND URLMd5 = ?;

-- name: urls_in_work
-- Rows in a batch.
SELECT URLMd5, Status, Batch_Id, Attempts, COALESCE(UDate, '') FROM {dc_urls.urls} WHERE Site_Id = ? AND Status IN (2, 3, 5, 6, 8);

-- name: urls_delete
DELETE FROM {dc_urls.urls} WHERE Site_Id = ?;

-- name: urls_delete_found
-- All rows except root URLs.
DELETE FROM {dc_urls.urls} WHERE Site_Id = ? AND ParentMd5 <> '';

-- name: urls_reset
-- Resets the root URLs, which a cleanup keeps (docs/spec/DECISIONS.md 5.10).
UPDATE {dc_urls.urls} SET Status = 1, State = 0, Crawled = 0, Processed = 0, Batch_Id = 0, Attempts = 0,
  ErrorMask = 0, CrawlingTime = 0, ProcessingTime = 0, TotalTime = 0, HTTPCode = 0, Size = 0, LinksI = 0, LinksE = 0,
  Freq = 0, RawContentMd5 = '', LastModified = NULL, ETag = '', MRate = 0, MRateCounter = 0, TagsMask = 0, TagsCount = 0,
  PDate = NULL, ContentURLMd5 = '', Redirects = '', Canonical = '', RobotsMask = 0, UnavailableAfter = NULL,
  ContentDate = NULL, SettingsSum = 0, Retries = 0, RetryDate = NULL, RetryCause = '', TcDate = ? WHERE Site_Id = ?;

-- name: contents_delete
DELETE FROM {dc_contents.contents} WHERE Site_Id = ?;
