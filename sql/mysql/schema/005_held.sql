-- Not in the specification: the time until which the hosts of a site asked for a pause in the
-- last batch. No batch selects the site before that time. NULL: no pause.
ALTER TABLE {dc_sites.sites} ADD COLUMN HeldUntil DATETIME NULL;
