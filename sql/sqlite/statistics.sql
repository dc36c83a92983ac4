-- name: freq_record
-- A URL is counted from now on; nothing changes when it is already.
INSERT OR IGNORE INTO {dc_stat_freqs.freq} (Site_Id, URLMd5, CDate) VALUES (?, ?, ?);

-- name: freq_delete
DELETE FROM {dc_stat_freqs.freq} WHERE Site_Id = ?;

-- name: log_put
INSERT INTO {dc_stat_logs.log} (Site_Id, URLMd5, OpCode, Object, CDate, ODate) VALUES (?, ?, ?, ?, ?, ?);

-- name: log_delete
DELETE FROM {dc_stat_logs.log} WHERE Site_Id = ?;
