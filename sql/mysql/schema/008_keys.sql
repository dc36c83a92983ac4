-- Not in the specification: since this step the key of a URL is the md5 of its text with
-- canonical escapes (docs/decisions/0015-keys-of-canonical-escapes.md).

CREATE TABLE IF NOT EXISTS {dc_sites.new_keys} (
  Old_Md5 CHAR(32) NOT NULL PRIMARY KEY,
  New_Md5 CHAR(32) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin COMMENT 'keys of the old rule that changed; they depend on no site';

CREATE TABLE IF NOT EXISTS {dc_sites.new_key_sites} (
  Site_Id VARCHAR(32) NOT NULL PRIMARY KEY COMMENT 'its rows may have keys of the old rule; * means all sites',
  Step    INT NOT NULL DEFAULT 0 COMMENT '1: the rows have their new keys; 2: their children know them'
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE IF NOT EXISTS {dc_sites.new_key_moves} (
  Site_Id VARCHAR(32) NOT NULL,
  Old_Md5 CHAR(32) NOT NULL,
  New_Md5 CHAR(32) NOT NULL,
  PRIMARY KEY (Site_Id, Old_Md5),
  KEY new (Site_Id, New_Md5)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin COMMENT 'contents that are still stored under the old key of their row';

INSERT IGNORE INTO {dc_sites.new_key_sites} (Site_Id) VALUES ('*');
