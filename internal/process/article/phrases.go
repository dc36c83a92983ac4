package article

import "regexp"

// phraseSize is the longest block that is judged by its first words.
const phraseSize = 140

// asides are the first words of lines that lead to other pages, ask for something, or name the
// photographer, in some languages.
var asides = regexp.MustCompile(`(?i)^[\W_]*(?:` +
	`read (?:more|also|next)\b|also read\b|more (?:from|on this|stories)\b|related(?: \p{L}+)?:?$|related:|you (?:may|might) also\b|recommended for you|don.t miss\b|` +
	`share (?:this|on)\b|follow (?:us|me)\b|sign up\b|subscribe\b|never miss\b|advertisement\b|sponsored\b|click here\b|leave a (?:comment|reply)|` +
	`(?:photo|image|picture|foto|bild|abbildung|fotos|zdjęcie|fot\.|фото|写真)\s?(?:credit|:|by)|(?:image|photo) source|` +
	`lesen sie auch|auch interessant|mehr zum thema|mehr themen|weitere themen|weiterlesen|zum weiterlesen|schon gelesen|das könnte (?:sie|dich) auch|verwandte (?:beiträge|artikel)|anzeige$|werbung$|teilen$|` +
	`à lire aussi|lire aussi|vous aimerez aussi|publicité$|partager\b|abonnez-vous|inscrivez-vous|` +
	`lea también|lee también|leer más|te puede interesar|noticias relacionadas|publicidad$|s[íi]guenos|compartir\b|` +
	`leia (?:também|mais)|veja também|leggi anche|potrebbe interessarti|ti potrebbe|condividi\b|` +
	`lees ook|meer over|czytaj (?:też|także|również|więcej)|zobacz (?:też|także|również)|przeczytaj (?:też|także|również)|udostępnij|reklama$|` +
	`читайте также|читать также|подпи(?:сывайтесь|шитесь)|поделиться|реклама$|читайте ще|` +
	`関連記事|あわせて読みたい|こちらもおすすめ|広告$|シェアする|相关(?:阅读|新闻|文章)|延伸閱讀|廣告$|广告$|관련\s?기사|اقرأ أيض)`)

// aside reports whether a block is such a line.
func (o *outline) aside(i int) bool {
	b := &o.blocks[i]
	return b.size <= phraseSize && b.kind != listing && b.kind != cell && asides.MatchString(o.text(i))
}
