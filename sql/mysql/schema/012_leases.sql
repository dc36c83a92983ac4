-- Not in the specification: what this node of a cluster may have of the limits of a site
-- (docs/decisions/0019-quota.md). Without a cluster nobody reads it.
ALTER TABLE {dc_sites.sites}
  ADD COLUMN LeaseSeq       BIGINT NOT NULL DEFAULT 0 COMMENT 'number of the last order of the head',
  ADD COLUMN LeaseURLs      BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN LeaseResources BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN LeaseErrors    BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN LeaseFinal     INT NOT NULL DEFAULT 0 COMMENT 'bits of kinds of which the cluster has nothing more',
  ADD COLUMN LeaseUntil     BIGINT NOT NULL DEFAULT 0 COMMENT 'seconds since 1970: end of LeaseFinal',
  ADD COLUMN LeaseWanted    TINYINT NOT NULL DEFAULT 0 COMMENT '1: the agent asks for more',
  ADD KEY lease_wanted (LeaseWanted);
UPDATE {dc_sites.sites} SET LeaseWanted = 1 WHERE MaxURLs > 0 OR MaxResources > 0 OR MaxErrors > 0;

-- Links that wait for a larger lease of URLs, as JSON (a wire.LinkOut).
CREATE TABLE IF NOT EXISTS {dc_sites.links_held} (
  Id      BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  Site_Id VARCHAR(32) NOT NULL,
  URLMd5  CHAR(32) NOT NULL,
  Link    MEDIUMTEXT NOT NULL,
  UNIQUE KEY link (Site_Id, URLMd5),
  KEY site (Site_Id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
