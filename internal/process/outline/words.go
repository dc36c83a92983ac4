package outline

import (
	"hce/dc/internal/web/htmltree"
)

// What the words of a short line say: texts that pages set around their content, in the languages that are frequent on the web.
const (
	SaysShare = iota
	SaysMore
	SaysComment
	SaysSubscribe
	SaysAd
	saysLegal
	SaysLogin
	SaysShop
	SaysBy
	saysPhoto
	saysTime
	SaysTags
	saysNav
	SaysCookie
	SaysSee
	SaysCount
)

var SaysNames = [SaysCount]string{"share", "more", "comment", "subscribe", "ad", "legal", "login", "shop", "by", "photo", "time", "tags", "nav", "cookie", "see"}

var saysLists = [SaysCount]string{
	SaysShare:     "share sharing tweet facebook twitter whatsapp linkedin pinterest instagram youtube telegram reddit email print copy link follow teilen drucken partager imprimer compartir compartilhar condividi delen dela",
	SaysMore:      "more related recommended popular trending latest similar also like recent stories articles posts read mehr weitere beliebt ähnliche lesen auch artikel plus lire aussi más leer también relacionadas mais leia também leggi anche meer lees explore discover featured next previous",
	SaysComment:   "comment comments reply replies leave discussion responses kommentar kommentare antworten commentaire commentaires répondre comentario comentarios comentários responder commenti reacties likes votes views",
	SaysSubscribe: "subscribe subscription newsletter newsletters signup sign inbox weekly daily updates join abonnieren abo anmelden abonnez inscrivez suscríbete boletín assine iscriviti donate support membership member free trial demo download",
	SaysAd:        "advertisement advertising advert ad sponsored sponsor promoted anzeige werbung publicité publicidad publicidade pubblicità affiliate commission",
	saysLegal:     "copyright rights reserved © privacy policy terms conditions disclaimer imprint impressum datenschutz agb mentions légales aviso legal trademarks license llc inc gmbh",
	SaysLogin:     "login log account register password username sign einloggen anmeldung registrieren connexion iniciar sesión entrar accedi profile settings",
	SaysShop:      "cart basket checkout buy shop price sale shipping stock add wishlist quantity order save off warenkorb kaufen versand panier acheter comprar carrito",
	SaysBy:        "by author written posted editor reporter staff contributor von autor verfasst par auteur por di door about bio",
	saysPhoto:     "photo photos image images picture credit courtesy getty reuters ap afp shutterstock unsplash via illustration foto bild fotos video watch caption figure fig",
	saysTime:      "published updated ago min mins minutes read date posted am pm gmt est january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday uhr",
	SaysTags:      "tags tag topics topic filed categories category keywords under labels schlagworte themen kategorie etiquetas mots sujets",
	saysNav:       "home menu search skip back top previous next contents index page pages close open toggle navigation main startseite suche zurück accueil recherche inicio buscar início prev up first last show hide all view",
	SaysCookie:    "cookie cookies consent accept browser javascript enabled gdpr preferences",
	SaysSee:       "see references sources source notes footnotes bibliography external links further reading siehe quellen quelle literatur weblinks einzelnachweise références voir fuentes",
}

// saysTable is a hash table of the words: 2048 places of 32 bits of hash and the bits.
var saysTable [2048]struct {
	hash uint32
	says uint32
}

func init() {
	for k, list := range saysLists {
		w := []byte(list + " ")
		h, n := uint32(2166136261), 0
		for _, c := range w {
			if c == ' ' {
				if n > 0 {
					saysPut(h, k)
				}
				h, n = 2166136261, 0
				continue
			}
			h = (h ^ uint32(c)) * 16777619
			n++
		}
	}
}

func saysPut(h uint32, k int) {
	for i := (h ^ h>>15) & 2047; ; i = (i + 1) & 2047 {
		e := &saysTable[i]
		if e.says == 0 || e.hash == h {
			e.hash = h
			e.says |= 1 << k
			return
		}
	}
}

func saysGet(h uint32) uint32 {
	for i := (h ^ h>>15) & 2047; ; i = (i + 1) & 2047 {
		e := &saysTable[i]
		if e.says == 0 {
			return 0
		}
		if e.hash == h {
			return e.says
		}
	}
}

const saysMax = 120 // bytes of the longest line that is read so

// saysOf reads the first words of a line.
func (o *Outline) saysOf(b *Line) (says uint32) {
	words := 0
	for i := b.First; i <= b.Last && words < 8; i++ {
		n := &o.Doc.Nodes[i]
		if n.Tag != htmltree.TagText {
			if n.Tag > htmltree.TagOther && n.Tag.IsSilent() {
				i = n.End - 1
			}
			continue
		}
		h, size := uint32(2166136261), 0
		for _, c := range o.Doc.Text(n) {
			switch {
			case c >= 'A' && c <= 'Z':
				c |= 0x20
			case c >= 'a' && c <= 'z' || c >= 0x80:
			default:
				if size > 0 {
					says |= saysGet(h)
					words++
					if words == 8 {
						return says
					}
				}
				h, size = 2166136261, 0
				continue
			}
			h = (h ^ uint32(c)) * 16777619
			size++
		}
		if size > 0 {
			says |= saysGet(h)
			words++
		}
	}
	return says
}
