-- name: raw_find
-- The runs of a URL. Kinds are the live parts of a run.
SELECT Name, Part, At, Kinds, Segment, Start, Bytes, Digest FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 = ?;

-- name: raw_find_all
-- The runs of several URLs; the list of keys grows.
SELECT URLMd5, Name, Part, At, Kinds, Segment, Start, Bytes, Digest FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 IN (?);

-- name: raw_find_name
SELECT Name, Part, At, Kinds, Segment, Start, Bytes, Digest FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 = ? AND Name = ?;

-- name: raw_narrow
UPDATE {dc_sites.raw_records} SET Kinds = ? WHERE Site_Id = ? AND URLMd5 = ? AND Name = ? AND Part = ?;

-- name: raw_drop
DELETE FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 = ? AND Name = ? AND Part = ?;

-- name: raw_move
UPDATE {dc_sites.raw_records} SET Segment = ?, Start = ? WHERE Site_Id = ? AND URLMd5 = ? AND Name = ? AND Part = ? AND Segment = ? AND Start = ?;

-- name: raw_next_part
SELECT COALESCE(MAX(Part) + 1, 0) FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 = ?;

-- name: raw_rename
UPDATE {dc_sites.raw_records} SET URLMd5 = ?, Part = Part + ? WHERE Site_Id = ? AND URLMd5 = ?;

-- name: raw_last_of
-- The last key of the next page of a site's records.
SELECT MAX(URLMd5) FROM (SELECT URLMd5 FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 > ? ORDER BY URLMd5 LIMIT 1000) page;

-- name: raw_range
SELECT URLMd5, Name, Part, At, Kinds, Segment, Start, Bytes, Digest FROM {dc_sites.raw_records} WHERE Site_Id = ? AND URLMd5 > ? AND URLMd5 <= ?;

-- name: raw_sites
SELECT DISTINCT Site_Id FROM {dc_sites.raw_records} ORDER BY Site_Id;

-- name: raw_sizes
SELECT Segment, SUM(Bytes) FROM {dc_sites.raw_records} GROUP BY Segment;

-- name: raw_site_bytes
SELECT COALESCE(SUM(Bytes), 0) FROM {dc_sites.raw_records} WHERE Site_Id = ?;

-- name: segment_new
INSERT INTO {dc_sites.raw_segments} (Size, Live) VALUES (0, 0);

-- name: segment_all
SELECT Id, Size, Live FROM {dc_sites.raw_segments} ORDER BY Id;

-- name: segment_take
-- The change waits for a commit of the segment's last writer.
UPDATE {dc_sites.raw_segments} SET Taken = Taken + 1 WHERE Id = ?;

-- name: segment_get
SELECT Size, Live FROM {dc_sites.raw_segments} WHERE Id = ?;

-- name: segment_grow
UPDATE {dc_sites.raw_segments} SET Size = CASE WHEN Size < ? THEN ? ELSE Size END, Live = Live + ? WHERE Id = ?;

-- name: segment_live
UPDATE {dc_sites.raw_segments} SET Live = Live + ? WHERE Id = ?;

-- name: segment_set_live
UPDATE {dc_sites.raw_segments} SET Live = ? WHERE Id = ?;

-- name: segment_drop
DELETE FROM {dc_sites.raw_segments} WHERE Id = ? AND Live = 0;
