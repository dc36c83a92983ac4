package media

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/wire/prop"
)

// Limits are MEDIA_LIMITS for images. nil: no limits. Goroutines may share them.
type Limits struct {
	widths, heights, ratios span
	minColors               int
	formats                 []string // names such as jpeg; empty: all
}

// span is a range of numbers. A bound of zero does not count.
type span struct{ low, high float64 }

// holdsValue reports whether a value is in the range. An unknown value, 0, is in every range.
func (s span) holdsValue(v float64) bool {
	return v == 0 || v >= s.low && (s.high == 0 || v <= s.high)
}

// mostColors bounds min_colors.
const mostColors = 1 << 16

// Parse parses MEDIA_LIMITS: {"img": {…}}. An empty text gives nil. Errors name the key and
// its value.
func Parse(text string) (*Limits, error) {
	if text = strings.TrimSpace(text); text == "" || text == "null" {
		return nil, nil
	}
	var kinds prop.Members
	if err := prop.Decode(text, &kinds); err != nil {
		return nil, err
	}
	var l *Limits
	for _, m := range kinds {
		if m.Name != "img" {
			return nil, fmt.Errorf(`has %q; expected "img"`, prop.Clip(m.Name))
		}
		var err error
		if l, err = parseImage(string(m.Value)); err != nil {
			return nil, fmt.Errorf(`at "img" %w`, err)
		}
	}
	return l, nil
}

func parseImage(text string) (*Limits, error) {
	var v struct {
		MinWidth  prop.Float `json:"min_width"`
		MaxWidth  prop.Float `json:"max_width"`
		MinHeight prop.Float `json:"min_height"`
		MaxHeight prop.Float `json:"max_height"`
		MinRatio  prop.Float `json:"min_ratio"`
		MaxRatio  prop.Float `json:"max_ratio"`
		MinColors prop.Int   `json:"min_colors"`
		Formats   prop.Texts `json:"Content-Type"`
	}
	if err := prop.Decode(text, &v); err != nil {
		return nil, err
	}
	l := &Limits{}
	for _, one := range []struct {
		name      string
		low, high prop.Float
		to        *span
	}{
		{"width", v.MinWidth, v.MaxWidth, &l.widths}, {"height", v.MinHeight, v.MaxHeight, &l.heights}, {"ratio", v.MinRatio, v.MaxRatio, &l.ratios},
	} {
		if one.low < 0 || one.high < 0 || one.high > 0 && one.low > one.high {
			return nil, fmt.Errorf("has min_%s %v and max_%s %v; expected numbers from 0 on in this order", one.name, one.low, one.name, one.high)
		}
		*one.to = span{float64(one.low), float64(one.high)}
	}
	if v.MinColors < 0 || v.MinColors > mostColors {
		return nil, fmt.Errorf("has min_colors %d; expected 0 to %d", v.MinColors, mostColors)
	}
	l.minColors = int(v.MinColors)
	for _, f := range v.Formats {
		l.formats = append(l.formats, formatName(f))
	}
	return l, nil
}

// formatName returns the name of a format: "jpeg" for "image/jpeg", ".JPG" and "jpg".
func formatName(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "image/"), ".")
	if text == "jpg" {
		return "jpeg"
	}
	return text
}

// Size is what is known of an image. A zero value is unknown.
type Size struct {
	Width, Height int
	Format        string // such as jpeg
}

// checkSize returns why an image is outside the limits, or nil.
func (l *Limits) checkSize(s Size) error {
	if l == nil {
		return nil
	}
	if !l.widths.holdsValue(float64(s.Width)) || !l.heights.holdsValue(float64(s.Height)) {
		return fmt.Errorf("it has %d x %d pixels", s.Width, s.Height)
	}
	if s.Width > 0 && s.Height > 0 && !l.ratios.holdsValue(float64(s.Height)/float64(s.Width)) {
		return fmt.Errorf("%d x %d pixels have another ratio", s.Width, s.Height)
	}
	if s.Format != "" && len(l.formats) > 0 && !slices.Contains(l.formats, formatName(s.Format)) {
		return errors.New("its format is " + s.Format)
	}
	return nil
}
