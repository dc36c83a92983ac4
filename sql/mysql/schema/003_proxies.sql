-- Proxies of sites (docs/spec/storage.md 1.6). Site and host are unique and ignore case. The
-- original selected rows by both but did not enforce uniqueness.
CREATE TABLE IF NOT EXISTS {dc_sites.sites_proxy} (
  Id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  Site_Id     VARCHAR(32) NOT NULL DEFAULT '0' COMMENT '0 and *: any site',
  Host        VARCHAR(128) NOT NULL DEFAULT '0' COMMENT 'name:port',
  Domains     TEXT DEFAULT NULL COMMENT 'JSON',
  Priority    INT UNSIGNED NOT NULL DEFAULT 0,
  State       INT UNSIGNED NOT NULL DEFAULT 0 COMMENT '1: in use',
  CountryCode VARCHAR(2) NOT NULL DEFAULT '',
  CountryName VARCHAR(64) NOT NULL DEFAULT '',
  RegionCode  INT UNSIGNED NOT NULL DEFAULT 0,
  RegionName  VARCHAR(64) NOT NULL DEFAULT '',
  CityName    VARCHAR(64) NOT NULL DEFAULT '',
  ZipCode     VARCHAR(8) NOT NULL DEFAULT '',
  TimeZone    VARCHAR(64) NOT NULL DEFAULT '',
  Latitude    DOUBLE NOT NULL DEFAULT 0,
  Longitude   DOUBLE NOT NULL DEFAULT 0,
  MetroCode   INT UNSIGNED NOT NULL DEFAULT 0,
  Faults      INT UNSIGNED NOT NULL DEFAULT 0,
  FaultsMax   INT UNSIGNED NOT NULL DEFAULT 0 COMMENT '0: no limit',
  Category_Id INT UNSIGNED NOT NULL DEFAULT 0,
  Limits      TEXT DEFAULT NULL COMMENT 'JSON',
  Description TEXT DEFAULT NULL,
  CDate       DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  UDate       DATETIME DEFAULT NULL,
  UNIQUE KEY place (Site_Id, Host)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
