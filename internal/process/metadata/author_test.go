package metadata_test

import (
	"strings"
	"testing"
)

func TestAuthor(t *testing.T) {
	ld := func(text string) string { return `<script type="application/ld+json">` + text + `</script>` }
	prose := "<p>" + strings.Repeat("The ferry leaves the quay at noon, and the wind is fair. ", 5)
	for _, c := range []struct{ name, head, body, want string }{
		{"person", ld(`{"@type":"Article","headline":"F","author":{"@type":"Person","name":"Ann Bell"}}`), "", "Ann Bell"},
		{"persons", ld(`{"@type":["Article"],"author":[{"name":"Ann Bell"},"Cy Dor"]}`), "", "Ann Bell; Cy Dor"},
		{"person by id", ld(`{"@graph":[{"@type":"Article","headline":"F","author":{"@id":"#ann"}},{"@type":"Person","@id":"#ann","name":"Ann Bell"}]}`), "", "Ann Bell"},
		{"the site itself", ld(`{"@type":"Article","author":{"@type":"Organization","name":"The Harbour Post"}}`), "", ""},
		{"another organization", ld(`{"@type":"Article","author":{"@type":"Organization","name":"Tide Office"}}`), "", "Tide Office"},
		{"author of a comment", ld(`{"@type":"Article","headline":"F","comment":{"@type":"Comment","author":"Cy Dor"}}`), "", ""},
		{"article before the page", ld(`{"@graph":[{"@type":"WebPage","author":"Web Desk"},{"@type":"NewsArticle","author":"Ann Bell"}]}`), "", "Ann Bell"},
		{"meta element", "<meta name=author content='By Ann Bell'>", "", "Ann Bell"},
		{"address in a meta element", "<meta property=article:author content='https://social.example/ann'><meta name=parsely-author content='Ann Bell'>", "", "Ann Bell"},
		{"byline", "", "<div class=post-author>Ann Bell</div>" + prose, "Ann Bell"},
		{"box about the author", "", prose + "<div class=author-bio>Cy Dor writes about ships.</div>", ""},
		{"forum", "", prose + strings.Repeat("<div class=author>Cy Dor</div>"+prose, 4), ""},
		{"credit", "", "<div>By Ann Bell</div>" + prose, "Ann Bell"},
		{"credit in German", "", "<div>Von Karla Öst</div>" + prose, "Karla Öst"},
		{"credit in Swedish", "", "<div>Skrivet av Åsa Berg</div>" + prose, "Åsa Berg"},
		{"credit in Polish", "", "<div>Autor: Hanna Wolska</div>" + prose, "Hanna Wolska"},
		{"credit in Turkish", "", "<div>Yazar: Selin Aksoy</div>" + prose, "Selin Aksoy"},
		{"credit in Japanese", "", "<div>執筆：山田花子</div>" + prose, "山田花子"},
		{"credit in a line of its own", "", "<div>Written by</div><div>Ann Bell</div>" + prose, "Ann Bell"},
		{"name next to a date", "", "<div>16 July 2023, Ann Bell</div>" + prose, "Ann Bell"},
		{"name and date in a class", "", "<div class=byline>By Ann Bell - Mar 27</div>" + prose, "Ann Bell"},
		{"two capitals without a date", "", "<div>Home Gym</div>" + prose, ""},
		{"teaser in an aside", "", prose + "<aside><p>By Cy Dor</aside>", ""},
		{"sentence", "", "<p>By the way, it rains.</p>" + prose, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := read("<title>Ferry sails at noon</title>"+c.head+"<body><h1>Ferry sails at noon</h1>"+c.body, pageURL)
			if got := p.head.Author(&p.outline); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
