/** Checks a guarded route of the examples with and without a key. */
import { expect } from 'vitest';

export const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
export const FOREIGN = 'cccccccc-0000-4000-8000-00000000000c';

/** The query for an entity that no key can address. */
export const QUERY = `entity_uuid=${FOREIGN}`;

export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** `foreign`: the query that asks for {@link FOREIGN}. */
export async function expectGuarded(ask: Ask, key: string, foreign: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}` };
  expect((await ask('/threats')).status).toBe(401);
  const response = await ask('/threats', { headers });
  expect({ status: response.status, text: await response.text() }).toEqual({
    status: 200,
    text: expect.stringContaining(`{"threats":[],"entity":"${OWN}"}`),
  });
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  expect((await ask(`/threats?${foreign}`, { headers })).status).toBe(403);
}
