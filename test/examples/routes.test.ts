/** The inputs of the routes: pages, limits, cursors and ids. */
import { describe, expect, test } from 'vitest';
import { createApp } from '../../examples/hono/server.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { A, B, createPlatform, named } from './http-harness.ts';

describe('pages', () => {
  const EACH = 57;

  async function service() {
    const platform = await createPlatform();
    // All at the same time, so order and cursor must use the id.
    for (let i = 0; i < EACH; i++)
      platform.domain.createCanary(B, { name: `c${i}`, kind: 'dns', notes: '' });
    const app = createApp(platform);
    const get = async (query: string) => {
      const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
      const response = await app.request(`/v1/canaries?entity_uuid=${B}&${query}`, { headers });
      return (await response.json()) as {
        items: { id: string; created_at: string }[];
        next: string | null;
      };
    };
    return { platform, get };
  }

  test.each([1, 7, 19, 60, 100])('of %i contain every row once, newest first', async (limit) => {
    const { get } = await service();
    const seen: string[] = [];
    let next: string | null = null;
    do {
      const page = await get(`limit=${limit}${next === null ? '' : `&after=${next}`}`);
      expect(page.items.length).toBeLessThanOrEqual(limit);
      seen.push(...page.items.map(({ created_at, id }) => `${created_at} ${id}`));
      next = page.next;
    } while (next !== null);
    expect(seen).toHaveLength(EACH + 3);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  });

  test('neither repeat nor skip a row while rows are added', async () => {
    const { platform, get } = await service();
    const first = await get('limit=30');
    platform.domain.createCanary(B, { name: 'late', kind: 'dns', notes: '' });
    const second = await get(`limit=100&after=${first.next}`);
    const ids = [...first.items, ...second.items].map(({ id }) => id);
    expect(new Set(ids).size).toBe(EACH + 3);
    expect(ids).toHaveLength(EACH + 3);
  });

  test('have 20 rows by default, and the last one has no successor', async () => {
    const { get } = await service();
    expect((await get('')).items).toHaveLength(20);
    expect((await get(`limit=${EACH + 3}`)).next).toBeNull();
  });

  test.each(['0', '101', '05', '+5', '5.0', '1e1', '', ' 5', '٥'])(
    'refuse %j as a limit',
    async (limit) => {
      const platform = await createPlatform();
      const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
      const response = await createApp(platform).request(
        `/v1/canaries?limit=${encodeURIComponent(limit)}`,
        { headers },
      );
      const { detail } = (await response.json()) as { detail: string };
      expect([response.status, detail]).toEqual([400, 'query.limit: a whole number from 1 to 100']);
    },
  );

  test("do not show another entity's rows with a foreign cursor", async () => {
    const { platform, get } = await service();
    const { next } = await get('limit=1');
    const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
    const other = await createApp(platform).request(`/v1/canaries?limit=100&after=${next}`, {
      headers,
    });
    const own = platform.domain
      .listCanaries(A, { limit: 100, after: null })
      .items.map(({ id }) => id);
    const { items } = (await other.json()) as { items: { id: string }[] };
    expect(items.filter(({ id }) => !own.includes(id))).toEqual([]);
  });
});

test('a malformed id is refused before any look-up', async () => {
  const platform = await createPlatform();
  const { domain, keyring } = platform;
  const id = named(platform, 'threat');
  const principal = await keyring.verify(named(platform, 'full'));
  const read = routes.find(({ operation }) => operation === 'readThreat');
  const call = { domain, principal, entityId: A, query: {}, body: undefined };
  expect(read?.handle({ ...call, id })).toMatchObject({ id });
  for (const none of [undefined, null, 7, [id]]) {
    expect(() => read?.handle({ ...call, id: none })).toThrow('id: a text');
  }
});
