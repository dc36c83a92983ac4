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

// writer is made once: it is safe for concurrent use and its plugins register
// dozens of handlers.
var writer = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		baseplugin.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
})

// maxNesting is how deep quotes and lists may be nested. Each level is written
// before each line in it, so a small page could make a huge text.
const maxNesting = 24

// maxCells is how many cells tables may have in Markdown, where each row is
// filled up and each span is written out.
const maxCells = 100_000

// markdown writes node, which it changes, as CommonMark with tables. It returns
// "" when the converter cannot or should not.
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
