-- Not in the specification: what this node of a cluster may have of the limits of a site
-- (docs/decisions/0019-quota.md). Without a cluster nobody reads it.
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseSeq INTEGER NOT NULL DEFAULT 0;        -- number of the last order of the head
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseURLs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseResources INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseErrors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseFinal INTEGER NOT NULL DEFAULT 0;      -- bits of kinds of which the cluster has nothing more
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseUntil INTEGER NOT NULL DEFAULT 0;      -- seconds since 1970: end of LeaseFinal
ALTER TABLE {dc_sites.sites} ADD COLUMN LeaseWanted INTEGER NOT NULL DEFAULT 0;     -- 1: the agent asks for more
CREATE INDEX {dc_sites.sites.wanted} ON {dc_sites.sites} (Id) WHERE LeaseWanted = 1;
UPDATE {dc_sites.sites} SET LeaseWanted = 1 WHERE MaxURLs > 0 OR MaxResources > 0 OR MaxErrors > 0;

-- Links that wait for a larger lease of URLs, as JSON (a wire.LinkOut).
CREATE TABLE {dc_sites.links_held} (
  Id      INTEGER PRIMARY KEY AUTOINCREMENT,
  Site_Id TEXT NOT NULL,
  URLMd5  TEXT NOT NULL,
  Link    TEXT NOT NULL,
  UNIQUE (Site_Id, URLMd5)
);
CREATE INDEX {dc_sites.links_held.site} ON {dc_sites.links_held} (Site_Id);
