-- Not in the specification: the progress of the import of each table of a site from the
-- databases of the original service (dc-import). The transaction of the imported rows also
-- writes this row. Deleting a site deletes its rows.
CREATE TABLE {dc_sites.imports} (
  Site_Id   TEXT NOT NULL COLLATE NOCASE,
  Part      TEXT NOT NULL,
  Last_Key  TEXT NOT NULL DEFAULT '',     -- key of the last row that was brought
  Last_Rows INTEGER NOT NULL DEFAULT 0,   -- how many rows of that key were brought
  Done      INTEGER NOT NULL DEFAULT 0,
  UDate     TEXT NOT NULL,
  PRIMARY KEY (Site_Id, Part)
) WITHOUT ROWID;
