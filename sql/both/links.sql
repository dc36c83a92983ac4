-- name: links_any
SELECT 1 FROM {dc_sites.links_waiting} LIMIT 1;

-- name: links_bundles
SELECT Id, Site_Id, Owner, N, Links FROM {dc_sites.links_waiting} WHERE Id > ? ORDER BY Id LIMIT ?;

-- name: links_count_after
-- Those of at most 10000 bundles, so that a long queue does not make each LINKS_TAKE long.
SELECT COALESCE(SUM(N), 0) FROM (SELECT N FROM {dc_sites.links_waiting} WHERE Id > ? LIMIT 10000) waiting;

-- name: links_out_delete
DELETE FROM {dc_sites.links_out} WHERE Site_Id = ?;

-- name: links_waiting_any
SELECT 1 FROM {dc_sites.links_waiting} WHERE Site_Id = ? LIMIT 1;

-- name: links_waiting_delete
DELETE FROM {dc_sites.links_waiting} WHERE Site_Id = ?;

-- name: links_newest
SELECT COALESCE(MAX(Id), 0) FROM {dc_sites.links_in};

-- name: links_forget
DELETE FROM {dc_sites.links_in} WHERE Id <= ?;

-- name: site_link_rules
-- The properties that links follow. The first row of a name comes last.
SELECT Name, Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND URLMd5 = '' AND (Name LIKE 'RECRAWL%' OR Name LIKE 'AUTO%')
ORDER BY {rowid} DESC;
