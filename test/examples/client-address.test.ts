/** The address of a client in headers, and forged ones. */
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { readClientAddress } from '../../examples/more/client-address.ts';
import { untyped } from '../support/keyring.ts';

type Lines = Readonly<Record<string, readonly string[]>>;

function ask(option: string, headersDistinct: Lines, remoteAddress = '10.0.0.1'): string {
  const request = { headersDistinct, socket: { remoteAddress } };
  return readClientAddress(option)(untyped<IncomingMessage>(request));
}

describe('X-Forwarded-For', () => {
  const forwarded = (option: string, ...lines: readonly string[]): string =>
    ask(option, { 'x-forwarded-for': lines });

  it.each([
    ['one proxy', 'x-forwarded-for:1', ['192.0.2.1'], '192.0.2.1'],
    ['two proxies', 'x-forwarded-for:2', ['192.0.2.1, 10.0.0.2'], '192.0.2.1'],
    ['an entry that the client wrote', 'x-forwarded-for:1', ['1.1.1.1, 192.0.2.1'], '192.0.2.1'],
    ['a separate line', 'x-forwarded-for:1', ['1.1.1.1', '192.0.2.1'], '192.0.2.1'],
    [
      'two proxies and two lines',
      'x-forwarded-for:2',
      ['1.1.1.1', '192.0.2.1', '10.0.0.2'],
      '192.0.2.1',
    ],
    [
      'an entry that is not an address',
      'x-forwarded-for:1',
      ['<script>, , 192.0.2.1'],
      '192.0.2.1',
    ],
    ['a port', 'x-forwarded-for:1', ['192.0.2.1:4711'], '192.0.2.1'],
    ['IPv6', 'x-forwarded-for:1', ['2001:DB8:0:0::1'], '2001:db8::1'],
    ['IPv6 in brackets', 'x-forwarded-for:1', ['[2001:db8::1]'], '2001:db8::1'],
    ['IPv6 with a port', 'x-forwarded-for:1', ['[2001:db8::1]:4711'], '2001:db8::1'],
    ['IPv4 as IPv6', 'x-forwarded-for:1', ['::ffff:192.0.2.1'], '192.0.2.1'],
    ['IPv4 as IPv6, in hex', 'X-Forwarded-For:1', ['::FFFF:C000:201'], '192.0.2.1'],
  ])('is read from the right: %s', (_, option, lines, expected) => {
    expect(forwarded(option, ...lines)).toBe(expected);
  });

  it.each([
    ['nothing', 'x-forwarded-for:1', []],
    ['too few', 'x-forwarded-for:2', ['192.0.2.1']],
    ['an empty entry', 'x-forwarded-for:1', ['192.0.2.1,']],
    ['a name', 'x-forwarded-for:1', ['192.0.2.1, unknown']],
    ['a network', 'x-forwarded-for:1', ['192.0.2.0/24']],
    ['only a port', 'x-forwarded-for:1', [':4711']],
    ['half an address', 'x-forwarded-for:1', ['[192.0.2.1']],
  ])('is refused without repeating it if the address is missing: %s', (_, option, lines) => {
    const proxies = option.slice(-1);
    const where = `x-forwarded-for, entry ${proxies} from the right`;
    const words = `clientAddress: ${where} does not have an address`;
    expect(() => forwarded(option, ...lines)).toThrow(new Error(words));
  });
});

describe('a header of the proxy', () => {
  it('is read if it has exactly one address', () => {
    const option = 'CF-Connecting-IP';
    const at = (...lines: readonly string[]) => ask(option, { 'cf-connecting-ip': lines });
    expect(at('2001:db8::1')).toBe('2001:db8::1');
    for (const lines of [[], ['192.0.2.1', '192.0.2.2'], ['192.0.2.1, 192.0.2.2'], ['x']])
      expect(() => at(...lines)).toThrow('cf-connecting-ip does not have an address');
  });
});

describe('the connection', () => {
  it('gives one spelling of an address, whatever the headers say', () => {
    const headers = { 'x-forwarded-for': ['1.1.1.1'] };
    expect(ask('socket', headers, '::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(ask('socket', headers, '192.0.2.1')).toBe('192.0.2.1');
  });
});

describe('readClientAddress', () => {
  it.each([
    ['x-forwarded-for'],
    ['x-forwarded-for:0'],
    ['x-forwarded-for:99'],
    ['forwarded'],
    ['x forwarded'],
    [''],
  ])('refuses %s', (option) => {
    expect(() => readClientAddress(option)).toThrow(
      'readClientAddress: pass socket, x-forwarded-f',
    );
  });
});
