package wire

import (
	"hce/dc/internal/wire/errormask"
)

// Conditions of rows that wait for work, in the MySQL dialect: the defaults of dc-daemon.ini
// (docs/spec/daemon.md 2.3, 2.12). A site whose PROCESS_CTYPES is text/html alone, as that of
// a site that was created by itself, leaves other types as they are. All other sites have pages
// of all types processed or marked.
const (
	DueCrawl   = "`Status`=1 AND `State`=0"
	DueProcess = "`Status`=4 AND `State`=0 AND `Type`<>6 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND " + PageCodes + " AND (`ContentType` IN ('text/html','application/xhtml+xml','text/json') OR IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`='%SITE_ID%' AND `Name`='PROCESS_CTYPES' LIMIT 1), '*') <> 'text/html')"
	// ProcessingDelayOver adds to DueProcess that processingDelay has passed since the row changed
	// last, which is its crawl. Dates have whole seconds, so it waits up to a second too long, and
	// never too short. A row without a date, or with one in the future, does not wait.
	ProcessingDelayOver = "(`ProcessingDelay`=0 OR IFNULL(TIMESTAMPDIFF(SECOND,`TcDate`,NOW()),-1)<0 OR TIMESTAMPDIFF(SECOND,`TcDate`,NOW())*1000-1000>=`ProcessingDelay`)"
	// PageCodes are the answers whose body is a page, as IsPageCode has them.
	PageCodes = "`HTTPCode` BETWEEN 200 AND 300 AND `HTTPCode` NOT IN (204,205,206)"
	// ContentCodes are the answers after which a row has the content of that answer, or the same one as
	// before (304), as HasContentCode has them.
	ContentCodes = "(" + PageCodes + " OR `HTTPCode`=304)"
	// FetchedPage are the rows that have the content of a page. A page that is due again, or being fetched,
	// still has the content of its last fetch.
	FetchedPage = "`State`=0 AND `Crawled`>0 AND " + ContentCodes + " AND " + PageWhere
	// FinishedRow are the rows that no batch holds and that are not going to be processed.
	FinishedRow = "`Status` IN (4,7) AND NOT (" + DueProcess + ")"
	// Paused are rows that wait for their RetryDate.
	Paused = DueCrawl + " AND `RetryDate` > NOW()"
	// ModesFlag and a bit are the work that a site allows: 1 crawling, 2 processing, 8 recrawling, 16 aging.
	ModesFlag = "IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & "
	// CrawledSites and ProcessedSites are those of which batches take rows.
	CrawledSites   = "`State`=1 AND " + ModesFlag + "1 > 0"
	ProcessedSites = "`State`=1 AND " + ModesFlag + "2 > 0"
	// DueRecrawl are sites whose recrawl date has passed, NextRecrawl is the date that follows: the second next point of a grid of
	// periods from midnight, one to two periods ahead, at the same times for all sites with that period. RecrawlURLs are
	// the rows that are fetched again then (docs/spec/daemon.md 2.14).
	DueRecrawl  = ModesFlag + "8 > 0 AND `RecrawlDate` IS NOT NULL AND `RecrawlDate`<=NOW()"
	NextRecrawl = "DATE_ADD(CURDATE(), INTERVAL (CEIL(TIME_TO_SEC(CURTIME())/(60*`RecrawlPeriod`))+1)*`RecrawlPeriod` MINUTE)"
	RecrawlURLs = "`ParentMd5`=''"
	// InFlight are rows that a running batch holds.
	InFlight = "`Status` IN (2,3,5,6,8)"
)

// IsPageCode reports whether the body of an answer with this HTTP code is the page: 200, and what
// servers and proxies send with a whole page instead, such as 203. Codes of 2xx that RFC 9110 does
// not know count as 200 (RFC 9110 15). 204 and 205 have no body, 206 has a part of it.
func IsPageCode(code int64) bool {
	return code >= 200 && code <= 300 && (code < 204 || code > 206)
}

// HasContentCode reports whether the content of a row is that of an answer with this HTTP code: that of a
// page, or 304.
func HasContentCode(code int64) bool { return IsPageCode(code) || code == 304 }

// FailedFetch are the bits of a fetch that failed (docs/errors.md).
const FailedFetch errormask.Mask = 4198399
