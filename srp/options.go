package srp

import (
	"net/netip"

	"minisrp/verbs"
)

// Setting is an option's value, and whether it was given at all.
type Setting[T any] struct {
	Value T
	Given bool
}

// Given returns the setting of an option that was given as v.
func Given[T any](v T) Setting[T] { return Setting[T]{v, true} }

// Or returns the value, or def when the option was not given.
func (s Setting[T]) Or(def T) T {
	if s.Given {
		return s.Value
	}
	return def
}

// TargetOptions says which target port to log in to, how it is reached, and how its session is to be: what the login
// string of Linux's ib_srp says, which is written to add_target there, kept in srp_daemon.conf and printed by ibsrpdm.
// ParseTarget makes it, and String prints it.
//
// The address is of the RDMA CM form when Dest is valid, else of the IB CM form.
type TargetOptions struct {
	IDExt   uint64 // id_ext: the target port's identifier extension
	IOCGUID uint64 // ioc_guid: its GUID

	Dest netip.AddrPort // dest; the port is not 0
	Src  netip.AddrPort // src; port 0 means any; the zero value, any address

	DGID      verbs.GID // dgid
	PKey      uint16    // pkey
	ServiceID uint64    // service_id

	InitiatorExt uint64  // initiator_ext: the initiator port's identifier extension; 0 unless given
	IOClass      IOClass // io_class; 0 means IOClassR16a

	MaxSectors     Setting[int]  // max_sect: 512-byte sectors a command, from 1
	CommandsPerLUN Setting[int]  // max_cmd_per_lun, from 1
	TargetCanQueue Setting[int]  // target_can_queue: commands at the target, from 1
	QueueSize      Setting[int]  // queue_size: commands a channel, 1 to MaxQueueSize
	CommandEntries Setting[int]  // cmd_sg_entries: descriptors in an IU, 1 to MaxInlineDescs
	AllowExtSG     Setting[bool] // allow_ext_sg: the target may read descriptors from the initiator's memory
	TableSize      Setting[int]  // sg_tablesize: pieces of memory a command, 1 to MaxSegmentsLimit
	CompVector     Setting[int]  // comp_vector: the completion vector of the first channel, from 0
	RetryCount     Setting[int]  // tl_retry_count: transport retries, 2 to 7
	MaxIUSize      Setting[int]  // max_it_iu_size: bytes of an IU to the target at most, from 64; 0 means no cap
	Channels       Setting[int]  // ch_count, 1 to MaxChannels

	ImmediateData Setting[int]     // imm_data: bytes, 0 to MaxImmediateData; 0 asks for none. Not an option of ib_srp
	Protect       Setting[Protect] // protect. Not an option of ib_srp
}

// Class returns the target's I/O class, IOClassR16a unless another was given.
func (o *TargetOptions) Class() IOClass {
	if o.IOClass == 0 {
		return IOClassR16a
	}
	return o.IOClass
}

// Target returns the target port identifier.
func (o *TargetOptions) Target() PortID { return o.Class().PortID(o.IDExt, o.IOCGUID) }

// Initiator returns the initiator port identifier for a login from the port with the given GUID: ib_srp takes the
// interface identifier of the port's first GID.
func (o *TargetOptions) Initiator(guid uint64) PortID { return o.Class().PortID(o.InitiatorExt, guid) }

// Address returns where the target is reached.
func (o *TargetOptions) Address() verbs.Address {
	if o.Dest.IsValid() {
		return verbs.Address{Dst: o.Dest, Src: o.Src}
	}
	return verbs.Address{DGID: o.DGID, PKey: o.PKey, ServiceID: o.ServiceID}
}

// Duplicate reports whether both name the same I_T nexus as far as login strings tell: from one local port there can
// be one session for each id_ext, ioc_guid and initiator_ext, whatever the address. Who wants a second path from the
// same port gives it an initiator_ext of its own.
func (o *TargetOptions) Duplicate(p *TargetOptions) bool {
	return o.IDExt == p.IDExt && o.IOCGUID == p.IOCGUID && o.InitiatorExt == p.InitiatorExt
}

// LUNDepth returns how many commands a logical unit gets at a time: max_cmd_per_lun, else queue_size, else
// DefaultQueueSize.
func (o *TargetOptions) LUNDepth() int {
	return o.CommandsPerLUN.Or(o.QueueSize.Or(DefaultQueueSize))
}

// Sectors returns how many 512-byte sectors a command may transfer: max_sect, else DefaultMaxSectors.
func (o *TargetOptions) Sectors() int { return o.MaxSectors.Or(DefaultMaxSectors) }

// Configure fills in what the options say about a session: Address, Target and the limits, with ib_srp's defaults. The
// initiator's side (Device, PD, Initiator, Processors) and the callbacks are left as they are; so are Channels and
// Protect when they were not given.
//
// An sg_tablesize of more than cmd_sg_entries is taken as cmd_sg_entries, unless allow_ext_sg lets the rest of the table
// stay outside the IU.
func (o *TargetOptions) Configure(cfg *SessionConfig) {
	cfg.Address, cfg.Target = o.Address(), o.Target()
	if o.Channels.Given {
		cfg.Channels = o.Channels.Value
	}
	if o.Protect.Given {
		cfg.Protect = o.Protect.Value
	}
	cfg.QueueSize = o.QueueSize.Or(DefaultQueueSize)
	cfg.DescriptorsInIU = o.CommandEntries.Or(DefaultDescriptorsInIU)
	cfg.AllowExternalTable = o.AllowExtSG.Value
	cfg.MaxSegments = o.TableSize.Or(cfg.DescriptorsInIU)
	if !cfg.AllowExternalTable {
		cfg.MaxSegments = min(cfg.MaxSegments, cfg.DescriptorsInIU)
	}
	cfg.ImmediateData = o.ImmediateData.Or(DefaultImmediateData)
	cfg.MaxIUSize = o.MaxIUSize.Value
	cfg.RetryCount = uint8(o.RetryCount.Or(DefaultRetryCount))
}
