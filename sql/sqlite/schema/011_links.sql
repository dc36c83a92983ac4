-- Not in the specification: links to hosts that other nodes of a cluster own (package placement).

-- The URLs whose link waits or was sent. A link is sent once, whatever pages name it.
CREATE TABLE {dc_sites.links_out} (
  Site_Id TEXT NOT NULL,  -- '': the owner chooses the site
  URLMd5  TEXT NOT NULL,
  PRIMARY KEY (Site_Id, URLMd5)
) WITHOUT ROWID;

-- The links that wait, as JSON (wire.LinkOut). LINKS_TAKE gives them a group, LINKS_SENT removes
-- them.
CREATE TABLE {dc_sites.links_waiting} (
  Id       INTEGER PRIMARY KEY AUTOINCREMENT,
  Group_Id INTEGER NOT NULL DEFAULT 0,  -- 0: none; otherwise the first Id of the group
  Site_Id  TEXT NOT NULL,
  URLMd5   TEXT NOT NULL,
  Link     TEXT NOT NULL
);
CREATE INDEX {dc_sites.links_waiting.taken} ON {dc_sites.links_waiting} (Group_Id, Id);

-- The groups that LINKS_STORE has stored: the newest ones, so that a repeated one does nothing.
CREATE TABLE {dc_sites.links_in} (
  Id       INTEGER PRIMARY KEY AUTOINCREMENT,
  GroupKey TEXT NOT NULL UNIQUE
);
