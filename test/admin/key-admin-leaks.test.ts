/** Only the answer that shows a key contains it: no other answer, no error and no event. */
import type { KeyringEvent } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, test } from 'vitest';
import { BODY, GRANT, get, post, setUpAdmin } from '../support/admin.ts';
import { canariesIn, canary, keyCanaries, rowCanaries } from '../support/canary.ts';
import { HOUR, PEPPER, rowOf } from '../support/keyring.ts';

/** Everything that a client gets. */
async function everythingOf(response: Response): Promise<string> {
  return JSON.stringify([response.status, [...response.headers], await response.text()]);
}

test('only two answers have a key, and no answer has a digest, a seal or a pepper', async () => {
  const store = memoryStore();
  const { admin, keyring, events, errors } = setUpAdmin({}, store);
  const first = await keyring.issue(BODY, GRANT);
  const rotated = await keyring.rotate(first.info.keyId, { overlapMs: HOUR }, GRANT);
  const canaries = [
    ...keyCanaries('first', first.key),
    ...keyCanaries('rotated', rotated.key),
    ...rowCanaries('first', await rowOf(store, first.info.keyId)),
    ...rowCanaries('rotated', await rowOf(store, rotated.info.keyId)),
    canary('pepper', PEPPER.secret),
  ];
  const { key } = first;
  const keyId = rotated.info.keyId;
  const path = `/keys/${keyId}`;
  // A key pasted into names, reasons, paths, queries, wrong fields, and as the whole body.
  const requests = [
    get('/keys'),
    get(path),
    get(`/keys/${key}`),
    get(`/keys?after=${key}`),
    get(`/keys?${key}=${key}`),
    get(`/${key}`),
    post('/keys', { ...BODY, name: key }),
    post('/keys', { ...BODY, [key]: key }),
    post('/keys', { ...BODY, scopes: [key] }),
    post('/keys', { ...BODY, scopes: ['users:read'], justification: key }),
    post('/keys', { ...BODY, expiresAt: key }),
    post('/keys', { ...BODY, accessibleEntities: [key] }),
    post('/keys', { ...BODY, metadata: { [key]: 7 } }),
    post('/keys/keyless', { ...BODY, trust: { issuer: key, claims: { [key]: key } } }),
    post('/keys/keyless', { ...BODY, trust: { issuer: 'https://a.example', claims: { a: key } } }),
    post('/keys', key),
    post('/keys', JSON.stringify(key)),
    post('/keys', BODY, { 'content-type': key }),
    post('/keys', BODY, { origin: key }),
    post('/keys', BODY, { authorization: `Bearer ${key}`, origin: 'https://evil.example' }),
    post(`/keys/${key}/revoke`),
    post(`${path}/${key}`),
    post(`${path}/rotate`, { overlapMs: key }),
    post(`${path}/rotate`, { overlapMs: 0, scopes: ['decoys:read'] }),
    post(`${path}/suspend`, { reason: key }),
    post(`${path}/suspend`),
    post(`${path}/rotate`, { overlapMs: 0 }),
    post(`${path}/resume`),
    post(`${path}/revoke-lineage`),
    get('/keys'),
  ];
  const told: unknown[] = [];
  for (const request of requests) told.push(await everythingOf(await admin(request)));
  // The service's own error may contain anything, and the caller gets nothing of it.
  const authorityOf = () => Promise.reject(new Error(`no session for ${key}`));
  const failing = setUpAdmin({ authorityOf });
  told.push(await everythingOf(await failing.admin(get('/keys'))));
  const { list } = store;
  const broken = { ...store, list: () => Promise.reject(new Error(key)), insert: list };
  const away = setUpAdmin({}, broken as unknown as typeof store);
  told.push(await everythingOf(await away.admin(get('/keys'))));
  told.push(events satisfies readonly KeyringEvent[], errors, away.errors, away.events);
  expect(canariesIn(told, canaries)).toEqual([]);
  // The search does find these texts where they are.
  const made = await admin(post('/keys', BODY));
  const body = JSON.parse(await made.clone().text()) as { readonly key: string };
  expect(canariesIn([await everythingOf(made)], keyCanaries('made', body.key))).toHaveLength(5);
});
