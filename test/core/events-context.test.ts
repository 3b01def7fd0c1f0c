/** The context of a request, as events show it. */
import { generateKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { createContextReader } from '../../src/core/events.js';
import { bearer, denied, issue, setUp, untyped } from '../support/keyring.ts';

const read = createContextReader('acme');
const key = generateKey({ prefix: 'acme' });

describe('the context of an event', () => {
  it('has the given texts, in a frozen copy', () => {
    const given = { requestId: 'a-1', ip: '::1' };
    const shown = read(given);
    given.ip = 'other';
    expect(shown).toEqual({ requestId: 'a-1', ip: '::1' });
    expect(Object.isFrozen(shown)).toBe(true);
  });

  it.each([undefined, null, 'text', 7, [], ['a'], new Map([['a', 'b']]), () => 'a'])(
    'is absent if it is not a table: %j',
    (value) => {
      expect(read(value)).toBeUndefined();
    },
  );

  it('leaves out values that are not texts or that are inherited', () => {
    const given = { a: 1, b: null, c: 'kept', d: { e: 'f' }, g: ['h'], i: undefined };
    expect(read(given)).toEqual({ c: 'kept' });
    expect(read(Object.create({ a: 'b' }))).toEqual({});
  });

  it('has the first 8 texts, with names and values cut to 200 characters', () => {
    const given = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`n${index}`, 'v']));
    expect(Object.keys(read({ first: 1, ...given }) ?? {})).toEqual([
      'n0',
      'n1',
      'n2',
      'n3',
      'n4',
      'n5',
      'n6',
      'n7',
    ]);
    const long = 'x'.repeat(201);
    expect(read({ [long]: long })).toEqual({ [long.slice(1)]: long.slice(1) });
    // Not in the middle of a pair.
    expect(read({ a: `${'x'.repeat(199)}\u{1f511}` })).toEqual({ a: `${'x'.repeat(199)}\ufffd` });
  });

  it.each([
    ['a line break', 'a\r\nb', 'a\ufffd\ufffdb'],
    ['NUL', 'a\u0000', 'a\ufffd'],
    ['a terminal escape', '\u001b[31m', '\ufffd[31m'],
    ['a right-to-left override', 'a\u202eb', 'a\ufffdb'],
    ['a zero-width space', 'a\u200bb', 'a\ufffdb'],
    ['a line separator', 'a\u2028b', 'a\ufffdb'],
    ['half a pair', 'a\ud800b', 'a\ufffdb'],
  ])('has %s replaced', (_what, text, shown) => {
    expect(read({ [text]: text })).toEqual({ [shown]: shown });
  });

  it('contains no key or beginning of a key, in any position', () => {
    const redacted = 'acme_[redacted]';
    expect(read({ [key]: `x${key} x ${key}` })).toEqual({
      [redacted]: `x${redacted} x ${redacted}`,
    });
    const cut = read({ a: 'x'.repeat(180) + key });
    expect(cut).toEqual({ a: `${'x'.repeat(180)}${redacted}` });
  });

  // A key that was cut off or percent-encoded was shown, partly or completely.
  it.each([
    ['where the text is cut', `${'x'.repeat(190)}${key}`],
    [
      'percent-encoded',
      `/?q=${key.replaceAll(/./gs, (one) => `%${one.charCodeAt(0).toString(16)}`)}`,
    ],
    [
      'percent-encoded twice',
      key.replaceAll(/./gs, (one) => `%25${one.charCodeAt(0).toString(16)}`),
    ],
    [
      'partly percent-encoded',
      `${key.slice(0, 16)}%${key.charCodeAt(16).toString(16)}${key.slice(17)}`,
    ],
  ])('contains no key %s', (_what, text) => {
    const shown = JSON.stringify(read({ text }));
    expect(shown).toContain('acme_[red');
    for (let start = 5; start <= key.length - 6; start += 1) {
      expect(shown).not.toContain(key.slice(start, start + 6));
    }
    expect(shown).not.toContain('%');
  });

  // The first match swallowed the prefix of the second key and left its secret.
  it.each(['', '_', 'acme_', 'acme_0123456', 'acme_01234567'])(
    'contains neither of two keys with %j in between',
    (between) => {
      const other = generateKey({ prefix: 'acme' });
      const shown = JSON.stringify(read({ a: `${key}${between}${other}` }));
      for (const secret of [key, other]) expect(shown).not.toContain(secret.slice(5, 13));
    },
  );

  it('contains no key whose prefix has an underscore', () => {
    const ours = generateKey({ prefix: 'acme_eu' });
    const shown = createContextReader('acme_eu')({ a: `${ours}${ours}` });
    expect(shown).toEqual({ a: 'acme_eu_[redacted]acme_eu_[redacted]' });
  });

  it('does not reach a prototype', () => {
    const shown = read(JSON.parse('{"__proto__":"a","constructor":"b"}'));
    expect(JSON.stringify(shown)).toBe('{"__proto__":"a","constructor":"b"}');
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype);
  });

  // After the connection was gone, the getter of the address threw, and the request was refused.
  it.each([
    [
      'a getter',
      {
        get ip(): string {
          throw new Error('gone');
        },
      },
    ],
    [
      'a proxy',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('gone');
          },
        },
      ),
    ],
  ])('is absent if %s throws, and does not refuse the request', async (_what, context) => {
    expect(read(context)).toBeUndefined();
    const { keyring, events } = setUp();
    const issued = await issue(keyring);
    events.length = 0;
    const enter = (operation: 'list' | 'remove') =>
      keyring.admit(bearer(issued.key), { operation, context: untyped(context) });
    await enter('list');
    await denied(() => enter('remove'), 'insufficient_scope', 'scope_missing');
    expect(events).toMatchObject([
      { type: 'access.granted', context: undefined },
      { type: 'access.denied', context: undefined },
    ]);
  });
});
