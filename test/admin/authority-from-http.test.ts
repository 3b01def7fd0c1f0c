/** Keys that manage keys over HTTP: what they may hand out, and until when. */
import { definePolicy } from 'keyscope';
import { authorityFrom, type KeyAdminOperation } from 'keyscope/admin';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { answered, BASE, OPEN_OPERATIONS, post, setUpAdmin } from '../support/admin.ts';
import {
  AUTHORITY,
  catalog,
  HOUR,
  OTHER,
  rowOf,
  START,
  setUp,
  tampering,
} from '../support/keyring.ts';
import { GRANT, leftIn, OVERLAP } from '../support/lineages.ts';
import { keysOf } from '../support/managing.ts';

const policy = definePolicy(catalog, OPEN_OPERATIONS);

const EXPIRY = START + 9 * HOUR;
const BODY = {
  name: 'made',
  scopes: ['threats:read'],
  expiresAt: new Date(EXPIRY).toISOString(),
  accessibleEntities: [OTHER],
} as const;

/** Endpoints that a key calls, and that key. */
async function mount() {
  const ring = setUp({ policy });
  const { keyring } = ring;
  const input = { ...BODY, name: 'manager', expiresAt: new Date(EXPIRY) };
  const { key, info } = await keyring.issue(input, GRANT);
  const asked: KeyAdminOperation[] = [];
  const authorityOf = async (request: Request, operation: KeyAdminOperation) => {
    const { principal } = await keyring.admit(request, { operation });
    asked.push(operation);
    return authorityFrom(principal);
  };
  const { admin } = setUpAdmin({ keyring, authorityOf });
  const send = (by: string, path: string, body: object = {}) =>
    admin(post(path, body, { authorization: `Bearer ${by}` }));
  const issueOver = async (by: string) => {
    const made = await answered(send(by, '/keys', BODY), 201);
    const { keyId } = made.info as { readonly keyId: string };
    return { key: String(made.key), keyId };
  };
  return { ...ring, admin, asked, send, issueOver, key, keyId: info.keyId };
}

describe('a key that was issued over HTTP, by a key', () => {
  it('cannot issue, and learns why', async () => {
    const { send, issueOver, key, store } = await mount();
    const child = await issueOver(key);
    const before = await keysOf(store);
    const { detail } = await answered(send(child.key, '/keys', BODY), 403);
    expect(detail).toBe('A key that another key issued cannot issue keys.');
    expect(await keysOf(store)).toEqual(before);
  });

  it('can rotate itself, but no other key', async () => {
    const { send, issueOver, key, keyId } = await mount();
    const child = await issueOver(key);
    await answered(send(child.key, `/keys/${child.keyId}/rotate`, OVERLAP), 201);
    const { detail } = await answered(send(child.key, `/keys/${keyId}/rotate`, OVERLAP), 403);
    expect(detail).toMatch(/^A key can rotate only its own chain/);
  });

  it('can be resumed by the key that issued it, and by no other key', async () => {
    const { send, issueOver, key, keyring } = await mount();
    const child = await issueOver(key);
    const sibling = await issueOver(key);
    await keyring.suspend(child.keyId, AUTHORITY);
    const path = `/keys/${child.keyId}/resume`;
    const { detail } = await answered(send(sibling.key, path), 403);
    expect(detail).toMatch(/resume only keys that it issued/);
    await answered(send(key, path), 204);
  });

  it('ends with the lineage of the key that issued it', async () => {
    const { send, issueOver, key, keyId, store } = await mount();
    const child = await issueOver(key);
    const { revoked } = await answered(send(key, `/keys/${keyId}/revoke-lineage`), 200);
    expect(revoked).toEqual([keyId, child.keyId]);
    expect(await leftIn(store)).toEqual([]);
  });
});

/** A request whose body is sent only after `release`. */
function heldBack(path: string, key: string, body: object) {
  let release = (): void => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      release = () => {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(body)));
        controller.close();
      };
    },
  });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const init = { method: 'POST', headers, body: stream, duplex: 'half' } as const;
  return { request: new Request(BASE + path, init), release: () => release() };
}

type Mounted = Awaited<ReturnType<typeof mount>>;

describe('a body that is sent slowly', () => {
  const later = { ...BODY, expiresAt: new Date(EXPIRY + HOUR).toISOString() };

  const ENDS: Readonly<Record<string, (at: Mounted) => unknown>> = {
    'is revoked': ({ keyring, keyId }) => keyring.revoke(keyId, AUTHORITY),
    'is suspended': ({ keyring, keyId }) => keyring.suspend(keyId, AUTHORITY),
    expires: ({ clock }) => clock.set(EXPIRY),
    'is rotated without an overlap': ({ keyring, keyId }) =>
      keyring.rotate(keyId, { overlapMs: 0 }, GRANT),
    'ends with its lineage': ({ keyring, keyId }) => keyring.revokeLineage(keyId, AUTHORITY),
  };
  const LOSSES: Readonly<Record<string, (at: Mounted) => unknown>> = {
    'is rotated, so that it ends earlier': ({ keyring, keyId }) =>
      keyring.rotate(keyId, OVERLAP, GRANT),
    'loses an entity that the body names': ({ keyring, keyId }) =>
      keyring.withdraw(keyId, { entityId: OTHER }),
  };

  /** Sends a request, lets something happen before its body, and returns the status. */
  async function slowly(at: Mounted, path: string, body: object, happen: (at: Mounted) => unknown) {
    const { request, release } = heldBack(path, at.key, body);
    at.asked.length = 0;
    const answer = at.admin(request);
    while (at.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await happen(at);
    const before = await keysOf(at.store);
    release();
    const response = await answer;
    expect(await response.text()).not.toContain('"key":');
    expect(await keysOf(at.store)).toEqual(before);
    return response.status;
  }

  // The answer to `rotate` was once 409, as if only the key to be rotated had ended.
  it.each(Object.entries(ENDS))('makes no key if the caller’s key %s first', async (_what, end) => {
    expect(await slowly(await mount(), '/keys', later, end)).toBe(401);
    const at = await mount();
    const input = { ...OVERLAP, expiresAt: later.expiresAt };
    expect(await slowly(at, `/keys/${at.keyId}/rotate`, input, end)).toBe(401);
  });

  it.each(Object.entries(LOSSES))(
    'grants no more than is left if the caller’s key %s first',
    async (_what, lose) => {
      expect(await slowly(await mount(), '/keys', BODY, lose)).toBe(403);
    },
  );

  it('resumes no key if the caller’s key ends first', async () => {
    for (const end of Object.values(ENDS)) {
      const at = await mount();
      const { keyId } = await at.issueOver(at.key);
      await at.keyring.suspend(keyId, AUTHORITY);
      expect(await slowly(at, `/keys/${keyId}/resume`, {}, end)).toBe(401);
    }
  });

  it('makes a key if nothing happens', async () => {
    const at = await mount();
    const { request, release } = heldBack('/keys', at.key, BODY);
    release();
    await answered(at.admin(request), 201);
  });
});

describe('the endpoint of a rotation', () => {
  it('answers 409 if the key to be rotated is not live, and the calling key is', async () => {
    const { send, keyring, key, keyId } = await mount();
    const path = `/keys/${keyId}/rotate`;
    const next = await answered(send(key, path, OVERLAP), 201);
    await keyring.suspend(keyId, AUTHORITY);
    const { detail } = await answered(send(String(next.key), path, OVERLAP), 409);
    expect(detail).toMatch(/^The key is not live or .*; its state says why\.$/);
  });
});

describe('the endpoint of a lineage', () => {
  // A 503 made people try again, and never told them to look for other keys.
  it('answers 409 with what to look for if nothing vouches for the row', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { info } = await keyring.issue({ ...BODY, expiresAt: 'never' }, GRANT);
    const damaged = tampering(store, (row) => ({ ...row, name: 'other' }));
    const { admin, errors } = setUpAdmin({}, damaged);
    const body = await answered(admin(post(`/keys/${info.keyId}/revoke-lineage`)), 409);
    expect(body).toMatchObject({ error: 'conflict' });
    expect(body.detail).toMatch(/^Revoked, but untrusted: look for/);
    expect((await rowOf(store, info.keyId)).revokedAt).not.toBeNull();
    expect(errors).toEqual([]);
  });
});
