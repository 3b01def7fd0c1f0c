/** What was wrong once. Each test names the rule that was broken. */
import { inspect } from 'node:util';
import {
  AccessError,
  canAddress,
  createKeyring,
  definePolicy,
  digestKey,
  generateKey,
  redactKeys,
  requireEntity,
  StoreError,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  rowOf,
  START,
  setUp,
  storeError,
  tampering,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

const policy = definePolicy(catalog, { whoami: [], list: ['threats:read'] });

describe('once broken', () => {
  it('inspect with showHidden and getters shows no key', async () => {
    const issued = await issue(setUp().keyring);
    expect(inspect(issued, { showHidden: true, getters: true, depth: Infinity })).not.toContain(
      issued.key.slice(5),
    );
  });
  it('an uncaught StoreError, which Node prints with customInspect false, shows no driver text', () => {
    const error = new StoreError('store.x failed', new Error('row quoted'));
    expect(inspect(error, { customInspect: false, depth: 5 })).not.toContain('row quoted');
  });
  it('a denial carries the time of the injected clock', async () => {
    const { keyring, events } = setUp();
    await keyring.admit(undefined, { policy, operation: 'list' }).catch(() => {});
    expect(events).toMatchObject([{ time: START }]);
  });
  it('scopes: null in an authority is no unlimited one', async () => {
    await typeError(
      () => setUp().keyring.issue(PLAIN, untyped({ entityUuid: OWN, scopes: null })),
      /scopes/,
    );
  });
  it('insecureAcceptUnpeppered with an invalid Date fails at start', () => {
    expect(() => setUp({ insecureAcceptUnpeppered: { until: new Date('x') } })).toThrow(TypeError);
  });
  it('a denial names the entity that was asked for in a list of one', async () => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    await keyring
      .admit(`Bearer ${key}`, { policy, operation: 'list', entityUuid: [OTHER] })
      .catch(() => {});
    expect(events.at(-1)).toMatchObject({ entityUuid: OTHER });
  });
  it('a pepper handed in as its own id is not quoted', () => {
    const secret = 'Zm9v+YmFyMTIzNDU2/Nzg5MGFiY2+RlZmdoaWprbG1ub3A=';
    const make = () =>
      createKeyring({
        prefix: 'acme',
        catalog,
        store: memoryStore(),
        peppers: [{ id: secret, secret: 'p1' }],
      });
    expect(make).toThrow(TypeError);
    expect(make).not.toThrow(/Zm9v/);
  });
  it('a row with * in its scopes is refused from the memory store too', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const { info } = await issue(keyring);
    const key = generateKey({ prefix: 'acme' });
    await store.insert({
      ...(await rowOf(store, info.keyId)),
      keyId: OTHER,
      digest: digestKey(key),
      scopes: ['*:*'],
    });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });
  it('a row whose list has a hole is refused', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
    const { keyring } = setUp({
      store: tampering(inner, (row) => ({ ...row, scopes: new Array(1) })),
      peppers: 'none',
    });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });
  it('a row is read once: a getter cannot answer otherwise after the check', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
    let reads = 0;
    const edit = (row: object) =>
      Object.defineProperty({ ...row }, 'scopes', {
        enumerable: true,
        get: () => (reads++ < 1 ? ['threats:read'] : ['*:*']),
      });
    const { keyring } = setUp({ store: tampering(inner, edit), peppers: 'none' });
    expect((await keyring.verify(key).catch(() => ({ scopes: [] }))).scopes).not.toContain('*:*');
  });
  it('a copy is no principal, whatever the entity or the operation', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const copy = { ...(await keyring.verify(key)) };
    expect(() => requireEntity(copy, 'malformed')).toThrow(TypeError);
    expect(() => canAddress(copy, 'malformed')).toThrow(TypeError);
    expect(() => definePolicy(catalog, { whoami: [] }).allowed(copy)).toThrow(TypeError);
  });
  it('a catalog that defineScopes did not make fails at start', () => {
    const fake = untyped<typeof catalog>({ all: ['threats:read'] });
    expect(() =>
      createKeyring({ prefix: 'acme', catalog: fake, store: memoryStore(), peppers: [PEPPER] }),
    ).toThrow(TypeError);
  });
  it('admit without input, or without a policy, says what to pass', async () => {
    const { keyring } = setUp();
    await typeError(() => keyring.admit('x', untyped<never>(undefined)), /^admit: /);
    await typeError(() => keyring.admit('x', untyped<never>({ operation: 'list' })), /policy/);
  });
  it('an answer whose `then` cannot be read is a broken store', async () => {
    const odd = Object.defineProperty({}, 'then', {
      get: () => {
        throw new Error('h1.p1$00');
      },
    });
    const store = wrap(memoryStore(), () => odd);
    await storeError(() => setUp({ store }).keyring.get(OWN, AUTHORITY));
  });
  it('metadata that is no plain object is refused, not dropped', async () => {
    const metadata = untyped<Record<string, string>>(new Map([['team', 'a']]));
    await typeError(() => setUp().keyring.issue({ ...PLAIN, metadata }, AUTHORITY), /metadata/);
  });
  it('a token that outlives its key shows the key’s expiry', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const { key } = await keyring.issue({ ...PLAIN, expiresAt: new Date(START + 5) }, AUTHORITY);
    const claimed = setUp({
      store: tampering(store, (row) => ({ ...row, expiresAt: null })),
      peppers: 'none',
    });
    const front = setUp({
      store,
      peppers: 'none',
      tokens: { verify: () => claimed.keyring.verify(key) },
    });
    expect((await front.keyring.authenticate('Bearer a.b')).expiresAt).toBe(START + 5);
  });
  it('two values of which one is undefined are repeated', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const act = () =>
      keyring.admit(`Bearer ${key}`, { policy, operation: 'list', entityUuid: [OWN, undefined] });
    await denied(act, 'invalid_request', 'malformed_entity');
  });
  it('a key that begins inside what looks like another one is redacted too', () => {
    const key = generateKey({ prefix: 'acme' });
    const text = `acme_${'x'.repeat(28)}${key}`;
    expect(redactKeys(text, { prefix: 'acme' })).not.toContain(key.slice(5));
  });
  it('a clock beyond what a Date holds is a broken clock', async () => {
    await storeError(() => issue(setUp({ now: () => 8.64e15 + 1 }).keyring));
  });
  it('flush waits for the batch that is under way, so that a shutdown loses nothing', async () => {
    const inner = memoryStore();
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const store = wrap(inner, (method, _args, call) =>
      method === 'touch' ? slow.then(call) : call(),
    );
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    keyring.flush();
    let done = false;
    const shutdown = keyring.flush().then(() => {
      done = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    finish();
    await shutdown;
    expect((await rowOf(inner, info.keyId)).lastUsedAt).toBe(START);
  });
  // The names of its letters were listed before it was seen to be no object: 0.2 s for a megabyte.
  it('a text that is no object is not taken apart', async () => {
    const { keyring } = setUp();
    const ownKeys = vi.spyOn(Reflect, 'ownKeys');
    await typeError(
      () => keyring.issue(untyped('a'.repeat(1_000_000)), AUTHORITY),
      /issue: pass an object of name/,
    );
    const texts = ownKeys.mock.calls.filter(
      ([target]) => Object.prototype.toString.call(target) === '[object String]',
    );
    ownKeys.mockRestore();
    expect(texts).toEqual([]);
  });
  // The flush of a shutdown resolved while the batch before it had failed and was back in memory.
  it('flush takes up what the batch under way could not write', async () => {
    const inner = memoryStore();
    let fail = () => {};
    let touches = 0;
    const store = wrap(inner, (method, _args, call) => {
      if (method !== 'touch' || touches++ > 0) return call();
      return new Promise((_, reject) => {
        fail = () => reject(new Error('down for a moment'));
      });
    });
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    const timers = keyring.flush().catch(() => 'failed');
    const shutdown = keyring.flush();
    fail();
    await shutdown;
    expect((await rowOf(inner, info.keyId)).lastUsedAt).toBe(START);
    expect(await timers).toBe('failed');
    // What failed long ago is no reason to fail or to write again.
    await keyring.flush();
    expect(touches).toBe(2);
  });
  // Node 20 drops the lines behind the first thousand or so, and a second credential with them.
  it('a request with more lines than Node keeps has no one credential', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const lines = (count: number) => [
      'authorization',
      `Bearer ${key}`,
      ...Array(count - 1)
        .fill(['a', 'b'])
        .flat(),
    ];
    await keyring.authenticate({ rawHeaders: lines(1000) });
    for (const count of [1001, 1024, 5000])
      await denied(
        () => keyring.authenticate({ rawHeaders: lines(count) }),
        'invalid_request',
        'malformed_header',
      );
  });
  it('two lines are two credentials also where a framework wraps the request of Node', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const line = `Bearer ${key}`;
    const rawHeaders = ['Authorization', line, 'Authorization', 'Bearer other'];
    const headers = { authorization: line };
    for (const request of [
      { raw: { rawHeaders }, headers },
      { req: { rawHeaders }, headers },
      { raw: { req: { rawHeaders }, res: {} }, headers },
    ]) {
      await denied(
        () => keyring.authenticate(untyped(request)),
        'invalid_request',
        'malformed_header',
      );
    }
  });
  it('a token that was narrowed to another entity lists its operations', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const { key } = await keyring.issue(input, { entityUuid: OWN, entities: [OTHER] });
    const claimed = { ...(await keyring.verify(key)), accessibleEntities: [OTHER] };
    const front = setUp({ store, peppers: 'none', tokens: { verify: async () => claimed } });
    const principal = await front.keyring.authenticate('Bearer a.b');
    expect(policy.allowed(principal)).toEqual(['whoami', 'list']);
  });
  it('a store that says it did not insert is broken, and no key is handed out', async () => {
    const store = wrap(memoryStore(), (method, _args, call) =>
      method === 'insert' ? false : call(),
    );
    await storeError(() => issue(setUp({ store }).keyring));
  });
  it('the seal holds the names of metadata: half a surrogate pair is no U+FFFD', async () => {
    const store = memoryStore();
    const { key } = await setUp({ store }).keyring.issue(
      { ...PLAIN, metadata: { '\ufffd': 'a' } },
      AUTHORITY,
    );
    const edited = tampering(store, (row) => ({ ...row, metadata: { '\ud800': 'a' } }));
    await denied(
      () => setUp({ store: edited }).keyring.verify(key),
      'invalid_token',
      'record_tampered',
    );
  });
  it('a second rotation within the overlap writes nothing', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: 1000 }, AUTHORITY);
    await denied(
      () => keyring.rotate(info.keyId, { overlapMs: 1000 }, AUTHORITY),
      'conflict',
      'already_ended',
    );
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(2);
  });
  it('a key whose row is malformed can be revoked', async () => {
    const store = memoryStore();
    const { key, info } = await issue(setUp({ store }).keyring);
    const { keyring } = setUp({ store: tampering(store, (row) => ({ ...row, scopes: ['*:*'] })) });
    await keyring.revoke(info.keyId, AUTHORITY);
    await denied(() => setUp({ store }).keyring.verify(key), 'invalid_token', 'revoked');
  });
  it('authorize refuses what it does not understand, and never falls back to the own entity', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    for (const options of [OTHER, { entity: OTHER }, null]) {
      expect(() => policy.authorize(principal, 'list', untyped(options))).toThrow(/^authorize: /);
    }
  });
  it('inspection that calls getters shows no driver text', () => {
    const error = new StoreError('store.x failed', new Error('row quoted'));
    expect(inspect(error, { getters: true, showHidden: true })).not.toContain('row quoted');
  });
  it("a denial without an asked entity names the key's own", async () => {
    const { keyring, events } = setUp();
    const { key } = await keyring.issue({ ...PLAIN, scopes: [] }, AUTHORITY);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' }).catch(() => {});
    expect(events.at(-1)).toMatchObject({ type: 'access.denied', entityUuid: OWN });
  });
  it('an error of another version of the package is answered all the same', () => {
    const error = new AccessError('insufficient_scope', 'scope_missing', {
      requiredScopes: untyped('a:b'),
    });
    expect(toResponse(error, { realm: 'r' }).status).toBe(403);
  });
  it('a store is given plain objects, frozen to the bottom: some serializers take nothing else', async () => {
    const rows: object[] = [];
    const store = wrap(memoryStore(), (method, args, call) => {
      if (method === 'insert') rows.push(args[0] as object);
      return call();
    });
    const { keyring } = setUp({ store });
    const { info } = await keyring.issue({ ...PLAIN, metadata: { a: '1' } }, AUTHORITY);
    await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
      const parts = [row, ...Object.values(row)].filter(
        (part) => typeof part === 'object' && part !== null,
      );
      expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
    }
  });
  it('a list of rows that could be taken for a promise is a list', async () => {
    const inner = memoryStore();
    const { key, info } = await issue(setUp({ store: inner }).keyring);
    let forging = false;
    const spoof = (rows: unknown) => {
      let asked = 0;
      const then = forging
        ? {
            get: () =>
              asked++ === 0
                ? undefined
                : (answer: (rows: unknown) => void) => answer({ keyId: 'forged' }),
          }
        : { value: 5 };
      return Object.defineProperty([...(rows as unknown[])], 'then', then);
    };
    const store = wrap(inner, (method, _args, call) =>
      method === 'findByDigest' ? spoof(call()) : call(),
    );
    const { keyring } = setUp({ store });
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    forging = true;
    await denied(
      () => keyring.verify(generateKey({ prefix: 'acme' })),
      'invalid_token',
      'unknown_key',
    );
  });
  it('a list of rows with a hole is an outage and no bad key', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner }).keyring);
    const holed = (rows: unknown) => Object.assign(new Array(2), { 1: (rows as unknown[])[0] });
    const store = wrap(inner, (method, _args, call) =>
      method === 'findByDigest' ? holed(call()) : call(),
    );
    await storeError(() => setUp({ store }).keyring.verify(key));
  });
  it('an odd entity is counted in the list that was given, repetitions included', async () => {
    const accessibleEntities = [OTHER, OTHER, OTHER, 'odd'];
    await typeError(
      () =>
        setUp().keyring.issue(
          { ...PLAIN, accessibleEntities },
          { entityUuid: OWN, entities: [OTHER] },
        ),
      /^accessibleEntities: element 3: .*not "odd"/,
    );
  });
  it('a header of the name headers hides no credential, whatever it is', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    const request = untyped<Headers>({ headers() {}, authorization: `Bearer ${key}` });
    expect((await keyring.authenticate(request)).keyId).toBe(info.keyId);
  });
  it('a Date that answers otherwise than it is is read as it is', async () => {
    class Odd extends Date {
      override getTime(): number {
        return Infinity;
      }
    }
    const { keyring } = setUp();
    const { info } = await keyring.issue({ ...PLAIN, expiresAt: new Odd(START + 1000) }, AUTHORITY);
    expect(info.expiresAt).toEqual(new Date(START + 1000));
  });
  it('a stored scope that is none refuses the row, before any authority is asked', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const row = await rowOf(store, (await issue(keyring)).info.keyId);
    const digest = digestKey(generateKey({ prefix: 'acme' }));
    await store.insert({ ...row, keyId: OTHER, digest, scopes: ['threats:read:zzz', 'foo'] });
    const authority = { ...AUTHORITY, scopes: ['*:read', '*:undefined', 'fo:*'] };
    await denied(
      () => keyring.rotate(OTHER, { overlapMs: 0 }, authority),
      'invalid_token',
      'record_tampered',
    );
  });
});
