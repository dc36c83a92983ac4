package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hce/dc/internal/files"
)

const (
	// serverName is the name in the server's certificate. It does not depend on addresses:
	// the certificate authority signs for this server only.
	serverName = "dc-broker"

	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 365 * 24 * time.Hour
	renewBefore     = 30 * 24 * time.Hour
)

// authority is the certificate authority of a cluster and the certificate of its server: ca.pem
// with ca.key, server.pem with its key. Missing files are created, and the server's certificate
// is renewed 30 days before its end, also while the server runs. Source: RFC 5280.
type authority struct {
	folder string
	now    func() time.Time

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey

	mu      sync.Mutex
	current *tls.Certificate
}

func openAuthority(folder string, now func() time.Time) (*authority, error) {
	a := &authority{folder: folder, now: now}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := a.ensureRoot(); err != nil {
		return nil, fmt.Errorf("cluster certificates in %s: %w", folder, err)
	}
	if _, err := a.serverCertificate(nil); err != nil {
		return nil, fmt.Errorf("cluster certificates in %s: %w", folder, err)
	}
	return a, nil
}

// ensureRoot reads the authority, or creates it. The key is written first: a kill between the
// two files leaves a key without a certificate, and the next start makes the certificate.
func (a *authority) ensureRoot() error {
	keyPath, path := filepath.Join(a.folder, "ca.key"), filepath.Join(a.folder, "ca.pem")
	raw, err := readSecret(keyPath)
	switch {
	case err == nil:
		a.key, err = parseKey(raw)
	case errors.Is(err, fs.ErrNotExist):
		a.key, err = writeKey(keyPath)
	}
	if err != nil {
		return err
	}
	if raw, err = readBounded(path); errors.Is(err, fs.ErrNotExist) {
		template := a.certificateTemplate("HCE Distributed Crawler cluster", authorityLife)
		template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
		template.KeyUsage = x509.KeyUsageCertSign
		raw, err = a.signCertificate(path, template, template, a.key)
	}
	if err != nil {
		return err
	}
	if a.certificate, err = parseCertificate(raw); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !a.key.PublicKey.Equal(a.certificate.PublicKey) {
		return fmt.Errorf("%s does not belong to ca.key: restore both from a backup, or remove both and send new join files to all nodes", path)
	}
	return nil
}

// PEM returns the certificate of the authority.
func (a *authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// serverCertificate returns the certificate of the server; it is tls.Config.GetCertificate.
func (a *authority) serverCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isFresh() {
		return a.current, nil
	}
	path := filepath.Join(a.folder, "server.pem")
	if raw, err := readSecret(path); err == nil {
		if pair, err := tls.X509KeyPair(raw, raw); err == nil {
			a.current = &pair
			if a.isFresh() {
				return a.current, nil
			}
		}
	}
	if err := a.renewCertificate(path); err != nil {
		return nil, fmt.Errorf("renew certificate %s: %w", path, err)
	}
	return a.current, nil
}

func (a *authority) isFresh() bool {
	if a.current == nil {
		return false
	}
	leaf := a.current.Leaf
	return leaf.CheckSignatureFrom(a.certificate) == nil && a.now().After(leaf.NotBefore) && a.now().Before(leaf.NotAfter.Add(-renewBefore))
}

// renewCertificate writes a new key and certificate of the server into one file, so that a kill leaves a pair.
func (a *authority) renewCertificate(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := a.certificateTemplate(serverName, certificateLife)
	template.DNSNames = []string{serverName}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	keyText, err := encodeKey(key)
	if err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyText...)
	pair, err := tls.X509KeyPair(text, text)
	if err == nil {
		err = files.Write(path, text, 0o600)
	}
	if err == nil {
		a.current = &pair
	}
	return err
}

func (a *authority) certificateTemplate(name string, life time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	start := a.now().Add(-time.Hour) // clocks of other machines may be late
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: start, NotAfter: start.Add(life)}
}

func (a *authority) signCertificate(path string, template, parent *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return text, files.Write(path, text, 0o600)
}

func writeKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := encodeKey(key)
	if err == nil {
		err = files.Write(path, text, 0o600)
	}
	return key, err
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

func parseKey(raw []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errors.New("ca.key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("ca.key: %w", err)
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("ca.key is not an ECDSA key")
	}
	return own, nil
}

func parseCertificate(raw []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errors.New("not a certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}
