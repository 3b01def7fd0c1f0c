/**
 * A record is never accepted if a field is missing, spelled differently, or of another kind.
 * `edited-rows.test.ts` tests other values.
 */
import { digestKey, type KeyStore } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHANGING, FIXED, fieldOf } from '../../support/columns.ts';
import {
  AUTHORITY,
  HOUR,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  type Ring,
  setUp,
} from '../../support/keyring.ts';
import { expectNoKeyIn } from '../../support/leaks.ts';
import { outcome } from '../../support/outcome.ts';
import { deleteUnder, ioRedis } from '../../support/redis-clients.ts';
import { describeOn, SERVERS } from '../../support/servers.ts';

const URL = SERVERS.redis;
const prefix = `keyscope-test-${crypto.randomUUID()}:`;
/** Outside the seal: a time there is believed, so only an invalid one is rejected. */
const MARKS = CHANGING.map(fieldOf).filter((field) => field !== 'scopesUsed');
const FIELDS = [...FIXED.map(fieldOf), ...MARKS, 'used:threats:read'];

/** Ends a key only in the store. */
const REVOKE = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;

/**
 * The value of a field in JSON that keyscope would not write. The scripts compare texts, so they
 * treat it as different.
 */
function respelled(text: string): readonly string[] {
  const spellings = [`${text} `, `\n${text}`];
  if (/^\d/.test(text)) spellings.push(`${text}.0`, `${text}e0`);
  if (/^"./.test(text)) {
    const escaped = `\\u00${text.charCodeAt(1).toString(16)}`;
    spellings.push(`"${escaped}${text.slice(2)}`);
  }
  if (/^[[{]/.test(text)) spellings.push(text.replace(/.$/, ' $&'));
  if (/^\{"/.test(text)) spellings.push(text.replace(/^\{(".*)\}$/, '{$1,$1}'));
  return spellings;
}

const TAMPERED = 'invalid_token record_tampered';
const UNKNOWN = 'invalid_token unknown_key';
const REFUSED = [TAMPERED, UNKNOWN, 'StoreError'];
/** A row with another digest than requested does not match. */
const refusalAt = (field: string) => (field === 'digest' ? UNKNOWN : TAMPERED);
const NOT_ROTATED = [
  'conflict record_tampered',
  'not_found no_such_key',
  'not_found foreign_key',
  'StoreError',
];

/** A key whose record the test edits. */
interface Victim {
  readonly keyring: Ring;
  readonly key: string;
  readonly keyId: string;
  /** The Redis key of its record. */
  readonly hash: string;
}

/** Checks that the key is rejected everywhere, and returns the error. */
async function refusalOf({ keyring, key, keyId }: Victim, why: string): Promise<string> {
  const verified = await outcome(() => keyring.verify(key));
  expect(REFUSED, why).toContain(verified);
  for (const entityId of [OWN, OTHER]) {
    const by = { entityId, scopes: 'all' } as const;
    const rotated = await outcome(() => keyring.rotate(keyId, { overlapMs: 0 }, by));
    expect(NOT_ROTATED, `${why}, rotated`).toContain(rotated);
  }
  return verified;
}

const onRedis = await describeOn('redis');

onRedis('a record edited by hand', () => {
  const { client, close } = ioRedis(URL, { lazyConnect: true });
  let store: KeyStore;
  beforeAll(() => {
    store = redisStore(client, { prefix });
  });
  afterAll(async () => {
    close();
    await deleteUnder(URL, prefix);
  });

  async function victim(): Promise<Victim> {
    const { keyring, clock } = setUp({ store });
    const expiresAt = new Date(clock.now() + HOUR);
    const input = { ...PLAIN, metadata: { team: 'red' }, expiresAt };
    const { key, info } = await keyring.issue(input, AUTHORITY);
    const { keyId } = info;
    await store.touch([{ keyId, lastUsedAt: clock.now(), scopesUsed: { 'threats:read': 5 } }]);
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    return { keyring, key, keyId, hash: `${prefix}rec:${digestKey(key, PEPPER)}` };
  }

  // Before 5.9, node-redis cut characters in two where two chunks of an answer met: one good key in
  // a thousand with a name like these was rejected as tampered with.
  test('is stored in ASCII, and rejected in another spelling', async () => {
    const { keyring } = setUp({ store });
    const name = 'schlüssel 鍵 🦊';
    const { key, info } = await keyring.issue({ ...PLAIN, name }, AUTHORITY);
    const { keyId } = info;
    const hash = `${prefix}rec:${digestKey(key, PEPPER)}`;
    expect(await client.hget(hash, 'name')).toBe('"schl\\u00fcssel \\u9375 \\ud83e\\udd8a"');
    await keyring.revoke(keyId, { ...AUTHORITY, reason: 'weg – 終' });
    const kept = await client.hgetall(hash);
    for (const text of Object.values(kept)) expect(text).toMatch(/^[\0-\x7f]*$/);
    const row = await store.findById(keyId);
    expect([row?.name, row?.endReason]).toEqual([name, 'weg – 終']);
    await client.hset(hash, 'name', JSON.stringify(name));
    expect((await store.findById(keyId))?.name).toBe(undefined);
  });

  test('is tried with every field', async () => {
    const { hash } = await victim();
    expect((await client.hkeys(hash)).sort()).toEqual(FIELDS.toSorted());
  });

  test.each(FIELDS.slice(0, -1))('is never accepted without %s', async (field) => {
    const edited = await victim();
    await client.hdel(edited.hash, field);
    expect(await refusalOf(edited, `no ${field}`)).toBe(refusalAt(field));
  });

  // A key whose mark was "null " was accepted, and `revoke` reported that it had ended.
  test.each(FIELDS)('is never accepted with %s spelled differently', async (field) => {
    const { hash } = await victim();
    const { length } = respelled(String(await client.hget(hash, field)));
    expect(length).toBeGreaterThanOrEqual(2);
    for (let index = 0; index < length; index++) {
      const edited = await victim();
      // Other keys have other ids and digests, so each gets its own spelling.
      const spellings = respelled(String(await client.hget(edited.hash, field)));
      const to = spellings[index] ?? '';
      await client.hset(edited.hash, field, to);
      expect(await refusalOf(edited, `${field} = ${to}`)).toBe(refusalAt(field));
      if (!MARKS.includes(field)) continue;
      // A mark that this store did not write does not keep a key from being revoked.
      expect(await store.mark(edited.keyId, REVOKE)).toBe(true);
    }
  });

  test('keeps a field that the service has added', async () => {
    const { keyring, key, keyId, hash } = await victim();
    await client.hset(hash, 'team', 'blue');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    expect(await store.findById(keyId)).not.toHaveProperty('team');
    await keyring.revoke(keyId, AUTHORITY);
    expect(await client.hget(hash, 'team')).toBe('blue');
  });

  test.each([
    ['set', ['x']],
    ['rpush', ['x']],
    ['sadd', ['x']],
    ['zadd', ['0', 'x']],
    ['xadd', ['*', 'a', 'b']],
  ])('that was replaced by %s is a StoreError', async (command, value) => {
    const edited = await victim();
    const { keyring, keyId, hash } = edited;
    const other = await issue(keyring);
    await client.del(hash);
    await client.call(command, hash, ...value);
    expect(await refusalOf(edited, command)).toBe('StoreError');
    expect(await outcome(() => keyring.get(keyId, AUTHORITY))).toBe('StoreError');
    expect(await outcome(() => keyring.revoke(keyId, AUTHORITY))).toBe('StoreError');
    expect(await outcome(() => keyring.verify(other.key))).toBe('passed');
    await client.del(hash);
  });

  test('is still accepted if its pointer and its index have another type', async () => {
    const { keyring, key, keyId } = await victim();
    const pointer = `${prefix}id:${keyId}`;
    const index = `${prefix}own:acme:${OWN}`;
    await client.del(pointer);
    await client.sadd(pointer, 'x');
    expect(await outcome(() => keyring.revoke(keyId, AUTHORITY))).toBe('StoreError');
    await client.del(index);
    await client.set(index, 'x');
    expect(await outcome(() => keyring.list({}, AUTHORITY))).toBe('StoreError');
    expect(await outcome(() => issue(keyring))).toBe('StoreError');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await client.del(index);
  });

  test('is neither ended, touched nor listed by the pointer of another key', async () => {
    const { keyring, key, keyId } = await victim();
    const other = await victim();
    const pointer = `${prefix}id:${keyId}`;
    const own = String(await client.get(pointer));
    const others = String(await client.get(`${prefix}id:${other.keyId}`));
    const before = await client.hgetall(other.hash);
    // Unchanged, and as a failed insert leaves it if another key has the digest.
    for (const text of [others, others.replace(other.keyId, keyId), 'what is this', '']) {
      await client.set(pointer, text);
      const revoked = await outcome(() => keyring.revoke(keyId, AUTHORITY));
      expect(revoked, text).toBe('not_found no_such_key');
      expect(await store.mark(keyId, REVOKE), text).toBe(false);
      await store.touch([{ keyId, lastUsedAt: 9e12, scopesUsed: {} }]);
      expect(await client.hgetall(other.hash), text).toEqual(before);
    }
    // The documented remedy: the entry of the key in its listing.
    const entries = await client.zrange(`${prefix}own:acme:${OWN}`, '0', '-1');
    expect(entries).toContain(own);
    await client.set(pointer, own);
    await keyring.revoke(keyId, AUTHORITY);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
  });

  test('contains no key', { timeout: 60_000 }, async () => {
    const own = `${prefix}dump:`;
    await expectNoKeyIn(redisStore(client, { prefix: own }), async () => {
      let stored = '';
      // Ten at a time took longer than a test may, next to the 1,400,000 keys of another test.
      const pages = client.scanStream({ match: `${own}*`, count: 10_000 });
      for await (const names of pages as AsyncIterable<string[]>) {
        for (const name of names) {
          const bytes = await client.dumpBuffer(name);
          stored += `${name} ${bytes.toString('latin1')}`;
        }
      }
      return stored;
    });
  });
});
