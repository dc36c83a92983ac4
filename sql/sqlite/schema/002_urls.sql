-- The rows of all sites (docs/spec/storage.md 1.5, 1.8) and the triggers for the counters of
-- their sites (docs/spec/storage.md 4.0.4, docs/spec/DECISIONS.md 5.6). Rows with Status 4 and Crawled 0
-- belong to another node.
--
-- The specification has one table for each site. SQLite reads the whole schema when it opens
-- a file, which takes half a second for a thousand sites. Here the site is the first column of
-- each key.

CREATE TABLE {dc_urls.urls} (
  Site_Id         TEXT NOT NULL,
  URL             TEXT NOT NULL DEFAULT '',
  Type            INTEGER NOT NULL DEFAULT 0,
  State           INTEGER NOT NULL DEFAULT 0,
  Status          INTEGER NOT NULL DEFAULT 1,
  Crawled         INTEGER NOT NULL DEFAULT 0,
  Processed       INTEGER NOT NULL DEFAULT 0,
  URLMd5          TEXT NOT NULL,
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
  Attempts        INTEGER NOT NULL DEFAULT 0,  -- ours: batches that lost the row, since it last left one
  UNIQUE (Site_Id, URLMd5)
);
-- Rows in the order of the daemon: roots first, Priority, Depth, UDate (a fetch by Status and
-- State), and rows in a batch (urls_in_work).
CREATE INDEX {dc_urls.urls.status} ON {dc_urls.urls}
  (Site_Id, Status, State, octet_length(ParentMd5), Priority DESC, Depth, UDate DESC);
-- Rows in the default order of URL_FETCH (a fetch without a condition).
CREATE INDEX {dc_urls.urls.cdate} ON {dc_urls.urls} (Site_Id, CDate);
-- Rows with error bits, to compute the error mask of the site (site_mask_above).
CREATE INDEX {dc_urls.urls.errors} ON {dc_urls.urls} (Site_Id, ErrorMask, Status, Crawled) WHERE ErrorMask <> 0;

CREATE TRIGGER {dc_urls.urls.inserted} AFTER INSERT ON {dc_urls.urls} BEGIN
  UPDATE {dc_sites.sites} SET
    Resources = Resources + (NEW.Status = 4 AND NEW.Crawled > 0 AND NEW.Size > 0 AND (NEW.ErrorMask & 4198399) = 0 AND NEW.ContentType = 'text/html' COLLATE NOCASE),
    Contents = Contents + (NEW.Status = 7 AND NEW.TagsCount > 0 AND NEW.Processed > 0),
    CollectedURLs = CollectedURLs + (NEW.ParentMd5 <> '' AND (NEW.Status <> 4 OR NEW.Crawled <> 0)),
    NewURLs = NewURLs + (NEW.Status = 1),
    Size = Size + NEW.Size * (NEW.Status <> 4 OR NEW.Crawled <> 0),
    Errors = Errors + (NEW.ErrorMask <> 0 AND (NEW.Status <> 4 OR NEW.Crawled <> 0)),
    SpeedSum = SpeedSum + IIF(NEW.CrawlingTime > 0 AND (NEW.Status <> 4 OR NEW.Crawled <> 0), NEW.Size * 1000 / NEW.CrawlingTime, 0),
    AVGSpeedCounter = AVGSpeedCounter + (NEW.CrawlingTime > 0 AND (NEW.Status <> 4 OR NEW.Crawled <> 0)),
    OwnURLs = OwnURLs + (NEW.Status <> 4 OR NEW.Crawled <> 0),
    InFlight = InFlight + (NEW.Status IN (2, 3, 8)),
    InProcess = InProcess + (NEW.Status IN (5, 6)),
    ErrorMask = ErrorMask | (NEW.ErrorMask * (NEW.Status <> 4 OR NEW.Crawled <> 0))
  WHERE Id = NEW.Site_Id;
END;

CREATE TRIGGER {dc_urls.urls.deleted} AFTER DELETE ON {dc_urls.urls} BEGIN
  UPDATE {dc_sites.sites} SET
    Resources = Resources - (OLD.Status = 4 AND OLD.Crawled > 0 AND OLD.Size > 0 AND (OLD.ErrorMask & 4198399) = 0 AND OLD.ContentType = 'text/html' COLLATE NOCASE),
    Contents = Contents - (OLD.Status = 7 AND OLD.TagsCount > 0 AND OLD.Processed > 0),
    CollectedURLs = CollectedURLs - (OLD.ParentMd5 <> '' AND (OLD.Status <> 4 OR OLD.Crawled <> 0)),
    NewURLs = NewURLs - (OLD.Status = 1),
    Size = Size - OLD.Size * (OLD.Status <> 4 OR OLD.Crawled <> 0),
    Errors = Errors - (OLD.ErrorMask <> 0 AND (OLD.Status <> 4 OR OLD.Crawled <> 0)),
    SpeedSum = SpeedSum - IIF(OLD.CrawlingTime > 0 AND (OLD.Status <> 4 OR OLD.Crawled <> 0), OLD.Size * 1000 / OLD.CrawlingTime, 0),
    AVGSpeedCounter = AVGSpeedCounter - (OLD.CrawlingTime > 0 AND (OLD.Status <> 4 OR OLD.Crawled <> 0)),
    OwnURLs = OwnURLs - (OLD.Status <> 4 OR OLD.Crawled <> 0),
    InFlight = InFlight - (OLD.Status IN (2, 3, 8)),
    InProcess = InProcess - (OLD.Status IN (5, 6)),
    MaskStale = MaskStale OR OLD.ErrorMask <> 0
  WHERE Id = OLD.Site_Id;
END;

CREATE TRIGGER {dc_urls.urls.updated}
AFTER UPDATE OF Status, Crawled, Processed, Size, ErrorMask, ContentType, TagsCount, ParentMd5, CrawlingTime ON {dc_urls.urls} BEGIN
  UPDATE {dc_sites.sites} SET
    Resources = Resources + (NEW.Status = 4 AND NEW.Crawled > 0 AND NEW.Size > 0 AND (NEW.ErrorMask & 4198399) = 0 AND NEW.ContentType = 'text/html' COLLATE NOCASE) - (OLD.Status = 4 AND OLD.Crawled > 0 AND OLD.Size > 0 AND (OLD.ErrorMask & 4198399) = 0 AND OLD.ContentType = 'text/html' COLLATE NOCASE),
    Contents = Contents + (NEW.Status = 7 AND NEW.TagsCount > 0 AND NEW.Processed > 0) - (OLD.Status = 7 AND OLD.TagsCount > 0 AND OLD.Processed > 0),
    CollectedURLs = CollectedURLs + (NEW.ParentMd5 <> '' AND (NEW.Status <> 4 OR NEW.Crawled <> 0)) - (OLD.ParentMd5 <> '' AND (OLD.Status <> 4 OR OLD.Crawled <> 0)),
    NewURLs = NewURLs + (NEW.Status = 1) - (OLD.Status = 1),
    Size = Size + NEW.Size * (NEW.Status <> 4 OR NEW.Crawled <> 0) - OLD.Size * (OLD.Status <> 4 OR OLD.Crawled <> 0),
    Errors = Errors + (NEW.ErrorMask <> 0 AND (NEW.Status <> 4 OR NEW.Crawled <> 0)) - (OLD.ErrorMask <> 0 AND (OLD.Status <> 4 OR OLD.Crawled <> 0)),
    SpeedSum = SpeedSum + IIF(NEW.CrawlingTime > 0 AND (NEW.Status <> 4 OR NEW.Crawled <> 0), NEW.Size * 1000 / NEW.CrawlingTime, 0) - IIF(OLD.CrawlingTime > 0 AND (OLD.Status <> 4 OR OLD.Crawled <> 0), OLD.Size * 1000 / OLD.CrawlingTime, 0),
    AVGSpeedCounter = AVGSpeedCounter + (NEW.CrawlingTime > 0 AND (NEW.Status <> 4 OR NEW.Crawled <> 0)) - (OLD.CrawlingTime > 0 AND (OLD.Status <> 4 OR OLD.Crawled <> 0)),
    OwnURLs = OwnURLs + (NEW.Status <> 4 OR NEW.Crawled <> 0) - (OLD.Status <> 4 OR OLD.Crawled <> 0),
    InFlight = InFlight + (NEW.Status IN (2, 3, 8)) - (OLD.Status IN (2, 3, 8)),
    InProcess = InProcess + (NEW.Status IN (5, 6)) - (OLD.Status IN (5, 6)),
    ErrorMask = ErrorMask | (NEW.ErrorMask * (NEW.Status <> 4 OR NEW.Crawled <> 0)),
    MaskStale = MaskStale OR ((OLD.ErrorMask * (OLD.Status <> 4 OR OLD.Crawled <> 0)) & ~(NEW.ErrorMask * (NEW.Status <> 4 OR NEW.Crawled <> 0))) <> 0
  WHERE Id = NEW.Site_Id;
END;

-- Rows that wait for URL_PURGE. A URL may occur several times (docs/spec/storage.md 1.5).
CREATE TABLE {dc_urls_deleted.urls} (
  Site_Id         TEXT NOT NULL,
  URL             TEXT NOT NULL DEFAULT '',
  Type            INTEGER NOT NULL DEFAULT 0,
  State           INTEGER NOT NULL DEFAULT 0,
  Status          INTEGER NOT NULL DEFAULT 1,
  Crawled         INTEGER NOT NULL DEFAULT 0,
  Processed       INTEGER NOT NULL DEFAULT 0,
  URLMd5          TEXT NOT NULL,
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
  Attempts        INTEGER NOT NULL DEFAULT 0  -- ours: batches that lost the row, since it last left one
);
-- Copies of one URL (URL_PURGE).
CREATE INDEX {dc_urls_deleted.urls.md5} ON {dc_urls_deleted.urls} (Site_Id, URLMd5);

CREATE TRIGGER {dc_urls_deleted.urls.inserted} AFTER INSERT ON {dc_urls_deleted.urls} BEGIN
  UPDATE {dc_sites.sites} SET DeletedURLs = DeletedURLs + 1 WHERE Id = NEW.Site_Id;
END;

CREATE TRIGGER {dc_urls_deleted.urls.deleted} AFTER DELETE ON {dc_urls_deleted.urls} BEGIN
  UPDATE {dc_sites.sites} SET DeletedURLs = DeletedURLs - 1 WHERE Id = OLD.Site_Id;
END;

CREATE TABLE {dc_contents.contents} (
  Site_Id TEXT NOT NULL,
  id      TEXT NOT NULL,
  data    BLOB NOT NULL,
  CDate   TEXT,
  PRIMARY KEY (Site_Id, id)
);

CREATE TABLE {dc_attributes.att} (
  Id      INTEGER PRIMARY KEY,
  Site_Id TEXT NOT NULL,
  Name    TEXT NOT NULL DEFAULT '',
  URLMd5  TEXT NOT NULL DEFAULT '',
  Value   BLOB NOT NULL,
  CDate   TEXT,
  UNIQUE (Site_Id, URLMd5, Name)
);

CREATE TABLE {dc_stat_freqs.freq} (
  Site_Id    TEXT NOT NULL,
  URLMd5     TEXT NOT NULL,
  FIns       INTEGER NOT NULL DEFAULT 0,
  FDel       INTEGER NOT NULL DEFAULT 0,
  FUpd       INTEGER NOT NULL DEFAULT 0,
  FNew       INTEGER NOT NULL DEFAULT 0,
  FCrawled   INTEGER NOT NULL DEFAULT 0,
  FProcessed INTEGER NOT NULL DEFAULT 0,
  FAged      INTEGER NOT NULL DEFAULT 0,
  FDeleted   INTEGER NOT NULL DEFAULT 0,
  FPurged    INTEGER NOT NULL DEFAULT 0,
  CDate      TEXT NOT NULL,
  MDate      TEXT,
  PRIMARY KEY (Site_Id, URLMd5)
) WITHOUT ROWID;

CREATE TABLE {dc_stat_logs.log} (
  Site_Id TEXT NOT NULL,
  URLMd5  TEXT NOT NULL DEFAULT '',
  OpCode  INTEGER NOT NULL DEFAULT 20,
  Object  TEXT NOT NULL,
  CDate   TEXT NOT NULL,
  ODate   TEXT
);
-- The journal of one URL (URL_HISTORY).
CREATE INDEX {dc_stat_logs.log.md5} ON {dc_stat_logs.log} (Site_Id, URLMd5);
