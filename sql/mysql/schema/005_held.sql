-- Ours: until when the hosts of a site want to be left alone, as its last batch
-- found; no batch is made of the site before. NULL: no such wish is known.
ALTER TABLE {dc_sites.sites} ADD COLUMN HeldUntil DATETIME NULL;
