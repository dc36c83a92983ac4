-- name: keys_any
-- A site whose rows may have keys of the old rule.
SELECT 1 FROM {dc_sites.new_key_sites} LIMIT 1;

-- name: keys_sites
-- The sites before a step.
SELECT Site_Id FROM {dc_sites.new_key_sites} WHERE Step = ? ORDER BY Site_Id;

-- name: keys_site
REPLACE INTO {dc_sites.new_key_sites} (Site_Id, Step) VALUES (?, ?);

-- name: keys_site_done
DELETE FROM {dc_sites.new_key_sites} WHERE Site_Id = ?;

-- name: keys_done
DELETE FROM {dc_sites.new_key_sites} WHERE Step = 2;

-- name: keys_changed
SELECT 1 FROM {dc_sites.new_keys} LIMIT 1;

-- name: keys_new
SELECT New_Md5 FROM {dc_sites.new_keys} WHERE Old_Md5 = ?;

-- name: keys_page
SELECT URLMd5, URL FROM {dc_urls.urls} WHERE Site_Id = ? AND URLMd5 > ? ORDER BY URLMd5 LIMIT ?;

-- name: keys_page_deleted
-- Copies of one URL have one text.
SELECT URLMd5, MAX(URL) FROM {dc_urls_deleted.urls} WHERE Site_Id = ? AND URLMd5 > ? GROUP BY URLMd5 ORDER BY URLMd5 LIMIT ?;

-- name: keys_page_roots
SELECT URLMd5, URL FROM {dc_sites.sites_urls} WHERE Site_Id = ? AND URLMd5 > ? ORDER BY URLMd5 LIMIT ?;

-- name: keys_url
UPDATE {dc_urls.urls} SET URLMd5 = ?, Freq = ?, ParentMd5 = ?, Depth = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_url_deleted
UPDATE {dc_urls_deleted.urls} SET URLMd5 = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_root
UPDATE {dc_sites.sites_urls} SET URLMd5 = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_root_drop
DELETE FROM {dc_sites.sites_urls} WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_root_there
SELECT 1 FROM {dc_sites.sites_urls} WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_property
UPDATE {dc_sites.sites_properties} SET URLMd5 = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_properties_any
SELECT 1 FROM {dc_sites.sites_properties} WHERE Site_Id = ? AND URLMd5 <> '' LIMIT 1;

-- name: keys_attributes_drop
-- Attributes of a row that another row has too.
DELETE FROM {dc_attributes.att} WHERE Site_Id = ? AND URLMd5 = ?
AND Name IN (SELECT Name FROM (SELECT Name FROM {dc_attributes.att} WHERE Site_Id = ? AND URLMd5 = ?) AS other);

-- name: keys_attributes
UPDATE {dc_attributes.att} SET URLMd5 = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_log
UPDATE {dc_stat_logs.log} SET URLMd5 = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_freq
UPDATE {dc_stat_freqs.freq} SET URLMd5 = ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_freq_get
SELECT FIns, FDel, FUpd, FNew, FCrawled, FProcessed, FAged, FDeleted, FPurged FROM {dc_stat_freqs.freq} WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_freq_add
UPDATE {dc_stat_freqs.freq} SET FIns = FIns + ?, FDel = FDel + ?, FUpd = FUpd + ?, FNew = FNew + ?, FCrawled = FCrawled + ?,
  FProcessed = FProcessed + ?, FAged = FAged + ?, FDeleted = FDeleted + ?, FPurged = FPurged + ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_freq_drop
DELETE FROM {dc_stat_freqs.freq} WHERE Site_Id = ? AND URLMd5 = ?;

-- name: keys_last_of
-- The last key of the next page of a site's rows.
SELECT MAX(URLMd5) FROM (SELECT URLMd5 FROM {dc_urls.urls} WHERE Site_Id = ? AND URLMd5 > ? ORDER BY URLMd5 LIMIT 5000) page;

-- name: keys_parents
UPDATE {dc_urls.urls} SET ParentMd5 = (SELECT New_Md5 FROM {dc_sites.new_keys} WHERE Old_Md5 = ParentMd5)
WHERE Site_Id = ? AND URLMd5 > ? AND URLMd5 <= ? AND ParentMd5 IN (SELECT Old_Md5 FROM {dc_sites.new_keys});

-- name: keys_last_of_deleted
SELECT MAX(URLMd5) FROM (SELECT URLMd5 FROM {dc_urls_deleted.urls} WHERE Site_Id = ? AND URLMd5 > ? ORDER BY URLMd5 LIMIT 5000) page;

-- name: keys_parents_deleted
UPDATE {dc_urls_deleted.urls} SET ParentMd5 = (SELECT New_Md5 FROM {dc_sites.new_keys} WHERE Old_Md5 = ParentMd5)
WHERE Site_Id = ? AND URLMd5 > ? AND URLMd5 <= ? AND ParentMd5 IN (SELECT Old_Md5 FROM {dc_sites.new_keys});

-- name: keys_move_from
-- Where contents of a row still are.
SELECT Old_Md5 FROM {dc_sites.new_key_moves} WHERE Site_Id = ? AND New_Md5 = ?;

-- name: keys_move
REPLACE INTO {dc_sites.new_key_moves} (Site_Id, Old_Md5, New_Md5) VALUES (?, ?, ?);

-- name: keys_move_done
DELETE FROM {dc_sites.new_key_moves} WHERE Site_Id = ? AND Old_Md5 = ?;

-- name: keys_moves
-- The next contents to move, of one site.
SELECT Site_Id, Old_Md5, New_Md5 FROM {dc_sites.new_key_moves}
WHERE Site_Id = (SELECT MIN(Site_Id) FROM {dc_sites.new_key_moves}) ORDER BY Old_Md5 LIMIT ?;
