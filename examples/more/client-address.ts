/**
 * Where a client's address stands. Behind a proxy, every connection is the proxy's, and what a
 * header says is whatever a client wrote, but for what the proxy added: only whoever runs both
 * knows what that is.
 */
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6, SocketAddress } from 'node:net';

type Headed = Pick<IncomingMessage, 'headersDistinct' | 'socket'>;

/**
 * Returns a client's address, in the one spelling that it has. Throws if it does not stand where it
 * is expected: then the service is not where its configuration says, and nobody can be told apart.
 */
export type ClientAddress = (request: Headed) => string;

const CLIENT_ADDRESSES = 'socket, x-forwarded-for:<number of proxies>, or <name of a header>';

const FORWARDED = 'x-forwarded-for';
/** An address as proxies write it: some with the port, and then IPv6 in brackets (RFC 7239 §6). */
const WITH_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/;

/** An IPv4 address in the form of IPv6 is the IPv4 address. */
function canonical(address: string): string {
  if (!isIPv6(address)) return address;
  const { address: short } = new SocketAddress({ address, family: 'ipv6' });
  return short.startsWith('::ffff:') && short.includes('.') ? short.slice(7) : short;
}

function readAddress(text: string, where: string): string {
  const bare = text.trim();
  const matched = WITH_PORT.exec(bare);
  const address = matched?.[1] ?? matched?.[2] ?? bare;
  // What it is instead is not repeated: a client may have written it.
  if (isIP(address) === 0) throw new Error(`clientAddress: there is no address in ${where}`);
  return canonical(address);
}

/** The address at the other end of the connection. */
const socketAddress: ClientAddress = ({ socket }) => canonical(socket.remoteAddress ?? '');

/**
 * Each proxy appends whom it was called by, so the last entry is the nearest proxy's, and what
 * stands left of all of theirs is the client's own invention.
 */
function forwardedFor(proxies: number): ClientAddress {
  const where = `${FORWARDED}, entry ${proxies} from the right`;
  return ({ headersDistinct }) => {
    const entries = (headersDistinct[FORWARDED] ?? []).join(',').split(',');
    return readAddress(entries.at(-proxies) ?? '', where);
  };
}

/** A header that the proxy sets, and so replaces. Two lines of it are not the proxy's. */
function inHeader(name: string): ClientAddress {
  return ({ headersDistinct }) => {
    const lines = headersDistinct[name] ?? [];
    return readAddress(lines.length === 1 ? String(lines[0]) : '', name);
  };
}

const HEADER = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const HOPS = /^x-forwarded-for:([1-9])$/;

/** @throws TypeError on anything but one of {@link CLIENT_ADDRESSES}. */
export function readClientAddress(text: string): ClientAddress {
  if (text === 'socket') return socketAddress;
  const name = text.toLowerCase();
  const proxies = HOPS.exec(name)?.[1];
  if (proxies !== undefined) return forwardedFor(Number(proxies));
  // Its first entry is anybody's.
  const isOther = HEADER.test(name) && name !== FORWARDED && name !== 'forwarded';
  if (isOther) return inHeader(name);
  throw new TypeError(`readClientAddress: pass ${CLIENT_ADDRESSES}`);
}
