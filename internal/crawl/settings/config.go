package settings

import (
	"time"

	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/web/revalidate"
)

// Config holds the settings of crawler-task.ini. An empty folder name turns the feature
// that uses the folder off.
type Config struct {
	Headers          headerrotation.Rule // default request headers
	Cookie           cookies.Property    // default cookie
	RobotsAgent      string              // product token that selects groups of robots.txt
	MaxResourceSize  int64               // bytes; a site's own limit cannot exceed it
	MaxMemory        int64               // bytes of all bodies in memory; 0: no limit
	MaxHosts         int                 // concurrent requests below slots.SlowAfter; hosts that wait for their gate do not count
	MaxSlowHosts     int                 // slow requests in addition
	MaxLinks         int                 // maximum number of links of one page
	ChunkItems       int                 // maximum number of results in one transaction
	ChunkTime        time.Duration       // maximum time that a result waits for its transaction
	MaxExecutionTime time.Duration       // for a batch without its own limit; 0: no limit
	RobotsTTL        time.Duration       // how long a robots.txt stays valid
	Backoff          time.Duration       // gap after the first answer that says the host is overloaded; it doubles
	AddressNames     int                 // names of one address that share no gate; -1: addresses have no gates
	Modified         revalidate.Rule     // of sites without DETECT_MODIFIED
	FallbackAge      time.Duration       // assumed age of a page without a date (default_icr_crawl_time)
	// GeneralForUnknown moves items of unknown sites to site "0".
	GeneralForUnknown bool

	HeaderSourceDir string // files that HTTP_HEADERS may name
	RobotsDir       string // robots.txt files of ROBOTS_CACHE
	FreqDir         string // counters of HTTP_FREQ_LIMITS
	ProxyDir        string // index files of USER_PROXY
	SchemaDir       string // files of URLS_SCHEMA and their used values
	CookieDir       string // cookies of sites

	Dry bool // usage is not counted
}
