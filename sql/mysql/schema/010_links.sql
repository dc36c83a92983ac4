-- Not in the specification: links to hosts that other nodes of a cluster own (package placement).

-- The URLs whose link waits or was sent. A link is sent once, whatever pages name it.
CREATE TABLE IF NOT EXISTS {dc_sites.links_out} (
  Site_Id VARCHAR(32) NOT NULL COMMENT 'empty: the owner chooses the site',
  URLMd5  CHAR(32) NOT NULL,
  PRIMARY KEY (Site_Id, URLMd5)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_general_ci;

-- The links that wait, in bundles: those of one transaction, site and owner, as JSON (a list of
-- wire.LinkOut). LINKS_SENT removes them.
CREATE TABLE IF NOT EXISTS {dc_sites.links_waiting} (
  Id      BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  Site_Id VARCHAR(32) NOT NULL,
  Owner   VARCHAR(64) NOT NULL,
  N       INT UNSIGNED NOT NULL COMMENT 'number of links',
  Links   MEDIUMTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

-- The bundles that LINKS_STORE has stored: the newest ones, so that a repeated one does nothing.
CREATE TABLE IF NOT EXISTS {dc_sites.links_in} (
  Id       BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  BundleKey CHAR(32) NOT NULL,
  UNIQUE KEY bundle_key (BundleKey)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;
