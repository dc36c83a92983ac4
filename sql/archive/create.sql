-- The versions of all files in the archive. commits has one row for each crawl of a domain, pages one
-- for each file in each crawl. Times are CET, as in data.xml, with a blank instead of the T.
CREATE TABLE IF NOT EXISTS commits (
  number     INTEGER PRIMARY KEY, -- grows with each commit
  commitTag  TEXT NOT NULL UNIQUE,
  domain     TEXT NOT NULL,
  commitTime TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS commits_domain ON commits (domain, number);
CREATE TABLE IF NOT EXISTS pages (
  number     INTEGER NOT NULL REFERENCES commits (number),
  url        TEXT NOT NULL,
  mimeType   TEXT NOT NULL,
  title      TEXT NOT NULL,
  path       TEXT NOT NULL,
  domain     TEXT NOT NULL,
  commitTime TEXT NOT NULL,
  createTime TEXT NOT NULL,
  commitTag  TEXT NOT NULL,
  keptFrom   TEXT NOT NULL DEFAULT '', -- not '': this crawl could not fetch the file, the content is of that one
  keptCause  TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (url, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pages_commit ON pages (commitTag);
CREATE INDEX IF NOT EXISTS pages_domain ON pages (domain, commitTime);
