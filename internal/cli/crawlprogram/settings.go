package crawlprogram

import (
	"fmt"
	"os"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/config"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/headerrotation"
	"hce/dc/internal/web/revalidate"
)

// otherMemory is the memory in addition to response bodies: parsed pages, results,
// databases and connections (bytes).
const otherMemory = 112 << 20

// readMemory reads the memory limit of response bodies (bytes).
func readMemory(s *config.Section) int64 {
	return s.Int("max_memory", 192<<20, 1<<20, 1<<40)
}

// readConfig reads the settings of the crawler.
func readConfig(s *config.Section, app config.Application) crawl.Config {
	cfg := crawl.Config{
		RobotsAgent:      s.Text("robots_agent", "HCE-DC"),
		MaxResourceSize:  s.Int("max_resource_size", 16<<20, 1<<10, 1<<30),
		MaxMemory:        readMemory(s),
		MaxHosts:         int(s.Int("max_hosts", 64, 1, 10000)),
		MaxSlowHosts:     int(s.Int("max_slow_hosts", 1024, 0, 100000)),
		MaxLinks:         int(s.Int("max_links", 20000, 1, 1000000)),
		ChunkItems:       int(s.Int("chunk_items", 64, 1, 10000)),
		ChunkTime:        s.Duration("chunk_time", time.Millisecond, 500*time.Millisecond, time.Millisecond, time.Minute),
		MaxExecutionTime: s.Duration("max_execution_time", time.Second, 240*time.Second, 0, 24*time.Hour),
		RobotsTTL:        s.Duration("robots_ttl", time.Hour, 24*time.Hour, 0, 24*time.Hour),
		Backoff:          s.Duration("busy_backoff", time.Millisecond, time.Second, 0, time.Minute),
		AddressNames:     int(s.Int("shared_address_names", 4, -1, hostgate.MaxSharedNames)),
		FallbackAge:      s.Duration("default_icr_crawl_time", time.Second, 1000*time.Second, 0, 365*24*time.Hour),
		HeaderSourceDir:  s.PathIn(app.DataDir, "header_source_dir", "dc_header_lists"),
		RobotsDir:        s.PathIn(app.DataDir, "robots_file_dir", "dc_robots"),
		FreqDir:          s.PathIn(app.DataDir, "freq_dir", "dc_freq"),
		ProxyDir:         s.PathIn(app.DataDir, "proxy_dir", "dc_proxies"),
		SchemaDir:        s.PathIn(app.DataDir, "url_schema_data_dir", "dc_urlschema"),
		CookieDir:        s.PathIn(app.DataDir, "cookie_dir", "dc_cookies"),
	}
	cfg.Modified = readModified(s)
	cfg.GeneralForUnknown = s.Bool("useZeroSiteIdSiteNotExists", false)
	// Keys of the original without effect: db-task.ini describes the storage, rows have
	// their own timeouts, and the list of link expressions is built in.
	s.Accept("raw_data_dir", "db_data_dir", "max_fetch_time", "keep_old_resources", "collect_additional_prop", "urls_xpath_list_file",
		"db_host", "db_port", "db_user", "db_pwd", "db_dc_sites", "db_dc_urls")
	return cfg
}

// readModified reads the rule of sites without the property DETECT_MODIFIED.
func readModified(s *config.Section) revalidate.Rule {
	rule, err := revalidate.Parse(s.Text("default_detect_modified", `{"behavior": 4}`))
	if err != nil {
		s.Fail("default_detect_modified", err.Error())
	}
	return rule
}

// readBrowser reads the settings of the browser for dynamic pages.
func readBrowser(f *config.File) browser.Config {
	s := f.Section("Browser")
	return browser.Config{
		Path:      s.Text("path", ""),
		MaxMemory: s.Int("max_memory", browser.DefaultMaxMemory, 256<<20, 1<<40),
		MaxPages:  int(s.Int("max_pages", browser.DefaultMaxPages, 1, 100)),
		LoadMedia: s.Bool("load_media", false),
		Macros: browser.MacroPolicy{
			Enabled: s.Bool("macros", false), Remote: s.Bool("macros_remote", false), FilesBelow: s.Path("macros_dir", ""),
			MaxTime: s.Duration("macros_time", time.Second, time.Minute, time.Second, time.Hour),
		},
	}
}

// readDefaults reads the default headers and the default cookie from their files.
func readDefaults(cfg *crawl.Config, headersFile, cookieFile string) error {
	headers, err := os.ReadFile(headersFile)
	if err != nil {
		return fmt.Errorf("headers_file: %w", err)
	}
	if cfg.Headers, err = headerrotation.Parse(string(headers)); err != nil {
		return fmt.Errorf("headers_file %s: %w", headersFile, err)
	}
	cookie, err := os.ReadFile(cookieFile)
	if err != nil {
		return fmt.Errorf("cookie_file: %w", err)
	}
	if cfg.Cookie, err = cookies.ParseProperty(cookies.FirstLine(string(cookie))); err != nil {
		return fmt.Errorf("cookie_file %s: %w", cookieFile, err)
	}
	return nil
}
