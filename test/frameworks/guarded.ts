/** Checks a guarded route of the examples, with a key and without one. */
import { expect } from 'vitest';

export const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
export const FOREIGN = 'cccccccc-0000-4000-8000-00000000000c';

/** A query for an entity that no key can address. */
export const QUERY = `entity_uuid=${FOREIGN}`;

export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** `foreign`: the query that asks for {@link FOREIGN}. */
export async function expectGuarded(ask: Ask, key: string, foreign: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}` };
  expect((await ask('/projects')).status).toBe(401);
  const response = await ask('/projects', { headers });
  expect({ status: response.status, text: await response.text() }).toEqual({
    status: 200,
    text: expect.stringContaining(`{"projects":[],"entity":"${OWN}"}`),
  });
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  expect((await ask(`/projects?${foreign}`, { headers })).status).toBe(403);
}
