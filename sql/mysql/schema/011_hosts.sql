-- Not in the specification: steps of moving hosts between nodes that this node has finished
-- (docs/decisions/0018-moving-hosts.md). The transaction of the rows, or of the last ones, writes it.

CREATE TABLE IF NOT EXISTS {dc_sites.hosts_in} (
  Epoch  BIGINT NOT NULL,
  Grp    INT NOT NULL,
  Sender VARCHAR(64) NOT NULL,
  PRIMARY KEY (Epoch, Grp, Sender)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT 'packs that HOSTS_UNPACK has stored';

CREATE TABLE IF NOT EXISTS {dc_sites.hosts_out} (
  Epoch BIGINT NOT NULL,
  Grp   INT NOT NULL,
  PRIMARY KEY (Epoch, Grp)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT 'groups that HOSTS_DROP has deleted';
