package robots

import (
	"strings"
	"testing"
	"time"
)

// summer is the date of the test values.
var summer = time.Date(2025, 6, 25, 15, 0, 0, 0, time.UTC)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		agents      []string
		want        string
		name        string
		isAddressed bool
	}{
		{[]string{"MyBot/1.0"}, "mybot/", "MyBot", true},
		{[]string{"MyBot/1.0"}, "mybot/", "hce-dc", false},
		{[]string{"Mozilla/5.0 (compatible; HCE-DC/3.0)", "HCE-DC"}, "mozilla/ hce-dc/", " HCE-dc ", true},
		{[]string{"A/1 B/2", "B/3 c"}, "a/ b/", "ROBOTS", true},
		{nil, "", "robots", true},
		{[]string{"7"}, "7/", "", false},
	} {
		got := Names(c.agents...)
		if got != c.want || Names(got) != got || Addresses(c.name, got) != c.isAddressed {
			t.Errorf("%q: %q, %q is addressed: %t", c.agents, got, c.name, Addresses(c.name, got))
		}
	}
}

func TestParseTag(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		agent  string
		want   Directives
	}{
		{"no header", nil, "foo", Directives{}},
		{"single directive", []string{"noindex"}, "foo", Directives{NoIndex: true}},
		{"list in mixed case", []string{"NoIndex ,NOFOLLOW,, noarchive"}, "foo", Directives{NoIndex: true, NoFollow: true, NoArchive: true}},
		{"none", []string{"none"}, "foo", Directives{NoIndex: true, NoFollow: true}},
		{"all revokes nothing", []string{"noindex", "all, index, follow"}, "foo", Directives{NoIndex: true}},
		{"several headers", []string{"noindex", "nofollow"}, "foo", Directives{NoIndex: true, NoFollow: true}},
		{"for another agent", []string{"otherbot: noindex, nofollow"}, "foo", Directives{}},
		{"for this agent", []string{"Foo: noindex, nofollow"}, "foo/1.0", Directives{NoIndex: true, NoFollow: true}},
		{"for a product of the agent", []string{"foo: noindex"}, "Mozilla/5.0 (compatible; Foo/2; +http://x)", Directives{NoIndex: true}},
		{"longer and shorter agent names", []string{"foobar: noindex", "fo: nofollow"}, "foo", Directives{}},
		{"for all agents and for this agent", []string{"nofollow", "foo: noindex", "bar: noarchive"}, "foo", Directives{NoIndex: true, NoFollow: true}},
		{"two agents in one value", []string{"bar: noindex, foo: nofollow, noarchive"}, "foo", Directives{NoFollow: true, NoArchive: true}},
		{"the earlier of two dates", []string{"unavailable_after: 26 Jun 2025 15:00:00 GMT, foo: unavailable_after: 25 Jun 2025 15:00:00 GMT, unavailable_after: soon"}, "foo", Directives{UnavailableAfter: summer}},
		{"star", []string{"*: noindex"}, "foo", Directives{NoIndex: true}},
		{"empty agent", []string{"noindex"}, "", Directives{NoIndex: true}},
		{"date with comma and colons", []string{"unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, nofollow"}, "foo", Directives{NoFollow: true, UnavailableAfter: summer}},
		{"date for this agent", []string{"foo: unavailable_after: 25 Jun 2025 08:00:00 PDT"}, "foo", Directives{UnavailableAfter: summer}},
		{"date for another agent", []string{"bar: unavailable_after: 25 Jun 2025 08:00:00 PDT"}, "foo", Directives{}},
		{"date of RFC 850", []string{"unavailable_after: Wednesday, 25-Jun-25 15:00:00 GMT, noindex"}, "foo", Directives{NoIndex: true, UnavailableAfter: summer}},
		{"date of ISO 8601", []string{"unavailable_after: 2025-06-25T17:00:00+02:00, noindex"}, "foo", Directives{NoIndex: true, UnavailableAfter: summer}},
		{"invalid date", []string{"unavailable_after: soon, noindex", "unavailable_after:, nofollow", "unavailable_after"}, "foo", Directives{NoIndex: true, NoFollow: true}},
		{"snippet of length 0", []string{"max-snippet:0"}, "foo", Directives{}},
		{"snippet of length 20", []string{"max-snippet: 20, max-image-preview:large, max-video-preview:-1, noindex"}, "foo", Directives{NoIndex: true}},
		{"noimageindex, notranslate and nocache", []string{"noimageindex, notranslate, nocache"}, "foo", Directives{NoArchive: true}},
		{"unknown directives", []string{"noai, indexifembedded, x y z, noindex"}, "foo", Directives{NoIndex: true}},
		{"invalid values", []string{"\x00\xff: noindex", ":noarchive", "noindex:", ","}, "foo", Directives{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ParseTag(c.values, c.agent); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestParseMeta(t *testing.T) {
	got := ParseMeta("noindex,follow", "unavailable_after: wed, 25 jun 2025 15:00:00 gmt,nofollow", "x: none")
	if want := (Directives{NoIndex: true, NoFollow: true, UnavailableAfter: summer}); got != want {
		t.Errorf("%+v", got)
	}
	merged := Directives{NoIndex: true}.Merge(Directives{NoFollow: true})
	if want := (Directives{NoIndex: true, NoFollow: true}); merged != want || merged.Merge(Directives{}) != want {
		t.Errorf("%+v", merged)
	}
}

func TestManyDirectives(t *testing.T) {
	if d := ParseMeta(strings.Repeat("x,", maxTag) + "noindex"); d.NoIndex {
		t.Error("a directive beyond the limit is read")
	}
	if d := ParseMeta("noindex," + strings.Repeat("x", 2*maxTag)); !d.NoIndex {
		t.Error("a directive before the limit is not read")
	}
	ParseTag([]string{strings.Repeat(":", maxTag), strings.Repeat("unavailable_after:,", 1000)}, strings.Repeat("a/1 ", 1000))
}

func FuzzDirectives(f *testing.F) {
	f.Add("foo: noindex, unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, bar: none", "foo/1")
	f.Add("max-snippet:0,:,*:all", "")
	f.Fuzz(func(t *testing.T, value, agent string) {
		ParseMeta(value)
		tag := ParseTag([]string{value, value}, agent)
		if again := tag.Merge(ParseTag([]string{value}, agent)); again != tag {
			t.Errorf("%+v and %+v", tag, again)
		}
	})
}
