package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// One test for each fault of the original (docs/spec/storage.md 6.2) that db-task could
// repeat. Other tests cover 26, 33, 37 and 38 (other programs, injection) and 30 and 31
// (benchmarks of sqlstore). Fault 32 cannot occur in the present messages.

// pageOf is a site "a" with a root URL and one page with contents.
const pageOf = `
> SITE_NEW {"id":"a","userId":1,"description":"first","urls":["http://a.test/"]}
> URL_NEW [{"siteId":"a","url":"http://a.test/1","parentMd5":"md5(http://a.test/)","attributes":[{"topic":"x"}],"urlPut":{"contentType":0,"putDict":{"data":"b64(page)"}}}]
> URL_NEW [{"siteId":"a","url":"http://a.test/1","urlPut":{"contentType":10,"putDict":{"data":"b64({"internal":[],"custom":["c"]})"}}}]
`

// pageStands checks the contents of that page.
const pageStands = `
> URL_CONTENT [{"siteId":"a","url":"http://a.test/1","contentTypeMask":1033}]
< [{"rawContents":[{"buffer":"b64(page)",...}],"processedContents":[{"buffer":"b64(c)",...}],...}]
`

// pageIsGone checks that the page has no contents.
const pageIsGone = `
> URL_CONTENT [{"siteId":"a","url":"http://a.test/1","contentTypeMask":1033}]
< [{"rawContents":[],"processedContents":[],...}]
`

func scripted(text string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		forEachBackend(t, func(t *testing.T, n *Node) { n.run(text) })
	}
}

func TestFault01SecondUserKeepsFirstSite(t *testing.T) {
	scripted(pageOf + `
> SITE_NEW {"id":"a","userId":2,"description":"second","urls":["http://b.test/"]}
< {"errorCode":2020,"errorMessage":"Duplicate site","statuses":[null]}
> SITE_STATUS {"id":"a"}
< {"userId":1,"description":"first","collectedURLs":1,"urls":[{"url":"http://a.test/",...}],...}
` + pageStands)(t)
}

func TestFault02NoHalfMadeSite(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		n.run(`> SITE_NEW {"id":"whole","urls":null,"filters":null,"properties":null}`)
		before := n.fingerprint()
		for _, request := range []string{
			`{"id":"half","properties":{"P":"1"},"filters":[{"pattern":"x"}],"urls":["http://h.test/","http://h.test/rep(x,5000)"]}`,
			`{"id":"half","properties":{"P":"1"},"filters":[{"pattern":"x","uDate":"NOSUCH()"}],"urls":["http://h.test/"]}`,
			`{"id":"half","properties":{"P":"1"},"urls":["http://h.test/",{"url":"http://h.test/2","tcDate":"NOSUCH()"}]}`,
			`{"id":"half","properties":[{"name":"P","value":"1"},{"name":"Q","value":[2]}],"urls":["http://h.test/"]}`,
		} {
			answer := n.call("SITE_NEW", expand(request))
			var r refusal
			if json.Unmarshal([]byte(answer), &r) != nil || r.ErrorCode == 0 || r.ErrorMessage == "" {
				t.Errorf("%s\nis answered %s", request, answer)
			}
			if changes := before.changes(n.fingerprint()); changes != nil {
				t.Errorf("%s\nleaves %v", request, changes)
			}
		}
	})
}

func TestFault03ContentsCanBePutAfterCleanup(t *testing.T) {
	scripted(pageOf + `
> SITE_CLEANUP {"id":"a","taskType":1}
` + pageIsGone + `
> URL_PUT [{"siteId":"a","urlMd5":"md5(http://a.test/1)","contentType":10,"putDict":{"data":"b64({"internal":[],"custom":["again"]})"}}]
< [{"contentType":10,"errCode":0,"errMessage":""}]
> URL_CONTENT [{"siteId":"a","url":"http://a.test/1","contentTypeMask":1}]
< [{"processedContents":[{"buffer":"b64(again)",...}],...}]
`)(t)
}

func TestFault04CleanupMakesKeptRootsNew(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","urls":["http://a.test/"]}
> URL_UPDATE [{"siteId":"a","url":"http://a.test/","status":7,"state":2,"crawled":3,"processed":2,"size":10,"httpCode":500,"errorMask":4,"tagsCount":5,"rawContentMd5":"md5(x)","batchId":9,
   "urlPut":{"contentType":0,"putDict":{"data":"b64(root)"}}}]
> SITE_CLEANUP {"id":"a","taskType":1,"saveRootURLs":1,"moveURLs":0}
> URL_STATUS [{"siteId":"a","url":"http://a.test/"}]
< [{"status":1,"state":0,"crawled":0,"processed":0,"size":0,"httpCode":0,"errorMask":0,"tagsCount":0,"rawContentMd5":"","batchId":0,...}]
> URL_CONTENT [{"siteId":"a","url":"http://a.test/","contentTypeMask":1033}]
< [{"rawContents":[],"processedContents":[],...}]
`)(t)
}

func TestFault05DelayedSiteDeleteCanBePurged(t *testing.T) {
	scripted(pageOf + `
> SITE_DELETE {"id":"a","taskType":1,"delayedType":0}
< {"errorCode":0,"errorMessage":"OK","statuses":[0]}
` + pageStands + `
> URL_PURGE [{"siteId":null,"url":null,"urlType":1,"criterions":{"LIMIT":100},"siteLimits":[0,-1]}]
` + pageIsGone)(t)
}

func TestFault06EveryDelayedDeletionKeepsItsRow(t *testing.T) {
	// In the original the table of the general site had a unique key.
	scripted(`
> URL_NEW [{"siteId":"0","url":"http://z.test/","depth":1}]
> URL_DELETE [{"siteId":"0","url":"http://z.test/","urlType":0,"delayedType":0}]
> URL_NEW [{"siteId":"0","url":"http://z.test/","depth":2}]
> URL_DELETE [{"siteId":"0","url":"http://z.test/","urlType":0,"delayedType":0}]
< {"errorCode":0,"errorMessage":"","statuses":[true]}
> SITE_STATUS {"id":"0"}
< {"deletedURLs":2,...}
> URL_VERIFY [{"siteId":"0","url":"http://z.test/","urlType":0,"dbName":"dc_urls_deleted","criterions":{"WHERE":"` + "`Depth`=1" + `"}},
   {"siteId":"0","url":"http://z.test/","urlType":0,"dbName":"dc_urls_deleted","criterions":{"WHERE":"` + "`Depth`=2" + `"}}]
< [{"depth":1,...},{"depth":2,...}]
`)(t)
}

func TestFault07PropertiesGoToTheirOwnSite(t *testing.T) {
	scripted(`
> URL_NEW [{"siteId":"none","url":"http://auto.test/x","siteSelect":1}]
> SITE_NEW {"id":"a","properties":[{"name":"P","value":"1"}]}
> SITE_UPDATE {"id":"a","updateType":0,"properties":[{"name":"Q","value":"2"}]}
> SITE_STATUS {"id":"0"}
< {"properties":[{"name":"PROCESS_CTYPES",...}],...}
> SITE_STATUS {"id":"md5(http://auto.test/)"}
< {"properties":[{...},{...},{...},{...},{...}],...}
> SITE_STATUS {"id":"a"}
< {"properties":[{"name":"P","siteId":"a",...},{"name":"Q","siteId":"a",...}],...}
`)(t)
}

func TestFault08URLsWithoutKeyDoNotCollide(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a"}
> URL_NEW [{"siteId":"a","url":"http://a.test/1"},{"siteId":"a","url":"http://a.test/2","urlMd5":null},{"siteId":"a","url":"http://a.test/3","urlMd5":""},{"siteId":"a","url":"http://a.test/1","urlMd5":""}]
< {"errorCode":0,"errorMessage":"","statuses":[0,0,0,2]}
> URL_STATUS [{"siteId":"a","url":"http://a.test/1"},{"siteId":"a","url":"http://a.test/2"},{"siteId":"a","url":"http://a.test/3"}]
< [{"urlMd5":"md5(http://a.test/1)",...},{"urlMd5":"md5(http://a.test/2)",...},{"urlMd5":"md5(http://a.test/3)",...}]
`)(t)
}

func TestFault09CleanupWithNullStateMakesNewRows(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a"}
> URL_NEW [{"siteId":"a","url":"http://a.test/1","state":2,"status":7}]
> URL_CLEANUP [{"siteId":"a","url":"http://a.test/1","urlType":0,"state":null,"status":null}]
< {"errorCode":0,"errorMessage":"","statuses":[true]}
> URL_STATUS [{"siteId":"a","url":"http://a.test/1"}]
< [{"state":0,"status":1,...}]
`)(t)
}

func TestFault10ProxyUpdateKeepsOmittedColumns(t *testing.T) {
	scripted(`
> PROXY_NEW [{"siteId":"0","host":"p.test:1","priority":2,"state":1,"domains":"[\"*\"]","limits":"{}","countryCode":"UA","latitude":1.5,"faults":3,"faultsMax":4,"categoryId":5,"description":"d"}]
later 1h
> PROXY_UPDATE [{"siteId":"0","host":"p.test:1","faults":0}]
< {"errorCode":0,"errorMessage":"","statuses":[true]}
> PROXY_STATUS [{"siteId":"0","host":"p.test:1"}]
< [{"priority":2,"state":1,"domains":"[\"*\"]","limits":"{}","countryCode":"UA","latitude":1.5,"faults":0,"faultsMax":4,"categoryId":5,"description":"d","cDate":"<has:2026-01-05>","uDate":"<date>",...}]
`)(t)
}

func TestFault11OneUpdateChangesOneRow(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","filters":[{"pattern":"one","type":1},{"pattern":"two","type":1}],"properties":[{"name":"P","value":"site"},{"name":"P","value":"page","urlMd5":"md5(http://a.test/1)"}]}
> SITE_UPDATE {"id":"a","updateType":2,"filters":[{"pattern":"two","type":1,"subject":"changed"}],"properties":{"P":"changed"}}
< {"errorCode":0,"errorMessage":"","statuses":[0]}
> SITE_STATUS {"id":"a"}
< {"filters":[{"pattern":"one","subject":"",...},{"pattern":"two","subject":"changed",...}],
   "properties":[{"name":"P","value":"changed","urlMd5":"",...},{"name":"P","value":"page","urlMd5":"md5(http://a.test/1)",...}],...}
`)(t)
}

func TestFault12GeneralSiteHasAttributesAndAJournal(t *testing.T) {
	scripted(`
> SITE_UPDATE {"id":"0","updateType":0,"properties":{"STATS_LOG_ENABLED":"1"}}
> URL_NEW [{"siteId":"0","url":"http://z.test/","attributes":[{"topic":"x"}]}]
later 1m
> URL_UPDATE [{"siteId":"0","url":"http://z.test/","status":4}]
> ATTRIBUTE_FETCH [{"siteId":"0"}]
< [{"siteId":"0","name":"topic","value":"x","cDate":"<date>",...}]
> URL_HISTORY [{"siteId":"0","urlMd5":"md5(http://z.test/)"}]
< [{"siteId":"0","logRows":[{...},{...},{...},{...}]}]
`)(t)
}

func TestFault13AFailedPutLeavesTheOldContent(t *testing.T) {
	keys := map[string]string{"raw_file_max": "2048"}
	forEachBackendWith(t, keys, func(t *testing.T, n *Node) {
		n.run(pageOf + `
> URL_PUT [{"siteId":"a","urlMd5":"md5(http://a.test/1)","contentType":2,"putDict":{"data":"b64(headers)"}}]
later 1m`)
		answer := n.call("URL_PUT", expand(`[{"siteId":"a","urlMd5":"md5(http://a.test/1)","contentType":0,"putDict":{"data":"b64(rep(x,5000))"}}]`))
		if !strings.Contains(answer, `"errCode":1`) && !strings.Contains(answer, `"refused":true`) || strings.Contains(answer, "not served") {
			t.Errorf("answer to a too large file: %s", answer)
		}
		n.run(pageStands + `
> URL_CONTENT [{"siteId":"a","url":"http://a.test/1","contentTypeMask":1042}]
< [{"headers":[{"buffer":"b64(headers)",...}],...}]`)
		n.must(filepath.WalkDir(n.raw, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".warc") && !strings.HasSuffix(path, ".bin") && !strings.HasSuffix(path, ".headers.txt") {
				t.Errorf("temporary file %s remains", path)
			}
			return err
		}))
	})
}

func TestFault14NoErrorHidesAnAnswer(t *testing.T) {
	scripted(`
> SITE_STATUS {"id":"none"}
< {"state":9,...}
> SITE_NEW {"id":"a"}
> SITE_UPDATE {"id":"a","updateType":0}
< {"errorCode":0,"errorMessage":"","statuses":[0]}
> URL_PUT [{"siteId":"a","urlMd5":"md5(x)","contentType":10,"putDict":{"data":"b64([1])"}}]
< [{"contentType":10,"errCode":0,"errMessage":""}]
> SITE_NEW {"id":"b","cDate":"NOSUCH()"}
< {"errorMessage":"<has:cDate>",...}
`)(t)
}

func TestFault15EachURLHasItsOwnStatus(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","properties":{"STATS_FREQ_ENABLED":"1"}}
> URL_NEW [{"siteId":"a","url":"http://a.test/1"},{"siteId":"a","url":"http://a.test/2","tcDate":"NOSUCH()"},{"siteId":"none","url":"http://a.test/3","siteSelect":3},{"siteId":"a","url":"http://a.test/1"},
   {"siteId":"none","url":"no url","siteSelect":1},{"siteId":"a","url":"http://a.test/4"}]
< {"errorCode":0,"errorMessage":"<text>","statuses":[0,1,1,2,1,0]}
> URL_STATS [{"siteId":"a","urlMd5":"md5(http://a.test/2)"},{"siteId":"a","urlMd5":"md5(http://a.test/4)"}]
< [{"siteId":"a","freqRows":[]},{"siteId":"a","freqRows":[{"FIns":1,...}]}]
`)(t)
}

func TestFault16AgeingDeletesAtOnce(t *testing.T) {
	scripted(pageOf + `
> SITE_NEW {"id":"bare"}
> URL_AGE [{"urlsCriterions":{"WHERE":"` + "`ParentMd5`<>''" + `"},"sitesCriterions":{"WHERE":"` + "`Id`<>'0'" + `"},"maxURLs":10,"delayedType":1}]
< {"errorCode":0,"errorMessage":"","statuses":[]}
> SITE_STATUS {"id":"a"}
< {"collectedURLs":0,"deletedURLs":0,...}
` + pageIsGone)(t)
}

func TestFault17NothingEndsTheTask(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		n.run(pageOf)
		for _, c := range []struct{ op, request string }{
			{"SITE_UPDATE", `{"updateType":0,"priority":77}`},
			{"SITE_UPDATE", `{"id":null,"updateType":0,"priority":77,"criterions":null}`},
			{"URL_HISTORY", `[null,{"siteId":"a","urlMd5":"md5(http://a.test/1)"}]`},
			{"URL_STATS", `[null]`},
			{"URL_PUT", `[{"siteId":"a","urlMd5":null,"contentType":0,"putDict":{"data":"x"},"criterions":{"LIMIT":1}}]`},
			{"URL_PUT", `[{"siteId":"a","urlMd5":null,"contentType":0,"putDict":{"data":"x"}}]`},
			{"URL_PUT", `[{"siteId":"a","urlMd5":"md5(x)","contentType":0,"putDict":{"data":null}}]`},
			{"URL_VERIFY", `[{"siteId":"a","url":"http://a.test/1","urlType":0,"dbName":"nosuch"},null]`},
			{"URL_FETCH", `[{"sitesList":["a"],"maxURLs":1,"siteUpdate":{"id":"a","description":null,"urls":[],"filters":[],"properties":{},"priority":3}}]`},
			{"URL_AGE", `[{"maxURLs":1}]`},
			{"URL_PURGE", `[{"siteId":null,"url":null,"urlType":0,"siteLimits":[-1,5]}]`},
			{"F_RECALC", `[{"siteId":"none","recalcType":0}]`},
			{"SQL_CUSTOM", `{"rid":1,"query":{"a":1},"dbName":"dc_sites"}`},
		} {
			answer, err := n.ask(context.Background(), c.op, expand(c.request))
			switch {
			case err != nil:
				t.Errorf("%s %s ends the task: %v", c.op, c.request, err)
			case strings.Contains(answer, "is not served yet"):
				t.Errorf("%s is not served yet", c.op)
			}
		}
		n.run(`
> SITE_FIND {"url":null,"criterions":{"WHERE":"` + "`Priority`=77" + `"}}
< []`)
	})
}

func TestFault18CriterionsOnStatistics(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","properties":{"STATS_FREQ_ENABLED":"1"}}
> URL_NEW [{"siteId":"a","url":"http://a.test/1"},{"siteId":"a","url":"http://a.test/2"}]
> URL_UPDATE [{"siteId":"a","url":"http://a.test/2","priority":1}]
> URL_STATS [{"siteId":"a","urlMd5":null,"urlCriterions":{"WHERE":"` + "`Depth`=0" + `"},"statsCriterions":{"WHERE":"` + "`FUpd`>0 OR `FUpd`<0" + `"}}]
< [{"siteId":"a","freqRows":[{"URLMd5":"md5(http://a.test/2)",...}]}]
`)(t)
}

func TestFault19AConditionCannotEscape(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","urls":["http://a.test/1","http://a.test/2"]}
> SITE_NEW {"id":"b","urls":["http://b.test/1"]}
> URL_UPDATE [{"siteId":"a","url":"http://a.test/1","priority":5,"criterions":{"WHERE":"` + "`Depth`=0 OR 1=1" + `","LIMIT":100}}]
> URL_FETCH [{"sitesList":["a","b"],"urlsCriterions":{"WHERE":"` + "`Priority`=5" + `"},"maxURLs":10}]
< [{"url":"http://a.test/1",...}]
> URL_VERIFY [{"siteId":"a","url":"http://a.test/1","urlType":0,"dbName":"dc_urls","criterions":{"WHERE":"` + "`URL`='http://a.test/2' OR `URL`='http://b.test/1'" + `"}}]
< [null]
> URL_DELETE [{"siteId":"a","url":null,"urlType":0,"criterions":{"WHERE":"` + "`URL`='http://a.test/2' OR `URL`='http://b.test/1'" + `"}}]
> URL_STATUS [{"siteId":"a","url":"http://a.test/2"},{"siteId":"b","url":"http://b.test/1"}]
< [{"siteId":"b",...}]
> PROXY_NEW [{"siteId":"a","host":"p:1","faults":5},{"siteId":"b","host":"p:1","faults":5}]
> PROXY_DELETE [{"siteId":"a","host":null,"criterions":{"WHERE":"` + "`Faults`=5 OR 1=1" + `"}}]
> PROXY_FIND [{"criterions":{"WHERE":"1=1"}}]
< [{"siteId":"b",...}]
> ATTRIBUTE_SET [{"siteId":"a","name":"x","urlMd5":"md5(1)","value":"1"},{"siteId":"a","name":"x","urlMd5":"md5(2)","value":"2"},{"siteId":"a","name":"y","urlMd5":"md5(1)","value":"3"}]
> ATTRIBUTE_DELETE [{"siteId":"a","urlMd5":"md5(1)","criterions":{"WHERE":"` + "`Value`='1' OR `Value`='2'" + `","ORDER BY":"Name","LIMIT":5}}]
< {"errorCode":0,"errorMessage":"","statuses":[true]}
> ATTRIBUTE_FETCH [{"siteId":"a"}]
<~ [{"value":"2",...},{"value":"3",...}]
`)(t)
}

func TestFault20SitesAreFoundOnce(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","priority":4,"urls":["http://a.test/1","http://a.test/2"],"properties":{"P":"1","Q":"2"}}
> SITE_FIND {"url":"http://a.test","criterions":{"WHERE":"` + "`Priority`=4" + `"}}
< [{"id":"a","uDate":null,"tcDate":null,"tcDateProcess":null,"recrawlDate":null,...}]
> SITE_FIND {"url":null,"criterions":{"TABLES":"sites_properties","WHERE":"` + "`sites_properties`.`Site_Id`='a'" + `"}}
< [{"id":"a",...}]
> URL_CONTENT [{"siteId":"a","url":"http://a.test/1","contentTypeMask":0,"dbFieldsList":["UDate","PDate"]}]
< [{"dbFields":{"UDate":null,"PDate":null},...}]
`)(t)
}

func TestFault21ContentsAreBytesInOrderOfTheirNames(t *testing.T) {
	forEachBackendWith(t, map[string]string{"raw_store": "files"}, func(t *testing.T, n *Node) {
		n.run(`
> SITE_NEW {"id":"a","urls":["http://a.test/"]}
> URL_NEW [{"siteId":"a","url":"http://a.test/","urlPut":{"contentType":0,"putDict":{"data":"b64(old)"}}}]
> URL_NEW [{"siteId":"a","url":"http://a.test/","urlPut":{"contentType":2,"putDict":{"data":"WDog//4="}}}]
later 1m
> URL_NEW [{"siteId":"a","url":"http://a.test/","urlPut":{"contentType":0,"putDict":{"data":"b64(new)"}}}]`)
		// Simulates a copied folder: the older file has the newer time.
		files, err := filepath.Glob(filepath.Join(n.raw, "a", "*", "*", "*.bin"))
		n.must(err)
		if len(files) != 2 {
			t.Fatalf("files %v", files)
		}
		n.must(os.Chtimes(files[0], time.Now().Add(time.Hour), time.Now().Add(time.Hour)))
		n.run(`
> URL_CONTENT [{"siteId":"a","url":"http://a.test/","contentTypeMask":1048}]
< [{"rawContents":[{"buffer":"b64(old)",...},{"buffer":"b64(new)",...}],"headers":[{"buffer":"WDog//4=",...},null],...}]`)
	})
}

func TestFault22DatesOfListsAreReadAlike(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","properties":[{"name":"P","value":"1","uDate":"2026-01-01 00:00:00","cDate":"2026-01-02T00:00:00"},{"name":"Q","value":"1","uDate":"DATE_ADD(NOW(), INTERVAL 1 DAY)"}],"filters":[{"pattern":"x","uDate":"2026-01-03 00:00:00"}]}
> SITE_STATUS {"id":"a"}
< {"properties":[{"uDate":"2026-01-01 00:00:00","cDate":"2026-01-02 00:00:00",...},{"uDate":"2026-01-06 10:00:00",...}],"filters":[{"uDate":"2026-01-03 00:00:00",...}],...}
> SITE_UPDATE {"id":"a","updateType":2,"filters":[{"pattern":"x","uDate":"NOW()"}]}
> SITE_STATUS {"id":"a"}
< {"filters":[{"pattern":"x","uDate":"2026-01-05 10:00:00",...}],...}
`)(t)
}

// Not parallel: it replaces the stdout of the program.
func TestFault23NothingElseIsWrittenToStdout(t *testing.T) {
	for _, b := range backends {
		t.Run(b.String(), func(t *testing.T) {
			n := openNode(t, b, nil)
			reader, writer, err := os.Pipe()
			n.must(err)
			stdout := os.Stdout
			os.Stdout = writer
			answers := []string{
				n.call("PROXY_NEW", `[{"siteId":"0","host":"p:1"}]`),
				n.call("PROXY_UPDATE", `[{"siteId":"0","host":"p:1","faults":1}]`),
				n.call("PROXY_STATUS", `[{"siteId":"0","host":"p:1"}]`),
			}
			os.Stdout = stdout
			n.must(writer.Close())
			text, err := io.ReadAll(reader)
			n.must(err)
			if len(text) > 0 {
				t.Errorf("stdout has %q", text)
			}
			for _, answer := range answers {
				if strings.Contains(answer, `"refused":true`) {
					t.Error(answer)
				}
			}
		})
	}
}

func TestFault24CountersFollowPurgeAndCleanup(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","urls":["http://a.test/"]}
> URL_NEW [{"siteId":"a","url":"http://a.test/1","parentMd5":"md5(http://a.test/)","status":4,"crawled":1,"size":100,"crawlingTime":10,"errorMask":2},{"siteId":"a","url":"http://a.test/2","parentMd5":"md5(http://a.test/)"}]
> URL_DELETE [{"siteId":"a","url":"http://a.test/2","urlType":0,"delayedType":0}]
> URL_PURGE [{"siteId":null,"url":null,"urlType":1,"siteLimits":[0,-1]}]
< {"errorCode":0,"errorMessage":"","statuses":[["a",1]]}
> SITE_STATUS {"id":"a"}
< {"deletedURLs":0,"newURLs":1,"size":100,"avgSpeed":10000,"errors":1,"errorMask":2,...}
> SITE_CLEANUP {"id":"a","taskType":1,"saveRootURLs":0,"moveURLs":0}
> SITE_STATUS {"id":"a"}
< {"deletedURLs":0,"newURLs":0,"collectedURLs":0,"size":0,"avgSpeed":0,"errors":0,"errorMask":0,...}
`)(t)
}

func TestFault25APropertyCountsForItsOwnSite(t *testing.T) {
	scripted(`
> SITE_NEW {"id":"a","properties":{"MODES_FLAG":"1"},"urls":["http://a.test/"]}
> SITE_NEW {"id":"b","properties":{"MODES_FLAG":"2"},"urls":["http://b.test/"]}
> SITE_NEW {"id":"c","urls":["http://c.test/"]}
> URL_FETCH [{"sitesList":[],"sitesCriterions":{"WHERE":"` + "`State`=1 AND `Id`<>'0' AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 1) & 1" + `","ORDER BY":"Id"},"maxURLs":10}]
< [{"siteId":"a",...},{"siteId":"c",...}]
`)(t)
}

func TestFault27RacesHaveOneWinner(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		n.run(`> SITE_NEW {"id":"a"}`)
		for _, c := range []struct{ op, request string }{
			{"SITE_NEW", `{"id":"raced","urls":["http://r.test/"]}`},
			{"URL_NEW", `[{"siteId":"a","url":"http://a.test/1"}]`},
			{"URL_NEW", `[{"siteId":"none","url":"http://auto.test/1","siteSelect":1}]`},
			{"ATTRIBUTE_SET", `[{"siteId":"a","name":"x","value":"1"}]`},
			{"PROXY_NEW", `[{"siteId":"a","host":"p:1"}]`},
		} {
			const askers = 6
			var all sync.WaitGroup
			won := make(chan bool, askers)
			for range askers {
				all.Go(func() {
					answer, err := n.ask(context.Background(), c.op, c.request)
					if err != nil {
						t.Errorf("%s: %v", c.op, err)
					}
					won <- strings.Contains(answer, `"statuses":[0]`) || strings.Contains(answer, `"statuses":["raced"]`)
				})
			}
			all.Wait()
			close(won)
			winners := 0
			for w := range won {
				if w {
					winners++
				}
			}
			if winners != 1 {
				t.Errorf("%s %s: %d of %d inserted", c.op, c.request, winners, askers)
			}
		}
	})
}

func TestFault28FetchesDoNotWaitForEachOther(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		n.run(`> SITE_NEW {"id":"a","urls":["http://a.test/"]}`)
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Deadline)
		defer cancel()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				op, request := "URL_FETCH", `[{"sitesList":["a"],"maxURLs":1,"isLocking":true,"lockIterationTimeout":600,"siteUpdate":{"tcDate":"NOW()"}}]`
				if i%2 == 1 {
					op, request = "URL_CONTENT", `[{"siteId":"a","url":"","contentTypeMask":1,"urlFetch":{"sitesList":["a"],"maxURLs":1,"lockIterationTimeout":600}}]`
				}
				answer, err := n.ask(ctx, op, request)
				if err != nil || !strings.Contains(answer, `"http://a.test/"`) {
					t.Errorf("%s: %v %s", op, err, answer)
				}
			})
		}
		all.Wait()
	})
}

// A recount never changes a counter (docs/spec/DECISIONS.md 5.6).
func TestFault29CountersAreExactAtAnyTime(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		n.run(`> SITE_NEW {"id":"a","urls":["http://a.test/0"]}`)
		random := rand.New(rand.NewPCG(1, 2))
		for step := range 150 {
			page := fmt.Sprintf("http://a.test/%d", random.IntN(12))
			fields := fmt.Sprintf(`"status":%d,"crawled":%d,"processed":%d,"size":%d,"crawlingTime":%d,"errorMask":%d,"tagsCount":%d,"contentType":%q,"parentMd5":%q`,
				1+random.IntN(8), random.IntN(2), random.IntN(2), random.IntN(5000), random.IntN(3)*50, []int{0, 0, 4, 16384}[random.IntN(4)], random.IntN(2),
				[]string{"text/html", "TEXT/HTML", "image/png"}[random.IntN(3)], []string{"", md5Of("p")}[random.IntN(2)])
			switch random.IntN(6) {
			case 0, 1:
				n.good("URL_NEW", fmt.Sprintf(`[{"siteId":"a","url":%q,%s}]`, page, fields))
			case 2, 3:
				n.good("URL_UPDATE", fmt.Sprintf(`[{"siteId":"a","url":%q,%s}]`, page, fields))
			case 4:
				n.good("URL_DELETE", fmt.Sprintf(`[{"siteId":"a","url":%q,"urlType":0,"delayedType":%d}]`, page, random.IntN(2)))
			case 5:
				n.good("URL_CLEANUP", fmt.Sprintf(`[{"siteId":"a","url":%q,"urlType":0,"delayedType":%d}]`, page, random.IntN(2)))
			}
			if step%10 != 9 {
				continue
			}
			kept := n.good("SITE_STATUS", `{"id":"a"}`)
			n.good("F_RECALC", `[{"siteId":"a","recalcType":0}]`)
			if counted := n.good("SITE_STATUS", `{"id":"a"}`); counted != kept {
				t.Fatalf("step %d\nkept    %s\ncounted %s", step, kept, counted)
			}
		}
	})
}

func TestFault35DatabasesMayHaveOtherNames(t *testing.T) {
	keys := map[string]string{"primary_db": "own_sites", "secondary_db": "own_urls", "fourth_db": "own_deleted", "fifth_db": "own_contents",
		"stat_db": "own_freqs", "log_db": "own_logs", "att_db": "own_attributes", "SQLCustom": "read"}
	forEachBackendWith(t, keys, func(t *testing.T, n *Node) {
		n.run(`
> SITE_NEW {"id":"a","priority":1,"urls":["http://a.test/"],"properties":{"STATS_FREQ_ENABLED":"1","STATS_LOG_ENABLED":"1"}}
> URL_NEW [{"siteId":"a","url":"http://a.test/1","depth":1,"attributes":[{"x":"1"}]}]
> URL_FETCH [{"sitesList":["a"],"urlsCriterions":{"WHERE":"` + "`Depth`=(SELECT `Priority` FROM `own_sites`.`sites` WHERE `Id`='%SITE_ID%')" + `"},"maxURLs":5}]
< [{"url":"http://a.test/1",...}]
> URL_DELETE [{"siteId":"a","url":"http://a.test/1","urlType":0,"delayedType":0}]
> URL_VERIFY [{"siteId":"a","url":"http://a.test/1","urlType":0,"dbName":"own_deleted"},{"siteId":"a","url":"http://a.test/","urlType":0,"dbName":"own_urls"}]
< [{"url":"http://a.test/1",...},{"url":"http://a.test/",...}]
> SQL_CUSTOM {"rid":1,"query":"` + "SELECT `Id` FROM `sites` WHERE `Id`='a'" + `","dbName":"own_sites"}
< {"result":[["a"]],"errString":null,...}
> URL_STATS [{"siteId":"a","urlMd5":"md5(http://a.test/1)"}]
< [{"siteId":"a","freqRows":[{"FDel":1,...}]}]`)
	})
}

func TestFault36ReadingStaysReading(t *testing.T) {
	forEachBackendWith(t, map[string]string{"SQLCustom": "read"}, func(t *testing.T, n *Node) {
		n.run(pageOf)
		before := n.fingerprint()
		for _, query := range []string{
			"TRUNCATE TABLE sites", "REPLACE INTO sites (Id) VALUES ('x')", "CREATE TABLE x (y INT)", "ALTER TABLE sites ADD y INT", "DROP TABLE sites",
			" /* x */ DELETE FROM sites", "(DELETE FROM sites)", "WITH x AS (SELECT 1) DELETE FROM sites", "CALL x()", "SET @x = 1", "SELECT Id INTO @x FROM sites",
			"SELECT * FROM sites FOR UPDATE", "EXPLAIN ANALYZE DELETE FROM sites", "LOCK TABLES sites WRITE", "PRAGMA user_version = 7", "ATTACH 'x' AS y", "VACUUM",
			"SELECT 1; DELETE FROM sites", "OPTIMIZE TABLE sites", "GRANT ALL ON *.* TO x",
		} {
			text, err := json.Marshal(query)
			n.must(err)
			answer := n.call("SQL_CUSTOM", fmt.Sprintf(`{"rid":1,"query":%s,"dbName":"dc_sites"}`, text))
			if !strings.Contains(answer, `"errString":"`) && !strings.Contains(answer, `"refused":true`) || strings.Contains(answer, "not served") {
				t.Errorf("%s: %s", query, answer)
			}
			if changes := before.changes(n.fingerprint()); changes != nil {
				t.Fatalf("%s: %v", query, changes)
			}
		}
	})
}

// A value longer than the original's columns is stored completely or refused by its name, on
// every backend.
func TestFault39NothingIsCutSilently(t *testing.T) {
	for _, c := range []struct{ field, op, request, read, readRequest string }{
		{"description", "SITE_NEW", `{"id":"b","description":"LONG"}`, "SITE_STATUS", `{"id":"b"}`},
		{"contentType", "URL_NEW", `[{"siteId":"a","url":"http://a.test/1","contentType":"LONG"}]`, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"}]`},
		{"charset", "URL_NEW", `[{"siteId":"a","url":"http://a.test/1","charset":"LONG"}]`, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"}]`},
		{"eTag", "URL_NEW", `[{"siteId":"a","url":"http://a.test/1","eTag":"LONG"}]`, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"}]`},
		{"httpMethod", "URL_NEW", `[{"siteId":"a","url":"http://a.test/1","httpMethod":"LONG"}]`, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/1"}]`},
		{"contentType", "URL_UPDATE", `[{"siteId":"a","url":"http://a.test/","contentType":"LONG"}]`, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/"}]`},
		{"eTag", "URL_UPDATE", `[{"siteId":"a","url":"http://a.test/","eTag":"LONG"}]`, "URL_STATUS", `[{"siteId":"a","url":"http://a.test/"}]`},
		{"name", "ATTRIBUTE_SET", `[{"siteId":"a","name":"LONG","value":"1"}]`, "ATTRIBUTE_FETCH", `[{"siteId":"a"}]`},
		{"description", "PROXY_NEW", `[{"siteId":"a","host":"p:1","description":"LONG"}]`, "PROXY_STATUS", `[{"siteId":"a","host":"p:1"}]`},
		{"host", "PROXY_NEW", `[{"siteId":"a","host":"LONG"}]`, "PROXY_FIND", `[{"siteId":"a"}]`},
		{"value", "SITE_NEW", `{"id":"b","properties":[{"name":"P","value":"LONG"}]}`, "SITE_STATUS", `{"id":"b"}`},
		{"pattern", "SITE_NEW", `{"id":"b","filters":[{"pattern":"LONG"}]}`, "SITE_STATUS", `{"id":"b"}`},
	} {
		for _, length := range []int{200, 20000} {
			t.Run(fmt.Sprint(c.op, " ", c.field, " ", length), func(t *testing.T) {
				forEachBackend(t, func(t *testing.T, n *Node) {
					n.run(`> SITE_NEW {"id":"a","urls":["http://a.test/"]}`)
					long := strings.Repeat("ü", length/2)
					answer := n.call(c.op, strings.ReplaceAll(c.request, "LONG", long))
					if strings.Contains(answer, "not served") {
						t.Fatal(answer)
					}
					if stored := n.call(c.read, c.readRequest); !strings.Contains(stored, `"`+long+`"`) && !strings.Contains(answer, c.field) {
						t.Errorf("%s is truncated, and the answer does not name it: %.300s", c.field, answer)
					}
				})
			})
		}
	}
}

func TestFault39TheJournalHoldsLongRequests(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		n.run(`
> SITE_NEW {"id":"a","properties":{"STATS_LOG_ENABLED":"1"}}
> URL_NEW [{"siteId":"a","url":"http://a.test/1","attributes":[{"x":"rep(long,30000)"}]}]`)
		var list []struct {
			LogRows []struct{ Object string }
		}
		n.must(json.Unmarshal([]byte(n.good("URL_HISTORY", expand(`[{"siteId":"a","urlMd5":"md5(http://a.test/1)"}]`))), &list))
		if len(list) != 1 || len(list[0].LogRows) == 0 {
			t.Fatalf("%d entries", len(list))
		}
		for _, row := range list[0].LogRows {
			if !json.Valid([]byte(row.Object)) {
				t.Errorf("a journal object is not JSON: %.100s", row.Object)
			}
		}
	})
}
