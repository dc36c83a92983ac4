package moves

import (
	"slices"

	"hce/dc/internal/storage/sqldb"
)

// belongings are the rows of other tables that have a key of a page of rows.
type belongings struct {
	*tx
	site                   string
	attributes, freqs, log map[string]bool // keys with rows
	properties             bool            // the site has properties of URLs
}

func (t *tx) loadBelongings(site string, olds, news []string) (*belongings, error) {
	b := &belongings{tx: t, site: site}
	var err error
	if b.attributes, err = t.KeysWithRow(sqldb.Attributes, site, olds); err != nil {
		return nil, err
	}
	if b.freqs, err = t.KeysWithRow(sqldb.Freqs, site, slices.Concat(olds, news)); err != nil {
		return nil, err
	}
	if b.log, err = t.KeysWithRow(sqldb.Logs, site, olds); err != nil {
		return nil, err
	}
	b.properties, err = t.Get("keys_properties_any", []any{site}, new(int))
	return b, err
}

// renewKey changes the key of what belongs to a row. Of two attributes of one name that of the
// winner stays; keeps means that the row of the new key wins.
func (b *belongings) renewKey(c keyChange, keeps bool) error {
	in := b.Of(b.site)
	if b.attributes[c.old] {
		loser, winner := c.new, c.old
		if keeps {
			loser, winner = c.old, c.new
		}
		if _, err := in.Do("keys_attributes_drop", b.site, loser, b.site, winner); err != nil {
			return err
		}
		if _, err := in.Do("keys_attributes", c.new, b.site, c.old); err != nil {
			return err
		}
	}
	if b.log[c.old] {
		if _, err := in.Do("keys_log", c.new, b.site, c.old); err != nil {
			return err
		}
	}
	if b.properties {
		if _, err := in.Do("keys_property", c.new, b.site, c.old); err != nil {
			return err
		}
	}
	return b.renewFreqs(c)
}

// renewFreqs changes the key of the event counters of a URL. Those of two URLs are added.
func (b *belongings) renewFreqs(c keyChange) error {
	if !b.freqs[c.old] {
		return nil
	}
	in := b.Of(b.site)
	if !b.freqs[c.new] {
		b.freqs[c.new] = true
		_, err := in.Do("keys_freq", c.new, b.site, c.old)
		return err
	}
	counts := make([]any, 9, 11)
	for i := range counts {
		counts[i] = new(int64)
	}
	if _, err := in.Get("keys_freq_get", []any{b.site, c.old}, counts...); err != nil {
		return err
	}
	for i, n := range counts {
		counts[i] = *n.(*int64)
	}
	if _, err := in.Do("keys_freq_add", append(counts, b.site, c.new)...); err != nil {
		return err
	}
	_, err := in.Do("keys_freq_drop", b.site, c.old)
	return err
}
