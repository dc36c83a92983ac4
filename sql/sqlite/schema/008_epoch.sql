-- Not in the specification: a random number that changes when rows of the site are deleted.
-- Crawlers remember which links have rows, as long as it stays the same.
ALTER TABLE {dc_sites.sites} ADD COLUMN RowsEpoch INTEGER NOT NULL DEFAULT 0;
