package steer

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"whittle"
)

// httpRoute is the weights of the two backends in all rules of an HTTPRoute that have both. A
// share is in force when each Gateway has taken up the route as it is now.
type httpRoute struct{ whittle.SteerHTTPRoute }

// httpRouteObject is what of an HTTPRoute counts here.
type httpRouteObject struct {
	Metadata struct {
		Generation      int64
		ResourceVersion string
	}
	Spec struct {
		Rules []struct {
			BackendRefs []struct {
				Name   string
				Weight *int64
			}
			SessionPersistence json.RawMessage
		}
	}
	Status struct {
		Parents []struct {
			Conditions []struct {
				Type, Status, Message string
				ObservedGeneration    int64
			}
		}
	}
}

// weights are those of a rule.
type weights struct {
	rule                int
	candidate, monolith int // their places
	share               whittle.Share
	sticky              bool
}

func (r *httpRoute) Set(ctx context.Context, share whittle.Share) error {
	o, rules, err := r.get(ctx)
	if err != nil {
		return err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch := []operation{{"test", "/metadata/resourceVersion", o.Metadata.ResourceVersion}}
	for _, w := range rules {
		if w.sticky && share > 0 {
			return fmt.Errorf("rule %d has sessionPersistence, which keeps a session where it is even if the weight is 0 (GEP-1619): nobody could be taken back", w.rule)
		}
		path := func(backend int) string { return fmt.Sprintf("/spec/rules/%d/backendRefs/%d/weight", w.rule, backend) }
		patch = append(patch, operation{"add", path(w.candidate), share}, operation{"add", path(w.monolith), whittle.All - share})
	}
	b, err := json.Marshal(patch)
	if err == nil {
		_, err = r.call(ctx, http.MethodPatch, b)
	}
	return err
}

func (r *httpRoute) Read(ctx context.Context) (whittle.Share, error) {
	o, rules, err := r.get(ctx)
	if err != nil {
		return 0, err
	}
	for _, w := range rules[1:] {
		if w.share != rules[0].share {
			return 0, fmt.Errorf("its rules have different weights: %s and %s", percent(rules[0].share), percent(w.share))
		}
	}
	return rules[0].share, o.taken()
}

// taken says which Gateway has not taken up the route as it is now.
func (o *httpRouteObject) taken() error {
	if len(o.Status.Parents) == 0 {
		return errors.New("no Gateway has taken it up")
	}
	for _, p := range o.Status.Parents {
		said := "says nothing of it"
		for _, c := range p.Conditions {
			switch {
			case c.Type != "Accepted":
			case c.ObservedGeneration < o.Metadata.Generation:
				said = "has an older one"
			case c.Status != "True":
				said = "does not accept it: " + c.Message
			default:
				said = ""
			}
		}
		if said != "" {
			return fmt.Errorf("a Gateway %s", said)
		}
	}
	return nil
}

// get gives the route, and the weights of its rules with both backends.
func (r *httpRoute) get(ctx context.Context) (*httpRouteObject, []weights, error) {
	b, err := r.call(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, nil, err
	}
	var o httpRouteObject
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, nil, fmt.Errorf("the HTTPRoute: %w", err)
	}
	var all []weights
	for i, rule := range o.Spec.Rules {
		w := weights{rule: i, candidate: -1, monolith: -1, sticky: len(rule.SessionPersistence) > 0}
		var sum, own int64
		for k, ref := range rule.BackendRefs {
			weight := int64(1)
			if ref.Weight != nil {
				weight = *ref.Weight
			}
			sum += weight
			switch ref.Name {
			case r.Candidate:
				w.candidate, own = k, weight
			case r.Monolith:
				w.monolith = k
			}
		}
		if w.candidate < 0 || w.monolith < 0 {
			continue
		}
		if len(rule.BackendRefs) > 2 {
			return nil, nil, fmt.Errorf("rule %d has more backends than the two", i)
		}
		if w.share, err = part(float64(own), float64(sum)); err != nil {
			return nil, nil, err
		}
		all = append(all, w)
	}
	if all == nil {
		return nil, nil, fmt.Errorf("no rule of it has the backends %s and %s", r.Candidate, r.Monolith)
	}
	return &o, all, nil
}

// call asks the API. Token and authorities are read each time, since both are replaced at times.
func (r *httpRoute) call(ctx context.Context, method string, patch []byte) ([]byte, error) {
	server := r.Server
	if server == "" {
		host := os.Getenv("KUBERNETES_SERVICE_HOST")
		if host == "" {
			return nil, errors.New("this is no pod: KUBERNETES_SERVICE_HOST is not set")
		}
		server = "https://" + net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT"))
	}
	client := newClient()
	if strings.HasPrefix(server, "https://") {
		pem, err := os.ReadFile(r.CA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", r.CA)
		}
		client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	token, err := os.ReadFile(r.Token)
	if err != nil {
		return nil, err
	}
	return ask(ctx, client, method, server+"/apis/gateway.networking.k8s.io/v1/namespaces/"+r.Namespace+"/httproutes/"+r.Name, bytes.NewReader(patch),
		"Authorization", "Bearer "+strings.TrimSpace(string(token)), "Content-Type", "application/json-patch+json", "Accept", "application/json")
}
