-- Not in the specification: raw contents in segment files (package segments). A row is one run
-- of WARC records: the contents of one fetch of a URL.
CREATE TABLE {dc_sites.raw_records} (
  Site_Id TEXT NOT NULL,
  URLMd5  TEXT NOT NULL,
  Name    TEXT NOT NULL,     -- as in the name of a raw file: time of the fetch, or label
  Part    INTEGER NOT NULL,  -- 0, or more if contents were added later
  At      INTEGER NOT NULL,  -- time of the fetch (ms since 1970)
  Kinds   INTEGER NOT NULL,  -- bit 1 << kind for each content that counts
  Segment INTEGER NOT NULL,
  Start   INTEGER NOT NULL,  -- offset in the segment
  Bytes   INTEGER NOT NULL,
  Digest  INTEGER NOT NULL,  -- CRC-32C of the run
  PRIMARY KEY (Site_Id, URLMd5, Name, Part)
) WITHOUT ROWID;

CREATE TABLE {dc_sites.raw_segments} (
  Id    INTEGER PRIMARY KEY AUTOINCREMENT,  -- the file is .segments/<Id>.warc
  Size  INTEGER NOT NULL,                   -- end of the last committed run; the next writer removes the rest
  Live  INTEGER NOT NULL,                   -- bytes of runs in raw_records
  Taken INTEGER NOT NULL DEFAULT 0          -- how often a process began to write it
);
