-- Proxies of sites (docs/spec/storage.md 1.6). Site and host are unique and ignore case. The
-- original selected rows by both but did not enforce uniqueness.
CREATE TABLE {dc_sites.sites_proxy} (
  Id          INTEGER PRIMARY KEY,
  Site_Id     TEXT NOT NULL DEFAULT '0' COLLATE NOCASE,  -- '0' and '*': any site
  Host        TEXT NOT NULL DEFAULT '0' COLLATE NOCASE,  -- name:port
  Domains     TEXT,                                      -- JSON
  Priority    INTEGER NOT NULL DEFAULT 0,
  State       INTEGER NOT NULL DEFAULT 0,                -- 1: in use
  CountryCode TEXT NOT NULL DEFAULT '',
  CountryName TEXT NOT NULL DEFAULT '',
  RegionCode  INTEGER NOT NULL DEFAULT 0,
  RegionName  TEXT NOT NULL DEFAULT '',
  CityName    TEXT NOT NULL DEFAULT '',
  ZipCode     TEXT NOT NULL DEFAULT '',
  TimeZone    TEXT NOT NULL DEFAULT '',
  Latitude    REAL NOT NULL DEFAULT 0,
  Longitude   REAL NOT NULL DEFAULT 0,
  MetroCode   INTEGER NOT NULL DEFAULT 0,
  Faults      INTEGER NOT NULL DEFAULT 0,
  FaultsMax   INTEGER NOT NULL DEFAULT 0,                -- 0: no limit
  Category_Id INTEGER NOT NULL DEFAULT 0,
  Limits      TEXT,                                      -- JSON
  Description TEXT,
  CDate       TEXT NOT NULL,
  UDate       TEXT,
  UNIQUE (Site_Id, Host)
);
