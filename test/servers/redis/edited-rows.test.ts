import { digestKey, type KeyStore } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { afterAll, beforeAll } from 'vitest';
import {
  ATTACKERS_DIGESTS,
  BAD_JSON,
  type Damages,
  type Edits,
  editedRows,
} from '../../support/edited-rows.ts';
import { OTHER, OWN, PEPPER } from '../../support/keyring.ts';
import { deleteUnder, ioRedis } from '../../support/redis-clients.ts';
import { describeOn, SERVERS } from '../../support/servers.ts';

function json(value: unknown): string {
  return JSON.stringify(value);
}

/** Values that are neither a time nor valid in any field of a key. */
const GARBAGE = [
  'none',
  '',
  '[',
  '{',
  '"text"',
  '"1"',
  '[]',
  '{}',
  'true',
  '1.5',
  '1152921504606846976',
  'NaN',
  '0x10',
  '\ud800',
];

/** As they would be in the hash. */
const EDITS: Edits = {
  format: ['2', '0', '-1', '"1"', ...GARBAGE],
  keyId: [json(OTHER), '""', '"ABC"', '5', ...GARBAGE],
  prefix: ['"other"', '""', '"ACME"', ...GARBAGE],
  hint: ['"AAAA"', '""', ...GARBAGE],
  name: ['"other"', '""', '"CI"', ...GARBAGE],
  digest: [...ATTACKERS_DIGESTS.map(json), '""', '"h1.p1$ab"', ...GARBAGE],
  seal: ['""', json('a'.repeat(64)), '5', ...GARBAGE],
  entityId: [json(OTHER), '""', json(OWN.toUpperCase()), ...GARBAGE],
  accessibleEntities: [json([OWN, OTHER]), '[]', json([OTHER]), '[5]', '[[]]', '{}', ...GARBAGE],
  scopes: [
    '["threats:read","threats:write"]',
    '["threats:*"]',
    '["*:*"]',
    '[]',
    '["threats:read","threats:read"]',
    '[null]',
    '["Threats:read"]',
    '{"0":"threats:read"}',
    ...GARBAGE,
  ],
  justification: ['"because"', '""', ...GARBAGE],
  metadata: ['{"team":"blue"}', '{"a":5}', '{"__proto__":"x"}', '[]', ...GARBAGE],
  createdAt: ['1', '0', '-1', '1152921504606846976', '1e400', '"1700000000000"', ...GARBAGE],
  expiresAt: ['null', '0', '1800000000001', '1152921504606846976', '9e15', ...GARBAGE],
  createdBy: ['"somebody"', '""', ...GARBAGE],
  rotatedFrom: [json(OTHER), '""', ...GARBAGE],
  rootKeyId: [json(OTHER), '""', ...GARBAGE],
  issuedUnder: [`"${OTHER}"`, ...GARBAGE],
  trust: ['"{}"', '"ab"', ...GARBAGE],
};

const DAMAGES: Damages = {
  scopes: BAD_JSON,
  accessibleEntities: BAD_JSON,
  metadata: BAD_JSON,
  withdrawn: BAD_JSON,
  scopesUsed: GARBAGE,
};

/** The fields of the hash: each used scope has one. */
function fieldsOf(field: string): readonly string[] {
  return field === 'scopesUsed' ? ['used:threats:read', 'used:a:b'] : [field];
}

const onRedis = await describeOn('redis');

onRedis('rows edited by hand', { timeout: 120_000 }, () => {
  const base = `keyscope-test-${crypto.randomUUID()}:`;
  const { client, close } = ioRedis(SERVERS.redis, { lazyConnect: true });
  let prefix: string;
  let store: KeyStore;

  /** A new namespace is faster than emptying an old one. */
  function useFreshPrefix(): void {
    prefix = `${base}${crypto.randomUUID()}:`;
    store = redisStore(client, { prefix });
  }

  beforeAll(useFreshPrefix);
  afterAll(async () => {
    close();
    await deleteUnder(SERVERS.redis, base);
  });

  editedRows({
    store: () => store,
    async edit({ key }, field, to) {
      const hash = `${prefix}rec:${digestKey(key, PEPPER)}`;
      for (const name of fieldsOf(field)) await client.hset(hash, name, to);
    },
    clear: useFreshPrefix,
    edits: EDITS,
    damages: DAMAGES,
    badTimes: GARBAGE,
    noMark: 'null',
  });
});
