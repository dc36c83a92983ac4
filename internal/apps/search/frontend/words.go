package frontend

import (
	"net/http"
	"strings"

	"hce/dc/internal/apps/search"
)

// wordList are the words of the pages in one language.
type wordList struct {
	Lang, Title, Search, Words, KindOf, Help, Results, Kind, Count, About, Time, Seconds, Asked, None string
	Name, Description, Link, Cached, Versions, Format, Size, Date, Copies, FileName                   string
	Previous, Next, Page, Stored, Original, Source, Error, Back, Status                               string
	Kinds                                                                                             map[search.Kind]string
}

var english = &wordList{
	Lang: "en", Title: "Search", Search: "Search", Words: "Words", KindOf: "Kind of resource",
	Help:    `a b or a + b: either, those with both first · a - b: not with b · "a b": phrase · site:example.org · before:2024-05-31 · after:2023`,
	Results: "Results", Kind: "Kind of results", Count: "Count", About: "about", Time: "Response time", Seconds: "seconds", Asked: "Words", None: "No document has these words.",
	Name: "Title", Description: "Description", Link: "Link", Cached: "Cached", Versions: "All versions", Format: "Format", Size: "Size", Date: "Date", Copies: "Copies", FileName: "Name",
	Previous: "Previous page", Next: "Next page", Page: "Pages of results", Stored: "This is a stored copy of", Original: "stored", Source: "Store", Error: "Error", Back: "New search", Status: "State of the search engine",
	Kinds: map[search.Kind]string{search.Pages: "HTML pages", search.Images: "images", search.Documents: "documents"},
}

var spanish = &wordList{
	Lang: "es", Title: "Buscador", Search: "Buscar", Words: "Palabras", KindOf: "Tipo de documento",
	Help:    `a b o a + b: una u otra, primero las que tienen ambas · a - b: sin b · "a b": frase · site:example.org · before:2024-05-31 · after:2023`,
	Results: "Resultados obtenidos", Kind: "Tipo de resultados", Count: "Cantidad", About: "unos", Time: "Tiempo de respuesta", Seconds: "segundos", Asked: "Palabras", None: "Ningún documento tiene estas palabras.",
	Name: "Título", Description: "Descripción", Link: "Link", Cached: "En cache", Versions: "Todas las versiones", Format: "Formato", Size: "Tamaño", Date: "Fecha", Copies: "Copias", FileName: "Nombre",
	Previous: "Página anterior", Next: "Página siguiente", Page: "Páginas de resultados", Stored: "Esta es una copia guardada de", Original: "guardada", Source: "Almacén", Error: "Error", Back: "Nueva búsqueda", Status: "Estado del buscador",
	Kinds: map[search.Kind]string{search.Pages: "páginas html", search.Images: "imágenes", search.Documents: "documentos"},
}

// wordsFor returns the words of the language that a browser prefers.
func wordsFor(r *http.Request) *wordList {
	first, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ",")
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(first)), "es") {
		return spanish
	}
	return english
}
