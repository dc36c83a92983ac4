-- name: site_delete
DELETE FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_touch
-- A batch has crawled pages of the site. The bits are errors of the site, not of a row.
UPDATE {dc_sites.sites} SET TcDate = ?, ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ? WHERE Id = ?;

-- name: site_epoch
-- Rows of the site were deleted, or the site is new: no process may rely on a row that it saw.
UPDATE {dc_sites.sites} SET RowsEpoch = ? WHERE Id = ?;

-- name: site_hold
UPDATE {dc_sites.sites} SET HeldUntil = ? WHERE Id = ?;

-- name: site_touch_process
UPDATE {dc_sites.sites} SET TcDateProcess = ? WHERE Id = ?;

-- name: site_suspend
UPDATE {dc_sites.sites} SET State = 3, TcDate = ?, ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ?, Errors = Errors + ? WHERE Id = ?;

-- name: site_restart
-- State 6 of SITE_UPDATE (docs/spec/storage.md 4.2 step 6).
UPDATE {dc_sites.sites} SET State = 1, UDate = ?, Iterations = Iterations + 1, SiteMask = 0 WHERE Id = ?;

-- name: site_cleaned
UPDATE {dc_sites.sites} SET TcDate = ?, Iterations = 0, State = ?, SiteMask = 0 WHERE Id = ?;

-- name: site_room
-- Limits, the numbers of rows (without rows of other nodes) and resources, the recrawl period
-- in minutes, the lease of URLs, and the epoch of the rows.
SELECT MaxURLs, OwnURLs, MaxResources, Resources, RecrawlPeriod, LeaseURLs, LeaseFinal, LeaseUntil, RowsEpoch FROM {dc_sites.sites} WHERE Id = ?;

-- name: sites_in_work
-- Sites with rows in a batch.
SELECT Id FROM {dc_sites.sites} WHERE InFlight > 0 OR InProcess > 0 ORDER BY Id;

-- name: site_own_mask
SELECT SiteMask FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_mask_above
-- The next larger error mask among the site's rows of this node.
SELECT ErrorMask FROM {dc_urls.urls} WHERE Site_Id = ? AND ErrorMask > ? AND ErrorMask <> 0 AND (Status <> 4 OR Crawled <> 0)
ORDER BY ErrorMask LIMIT 1;

-- name: site_set_mask
UPDATE {dc_sites.sites} SET ErrorMask = ?, MaskStale = 0 WHERE Id = ?;

-- name: roots_delete
DELETE FROM {dc_sites.sites_urls} WHERE Site_Id = ?;

-- name: filters_delete
DELETE FROM {dc_sites.sites_filters} WHERE Site_Id = ?;

-- name: properties_delete
DELETE FROM {dc_sites.sites_properties} WHERE Site_Id = ?;

-- name: site_statistics
-- The switches of a site's statistics. The first row of a name comes last (docs/spec/objects.md 2.4).
SELECT Name, Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND Name IN ('STATS_FREQ_ENABLED', 'STATS_LOG_ENABLED')
ORDER BY {rowid} DESC;

-- name: site_property
-- The values of one property of a site, the first row first (docs/spec/objects.md 2.4).
SELECT Name, Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND Name = ? ORDER BY {rowid};

-- name: site_counter_properties
-- The conditions of counters. The first row of a name comes last.
SELECT Name, Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND Name IN ('COUNTER_CRIT_RESOURCES',
  'COUNTER_CRIT_CONTENTS', 'COUNTER_CRIT_CLURLS', 'COUNTER_CRIT_NURLS', 'COUNTER_CRIT_DURLS', 'COUNTER_CRIT_ERRORS')
ORDER BY {rowid} DESC;

-- name: site_property_names
SELECT Name FROM {dc_sites.sites_properties} WHERE Site_Id = ?;

-- name: trash_put
INSERT INTO {dc_sites.trash} (Site_Id, URLMd5) VALUES (?, ?);

-- name: trash_oldest
SELECT Id, Site_Id, URLMd5 FROM {dc_sites.trash} ORDER BY Id LIMIT ?;

-- name: trash_any
SELECT 1 FROM {dc_sites.trash} LIMIT 1;

-- name: site_stale
SELECT MaskStale FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_url_defaults
-- The defaults of a new URL from its site (docs/spec/storage.md 4.7 step 2).
SELECT RequestDelay, HTTPTimeout, URLType FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_deleted_more
-- Counts rows that now wait for URL_PURGE.
UPDATE {dc_sites.sites} SET DeletedURLs = DeletedURLs + ? WHERE Id = ?;

-- name: site_deleted_less
-- Counts purged rows. A counter condition of the site may have counted fewer rows.
UPDATE {dc_sites.sites} SET DeletedURLs = CASE WHEN DeletedURLs > ? THEN DeletedURLs - ? ELSE 0 END WHERE Id = ?;

-- name: site_deleted_count
-- Counts rows of a deleted site of this id that wait for URL_PURGE.
UPDATE {dc_sites.sites} SET DeletedURLs = (SELECT COUNT(*) FROM {dc_urls_deleted.urls} WHERE Site_Id = ?) WHERE Id = ?;

-- name: site_claim
-- See tx.claim.
INSERT INTO {dc_sites.sites} (Id, CDate) VALUES (?, ?);

-- name: deleted_any
SELECT 1 FROM {dc_urls_deleted.urls} WHERE Site_Id = ? LIMIT 1;

-- name: sites_processed
SELECT Id FROM {dc_sites.sites} WHERE Contents > 0;

-- name: sites_all
SELECT Id FROM {dc_sites.sites};

-- name: site_totals
-- See Store.SiteTotals.
SELECT Category_Id, State, COUNT(*), SUM(NewURLs), SUM(InFlight), SUM(Resources), SUM(InProcess)
FROM {dc_sites.sites} WHERE Id <> '0' GROUP BY Category_Id, State;
