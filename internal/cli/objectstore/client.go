package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// AllowHTTP is the variable that allows an endpoint http:// that is not of this machine, if its value is 1.
const AllowHTTP = "HCE_S3_ALLOW_HTTP"

// MaxTries is how often a request is sent before its error counts, with at most a second between two. Tests make it smaller.
var MaxTries = 10

// roleTimeout bounds the request for the credentials of an instance role. Outside of clouds nothing answers.
const roleTimeout = 5 * time.Second

// Client reads and writes one object.
type Client struct {
	core     *minio.Core
	address  Address
	endpoint string // for messages
}

// Open returns a client of the object at address. It reads the environment and sends nothing.
func Open(address string) (*Client, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	host, secure, err := readEndpoint(cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil {
		return nil, &Error{Address: a, Code: badEndpoint, Err: err}
	}
	region, lookup := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")), minio.BucketLookupAuto
	if !isAmazon(host) {
		region, lookup = cmp.Or(region, "us-east-1"), minio.BucketLookupPath
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	core, err := minio.NewCore(host, &minio.Options{
		Creds: findCredentials(), Secure: secure, Region: region, BucketLookup: lookup, MaxRetries: MaxTries, Transport: transport,
	})
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", host, err)
	}
	return &Client{core: core, address: a, endpoint: host}, nil
}

// Address returns the place of the object.
func (c *Client) Address() Address { return c.address }

// readEndpoint splits the URL of an endpoint. Its errors leave out the text, which may have a password.
func readEndpoint(text string) (host string, secure bool, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", false, errors.New("AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is no URL such as https://objects.example.org:9000")
	case u.User != nil:
		return "", false, errors.New("AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL has a user or a password; give credentials as docs/objectstore.md says")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", false, fmt.Errorf("endpoint %s: only scheme, host and port are allowed in AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL", u.Host)
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && os.Getenv(AllowHTTP) != "1":
		return "", false, fmt.Errorf("endpoint http://%s: pages would cross the network in clear; use https://, or allow it with %s=1", u.Host, AllowHTTP)
	}
	return u.Host, u.Scheme == "https", nil
}

func isAmazon(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return strings.HasSuffix(name, ".amazonaws.com") || strings.HasSuffix(name, ".amazonaws.com.cn")
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// findCredentials looks where programs of AWS look: the environment, the profile in the files of AWS, the role of the instance.
func findCredentials() *credentials.Credentials {
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: roleTimeout}})
	}
	return credentials.NewChainCredentials(chain)
}

// CheckCredentials refuses to write without credentials; it does not ask the server. Objects that anyone may read need none.
func (c *Client) CheckCredentials() error {
	value, err := c.core.GetCreds()
	if err != nil || value.SignerType.IsAnonymous() {
		return &Error{Address: c.address, Endpoint: c.endpoint, Code: noCredentials}
	}
	return nil
}

// Exists reports whether the object exists. A bucket that does not exist is an error.
func (c *Client) Exists(ctx context.Context) (bool, error) {
	_, found, err := c.statObject(ctx)
	return found, err
}

// statObject returns what the server knows of the object.
func (c *Client) statObject(ctx context.Context) (info minio.ObjectInfo, found bool, err error) {
	info, err = c.core.StatObject(ctx, c.address.Bucket, c.address.Key, minio.StatObjectOptions{})
	if err == nil {
		return info, true, nil
	}
	if code := minio.ToErrorResponse(err).Code; code != minio.NoSuchKey {
		return info, false, c.explain("look for", err)
	}
	return info, false, c.checkBucket(ctx)
}

// checkBucket looks for the cause of an answer that there is no object: answers to HEAD have no body, and are the same for
// a missing bucket and, of some servers, for unknown credentials. Who may not list the bucket cannot know.
func (c *Client) checkBucket(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx) // ends the goroutine of the list
	defer stop()
	first := <-c.core.Client.ListObjects(ctx, c.address.Bucket, minio.ListObjectsOptions{Prefix: c.address.Key, MaxKeys: 1})
	if first.Err != nil && minio.ToErrorResponse(first.Err).Code != minio.AccessDenied {
		return c.explain("look for", first.Err)
	}
	return nil
}
