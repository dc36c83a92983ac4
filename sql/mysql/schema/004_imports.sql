-- Not in the specification: the progress of the import of each table of a site from the
-- databases of the original service (dc-import). The transaction of the imported rows also
-- writes this row. Deleting a site deletes its rows.
CREATE TABLE IF NOT EXISTS {dc_sites.imports} (
  Site_Id   VARCHAR(32) NOT NULL,
  Part      VARCHAR(16) NOT NULL,
  Last_Key  VARCHAR(64) NOT NULL DEFAULT '' COMMENT 'key of the last row that was brought',
  Last_Rows BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'how many rows of that key were brought',
  Done      TINYINT UNSIGNED NOT NULL DEFAULT 0,
  UDate     DATETIME NOT NULL,
  PRIMARY KEY (Site_Id, Part)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
