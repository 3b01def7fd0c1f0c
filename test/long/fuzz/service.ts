/**
 * What a keyring is given: credentials, requests, tokens, rows, and what management calls take from
 * requests.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyRecord, KeyStore, Principal } from 'keyscope';
import { createKeyring, defineScopes, generateKey, isAccessError, isStoreError } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { memoryStore } from 'keyscope/stores/memory';
import type { Json } from '../../support/vectors.ts';
import { readVectors, unfold } from '../../support/vectors.ts';
import type { Target } from './judge.ts';
import {
  inner,
  isEqual,
  requireComplaint,
  requireData,
  requireDenial,
  settled,
  timed,
} from './judge.ts';
import { textsOf } from './mutate.ts';
import { isPattern, isWider } from './texts.ts';

const { TEXT_CHECKS, holdsAll } =
  await inner<typeof import('../../../src/jwt/claims.js')>('jwt/claims');
const { readRecord } = await inner<typeof import('../../../src/core/record.js')>('core/record');

// ── A keyring with a live key, one that has ended, and a token of the first ─────────────────────

const START = 1_700_000_000_000;
const [OWN, OTHER] = [
  '0a0a0a0a-0000-4000-8000-00000000000a',
  '0b0b0b0b-0000-4000-8000-00000000000b',
];
const AUTHORITY = { entityUuid: OWN, entities: [OTHER] };
const definition = {
  ...{ threats: { read: 'Read.', write: 'Write.' }, constructor: { read: 'Read.' } },
  users: { read: 'Read.', delete: 'Delete.' },
} as const;
const catalog = defineScopes(definition, { reserved: ['users:*', '*:delete'] });
const peppers = [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }];
const base = { prefix: 'acme', catalog, peppers, now: () => START };

const [issuer, audience] = ['https://acme.example', 'https://api.acme.example'];
const pair = generateKeyPairSync('ed25519');
const [publicKey, privateKey] = [pair.publicKey, pair.privateKey].map((half) => ({
  ...half.export({ format: 'jwk' }),
}));
const jwk = { ...publicKey, kid: 'k' };
const tokenOptions = { issuer, audience, now: base.now };
const verifier = timed(
  createTokenVerifier({ ...tokenOptions, catalog, jwks: { keys: [jwk] }, algorithms: ['EdDSA'] }),
);
const store = memoryStore();
const ring = timed(createKeyring({ ...base, store, tokens: verifier }));

const input = {
  name: 'live',
  expiresAt: new Date(START + 1e9),
  accessibleEntities: [OTHER],
  metadata: { a: 'b' },
};
const { key: LIVE, info } = await ring.issue({ ...input, scopes: ['threats:*'] }, AUTHORITY);
const { key: ENDED, info: ended } = await ring.issue(
  { ...input, scopes: ['threats:read'] },
  AUTHORITY,
);
await ring.revoke(ended.keyId, AUTHORITY);
const exchange = createTokenIssuer({
  ...tokenOptions,
  privateKey: privateKey ?? {},
  alg: 'EdDSA',
  kid: 'k',
});
const { accessToken: LIVE_TOKEN } = await exchange.exchange(await ring.verify(LIVE));

// ── Credentials and requests ────────────────────────────────────────────────────────────────────

export const keyring: Target = {
  seeds: [
    ...[LIVE, ENDED, LIVE_TOKEN, generateKey({ prefix: 'acme' })].flatMap((each) => [
      each,
      `Bearer ${each}`,
    ]),
    ...[undefined, '', `Basic ${LIVE}`, [`Bearer ${LIVE}`], [`Bearer ${LIVE}`, `Bearer ${LIVE}`]],
    { authorization: `Bearer ${LIVE}` },
    { headers: { Authorization: `Bearer ${LIVE}` } },
    { rawHeaders: ['Authorization', `Bearer ${LIVE}`, 'Cookie', LIVE], headers: {} },
    { raw: { rawHeaders: ['authorization', `Bearer ${LIVE}`] } },
    {
      'x-api-key': LIVE,
      cookie: LIVE,
      'proxy-authorization': `Bearer ${LIVE}`,
      query: { authorization: LIVE },
    },
  ],
  words: [
    ...[LIVE, ENDED, LIVE_TOKEN, LIVE.slice(5), LIVE.slice(0, -1), 'Bearer ', '.'],
    ...'authorization headers rawHeaders multiValueHeaders raw req cookie'.split(' '),
  ],
  async check(given) {
    const verified = await settled(ring.verify(given));
    if ('error' in verified) requireDenial(verified.error, ['invalid_token']);
    assert.equal('value' in verified, given === LIVE);
    const { value, error } = await settled(ring.authenticate(given as string));
    const isRight = (it: unknown): boolean =>
      typeof it === 'string' &&
      /^bearer +/i.test(it) &&
      [LIVE, LIVE_TOKEN].includes(it.replace(/^bearer +/i, ''));
    if (error instanceof TypeError) {
      requireComplaint(error, given);
      assert.ok(
        typeof given === 'object' && !Array.isArray(given),
        'a text or a list is no mistake',
      );
      return;
    }
    if (error !== undefined) {
      requireDenial(error, ['missing_credentials', 'invalid_request', 'invalid_token']);
      assert.ok(
        !isRight(given) || String(given).length > 16_384,
        'a credential that is right was refused',
      );
      return;
    }
    requireData(value);
    // Nobody is let in but by one of the two, behind its scheme, whole, and in a header of that
    // name.
    assert.ok(textsOf(given).some(isRight));
    const isNamed = textsOf(given).some((text) => text.toLowerCase() === 'authorization');
    assert.ok(
      isNamed || typeof given === 'string' || Array.isArray(given),
      'another header was read',
    );
  },
};

// ── Tokens ──────────────────────────────────────────────────────────────────────────────────────

const NOW = START / 1000;
const HEADER = { alg: 'EdDSA', typ: 'at+jwt', kid: 'k' };
const CLAIMS = {
  ...{
    iss: issuer,
    aud: audience,
    sub: info.keyId,
    client_id: info.keyId,
    iat: NOW,
    exp: NOW + 900,
    jti: 'id',
  },
  ...{ scope: 'threats:read threats:write', entity_uuid: OWN, accessible_entities: [OWN, OTHER] },
};
// One thing wrong each: what is taken of these shows at once, and what is next to them soon.
const HEADERS = { alg: 'none', typ: 'JWT', kid: '', crit: ['b64'], b64: false, jwk, jku: issuer };
const WRONG = {
  ...{
    aud: [audience],
    iss: audience,
    sub: OWN,
    client_id: OWN,
    jti: '',
    cnf: {},
    nbf: NOW + 1,
    entity_uuid: OTHER,
  },
  ...{
    iat: NOW + 6,
    exp: NOW + 901,
    scope: 'threats:read threats:read',
    accessible_entities: [OWN, OWN],
  },
};
const without = (name: string) =>
  Object.fromEntries(Object.entries(CLAIMS).filter(([other]) => other !== name));

/** JSON of anything, where there is one; texts as they stand. */
function written(value: unknown): string {
  try {
    return typeof value === 'string' ? value : String(JSON.stringify(value));
  } catch {
    return typeof value;
  }
}

/** Under a signature that holds. */
function signed(header: unknown, claims: unknown): string {
  const text = [header, claims]
    .map((part) => Buffer.from(written(part)).toString('base64url'))
    .join('.');
  return `${text}.${sign(null, Buffer.from(text), pair.privateKey).toString('base64url')}`;
}

const isUuid = (it: unknown): boolean =>
  typeof it === 'string' && /^[0-9a-f-]{36}$/.test(it) && it.split('-').length === 5;
const isSet = (list: readonly unknown[]): boolean => new Set(list).size === list.length;

function requireClaims(principal: Principal, claims: unknown): void {
  const { via, scopes, accessibleEntities, entityUuid, expiresAt, keyId } = principal;
  const { iss, aud, sub, client_id, scope, exp, iat, jti, cnf } = JSON.parse(written(claims));
  assert.deepEqual(
    [via, iss, aud, sub, client_id, scope],
    ['jwt', issuer, audience, keyId, keyId, scopes.join(' ')],
  );
  assert.deepEqual([cnf, typeof jti], [undefined, 'string']);
  assert.ok(
    scopes.every((one) => isPattern(one) && !one.includes('*')) &&
      isSet(scopes) &&
      scopes.length <= 256,
  );
  assert.ok([keyId, entityUuid, ...accessibleEntities].every(isUuid) && isSet(accessibleEntities));
  assert.ok(accessibleEntities.includes(entityUuid));
  assert.ok(exp * 1000 === expiresAt && expiresAt > START && exp - iat <= 900 && iat <= NOW + 5);
}

/** Texts as they come, and pairs of header and claims, which are signed. */
export const tokens: Target = {
  seeds: [
    ...[
      undefined,
      '',
      '..',
      'a.b.c',
      LIVE_TOKEN,
      `${LIVE_TOKEN}=`,
      LIVE_TOKEN.replaceAll('.', '..'),
    ],
    ...[
      [HEADER, CLAIMS],
      [HEADER, written(CLAIMS)],
    ],
    ...Object.entries(HEADERS).map(([name, value]) => [{ ...HEADER, [name]: value }, CLAIMS]),
    ...Object.entries(WRONG).map(([name, value]) => [HEADER, { ...CLAIMS, [name]: value }]),
    ...Object.keys(CLAIMS).map((name) => [HEADER, without(name)]),
  ],
  words: [
    ...[
      ...Object.keys({ ...CLAIMS, ...HEADERS, ...WRONG }),
      issuer,
      audience,
      OWN,
      OTHER,
      info.keyId,
    ],
    ...'none HS256 EdDSA at+jwt application/at+jwt k threats:read threats:* . A = __proto__'.split(
      ' ',
    ),
  ],
  async check(given) {
    const [header, claims] = Array.isArray(given) ? given : [];
    const token = Array.isArray(given) ? signed(header, claims) : given;
    if (typeof token === 'string') {
      const parts = token.length > 16_384 ? [] : token.split('.');
      const isCanonical = (part: string) =>
        Buffer.from(part, 'base64url').toString('base64url') === part;
      assert.equal(holdsAll(TEXT_CHECKS, token), parts.length === 3 && parts.every(isCanonical));
    }
    const { value, error } = await settled(verifier.verify(token as string));
    if (value === undefined) return requireDenial(error, ['invalid_token']);
    requireData(value);
    if (Array.isArray(given)) requireClaims(value, claims);
    else assert.equal(token, LIVE_TOKEN, 'a token that nobody signed');
  },
};

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────

const ROW = { ...((await store.findById(info.keyId)) as KeyRecord) };
const UNSEALED = ['revokedAt', 'retireAt', 'lastUsedAt', 'scopesUsed'];
const SEALED = Object.keys(ROW).filter((name) => !UNSEALED.includes(name)) as (keyof KeyRecord)[];
const sealed = (row: KeyRecord) => SEALED.map((name) => row[name]);

/** A keyring over a store that answers everything with one row, whatever that is. */
function ringOver(row: KeyRecord): typeof ring {
  const hostile = {
    findByDigest: () => [row],
    findById: () => row,
    list: () => [row],
    markEnded: () => true,
  };
  return timed(createKeyring({ ...base, store: { ...memoryStore(), ...hostile } }));
}

export const record: Target = {
  seeds: [
    ROW,
    { ...ROW, revokedAt: START },
    { ...ROW, retireAt: START + 1, lastUsedAt: START, scopesUsed: { 'threats:read': START } },
    { ...ROW, scopes: ['*:*'] },
    { ...ROW, seal: null, digest: `s1$${'0'.repeat(64)}` },
    {
      ...ROW,
      expiresAt: null,
      rotatedFrom: OTHER,
      justification: 'a',
      metadata: JSON.parse('{ "__proto__": "a" }'),
    },
  ],
  words: [
    ...[...Object.keys(ROW), OWN, OTHER, info.keyId, ROW.digest, String(ROW.seal)],
    ...'threats:read * toString __proto__'.split(' '),
  ],
  async check(given) {
    const row = readRecord(given);
    if (row !== null) {
      requireData(row);
      assert.deepEqual(Object.keys(row).sort(), Object.keys(ROW).sort());
      assert.equal(readRecord(row), row);
      assert.equal(
        JSON.stringify(readRecord(JSON.parse(JSON.stringify(row)))),
        JSON.stringify(row),
      );
      assert.ok(
        row.accessibleEntities.includes(row.entityUuid) &&
          !row.scopes.some((scope) => scope.includes('*')),
      );
    }
    // What is under the seal is as it was, and nothing beside it ended the key.
    const isAlive = row?.revokedAt === null && (row.retireAt === null || row.retireAt > START);
    const isSound = row !== null && isAlive && isEqual(sealed(row), sealed(ROW));
    const over = ringOver(given as KeyRecord);
    const verified = await settled(over.verify(LIVE));
    const rotated = await settled(over.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY));
    const shown = [
      await settled(over.get(info.keyId, AUTHORITY)),
      await settled(over.list({}, AUTHORITY)),
    ];
    assert.deepEqual(
      ['value' in verified, 'value' in rotated],
      [isSound, isSound && row.retireAt === null],
    );
    for (const { error } of [verified, rotated, ...shown])
      if (error !== undefined && !isStoreError(error))
        requireDenial(error, ['invalid_token', 'not_found', 'conflict']);
  },
};

// ── The first argument of `issue` ───────────────────────────────────────────────────────────────

type Issued = { readonly input: Json; readonly expiresAtMs?: number };
const vectors = readVectors<{ now: number; tests: readonly Issued[] }>('issue-input');
const issueSeeds = vectors.tests.map(({ input: unread, expiresAtMs }) => {
  const expiresAt =
    expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs - vectors.now + START) };
  const unfolded = unfold(unread);
  return typeof unfolded === 'object' && !Array.isArray(unfolded)
    ? { ...unfolded, ...expiresAt }
    : unfolded;
});

/** A store of one record, which comes back as it would from a database. */
function storeOfOne() {
  let kept = '[]';
  const findByDigest: KeyStore['findByDigest'] = () => JSON.parse(kept);
  const insert: KeyStore['insert'] = (inserted) => {
    kept = JSON.stringify([inserted]);
  };
  return { store: { ...memoryStore(), insert, findByDigest }, kept: () => kept };
}

type Asked = {
  name: string;
  scopes: string[];
  expiresAt: Date | 'never';
  justification?: string;
} & { accessibleEntities?: string[]; metadata?: object };

export const issue: Target = {
  seeds: [...issueSeeds, { ...input, scopes: ['threats:*'] }],
  words: [
    ...'name scopes expiresAt accessibleEntities justification metadata entityUuid entities __proto__'.split(
      ' ',
    ),
    ...[
      'never',
      OWN,
      OTHER,
      'threats:read',
      'threats:*',
      '*:*',
      'users:delete',
      'users:*',
      'constructor:read',
      LIVE,
    ],
  ],
  async check(given) {
    const one = storeOfOne();
    const over = timed(createKeyring({ ...base, store: one.store }));
    const { value, error } = await settled(over.issue(given as never, AUTHORITY));
    if (isAccessError(error)) {
      requireDenial(error, ['ceiling_exceeded']);
      const beyond = (entity: string) =>
        textsOf(given).includes(entity) && entity !== OWN && entity !== OTHER;
      return assert.ok(error.excess?.every(beyond));
    }
    if (value === undefined) return requireComplaint(error, given);
    const {
      name,
      scopes,
      expiresAt,
      accessibleEntities = [],
      justification,
      metadata = {},
    } = given as Asked;
    const got = value.info;
    assert.deepEqual(
      [got.name, got.justification],
      [name.normalize('NFC'), justification?.normalize('NFC') ?? null],
    );
    assert.deepEqual(
      got.scopes,
      catalog.all.filter((scope) => scopes.some((pattern) => isWider(pattern, scope))),
    );
    const isNamed = (scope: string) => scopes.includes(scope) && got.justification !== null;
    assert.ok(got.scopes.every((scope) => !catalog.isReserved(scope) || isNamed(scope)));
    assert.deepEqual(got.accessibleEntities, [...new Set([OWN, ...accessibleEntities])]);
    assert.ok(got.accessibleEntities.every((entity) => entity === OWN || entity === OTHER));
    assert.deepEqual(Object.entries(got.metadata), Object.entries(metadata));
    assert.equal(
      got.expiresAt?.getTime() ?? 'never',
      expiresAt === 'never' ? 'never' : expiresAt.getTime(),
    );
    assert.deepEqual((await over.verify(value.key)).scopes, got.scopes);
    assert.ok(!(JSON.stringify(value) + one.kept()).includes(value.key.slice(5)));
  },
};

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────

const listed = memoryStore();
for (const [i, createdAt] of [0, 0, 1, 36, 1e6, START, START].entries()) {
  const keyId = `${i}0000000-0000-4000-8000-000000000000`;
  await listed.insert({ ...ROW, keyId, digest: `s1$${String(i).repeat(64)}`, createdAt });
}
const overListed = timed(createKeyring({ ...base, store: listed }));
const all = (await overListed.list({ limit: 1000 }, AUTHORITY)).keys.map(({ createdAt, keyId }) => {
  const at = createdAt.getTime();
  return { at, keyId, cursor: `${at.toString(36)}.${keyId}` };
});
const cursors = all.map((each) => each.cursor);

/** The first argument of `list`. */
export const cursor: Target = {
  seeds: [
    {},
    undefined,
    { limit: 1 },
    { after: null },
    ...cursors.flatMap((after) => [{ after }, { after, limit: 2 }]),
  ],
  words: [...'after limit . 0 z - entityUuid Infinity NaN 1e3'.split(' '), OWN, ...cursors],
  async check(given) {
    const { value, error } = await settled(overListed.list(given as object, AUTHORITY));
    if (value === undefined) return requireComplaint(error, given);
    const { after = null, limit = 100 } = { ...(given as { after?: string; limit?: number }) };
    const [time = '', id = ''] = after === null ? [] : after.split('.');
    const at = Number.parseInt(time, 36);
    const isOneSpelling =
      after === `${at.toString(36)}.${id}` && Number.isSafeInteger(at) && isUuid(id);
    assert.ok(after === null || isOneSpelling, 'another spelling of a cursor');
    const behind = all.filter(
      (each) => after === null || each.at < at || (each.at === at && each.keyId < id),
    );
    const page = behind.slice(0, limit);
    assert.deepEqual(
      value.keys.map(({ keyId }) => keyId),
      page.map(({ keyId }) => keyId),
    );
    assert.equal(value.next, behind.length > limit ? page.at(-1)?.cursor : null);
  },
};
