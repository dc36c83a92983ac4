// Package langmodel tells the languages of texts by a linear model of the parts of their words.
//
//	m, err := langmodel.Read(data)
//	r := m.Score(text)        // a sample of the text, its script, the scores of the languages
//	best, second := r.Best()  // indexes of r.Languages
//	sure := r.Margin(best, second) > 1 // nats
//
// The letters choose the script. Of the languages of that script each feature of a word, such
// as "sch" or " de ", favours some or speaks against them. tools/trainlang makes the model and
// reads words and features by the same code; AppendGroup writes what Read reads.
package langmodel
