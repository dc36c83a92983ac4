package markup

import (
	"testing"

	"hce/dc/internal/web/dates"
)

func TestOwnTitle(t *testing.T) {
	for title, own := range map[string]bool{
		"Tides of the Harbour": true, "Untitled nights in Dover": true, "Document the tides": true, "Vol. 2": true, "C++": true, "Presentation of 2024": true, "1984": true,
		"": false, "untitled": false, "Untitled-1": false, "untitled.doc": false, "Untitled document": false, "Microsoft Word - tides.doc": false, "PowerPoint Presentation": false,
		"Document1": false, "Dokument 12": false, "report_final_v2": false, "tides.docx": false, "Book2": false, "(anonymous)": false, "Title": false, "Slide 1": false,
	} {
		if got := OwnTitle(title); (got != "") != own {
			t.Errorf("%q: %q", title, got)
		}
	}
}

func TestDateOf(t *testing.T) {
	for text, want := range map[string]string{
		"2024-05-17T10:11:12+02:00": "2024-05-17T10:11:12+02:00", "2024-05-17": "2024-05-17", "1601-01-01T00:00:00Z": "", "1970-01-01T00:00:00Z": "", "": "",
	} {
		v, _ := dates.ParseISO(text)
		if got := DateOf(v).String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
