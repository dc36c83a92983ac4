-- Sites and their lists (docs/spec/storage.md 1.1-1.4, 1.6). Row_Id orders the rows of a list by
-- insertion. A killed step runs again, because MySQL commits at each statement here.

CREATE TABLE IF NOT EXISTS {dc_sites.sites} (
  Id              VARCHAR(32) NOT NULL PRIMARY KEY,
  Description     VARCHAR(1024) NOT NULL DEFAULT '',
  CDate           DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  UDate           DATETIME DEFAULT NULL,
  TcDate          DATETIME DEFAULT NULL,
  TcDateProcess   DATETIME DEFAULT NULL,
  Resources       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Contents        BIGINT UNSIGNED NOT NULL DEFAULT 0,
  CollectedURLs   BIGINT UNSIGNED NOT NULL DEFAULT 0,
  NewURLs         BIGINT UNSIGNED NOT NULL DEFAULT 0,
  DeletedURLs     BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Iterations      INT UNSIGNED NOT NULL DEFAULT 0,
  State           TINYINT UNSIGNED NOT NULL DEFAULT 1,
  Priority        INT UNSIGNED NOT NULL DEFAULT 0,
  MaxURLs         BIGINT UNSIGNED NOT NULL DEFAULT 0,
  MaxURLsFromPage BIGINT UNSIGNED NOT NULL DEFAULT 200,
  MaxResources    BIGINT UNSIGNED NOT NULL DEFAULT 0,
  MaxErrors       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  MaxResourceSize BIGINT UNSIGNED NOT NULL DEFAULT 0,
  RequestDelay    BIGINT UNSIGNED NOT NULL DEFAULT 500,
  ProcessingDelay BIGINT UNSIGNED NOT NULL DEFAULT 1000,
  HTTPTimeout     DOUBLE NOT NULL DEFAULT 30000,
  ErrorMask       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Errors          BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Size            BIGINT UNSIGNED NOT NULL DEFAULT 0,
  SpeedSum        BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: of Size * 1000 / CrawlingTime, rows of this node',
  AVGSpeedCounter BIGINT UNSIGNED NOT NULL DEFAULT 0,
  AVGSpeed        BIGINT UNSIGNED GENERATED ALWAYS AS (CASE WHEN AVGSpeedCounter > 0 THEN SpeedSum DIV AVGSpeedCounter ELSE 0 END) VIRTUAL,
  URLType         TINYINT UNSIGNED NOT NULL DEFAULT 0,
  User_Id         BIGINT UNSIGNED NOT NULL DEFAULT 1,
  RecrawlPeriod   INT UNSIGNED NOT NULL DEFAULT 0,
  RecrawlDate     DATETIME DEFAULT NULL,
  FetchType       TINYINT UNSIGNED NOT NULL DEFAULT 1,
  Category_Id     INT UNSIGNED NOT NULL DEFAULT 1,
  RecrawlLock     TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: the re-crawl lock is not a state',
  OwnURLs         BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: rows of this node',
  InFlight        BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: rows in Status 2, 3, 8',
  InProcess       BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: rows in Status 5, 6',
  MaskStale       TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: a row lost bits that ErrorMask may still have',
  SiteMask        BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'ours: bits that are of no row'
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

CREATE TABLE IF NOT EXISTS {dc_sites.sites_filters} (
  Site_Id       VARCHAR(32) DEFAULT '0',
  Pattern       TEXT NOT NULL,
  Subject       TEXT NOT NULL,
  OperationCode INT UNSIGNED NOT NULL DEFAULT 0,
  Stage         INT UNSIGNED NOT NULL DEFAULT 0,
  Action        INT NOT NULL DEFAULT 0,
  Type          TINYINT UNSIGNED NOT NULL DEFAULT 0,
  UDate         DATETIME DEFAULT NULL,
  CDate         DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  Mode          INT UNSIGNED NOT NULL DEFAULT 0,
  State         TINYINT UNSIGNED NOT NULL DEFAULT 1,
  Group_Id      INT UNSIGNED NOT NULL DEFAULT 0,
  Row_Id        BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  KEY site (Site_Id, Row_Id) COMMENT 'the lists of one site'
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

CREATE TABLE IF NOT EXISTS {dc_sites.sites_properties} (
  Site_Id VARCHAR(32) NOT NULL DEFAULT '0',
  URLMd5  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  Name    VARCHAR(255) NOT NULL DEFAULT '',
  Value   MEDIUMTEXT NOT NULL,
  UDate   DATETIME DEFAULT NULL,
  CDate   DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  Row_Id  BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  KEY site (Site_Id, Name) COMMENT 'the lists of one site, and one property of it'
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

CREATE TABLE IF NOT EXISTS {dc_sites.sites_urls} (
  Site_Id         VARCHAR(32) NOT NULL DEFAULT '0',
  URL             VARCHAR(4096) NOT NULL DEFAULT '',
  Type            TINYINT UNSIGNED NOT NULL DEFAULT 0,
  State           TINYINT UNSIGNED NOT NULL DEFAULT 0,
  Status          TINYINT UNSIGNED NOT NULL DEFAULT 1,
  Crawled         BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Processed       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  URLMd5          VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  ContentType     VARCHAR(255) NOT NULL DEFAULT '',
  RequestDelay    BIGINT UNSIGNED NOT NULL DEFAULT 500,
  ProcessingDelay BIGINT UNSIGNED NOT NULL DEFAULT 1000,
  HTTPTimeout     DOUBLE NOT NULL DEFAULT 30000,
  Charset         VARCHAR(64) NOT NULL DEFAULT '',
  Batch_Id        BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ErrorMask       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  CrawlingTime    BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ProcessingTime  BIGINT UNSIGNED NOT NULL DEFAULT 0,
  TotalTime       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  HTTPCode        INT UNSIGNED NOT NULL DEFAULT 0,
  HTTPMethod      VARCHAR(16) NOT NULL DEFAULT '',
  Size            BIGINT UNSIGNED NOT NULL DEFAULT 0,
  LinksI          BIGINT UNSIGNED NOT NULL DEFAULT 0,
  LinksE          BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Freq            BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Depth           BIGINT UNSIGNED NOT NULL DEFAULT 0,
  RawContentMd5   VARCHAR(32) NOT NULL DEFAULT '',
  ParentMd5       VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  LastModified    DATETIME DEFAULT NULL,
  ETag            VARCHAR(255) NOT NULL DEFAULT '',
  MRate           DOUBLE NOT NULL DEFAULT 0,
  MRateCounter    BIGINT NOT NULL DEFAULT 0,
  UDate           DATETIME DEFAULT NULL,
  CDate           DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  TcDate          DATETIME DEFAULT NULL,
  MaxURLsFromPage BIGINT UNSIGNED NOT NULL DEFAULT 200,
  TagsMask        BIGINT UNSIGNED NOT NULL DEFAULT 0,
  TagsCount       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  PDate           DATETIME DEFAULT NULL,
  ContentURLMd5   VARCHAR(32) NOT NULL DEFAULT '',
  Priority        INT UNSIGNED NOT NULL DEFAULT 0,
  ClassifierMask  BIGINT UNSIGNED NOT NULL DEFAULT 0,
  User_Id         BIGINT UNSIGNED NOT NULL DEFAULT 0,
  Row_Id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  PRIMARY KEY (Site_Id, URLMd5),
  KEY place (Row_Id) COMMENT 'AUTO_INCREMENT wants one',
  KEY md5 (URLMd5, Site_Id) COMMENT 'the site of a URL, by the keys of its beginnings: URL_NEW'
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

-- Files to remove after a commit: files of one URL, or of the whole site if URLMd5 is ''.
CREATE TABLE IF NOT EXISTS {dc_sites.trash} (
  Id      BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  Site_Id VARCHAR(32) NOT NULL,
  URLMd5  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

-- Tables of sites to drop after a commit.
CREATE TABLE IF NOT EXISTS {dc_sites.dropped} (
  Site_Id   VARCHAR(32) NOT NULL,
  Base_Name VARCHAR(64) NOT NULL COMMENT 'database, by its name in the specification',
  PRIMARY KEY (Site_Id, Base_Name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

-- The general site: URLs without another site (docs/spec/storage.md 1.1-1.3).
INSERT INTO {dc_sites.sites_properties} (Site_Id, Name, Value, CDate)
SELECT '0', 'PROCESS_CTYPES', 'text/html,text/xml,application/rss+xml,text/json', '%NOW%'
FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM {dc_sites.sites} WHERE Id = '0');

INSERT INTO {dc_sites.sites_filters} (Site_Id, Pattern, Subject, OperationCode, Stage, Action, Type, CDate)
SELECT '0', 'htt(.*)', '', 0, 0, 1, 1, '%NOW%'
FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM {dc_sites.sites} WHERE Id = '0');

INSERT INTO {dc_sites.sites_filters} (Site_Id, Pattern, Subject, OperationCode, Stage, Action, Type, CDate)
SELECT '0', '%TYPE%<>6 AND %STATUS%=4 AND %STATE%=0 AND %CRAWLED%>0 AND %SIZE%>0 AND (%ERRORMASK% & 4198399)=0 AND %CONTENTTYPE% IN (''text/html'', ''text/xml'', ''application/rss+xml'', ''text/json'') AND %HTTPCODE%=200',
  '', 7, 7, 1, 1, '%NOW%'
FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM {dc_sites.sites} WHERE Id = '0');

INSERT INTO {dc_sites.sites} (Id, Description, CDate, UDate, TcDate, RequestDelay, ProcessingDelay, URLType)
SELECT '0', 'System default', '%NOW%', '%NOW%', '%NOW%', 0, 0, 1
FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM {dc_sites.sites} AS s WHERE s.Id = '0');
