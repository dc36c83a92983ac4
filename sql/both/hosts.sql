-- name: hosts_in_put
INSERT INTO {dc_sites.hosts_in} (Epoch, Grp, Sender) VALUES (?, ?, ?);

-- name: hosts_in_find
SELECT 1 FROM {dc_sites.hosts_in} WHERE Epoch = ? AND Grp = ? AND Sender = ?;

-- name: hosts_out_put
INSERT INTO {dc_sites.hosts_out} (Epoch, Grp) VALUES (?, ?);

-- name: hosts_out_find
SELECT 1 FROM {dc_sites.hosts_out} WHERE Epoch = ? AND Grp = ?;

-- name: hosts_links_again
-- Keys of links that wait. Those that were sent have none afterwards.
INSERT INTO {dc_sites.links_out} (Site_Id, URLMd5) SELECT DISTINCT Site_Id, URLMd5 FROM {dc_sites.links_waiting} WHERE Site_Id = ?;
