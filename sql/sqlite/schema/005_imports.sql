-- Ours: how far each table of a site was brought here from the databases of the
-- original service (dc-import). The row stands in the transaction of
-- the rows that it speaks of. Rows of a site go with it.
CREATE TABLE {dc_sites.imports} (
  Site_Id   TEXT NOT NULL COLLATE NOCASE,
  Part      TEXT NOT NULL,
  Last_Key  TEXT NOT NULL DEFAULT '',     -- key of the last row that was brought
  Last_Rows INTEGER NOT NULL DEFAULT 0,   -- how many rows of that key were brought
  Done      INTEGER NOT NULL DEFAULT 0,
  UDate     TEXT NOT NULL,
  PRIMARY KEY (Site_Id, Part)
) WITHOUT ROWID;
