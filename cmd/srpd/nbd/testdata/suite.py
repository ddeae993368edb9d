# What a library client can ask of the server, over any transport: URI says which. Run as nbdsh does.
import errno, os, nbd

URI, STRUCTURED, TLS = os.environ["URI"], os.environ["STRUCTURED"] == "1", os.environ["TLS"] == "1"
SIZE, MIB = 40 << 20, 1 << 20


def handle(opt=False):
    h = nbd.NBD()
    h.set_uri_allow_local_file(True)
    h.set_request_structured_replies(STRUCTURED)
    if hasattr(h, "set_request_extended_headers"):  # since libnbd 1.18
        h.set_request_extended_headers(STRUCTURED)
    h.add_meta_context("base:allocation")
    h.set_opt_mode(opt)
    h.connect_uri(URI)
    return h


def refused(code, f):
    try:
        f()
    except nbd.Error as e:
        assert code is None or e.errno == code, (e.errno, code, str(e))
    else:
        assert False, "not refused with %s" % code


# Options: list, info, contexts, another name, and again.
h = handle(opt=True)
assert h.aio_is_negotiating() and h.get_protocol() == "newstyle-fixed"
assert h.get_tls_negotiated() == TLS and h.get_structured_replies_negotiated() == STRUCTURED
names = []
assert h.opt_list(lambda name, text: names.append((name, text)) and 0) == 2
assert sorted(names) == [("ro", ""), ("x", "a disk")], names
h.set_full_info(True)
h.opt_info()
assert h.get_size() == SIZE and not h.is_read_only() and h.get_export_description() == "a disk"
assert h.get_canonical_export_name() == "x"
assert (h.get_block_size(nbd.SIZE_MINIMUM), h.get_block_size(nbd.SIZE_PREFERRED), h.get_block_size(nbd.SIZE_MAXIMUM)) == (512, 4096, 32 * MIB)
h.set_export_name("none")
refused("ENOENT", h.opt_info)
refused("ENOENT", h.opt_go)
h.set_export_name("ro")
h.opt_info()
assert h.is_read_only() and not h.can_trim() and not h.can_zero()
if STRUCTURED:
    contexts = []
    h.opt_list_meta_context(lambda c: contexts.append(c) and 0)
    assert contexts == ["base:allocation"], contexts
h.opt_go()
assert h.aio_is_ready() and h.is_read_only() and h.get_size() == MIB and h.can_multi_conn()
h.set_strict_mode(0)
refused("EPERM", lambda: h.pwrite(bytes(512), 0))
refused("EPERM", lambda: h.trim(512, 0))
refused("EPERM", lambda: h.zero(512, 0))
assert h.pread(512, 0) == bytes(512)
h.shutdown()

h = handle(opt=True)
h.opt_abort()
assert h.aio_is_closed()

# The flags, and every command.
h = handle()
assert h.can_flush() and h.can_fua() and h.can_trim() and h.can_zero() and h.can_fast_zero() and h.can_cache() and h.can_multi_conn()
assert not h.is_rotational() and not h.is_read_only() and h.can_df() == STRUCTURED
assert h.can_meta_context("base:allocation") == STRUCTURED
b = os.urandom(64 << 10)
h.pwrite(b, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(len(b), 4096) == b
h.trim(4096, 4096, nbd.CMD_FLAG_FUA)
h.zero(4096, 8192, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)
h.zero(4096, 12288, nbd.CMD_FLAG_FAST_ZERO)
h.flush()
h.cache(MIB, 0)
assert h.pread(12288, 4096) == bytes(12288) and h.pread(len(b) - 12288, 16384) == b[12288:]
large = os.urandom(32 * MIB)
h.pwrite(large, 4 * MIB)
assert h.pread(len(large), 4 * MIB) == large
h.trim(SIZE - 8 * MIB, 4 * MIB)

# Pieces of structured reads, and the whole in one on demand.
pieces = []
buf = h.pread_structured(MIB, 0, lambda data, offset, status, err: pieces.append((offset, len(data))) and 0,
                         nbd.CMD_FLAG_DF if STRUCTURED else 0)
assert sum(n for _, n in pieces) == MIB and (not STRUCTURED or len(pieces) == 1), pieces
assert buf == h.pread(MIB, 0)

# Extents: all of the disk, and one.
if STRUCTURED:
    here = MIB + (64 << 10)  # data within a hole
    h.trim(MIB, MIB)
    h.pwrite(bytes(4096), here)
    at, seen = 0, []

    def extents(context, offset, entries, err):
        global at
        assert context == "base:allocation" and offset == at and len(entries) % 2 == 0
        for n, state in zip(entries[0::2], entries[1::2]):
            seen.append((at, n, state))
            at += n

    while at < SIZE:
        h.block_status(SIZE - at, at, extents)
    assert at == SIZE and (here, 4096, 0) in seen and any(s == nbd.STATE_HOLE | nbd.STATE_ZERO for _, _, s in seen), seen
    at, seen = here, []
    h.block_status(MIB, here, extents, nbd.CMD_FLAG_REQ_ONE)
    assert seen == [(here, 4096, 0)], seen

# What is wrong is refused, and what comes after it is served.
h.set_strict_mode(0)
refused("EINVAL", lambda: h.pread(512, SIZE))
refused("EINVAL", lambda: h.pread(1024, SIZE - 512))
refused("ENOSPC", lambda: h.pwrite(bytes(1024), SIZE - 512))
refused("ENOSPC", lambda: h.zero(1024, SIZE - 512))
refused("EINVAL", lambda: h.trim(1024, SIZE - 512))
refused("EINVAL", lambda: h.cache(1024, SIZE - 512))
refused("EINVAL", lambda: h.pread(100, 0))
refused("EINVAL", lambda: h.pwrite(bytes(512), 100))
refused("EINVAL", lambda: h.pread(0, 0))
refused("EINVAL", lambda: h.pread(512, 0, nbd.CMD_FLAG_REQ_ONE))
refused("EINVAL", lambda: h.flush(nbd.CMD_FLAG_NO_HOLE))
refused("ENOTSUP", lambda: h.zero(512, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE))
if not STRUCTURED:
    refused(None, lambda: h.block_status(512, 0, lambda *a: 0))

# Many at a time, answered in any order, each once.
bufs = [nbd.Buffer(4096) for _ in range(200)]
cookies = [h.aio_pread(bufs[i], 4096 * i) for i in range(200)]
while h.aio_in_flight() > 0:
    h.poll(-1)
assert all(h.aio_command_completed(c) for c in cookies)
whole = h.pread(200 * 4096, 0)
assert all(bytes(bufs[i].to_bytearray()) == whole[4096 * i:4096 * (i + 1)] for i in range(200))

# What one connection has written and flushed, another sees.
h2 = handle()
h.pwrite(b, 2 * MIB)
h.flush()
assert h2.pread(len(b), 2 * MIB) == b
h2.shutdown()
h.shutdown()
