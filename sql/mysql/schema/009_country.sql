-- Clients of the original send names of countries, which its server cut to two characters.
ALTER TABLE {dc_sites.sites_proxy} MODIFY CountryCode VARCHAR(64) NOT NULL DEFAULT '';
