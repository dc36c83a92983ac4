-- The transactions now update the counters on both databases, without triggers.
DROP TRIGGER {dc_urls.urls.inserted};
DROP TRIGGER {dc_urls.urls.deleted};
DROP TRIGGER {dc_urls.urls.updated};
DROP TRIGGER {dc_urls_deleted.urls.inserted};
DROP TRIGGER {dc_urls_deleted.urls.deleted};

-- URL_NEW finds the site of a URL by the keys of the prefixes of the URL.
DROP INDEX {dc_sites.sites_urls.url};
CREATE INDEX {dc_sites.sites_urls.md5} ON {dc_sites.sites_urls} (URLMd5, Site_Id);
