package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"hce/dc/internal/wire/errormask"
)

// tlsHost is a host with a TLS certificate.
type tlsHost struct {
	name, what string
	ends       []errormask.Mask
	cert       func(c *x509.Certificate) // changes a valid certificate
	self       bool                      // self-signed
}

func tlsTraps() []tlsHost {
	gone := listMasks(errormask.Connection)
	return []tlsHost{
		{name: "tls-good", what: "a certificate of this web's own authority", cert: func(*x509.Certificate) {}},
		{name: "tls-expired", what: "a certificate that ended yesterday", ends: gone, cert: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-24 * time.Hour) }},
		{name: "tls-early", what: "a certificate that begins tomorrow", ends: gone, cert: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(24 * time.Hour) }},
		{name: "tls-name", what: "a certificate of another host", ends: gone, cert: func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.invalid"} }},
		{name: "tls-self", what: "a self-signed certificate", ends: gone, self: true, cert: func(*x509.Certificate) {}},
		{name: "tls-client", what: "a certificate for clients", ends: gone, cert: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }},
		{name: "tls-names", what: "a certificate for five thousand names", cert: func(c *x509.Certificate) {
			for i := range 5000 {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("h%d.invalid", i))
			}
		}},
	}
}

func tlsHosts() []Trap {
	var list []Trap
	for _, h := range tlsTraps() {
		list = append(list, Trap{Host: h.name, Path: "/page.html", What: "TLS: " + h.what, Ends: h.ends, serve: serveText(htmlUTF8, doc)})
	}
	return append(list,
		Trap{Host: "tls-none", Path: "/page.html", What: "TLS: plain HTTP where TLS should be", Ends: listMasks(errormask.Connection)},
		Trap{Host: "tls-noise", Path: "/page.html", What: "TLS: noise where the hand-shake should be", Ends: listMasks(errormask.Connection)},
		Trap{Host: "tls-silent", Path: "/page.html", What: "TLS: a hand-shake that never goes on", Ends: listMasks(errormask.Timeout), Stalls: true},
	)
}

// plainTalk are the hosts of the https scheme that do not speak TLS.
var plainTalk = map[string]func(c net.Conn){
	"tls-none": func(c net.Conn) { sendRaw(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nplain HTTP") },
	"tls-noise": func(c net.Conn) {
		// A handshake record, so that the first byte is valid.
		sendRaw(c, "\x16\x03\x03\x40\x00"+string(randomBytes(1<<14)))
		awaitClose(c)
	},
	"tls-silent": func(c net.Conn) { awaitClose(c) },
}

// authority signs the certificates of the TLS hosts. Each start creates a new one; its key
// is never stored.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the hostile web's authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

// certificatePEM returns the authority's certificate as PEM.
func (a *authority) certificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issueCertificate creates the certificate of one host at ip.
func (a *authority) issueCertificate(h tlsHost, ip net.IP) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: h.name},
		NotBefore: time.Now().Add(-47 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{ip},
	}
	h.cert(template)
	parent, signer := a.cert, a.key
	if h.self {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create certificate of %s: %w", h.name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
