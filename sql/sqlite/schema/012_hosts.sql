-- Not in the specification: steps of moving hosts between nodes that this node has finished
-- (docs/decisions/0018-moving-hosts.md). The transaction of the rows, or of the last ones, writes it.

-- Packs that HOSTS_UNPACK has stored.
CREATE TABLE {dc_sites.hosts_in} (
  Epoch  INTEGER NOT NULL,
  Grp    INTEGER NOT NULL,
  Sender TEXT NOT NULL,
  PRIMARY KEY (Epoch, Grp, Sender)
) WITHOUT ROWID;

-- Groups that HOSTS_DROP has deleted.
CREATE TABLE {dc_sites.hosts_out} (
  Epoch INTEGER NOT NULL,
  Grp   INTEGER NOT NULL,
  PRIMARY KEY (Epoch, Grp)
) WITHOUT ROWID;
