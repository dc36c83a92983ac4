-- Not in the specification: links to hosts that other nodes of a cluster own (package placement).

-- The URLs whose link waits or was sent. A link is sent once, whatever pages name it.
CREATE TABLE {dc_sites.links_out} (
  Site_Id TEXT NOT NULL,  -- '': the owner chooses the site
  URLMd5  TEXT NOT NULL,
  PRIMARY KEY (Site_Id, URLMd5)
) WITHOUT ROWID;

-- The links that wait, in bundles: those of one transaction, site and owner, as JSON (a list of
-- wire.LinkOut). LINKS_SENT removes them.
CREATE TABLE {dc_sites.links_waiting} (
  Id      INTEGER PRIMARY KEY AUTOINCREMENT,
  Site_Id TEXT NOT NULL,
  Owner   TEXT NOT NULL,
  N       INTEGER NOT NULL,  -- number of links
  Links   TEXT NOT NULL
);

-- The bundles that LINKS_STORE has stored: the newest ones, so that a repeated one does nothing.
CREATE TABLE {dc_sites.links_in} (
  Id       INTEGER PRIMARY KEY AUTOINCREMENT,
  BundleKey TEXT NOT NULL UNIQUE
);
