package cloud

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/miekg/dns"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
)

// maxAliases bounds how many CNAMEs are followed for one question.
const maxAliases = 8

// DNS answers DNS questions from the zones, with authority, as they are at this moment. It asks nobody else: a name
// outside of all zones is refused.
func (s *Server) DNS() dns.Handler { return nameServer{s.db, s.metrics, s.log} }

// nameServer answers the questions.
type nameServer struct {
	db      *database
	metrics *metrics
	log     logr.Logger
}

// ServeDNS implements dns.Handler.
func (n nameServer) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	reply := new(dns.Msg).SetReply(question)
	reply.RecursionAvailable = false
	switch {
	case question.Opcode != dns.OpcodeQuery:
		reply.Rcode = dns.RcodeNotImplemented
	case len(question.Question) != 1 || question.Question[0].Qclass != dns.ClassINET:
		reply.Rcode = dns.RcodeFormatError
	default:
		if !n.answerName(question.Question[0], reply) {
			return
		}
	}
	size := dns.MaxMsgSize
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		size = dns.MinMsgSize
		if options := question.IsEdns0(); options != nil {
			size = max(size, int(options.UDPSize()))
		}
	}
	if options := question.IsEdns0(); options != nil {
		reply.SetEdns0(options.UDPSize(), false)
	}
	reply.Truncate(size)
	n.metrics.asked(reply)
	if err := w.WriteMsg(reply); err != nil {
		n.log.V(1).Info("DNS answer could not be sent", "to", w.RemoteAddr().String(), "error", err.Error())
	}
}

// answerName fills the reply, or says that there is to be none.
func (n nameServer) answerName(q dns.Question, reply *dns.Msg) bool {
	name, _ := domainName(q.Name)
	c := &call{verb: api.VerbGet, kind: api.KindNames, id: name}
	if err := n.db.faults.Before(context.Background(), c.subject(), &c.harm, n.db.clock); err != nil ||
		c.harm.Dropped {
		reply.Rcode = dns.RcodeServerFailure
		return err != nil && !errors.Is(err, faultbook.ErrDropped)
	}
	n.db.read.RLock()
	defer n.db.read.RUnlock()
	(&resolver{view: n.db.view(), serial: uint32(n.db.ledger.Last()), reply: reply}).resolve(q)
	return true
}

// resolver fills one reply.
type resolver struct {
	*view
	serial uint32
	reply  *dns.Msg
}

func (r *resolver) resolve(q dns.Question) {
	name, _ := domainName(q.Name)
	zone := r.zoneOf(name)
	if zone == nil {
		r.reply.Rcode = dns.RcodeRefused
		return
	}
	r.reply.Authoritative = true
	owner := q.Name // answers repeat the case of the question
	for range maxAliases {
		sets, found := r.lookup(zone, name)
		if alias := ofType(sets, api.RecordCNAME); alias != nil && q.Qtype != dns.TypeCNAME {
			r.add(owner, alias)
			name, _ = domainName(alias.Values[0])
			owner = dns.Fqdn(name)
			if zone = r.zoneOf(name); zone == nil {
				return // the rest is for other servers to say
			}
			continue
		}
		r.answerSets(q, owner, zone, sets, found)
		return
	}
}

func (r *resolver) answerSets(q dns.Question, owner string, zone *api.Zone, sets []*api.RecordSet, found bool) {
	if name, _ := domainName(owner); name == zone.Name && (q.Qtype == dns.TypeSOA || q.Qtype == dns.TypeNS) {
		r.answerApex(q, zone)
		return
	}
	before := len(r.reply.Answer)
	for _, set := range sets {
		if q.Qtype == dns.TypeANY || dns.TypeToString[q.Qtype] == set.Type {
			r.add(owner, set)
		}
	}
	if len(r.reply.Answer) > before {
		return
	}
	if !found {
		r.reply.Rcode = dns.RcodeNameError
	}
	r.reply.Ns = append(r.reply.Ns, r.soa(zone))
}

func (r *resolver) answerApex(q dns.Question, zone *api.Zone) {
	if q.Qtype == dns.TypeSOA {
		r.reply.Answer = append(r.reply.Answer, r.soa(zone))
		return
	}
	r.reply.Answer = append(r.reply.Answer, &dns.NS{Hdr: header(zone.Name+".", dns.TypeNS, zone.NegativeTTL),
		Ns: primary(zone)})
}

// zoneOf is the zone with the longest name that the name lies in.
func (r *resolver) zoneOf(name string) *api.Zone {
	var best *api.Zone
	for _, row := range r.rows[api.KindZones] {
		zone := row.(*api.Zone)
		inside := name == zone.Name || strings.HasSuffix(name, "."+zone.Name)
		if inside && (best == nil || len(zone.Name) > len(best.Name)) {
			best = zone
		}
	}
	return best
}

// lookup is the record sets of the name, or of the wildcard that stands for it, and whether the name exists at all.
func (r *resolver) lookup(zone *api.Zone, name string) ([]*api.RecordSet, bool) {
	if name == zone.Name || r.names[zone.ID][name] > 0 {
		return r.setsOf(zone, name), true
	}
	// The wildcard directly below the closest name that exists (RFC 4592, 3.3.1).
	for above := name; above != zone.Name; {
		_, above, _ = strings.Cut(above, ".")
		if above != zone.Name && r.names[zone.ID][above] == 0 {
			continue
		}
		sets := r.setsOf(zone, "*."+above)
		return sets, len(sets) > 0
	}
	return nil, false
}

func (r *resolver) setsOf(zone *api.Zone, name string) []*api.RecordSet {
	var sets []*api.RecordSet
	for _, kind := range []string{api.RecordA, api.RecordAAAA, api.RecordCNAME, api.RecordTXT} {
		if set, ok := r.rows[api.KindRecords][recordID(zone.ID, kind, name)].(*api.RecordSet); ok {
			sets = append(sets, set)
		}
	}
	return sets
}

func ofType(sets []*api.RecordSet, kind string) *api.RecordSet {
	if i := slices.IndexFunc(sets, func(s *api.RecordSet) bool { return s.Type == kind }); i >= 0 {
		return sets[i]
	}
	return nil
}

func header(owner string, kind uint16, ttl int64) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: kind, Class: dns.ClassINET, Ttl: uint32(ttl)}
}

func (r *resolver) add(owner string, set *api.RecordSet) {
	for _, value := range set.Values {
		head := header(owner, dns.StringToType[set.Type], set.TTL)
		switch set.Type {
		case api.RecordA:
			r.reply.Answer = append(r.reply.Answer, &dns.A{Hdr: head, A: net.ParseIP(value)})
		case api.RecordAAAA:
			r.reply.Answer = append(r.reply.Answer, &dns.AAAA{Hdr: head, AAAA: net.ParseIP(value)})
		case api.RecordCNAME:
			r.reply.Answer = append(r.reply.Answer, &dns.CNAME{Hdr: head, Target: dns.Fqdn(value)})
		case api.RecordTXT:
			r.reply.Answer = append(r.reply.Answer, &dns.TXT{Hdr: head, Txt: textChunks(value)})
		}
	}
}

// textChunks cuts a text into the strings of at most 255 bytes that a TXT record consists of. What miekg/dns takes
// for an escape is escaped.
func textChunks(text string) []string {
	var chunks []string
	for chunk := range slices.Chunk([]byte(text), 255) {
		chunks = append(chunks, strings.ReplaceAll(string(chunk), `\`, `\\`))
	}
	if chunks == nil {
		return []string{""}
	}
	return chunks
}

func (r *resolver) soa(zone *api.Zone) *dns.SOA {
	return &dns.SOA{
		Hdr: header(zone.Name+".", dns.TypeSOA, zone.NegativeTTL), Ns: primary(zone), Mbox: "hostmaster." + zone.Name + ".",
		Serial: r.serial, Refresh: 3600, Retry: 600, Expire: 86400, Minttl: uint32(zone.NegativeTTL),
	}
}

func primary(zone *api.Zone) string { return "ns." + zone.Name + "." }
