-- name: freq_delete
DELETE FROM {dc_stat_freqs.freq} WHERE Site_Id = ?;

-- name: log_delete
DELETE FROM {dc_stat_logs.log} WHERE Site_Id = ?;
