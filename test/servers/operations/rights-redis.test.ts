/** The rights in Redis that docs/operations.md prints: enough for a store, and no more. */
import { execFileSync } from 'node:child_process';
import { purgeEnded, redisInvalidation, redisStore } from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { blocksUnder } from '../../support/pages.ts';
import { RECORD } from '../../support/records.ts';
import { connectTo, ioRedis, KINDS, type Kind } from '../../support/redis-clients.ts';
import { describeWithRedis, type OwnRedis, startRedis } from '../../support/redis-servers.ts';
import { useEverything } from '../../support/rights.ts';

const [GRANT = ''] = blocksUnder('docs/operations.md', '### Redis', 'sh');
const COMMANDS = [...GRANT.matchAll(/ \+(\w+)/g)].map(([, name = '']) => name);

function addressIn({ url }: OwnRedis): string {
  return url.replace('//', '//keyscope:change%20me@');
}

describeWithRedis('the rights in Redis', () => {
  let own: OwnRedis;
  beforeAll(async () => {
    own = await startRedis();
    const line = GRANT.replace('redis-cli', `redis-cli -p ${own.port}`);
    expect(execFileSync('sh', ['-c', line], { encoding: 'utf8', timeout: 60_000 }).trim()).toBe(
      'OK',
    );
  });
  afterAll(() => own.remove());

  const open = (kind: Kind) => connectTo(kind, addressIn(own));

  describe.each(KINDS)('with %s', (kind) => {
    let opened: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      opened = await open(kind);
    });
    afterAll(() => void opened.close());

    storeContract(test, () => redisStore(opened.client));

    /** Every operation that a service uses, and a purge. */
    async function everything(): Promise<void> {
      const store = redisStore(opened.client);
      await useEverything(store);
      const keyId = crypto.randomUUID();
      const digest = `s1$${keyId}`;
      await store.insert({ ...RECORD, keyId, rootKeyId: keyId, digest, expiresAt: 1 });
      await purgeEnded(opened.client, { endedBefore: new Date(2) });
      await hear(keyId);
    }

    /** Through the channel, on a separate connection. */
    async function hear(keyId: string): Promise<void> {
      const { client: subscriber, close } = await open(kind);
      const heard: string[] = [];
      try {
        const channel = redisInvalidation({ publisher: opened.client, subscriber });
        await channel.subscribe((each) => heard.push(each));
        await channel.publish(keyId);
        await vi.waitFor(() => expect(heard).toContain(keyId));
      } finally {
        close();
      }
    }

    test('are all needed', async () => {
      await everything();
      for (const name of COMMANDS) {
        await own.ask('ACL', 'SETUSER', 'keyscope', `-${name}`);
        // A missing right to read usage lost all of it, and nothing reported that.
        const told = /NOPERM|can't run this command/;
        await expect(everything(), name).rejects.toThrow(told);
        await own.ask('ACL', 'SETUSER', 'keyscope', `+${name}`);
      }
      await everything();
    });
  });

  test.each([
    ['GET', 'another'],
    ['FLUSHALL'],
    ['KEYS', '*'],
    ['CONFIG', 'GET', '*'],
    ['PUBLISH', 'another', 'x'],
  ])('do not let the service do this: %s %s', async (name, ...args) => {
    const { client, close } = ioRedis(addressIn(own));
    await expect(client.call(name, ...args)).rejects.toThrow('NOPERM');
    close();
  });
});
