-- name: attributes_delete
DELETE FROM {dc_attributes.att} WHERE Site_Id = ?;

-- name: attributes_any
SELECT 1 FROM {dc_attributes.att} WHERE Site_Id = ? LIMIT 1;

-- name: attribute_named
-- Whether any URL of the site has an attribute with this name.
SELECT 1 FROM {dc_attributes.att} WHERE Site_Id = ? AND Name = ? LIMIT 1;

-- name: attribute_set
UPDATE {dc_attributes.att} SET Value = ? WHERE Site_Id = ? AND URLMd5 = ? AND Name = ?;

-- name: attribute_set_named
UPDATE {dc_attributes.att} SET Value = ? WHERE Site_Id = ? AND Name = ?;

-- name: attribute_new
INSERT INTO {dc_attributes.att} (Site_Id, URLMd5, Name, Value, CDate) VALUES (?, ?, ?, ?, ?);

-- name: attribute_remove
DELETE FROM {dc_attributes.att} WHERE Site_Id = ? AND URLMd5 = ? AND Name = ?;
