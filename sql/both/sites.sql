-- name: site_known
-- The id of a site as it is stored.
SELECT Id FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_delete
DELETE FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_touch
-- A batch crawled pages of the site; bits are those of the site itself.
UPDATE {dc_sites.sites} SET TcDate = ?, ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ? WHERE Id = ?;

-- name: site_touch_process
UPDATE {dc_sites.sites} SET TcDateProcess = ? WHERE Id = ?;

-- name: site_suspend
UPDATE {dc_sites.sites} SET State = 3, TcDate = ?, ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ?, Errors = Errors + ? WHERE Id = ?;

-- name: site_restart
-- State 6 of SITE_UPDATE (storage 4.2 step 6).
UPDATE {dc_sites.sites} SET State = 1, UDate = ?, Iterations = Iterations + 1, SiteMask = 0 WHERE Id = ?;

-- name: site_cleaned
UPDATE {dc_sites.sites} SET TcDate = ?, Iterations = 0, State = ?, SiteMask = 0 WHERE Id = ?;

-- name: site_room
-- The limit of rows and how many there are, rows of other nodes left out.
SELECT MaxURLs, OwnURLs FROM {dc_sites.sites} WHERE Id = ?;

-- name: sites_in_work
-- Sites with rows that a batch holds.
SELECT Id FROM {dc_sites.sites} WHERE InFlight > 0 OR InProcess > 0 ORDER BY Id;

-- name: site_own_mask
SELECT SiteMask FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_masks
-- The different error masks of a site's rows of this node.
SELECT DISTINCT ErrorMask FROM {dc_urls.urls} WHERE Site_Id = ? AND ErrorMask <> 0 AND (Status <> 4 OR Crawled <> 0);

-- name: site_set_mask
UPDATE {dc_sites.sites} SET ErrorMask = ?, MaskStale = 0 WHERE Id = ?;

-- name: root_before
-- The last root URL at or before a text.
SELECT URL, Site_Id FROM {dc_sites.sites_urls} WHERE URL <= ? ORDER BY URL DESC LIMIT 1;

-- name: roots_delete
DELETE FROM {dc_sites.sites_urls} WHERE Site_Id = ?;

-- name: filters_delete
DELETE FROM {dc_sites.sites_filters} WHERE Site_Id = ?;

-- name: properties_delete
DELETE FROM {dc_sites.sites_properties} WHERE Site_Id = ?;

-- name: site_property
-- The first of a site's properties with a name (objects 2.4).
SELECT Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND Name = ? ORDER BY rowid LIMIT 1;

-- name: site_counter_properties
SELECT Name, Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND Name IN ('COUNTER_CRIT_RESOURCES',
  'COUNTER_CRIT_CONTENTS', 'COUNTER_CRIT_CLURLS', 'COUNTER_CRIT_NURLS', 'COUNTER_CRIT_DURLS', 'COUNTER_CRIT_ERRORS')
ORDER BY rowid DESC;

-- name: trash_put
INSERT INTO {dc_sites.trash} (Site_Id, URLMd5) VALUES (?, ?);

-- name: trash_all
SELECT Id, Site_Id, URLMd5 FROM {dc_sites.trash} ORDER BY Id;

-- name: trash_done
DELETE FROM {dc_sites.trash} WHERE Id = ?;

-- name: site_stale
SELECT MaskStale FROM {dc_sites.sites} WHERE Id = ?;

-- name: site_url_defaults
-- What a new URL takes from its site (storage 4.7 step 2).
SELECT RequestDelay, HTTPTimeout, URLType FROM {dc_sites.sites} WHERE Id = ?;
