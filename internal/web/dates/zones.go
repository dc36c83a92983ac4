package dates

import (
	"strconv"
	"strings"
	"time"
)

// abbreviations lists zones by their offset from UTC. Of an ambiguous abbreviation the list
// has the most common meaning.
const abbreviations = `
-1200 BIT IDLW
-1100 NUT SST
-1000 CKT HST TAHT
-0930 MART MIT
-0900 AKST GAMT GIT HDT
-0800 AKDT CIST PST
-0700 MST PDT
-0600 CST EAST GALT MDT
-0500 ACT CDT COT EASST ECT EST PET
-0400 AMT AST BOT CLT EDT FKT GYT PYT VET
-0330 NST NT
-0300 ADT AMST ART BRT CLST FKST GFT PMST PYST ROTT SRT UYT WGT
-0230 NDT
-0200 BRST FNT PMDT UYST WGST
-0100 AZOT CVT EGT
+0000 AZOST EGST GMT UCT UT UTC WET Z
+0100 BST CET DFT MET MEZ WAT WEST
+0200 CAT CEST EET HAEC KALT MEST MESZ SAST WAST
+0300 AQTST EAT EEST FET IDT MSK SYOT TRT МСК
+0330 IRST
+0400 AZT GET GST MSD MUT RET SAMT SCT VOLT
+0430 AFT IRDT
+0500 AQTT HMT MAWT MVT ORAT PKT TFT TJT TMT UZT YEKT
+0530 IST SLST
+0545 NPT
+0600 ALMT BIOT BTT IOT KGT OMST VOST
+0630 CCT MMT
+0700 CXT DAVT HOVT ICT KRAT NOVT WIB
+0800 AWST BDT BNT CHOT HKT IRKT MYT PHT PHST SGT ULAT WITA
+0845 ACWST CWST
+0900 JST KST PWT TLT WIT YAKT
+0930 ACST
+1000 AEST CHST CHUT DDUT PGT VLAT
+1030 ACDT LHST
+1100 AEDT KOST LHDT MAGT NCT NFT PONT SAKT SBT SRET VUT
+1200 ANAT FJT GILT MHT NRT NZST PETT TVT WAKT
+1245 CHAST
+1300 NZDT PHOT TKT TOT
+1345 CHADT
+1400 LINT`

// zones maps the abbreviations to their offset.
var zones = func() map[string]time.Duration {
	all := map[string]time.Duration{}
	for line := range strings.Lines(strings.TrimSpace(abbreviations)) {
		words := strings.Fields(line)
		offset, _ := numericZone(words[0])
		for _, name := range words[1:] {
			all[name] = offset
		}
	}
	return all
}()

// Zone returns the offset from UTC, east is positive, of an abbreviation, "+0900", "+09:00", "-7", "GMT+9", "--0700".
func Zone(zone string) (time.Duration, bool) {
	zone = strings.ToUpper(zone)
	if offset, known := zones[zone]; known {
		return offset, true
	}
	return numericZone(strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(zone, "GMT"), "UTC"), ":"))
}

func numericZone(zone string) (time.Duration, bool) {
	if len(zone) < 2 || zone[0] != '+' && zone[0] != '-' {
		return 0, false
	}
	negative := zone[0] == '-'
	digits := strings.ReplaceAll(strings.TrimLeft(zone, "+-"), ":", "")
	if len(digits) == 6 { // with seconds
		digits = digits[:4]
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || len(digits) > 4 {
		return 0, false
	}
	if len(digits) <= 2 {
		n *= 100
	}
	if n/100 > 15 || n%100 > 59 {
		return 0, false
	}
	offset := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if negative {
		offset = -offset
	}
	return offset, true
}
