import { generateKey, type KeyRecord, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { canariesIn, keyCanaries } from '../support/canary.ts';
import {
  ANSWERING,
  AUTHORITY,
  denied,
  issue,
  type Method,
  OWN,
  PEPPER,
  PEPPER_2,
  recording,
  returning,
  rowOf,
  START,
  setUp,
  storeError,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { bring, editing, LIFE_NAMES, LIVES } from '../support/lives.ts';

describe('identify', () => {
  it.each(ANSWERING)(
    'finds out whose key a string is, in a store that answers %s',
    async (_how, through) => {
      const { keyring, clock, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await issue(keyring);
      await issue(keyring);
      clock.advance(5);
      events.length = 0;
      expect(await keyring.identify(key)).toEqual(info);
      expect(events).toEqual([
        { type: 'key.identified', time: START + 5, keyId: info.keyId, entityId: OWN },
      ]);
      expect(canariesIn(events, keyCanaries('key', key))).toEqual([]);
    },
  );

  it.each(LIFE_NAMES.filter((name) => LIVES[name].state !== 'orphaned'))(
    'returns the same as get for a key that is %s',
    async (name) => {
      const { keyring, events, key, keyId } = await bring(name);
      const found = await keyring.identify(key);
      expect(found).toEqual(await keyring.get(keyId, AUTHORITY));
      expect(found).toMatchObject({ state: LIVES[name].state, keyId, entityId: OWN });
      expect(events).toMatchObject([{ type: 'key.identified', keyId, entityId: OWN }]);
    },
  );

  it('returns null for a key whose pepper was removed, because it cannot be found', async () => {
    const { keyring, events, key } = await bring('orphaned');
    expect(await keyring.identify(key)).toBeNull();
    expect(events).toEqual([]);
  });

  it('finds the keys of every configured pepper', async () => {
    const store = memoryStore();
    const { key, info } = await issue(setUp({ store }).keyring);
    const { keyring } = setUp({ store, peppers: [PEPPER_2, PEPPER] });
    expect(await keyring.identify(key)).toEqual(info);
    const unpeppered = setUp({ peppers: 'none' });
    const plain = await issue(unpeppered.keyring);
    expect(await unpeppered.keyring.identify(plain.key)).toEqual(plain.info);
  });

  it('changes nothing, and does not count as use', async () => {
    const { keyring, inner, key, keyId } = await bring('live');
    const before = await rowOf(inner, keyId);
    await keyring.identify(key);
    await keyring.flush();
    expect(await rowOf(inner, keyId)).toEqual(before);
  });

  it('puts the actor and reason of the call into its event', async () => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    events.length = 0;
    await keyring.identify(key, { actor: 'ada', reason: 'found on a wiki' });
    await keyring.identify(key, {});
    expect(events).toMatchObject([
      { type: 'key.identified', actor: 'ada', reason: 'found on a wiki' },
      { type: 'key.identified', actor: undefined, reason: undefined },
    ]);
  });

  it.each<[unknown, RegExp]>([
    [{ actor: '' }, /^identify: actor: 1 to 200 characters/],
    [
      { actor: generateKey({ prefix: 'acme' }) },
      /^identify: actor: write the id or hint of an API key/,
    ],
    [{ reason: 7 }, /^identify: reason: pass a string/],
    [{ entityId: OWN }, /^identify: unknown field/],
    [0, /^identify: pass an object with actor, reason/],
  ])('refuses a malformed actor or reason: case %#', async (options, message) => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    events.length = 0;
    await typeError(() => keyring.identify(key, untyped(options)), message);
    expect(events).toEqual([]);
  });

  it('emits no event for an unknown key', async () => {
    const { keyring, events } = setUp();
    await issue(keyring);
    events.length = 0;
    expect(await keyring.identify(generateKey({ prefix: 'acme' }))).toBeNull();
    expect(events).toEqual([]);
  });
});

describe('identify without a valid key', () => {
  const other = generateKey({ prefix: 'acme_eu' });
  const key = generateKey({ prefix: 'acme' });
  const flipped = key.at(-1) === '0' ? '1' : '0';
  const hostile = {
    get length(): number {
      throw new Error('read');
    },
    toString(): string {
      throw new Error('read');
    },
  };

  it.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['true', true],
    ['a number', 7],
    ['a bigint', 7n],
    ['a symbol', Symbol('key')],
    ['a function', () => key],
    ['a list', [key]],
    ['a boxed key', Object(key)],
    ['bytes', Buffer.from(key)],
    ['an object that throws', hostile],
    ['an object without a prototype', Object.create(null)],
    ['empty', ''],
    ['a key of another prefix', other],
    ['a key without its last character', key.slice(0, -1)],
    ['a key and a space', `${key} `],
    ['a key and a newline', `${key}\n`],
    ['a key with its auth-scheme', `Bearer ${key}`],
    ['a key in upper case', key.toUpperCase()],
    ['a key with another checksum', key.slice(0, -1) + flipped],
    ['a token', 'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJhY21lIn0.c2lnbmF0dXJl'],
    ['a digest', `s1$${'0'.repeat(64)}`],
    ['a million characters', 'x'.repeat(1_000_000)],
    ['half a pair', `${key.slice(0, -1)}\ud800`],
    ['a full-width digit', `${key.slice(0, -1)}\uff11`],
  ])('returns null without asking the store: %s', async (_what, value) => {
    const { store, calls } = recording(memoryStore());
    const { keyring, events } = setUp({ store });
    expect(await keyring.identify(value)).toBeNull();
    expect({ calls, events }).toEqual({ calls: [], events: [] });
  });

  it('returns null for a token, unverified, even if the keyring accepts tokens', async () => {
    const tokens = {
      verify: () => {
        throw new Error('asked');
      },
    };
    const { keyring } = setUp({ tokens: untyped(tokens) });
    expect(await keyring.identify('eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl')).toBeNull();
  });
});

describe('the store behind identify', () => {
  it('bypasses its cache', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner }).keyring);
    const asked: unknown[] = [];
    const store: KeyStore = {
      ...inner,
      findByDigest: (digests, options) => {
        asked.push(options?.fresh);
        return inner.findByDigest(digests, options);
      },
    };
    const { keyring } = setUp({ store });
    await keyring.identify(key);
    await keyring.verify(key);
    expect(asked).toEqual([true, undefined]);
  });

  it('cannot pass off another key’s row, and is broken if it returns two', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const { key } = await issue(keyring);
    const other = await rowOf(inner, (await issue(keyring)).info.keyId);
    const wrong = setUp({ store: returning(inner, () => [other]) });
    expect(await wrong.keyring.identify(key)).toBeNull();
    expect(wrong.events).toEqual([]);
    const twice = setUp({ store: returning(inner, (found) => [...found, other]) });
    await storeError(() => twice.keyring.identify(key));
    const odd = setUp({ store: returning(inner, () => [{ digest: other.digest }]) });
    expect(await odd.keyring.identify(key)).toBeNull();
  });

  it('is broken if a row has no key id or entity', async () => {
    const { inner, key, keyId } = await bring('live');
    for (const edit of [{ keyId: 'x', name: 7 }, { entityId: null }]) {
      const { keyring } = setUp({ store: editing(inner, keyId, edit) });
      await storeError(() => keyring.identify(key));
    }
  });

  it('is broken if it does not answer', async () => {
    const down = wrap(memoryStore(), (method: Method) => {
      throw new Error(`${method} is down`);
    });
    const { keyring, events } = setUp({ store: down });
    await storeError(() => keyring.identify(generateKey({ prefix: 'acme' })));
    expect(events).toEqual([]);
  });
});

describe('a key that identify found', () => {
  it('still does not authenticate if verify refuses it', async () => {
    for (const name of ['revoked', 'suspended', 'edited', 'of a later format'] as const) {
      const { keyring, key } = await bring(name);
      expect(await keyring.identify(key)).not.toBeNull();
      const reason = { revoked: 'revoked', suspended: 'suspended', edited: 'record_tampered' };
      const expected = name === 'of a later format' ? 'unknown_format' : reason[name];
      await denied(() => keyring.verify(key), 'invalid_token', untyped(expected));
    }
  });

  // A leak report revoked the named key, and reported success.
  it('causes a StoreError if its row was edited to name another key', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const { key, info } = await issue(keyring);
    const other = await issue(keyring);
    const edited: KeyStore = {
      ...inner,
      findByDigest: (digests) =>
        [...(inner.findByDigest(digests) as readonly KeyRecord[])].map((row) => ({
          ...row,
          keyId: other.info.keyId,
        })),
    };
    await storeError(() => setUp({ store: edited }).keyring.identify(key));
    expect(await keyring.identify(key)).toMatchObject({ keyId: info.keyId });
  });

  it('causes a StoreError if its row was edited and the row that it names is gone', async () => {
    const inner = memoryStore();
    const { key, info } = await issue(setUp({ store: inner }).keyring);
    const edited = editing(inner, info.keyId, { name: 'edited' });
    const store = wrap(edited, (method, _args, call) => (method === 'findById' ? null : call()));
    await storeError(() => setUp({ store }).keyring.identify(key));
  });
});
