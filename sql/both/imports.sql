-- name: import_parts
SELECT Part, Last_Key, Last_Rows, Done FROM {dc_sites.imports} WHERE Site_Id = ?;

-- name: import_forget
DELETE FROM {dc_sites.imports} WHERE Site_Id = ?;

-- name: import_forget_part
DELETE FROM {dc_sites.imports} WHERE Site_Id = ? AND Part = ?;

-- name: import_mark
INSERT INTO {dc_sites.imports} (Site_Id, Part, Last_Key, Last_Rows, Done, UDate) VALUES (?, ?, ?, ?, ?, ?);

-- name: import_used
-- Whether the general site has data: then the import does not replace it.
SELECT 1 FROM {dc_sites.sites} s WHERE s.Id = ?
AND (s.OwnURLs > 0 OR s.DeletedURLs > 0 OR s.NewURLs > 0 OR EXISTS (SELECT 1 FROM {dc_sites.sites_urls} u WHERE u.Site_Id = s.Id));
