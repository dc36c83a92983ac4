-- Not in the specification: what a row keeps of the answers of its server. docs/spec/storage.md 1.5
-- explains the columns.

ALTER TABLE {dc_urls.urls}
  ADD COLUMN Redirects        TEXT NOT NULL DEFAULT (''),
  ADD COLUMN Canonical        TEXT NOT NULL DEFAULT (''),
  ADD COLUMN RobotsMask       TINYINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN UnavailableAfter DATETIME DEFAULT NULL,
  ADD COLUMN ContentDate      DATETIME DEFAULT NULL,
  ADD COLUMN Retries          INT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN RetryDate        DATETIME DEFAULT NULL,
  ADD COLUMN RetryCause       VARCHAR(32) NOT NULL DEFAULT '';

ALTER TABLE {dc_urls_deleted.urls}
  ADD COLUMN Redirects        TEXT NOT NULL DEFAULT (''),
  ADD COLUMN Canonical        TEXT NOT NULL DEFAULT (''),
  ADD COLUMN RobotsMask       TINYINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN UnavailableAfter DATETIME DEFAULT NULL,
  ADD COLUMN ContentDate      DATETIME DEFAULT NULL,
  ADD COLUMN Retries          INT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN RetryDate        DATETIME DEFAULT NULL,
  ADD COLUMN RetryCause       VARCHAR(32) NOT NULL DEFAULT '';
