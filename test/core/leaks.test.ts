/** No secret and no control character of a caller leaves any operation. */
import type { GrantAuthority, KeyStore } from 'keyscope';
import {
  AccessError,
  createKeyring,
  defineScopes,
  digestKey,
  generateKey,
  isAccessError,
  isKey,
  parseKey,
  redactKeys,
  requireEntity,
  requireScopes,
  toMe,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { canariesIn, canary, keyCanaries, rowCanaries } from '../support/canary.ts';
import {
  AUTHORITY,
  bearer,
  catalog,
  HOUR,
  NOWHERE,
  OTHER,
  OWN,
  policy,
  returning,
  rowOf,
  START,
  setUp,
  THIRD,
  tampering,
  untyped,
  wrap,
} from '../support/keyring.ts';

// In the form that operators use: `openssl rand -hex 32`.
const PEPPER = {
  id: 'p1',
  secret: '9f3c1b7ad05e42c8861f0e9ab7d3546c2fe8190b6a7d43c5e1f09b8a7c6d5e4f',
};
const PEPPER_2 = {
  id: 'p2',
  secret: '0b6a7d43c5e1f09b8a7c6d5e4f9f3c1b7ad05e42c8861f0e9ab7d3546c2fe819',
};

/** A store whose driver quotes all its arguments, as drivers do. */
function quoting(inner: KeyStore, state: { broken: boolean }): KeyStore {
  return wrap(inner, (method, args, call) => {
    if (!state.broken) return call();
    const rows = [args, method === 'insert' ? '' : call()];
    const message = `duplicate key value violates unique constraint: ${JSON.stringify(rows)}`;
    throw Object.assign(new Error(message), { rows });
  });
}

type Options = Parameters<typeof createKeyring>[0];

const INPUT = {
  name: 'canary',
  scopes: ['threats:read'],
  expiresAt: new Date(START + 9 * HOUR),
} as const;
const WIDE = { entityId: OWN, entities: [OTHER], scopes: 'all' } as const;

/** The output of all operations. */
interface Harvest {
  /** Every error. */
  readonly caught: unknown[];
  /** Every result, and the response to every error. */
  readonly shown: unknown[];
}

async function attempt({ caught, shown }: Harvest, act: () => unknown): Promise<void> {
  try {
    shown.push(await act());
  } catch (error) {
    caught.push(error);
    shown.push(toResponse(error, { realm: 'acme', resourceMetadata: 'https://x/y' }));
  }
}

/** Keyrings and keys in every state, over one store that can break. */
async function prepared() {
  const inner = memoryStore();
  const state = { broken: false };
  const store = quoting(inner, state);
  const { keyring, clock, events } = setUp({ store, peppers: [PEPPER, PEPPER_2] });
  const make = () => keyring.issue({ ...INPUT, accessibleEntities: [OTHER] }, WIDE);
  const live = await make();
  const revoked = await make();
  await keyring.revoke(revoked.info.keyId, AUTHORITY);
  const retired = await make();
  const successor = await keyring.rotate(retired.info.keyId, { overlapMs: 0 }, WIDE);
  const strange = generateKey({ prefix: 'acme' });
  const mistyped = `${strange.slice(0, 6)}${strange[6] === 'x' ? 'y' : 'x'}${strange.slice(7)}`;
  const issued = [live, revoked, retired, successor];
  const rows = await Promise.all(issued.map(({ info }) => rowOf(inner, info.keyId)));
  const tampered = tampering(inner, (row) => ({ ...row, scopes: ['users:delete'] }));
  const twice = returning(inner, (found) => [...found, ...found]);
  return {
    keyring,
    others: [tampered, twice].map((other) => setUp({ store: other, peppers: [PEPPER] }).keyring),
    inner,
    state,
    clock,
    events,
    make,
    live,
    successor,
    strange,
    keys: [...issued.map(({ key }) => key), strange, mistyped],
    rows,
    principal: await keyring.verify(live.key),
  };
}

type Prepared = Awaited<ReturnType<typeof prepared>>;

/** Requests with a secret in every place. */
async function sendRequests(harvest: Harvest, { keyring }: Prepared, secret: string) {
  const header = bearer(secret);
  const requests = [
    header,
    secret,
    [header, header],
    `Basic ${secret}`,
    `${secret} x`,
    { authorization: header },
    { [secret]: secret },
    `${header} ${secret}`,
  ];
  for (const request of requests) {
    await attempt(harvest, () => keyring.authenticate(request));
    for (const operation of ['whoami', 'list', 'remove'] as const) {
      for (const entityId of [undefined, THIRD, secret, [secret, secret]]) {
        const input = { operation, entityId };
        await attempt(harvest, () => keyring.admit(request, input));
      }
    }
  }
}

/** Management calls with a secret as every argument. */
async function manage(harvest: Harvest, { keyring, live }: Prepared, secret: string) {
  const any = untyped<never>(secret);
  const { keyId } = live.info;
  const fields = {
    scopes: [secret],
    accessibleEntities: [secret],
    metadata: { [secret]: 7 },
    justification: 7,
    expiresAt: secret,
    name: `${secret}\n`,
    [secret]: 1,
  };
  for (const [field, value] of Object.entries(fields)) {
    const input = untyped<typeof INPUT>({ ...INPUT, [field]: value });
    await attempt(harvest, () => keyring.issue(input, AUTHORITY));
  }
  const authorities: readonly GrantAuthority[] = [
    any,
    { entityId: secret, scopes: 'all' },
    { ...AUTHORITY, actor: `${secret}\n` },
    { ...AUTHORITY, reason: `${secret}\n` },
    { ...AUTHORITY, maxLifetimeMs: any },
    { ...AUTHORITY, scopes: [secret] },
    { ...AUTHORITY, entities: [secret] },
    { ...AUTHORITY, ...{ [secret]: 1 } },
  ];
  for (const authority of authorities) {
    await attempt(harvest, () => keyring.issue(INPUT, authority));
    await attempt(harvest, () => keyring.get(keyId, authority));
  }
  for (const id of [secret, [secret], { secret }].map((value) => untyped<string>(value))) {
    await attempt(harvest, () => keyring.revoke(id, AUTHORITY));
    await attempt(harvest, () => keyring.get(id, AUTHORITY));
    await attempt(harvest, () => keyring.rotate(id, { overlapMs: 0 }, AUTHORITY));
    for (const act of ['suspend', 'resume', 'withdraw', 'revokeLineage'] as const) {
      await attempt(harvest, () => keyring[act](id, AUTHORITY));
    }
    await attempt(harvest, () => keyring.identify(id));
  }
  const odd = untyped<{ overlapMs: number }>({ overlapMs: 0, [secret]: 1 });
  await attempt(harvest, () => keyring.rotate(keyId, { overlapMs: any }, AUTHORITY));
  await attempt(harvest, () => keyring.rotate(keyId, odd, AUTHORITY));
  for (const page of [{ after: secret }, { limit: any }, { [secret]: 1 }])
    await attempt(harvest, () => keyring.list(page, AUTHORITY));
}

/** Every function that needs no keyring, with a secret as every argument. */
async function callFunctions(harvest: Harvest, { inner, principal }: Prepared, secret: string) {
  const any = untyped<never>(secret);
  const made = { prefix: 'acme', catalog, store: inner, peppers: 'none' };
  const make = (over: object) => () => createKeyring(untyped<Options>({ ...made, ...over }));
  const calls: readonly (() => unknown)[] = [
    () => requireScopes(principal, any),
    () => requireEntity(principal, secret),
    () => policy.authorize(principal, any),
    // A seal that begins with a letter is a legal name of a resource, so the result is ignored.
    () => void defineScopes({ [secret]: { read: 'x' } }),
    () => catalog.expand([secret]),
    () => toResponse(new Error(secret), { realm: 'x' }),
    make({ prefix: secret }),
    make({ peppers: secret }),
    make({ peppers: [{ id: secret, secret }] }),
    make({ peppers: [{ id: 'p', secret, [secret]: 1 }] }),
    () => parseKey(secret, { prefix: secret }),
    () => isKey(secret, { prefix: 'acme' }),
    () => redactKeys(untyped(7), { prefix: secret }),
    () => digestKey(untyped({ secret })),
  ];
  for (const call of calls) await attempt(harvest, call);
}

/** A secret as every argument, because people paste keys into any field. */
async function misuse(harvest: Harvest, all: Prepared, secret: string): Promise<void> {
  const { keyring, others } = all;
  await sendRequests(harvest, all, secret);
  for (const ring of [keyring, ...others]) await attempt(harvest, () => ring.verify(secret));
  const input = { operation: untyped<'list'>(secret) };
  await attempt(harvest, () => keyring.admit(bearer(secret), input));
  await manage(harvest, all, secret);
  await callFunctions(harvest, all, secret);
}

/**
 * Takes every operation through every refusal, with real keys, and collects the output. It passes
 * `texts` as every argument, in addition to the keys and their stored forms.
 */
async function harvestAll(texts: readonly string[] = []) {
  const all = await prepared();
  const { keyring, inner, state, clock, events, make, live, successor, strange, keys, rows } = all;
  const harvest: Harvest = { caught: [], shown: [all.principal, toMe(all.principal)] };
  harvest.shown.push(live, successor, live.info, policy, catalog, keyring);
  harvest.shown.push(
    await keyring.list({}, AUTHORITY),
    await keyring.get(live.info.keyId, AUTHORITY),
  );
  const stored = rows.flatMap(({ digest, seal }) => [digest, seal ?? '']);
  for (const secret of [...keys, ...stored, PEPPER.secret, ...texts])
    await misuse(harvest, all, secret);

  const rotate = (keyId: string, authority: GrantAuthority = WIDE) =>
    attempt(harvest, () => keyring.rotate(keyId, { overlapMs: HOUR }, authority));
  await rotate(live.info.keyId, { ...WIDE, scopes: [] });
  await rotate(NOWHERE);
  const overlapping = await make();
  await rotate(overlapping.info.keyId);
  await rotate(overlapping.info.keyId);

  const list = { operation: 'list' } as const;
  await keyring.admit(bearer(live.key), list);
  state.broken = true;
  for (const secret of [live.key, strange, ...texts]) await misuse(harvest, all, secret);
  await attempt(harvest, () => keyring.issue(INPUT, AUTHORITY));
  await rotate(live.info.keyId);
  await attempt(harvest, () => keyring.flush());
  state.broken = false;
  clock.advance(9 * HOUR);
  await attempt(harvest, () => keyring.admit(bearer(live.key), list));
  const timeless = setUp({ store: inner, peppers: [PEPPER], now: () => Number.NaN }).keyring;
  await attempt(harvest, () => timeless.verify(successor.key));
  return { keys, rows, events, ...harvest };
}

/** The result of `toResponse`. */
const isResponse = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'body' in value && 'status' in value;

/** The code of a denial, or the kind of any other error. */
const channelOf = (error: unknown): string =>
  isAccessError(error) ? error.code : (error as Error).name;

afterEach(() => {
  vi.restoreAllMocks();
});

describe('no key, header, digest, seal or pepper', () => {
  it('appears in an error, a response, an event, an inspection or a line of a log', async () => {
    const written: unknown[] = [];
    for (const stream of [process.stdout, process.stderr]) {
      vi.spyOn(stream, 'write').mockImplementation((chunk) => written.push(chunk) > 0);
    }
    for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir'] as const) {
      vi.spyOn(console, method).mockImplementation(
        (...args: readonly unknown[]) => void written.push(args),
      );
    }
    const { keys, rows, caught, shown, events } = await harvestAll();
    vi.restoreAllMocks();
    expect(written).toEqual([]);

    const canaries = [
      ...keys.flatMap((key, i) => keyCanaries(`key ${i}`, key)),
      ...rows.flatMap((row, i) => rowCanaries(`row ${i}`, row)),
      ...[PEPPER, PEPPER_2].map(({ id, secret }) => canary(`pepper ${id}`, secret)),
    ];
    expect(canaries.length).toBeGreaterThan(40);
    // One of each text is enough; inspecting thousands of equal ones would take seconds.
    const unlike = new Map(
      caught.map((error) => [`${String(error)}${JSON.stringify(error)}`, error]),
    );
    expect(canariesIn([...unlike.values()], canaries)).toEqual([]);
    const unlikeShown = new Set(
      shown.map((value) => (isResponse(value) ? JSON.stringify(value) : value)),
    );
    expect(canariesIn([...unlikeShown], canaries)).toEqual([]);
    expect(canariesIn([JSON.stringify(events), ...events.slice(0, 50)], canaries)).toEqual([]);

    // The collection is complete: it has every code and every channel.
    expect([...new Set(caught.map(channelOf))].sort()).toEqual([
      'InputError',
      'StoreError',
      'TypeError',
      'ceiling_exceeded',
      'conflict',
      'entity_forbidden',
      'insufficient_scope',
      'invalid_request',
      'invalid_token',
      'missing_credentials',
      'not_found',
    ]);
    const reasons = new Set(
      caught
        .filter(isAccessError)
        .filter(({ code }) => code === 'invalid_token')
        .map(({ reason }) => reason),
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

  it('would escape the search, which finds each spelling in each place', () => {
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
    for (const place of places) expect(canariesIn([place], canaries)).toContain('key');
  });
});

describe('no control character of a caller', () => {
  // Line breaks of logs, terminals and line readers, and characters that move a cursor.
  const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]/u;
  const HOSTILE = [
    'a\r\nb',
    'a\u0085b\u2028c\u2029',
    '\u001b[2K\u009b31m\u0000',
    `threats:read\n${'x'.repeat(200)}`,
  ];

  /** Every text in a value, except stacks, which have several lines. */
  function* leaves(value: unknown): Generator<string> {
    if (typeof value === 'string') yield value;
    if (typeof value !== 'object' || value === null) return;
    for (const name of Object.getOwnPropertyNames(value)) {
      yield name;
      if (name !== 'stack') yield* leaves(Reflect.get(value, name));
    }
  }
  const broken = (values: readonly unknown[]) =>
    [...new Set(values.flatMap((value) => [...leaves(value)]))].filter((text) => BREAKS.test(text));

  it('appears in an error, a response or an event, so none can start a line of a log', async () => {
    const { caught, shown, events } = await harvestAll(HOSTILE);
    expect(broken(caught)).toEqual([]);
    expect(broken(shown.filter(isResponse))).toEqual([]);
    expect(broken(events)).toEqual([]);
    // The errors quoted them, escaped.
    const quoted = caught.map(String).filter((text) => text.includes('a\\r\\nb'));
    expect(quoted.length).toBeGreaterThan(10);
  });
});
