-- Not in the specification: which settings a page was read with (docs/spec/storage.md 1.5).

ALTER TABLE {dc_sites.sites_urls} ADD COLUMN SettingsSum INT UNSIGNED NOT NULL DEFAULT 0;
