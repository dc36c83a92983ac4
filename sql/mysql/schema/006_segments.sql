-- Not in the specification: raw contents in segment files (package segments). A row is one run
-- of WARC records: the contents of one fetch of a URL.
CREATE TABLE IF NOT EXISTS {dc_sites.raw_records} (
  Site_Id VARCHAR(32) NOT NULL,
  URLMd5  CHAR(32) NOT NULL,
  Name    VARCHAR(64) NOT NULL COMMENT 'as in the name of a raw file: time of the fetch, or label',
  Part    INT UNSIGNED NOT NULL COMMENT '0, or more if contents were added later',
  At      BIGINT NOT NULL COMMENT 'time of the fetch (ms since 1970)',
  Kinds   INT UNSIGNED NOT NULL COMMENT 'bit 1 << kind for each content that counts',
  Segment BIGINT UNSIGNED NOT NULL,
  Start   BIGINT UNSIGNED NOT NULL COMMENT 'offset in the segment',
  Bytes   BIGINT UNSIGNED NOT NULL,
  Digest  BIGINT UNSIGNED NOT NULL COMMENT 'CRC-32C of the run',
  PRIMARY KEY (Site_Id, URLMd5, Name, Part)
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;

CREATE TABLE IF NOT EXISTS {dc_sites.raw_segments} (
  Id    BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'the file is .segments/<Id>.warc',
  Size  BIGINT NOT NULL COMMENT 'end of the last committed run; the next writer removes the rest',
  Live  BIGINT NOT NULL COMMENT 'bytes of runs in raw_records',
  Taken BIGINT NOT NULL DEFAULT 0 COMMENT 'how often a process began to write it'
) ENGINE = InnoDB DEFAULT CHARACTER SET ascii COLLATE ascii_bin;
