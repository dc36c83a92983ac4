-- The tables of one site, %SITE% (docs/spec/storage.md 1.5, 1.8).
CREATE TABLE {urls}.urls_%SITE% (
  Site_Id varchar(32) NOT NULL DEFAULT '',
  URL varchar(4096) NOT NULL DEFAULT '',
  Type tinyint(3) unsigned NOT NULL DEFAULT 0,
  State tinyint(3) unsigned NOT NULL DEFAULT 0,
  Status tinyint(3) unsigned NOT NULL DEFAULT 1,
  Crawled bigint(20) unsigned NOT NULL DEFAULT 0,
  Processed bigint(20) unsigned NOT NULL DEFAULT 0,
  URLMd5 varchar(32) NOT NULL DEFAULT '',
  ContentType varchar(32) NOT NULL DEFAULT '',
  RequestDelay bigint(20) unsigned NOT NULL DEFAULT 500,
  ProcessingDelay bigint(20) unsigned NOT NULL DEFAULT 1000,
  HTTPTimeout double NOT NULL DEFAULT 30000,
  Charset varchar(32) NOT NULL DEFAULT '',
  Batch_Id int(10) unsigned NOT NULL DEFAULT 0,
  ErrorMask bigint(20) unsigned DEFAULT 0,
  CrawlingTime bigint(20) unsigned NOT NULL DEFAULT 0,
  ProcessingTime bigint(20) unsigned NOT NULL DEFAULT 0,
  TotalTime bigint(20) unsigned NOT NULL DEFAULT 0,
  HTTPCode int(10) unsigned NOT NULL DEFAULT 0,
  HTTPMethod varchar(10) NOT NULL DEFAULT '',
  Size bigint(20) unsigned NOT NULL DEFAULT 0,
  LinksI bigint(20) unsigned NOT NULL DEFAULT 0,
  LinksE bigint(20) unsigned NOT NULL DEFAULT 0,
  Freq bigint(20) unsigned NOT NULL DEFAULT 0,
  Depth bigint(20) unsigned NOT NULL DEFAULT 0,
  RawContentMd5 varchar(32) NOT NULL DEFAULT '',
  ParentMd5 varchar(32) NOT NULL DEFAULT '',
  LastModified datetime DEFAULT NULL,
  ETag varchar(32) NOT NULL DEFAULT '',
  MRate float(10,8) NOT NULL DEFAULT 0,
  MRateCounter bigint(20) NOT NULL DEFAULT 0,
  UDate datetime DEFAULT NULL,
  CDate timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  TcDate datetime DEFAULT NULL,
  MaxURLsFromPage bigint(20) unsigned NOT NULL DEFAULT 200,
  TagsMask bigint(20) unsigned DEFAULT 0,
  TagsCount bigint(20) unsigned NOT NULL DEFAULT 0,
  PDate datetime DEFAULT NULL,
  ContentURLMd5 varchar(32) NOT NULL DEFAULT '',
  Priority int(10) unsigned NOT NULL DEFAULT 0,
  ClassifierMask bigint(20) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (URLMd5)
) ENGINE=MyISAM DEFAULT CHARSET=utf8;
CREATE TABLE {urls_deleted}.urls_%SITE% LIKE {urls}.urls_%SITE%;
ALTER TABLE {urls_deleted}.urls_%SITE% DROP PRIMARY KEY, ADD KEY (URLMd5);
CREATE TABLE {attributes}.att_%SITE% (
  Id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  Name varchar(32) NOT NULL DEFAULT '',
  URLMd5 varchar(32) NOT NULL DEFAULT '',
  Value longblob NOT NULL,
  CDate timestamp NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (Id),
  UNIQUE KEY (Name, URLMd5)
) ENGINE=MyISAM DEFAULT CHARSET=utf8;
CREATE TABLE {stat_freqs}.freq_%SITE% (
  URLMd5 varchar(32) NOT NULL DEFAULT '',
  FIns bigint(20) unsigned NOT NULL DEFAULT 0,
  FDel bigint(20) unsigned NOT NULL DEFAULT 0,
  FUpd bigint(20) unsigned NOT NULL DEFAULT 0,
  FNew bigint(20) unsigned NOT NULL DEFAULT 0,
  FCrawled bigint(20) unsigned NOT NULL DEFAULT 0,
  FProcessed bigint(20) unsigned NOT NULL DEFAULT 0,
  FAged bigint(20) unsigned NOT NULL DEFAULT 0,
  FDeleted bigint(20) unsigned NOT NULL DEFAULT 0,
  FPurged bigint(20) unsigned NOT NULL DEFAULT 0,
  CDate timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  MDate datetime DEFAULT NULL,
  PRIMARY KEY (URLMd5)
) ENGINE=MyISAM DEFAULT CHARSET=utf8;
CREATE TABLE {stat_logs}.log_%SITE% (
  URLMd5 varchar(32) NOT NULL DEFAULT '',
  OpCode tinyint(3) unsigned NOT NULL DEFAULT 20,
  Object text NOT NULL,
  CDate timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  ODate datetime DEFAULT NULL,
  KEY (URLMd5)
) ENGINE=MyISAM DEFAULT CHARSET=utf8;
CREATE TABLE {contents}.contents_%SITE% (
  id varchar(32) NOT NULL DEFAULT '',
  data longblob NOT NULL,
  CDate timestamp NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id)
) ENGINE=MyISAM DEFAULT CHARSET=utf8;
