-- Counters are kept by the transactions themselves, the same way on both
-- databases: triggers go.
DROP TRIGGER {dc_urls.urls.inserted};
DROP TRIGGER {dc_urls.urls.deleted};
DROP TRIGGER {dc_urls.urls.updated};
DROP TRIGGER {dc_urls_deleted.urls.inserted};
DROP TRIGGER {dc_urls_deleted.urls.deleted};

-- The site of a URL is found by the keys of its beginnings (URL_NEW).
DROP INDEX {dc_sites.sites_urls.url};
CREATE INDEX {dc_sites.sites_urls.md5} ON {dc_sites.sites_urls} (URLMd5, Site_Id);
