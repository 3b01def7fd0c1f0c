/** The MCP example compared with REST: the same operations, rows and refusals. */
import { afterEach, describe, expect, test } from 'vitest';
import { tools } from '../../examples/mcp/tools.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { connect1, connect2, type Result } from '../support/mcp-clients.ts';
import { SERVERS, type Started, start, stopAll } from '../support/mcp-servers.ts';
import { A, B, named } from './http-harness.ts';

afterEach(stopAll);

/** A server and a client of each generation. */
const GENERATIONS = [
  [SERVERS['2.x'], connect2],
  [SERVERS['1.x'], connect1],
] as const;

/** The answer of a tool, as text. */
function textOf({ content }: Result): string {
  return content[0]?.text ?? '';
}

describe('the table of tools', () => {
  test('has one for each operation, with its name in the policy', () => {
    const names = tools.map(({ name }) => name);
    expect(policy.unmapped(names)).toEqual([]);
    expect(names).toEqual(policy.operations);
  });

  test('has no argument twice, and none with the name that the guard reads', () => {
    for (const { path, query, body } of routes) {
      const names = [
        'entity_uuid',
        ...(path.includes(':id') ? ['id'] : []),
        ...Object.keys(query.shape),
        ...Object.keys(body?.shape ?? {}),
      ];
      expect(names).toEqual([...new Set(names)]);
    }
  });
});

/** The row to request from a route with an id, by the resource in its path. */
const ROWS: Readonly<Record<string, string>> = {
  threats: 'threat',
  interactions: 'interaction',
  decoys: 'decoy',
  canaries: 'canary',
  users: 'user',
};

/** The id for a route with an id. */
function idFor(platform: Started, path: string): string | null {
  if (!path.includes(':id')) return null;
  const [, , resource = ''] = path.split('/');
  return named(platform, ROWS[resource] ?? '');
}

async function getFromRest(platform: Started, path: string): Promise<unknown> {
  const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
  const response = await fetch(platform.url.replace('/mcp', path), { headers });
  return response.json();
}

describe('the platform over MCP', () => {
  test('reads the same as REST', async () => {
    const platform = await start(SERVERS['2.x']);
    const client = await connect2(platform.url, named(platform, 'full'));
    for (const { path, operation } of routes.filter(({ method }) => method === 'GET')) {
      const id = idFor(platform, path);
      if (id !== null) {
        const body = await getFromRest(platform, path.replace(':id', id));
        const { structuredContent } = await client.call(operation, { id });
        expect({ operation, body: structuredContent }).toEqual({ operation, body });
        continue;
      }
      const own = await client.call(operation, {});
      const ownBody = await getFromRest(platform, path);
      expect({ operation, body: own.structuredContent }).toEqual({ operation, body: ownBody });
      const other = await client.call(operation, { entity_uuid: B });
      const otherBody = await getFromRest(platform, `${path}?entity_uuid=${B}`);
      expect({ operation, body: other.structuredContent }).toEqual({ operation, body: otherBody });
    }
  });

  test('pages through a list', async () => {
    const platform = await start(SERVERS['2.x']);
    const client = await connect2(platform.url, named(platform, 'full'));
    const first = await client.call('listThreats', { limit: 3 });
    const after = first.structuredContent?.next;
    const second = await client.call('listThreats', { limit: 100, after });
    const items = [first, second].flatMap(({ structuredContent }) => structuredContent?.items);
    const all = platform.domain.listThreats(A, { limit: 100, after: null });
    expect(items).toEqual(all.items);
  });

  test('writes rows that REST reads', async () => {
    const platform = await start(SERVERS['2.x']);
    const { domain } = platform;
    const client = await connect2(platform.url, named(platform, 'full'));
    const threat = named(platform, 'threat');
    await client.call('updateThreat', { id: threat, status: 'resolved', notes: 'seen' });
    expect(domain.readThreat(A, threat)).toMatchObject({ status: 'resolved', notes: 'seen' });

    const created = await client.call('createCanary', { name: 'c', kind: 'dns', entity_uuid: B });
    const id = String(created.structuredContent?.id);
    expect(domain.readCanary(B, id)).toMatchObject({ name: 'c', notes: '' });
    expect(domain.readCanary(A, id)).toBeNull();
    const canary = named(platform, 'canary');
    await client.call('updateCanary', { id: canary, notes: 'n' });
    expect(domain.readCanary(A, canary)).toMatchObject({ notes: 'n' });

    const user = named(platform, 'user');
    const deleted = await client.call('deleteUser', { id: user });
    expect(deleted.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(domain.readUser(A, user)).toBeNull();
    await client.call('createUser', { email: 'New@example.com', name: 'N', role: 'viewer' });
    expect(domain.listUsers(A, { limit: 100, after: null }).items).toContainEqual(
      expect.objectContaining({ email: 'new@example.com' }),
    );
    expect(platform.errors).toEqual([]);
  });

  test('refuses changes of a decommissioned decoy like REST', async () => {
    const platform = await start(SERVERS['2.x']);
    const client = await connect2(platform.url, named(platform, 'full'));
    const id = named(platform, 'decoy');
    await client.call('updateDecoy', { id });
    expect(platform.domain.readDecoy(A, id)).not.toMatchObject({ update_requested_at: null });
    await client.call('decommissionDecoy', { id });
    await client.call('decommissionCanary', { id: named(platform, 'canary') });
    const conflict = await client.call('updateDecoy', { id });
    expect(conflict.isError).toBe(true);
    expect(JSON.parse(textOf(conflict))).toMatchObject({ status: 409 });
    expect(platform.errors).toEqual([]);
  });

  test('does not change REST, and serves no other path', async () => {
    const platform = await start(SERVERS['2.x']);
    const headers = { Authorization: `Bearer ${named(platform, 'bare')}` };
    const statusOf = async (path: string): Promise<number> => {
      const response = await fetch(platform.url.replace('/mcp', path), { headers });
      return response.status;
    };
    expect(await statusOf('/v1/me')).toBe(200);
    const others = ['/mcp/', '/mcp/x', '/v1/mcp', '/MCP', '/.well-known/other', '/.well-known'];
    for (const path of others) expect(await statusOf(path)).toBe(404);
    expect(await statusOf('/mcp')).toBe(405);
  });
});

describe('a tool on both generations', () => {
  test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ['readThreat', {}, /id/],
    ['readThreat', { id: 'nothing' }, /There is nothing with this id/],
    ['readThreat', { id: 'threatB' }, /There is nothing with this id/],
    ['listThreats', { limit: 0 }, /limit/],
    ['listThreats', { limit: 101 }, /limit/],
    ['listThreats', { after: 'x' }, /after/],
    ['listThreats', { id: 'x' }, /id|additional|unknown/i],
    ['updateThreat', { id: 'threat' }, /at least one field/],
    ['updateThreat', { id: 'threat', status: 'gone' }, /status/],
    ['updateThreat', { id: 'threat', owner: 'x' }, /unknown|additional/i],
    ['createCanary', { kind: 'dns' }, /name/],
    ['whoami', { note: 'x' }, /unknown|additional/i],
  ])('says what is wrong: %s with %j', async (name, args, expected) => {
    for (const [create, connect] of GENERATIONS) {
      const platform = await start(create);
      const filled: Record<string, unknown> = {};
      for (const [field, value] of Object.entries(args)) {
        filled[field] = platform.values[String(value)] ?? value;
      }
      const client = await connect(platform.url, named(platform, 'full'));
      const result = await client.call(name, filled);
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(expected);
      expect(platform.errors).toEqual([]);
    }
  });

  test('reports an error of the service, and does not reveal it to the client', async () => {
    for (const [create, connect] of GENERATIONS) {
      const platform = await start(create);
      const client = await connect(platform.url, named(platform, 'full'));
      platform.db.close();
      const result = await client.call('listThreats');
      expect(result.isError).toBe(true);
      expect(JSON.parse(textOf(result))).toEqual({
        type: 'about:blank',
        title: 'Internal Server Error',
        status: 500,
        detail: 'Something went wrong.',
      });
      expect(platform.errors).toMatchObject([{ message: 'database is not open' }]);
    }
  });
});
