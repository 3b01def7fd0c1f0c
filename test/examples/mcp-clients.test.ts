/** The platform over MCP: clients of both generations of the SDK on servers of both. */
import { causeOf, toMe } from 'keyscope';
import { afterEach, describe, expect, test } from 'vitest';
import { policy } from '../../examples/platform/service/policy.ts';
import { type Connection, connect1, connect2, failureOf, PAIRS } from '../support/mcp-clients.ts';
import { SERVERS, type Started, start, stopAll } from '../support/mcp-servers.ts';
import { A, B, C, named } from './http-harness.ts';

afterEach(stopAll);

const UNAUTHORIZED = /401|UnauthorizedError/;

describe.each(PAIRS)('a server of %s and a client of %s', (generation, _client, connect) => {
  const open = () => start(SERVERS[generation]);

  test('list and call the tools that the key may use', async () => {
    const platform = await open();
    const reader = await connect(platform.url, named(platform, 'reader'));
    expect(await reader.list()).toEqual(['whoami', 'listThreats', 'readThreat']);
    const { structuredContent, content } = await reader.call('listThreats', { limit: 2 });
    const { items } = platform.domain.listThreats(A, { limit: 2, after: null });
    expect(structuredContent?.items).toEqual(items);
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
    const full = await connect(platform.url, named(platform, 'full'));
    expect(await full.list()).toEqual(policy.operations);
    const bare = await connect(platform.url, named(platform, 'bare'));
    expect(await bare.list()).toEqual(['whoami']);
    expect(platform.errors).toEqual([]);
  });

  test('return the same for whoami as for /me', async () => {
    const platform = await open();
    const key = named(platform, 'threats:write');
    const client = await connect(platform.url, key);
    const { structuredContent } = await client.call('whoami');
    expect(structuredContent).toEqual(toMe(await platform.keyring.verify(key)));
  });

  test('do not connect without a valid key', async () => {
    const platform = await open();
    expect(await failureOf(connect(platform.url, null))).toMatch(UNAUTHORIZED);
    for (const name of ['unknown', 'revoked', 'expired', 'retired', 'tampered']) {
      const failure = await failureOf(connect(platform.url, named(platform, name)));
      expect(failure).toMatch(UNAUTHORIZED);
    }
  });

  test('refuse a call without its scope, name the scope, and continue', async () => {
    const platform = await open();
    const client = await connect(platform.url, named(platform, 'reader'));
    expect(await failureOf(client.call('listUsers'))).toContain('users:read');
    const entity = await failureOf(client.call('listThreats', { entity_uuid: C }));
    expect(entity).toContain('entity_forbidden');
    expect(entity).toContain('403');
    const { structuredContent } = await client.call('listThreats', { entity_uuid: B });
    const { items } = platform.domain.listThreats(B, { limit: 20, after: null });
    expect(structuredContent?.items).toEqual(items);
  });

  test('refuse the second of two calls if the key is revoked between them', async () => {
    const platform = await open();
    const client = await connect(platform.url, named(platform, 'reader'));
    await client.call('whoami');
    await platform.keyring.revoke(named(platform, 'reader.id'), { entityId: A });
    expect(await failureOf(client.call('whoami'))).toMatch(UNAUTHORIZED);
    expect(await failureOf(client.list())).toMatch(UNAUTHORIZED);
  });

  test('answer 503 if the store is broken, without blaming the key', async () => {
    const platform = await open();
    const failure = await failureOf(connect(platform.url, named(platform, 'outage')));
    expect(failure).toMatch(/503|Service Unavailable/);
    expect(failure).not.toMatch(/invalid_token|database/);
    expect(platform.errors.map(causeOf)).toMatchObject([{ message: 'the database is away' }]);
  });
});

// ── Many at once ────────────────────

const SCOPES = ['threats:read', 'decoys:read', 'canaries:read', 'users:read'] as const;

interface Caller {
  readonly entityId: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly client: Connection;
}

/** The first scope, and the others by the bits of the number. */
function scopesOf(number: number): (typeof SCOPES)[number][] {
  return SCOPES.filter((_, bit) => bit === 0 || ((number >> bit) & 1) === 1);
}

async function createCaller(
  platform: Started,
  index: number,
  connect: typeof connect1,
): Promise<Caller> {
  const entityId = [A, B, C][index % 3] ?? A;
  const scopes = scopesOf(index + 1);
  const common = { expiresAt: 'never', justification: 'tests' } as const;
  const input = { name: `n${index}`, scopes, ...common };
  const { key, info } = await platform.keyring.issue(input, { entityId, scopes: 'all' });
  return { entityId, keyId: info.keyId, scopes, client: await connect(platform.url, key) };
}

/** A call of one of three kinds, and the expected result. */
async function checkCall({ domain }: Started, caller: Caller, kind: number): Promise<void> {
  const { entityId, keyId, scopes, client } = caller;
  if (kind === 0) {
    const allowed = policy.operations.filter((name) =>
      policy.requires(name).every((scope) => scopes.includes(scope)),
    );
    expect(await client.list()).toEqual(allowed);
  } else if (kind === 1) {
    const { structuredContent } = await client.call('whoami');
    expect(structuredContent).toMatchObject({
      entity_uuid: entityId,
      key_id: keyId,
      scopes,
      accessible_entities: [entityId],
    });
  } else {
    const { structuredContent } = await client.call('listThreats');
    const { items } = domain.listThreats(entityId, { limit: 20, after: null });
    expect(structuredContent).toMatchObject({ items });
  }
}

test.each([
  ['2.x', connect2],
  ['1.x', connect1],
] as const)(
  'each of 20 callers of %s sees its own tools and rows in 200 calls at once',
  async (generation, connect) => {
    const platform = await start(SERVERS[generation]);
    const callers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => createCaller(platform, index, connect)),
    );
    const calls = Array.from({ length: 200 }, async (_, index) => {
      const caller = callers[(index * 7) % callers.length];
      if (caller === undefined) throw new Error('no such caller');
      await checkCall(platform, caller, index % 3);
    });
    await Promise.all(calls);
    expect(platform.errors).toEqual([]);
  },
);
