/** Keys whose text nobody holds: what a trust may say, and how such a key begins. */
import type { IssueKeylessInput, KeyringEvent, KeyStore, TokenVerifier, Trust } from 'keyscope';
import { createKeyring, generateKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  inputError,
  OTHER,
  OWN,
  PLAIN,
  policy,
  recording,
  rowOf,
  START,
  setUp,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

const ISSUER = 'https://ci.example';
const TRUST: Trust = { issuer: ISSUER, claims: { repository_id: '123' } };

/** A verifier that takes every trust of one issuer for an identity, except for `ref` alone. */
const tokens: TokenVerifier = {
  verify: () => Promise.reject(new Error('is not asked')),
  recognizes: () => false,
  issuers: [ISSUER],
  identifies: ({ issuer, claims }) =>
    issuer === ISSUER ? Object.keys(claims).join() !== 'ref' : null,
};

const inputOf = (trust: unknown): IssueKeylessInput<never> => untyped({ ...PLAIN, trust });

/** Makes a keyless key with a trust, and returns the key and its row. */
async function made(trust: unknown) {
  const { keyring, store, events } = setUp({ tokens });
  const { info } = await keyring.issueKeyless(inputOf(trust), AUTHORITY);
  return { keyring, store, events, info, row: await rowOf(store, info.keyId) };
}

const claims = (over: object) => ({ issuer: ISSUER, claims: over });

/** Claims whose trust is this many bytes of JSON, and fewer characters. */
function filled(bytes: number): Readonly<Record<string, string>> {
  const wide = 'é'.repeat(505);
  const most = { a: wide, b: wide, c: wide, d: 'x'.repeat(500), e: '' };
  const used = Buffer.byteLength(JSON.stringify(claims(most)));
  return { ...most, e: 'x'.repeat(bytes - used) };
}

describe('issueKeyless', () => {
  it('makes a key that has a trust and no text', async () => {
    const { info, row, keyring, events } = await made(TRUST);
    expect(info).toMatchObject({ hint: '', trust: TRUST, state: 'live', tampered: false });
    expect(row.trust).toBe(`{"claims":{"repository_id":"123"},"issuer":"${ISSUER}"}`);
    expect(Object.isFrozen(info.trust?.claims)).toBe(true);
    expect(await keyring.get(info.keyId, AUTHORITY)).toEqual(info);
    const issued = events.filter(({ type }) => type === 'key.issued');
    expect(issued).toMatchObject([{ keyId: info.keyId, trust: TRUST }]);
  });

  it('returns only the info', async () => {
    const { keyring } = setUp({ tokens });
    const result = await keyring.issueKeyless(inputOf(TRUST), AUTHORITY);
    expect(Object.keys(result)).toEqual(['info']);
    expect(result).not.toHaveProperty('key');
  });

  it('keeps a text a text, a list a list, and sorts names as RFC 8785 does', async () => {
    const { info, row } = await made(claims({ b: ['y', 'x'], '10': 'z', '9': 'w', a: 'v' }));
    expect(row.trust).toBe(
      `{"claims":{"10":"z","9":"w","a":"v","b":["y","x"]},"issuer":"${ISSUER}"}`,
    );
    expect(info.trust?.claims).toEqual({ b: ['y', 'x'], '10': 'z', '9': 'w', a: 'v' });
  });

  it('cannot be rotated, and says why', async () => {
    const { keyring, info } = await made(TRUST);
    const rotate = () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    const error = await denied(rotate, 'conflict', 'keyless');
    expect(error.message).toBe('Nobody holds a text of this key, so there is none to replace.');
    expect(error.keyId).toBe(info.keyId);
  });

  it('takes no trust in `issue`, nor in `rotate`', async () => {
    const { keyring } = setUp({ tokens });
    await inputError(() => keyring.issue(inputOf(TRUST), AUTHORITY), 'input', /unknown field/);
  });

  it('needs the ceiling of `issue`', async () => {
    const { keyring } = setUp({ tokens });
    const issue = (over: object, authority: object) => () =>
      keyring.issueKeyless(untyped({ ...inputOf(TRUST), ...over }), untyped(authority));
    const narrow = { entityId: OWN, scopes: ['decoys:read'] };
    await denied(issue({}, narrow), 'ceiling_exceeded', 'scopes_beyond_authority');
    const entities = { accessibleEntities: [OTHER] };
    await denied(issue(entities, AUTHORITY), 'ceiling_exceeded', 'entities_beyond_authority');
    const authority = { ...AUTHORITY, maxLifetimeMs: 1 };
    await denied(issue({}, authority), 'ceiling_exceeded', 'lifetime_beyond_authority');
    await typeError(issue({}, { entityId: OWN }), /authority\.scopes/);
  });

  it('is refused without a verifier or a pepper', async () => {
    const instead = /^issueKeyless: pass createKeyring `tokens` and a pepper$/;
    const options = { prefix: 'acme', policy, store: memoryStore() };
    const peppers = [{ id: 'p1', secret: 'a-pepper-a-pepper-a-pepper-a-pepper-x!' }];
    const without = createKeyring({ ...options, peppers });
    const unsealed = createKeyring({ ...options, peppers: 'none', tokens });
    for (const keyring of [without, unsealed]) {
      await typeError(() => keyring.issueKeyless(inputOf(TRUST), AUTHORITY), instead);
    }
  });
});

describe('a trust', () => {
  it.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', ISSUER],
    ['a list', [TRUST]],
    ['another field', { ...TRUST, audience: 'x' }],
    ['no issuer', { claims: TRUST.claims }],
    ['a URL object', { ...TRUST, issuer: new URL(ISSUER) }],
    ['http', { ...TRUST, issuer: 'http://ci.example' }],
    ['user information', { ...TRUST, issuer: 'https://me:pw@ci.example' }],
    ['a query', { ...TRUST, issuer: `${ISSUER}?a` }],
    ['a fragment', { ...TRUST, issuer: `${ISSUER}#a` }],
    ['256 characters', { ...TRUST, issuer: `${ISSUER}/${'a'.repeat(237)}` }],
    ['an issuer of others', { ...TRUST, issuer: 'https://other.example' }],
    ['no claims', { issuer: ISSUER }],
    ['an empty object', claims({})],
    ['a list of claims', claims(['a'])],
    ['a Map of claims', claims(new Map([['a', 'b']]))],
    ['nine claims', claims(Object.fromEntries([...'abcdefghi'].map((name) => [name, 'x'])))],
    ['only what everybody has', claims({ ref: 'refs/heads/main' })],
    ['an empty name', claims({ '': 'x' })],
    ['a name of 129 characters', claims({ ['a'.repeat(129)]: 'x' })],
    ['an invisible name', claims({ 'a\u200b': 'x' })],
    ['a quote in a name', claims({ 'a"': 'x' })],
    ['a backslash in a name', claims({ 'a\\': 'x' })],
    ['a pointer with a lone ~', claims({ '/a~2': 'x' })],
    ['a pointer that ends with ~', claims({ '/a~': 'x' })],
    ...['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', '/iss', '/jti'].map(
      (name) => [name, claims({ [name]: 'x', repository_id: '123' })] as const,
    ),
    ['undefined', claims({ a: undefined, repository_id: '123' })],
    ['null as value', claims({ a: null })],
    ['a number', claims({ a: 1 })],
    ['a boolean', claims({ a: true })],
    ['a Date', claims({ a: new Date(START) })],
    ['an object', claims({ a: {} })],
    ['an empty text', claims({ a: '' })],
    ['513 characters', claims({ a: 'x'.repeat(513) })],
    ['a control character', claims({ a: 'a\n' })],
    ['an invisible character', claims({ a: 'a\u202e' })],
    ['half a pair', claims({ a: '\ud800' })],
    ['an API key', claims({ a: generateKey({ prefix: 'other' }) })],
    ['an empty list', claims({ a: [] })],
    ['nine values', claims({ a: [...'abcdefghi'] })],
    ['one empty text in a list', claims({ a: ['x', ''] })],
    ['one value twice', claims({ a: ['x', 'x'] })],
    ['a hole', claims({ a: Array(2) })],
    ['a nested list', claims({ a: [['x']] })],
    ['4,097 bytes of JSON', claims(filled(4_097))],
  ])('must not be or have %s', async (_what, trust) => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store, tokens });
    await inputError(() => keyring.issueKeyless(inputOf(trust), AUTHORITY), 'trust', /^trust/);
    expect(calls).toEqual([]);
  });

  it.each<readonly [string, object]>([
    ['eight claims', Object.fromEntries([...'abcdefgh'].map((name) => [name, 'x']))],
    ['a name of 128 characters', { ['a'.repeat(128)]: 'x' }],
    ['512 characters', { a: 'x'.repeat(512) }],
    ['eight values', { a: [...'abcdefgh'] }],
    ['a pointer with escapes', { '/a~0~1b/0': 'x' }],
    ['a ~ in a name', { 'a~': 'x' }],
    ['__proto__', JSON.parse('{"__proto__":"x"}') as object],
    ['a text that is not normalized', { a: 'e\u0301' }],
    ['quotes and backslashes in values', { a: '"\\', b: ['\\"'] }],
    ['a slash in a name', { 'i/ss': 'x' }],
    ['a text that is neither Latin nor short', { a: '鍵🔑' }],
    ['4,096 bytes of JSON', filled(4_096)],
  ])('may have %s', async (_what, over) => {
    const { info, row } = await made(claims(over));
    expect(info.trust).toEqual(claims(over));
    expect(row.trust).toBe(JSON.stringify(JSON.parse(String(row.trust))));
  });

  it.each([7, new URL(ISSUER), { toString: () => ISSUER }, 'http://ci.example', ''])(
    'must name an issuer, not %s',
    async (issuer) => {
      const { keyring } = setUp({ tokens });
      const act = () => keyring.issueKeyless(inputOf({ ...TRUST, issuer }), AUTHORITY);
      await inputError(act, 'trust', /^trust\.issuer: /);
    },
  );

  it('is judged by every verifier of the keyring that can', async () => {
    const { identifies: _, ...rest } = tokens;
    const others = { ...rest, issuers: ['https://other.example'] };
    for (const both of [
      [others, tokens],
      [tokens, others],
    ]) {
      const { keyring } = setUp({ tokens: both });
      const { info } = await keyring.issueKeyless(inputOf(TRUST), AUTHORITY);
      expect(info.trust).toEqual(TRUST);
    }
  });

  it('passes on a bug of the verifier that judges it', async () => {
    const bug = new RangeError('a bug');
    const identifies = () => {
      throw bug;
    };
    const { keyring } = setUp({ tokens: { ...tokens, identifies } });
    await expect(keyring.issueKeyless(inputOf(TRUST), AUTHORITY)).rejects.toBe(bug);
  });

  it('is copied before it is checked', async () => {
    const values = ['x'];
    let reads = 0;
    const changing = new Proxy(values, {
      get: (target, name, receiver): unknown => {
        if (name === '0') reads += 1;
        return name === '0' && reads > 1 ? 'forged' : Reflect.get(target, name, receiver);
      },
    });
    const { info } = await made(claims({ a: changing }));
    expect(info.trust?.claims).toEqual({ a: ['x'] });
  });
});

// ── Issued by a key ──────────────────────────────────────────────────────────────────────────────

describe('a keyless key that a key issues', () => {
  /** Issues under a key, through a store that a test sees. */
  async function underKey(between: (method: string, row: unknown) => Promise<void>) {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner, tokens });
    const { info: issuer } = await keyring.issue(PLAIN, AUTHORITY);
    const store: KeyStore = wrap(inner, async (method, args, call) => {
      const answer = await call();
      await between(method, args[0]);
      return answer;
    });
    const through = setUp({ store, tokens });
    const authority = { ...AUTHORITY, keyId: issuer.keyId };
    const issue = () => through.keyring.issueKeyless(inputOf(TRUST), authority);
    return { inner, keyring, issuer, issue, events: through.events };
  }

  const madeIn = async (inner: KeyStore) => {
    const query = { prefix: 'acme', entityId: OWN, after: null, limit: 10 };
    const rows = await inner.list({ ...query, addressing: false });
    return rows.filter(({ trust }) => trust !== null);
  };

  it('is suspended until its issuer was read again', async () => {
    const states: unknown[] = [];
    const world = await underKey(async (method) => {
      const [row] = await madeIn(world.inner);
      if (row !== undefined) states.push([method, row.suspendedAt !== null]);
    });
    const { info } = await world.issue();
    expect(states).toEqual([
      ['insert', true],
      ['findById', true],
      ['mark', false],
    ]);
    expect(info.issuedUnder).toBe(world.issuer.keyId);
    const shown = await world.keyring.get(info.keyId, AUTHORITY);
    expect(shown).toMatchObject({ state: 'live', suspendedAt: null });
  });

  it('is revoked, and was never live, if its issuer ends meanwhile', async () => {
    const world = await underKey(async (method) => {
      if (method === 'insert') await world.keyring.revoke(world.issuer.keyId, AUTHORITY);
    });
    await denied(world.issue, 'conflict', 'issuer_ended');
    const [row] = await madeIn(world.inner);
    expect(row).toMatchObject({ suspendedAt: START });
    expect(row?.revokedAt).not.toBeNull();
    const isIssued = ({ type }: KeyringEvent) => type === 'key.issued';
    expect(world.events.filter(isIssued)).toEqual([]);
  });
});
