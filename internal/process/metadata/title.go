package metadata

import (
	"bytes"
	"strings"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// FindTitle finds the line of an outline that is the title of the page. The name of the site and the
// heading of a box, such as "Contents", are not titles.
func (h *Head) FindTitle(o *outline.Outline) {
	for _, title := range [][]byte{h.OGTitle, h.MetaTitle} {
		h.site.forgetTitle(OneLine(title))
	}
	h.site.forgetTitle(oneLine(TextOfJSON(h.LDTitle)))
	h.site.readLegal(o)
	stated := [][]byte{h.Title, h.OGTitle, h.MetaTitle}
	for _, t := range stated {
		if whole := OneLine(t); whole != "" {
			if part := h.site.cutNames(whole); len(part) < len(whole) {
				stated = append(stated, []byte(part))
			}
		}
	}
	o.FindTitle(stated, func(line *outline.Line, text []byte) bool {
		s := string(text)
		return isBoxTitle(s) || h.site.matchesName(s)
	})
}

// readLegal takes the lines with a copyright sign, which name the owner of the site.
func (s *site) readLegal(o *outline.Outline) {
	for i := len(o.Lines) - 1; i >= 0 && i >= len(o.Lines)-40; i-- {
		if l := &o.Lines[i]; l.Size <= maxLegal {
			if text := o.AppendText(nil, l); bytes.Contains(text, []byte("©")) || bytes.Contains(text, []byte("(c)")) {
				s.legal = plainLetters(string(text))
				return
			}
		}
	}
}

// maxLegal is the longest line with a copyright sign that is read.
const maxLegal = 240

// PageTitle returns the title of the page, without the name of the site where it is added to it: the heading that
// FindTitle has found, else the title that the page states, else its first heading that is not one of a box.
func (h *Head) PageTitle(o *outline.Outline) string {
	stated := h.StatedTitle()
	if o.Title >= 0 {
		b := &o.Lines[o.Title]
		heading := h.site.cutNames(string(o.AppendHeading(nil, o.Title)))
		if b.Title || o.Boxes[b.Box].Tag == htmltree.TagH1 && (stated == "" || !h.isSlogan(heading, stated) && (len(heading) <= maxHeading || len(h.LDTitle) == 0)) {
			return heading
		}
	}
	if stated != "" {
		return stated
	}
	for i := range o.Lines {
		if b := &o.Lines[i]; b.Kind == outline.KindHeading && !isOutside(o, b) {
			if text := string(o.AppendHeading(nil, int32(i))); !isBoxTitle(text) {
				return text
			}
		}
	}
	return ""
}

// maxHeading is the length in bytes from which a heading is a text and no title, if JSON-LD states a headline.
const maxHeading = 160

// isSlogan reports whether a heading that is not like the stated title is a slogan: the page is one of a site, not an
// article, and the heading has other words.
func (h *Head) isSlogan(heading, stated string) bool {
	if h.OGType != OGWebsite || len(h.LDTitle) > 0 {
		return false
	}
	words := map[string]bool{}
	for _, w := range wordsOf(stated) {
		words[w] = true
	}
	for _, w := range wordsOf(heading) {
		if !words[w] && len(w) > 2 {
			return true
		}
	}
	return false
}

// StatedTitle returns the title that the page states, in its metadata or its title element, without the name of the site.
func (h *Head) StatedTitle() string {
	return h.firstTitle(TextOfJSON(h.LDTitle), OneLine(h.OGTitle), OneLine(h.MetaTitle), OneLine(h.Title))
}

// DataTitle is StatedTitle without the title element: the title in JSON-LD and meta elements, or "".
func (h *Head) DataTitle() string {
	return h.firstTitle(TextOfJSON(h.LDTitle), OneLine(h.OGTitle), OneLine(h.MetaTitle))
}

// firstTitle returns the first text that is not only the name of the site, else the first that is not blank.
func (h *Head) firstTitle(texts ...string) (name string) {
	for _, t := range texts {
		s := h.site.cutNames(oneLine(t))
		if s != "" && !h.site.matchesName(s) && !emptyTitles[strings.ToLower(s)] {
			return s
		}
		if name == "" {
			name = s
		}
	}
	return name
}

// outside are the elements that are not part of the text.
const outside = outline.InNav | outline.InAside | outline.InFooter | outline.InForm | outline.InDetails

// isOutside reports whether a line is outside the text of the page.
func isOutside(o *outline.Outline, l *outline.Line) bool {
	box := &o.Boxes[l.Box]
	if box.In&outside != 0 {
		return true
	}
	for _, hint := range [...]int{outline.HintNav, outline.HintSide, outline.HintFooter, outline.HintForm, outline.HintComment, outline.HintRelated} {
		if box.Near[hint] <= 2 {
			return true
		}
	}
	return false
}

// emptyTitles are titles that say nothing, in lower case.
var emptyTitles = textSet("home", "homepage", "home page", "welcome", "index", "untitled", "untitled document", "startseite", "accueil", "inicio", "início", "página inicial",
	"главная", "головна", "ホーム", "首页", "首頁", "홈", "strona główna", "hem", "hjem", "etusivu", "forside", "ana sayfa", "home - home")

// boxTitles are headings of boxes, in lower case, in some languages.
var boxTitles = textSet("note", "notes", "warning", "caution", "important", "tip", "hint", "danger", "attention", "contents", "table of contents", "on this page", "in this article",
	"search", "navigation", "menu", "main menu", "navigation menu", "cookies", "cookie policy", "cookie settings", "we use cookies", "this website uses cookies", "we value your privacy",
	"privacy preference center", "your privacy", "share", "share this", "share this:", "related", "related articles", "related posts", "related content", "see also", "comments",
	"leave a comment", "leave a reply", "newsletter", "subscribe", "sign in", "log in", "login", "sign up", "sign up for free", "categories", "tags", "archives", "recent posts", "popular posts", "site navigation",
	"hinweis", "warnung", "achtung", "wichtig", "inhalt", "inhaltsverzeichnis", "suche", "menü", "cookie-einstellungen", "kommentare", "remarque", "avertissement", "attention", "sommaire",
	"table des matières", "recherche", "rechercher", "commentaires", "nota", "aviso", "advertencia", "índice", "contenido", "contenidos", "buscar", "menú", "comentarios", "conteúdo",
	"pesquisar", "comentários", "avviso", "attenzione", "indice", "sommario", "cerca", "commenti", "opmerking", "waarschuwing", "inhoud", "zoeken", "uwaga", "ostrzeżenie",
	"spis treści", "szukaj", "komentarze", "примечание", "внимание", "предупреждение", "содержание", "оглавление", "поиск", "меню", "комментарии", "примітка", "увага", "зміст",
	"пошук", "коментарі", "not", "uyarı", "içindekiler", "ara", "menü", "yorumlar", "注意", "警告", "目次", "検索", "メニュー", "目录", "目錄", "搜索", "搜尋", "菜单", "评论", "메모", "경고", "목차", "검색", "메뉴", "댓글")

func textSet(texts ...string) map[string]bool {
	set := map[string]bool{}
	for _, t := range texts {
		set[t] = true
	}
	return set
}

// isBoxTitle reports whether a text is the heading of a box.
func isBoxTitle(text string) bool {
	return len(text) <= 40 && boxTitles[strings.TrimRight(strings.ToLower(text), ":：!… ")]
}
