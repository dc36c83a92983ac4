package index

import (
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/apps/search"
)

// Words are found however people type them. The exact form comes first.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name, language string
		pages          []string // titles are their numbers; the wanted order
		question       string
	}{
		{"without accents", "en", []string{"Send a resume now.", "Send a résumé now."}, "resume"},
		{"with accents", "en", []string{"Send a résumé now.", "Send a resume now."}, "résumé"},
		{"letters that no accent makes", "", []string{"Łódź"}, "lodz"},
		{"diaeresis", "en", []string{"naïve"}, "naive"},
		{"decomposed accents", "fr", []string{"un e\u0301te\u0301 chaud"}, "été"},
		{"a question in decomposed accents", "fr", []string{"un été chaud"}, "e\u0301te\u0301"},
		{"Greek tonos", "el", []string{"η Αθήνα", "η Αθηνα"}, "αθήνα"},
		{"Greek without tonos", "el", []string{"η Αθήνα"}, "αθηνα"},
		{"Greek capitals", "el", []string{"ο δρόμος"}, "ΔΡΟΜΟΣ"},
		{"Russian ё", "ru", []string{"он ещё дома"}, "еще"},
		{"Russian е", "ru", []string{"он еще дома"}, "ещё"},
		{"Russian й stays", "ru", []string{"мой дом"}, "мой"},
		{"stress marks", "ru", []string{"большо́й за́мок"}, "замок"},
		{"ss for ß", "de", []string{"die Straße"}, "strasse"},
		{"ß for ss", "de", []string{"die Strasse"}, "straße"},
		{"ue for ü", "de", []string{"in München"}, "muenchen"},
		{"ü for ue", "de", []string{"in Muenchen"}, "münchen"},
		{"ue for ü in a page of another language", "en", []string{"Mr Müller wrote"}, "mueller"},
		{"plural with another vowel", "de", []string{"die Häuser"}, "haeuser"},
		{"typographic apostrophe", "en", []string{"Captain O’Connell sails"}, "O'Connell"},
		{"apostrophe of the keyboard", "en", []string{"Captain O'Connell sails"}, "O’Connell"},
		{"no apostrophe", "en", []string{"Captain O’Connell sails"}, "oconnell"},
		{"part behind the apostrophe", "en", []string{"Captain O’Connell sails"}, "connell"},
		{"modifier letter", "uk", []string{"п’ять"}, "п\u02bcять"},
		{"contraction", "en", []string{"He doesn’t know"}, "doesn't"},
		{"possessive", "en", []string{"the harbour’s wall"}, "harbour"},
		{"possessive in the question", "en", []string{"the harbour is closed"}, "harbour's"},
		{"elision", "fr", []string{"derrière l’arbre"}, "arbre"},
		{"elision in the question", "fr", []string{"un arbre vert"}, "l'arbre"},
		{"soft hyphens", "de", []string{"der Ver\u00adsicherungs\u00advertrag"}, "versicherungsvertrag"},
		{"soft hyphens in the question", "de", []string{"der Versicherungsvertrag"}, "Ver\u00adsicherungsvertrag"},
		{"blank of no width", "de", []string{"Donau\u200bdampfer"}, "donaudampfer"},
		{"hyphen", "en", []string{"an e-mail", "an email"}, "e-mail"},
		{"no hyphen", "en", []string{"an email", "an e-mail"}, "email"},
		{"name with underscores", "en", []string{"the view pg_stat_activity"}, "pg_stat_activity"},
		{"part of a name with underscores", "en", []string{"the view pg_stat_activity"}, "activity"},
		{"C++ is not C", "en", []string{"a book about C++"}, "C++"},
		{"Thai", "th", []string{"กรุงเทพเป็นเมืองหลวงของประเทศไทย"}, "เมืองหลวง"},
		{"Thai title", "th", []string{"กรุงเทพเป็นเมืองหลวง"}, "กรุงเทพเป็นเมืองหลวง"},
		{"Thai words that are apart", "th", []string{"กรุงเทพเป็นเมืองหลวงของประเทศไทย", "ข้าว"}[:1], "กรุงเทพ ประเทศไทย"},
		{"Lao", "lo", []string{"ນະຄອນຫຼວງວຽງຈັນ"}, "ວຽງຈັນ"},
		{"Khmer", "km", []string{"រាជធានីភ្នំពេញ"}, "ភ្នំពេញ"},
		{"Korean with a particle", "ko", []string{"한강에서 자전거 대회", "한강공원에서 자전거를 탔습니다"}, "자전거"},
		{"Korean without its particle", "ko", []string{"자전거가 있다"}, "자전거를"},
		{"inside of a Korean word", "ko", []string{"서울특별시의 한강공원"}, "한강"},
		{"Chinese", "zh", []string{"操作系统的原理"}, "操作系统"},
		{"one Chinese character", "zh", []string{"木造建筑"}, "木"},
		{"a long Chinese question", "zh", []string{"全文检索引擎的原理", "引擎的全文"}, "全文检索引擎"},
		{"Japanese words that are apart", "ja", []string{"全文検索エンジンの仕組みを説明します", "エンジン"}, "検索エンジンの仕組み"},
		{"full width", "ja", []string{"ＣＰＵの速度"}, "cpu"},
		{"half width", "ja", []string{"ﾃﾞｰﾀの処理"}, "データ"},
		{"Turkish", "tr", []string{"İstanbul ve ışık"}, "istanbul"},
		{"Vietnamese", "vi", []string{"tiếng Việt"}, "tieng viet"},
		{"Hebrew points", "he", []string{"שָׁלוֹם"}, "שלום"},
		{"Arabic", "ar", []string{"مُحَمَّد أحمد"}, "محمد احمد"},
		{"Hindi signs stay", "hi", []string{"हिन्दी भाषा"}, "हिन्दी"},
		{"the form before its stem", "es", []string{"los sistemas operativos", "las operaciones de los sistemas"}, "sistemas operativos"},
		{"words of a question in another form", "en", []string{"the running dogs", "the run of a dog"}, "running dogs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := emptyIndex(t)
			want := []string{}
			for i, text := range c.pages {
				d := search.Document{Kind: search.Pages, URL: fmt.Sprintf("http://x.example/%d", i), Language: c.language, Text: text}
				if err := storeDocument(x, d); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprint(i))
			}
			if err := storeDocument(x, search.Document{Kind: search.Pages, URL: "http://x.example/other", Text: "Nothing of it is here, 何もない, ничего, τίποτα"}); err != nil {
				t.Fatal(err)
			}
			if got := find(t, &x.reader, search.Pages, c.question); got != strings.Join(want, " ") {
				t.Errorf("%q finds %q, want %q", c.question, got, strings.Join(want, " "))
			}
		})
	}
}
