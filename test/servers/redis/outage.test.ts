/** A server that is away, comes back, or has lost its data. */
import { migrate, type RedisClient, redisStore } from 'keyscope/stores/redis';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { AUTHORITY, issue, type Ring, setUp, storeError } from '../../support/keyring.ts';
import { outcome } from '../../support/outcome.ts';
import {
  type Closing,
  connectTo,
  connectWithoutQueue,
  KINDS,
} from '../../support/redis-clients.ts';
import { describeWithRedis, type OwnRedis, startRedis } from '../../support/redis-servers.ts';

/** For calls to a server that is up, however busy the machine is. */
const PATIENT = 60_000;

const passes = (keyring: Ring, key: string) => async () =>
  (await outcome(() => keyring.verify(key))) === 'passed';

describeWithRedis.each(KINDS)('an outage, with %s', (kind) => {
  let own: OwnRedis;
  let opened: Closing<RedisClient>;
  beforeEach(async () => {
    own = await startRedis('--appendonly', 'yes', '--appendfsync', 'always');
    opened = await connectTo(kind, own.url);
  });
  afterEach(async () => {
    opened.close();
    await own.remove();
  });

  /** Two keyrings over one store: one that waits, and one that gives up soon. */
  function keyrings(): { readonly patient: Ring; readonly hasty: Ring } {
    const store = redisStore(opened.client);
    return {
      patient: setUp({ store, storeTimeoutMs: PATIENT }).keyring,
      hasty: setUp({ store, storeTimeoutMs: 300 }).keyring,
    };
  }

  test('is a StoreError in time, and the server is used again once it is back', async () => {
    const { patient, hasty } = keyrings();
    const { key, info } = await issue(patient);
    await own.stop();
    const acts = [
      () => hasty.verify(key),
      () => hasty.list({}, AUTHORITY),
      () => hasty.get(info.keyId, AUTHORITY),
      () => issue(hasty),
      () => hasty.revoke(info.keyId, AUTHORITY),
    ];
    for (const act of acts) expect(await outcome(act)).toBe('StoreError');
    await own.start();
    await eventually(passes(hasty, key), 'the key is verified again');
    await patient.revoke(info.keyId, AUTHORITY);
    expect(await outcome(() => patient.verify(key))).toBe('invalid_token revoked');
  });

  test('before the first operation is one, too, and the next operation tries again', async () => {
    await own.stop();
    const { hasty } = keyrings();
    expect(await outcome(() => issue(hasty))).toBe('StoreError');
    await own.start();
    const issues = async () => (await outcome(() => issue(hasty))) === 'passed';
    await eventually(issues, 'a key is issued');
  });

  test('fails at once if the client queues nothing', async () => {
    const { client, close } = await connectWithoutQueue(kind, own.url);
    onTestFinished(() => close());
    const { keyring } = setUp({ store: redisStore(client), storeTimeoutMs: PATIENT });
    const { key, info } = await issue(keyring);
    await own.stop();
    const fails = async () => (await outcome(() => keyring.verify(key))) === 'StoreError';
    await eventually(fails, 'it is noticed');
    const { message } = await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    // The error is not that the server did not answer in time.
    expect(message).toBe('store.findById failed: see causeOf');
    await own.start();
    await eventually(passes(keyring, key), 'it is back');
  });

  test('that kills the server undoes nothing if every write is synced', async () => {
    const { patient, hasty } = keyrings();
    const { key, info } = await issue(patient);
    const live = await issue(patient);
    await patient.revoke(info.keyId, AUTHORITY);
    await own.stop('SIGKILL');
    await own.start();
    await eventually(passes(hasty, live.key), 'the server is back');
    expect(await outcome(() => patient.verify(key))).toBe('invalid_token revoked');
  });

  test('that loses everything lasts until migrate; then every key is unknown', async () => {
    const { patient } = keyrings();
    const { key } = await issue(patient);
    await own.ask('FLUSHALL');
    expect(await outcome(() => patient.verify(key))).toBe('StoreError');
    expect(await outcome(() => issue(patient))).toBe('StoreError');
    await migrate(opened.client);
    expect(await outcome(() => patient.verify(key))).toBe('invalid_token unknown_key');
    const next = await issue(patient);
    expect(await outcome(() => patient.verify(next.key))).toBe('passed');
  });
});
