/** Ids of entities that are not UUIDs, in the names of Redis keys and in entries. */
import { purgeEnded, redisStore } from 'keyscope/stores/redis';
import { expect, test } from 'vitest';
import { HOSTILE_IDS } from '../../support/entity-ids.ts';
import { type EntityPlace, entitySuite, expectApart } from '../../support/entity-suite.ts';
import { OWN } from '../../support/keyring.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, keysOf, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

describeWithRedis.each(KINDS)('ids that are not UUIDs, with %s', (kind) => {
  const suite = useRedis();

  async function make(): Promise<EntityPlace> {
    await suite.own.ask('FLUSHALL');
    const client = suite.client(kind);
    return {
      store: redisStore(client),
      purge: (endedBefore) => purgeEnded(client, { endedBefore }),
    };
  }

  entitySuite(make);

  test('are compared byte for byte', async () => {
    const { store } = await make();
    await expectApart(store, store.insert);
  });

  // The store refused such an id, whose entries it would have split elsewhere.
  test('leave no Redis key once their keys are purged', async () => {
    const { store, purge } = await make();
    for (const entityId of HOSTILE_IDS) {
      const accessibleEntities = [entityId, OWN, ...HOSTILE_IDS.filter((id) => id !== entityId)];
      const ended = { revokedAt: 5, changedAt: 5, createdAt: 1 };
      await store.insert(unsealed({ entityId, accessibleEntities, ...ended }).record);
    }
    expect(await purge?.(new Date(6))).toHaveLength(HOSTILE_IDS.length);
    expect(await keysOf(suite.own, '*')).toEqual(['keyscope:schema']);
  });
});
