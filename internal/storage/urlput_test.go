package storage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
)

// docs/spec/objects.md 2.9.
func TestDecoded(t *testing.T) {
	for text, want := range map[string]string{
		"UGFnZQ==":         "Page",
		"UGFn\n ZQ==":      "Page",
		"UGFnZQ":           "UGFnZQ", // incomplete last group
		"UGFnZQ=":          "UGFnZQ=",
		"UGFnZTE=":         "Page1",
		"UGFnZTE=tail":     "Page1", // the text after the end is ignored
		"UGFnZTEy":         "Page12",
		"UGFnZTEy=":        "Page12",
		"=UGFnZTEy":        "Page12",
		"UG=FnZTEy":        "Page12", // one = after two digits completes no group
		"<b>hi</b>":        "<b>hi</b>",
		"":                 "",
		"\u00e9UGFnZTEy!?": "Page12",
	} {
		if got := string(decodeBase64(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzDecoded(f *testing.F) {
	f.Add([]byte("page"), "UGFnZQ==")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if got := decodeBase64(base64.StdEncoding.EncodeToString(data)); string(got) != string(data) {
			t.Errorf("%q decodes to %q", data, got)
		}
		decodeBase64(text)
	})
}

// puts sends URL_PUT and returns its answers as type:errCode.
func (n *node) puts(elements ...string) string {
	n.t.Helper()
	var pair []json.RawMessage
	n.must(json.Unmarshal([]byte(n.good(`["URL_PUT",[`+strings.Join(elements, ",")+`]]`)), &pair))
	var answers []wire.URLPutResponse
	n.must(json.Unmarshal(pair[1], &answers))
	texts := make([]string, len(answers))
	for i, a := range answers {
		texts[i] = fmt.Sprintf("%d:%d", a.ContentType, a.ErrCode)
		if (a.ErrCode == 0) != (a.ErrMessage == "") {
			n.t.Errorf("answer %+v", a)
		}
	}
	return strings.Join(texts, " ")
}

func element(kind int, text string) string {
	return fmt.Sprintf(`{"siteId":%q,"urlMd5":%q,"contentType":%d,"putDict":{"data":%q}}`, site, md5, kind, base64.StdEncoding.EncodeToString([]byte(text)))
}

// The names of files of URL_PUT contain the time. Companions of a page get the name of the
// newest page, in any order of the request.
func TestPutNamesFiles(t *testing.T) {
	n := withPage(t)
	n.puts(element(2, "headers1"), element(0, "page1"))
	n.now = n.now.Add(time.Minute)
	n.puts(element(0, "page2"))
	n.now = n.now.Add(time.Minute)
	n.puts(element(2, "headers2"), element(5, "cookies2"), element(1, "tidy"))
	n.now = n.now.Add(time.Minute)
	n.puts(element(2, "headers2 again"))
	var names []string
	list, err := n.Raw.List(t.Context(), site, md5)
	n.must(err)
	for _, v := range list {
		names = append(names, fmt.Sprintf("%s:%d", v.Name, v.Kind))
	}
	want := "20260105T100000.000Z:0 20260105T100000.000Z:2 20260105T100100.000Z:0 20260105T100100.000Z:2 20260105T100100.000Z:5 20260105T100200.000Z:1"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files %s\nwant  %s", got, want)
	}
	got := n.content(1024 + 8 + 16 + 128)
	if text := texts(t, got.RawContents); text != "0:page1 0:page2" {
		t.Errorf("pages %s", text)
	}
	if text := texts(t, []wire.Content{*got.Headers[0], *got.Headers[1], *got.Cookies[1]}); text != "2:headers1 2:headers2 again 5:cookies2" || got.Cookies[0] != nil {
		t.Errorf("companions %s", text)
	}
}

// A page of the original has no time in its name. The same holds for its companions.
func TestPutWithPageOfOriginal(t *testing.T) {
	n := withPage(t)
	stage := n.Raw.Stage()
	n.must(stage.PutLabelled(site, md5, "", rawfiles.Raw, []byte("old")))
	n.must(stage.Commit(n.t.Context()))
	n.puts(element(2, "headers"))
	if got := n.content(1024 + 2 + 16); texts(t, []wire.Content{*got.Headers[0]}) != "2:headers" {
		t.Errorf("headers %v", got.Headers)
	}
}

func TestPutKeepsNoMoreVersionsThanAllowed(t *testing.T) {
	n := newNode(t)
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"properties":{"RAW_VERSIONS_MAX":"2"}}]`, site, page))
	for i := range 4 {
		n.now = n.now.Add(time.Minute)
		n.puts(element(0, fmt.Sprint("page", i)))
	}
	if text := texts(t, n.content(1024+8).RawContents); text != "0:page2 0:page3" {
		t.Errorf("versions %s", text)
	}
}

// A refused element does not stop the others.
func TestPutAnswersEachElement(t *testing.T) {
	n := withPage(t)
	noData := fmt.Sprintf(`{"siteId":%q,"urlMd5":%q,"contentType":4,"putDict":{"data":null}}`, site, md5)
	noURL := fmt.Sprintf(`{"siteId":%q,"urlMd5":null,"contentType":4,"putDict":{"data":"x"}}`, site)
	all := fmt.Sprintf(`{"siteId":%q,"urlMd5":null,"contentType":4,"putDict":{"data":"x"},"criterions":{"WHERE":"1=1"}}`, site)
	unknownSite := `{"siteId":"unknown","urlMd5":null,"contentType":4,"putDict":{"data":"x"},"criterions":{"WHERE":"1=1"}}`
	if got := n.puts(noData, element(0, "page"), noURL, all, unknownSite); got != "4:1 0:0 4:1 4:0 4:0" {
		t.Errorf("answers %s", got)
	}
	if text := texts(t, n.content(2).RawContents); text != "0:page" {
		t.Errorf("page %s", text)
	}
	dated := fmt.Sprintf(`{"siteId":%q,"urlMd5":%q,"contentType":10,"putDict":{"data":"[1]","CDate":"2020-02-02 02:02:02","cDate":"NOW()"}}`, strings.ToUpper(site), md5)
	n.puts(dated)
	var c wire.Content
	n.must(json.Unmarshal(n.content(1).ProcessedContents[0].(json.RawMessage), &c))
	if c.CDate != "2020-02-02 02:02:02" {
		t.Errorf("date %s", c.CDate)
	}
}

// Contents in the trash are removed before new ones are stored.
func TestPutAfterAKilledDeletion(t *testing.T) {
	n := withPage(t)
	n.fill()
	list, err := wire.ReadURLDelete(json.RawMessage(fmt.Sprintf(`[{"siteId":%q,"url":%q}]`, site, page)), nil)
	n.must(err)
	_, err = n.Store.URLDelete(t.Context(), list) // the process is killed here
	n.must(err)
	n.puts(element(0, "new"))
	n.must(n.EmptyTrash(t.Context()))
	if got := n.content(1 + 1024 + 8); texts(t, got.RawContents) != "0:new" || len(got.ProcessedContents) != 0 {
		t.Errorf("contents %+v", got)
	}
}
