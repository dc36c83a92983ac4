-- Not in the specification: links to hosts that other nodes of a cluster own (package placement).

-- The URLs whose link waits or was sent. A link is sent once, whatever pages name it.
CREATE TABLE IF NOT EXISTS {dc_sites.links_out} (
  Site_Id VARCHAR(32) NOT NULL COMMENT 'empty: the owner chooses the site',
  URLMd5  CHAR(32) NOT NULL,
  PRIMARY KEY (Site_Id, URLMd5)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_general_ci;

-- The links that wait, as JSON (wire.LinkOut). LINKS_TAKE gives them a group, LINKS_SENT removes
-- them.
CREATE TABLE IF NOT EXISTS {dc_sites.links_waiting} (
  Id       BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  Group_Id BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT '0: none; otherwise the first Id of the group',
  Site_Id  VARCHAR(32) NOT NULL,
  URLMd5   CHAR(32) NOT NULL,
  Link     MEDIUMTEXT NOT NULL,
  KEY taken (Group_Id, Id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

-- The groups that LINKS_STORE has stored: the newest ones, so that a repeated one does nothing.
CREATE TABLE IF NOT EXISTS {dc_sites.links_in} (
  Id       BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  GroupKey CHAR(32) NOT NULL,
  UNIQUE KEY group_key (GroupKey)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;
