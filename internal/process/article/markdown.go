package article

import (
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	baseplugin "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// writer is shared, because creating one registers dozens of handlers. It is safe for
// concurrent use.
var writer = sync.OnceValue(func() *converter.Converter {
	c := converter.NewConverter(converter.WithPlugins(
		baseplugin.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
	// The plugin escapes a [ only if a ] follows on the line, and searches it for each [: a
	// megabyte of them takes a minute.
	c.Register.UnEscaper(func(text []byte, i int) int {
		if text[i] == '[' {
			return 1
		}
		return -1
	}, converter.PriorityEarly)
	return c
})

// maxNesting is the greatest depth of quotes and lists. Markdown repeats the prefixes of
// all levels on each line, so a small page could give a huge text.
const maxNesting = 24

// maxCells is the most table cells in Markdown; see tableCells.
const maxCells = 100_000

// markdown converts node to CommonMark with tables. It may change node. It returns "" after
// an error and for nodes beyond maxNesting or maxCells.
func markdown(node *html.Node) string {
	if nesting(node) > maxNesting || tableCells(node) > maxCells {
		return ""
	}
	text, err := writer().ConvertNode(node)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
