/** Keys are read only from the primary, even while it cannot write. */
import { rmSync } from 'node:fs';
import type { Awaitable, IssuedKey, KeyStore } from 'keyscope';
import { digestKey } from 'keyscope';
import { migrate, redisStore } from 'keyscope/stores/redis';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { AUTHORITY, issue, NOWHERE, OWN, PEPPER, setUp } from '../../support/keyring.ts';
import { causeOf, outcome } from '../../support/outcome.ts';
import { connectTo, ioRedis, KINDS, type Kind } from '../../support/redis-clients.ts';
import { describeWithRedis, type OwnRedis, startRedis } from '../../support/redis-servers.ts';

/** A server for one test, and a key on it. */
async function start(kind: Kind, ...options: string[]) {
  const own = await startRedis(...options);
  const { client, close } = await connectTo(kind, own.url);
  onTestFinished(async () => {
    close();
    await own.remove();
  });
  const store = redisStore(client);
  const { keyring } = setUp({ store });
  const issued = await issue(keyring);
  return { own, client, store, keyring, issued };
}

type Methods = Readonly<Record<string, () => Awaitable<unknown>>>;

/** Every method that reads, for an existing key and a missing one. */
function readsOf(store: Required<KeyStore>, { key, info }: IssuedKey): Methods {
  const page = { prefix: 'acme', after: null, limit: 5 };
  const part = { after: null, limit: 5 };
  return {
    findByDigest: () => store.findByDigest([digestKey(key, PEPPER)]),
    'findByDigest of none': () => store.findByDigest(['s1$a']),
    findById: () => store.findById(info.keyId),
    'findById of none': () => store.findById(NOWHERE),
    list: () => store.list({ ...page, entityId: OWN }),
    'list of none': () => store.list({ ...page, entityId: NOWHERE }),
    listLineage: () => store.listLineage({ rootKeyId: info.keyId, ...part }),
    'listLineage of none': () => store.listLineage({ rootKeyId: NOWHERE, ...part }),
    listAll: () => store.listAll(part),
    listExpiring: () => store.listExpiring({ ...part, before: 5 }),
    listChanged: () => store.listChanged({ since: 0, limit: 5 }),
    summarize: () => store.summarize(5),
  };
}

/** The methods that begin with a look-up, and write only to the key that it finds. */
function writesOf(store: Required<KeyStore>, { info }: IssuedKey): Methods {
  const { keyId } = info;
  return {
    mark: () => store.mark(keyId, { kind: 'suspend', at: 5, by: null, reason: null }),
    'mark of none': () => store.mark(NOWHERE, { kind: 'resume', at: 5 }),
    touch: () => store.touch([{ keyId, lastUsedAt: 5, scopesUsed: {} }]),
  };
}

async function expectRefused(methods: Methods): Promise<void> {
  const told = 'This server is a replica: connect to the primary';
  for (const [name, method] of Object.entries(methods)) {
    await expect(async () => method(), name).rejects.toThrow(told);
  }
}

/** Every method that reads still works. */
async function expectRead(store: Required<KeyStore>, issued: IssuedKey): Promise<void> {
  const { keyId } = issued.info;
  for (const [name, method] of Object.entries(readsOf(store, issued))) {
    await expect(method(), name).resolves.toBeDefined();
  }
  expect(await store.findById(keyId)).toMatchObject({ keyId });
  expect((await store.listAll({ after: null, limit: 5 })).items).toHaveLength(1);
}

/** Makes a replica of a server, and waits until it has all data. */
async function startReplica(of: OwnRedis): Promise<OwnRedis> {
  const replica = await startRedis('--replicaof', '127.0.0.1', String(of.port));
  onTestFinished(replica.remove);
  const hasAll = async () =>
    String(await replica.ask('INFO', 'replication')).includes('master_link_status:up');
  await eventually(hasAll, 'it replicates');
  return replica;
}

describeWithRedis.each(KINDS)('a primary that was demoted, with %s,', (kind) => {
  // It accepted revoked keys until it was restarted. Later it reported, by id and in listings, that
  // a key that it had not received did not exist.
  test('rejects every method at once', async () => {
    // Replication begins at once.
    const { own, store, keyring, issued } = await start(kind, '--repl-diskless-sync-delay', '0');
    const replica = await startReplica(own);
    await replica.ask('REPLICAOF', 'NO', 'ONE');
    await own.ask('REPLICAOF', '127.0.0.1', String(replica.port));
    await expectRefused(readsOf(store, issued));
    await expectRefused(writesOf(store, issued));
    expect(await causeOf(() => keyring.verify(issued.key))).toContain('READONLY');
    expect(await causeOf(() => issue(keyring))).toContain('READONLY');
    await own.ask('REPLICAOF', 'NO', 'ONE');
    await keyring.verify(issued.key);
  });

  // A write without effect was not rejected there, so the server was taken for a primary.
  test('rejects even if replicas may be written to', async () => {
    const { own, store, issued } = await start(kind, '--replica-read-only', 'no');
    await own.ask('REPLICAOF', '127.0.0.1', '1');
    await expectRefused(readsOf(store, issued));
    await expectRefused(writesOf(store, issued));
  });
});

const LOST =
  'this database does not have the data of keyscope. Was SELECT called on a shared client, or ' +
  'the server flushed? Give keyscope its own client; after a flush, call migrate';

// Every key was unknown, and a new one was written where nobody would find it.
describeWithRedis.each(KINDS)('a database without the data of the store, with %s,', (kind) => {
  async function expectLost(started: Awaited<ReturnType<typeof start>>): Promise<void> {
    const { client, store, keyring, issued } = started;
    const methods = { ...readsOf(store, issued), ...writesOf(store, issued) };
    for (const [name, method] of Object.entries(methods)) {
      await expect(async () => method(), name).rejects.toThrow(LOST);
    }
    expect(await causeOf(() => keyring.verify(issued.key))).toContain(LOST);
    expect(await causeOf(() => keyring.revoke(issued.info.keyId, AUTHORITY))).toContain(LOST);
    expect(await causeOf(() => issue(keyring))).toContain(LOST);
    expect(await client.keys('*:rec:*')).toEqual([]);
  }

  test('because a shared client sent SELECT, rejects every method', async () => {
    const started = await start(kind);
    await started.client.select(1);
    await expectLost(started);
    await started.client.select(0);
    await started.keyring.verify(started.issued.key);
    await expectRead(started.store, started.issued);
  });

  test('because it was flushed, rejects every method until migrate', async () => {
    const started = await start(kind);
    const { own, client, store, keyring, issued } = started;
    await own.ask('FLUSHDB');
    await expectLost(started);
    await migrate(client);
    expect(await outcome(() => keyring.verify(issued.key))).toBe('invalid_token unknown_key');
    expect(await store.listAll({ after: null, limit: 5 })).toMatchObject({ items: [] });
    await keyring.verify((await issue(keyring)).key);
  });

  // A server of a cluster rejects a script that reads the schema of another slot, too.
  test('is not meant by a cluster of one server', async () => {
    const own = await startRedis('--cluster-enabled', 'yes');
    onTestFinished(own.remove);
    await own.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const isUp = async () => String(await own.ask('CLUSTER', 'INFO')).includes('cluster_state:ok');
    await eventually(isUp, 'the cluster is up');
    const { client, close } = await connectTo(kind, own.url);
    onTestFinished(() => close());
    const { keyring, store } = setUp({ store: redisStore(client) });
    await keyring.verify((await issue(keyring)).key);
    expect(await store.findById(NOWHERE)).toBeNull();
  });
});

describeWithRedis('a database without the data of the store', () => {
  test('is noticed with a keyPrefix of ioredis', async () => {
    const own = await startRedis();
    const { client, close } = ioRedis(own.url, { keyPrefix: 'service:' });
    onTestFinished(async () => {
      close();
      await own.remove();
    });
    const store = redisStore(client);
    expect(await store.findById(NOWHERE)).toBeNull();
    await client.select(1);
    await expect(async () => store.findById(NOWHERE)).rejects.toThrow(LOST);
  });
});

describeWithRedis.each(KINDS)('a primary that evicts keys since the start, with %s,', (kind) => {
  // Only the start asked for the policy. An evicted key was unknown, and could not be revoked.
  test('does not report that a key does not exist', async () => {
    const { own, store, keyring, issued } = await start(kind);
    await own.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random');
    const told = 'Set maxmemory-policy to noeviction, or to one of volatile-*';
    const methods = Object.entries({ ...readsOf(store, issued), ...writesOf(store, issued) });
    for (const [name, method] of methods.filter(([each]) => each.endsWith('of none'))) {
      await expect(async () => method(), name).rejects.toThrow(told);
    }
    await keyring.verify(issued.key);
    // Each command that needs memory evicts all that there is.
    await own.ask('CONFIG', 'SET', 'maxmemory', '1');
    await own.ask('SET', 'other', '').catch(() => {});
    const revoke = () => keyring.revoke(issued.info.keyId, AUTHORITY);
    expect(await causeOf(() => keyring.verify(issued.key))).toContain(told);
    expect(await causeOf(revoke)).toContain(told);
    await own.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(await causeOf(() => keyring.verify(issued.key))).toContain(LOST);
  });
});

describeWithRedis.each(KINDS)('a primary that may not write, with %s,', (kind) => {
  const revoke = ({ keyring, issued }: Awaited<ReturnType<typeof start>>) =>
    keyring.revoke(issued.info.keyId, AUTHORITY);

  test('because replicas are missing, still serves reads', async () => {
    const started = await start(kind);
    await started.own.ask('CONFIG', 'SET', 'min-replicas-to-write', '1');
    expect(await causeOf(() => issue(started.keyring))).toContain('NOREPLICAS');
    expect(await causeOf(() => revoke(started))).toContain('NOREPLICAS');
    await started.keyring.verify(started.issued.key);
    await expectRead(started.store, started.issued);
  });

  test('because memory is full, still serves reads, and keys still end', async () => {
    const started = await start(kind, '--maxmemory-policy', 'noeviction');
    await started.own.ask('CONFIG', 'SET', 'maxmemory', '1');
    expect(await causeOf(() => issue(started.keyring))).toContain('OOM');
    await started.keyring.verify(started.issued.key);
    await expectRead(started.store, started.issued);
    await revoke(started);
    const verify = () => started.keyring.verify(started.issued.key);
    expect(await outcome(verify)).toBe('invalid_token revoked');
  });

  test('because the disk fails, still serves reads', async () => {
    const started = await start(kind, '--save', '3600 1');
    const { own } = started;
    const dir = (await own.ask('CONFIG', 'GET', 'dir')) as string[];
    rmSync(dir[1] ?? '', { recursive: true });
    await own.ask('BGSAVE');
    const hasFailed = async () =>
      String(await own.ask('INFO', 'persistence')).includes('rdb_last_bgsave_status:err');
    await eventually(hasFailed, 'it could not be saved');
    expect(await causeOf(() => issue(started.keyring))).toContain('MISCONF');
    expect(await causeOf(() => revoke(started))).toContain('MISCONF');
    await started.keyring.verify(started.issued.key);
    await expectRead(started.store, started.issued);
  });

  // A script that may write waits until the pause is over, and so did each look-up.
  test('while a failover is prepared, still serves reads', async () => {
    const { own, store, issued } = await start(kind);
    await own.ask('CLIENT', 'PAUSE', '60000', 'WRITE');
    await expectRead(store, issued);
    await own.ask('CLIENT', 'UNPAUSE');
  });

  test('serves no reads if an ACL forbids asking for its role', async () => {
    const { own, keyring, issued } = await start(kind);
    await own.ask('ACL', 'SETUSER', 'default', '-info');
    expect(await causeOf(() => keyring.verify(issued.key))).toContain("can't run this command");
  });
});
