package media

import (
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats that DecodeConfig knows
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/url"
	"strings"

	_ "golang.org/x/image/webp"
)

const (
	maxData   = 1 << 20 // bytes of an image in a data: URI that are read
	maxPixels = 1 << 20 // of an image whose colors are counted
)

var errUnread = errors.New("the image cannot be read")

// checkData returns why the image of a data: URI is outside the limits, or nil. Without
// limits it is not read.
func (l *Limits) checkData(uri string) error {
	if l == nil {
		return nil
	}
	config, format, err := image.DecodeConfig(dataReader(uri))
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	if err := l.checkSize(Size{Width: config.Width, Height: config.Height, Format: format}); err != nil {
		return err
	}
	if l.minColors > 1 && config.Width*config.Height <= maxPixels {
		return l.checkColors(uri)
	}
	return nil
}

// checkColors counts the colors of a small image.
func (l *Limits) checkColors(uri string) error {
	picture, _, err := image.Decode(dataReader(uri))
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	type color struct{ r, g, b, a uint32 }
	seen := map[color]bool{}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, b, a := picture.At(x, y).RGBA()
			if seen[color{r, g, b, a}] = true; len(seen) >= l.minColors {
				return nil
			}
		}
	}
	return fmt.Errorf("it has %d colors", len(seen))
}

// dataReader returns the data of a data: URI, at most maxData bytes. White space and escapes in
// it do not count.
func dataReader(uri string) io.Reader {
	head, data, _ := strings.Cut(uri, ",")
	data = data[:min(len(data), 2*maxData)]
	if strings.Contains(data, "%") {
		if plain, err := url.PathUnescape(data); err == nil {
			data = plain
		}
	}
	if !strings.Contains(head, "base64") {
		return io.LimitReader(strings.NewReader(data), maxData)
	}
	data = strings.TrimRight(strings.Join(strings.Fields(data), ""), "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(data[:min(len(data), 4096)], "-_") {
		encoding = base64.RawURLEncoding
	}
	return io.LimitReader(base64.NewDecoder(encoding, strings.NewReader(data)), maxData)
}
