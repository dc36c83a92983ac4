-- name: hosts_in_put
INSERT INTO {dc_sites.hosts_in} (Epoch, Grp, Sender) VALUES (?, ?, ?);

-- name: hosts_in_find
SELECT 1 FROM {dc_sites.hosts_in} WHERE Epoch = ? AND Grp = ? AND Sender = ?;

-- name: hosts_came
SELECT Sender FROM {dc_sites.hosts_in} WHERE Epoch = ? AND Grp = ? ORDER BY Sender;

-- name: hosts_rows
SELECT COALESCE(SUM(OwnURLs), 0) FROM {dc_sites.sites};

-- name: hosts_out_put
INSERT INTO {dc_sites.hosts_out} (Epoch, Grp) VALUES (?, ?);

-- name: hosts_in_forget
DELETE FROM {dc_sites.hosts_in} WHERE Epoch < ?;

-- name: hosts_out_forget
DELETE FROM {dc_sites.hosts_out} WHERE Epoch < ?;

-- name: hosts_out_find
SELECT 1 FROM {dc_sites.hosts_out} WHERE Epoch = ? AND Grp = ?;
