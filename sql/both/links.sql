-- name: links_any
SELECT 1 FROM {dc_sites.links_waiting} LIMIT 1;

-- name: links_taken
-- The links of groups that were taken and not sent.
SELECT Id, Group_Id, Link FROM {dc_sites.links_waiting} WHERE Group_Id > 0 ORDER BY Group_Id, Id;

-- name: links_free
SELECT Id, Group_Id, Link FROM {dc_sites.links_waiting} WHERE Group_Id = 0 ORDER BY Id LIMIT ?;

-- name: links_count_free
-- At most 100000, so that a long queue does not make each LINKS_TAKE long.
SELECT COUNT(*) FROM (SELECT 1 FROM {dc_sites.links_waiting} WHERE Group_Id = 0 LIMIT 100000) waiting;

-- name: links_out_delete
DELETE FROM {dc_sites.links_out} WHERE Site_Id = ?;

-- name: links_waiting_delete
DELETE FROM {dc_sites.links_waiting} WHERE Site_Id = ?;

-- name: links_received
INSERT INTO {dc_sites.links_in} (GroupKey) VALUES (?);

-- name: links_forget
DELETE FROM {dc_sites.links_in} WHERE Id <= ?;

-- name: links_without_key
-- Waiting links whose key is missing: they would be sent twice.
SELECT Id, Site_Id FROM {dc_sites.links_waiting} w
WHERE NOT EXISTS (SELECT 1 FROM {dc_sites.links_out} o WHERE o.Site_Id = w.Site_Id AND o.URLMd5 = w.URLMd5) LIMIT 100;

-- name: links_page
SELECT Id, Group_Id, Link FROM {dc_sites.links_waiting} WHERE Id > ? ORDER BY Id LIMIT ?;

-- name: site_link_rules
-- The properties that links follow. The first row of a name comes last.
SELECT Name, Value FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND URLMd5 = '' AND (Name LIKE 'RECRAWL%' OR Name LIKE 'AUTO%')
ORDER BY {rowid} DESC;
