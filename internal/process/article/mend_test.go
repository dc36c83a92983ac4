package article

import (
	"strings"
	"testing"
)

// The words of an article, in paragraphs.
const story = `<p>The mill at the river was sold on Monday, after the town had waited for a buyer for nine years.</p>
<p>Its new owner is a baker. She wants to grind her own flour, and to open the yard on Saturdays for everybody.</p>
<p>The wheel is broken and will be mended in winter, when the water is low and the smith has time for it.</p>
<p>Children may come on Fridays. They are to bring their own bowl, and nobody has to pay for the bread.</p>`

// What stands around a text is not part of it, and what belongs to it is not lost.
func TestMend(t *testing.T) {
	half := strings.Index(story, "<p>The wheel")
	first, second := story[:half], story[half:]
	for _, c := range []struct{ name, body, has, lacks string }{
		{"title", "<article><h1>The mill is sold</h1>" + story + "</article>", "", "The mill is sold"},
		{"lead above the text", "<h1>The mill is sold</h1><p class=lead>It took nine years until somebody came who wanted it.</p><div class=article-body>" + story + "</div>", "somebody came", ""},
		{"lead that is called a teaser", "<h1>The mill is sold</h1><div class=teaser>It took nine years until somebody came who wanted it.</div><div class=article-body>" + story + "</div>", "somebody came", ""},
		{"long lead as a heading", "<h1>The mill is sold</h1><h2>It took nine years until somebody came who wanted to have it.</h2><div class=article-body>" + story + "</div>", "somebody came", ""},
		{"author and date above the text", "<article><h1>The mill is sold</h1><p>Ann Bell</p><p>March 5, 2021</p>" + story + "</article>", "", "Ann Bell"},
		{"credit below the lead", "<article><h1>The mill is sold</h1>" + first + "<p>By Ann Bell</p>" + second + "</article>", "", "Ann Bell"},
		{"list and heading", "<article><h1>The mill is sold</h1>" + first + "<h2>What is planned</h2><ul><li>a new roof</li><li>a bench</li></ul>" + second + "</article>", "What is planned\na new roof\na bench", ""},
		{"steps as a list before a heading", "<div class=page>" + first + "<ol><li>Open the gate.</li><li>Ring the bell.</li></ol><h2>Opening hours</h2>" + second + "</div>", "Open the gate.\nRing the bell.\nOpening hours", ""},
		{"table", "<article>" + first + "<table><tr><th>Day</th><th>Bread</th></tr><tr><td>Friday</td><td>rye</td></tr></table>" + second + "</article>", "Friday rye", ""},
		{"data of a product below the text", "<div class=product><div class=text>" + story + "</div><table><tr><th>Weight</th><td>2 kg</td></tr><tr><th>Size</th><td>20 cm</td></tr></table></div>", "Weight 2 kg", ""},
		{"link to another article", "<article>" + first + "<p>Read more: <a href=/x>The mill that was once a stable</a></p>" + second + "</article>", "", "stable"},
		{"link in a sentence", "<article>" + first + "<p>The plans are <a href=/x>on the site of the council</a>, and in the town hall.</p>" + second + "</article>", "on the site of the council", ""},
		{"heading without a text", "<article>" + story + "<h2>More stories</h2></article>", "", "More stories"},
		{"newsletter inside of the text", "<article>" + first + "<div class=newsletter-box><p>All news of the valley in your inbox, each morning before breakfast.</p></div>" + second + "</article>", "", "inbox"},
		{"caption", "<article>" + first + "<figure><img src=a.jpg><figcaption>The mill, seen from the bridge. Photo: A. Bell</figcaption></figure>" + second + "</article>", "", "bridge"},
		{"advertisement", "<article>" + first + "<p>Advertisement</p>" + second + "</article>", "", "Advertisement"},
		{"cards below the text", "<div class=wrap><div class=text>" + story + "</div><div><div><a href=/1>The bridge is closed</a><div>It rained for a week.</div></div><div><a href=/2>The baker retires</a><div>He was ninety years old.</div></div></div></div>", "", "rained"},
		{"comments", "<article>" + story + "</article><div class=comments><div class=comment><p>I have read this three times and do not see what is new about it.</p></div></div>", "", "three times"},
		{"posts of a forum", "<h1>The mill is sold</h1><div class=comment>" + first + "</div><div class=comment>" + second + "</div>", "The mill at the river\nChildren may come", ""},
		{"hint on the body", "<body class='has-sidebar single comments-open'><article class=no-ads>" + story + "</article>", "Children may come", ""},
		{"form around the page", "<form id=aspnet><div>" + story + "</div></form>", "Children may come", ""},
		{"mark that leads to a heading", "<article>" + first + "<h2>Plans<a class=headerlink href=#p>¶</a></h2>" + second + "</article>", "Plans", "¶"},
		{"unknown element in a sentence", "<article>" + story + "<p>It costs <x-price>nine hundred</x-price> a year to keep the wheel in the water.</p></article>", "It costs nine hundred a year", ""},
		{"paragraphs without p", "<div class=c1><div class=c2>" + strings.NewReplacer("<p>", "<div>", "</p>", "</div>").Replace(story) + "</div></div>", "Children may come", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := "<html><head><title>The mill is sold | The Post</title></head><body><nav><a href=/>Home of the Post</a></nav>" + c.body
			a, err := Extract([]byte(page), pageURL)
			if err != nil || a.Whole {
				t.Fatalf("whole %v, %v", a.Whole, err)
			}
			contains(t, "text", a.Text, "The mill at the river", "Its new owner", "The wheel", "Children may come")
			contains(t, "text", a.Text, strings.Split(c.has, "\n")...)
			if c.lacks != "" {
				lacks(t, "text", a.Text, c.lacks)
			}
			lacks(t, "text", a.Text, "Home of the Post")
			if strings.Contains(c.body, "<h1>") {
				contains(t, "Markdown", a.Markdown, "# The mill is sold", "The mill at the river")
			}
		})
	}
}

// An article of two lines is not lost in the whole page.
func TestShortArticle(t *testing.T) {
	page := "<title>T</title><nav><a href=/>Home of the Post</a></nav><article><h1>T</h1><p>A grey parrot was found in the bell tower on Monday, by the sexton.</p></article><aside>Most read: nothing</aside>"
	if a, err := Extract([]byte(page), pageURL); err != nil || a.Whole || a.Text != "A grey parrot was found in the bell tower on Monday, by the sexton." {
		t.Errorf("%v, whole %v, text %q", err, a.Whole, a.Text)
	}
}

// The text of the article in JSON-LD says where it begins and ends.
func TestTextInJSONLD(t *testing.T) {
	stated := strings.NewReplacer("<p>", "", "</p>", "").Replace(story)
	stated = strings.ReplaceAll(stated, "\n", " ")
	page := `<title>The mill</title><script type="application/ld+json">{"@type":"NewsArticle","articleBody":"` + stated + `"}</script><div class=x>` + story +
		"<p>The Post is a paper for the whole valley. It is printed on Tuesdays, and read by everybody who can read.</p></div>"
	a, err := Extract([]byte(page), pageURL)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "text", a.Text, "The mill at the river", "Children may come")
	lacks(t, "text", a.Text, "paper for the whole valley")
}
