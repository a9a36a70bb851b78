package tokenrequestor

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// usual is for how long a token is requested that says nothing else; shortest is what the Kubernetes API allows.
const (
	usual    = 12 * time.Hour
	shortest = 10 * time.Minute
)

// isRequest reports whether an object asks for a token of this shoot.
func isRequest(object client.Object) bool {
	labels := object.GetLabels()
	return labels[resourcesv1alpha1.LabelPurpose] == resourcesv1alpha1.PurposeTokenRequestor &&
		labels[resourcesv1alpha1.LabelClass] == resourcesv1alpha1.ClassShoot
}

// tokenRequest is what a Secret asks for, and what it has.
type tokenRequest struct {
	account    client.ObjectKey
	expiration time.Duration
	injectCA   bool
	// kubeconfig is nil if the token goes into a key of its own.
	kubeconfig *clientcmdapi.Config
	// token and authority are what the Secret has; the token is empty if it has none.
	token     string
	authority []byte
	// renewal is the zero time if it is not known.
	renewal time.Time
}

// read reads what a Secret asks for. Its errors name the annotation or the key.
func read(secret *corev1.Secret) (*tokenRequest, error) {
	annotations := secret.Annotations
	wanted := &tokenRequest{
		account: client.ObjectKey{Namespace: annotations[resourcesv1alpha1.AnnotationAccountNamespace],
			Name: annotations[resourcesv1alpha1.AnnotationAccountName]},
		expiration: usual,
		injectCA:   annotations[resourcesv1alpha1.AnnotationInjectCA] == "true",
		token:      string(secret.Data[resourcesv1alpha1.KeyToken]),
		authority:  secret.Data[resourcesv1alpha1.KeyCABundle],
	}
	for annotation, value := range map[string]string{
		resourcesv1alpha1.AnnotationAccountName:      wanted.account.Name,
		resourcesv1alpha1.AnnotationAccountNamespace: wanted.account.Namespace,
	} {
		if value == "" {
			return nil, fmt.Errorf("annotation %s: missing; it says whose token is requested", annotation)
		}
	}
	if given, is := annotations[resourcesv1alpha1.AnnotationTokenExpiration]; is {
		expiration, err := time.ParseDuration(given)
		if err != nil || expiration < shortest {
			return nil, fmt.Errorf("annotation %s: %q must be a duration of at least %s, for example 6h",
				resourcesv1alpha1.AnnotationTokenExpiration, given, shortest)
		}
		wanted.expiration = expiration
	}
	// What cannot be read is written anew.
	wanted.renewal, _ = time.Parse(time.RFC3339, annotations[resourcesv1alpha1.AnnotationTokenRenewal])
	return wanted, wanted.readKubeconfig(secret.Data[resourcesv1alpha1.KeyKubeconfig])
}

func (w *tokenRequest) readKubeconfig(content []byte) error {
	if len(content) == 0 {
		return nil
	}
	config, err := clientcmd.Load(content)
	if err == nil {
		err = checkNoFiles(config)
	}
	if err == nil {
		err = clientcmd.ConfirmUsable(*config, "")
	}
	if err != nil {
		return fmt.Errorf("key %s: %w", resourcesv1alpha1.KeyKubeconfig, err)
	}
	w.kubeconfig = config
	current := config.Contexts[config.CurrentContext]
	w.token, w.authority = "", config.Clusters[current.Cluster].CertificateAuthorityData
	if user := config.AuthInfos[current.AuthInfo]; user != nil {
		w.token = user.Token
	}
	return nil
}

// checkNoFiles refuses a kubeconfig that names files, before anybody opens them: they would be those of this process.
func checkNoFiles(config *clientcmdapi.Config) error {
	var errs []error
	check := func(owner, key, file, remedy string) {
		if file != "" {
			errs = append(errs, fmt.Errorf("%s: %s names the file %q; %s", owner, key, file, remedy))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		check("cluster "+name, "certificate-authority", config.Clusters[name].CertificateAuthority,
			"give certificate-authority-data")
	}
	for _, name := range slices.Sorted(maps.Keys(config.AuthInfos)) {
		user := config.AuthInfos[name]
		check("user "+name, "client-certificate", user.ClientCertificate, "give client-certificate-data")
		check("user "+name, "client-key", user.ClientKey, "give client-key-data")
		check("user "+name, "tokenFile", user.TokenFile, "leave it out: the token is written into token")
	}
	return errors.Join(errs...)
}

func (w *tokenRequest) lacksCA(authority []byte) bool {
	return w.injectCA && !bytes.Equal(w.authority, authority)
}

// with is the data of the Secret with a new token.
func (w *tokenRequest) with(data map[string][]byte, token string, authority []byte) (map[string][]byte, error) {
	data = maps.Clone(data)
	if data == nil {
		data = map[string][]byte{}
	}
	if w.kubeconfig == nil {
		data[resourcesv1alpha1.KeyToken] = []byte(token)
		if w.injectCA {
			data[resourcesv1alpha1.KeyCABundle] = authority
		}
		return data, nil
	}
	config := w.kubeconfig.DeepCopy()
	current := config.Contexts[config.CurrentContext]
	user := cmp.Or(config.AuthInfos[current.AuthInfo], &clientcmdapi.AuthInfo{})
	user.Token = token
	config.AuthInfos[current.AuthInfo] = user
	if w.injectCA {
		config.Clusters[current.Cluster].CertificateAuthorityData = authority
	}
	content, err := clientcmd.Write(*config)
	data[resourcesv1alpha1.KeyKubeconfig] = content
	return data, err
}

// accountUID is the UID of the ServiceAccount that a token is of; empty if the token does not say it. The signature is
// for the shoot's API server to verify.
func accountUID(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	content, err := base64.RawURLEncoding.DecodeString(payload)
	claims := struct {
		Kubernetes struct {
			ServiceAccount struct {
				UID string `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}{}
	if err != nil || json.Unmarshal(content, &claims) != nil {
		return ""
	}
	return claims.Kubernetes.ServiceAccount.UID
}
