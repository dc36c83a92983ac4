-- Sites and their lists (docs/spec/storage.md 1.1-1.4). Site ids ignore case, as table names
-- on SQLite do: "a" and "A" are the same site.

CREATE TABLE {dc_sites.sites} (
  Id              TEXT NOT NULL PRIMARY KEY COLLATE NOCASE,
  Description     TEXT NOT NULL DEFAULT '',
  CDate           TEXT NOT NULL,
  UDate           TEXT,
  TcDate          TEXT,
  TcDateProcess   TEXT,
  Resources       INTEGER NOT NULL DEFAULT 0,
  Contents        INTEGER NOT NULL DEFAULT 0,
  CollectedURLs   INTEGER NOT NULL DEFAULT 0,
  NewURLs         INTEGER NOT NULL DEFAULT 0,
  DeletedURLs     INTEGER NOT NULL DEFAULT 0,
  Iterations      INTEGER NOT NULL DEFAULT 0,
  State           INTEGER NOT NULL DEFAULT 1,
  Priority        INTEGER NOT NULL DEFAULT 0,
  MaxURLs         INTEGER NOT NULL DEFAULT 0,
  MaxURLsFromPage INTEGER NOT NULL DEFAULT 200,
  MaxResources    INTEGER NOT NULL DEFAULT 0,
  MaxErrors       INTEGER NOT NULL DEFAULT 0,
  MaxResourceSize INTEGER NOT NULL DEFAULT 0,
  RequestDelay    INTEGER NOT NULL DEFAULT 500,
  ProcessingDelay INTEGER NOT NULL DEFAULT 1000,
  HTTPTimeout     REAL NOT NULL DEFAULT 30000,
  ErrorMask       INTEGER NOT NULL DEFAULT 0,
  Errors          INTEGER NOT NULL DEFAULT 0,
  Size            INTEGER NOT NULL DEFAULT 0,
  AVGSpeed        INTEGER AS (IIF(AVGSpeedCounter > 0, SpeedSum / AVGSpeedCounter, 0)) VIRTUAL,
  AVGSpeedCounter INTEGER NOT NULL DEFAULT 0,
  URLType         INTEGER NOT NULL DEFAULT 0,
  User_Id         INTEGER NOT NULL DEFAULT 1,
  RecrawlPeriod   INTEGER NOT NULL DEFAULT 0,
  RecrawlDate     TEXT,
  FetchType       INTEGER NOT NULL DEFAULT 1,
  Category_Id     INTEGER NOT NULL DEFAULT 1,
  -- Ours. The re-crawl lock is not a state (docs/spec/DECISIONS.md 3.6).
  RecrawlLock     INTEGER NOT NULL DEFAULT 0,
  -- Not in the specification: further counters, kept by the triggers of the tables.
  SpeedSum        INTEGER NOT NULL DEFAULT 0,  -- of Size * 1000 / CrawlingTime, rows of this node
  OwnURLs         INTEGER NOT NULL DEFAULT 0,  -- rows of this node
  InFlight        INTEGER NOT NULL DEFAULT 0,  -- rows in Status 2, 3, 8
  InProcess       INTEGER NOT NULL DEFAULT 0,  -- rows in Status 5, 6
  MaskStale       INTEGER NOT NULL DEFAULT 0,  -- 1: a row lost bits that ErrorMask may still have
  SiteMask        INTEGER NOT NULL DEFAULT 0   -- bits that are the site's own, of no row
) WITHOUT ROWID;

CREATE TABLE {dc_sites.sites_filters} (
  Site_Id       TEXT DEFAULT '0' COLLATE NOCASE,
  Pattern       TEXT NOT NULL DEFAULT '',
  Subject       TEXT NOT NULL DEFAULT '',
  OperationCode INTEGER NOT NULL DEFAULT 0,
  Stage         INTEGER NOT NULL DEFAULT 0,
  Action        INTEGER NOT NULL DEFAULT 0,
  Type          INTEGER NOT NULL DEFAULT 0,
  UDate         TEXT,
  CDate         TEXT NOT NULL,
  Mode          INTEGER NOT NULL DEFAULT 0,
  State         INTEGER NOT NULL DEFAULT 1,
  Group_Id      INTEGER NOT NULL DEFAULT 0
);
-- The lists of one site: site_filters.
CREATE INDEX {dc_sites.sites_filters.site} ON {dc_sites.sites_filters} (Site_Id);

CREATE TABLE {dc_sites.sites_properties} (
  Site_Id TEXT NOT NULL DEFAULT '0' COLLATE NOCASE,
  URLMd5  TEXT NOT NULL DEFAULT '',
  Name    TEXT NOT NULL DEFAULT '',
  Value   TEXT NOT NULL DEFAULT '',
  UDate   TEXT,
  CDate   TEXT NOT NULL
);
-- The lists of one site, and one property of it: site_properties, site_property.
CREATE INDEX {dc_sites.sites_properties.site} ON {dc_sites.sites_properties} (Site_Id, Name);

CREATE TABLE {dc_sites.sites_urls} (
  Site_Id         TEXT NOT NULL DEFAULT '0' COLLATE NOCASE,
  URL             TEXT NOT NULL DEFAULT '',
  Type            INTEGER NOT NULL DEFAULT 0,
  State           INTEGER NOT NULL DEFAULT 0,
  Status          INTEGER NOT NULL DEFAULT 1,
  Crawled         INTEGER NOT NULL DEFAULT 0,
  Processed       INTEGER NOT NULL DEFAULT 0,
  URLMd5          TEXT NOT NULL DEFAULT '',
  ContentType     TEXT NOT NULL DEFAULT '',
  RequestDelay    INTEGER NOT NULL DEFAULT 500,
  ProcessingDelay INTEGER NOT NULL DEFAULT 1000,
  HTTPTimeout     REAL NOT NULL DEFAULT 30000,
  Charset         TEXT NOT NULL DEFAULT '',
  Batch_Id        INTEGER NOT NULL DEFAULT 0,
  ErrorMask       INTEGER NOT NULL DEFAULT 0,
  CrawlingTime    INTEGER NOT NULL DEFAULT 0,
  ProcessingTime  INTEGER NOT NULL DEFAULT 0,
  TotalTime       INTEGER NOT NULL DEFAULT 0,
  HTTPCode        INTEGER NOT NULL DEFAULT 0,
  HTTPMethod      TEXT NOT NULL DEFAULT '',
  Size            INTEGER NOT NULL DEFAULT 0,
  LinksI          INTEGER NOT NULL DEFAULT 0,
  LinksE          INTEGER NOT NULL DEFAULT 0,
  Freq            INTEGER NOT NULL DEFAULT 0,
  Depth           INTEGER NOT NULL DEFAULT 0,
  RawContentMd5   TEXT NOT NULL DEFAULT '',
  ParentMd5       TEXT NOT NULL DEFAULT '',
  LastModified    TEXT,
  ETag            TEXT NOT NULL DEFAULT '',
  MRate           REAL NOT NULL DEFAULT 0,
  MRateCounter    INTEGER NOT NULL DEFAULT 0,
  UDate           TEXT,
  CDate           TEXT NOT NULL,
  TcDate          TEXT,
  MaxURLsFromPage INTEGER NOT NULL DEFAULT 200,
  TagsMask        INTEGER NOT NULL DEFAULT 0,
  TagsCount       INTEGER NOT NULL DEFAULT 0,
  PDate           TEXT,
  ContentURLMd5   TEXT NOT NULL DEFAULT '',
  Priority        INTEGER NOT NULL DEFAULT 0,
  ClassifierMask  INTEGER NOT NULL DEFAULT 0,
  User_Id         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (Site_Id, URLMd5)
);
-- The longest root URL that is a prefix of a URL: root_before.
CREATE INDEX {dc_sites.sites_urls.url} ON {dc_sites.sites_urls} (URL);

-- Files to remove after a commit: files of one URL, or of the whole site if URLMd5 is ''.
CREATE TABLE {dc_sites.trash} (
  Id      INTEGER PRIMARY KEY,
  Site_Id TEXT NOT NULL,
  URLMd5  TEXT NOT NULL DEFAULT ''
);

-- The general site: URLs without another site (docs/spec/storage.md 1.1-1.3).
INSERT INTO {dc_sites.sites} (Id, Description, CDate, UDate, TcDate, RequestDelay, ProcessingDelay, URLType)
VALUES ('0', 'System default', '%NOW%', '%NOW%', '%NOW%', 0, 0, 1);

INSERT INTO {dc_sites.sites_properties} (Site_Id, Name, Value, CDate)
VALUES ('0', 'PROCESS_CTYPES', 'text/html,text/xml,application/rss+xml,text/json', '%NOW%');

INSERT INTO {dc_sites.sites_filters} (Site_Id, Pattern, OperationCode, Stage, Action, Type, CDate)
VALUES ('0', 'htt(.*)', 0, 0, 1, 1, '%NOW%'),
  ('0', '%TYPE%<>6 AND %STATUS%=4 AND %STATE%=0 AND %CRAWLED%>0 AND %SIZE%>0 AND (%ERRORMASK% & 4198399)=0 AND %CONTENTTYPE% IN (''text/html'', ''text/xml'', ''application/rss+xml'', ''text/json'') AND %HTTPCODE%=200',
   7, 7, 1, 1, '%NOW%');
