package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// hostileSQL are invalid conditions, orders, limits and expressions (docs/spec/DECISIONS.md
// 4, docs/spec/storage.md 5.3). Each is refused with the name of the field.
var hostileSQL = []string{
	"1=1; DROP TABLE sites",
	"1=1 -- x",
	"1=1 # x",
	"1=1 /* x */",
	"1=1; DELETE FROM `dc_urls`.`urls_a`",
	"1=1) OR (1=1",
	"1=1 UNION SELECT `User` FROM `mysql`.`user`",
	"1=1 UNION ALL SELECT 1 FROM `sites`",
	"1 IN (SELECT `User` FROM `mysql`.`user`)",
	"EXISTS (SELECT 1 FROM `information_schema`.`tables`)",
	"(SELECT COUNT(*) FROM `sqlite_master`) > 0",
	"(SELECT COUNT(*) FROM `trash`) >= 0",
	"1=1 INTO OUTFILE '/tmp/optest'",
	"1=1 INTO DUMPFILE '/tmp/optest'",
	"1=1 PROCEDURE ANALYSE()",
	"1=1 FOR UPDATE",
	"1=1 GROUP BY 1 HAVING 1=1",
	"SLEEP(900)",
	"IF(1, SLEEP(900), 1)",
	"BENCHMARK(1000000000000, 1)",
	"LOAD_FILE('/etc/passwd') IS NULL",
	"GET_LOCK('x', 9)",
	"load_extension('x')",
	"randomblob(1000000000) IS NULL",
	"zeroblob(1000000000) IS NULL",
	"writefile('/tmp/optest', 'x')",
	"my_sleep(1)",
	"UPDATEXML(1, 1, 1)",
	"USER() = 'root'",
	"@@version > ''",
	"(@a := 1)",
	"? = 1",
	"`NoSuchColumn` = 1",
	"`Id`` = 'x' OR `Id",
	"'",
	"`",
	"\"",
	"1=1\x00",
	"../../etc/passwd",
	"/*!50000 SLEEP(900) */ 1=1",
	strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000),
	strings.Repeat("NOT ", 20000) + "1",
	strings.Repeat("IF(1,", 3000) + "1" + strings.Repeat(",1)", 3000),
	"1=1" + strings.Repeat(" OR 1=1", 20000),
}

// hostileIDs are invalid site ids.
var hostileIDs = []string{
	"'", "a' OR '1'='1", "a'; DROP TABLE sites; --", "a` WHERE 1=1 -- ", "a\"", "..", ".", "../a", "../../neighbour", "a/b", "/etc", `a\b`, "a\x00", "a\n", "a b", "a%", "a.db", "ü", "a;",
	strings.Repeat("a", 33), strings.Repeat("a", 100000),
}

// hostileKeys are invalid md5 values.
var hostileKeys = append([]string{strings.Repeat("g", 32), strings.Repeat("0", 31), strings.Repeat("0", 33), "0' OR '1'='1", "../../../../neighbour.txt"}, hostileIDs...)

// hostileTexts are valid values of text fields.
var hostileTexts = []string{
	"'", "\"", "`", `\`, `\'`, "a'; DROP TABLE sites; -- ", "' OR 1=1 #", "%SITE_ID%", "%s %d", "?", "${x}", "../../neighbour.txt", "a\u0000b", "a\r\nb", "\u2028", "ü€😀", "NULL", "NOW()", "0x41",
	"<script>", strings.Repeat("x", 3000),
}

// field is one field of a request. HOSTILE in the request is replaced by a text in JSON,
// without its quotes.
type field struct {
	op, request string
	names       []string // names that a refusal must contain
}

func fields(list ...field) []field { return list }

const page1 = `"md5(http://a.test/1)"`

// conditions are the fields with SQL in criterions.
func conditions() (all []field) {
	add := func(op, request string, names ...string) {
		for _, clause := range []string{"WHERE", "ORDER BY", "LIMIT"} {
			criterion := `{"WHERE":"1=1","` + clause + `":"HOSTILE"}`
			if clause == "WHERE" {
				criterion = `{"WHERE":"HOSTILE"}`
			}
			all = append(all, field{op, strings.ReplaceAll(request, "CRITERION", criterion), append([]string{clause}, names...)})
		}
	}
	add("SITE_UPDATE", `{"id":null,"updateType":0,"priority":66,"criterions":CRITERION}`, "criterions")
	add("SITE_FIND", `{"url":"http","criterions":CRITERION}`, "criterions")
	add("SITE_FIND", `{"url":null,"criterions":CRITERION}`, "criterions")
	add("SITE_DELETE", `{"id":null,"taskType":1,"criterions":CRITERION}`, "criterions")
	add("URL_UPDATE", `[{"siteId":"a","urlMd5":`+page1+`,"priority":66,"criterions":CRITERION}]`, "criterions")
	add("URL_UPDATE", `[{"siteId":"a","urlMd5":null,"priority":66,"criterions":CRITERION}]`, "criterions")
	add("URL_DELETE", `[{"siteId":"a","url":null,"urlType":0,"criterions":CRITERION}]`, "criterions")
	add("URL_CLEANUP", `[{"siteId":"a","url":null,"urlType":0,"criterions":CRITERION}]`, "criterions")
	add("URL_FETCH", `[{"sitesList":["a"],"sitesCriterions":CRITERION}]`, "sitesCriterions")
	add("URL_FETCH", `[{"sitesList":["a"],"urlsCriterions":CRITERION}]`, "urlsCriterions")
	add("URL_CONTENT", `[{"siteId":"a","url":"","contentTypeMask":1,"urlFetch":{"sitesList":["a"],"urlsCriterions":CRITERION}}]`, "urlsCriterions")
	add("URL_PURGE", `[{"siteId":"a","url":null,"urlType":0,"criterions":CRITERION}]`, "criterions")
	add("URL_PURGE", `[{"siteId":null,"url":null,"urlType":0,"siteLimits":[0,-1],"criterions":CRITERION}]`, "criterions")
	add("URL_AGE", `[{"urlsCriterions":CRITERION,"sitesCriterions":{"WHERE":"1=1"},"maxURLs":9}]`, "urlsCriterions")
	add("URL_AGE", `[{"urlsCriterions":{"WHERE":"1=1"},"sitesCriterions":CRITERION,"maxURLs":9}]`, "sitesCriterions")
	add("URL_PUT", `[{"siteId":"a","urlMd5":null,"contentType":0,"putDict":{"data":"x"},"criterions":CRITERION}]`, "criterions")
	add("URL_VERIFY", `[{"siteId":"a","url":"http://a.test/1","urlType":0,"dbName":"dc_urls","criterions":CRITERION}]`, "criterions")
	add("URL_HISTORY", `[{"siteId":"a","urlMd5":null,"urlCriterions":CRITERION}]`, "urlCriterions")
	add("URL_HISTORY", `[{"siteId":"a","urlMd5":`+page1+`,"logCriterions":CRITERION}]`, "logCriterions")
	add("URL_STATS", `[{"siteId":"a","urlMd5":null,"urlCriterions":CRITERION}]`, "urlCriterions")
	add("URL_STATS", `[{"siteId":"a","urlMd5":null,"statsCriterions":CRITERION}]`, "statsCriterions")
	add("F_RECALC", `[{"siteId":"a","recalcType":0,"criterions":CRITERION}]`, "criterions")
	add("PROXY_DELETE", `[{"siteId":null,"criterions":CRITERION}]`, "criterions")
	add("PROXY_STATUS", `[{"siteId":null,"criterions":CRITERION}]`, "criterions")
	add("PROXY_FIND", `[{"siteId":"a","criterions":CRITERION}]`, "criterions")
	add("PROXY_FIND", `[{"siteCriterions":CRITERION,"criterions":{"WHERE":"1=1"}}]`, "siteCriterions")
	add("ATTRIBUTE_DELETE", `[{"siteId":"a","criterions":CRITERION}]`, "criterions")
	add("ATTRIBUTE_FETCH", `[{"siteId":"a","criterions":CRITERION}]`, "criterions")
	all = append(all,
		field{"SITE_FIND", `{"url":null,"criterions":{"TABLES":"HOSTILE","WHERE":"1=1"}}`, []string{"TABLES"}},
		field{"URL_FETCH", `[{"sitesList":["a"],"urlsCriterions":{"WHERE":"%X%","SQL":{"X":"HOSTILE"}}}]`, []string{"SQL"}},
		field{"URL_FETCH", `[{"sitesList":["a"],"urlsCriterions":{"WHERE":"%X%","SQL":{"X":"SELECT HOSTILE"}}}]`, []string{"SQL"}},
	)
	return all
}

// dates are the fields with SQL in dates.
func dates() (all []field) {
	add := func(op, request string, names ...string) {
		for _, name := range names {
			for _, form := range []string{`"HOSTILE"`, `{"str":"HOSTILE"}`} {
				all = append(all, field{op, strings.ReplaceAll(request, "DATE", `"`+name+`":`+form), []string{name}})
			}
		}
	}
	site := []string{"uDate", "tcDate", "tcDateProcess", "cDate", "recrawlDate"}
	url := []string{"CDate", "UDate", "tcDate", "lastModified", "pDate"}
	add("SITE_NEW", `{"id":"new","urls":["http://n.test/"],DATE}`, site...)
	add("SITE_NEW", `{"id":"new","urls":[{"url":"http://n.test/",DATE}]}`, url...)
	add("SITE_NEW", `{"id":"new","filters":[{"pattern":"x",DATE}]}`, "uDate")
	add("SITE_NEW", `{"id":"new","properties":[{"name":"P","value":"1",DATE}]}`, "uDate", "cDate")
	add("SITE_UPDATE", `{"id":"a","updateType":0,DATE}`, site...)
	add("SITE_UPDATE", `{"id":"a","updateType":2,"filters":[{"pattern":"x","type":1,DATE}]}`, "uDate")
	add("URL_NEW", `[{"siteId":"a","url":"http://a.test/new",DATE}]`, url...)
	add("URL_NEW", `[{"siteId":"a","url":"http://a.test/1","urlUpdate":{"siteId":"a",DATE}}]`, url...)
	add("URL_UPDATE", `[{"siteId":"a","url":"http://a.test/1",DATE}]`, url...)
	add("URL_FETCH", `[{"sitesList":["a"],"maxURLs":1,"siteUpdate":{DATE}}]`, site...)
	add("PROXY_NEW", `[{"siteId":"a","host":"new:1",DATE}]`, "cDate", "uDate")
	add("PROXY_UPDATE", `[{"siteId":"a","host":"p:1",DATE}]`, "uDate")
	return all
}

var idFields = fields(
	field{"SITE_NEW", `{"id":"HOSTILE"}`, []string{"Site.id"}},
	field{"SITE_NEW", `{"id":"new","filters":[{"pattern":"x","siteId":"HOSTILE"}]}`, []string{"filters[0].siteId"}},
	field{"SITE_NEW", `{"id":"new","properties":{"P":["HOSTILE","1",null]}}`, []string{"properties", "siteId"}},
	field{"SITE_NEW", `{"id":"new","properties":[{"name":"P","siteId":"HOSTILE"}]}`, []string{"properties[0].siteId"}},
	field{"SITE_UPDATE", `{"id":"HOSTILE","updateType":0,"priority":1}`, []string{"id"}},
	field{"SITE_UPDATE", `{"id":"a","updateType":1,"properties":[{"name":"P","siteId":"HOSTILE"}]}`, []string{"properties", "siteId"}},
	field{"SITE_UPDATE", `{"id":"a","updateType":1,"filters":[{"pattern":"P","siteId":"HOSTILE"}]}`, []string{"filters", "siteId"}},
	field{"SITE_STATUS", `{"id":"HOSTILE"}`, []string{"id"}},
	field{"SITE_DELETE", `{"id":"HOSTILE","taskType":1}`, []string{"id"}},
	field{"SITE_CLEANUP", `{"id":"HOSTILE","taskType":1}`, []string{"id"}},
	field{"URL_NEW", `[{"siteId":"HOSTILE","url":"http://a.test/new"}]`, []string{"siteId"}},
	field{"URL_NEW", `[{"siteId":"HOSTILE","url":"http://a.test/new","siteSelect":1}]`, []string{"siteId"}},
	field{"URL_NEW", `[{"siteId":"a","url":"http://a.test/new","urlPut":{"siteId":"HOSTILE","contentType":0,"putDict":{"data":"x"}}}]`, []string{"urlPut.siteId"}},
	field{"URL_UPDATE", `[{"siteId":"HOSTILE","url":"http://a.test/1","priority":66}]`, []string{"siteId"}},
	field{"URL_UPDATE", `[{"siteId":"a","url":"http://a.test/1","priority":66,"urlPut":{"siteId":"HOSTILE","contentType":0,"putDict":{"data":"x"}}}]`, []string{"urlPut.siteId"}},
	field{"URL_STATUS", `[{"siteId":"HOSTILE","url":"http://a.test/1"}]`, []string{"siteId"}},
	field{"URL_DELETE", `[{"siteId":"HOSTILE","url":"http://a.test/1","urlType":0}]`, []string{"siteId"}},
	field{"URL_CLEANUP", `[{"siteId":"HOSTILE","url":"http://a.test/1","urlType":0}]`, []string{"siteId"}},
	field{"URL_FETCH", `[{"sitesList":["a","HOSTILE"]}]`, []string{"sitesList"}},
	field{"URL_CONTENT", `[{"siteId":"HOSTILE","url":"http://a.test/1","contentTypeMask":9}]`, []string{"siteId"}},
	field{"URL_CONTENT", `[{"siteId":"a","url":"","contentTypeMask":1,"urlFetch":{"sitesList":["HOSTILE"]}}]`, []string{"urlFetch.sitesList"}},
	field{"URL_PURGE", `[{"siteId":"HOSTILE","url":null,"urlType":0}]`, []string{"siteId"}},
	field{"URL_PUT", `[{"siteId":"HOSTILE","urlMd5":` + page1 + `,"contentType":0,"putDict":{"data":"x"}}]`, []string{"siteId"}},
	field{"URL_PUT", `[{"siteId":"HOSTILE","urlMd5":` + page1 + `,"contentType":10,"putDict":{"data":"x"}}]`, []string{"siteId"}},
	field{"URL_PUT", `[{"siteId":"a","urlMd5":` + page1 + `,"contentType":0,"putDict":{"data":"x"},"fileStorageSuffix":"HOSTILE/"}]`, []string{"fileStorageSuffix"}},
	field{"URL_VERIFY", `[{"siteId":"HOSTILE","url":"http://a.test/1","urlType":0,"dbName":"dc_urls"}]`, []string{"siteId"}},
	field{"URL_HISTORY", `[{"siteId":"HOSTILE","urlMd5":` + page1 + `}]`, []string{"siteId"}},
	field{"URL_STATS", `[{"siteId":"HOSTILE","urlMd5":` + page1 + `}]`, []string{"siteId"}},
	field{"F_RECALC", `[{"siteId":"HOSTILE","recalcType":0}]`, []string{"siteId"}},
	field{"ATTRIBUTE_SET", `[{"siteId":"HOSTILE","name":"x","value":"1"}]`, []string{"siteId"}},
	field{"ATTRIBUTE_UPDATE", `[{"siteId":"HOSTILE","name":"x","value":"1"}]`, []string{"siteId"}},
	field{"ATTRIBUTE_DELETE", `[{"siteId":"HOSTILE","name":"x"}]`, []string{"siteId"}},
	field{"ATTRIBUTE_FETCH", `[{"siteId":"HOSTILE"}]`, []string{"siteId"}},
	field{"PROXY_NEW", `[{"siteId":"HOSTILE","host":"new:1"}]`, []string{"siteId"}},
	field{"PROXY_UPDATE", `[{"siteId":"HOSTILE","host":"p:1","priority":66}]`, []string{"siteId"}},
	field{"PROXY_DELETE", `[{"siteId":"HOSTILE","host":"p:1"}]`, []string{"siteId"}},
	field{"PROXY_STATUS", `[{"siteId":"HOSTILE","host":"p:1"}]`, []string{"siteId"}},
	field{"PROXY_FIND", `[{"siteId":"HOSTILE","criterions":{"WHERE":"1=1"}}]`, []string{"siteId"}},
)

var keyFields = fields(
	field{"SITE_NEW", `{"id":"new","properties":{"P":[null,"1","HOSTILE"]}}`, []string{"properties", "urlMd5"}},
	field{"SITE_NEW", `{"id":"new","properties":[{"name":"P","urlMd5":"HOSTILE"}]}`, []string{"properties[0].urlMd5"}},
	field{"URL_NEW", `[{"siteId":"a","url":"http://a.test/new","urlMd5":"HOSTILE"}]`, []string{"urlMd5"}},
	field{"URL_NEW", `[{"siteId":"a","url":"http://a.test/new","parentMd5":"HOSTILE"}]`, []string{"parentMd5"}},
	field{"URL_NEW", `[{"siteId":"a","url":"http://a.test/new","urlPut":{"urlMd5":"HOSTILE","contentType":0,"putDict":{"data":"x"}}}]`, []string{"urlPut.urlMd5"}},
	field{"URL_NEW", `[{"siteId":"a","url":"http://a.test/new","urlPut":{"contentType":10,"putDict":{"id":"HOSTILE","data":"x"}}}]`, []string{"putDict.id"}},
	field{"URL_UPDATE", `[{"siteId":"a","urlMd5":"HOSTILE","priority":66}]`, []string{"urlMd5"}},
	field{"URL_DELETE", `[{"siteId":"a","url":"HOSTILE","urlType":1}]`, []string{"url"}},
	field{"URL_CLEANUP", `[{"siteId":"a","url":"HOSTILE","urlType":1}]`, []string{"url"}},
	field{"URL_PURGE", `[{"siteId":"a","url":"HOSTILE","urlType":1}]`, []string{"url"}},
	field{"URL_PUT", `[{"siteId":"a","urlMd5":"HOSTILE","contentType":0,"putDict":{"data":"x"}}]`, []string{"urlMd5"}},
	field{"URL_PUT", `[{"siteId":"a","urlMd5":` + page1 + `,"contentType":10,"putDict":{"id":"HOSTILE","data":"x"}}]`, []string{"id"}},
	field{"ATTRIBUTE_SET", `[{"siteId":"a","name":"x","urlMd5":"HOSTILE","value":"1"}]`, []string{"urlMd5"}},
	field{"ATTRIBUTE_UPDATE", `[{"siteId":"a","name":"x","urlMd5":"HOSTILE","value":"1"}]`, []string{"urlMd5"}},
)

// soughtKeys are the keys that requests look for.
var soughtKeys = []struct{ op, request string }{
	{"URL_STATUS", `[{"siteId":"a","url":"HOSTILE","urlType":1}]`},
	{"URL_CONTENT", `[{"siteId":"a","url":"x","urlMd5":"HOSTILE","contentTypeMask":9}]`},
	{"URL_VERIFY", `[{"siteId":"a","url":"HOSTILE","urlType":1,"dbName":"dc_urls"}]`},
	{"URL_HISTORY", `[{"siteId":"a","urlMd5":"HOSTILE"}]`},
	{"URL_STATS", `[{"siteId":"a","urlMd5":"HOSTILE"}]`},
	{"ATTRIBUTE_DELETE", `[{"siteId":"a","name":"x","urlMd5":"HOSTILE"}]`},
	{"ATTRIBUTE_FETCH", `[{"siteId":"a","urlMd5":"HOSTILE"}]`},
}

// attacked fills a node with rows in every table.
func attacked(n *Node) {
	n.run(`
> SITE_NEW {"id":"a","urls":["http://a.test/"],"filters":[{"pattern":"x"}],"properties":{"P":"1"}}
> URL_NEW [{"siteId":"a","url":"http://a.test/1","parentMd5":"md5(http://a.test/)","attributes":[{"x":"1"}],"urlPut":{"contentType":0,"putDict":{"data":"b64(page)"}}}]`)
	for _, more := range []struct{ op, request string }{
		{"URL_NEW", `[{"siteId":"a","url":"http://a.test/gone"}]`},
		{"URL_DELETE", `[{"siteId":"a","url":"http://a.test/gone","urlType":0,"delayedType":0}]`},
		{"PROXY_NEW", `[{"siteId":"a","host":"p:1"}]`},
	} {
		n.call(more.op, more.request) // another test reports an operation that is not served
	}
}

// inside is a text in JSON without its quotes.
func inside(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(raw[1 : len(raw)-1])
}

func clipped(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%.80q... (%d bytes)", text, len(text))
	}
	return fmt.Sprintf("%q", text)
}

// refusals sends each hostile text in each field. The node must not change, and the answer
// must name the field: as a refusal of the request or as ErrorMessage with the statuses.
func refusals(t *testing.T, places []field, texts []string) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		attacked(n)
		before := n.fingerprint()
		for i, f := range places {
			t.Run(fmt.Sprintf("%s %s %d", f.op, strings.Join(f.names, " "), i), func(t *testing.T) {
				for _, text := range texts {
					if strings.Contains(f.request, `":"HOSTILE/"`) && text == "" {
						continue
					}
					ctx, cancel := context.WithTimeout(t.Context(), testwait.Deadline) // less than the texts sleep
					answer, err := n.ask(ctx, f.op, strings.ReplaceAll(expand(f.request), "HOSTILE", inside(text)))
					cancel()
					if err != nil {
						t.Errorf("%s ends the task: %.300v", clipped(text), err)
						continue
					}
					message := complaint(answer)
					if message == "" {
						t.Errorf("%s is accepted: %.300s", clipped(text), answer)
						continue
					}
					for _, name := range f.names {
						if !strings.Contains(message, name) {
							t.Errorf("%s: the answer does not name %s: %.300s", clipped(text), name, message)
						}
					}
				}
				now := n.fingerprint()
				if changes := before.changes(now); changes != nil {
					t.Errorf("the node changed: %v", changes)
				}
				before = now
			})
		}
	})
}

// complaint returns the reason in an answer: of a refusal, of an answer with statuses, or
// of the first element of URL_PUT.
func complaint(answer string) string {
	var r refusal
	if json.Unmarshal([]byte(answer), &r) == nil {
		return r.ErrorMessage
	}
	var list []struct {
		ErrCode    int    `json:"errCode"`
		ErrMessage string `json:"errMessage"`
	}
	if json.Unmarshal([]byte(answer), &list) != nil || len(list) == 0 || list[0].ErrCode == 0 {
		return ""
	}
	return list[0].ErrMessage
}

func TestInjectionIntoConditions(t *testing.T) { refusals(t, conditions(), hostileSQL) }

func TestInjectionIntoDates(t *testing.T) { refusals(t, dates(), hostileSQL) }

func TestInjectionIntoSiteIDs(t *testing.T) { refusals(t, idFields, hostileIDs) }

func TestInjectionIntoKeys(t *testing.T) { refusals(t, keyFields, hostileKeys) }

// A text that is no key, in a request that looks for one, is refused or finds what the key of no URL
// finds, and nothing changes.
func TestInjectionIntoSoughtKeys(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		attacked(n)
		before := n.fingerprint()
		for _, f := range soughtKeys {
			request := expand(f.request)
			want := n.call(f.op, strings.ReplaceAll(request, "HOSTILE", wire.NoKey))
			for _, text := range hostileKeys {
				if got := n.call(f.op, strings.ReplaceAll(request, "HOSTILE", inside(text))); got != want && complaint(got) == "" {
					t.Errorf("%s with %s: %.300s, want %.300s", f.op, clipped(text), got, want)
				}
			}
		}
		if changes := before.changes(n.fingerprint()); changes != nil {
			t.Errorf("the node changed: %v", changes)
		}
	})
}

// value is a stored text field, with the request that reads it. NEW is replaced by a unique
// name.
type value struct {
	field
	read, readRequest string
	changed           []string // tables that may change
}

var values = []value{
	{field{"SITE_NEW", `{"id":"NEW","description":"HOSTILE"}`, []string{"description"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites"}},
	{field{"SITE_NEW", `{"id":"NEW","urls":["HOSTILE"]}`, []string{"urls"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites", "sites_urls", "urls"}},
	{field{"SITE_NEW", `{"id":"NEW","urls":[{"url":"http://n.test/NEW","httpMethod":"HOSTILE"}]}`, []string{"httpMethod"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites", "sites_urls", "urls"}},
	{field{"SITE_NEW", `{"id":"NEW","filters":[{"pattern":"HOSTILE","opCode":7}]}`, []string{"pattern"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites", "sites_filters"}},
	{field{"SITE_NEW", `{"id":"NEW","filters":[{"pattern":"x","subject":"HOSTILE"}]}`, []string{"subject"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites", "sites_filters"}},
	{field{"SITE_NEW", `{"id":"NEW","properties":{"P":"HOSTILE"}}`, []string{"properties"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites", "sites_properties"}},
	{field{"SITE_NEW", `{"id":"NEW","properties":{"HOSTILE":"1"}}`, []string{"properties"}}, "SITE_STATUS", `{"id":"NEW"}`, []string{"sites", "sites_properties"}},
	{field{"SITE_UPDATE", `{"id":"a","updateType":2,"properties":{"P":"HOSTILE"}}`, []string{"properties"}}, "SITE_STATUS", `{"id":"a"}`, []string{"sites", "sites_properties"}},
	{field{"SITE_UPDATE", `{"id":"a","updateType":1,"filters":[{"pattern":"HOSTILE"}]}`, []string{"pattern"}}, "SITE_STATUS", `{"id":"a"}`, []string{"sites", "sites_filters"}},
	{field{"SITE_UPDATE", `{"id":"a","updateType":0,"urls":["HOSTILE"]}`, []string{"urls"}}, "SITE_STATUS", `{"id":"a"}`, []string{"sites", "sites_urls", "urls", "trash"}},
	{field{"URL_NEW", `[{"siteId":"a","url":"HOSTILE"}]`, []string{"url"}}, "URL_STATUS", `[{"siteId":"a","url":"HOSTILE"}]`, []string{"sites", "urls"}},
	{field{"URL_NEW", `[{"siteId":null,"url":"http://a.test/HOSTILE","siteSelect":3}]`, []string{"url"}}, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/HOSTILE"}]`, []string{"sites", "urls"}},
	{field{"URL_NEW", `[{"siteId":"a","url":"http://a.test/NEW","attributes":[{"x":"HOSTILE"}]}]`, []string{"attributes"}}, "ATTRIBUTE_FETCH", `[{"siteId":"a","urlMd5":"md5(http://a.test/NEW)"}]`, []string{"sites", "urls", "att"}},
	{field{"URL_UPDATE", `[{"siteId":"a","url":"http://a.test/1","contentType":"HOSTILE"}]`, []string{"contentType"}}, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"}]`, []string{"sites", "urls"}},
	{field{"URL_UPDATE", `[{"siteId":"a","url":"http://a.test/1","rawContentMd5":"HOSTILE"}]`, []string{"rawContentMd5"}}, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"}]`, []string{"sites", "urls"}},
	{field{"ATTRIBUTE_SET", `[{"siteId":"a","name":"x","value":"HOSTILE"}]`, []string{"value"}}, "ATTRIBUTE_FETCH", `[{"siteId":"a","name":"x"}]`, []string{"att"}},
	{field{"ATTRIBUTE_SET", `[{"siteId":"a","name":"HOSTILE","value":"1"}]`, []string{"name"}}, "ATTRIBUTE_FETCH", `[{"siteId":"a","name":"HOSTILE"}]`, []string{"att"}},
	{field{"ATTRIBUTE_UPDATE", `[{"siteId":"a","name":"HOSTILE","value":"1"}]`, []string{"name"}}, "ATTRIBUTE_FETCH", `[{"siteId":"a","name":"HOSTILE"}]`, []string{"att"}},
	{field{"PROXY_NEW", `[{"siteId":"a","host":"HOSTILE"}]`, []string{"host"}}, "PROXY_STATUS", `[{"siteId":"a","host":"HOSTILE"}]`, []string{"sites_proxy"}},
	{field{"PROXY_NEW", `[{"siteId":"a","host":"NEW:1","domains":"HOSTILE"}]`, []string{"domains"}}, "PROXY_STATUS", `[{"siteId":"a","host":"NEW:1"}]`, []string{"sites_proxy"}},
	{field{"PROXY_UPDATE", `[{"siteId":"a","host":"p:1","description":"HOSTILE"}]`, []string{"description"}}, "PROXY_STATUS", `[{"siteId":"a","host":"p:1"}]`, []string{"sites_proxy"}},
}

// Hostile texts in values are stored unchanged or refused with the name of the field. Nothing
// else changes.
func TestInjectionIntoValues(t *testing.T) {
	for i, v := range values {
		t.Run(fmt.Sprintf("%s %s %d", v.op, v.names[0], i), func(t *testing.T) {
			forEachBackend(t, func(t *testing.T, n *Node) {
				attacked(n)
				for number, text := range hostileTexts {
					v.check(t, n, number, text)
				}
			})
		})
	}
}

func (v value) check(t *testing.T, n *Node, number int, text string) {
	t.Helper()
	before := n.fingerprint()
	words := strings.NewReplacer("NEW", fmt.Sprint("new", number), "HOSTILE", inside(text))
	answer := n.call(v.op, expand(words.Replace(v.request)))
	var r refusal
	if json.Unmarshal([]byte(answer), &r) == nil && r.ErrorMessage != "" {
		if !strings.Contains(r.ErrorMessage, v.names[0]) {
			t.Errorf("%s: the answer does not name %s: %.300s", clipped(text), v.names[0], answer)
		}
		if changes := before.changes(n.fingerprint()); changes != nil {
			t.Errorf("refused %s changed %v", clipped(text), changes)
		}
		return
	}
	stored, err := decode(n.call(v.read, expand(words.Replace(v.readRequest))))
	n.must(err)
	if !holds(stored, text) {
		t.Errorf("%s is not in the stored value: %s", clipped(text), short(stored))
	}
	for _, change := range before.changes(n.fingerprint()) {
		if !v.may(change) {
			t.Errorf("%s: %s", clipped(text), change)
		}
	}
}

// may reports whether the operation may make a change.
func (v value) may(change string) bool {
	if strings.HasPrefix(change, "file data/keys/new") && strings.HasSuffix(change, ".db is new") {
		return true
	}
	for _, table := range v.changed {
		if strings.HasSuffix(change, "."+table+" is changed") && strings.HasPrefix(change, "table ") {
			return true
		}
	}
	return false
}

// holds reports whether a JSON value contains the text, alone or as a URL of a.test.
func holds(v any, text string) bool {
	switch x := v.(type) {
	case string:
		return x == text || x == "http://a.test/"+text
	case []any:
		for _, e := range x {
			if holds(e, text) {
				return true
			}
		}
	case map[string]any:
		for _, e := range x {
			if holds(e, text) {
				return true
			}
		}
	}
	return false
}

// Search values may be any text: nothing is found and nothing changes.
func TestInjectionIntoSearches(t *testing.T) {
	searches := fields(
		field{"SITE_FIND", `{"url":"HOSTILE"}`, nil},
		field{"SITE_FIND", `{"url":"http","excludeList":["HOSTILE"]}`, nil},
		field{"SITE_STATUS", `{"id":"a","excludeList":["HOSTILE"]}`, nil},
		field{"URL_STATUS", `[{"siteId":"a","url":"HOSTILE"}]`, nil},
		field{"URL_UPDATE", `[{"siteId":"a","url":"HOSTILE","priority":66}]`, nil},
		field{"URL_DELETE", `[{"siteId":"a","url":"HOSTILE","urlType":0}]`, nil},
		field{"URL_CLEANUP", `[{"siteId":"a","url":"HOSTILE","urlType":0}]`, nil},
		field{"URL_PURGE", `[{"siteId":"a","url":"HOSTILE","urlType":0}]`, nil},
		field{"URL_CONTENT", `[{"siteId":"a","url":"HOSTILE","contentTypeMask":65535}]`, nil},
		field{"URL_CONTENT", `[{"siteId":"a","url":"http://a.test/1","contentTypeMask":32768,"attributeNames":["HOSTILE"],"dbFieldsList":["HOSTILE"]}]`, nil},
		field{"URL_FETCH", `[{"sitesList":["a"],"attributeNames":["HOSTILE"]}]`, nil},
		field{"URL_VERIFY", `[{"siteId":"a","url":"http://a.test/1","urlType":0,"dbName":"HOSTILE"}]`, nil},
		field{"URL_VERIFY", `[{"siteId":"a","url":"HOSTILE","urlType":0,"dbName":"dc_urls"}]`, nil},
		field{"ATTRIBUTE_FETCH", `[{"siteId":"a","name":"HOSTILE"}]`, nil},
		field{"ATTRIBUTE_DELETE", `[{"siteId":"a","name":"HOSTILE"}]`, nil},
		field{"PROXY_STATUS", `[{"siteId":"a","host":"HOSTILE"}]`, nil},
		field{"PROXY_DELETE", `[{"siteId":"a","host":"HOSTILE"}]`, nil},
		field{"PROXY_UPDATE", `[{"siteId":"a","host":"HOSTILE","priority":66}]`, nil},
		field{"SQL_CUSTOM", `{"rid":1,"query":"HOSTILE","dbName":"dc_sites"}`, nil},
		field{"SQL_CUSTOM", `{"rid":1,"query":"SELECT 1","dbName":"HOSTILE"}`, nil},
	)
	texts := append(append([]string{}, hostileTexts...), hostileIDs...)
	for i, f := range searches {
		t.Run(fmt.Sprintf("%s %d", f.op, i), func(t *testing.T) {
			forEachBackend(t, func(t *testing.T, n *Node) {
				attacked(n)
				before := n.fingerprint()
				for _, text := range texts {
					answer, err := n.ask(context.Background(), f.op, strings.ReplaceAll(f.request, "HOSTILE", inside(text)))
					switch {
					case err != nil:
						t.Errorf("%s ends the task: %.300v", clipped(text), err)
					case strings.Contains(answer, "is not served yet"):
						t.Fatal(answer)
					case strings.Contains(answer, `"refused":true`) && f.op != "SQL_CUSTOM" && len(text) < 1000 && !strings.Contains(answer, "HOSTILE") && namesNothing(answer):
						t.Errorf("%s is refused without a field: %s", clipped(text), answer)
					}
				}
				if changes := before.changes(n.fingerprint()); changes != nil {
					t.Errorf("the node changed: %v", changes)
				}
			})
		})
	}
}

// namesNothing reports whether a refusal names no field, as Object.field or
// Object[0].field.
func namesNothing(answer string) bool {
	r, ok := refused(answer)
	object, _, _ := strings.Cut(r.ErrorMessage, " ")
	return ok && !strings.Contains(object, ".")
}

// Expressions in properties run later, in requests of other clients. They may only be
// conditions on the site's own rows (docs/spec/storage.md 5.3).
func TestInjectionOfSecondOrder(t *testing.T) {
	properties := []string{"COUNTER_CRIT_RESOURCES", "COUNTER_CRIT_CONTENTS", "COUNTER_CRIT_CLURLS", "COUNTER_CRIT_NURLS", "COUNTER_CRIT_DURLS", "COUNTER_CRIT_ERRORS",
		"AGING_URL_CRITERION", "UPDATE_NOT_INSERT_ROOT_URLS", "STATS_FREQ_ENABLED", "STATS_LOG_ENABLED"}
	forEachBackend(t, func(t *testing.T, n *Node) {
		attacked(n)
		for _, text := range hostileSQL {
			if len(text) > 8000 {
				continue // longer than a property may be
			}
			var together []string
			for _, name := range properties {
				together = append(together, fmt.Sprintf(`%q:"%s"`, name, inside(text)))
			}
			if secondOrder(t, n, text, strings.Join(together, ",")) {
				continue
			}
			for _, alone := range together { // SITE_NEW refuses some of them
				secondOrder(t, n, text, alone)
			}
		}
	})
}

// secondOrder makes a site with hostile properties and runs the operations that read them.
// It reports whether the site was made.
func secondOrder(t *testing.T, n *Node, text, properties string) bool {
	t.Helper()
	if answer := n.call("SITE_NEW", `{"id":"evil","urls":["http://e.test/"],"properties":{`+properties+`}}`); !strings.Contains(answer, `"errorCode":0`) {
		return false
	}
	before := n.fingerprint()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Deadline) // less than the texts sleep
	defer cancel()
	for _, use := range []struct{ op, request string }{
		{"SITE_STATUS", `{"id":"evil"}`},
		{"F_RECALC", `[{"siteId":"evil","recalcType":0}]`},
		{"URL_AGE", `[{"urlsCriterions":{"WHERE":"1=2"},"sitesCriterions":{"WHERE":"` + "`Id`='evil'" + `"},"maxURLs":5}]`},
		{"URL_UPDATE", `[{"siteId":"evil","url":"http://e.test/","priority":1}]`},
	} {
		if _, err := n.ask(ctx, use.op, use.request); err != nil {
			t.Errorf("%s: %s ends the task: %.300v", clipped(text), use.op, err)
		}
	}
	for _, change := range before.changes(n.fingerprint()) {
		if change != "table dc_sites.sites is changed" && change != "table dc_urls.urls is changed" && !strings.HasPrefix(change, "table dc_stat_") {
			t.Errorf("%s: %s", clipped(text), change)
		}
	}
	if stood := n.call("URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"},{"siteId":"evil","url":"http://e.test/"}]`); strings.Count(stood, `"urlMd5"`) != 2 {
		t.Errorf("%s: rows are gone: %s", clipped(text), stood)
	}
	n.good("SITE_DELETE", `{"id":"evil","taskType":1}`)
	return true
}
