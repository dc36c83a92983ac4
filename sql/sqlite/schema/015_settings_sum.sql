-- Not in the specification: which settings a page was read with (docs/spec/storage.md 1.5). Of rows of
-- older programs the time of the last fetch is the best that is known of the last change.

ALTER TABLE {dc_sites.sites_urls} ADD COLUMN SettingsSum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_urls.urls} ADD COLUMN SettingsSum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {dc_urls_deleted.urls} ADD COLUMN SettingsSum INTEGER NOT NULL DEFAULT 0;

UPDATE {dc_urls.urls} SET ContentDate = UDate WHERE Crawled > 0 AND RawContentMd5 <> '';
