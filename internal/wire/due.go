package wire

// Conditions of rows that wait for work, in the MySQL dialect: the defaults of dc-daemon.ini
// (docs/spec/daemon.md 2.3, 2.12). A site whose PROCESS_CTYPES is text/html alone, as that of
// a site that was created by itself, leaves other types as they are. All other sites have pages
// of all types processed or marked.
const (
	DueCrawl   = "`Status`=1 AND `State`=0"
	DueProcess = "`Status`=4 AND `State`=0 AND `Type`<>6 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND `HTTPCode`=200 AND (`ContentType` IN ('text/html','application/xhtml+xml','text/json') OR IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`='%SITE_ID%' AND `Name`='PROCESS_CTYPES' LIMIT 1), '*') <> 'text/html')"
	// ProcessingDelayOver adds to DueProcess that processingDelay has passed since the row changed
	// last, which is its crawl. Dates have whole seconds, so it waits up to a second too long, and
	// never too short. A row without a date, or with one in the future, does not wait.
	ProcessingDelayOver = "(`ProcessingDelay`=0 OR IFNULL(TIMESTAMPDIFF(SECOND,`TcDate`,NOW()),-1)<0 OR TIMESTAMPDIFF(SECOND,`TcDate`,NOW())*1000-1000>=`ProcessingDelay`)"
	// InFlight are rows that a running batch holds.
	InFlight = "`Status` IN (2,3,5,6,8)"
)
