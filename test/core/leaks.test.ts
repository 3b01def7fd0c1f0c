import { inspect } from 'node:util';
import type { KeyRecord, KeyStore } from 'keyscope';
import {
  AccessError,
  createKeyring,
  definePolicy,
  defineScopes,
  digestKey,
  generateKey,
  isAccessError,
  isKey,
  isStoreError,
  parseKey,
  redactKeys,
  requireEntity,
  requireScopes,
  toMe,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  AUTHORITY,
  catalog,
  HOUR,
  NOWHERE,
  OTHER,
  OWN,
  rowOf,
  START,
  setUp,
  THIRD,
  tampering,
  untyped,
  wrap,
} from '../support/keyring.ts';

// As an operator makes them: `openssl rand -hex 32`.
const PEPPER = {
  id: 'p1',
  secret: '9f3c1b7ad05e42c8861f0e9ab7d3546c2fe8190b6a7d43c5e1f09b8a7c6d5e4f',
};
const PEPPER_2 = {
  id: 'p2',
  secret: '0b6a7d43c5e1f09b8a7c6d5e4f9f3c1b7ad05e42c8861f0e9ab7d3546c2fe819',
};

/**
 * A canary is a secret that is searched for everywhere. Which of the spellings below occurs in
 * `text`? The parts of a key are searched for from its secret's first character on; shorter runs
 * would match by chance.
 */
function canary(name: string, secret: string) {
  const bytes = Buffer.from(secret);
  const spellings = [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
  return { name, spellings: [...new Set(spellings)] };
}

const keyCanaries = (name: string, key: string) => [
  canary(name, key),
  canary(`${name}: secret`, key.slice(-32)),
  canary(`${name}: entropy`, key.slice(-32, -6)),
  canary(`${name}: first half`, key.slice(-32, -16)),
  canary(`${name}: second half`, key.slice(-16)),
];

const rowCanaries = (name: string, { digest, seal }: KeyRecord) => {
  const hex = digest.slice(digest.indexOf('$') + 1);
  return [canary(`${name}: digest`, hex), canary(`${name}: seal`, seal ?? hex)].flatMap(
    ({ name: what, spellings: [text = ''] }) => [
      canary(what, text),
      // The bytes themselves in base64, beside their hexadecimal text in base64.
      {
        name: `${what} bytes`,
        spellings: ['base64', 'base64url'].map((e) =>
          Buffer.from(text, 'hex')
            .toString(e as 'base64')
            .replace(/=+$/, ''),
        ),
      },
    ],
  );
};

/**
 * Everything that a logger could find in a value: text, JSON, every kind of inspection, and all own
 * properties, hidden and symbols too. The one thing left out is the `cause` of a `StoreError`,
 * which is the driver's own.
 */
function* reveal(value: unknown, seen = new Set<unknown>()): Generator<string> {
  if (typeof value === 'string') yield value;
  if (
    (typeof value !== 'object' && typeof value !== 'function') ||
    value === null ||
    seen.has(value)
  )
    return;
  seen.add(value);
  yield String(value);
  yield JSON.stringify(value) ?? '';
  yield inspect(value, { depth: Infinity });
  yield inspect(value, {
    depth: Infinity,
    showHidden: true,
    maxArrayLength: null,
    maxStringLength: null,
  });
  for (const name of Reflect.ownKeys(value)) {
    yield String(name);
    const property = Object.getOwnPropertyDescriptor(value, name);
    if (isStoreError(value) && name === 'cause') {
      if (property?.enumerable) yield 'the cause of a StoreError is enumerable';
      continue;
    }
    yield* reveal(
      property && 'value' in property ? property.value : Reflect.get(value, name),
      seen,
    );
  }
}

function hits(
  canaries: readonly { name: string; spellings: readonly string[] }[],
  values: readonly unknown[],
) {
  const text = values.flatMap((value) => [...reveal(value)]).join('\n');
  return canaries
    .filter(({ spellings }) => spellings.some((s) => text.includes(s)))
    .map(({ name }) => name);
}

const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  remove: ['threats:delete'],
});

/** A store whose driver quotes everything it was given, as drivers do. */
function quoting(inner: KeyStore, state: { broken: boolean }): KeyStore {
  return wrap(inner, (method, args, call) => {
    if (!state.broken) return call();
    const rows = [args, method === 'insert' ? '' : call()];
    throw Object.assign(
      new Error(`duplicate key value violates unique constraint: ${JSON.stringify(rows)}`),
      { rows },
    );
  });
}

type Options = Parameters<typeof createKeyring>[0];

/**
 * Puts every operation through every refusal there is, with real keys, and gathers what came out of
 * it. `texts` stand in the place of every argument, beside the keys and what is stored of them.
 */
async function harvest(texts: readonly string[] = []) {
  const inner = memoryStore();
  const state = { broken: false };
  const caught: unknown[] = [];
  const shown: unknown[] = [];
  const { keyring, clock, events } = setUp({
    store: quoting(inner, state),
    peppers: [PEPPER, PEPPER_2],
  });
  const input = {
    name: 'canary',
    scopes: ['threats:read'],
    expiresAt: new Date(START + 9 * HOUR),
  } as const;
  const make = () =>
    keyring.issue(
      { ...input, accessibleEntities: [OTHER] },
      { entityUuid: OWN, entities: [OTHER] },
    );
  const issued = [await make(), await make(), await make()] as const;
  const [live, revoked, retiring] = issued;
  await keyring.revoke(revoked.info.keyId, AUTHORITY);
  const next = await keyring.rotate(
    retiring.info.keyId,
    { overlapMs: 0 },
    { entityUuid: OWN, entities: [OTHER] },
  );
  const strange = generateKey({ prefix: 'acme' });
  const broken = `${strange.slice(0, 6)}${strange[6] === 'x' ? 'y' : 'x'}${strange.slice(7)}`;
  const keys = [live.key, revoked.key, retiring.key, next.key, strange, broken];
  const rows = await Promise.all([...issued, next].map(({ info }) => rowOf(inner, info.keyId)));
  const secrets = [
    ...keys,
    ...rows.flatMap(({ digest, seal }) => [digest, seal ?? '']),
    PEPPER.secret,
  ];
  const tampered = setUp({
    store: tampering(inner, (row) => ({ ...row, scopes: ['users:delete'] })),
    peppers: [PEPPER],
  }).keyring;
  const twice = setUp({
    peppers: [PEPPER],
    store: wrap(inner, (method, _args, call) => {
      const rowsFound = call();
      return method === 'findByDigest'
        ? [...(rowsFound as KeyRecord[]), ...(rowsFound as KeyRecord[])]
        : rowsFound;
    }),
  }).keyring;
  const principal = await keyring.verify(live.key);
  shown.push(principal, toMe(principal), live, next, live.info, policy, catalog, keyring);
  shown.push(await keyring.list({}, AUTHORITY), await keyring.get(live.info.keyId, AUTHORITY));

  const attempt = async (act: () => unknown) => {
    try {
      shown.push(await act());
    } catch (error) {
      caught.push(error);
      shown.push(toResponse(error, { realm: 'acme', resourceMetadata: 'https://x/y' }));
    }
  };

  // A secret in the place of every argument: people paste a key into whatever field is at hand.
  const misuse = async (secret: string) => {
    const any = untyped<never>(secret);
    const bearer = `Bearer ${secret}`;
    const requests = [
      bearer,
      secret,
      [bearer, bearer],
      `Basic ${secret}`,
      `${secret} x`,
      { authorization: bearer },
      { [secret]: secret },
      `${bearer} ${secret}`,
    ];
    for (const request of requests) {
      await attempt(() => keyring.authenticate(request));
      for (const operation of ['whoami', 'list', 'remove'] as const) {
        for (const entityUuid of [undefined, THIRD, secret, [secret, secret]]) {
          await attempt(() => keyring.admit(request, { policy, operation, entityUuid }));
        }
      }
    }
    for (const ring of [keyring, tampered, twice]) await attempt(() => ring.verify(secret));
    const lists = {
      scopes: [any],
      accessibleEntities: [secret],
      metadata: { [secret]: 7 },
      justification: 7,
      expiresAt: any,
    };
    for (const [field, value] of Object.entries({ ...lists, name: `${secret}\n`, [secret]: 1 })) {
      await attempt(() => keyring.issue(untyped({ ...input, [field]: value }), AUTHORITY));
    }
    for (const authority of [
      any,
      { entityUuid: secret },
      { ...AUTHORITY, scopes: [secret] },
      { ...AUTHORITY, entities: [secret] },
      { ...AUTHORITY, [secret]: 1 },
    ]) {
      await attempt(() => keyring.issue(input, authority));
      await attempt(() => keyring.get(live.info.keyId, authority));
    }
    for (const id of [secret, [secret], { secret }]) {
      await attempt(() => keyring.revoke(untyped(id), AUTHORITY));
      await attempt(() => keyring.get(untyped(id), AUTHORITY));
      await attempt(() => keyring.rotate(untyped(id), { overlapMs: 0 }, AUTHORITY));
    }
    await attempt(() => keyring.rotate(live.info.keyId, { overlapMs: any }, AUTHORITY));
    await attempt(() =>
      keyring.rotate(live.info.keyId, untyped({ overlapMs: 0, [secret]: 1 }), AUTHORITY),
    );
    for (const page of [{ after: secret }, { limit: any }, { [secret]: 1 }])
      await attempt(() => keyring.list(page, AUTHORITY));
    await attempt(() => keyring.admit(bearer, { policy, operation: any }));
    await attempt(() => requireScopes(principal, secret));
    await attempt(() => requireEntity(principal, secret));
    await attempt(() => policy.authorize(principal, any));
    // A seal that begins with a letter is a legal name of a resource: what is made of it is not
    // looked at.
    await attempt(() => void defineScopes({ [secret]: { read: 'x' } }));
    await attempt(() => catalog.expand([secret]));
    await attempt(() => toResponse(new Error(secret), { realm: 'x' }));
    await attempt(() =>
      createKeyring(untyped<Options>({ prefix: secret, catalog, store: inner, peppers: 'none' })),
    );
    await attempt(() =>
      createKeyring(untyped<Options>({ prefix: 'acme', catalog, store: inner, peppers: secret })),
    );
    await attempt(() =>
      createKeyring(
        untyped<Options>({
          prefix: 'acme',
          catalog,
          store: inner,
          peppers: [{ id: secret, secret }],
        }),
      ),
    );
    await attempt(() =>
      createKeyring(
        untyped<Options>({
          prefix: 'acme',
          catalog,
          store: inner,
          peppers: [{ id: 'p', secret, [secret]: 1 }],
        }),
      ),
    );
    await attempt(() => parseKey(secret, { prefix: secret }));
    await attempt(() => isKey(secret, { prefix: 'acme' }));
    await attempt(() => redactKeys(untyped(7), { prefix: secret }));
    await attempt(() => digestKey(untyped({ secret })));
  };
  for (const secret of [...secrets, ...texts]) await misuse(secret);
  await attempt(() =>
    keyring.rotate(
      live.info.keyId,
      { overlapMs: 0 },
      { ...AUTHORITY, entities: [OTHER], scopes: [] },
    ),
  );
  await attempt(() => keyring.rotate(NOWHERE, { overlapMs: 0 }, AUTHORITY));
  const overlapping = await make();
  const authority = { entityUuid: OWN, entities: [OTHER] };
  await keyring.rotate(overlapping.info.keyId, { overlapMs: HOUR }, authority);
  await attempt(() => keyring.rotate(overlapping.info.keyId, { overlapMs: HOUR }, authority));
  await keyring.admit(`Bearer ${live.key}`, { policy, operation: 'list' });
  state.broken = true;
  for (const secret of [live.key, strange, ...texts]) await misuse(secret);
  await attempt(() => keyring.issue(input, AUTHORITY));
  await attempt(() => keyring.rotate(live.info.keyId, { overlapMs: 0 }, authority));
  await attempt(() => keyring.flush());
  state.broken = false;
  clock.advance(9 * HOUR);
  await attempt(() => keyring.admit(`Bearer ${live.key}`, { policy, operation: 'list' }));
  await attempt(() =>
    setUp({ store: inner, peppers: [PEPPER], now: () => Number.NaN }).keyring.verify(next.key),
  );
  return { keys, rows, caught, shown, events };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('no key, header, digest, seal or pepper', () => {
  it('stands in an error, an answer, an event, an inspection or a log line, whatever is thrown', async () => {
    const written: unknown[] = [];
    for (const stream of [process.stdout, process.stderr]) {
      vi.spyOn(stream, 'write').mockImplementation((chunk) => written.push(chunk) > 0);
    }
    for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir'] as const) {
      vi.spyOn(console, method).mockImplementation(
        (...args: readonly unknown[]) => void written.push(args),
      );
    }
    const { keys, rows, caught, shown, events } = await harvest();
    vi.restoreAllMocks();
    expect(written).toEqual([]);

    const canaries = [
      ...keys.flatMap((key, i) => keyCanaries(`key ${i}`, key)),
      ...rows.flatMap((row, i) => rowCanaries(`row ${i}`, row)),
      ...[PEPPER, PEPPER_2].map(({ id, secret }) => canary(`pepper ${id}`, secret)),
    ];
    expect(canaries.length).toBeGreaterThan(40);
    // One of each text is enough, and thousands of equal ones would take seconds to inspect.
    const unlike = new Map(caught.map((error) => [`${error}${JSON.stringify(error)}`, error]));
    expect(hits(canaries, [...unlike.values()])).toEqual([]);
    expect(
      hits(canaries, [
        ...new Set(shown.map((value) => (isPlain(value) ? JSON.stringify(value) : value))),
      ]),
    ).toEqual([]);
    expect(hits(canaries, [JSON.stringify(events), ...events.slice(0, 50)])).toEqual([]);

    // The harvest was complete: every code and every channel was thrown.
    const codes = new Set(
      caught.map((e) =>
        isAccessError(e) ? e.code : isStoreError(e) ? 'store' : (e as Error).name,
      ),
    );
    expect([...codes].sort()).toEqual([
      'TypeError',
      'ceiling_exceeded',
      'conflict',
      'entity_forbidden',
      'insufficient_scope',
      'invalid_request',
      'invalid_token',
      'missing_credentials',
      'not_found',
      'store',
    ]);
    const reasons = new Set(
      caught.flatMap((e) => (isAccessError(e) && e.code === 'invalid_token' ? [e.reason] : [])),
    );
    expect([...reasons].sort()).toEqual([
      'expired',
      'malformed_key',
      'record_tampered',
      'retired',
      'revoked',
      'unknown_key',
      'wrong_checksum',
    ]);
  });

  it('would be found if it were there: the search finds each spelling in each place', () => {
    const key = generateKey({ prefix: 'acme' });
    const canaries = keyCanaries('key', key);
    const places: readonly unknown[] = [
      new Error(key),
      new Error('x', { cause: key }),
      Object.defineProperty(new AccessError('conflict', 'already_ended'), 'hidden', {
        value: { deep: [key] },
      }),
      { [Symbol(key)]: 1 },
      { [Symbol('x')]: Buffer.from(key).toString('base64') },
      {
        nested: {
          url: Buffer.from(key).toString('base64url'),
          hex: Buffer.from(key).toString('hex'),
        },
      },
      new Map([['authorization', `Bearer ${key}`]]),
    ];
    for (const place of places) expect(hits(canaries, [place])).toContain('key');
  });
});

const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'body' in value && 'status' in value;

describe('no control character', () => {
  // Line breaks as logs, terminals and readers of lines know them, and what moves a cursor.
  const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]/u;
  const HOSTILE = [
    'a\r\nb',
    'a\u0085b\u2028c\u2029',
    '\u001b[2K\u009b31m\u0000',
    `threats:read\n${'x'.repeat(200)}`,
  ];

  /** Every text in a value but for a stack, which has lines of its own, and the driver's error. */
  function* leaves(value: unknown): Generator<string> {
    if (typeof value === 'string') yield value;
    if (typeof value !== 'object' || value === null) return;
    for (const name of Object.getOwnPropertyNames(value)) {
      yield name;
      if (name !== 'stack' && name !== 'cause') yield* leaves(Reflect.get(value, name));
    }
  }
  const broken = (values: readonly unknown[]) =>
    [...new Set(values.flatMap((value) => [...leaves(value)]))].filter((text) => BREAKS.test(text));

  it('of a caller’s stands in an error, an answer or an event, so that none begins a line of a log', async () => {
    const { caught, shown, events } = await harvest(HOSTILE);
    expect(broken(caught)).toEqual([]);
    expect(broken(shown.filter(isPlain))).toEqual([]);
    expect(broken(events)).toEqual([]);
    // They were quoted, escaped.
    expect(caught.map(String).filter((text) => text.includes('a\\r\\nb')).length).toBeGreaterThan(
      10,
    );
  });
});

