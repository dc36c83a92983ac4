-- Awkward rows. The server is in Berlin: its session is at +01:00, and dates are
-- those of a January, so that a DATETIME of 11:00 is 10:00 UTC.
INSERT INTO {sites}.sites (Id, Description, CDate, UDate, State, URLType, Priority) VALUES
  ('0', 'System default', '2014-01-01 11:00:00', '2014-01-02 11:00:00', 1, 1, 0),
  ('news', 'Zeitung für München', '2014-01-05 11:00:00', '2014-01-06 11:00:00', 1, 0, 7),
  ('5d41402abc4b2a76b9719d911017c592', 'made by itself', '2014-01-05 11:00:00', NULL, 3, 0, 0),
  ('locked', '', '2014-01-05 11:00:00', '0000-00-00 00:00:00', 4, 0, 0),
  ('bad/../id', 'no id', '2014-01-05 11:00:00', NULL, 1, 0, 0),
  ('mine', 'is here already', '2014-01-05 11:00:00', NULL, 1, 0, 0);
UPDATE {sites}.sites SET Resources = 99, NewURLs = 99, ErrorMask = 1024, MaxResourceSize = 18446744073709551615, Size = 5 WHERE Id = 'news';
INSERT INTO {sites}.sites_filters (Site_Id, Pattern, OperationCode, Stage, Action, Type, UDate) VALUES
  ('0', 'htt(.*)', 0, 0, 1, 1, NULL),
  ('news', 'ü(.*)', 0, 5, -1, 0, '2014-01-05 11:00:00'),
  (NULL, 'of nobody', 0, 5, 1, 1, NULL);
INSERT INTO {sites}.sites_properties (Site_Id, URLMd5, Name, Value) VALUES
  ('0', '', 'PROCESS_CTYPES', 'text/html,text/xml'),
  ('0', '', 'PROCESS_CTYPES', 'text/html'),
  ('0', '', 'STORE_HTTP_REQUEST', '1'),
  ('0', '', 'PROCESS_CTYPES', 'text/html'),
  ('0', '', 'STORE_HTTP_REQUEST', '1'),
  ('news', '', 'PROCESS_CTYPES', 'text/html'),
  ('news', '', 'HTTP_HEADERS', 'a'),
  ('news', '', 'HTTP_HEADERS', 'b'),
  ('news', 'no md5', 'HTTP_COOKIE', 'c'),
  ('locked', '', 'MODES_FLAG', '3');
INSERT INTO {sites}.sites_urls (Site_Id, URL, URLMd5, User_Id, CDate) VALUES
  ('news', 'http://news.test/', MD5('http://news.test/'), 3, '2014-01-05 11:00:00'),
  ('news', 'http://news.test/late', '', 3, '2014-01-05 11:00:01');
INSERT INTO {sites}.sites_proxy (Site_Id, Host, CountryCode, CountryName, RegionName, CityName, ZipCode, TimeZone, Latitude, Longitude, MetroCode, Category_Id, UDate)
  VALUES ('*', 'proxy:3128', '', '', '', '', '', '', 0, 0, 0, 0, '2014-01-05 11:00:00'),
    ('news', 'proxy:3128', 'DE', '', '', 'Köln', '', '', 50.9, 6.9, 0, 0, '0000-00-00 00:00:00'),
    ('*', 'PROXY:3128', '', '', '', '', '', '', 0, 0, 0, 0, '2014-01-05 11:00:00'),
    ('a/b', 'proxy:3128', '', '', '', '', '', '', 0, 0, 0, 0, '2014-01-05 11:00:00');
INSERT INTO {urls}.urls_0 (Site_Id, URL, URLMd5) VALUES ('0', 'http://one.test/', MD5('http://one.test/'));
INSERT INTO {attributes}.att_0 (Name, URLMd5, Value) VALUES ('color', MD5('http://one.test/'), 'red');
INSERT INTO {stat_logs}.log_0 (URLMd5, Object) VALUES (MD5('http://one.test/'), '{}');
INSERT INTO {urls}.urls_news (Site_Id, URL, URLMd5, Status, Crawled, State, Size, ErrorMask, ContentType, Batch_Id, UDate, TcDate, CDate, ParentMd5, TagsCount, Processed, CrawlingTime) VALUES
  ('news', 'http://news.test/', MD5('http://news.test/'), 4, 1, 0, 1000, 0, 'text/html', 7, '2014-01-05 11:00:00', '2014-01-05 11:00:00', '2014-01-05 11:00:00', '', 0, 0, 500),
  ('news', 'http://news.test/crawling', MD5('http://news.test/crawling'), 3, 0, 0, 0, 0, '', 7, NULL, '0000-00-00 00:00:00', '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/chosen', MD5('http://news.test/chosen'), 2, 0, 0, 0, 0, '', 7, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/again', MD5('http://news.test/again'), 8, 2, 0, 10, 0, '', 7, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/processing', MD5('http://news.test/processing'), 6, 1, 0, 500, 0, 'text/html', 7, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/to-process', MD5('http://news.test/to-process'), 5, 0, 0, 500, 0, 'text/html', 7, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/done', MD5('http://news.test/done'), 7, 1, 0, 700, NULL, 'text/html', 0, NULL, NULL, '2014-01-05 11:00:00', 'p', 4, 1, 0),
  ('news', 'http://news.test/macro', MD5('http://news.test/macro'), 4, 1, 2, 0, 4295065732, '', 0, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/other-node', MD5('http://news.test/other-node'), 4, 0, 0, 0, 0, '', 0, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/no-key', '', 1, 0, 0, 0, 0, '', 0, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0),
  ('news', 'http://news.test/huge', MD5('http://news.test/huge'), 99, 0, 0, 18446744073709551615, 0, '', 0, '2014-00-00 00:00:00', NULL, '0000-00-00 00:00:00', 'p', 0, 0, 0),
  ('news', CONCAT('http://news.test/', REPEAT('ü', 3000)), MD5('too long'), 1, 0, 0, 0, 0, '', 0, NULL, NULL, '2014-01-05 11:00:00', 'p', 0, 0, 0);
INSERT INTO {urls_deleted}.urls_news (Site_Id, URL, URLMd5, Status) VALUES
  ('news', 'http://news.test/gone', MD5('http://news.test/gone'), 7),
  ('news', 'http://news.test/gone', MD5('http://news.test/gone'), 4),
  ('news', 'http://news.test/gone-too', MD5('http://news.test/gone-too'), 3),
  ('news', '', '', 1);
INSERT INTO {attributes}.att_news (Name, URLMd5, Value, CDate) VALUES
  ('mood', MD5('http://news.test/'), 0x00FF6869, '2014-01-05 11:00:00'),
  ('mood', '', 'of the site', NULL),
  ('mood', 'no md5', 'lost', NULL);
INSERT INTO {stat_freqs}.freq_news (URLMd5, FIns, FCrawled, CDate, MDate) VALUES (MD5('http://news.test/'), 1, 18446744073709551615, '2014-01-05 11:00:00', '2014-01-05 11:00:00'), ('', 1, 1, '2014-01-05 11:00:00', NULL);
INSERT INTO {stat_logs}.log_news (URLMd5, OpCode, Object, CDate, ODate) VALUES
  (MD5('http://news.test/'), 20, '{"first": 1}', '2014-01-05 11:00:00', '2014-01-05 11:00:00'),
  (MD5('http://news.test/'), 4, '{"second": 2}', '2014-01-05 11:00:00', '0000-00-00 00:00:00');
INSERT INTO {contents}.contents_news (id, data, CDate) VALUES
  (MD5('http://news.test/done'), 'eyJkZWZhdWx0Ijp7InRpdGxlIjoiUGFnZSJ9LCJpbnRlcm5hbCI6W10sImN1c3RvbSI6W119', '2014-01-05 11:00:00'),
  ('', 'lost', NULL);
INSERT INTO {urls}.urls_5d41402abc4b2a76b9719d911017c592 (Site_Id, URL, URLMd5) VALUES ('5d41402abc4b2a76b9719d911017c592', 'http://self.test/', MD5('http://self.test/'));
INSERT INTO {urls}.urls_orphan (Site_Id, URL, URLMd5) VALUES ('orphan', 'http://orphan.test/', MD5('http://orphan.test/'));
