-- Not in the specification: since this step the key of a URL is the md5 of its text with
-- canonical escapes (docs/decisions/0015-keys-of-canonical-escapes.md).

-- The keys of the old rule that changed. They depend on no site.
CREATE TABLE {dc_sites.new_keys} (
  Old_Md5 TEXT NOT NULL PRIMARY KEY,
  New_Md5 TEXT NOT NULL
) WITHOUT ROWID;

-- Sites whose rows may have keys of the old rule. '*' means all sites.
CREATE TABLE {dc_sites.new_key_sites} (
  Site_Id TEXT NOT NULL PRIMARY KEY,
  Step    INTEGER NOT NULL DEFAULT 0  -- 1: the rows have their new keys; 2: their children know them
) WITHOUT ROWID;

-- Contents that are still stored under the old key of their row.
CREATE TABLE {dc_sites.new_key_moves} (
  Site_Id TEXT NOT NULL,
  Old_Md5 TEXT NOT NULL,
  New_Md5 TEXT NOT NULL,
  PRIMARY KEY (Site_Id, Old_Md5)
) WITHOUT ROWID;
CREATE INDEX {dc_sites.new_key_moves.new} ON {dc_sites.new_key_moves} (Site_Id, New_Md5);

INSERT INTO {dc_sites.new_key_sites} (Site_Id) SELECT '*' FROM (SELECT 1)
WHERE EXISTS (SELECT 1 FROM {dc_urls.urls}) OR EXISTS (SELECT 1 FROM {dc_urls_deleted.urls}) OR EXISTS (SELECT 1 FROM {dc_sites.sites_urls});
