/**
 * Finds the address of a client. Behind a proxy, every connection comes from the proxy, and the
 * client can write anything into a header except for the part that the proxy adds. Only you know
 * which part that is, so you configure it.
 */
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6, SocketAddress } from 'node:net';

type Headed = Pick<IncomingMessage, 'headersDistinct' | 'socket'>;

/**
 * Returns the canonical address of a client. Throws if the request does not have it in the
 * configured place. Then the configuration is wrong, and clients cannot be distinguished.
 */
export type ClientAddress = (request: Headed) => string;

const CLIENT_ADDRESSES = 'socket, x-forwarded-for:<number of proxies>, or <name of a header>';

const FORWARDED = 'x-forwarded-for';
/** The address as proxies write it. Some add the port, with IPv6 in brackets (RFC 7239 §6). */
const WITH_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/;

/** Returns one spelling for each address. An IPv4-mapped IPv6 address becomes IPv4. */
function canonical(address: string): string {
  if (!isIPv6(address)) return address;
  const { address: short } = new SocketAddress({ address, family: 'ipv6' });
  return short.startsWith('::ffff:') && short.includes('.') ? short.slice(7) : short;
}

function readAddress(text: string, where: string): string {
  const bare = text.trim();
  const matched = WITH_PORT.exec(bare);
  const address = matched?.[1] ?? matched?.[2] ?? bare;
  // The message does not repeat the text, which may come from the client.
  if (isIP(address) === 0) throw new Error(`clientAddress: ${where} does not have an address`);
  return canonical(address);
}

/** Returns the address at the other end of the connection. */
const socketAddress: ClientAddress = ({ socket }) => canonical(socket.remoteAddress ?? '');

/**
 * Reads `X-Forwarded-For`. Each proxy appends the address that called it, so the last entry comes
 * from the nearest proxy. The client can invent all entries to the left of the proxies' own.
 */
function forwardedFor(proxies: number): ClientAddress {
  const where = `${FORWARDED}, entry ${proxies} from the right`;
  return ({ headersDistinct }) => {
    const entries = (headersDistinct[FORWARDED] ?? []).join(',').split(',');
    return readAddress(entries.at(-proxies) ?? '', where);
  };
}

/** Reads a header that the proxy overwrites. If it has two lines, the proxy did not write both. */
function inHeader(name: string): ClientAddress {
  return ({ headersDistinct }) => {
    const lines = headersDistinct[name] ?? [];
    return readAddress(lines.length === 1 ? String(lines[0]) : '', name);
  };
}

const HEADER = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const HOPS = /^x-forwarded-for:([1-9])$/;

/** @throws TypeError unless the text is one of {@link CLIENT_ADDRESSES}. */
export function readClientAddress(text: string): ClientAddress {
  if (text === 'socket') return socketAddress;
  const name = text.toLowerCase();
  const proxies = HOPS.exec(name)?.[1];
  if (proxies !== undefined) return forwardedFor(Number(proxies));
  // Clients can write the first entry of these two.
  const isOther = HEADER.test(name) && name !== FORWARDED && name !== 'forwarded';
  if (isOther) return inHeader(name);
  throw new TypeError(`readClientAddress: pass ${CLIENT_ADDRESSES}`);
}
