/** Roles in the console, and the separation of organizations. */
import { describe, expect, it } from 'vitest';
import { KEYS, keyOf, useSite, WHOLE } from './console-site.ts';

const site = useSite();

describe('the console', () => {
  it('offers an analyst only the scopes that an analyst may grant', async () => {
    const cookie = site.signIn('ben@example.com');
    const { text } = await site.get(`${KEYS}/new`, cookie);
    expect(text).toContain('value="canaries:delete"');
    expect(text).not.toContain('value="users:');
    const before = await site.countOf();
    const page = await site.create(cookie, {
      scopes: ['users:read'],
      justification: 'I would like to',
    });
    expect([page.status, await site.countOf()]).toEqual([403, before]);
    expect(keyOf(await site.create(cookie))).not.toBe('none');
  });

  it('does not let an analyst rotate a key with more scopes', async () => {
    const keyId = await site.issue(['users:read']);
    const path = `${KEYS}/${keyId}`;
    const cookie = site.signIn('ben@example.com');
    const page = await site.post(path, { action: 'rotate', overlap: '0' }, cookie);
    expect(page.status).toBe(403);
    const info = await site.infoOf(keyId);
    expect(info.retireAt).toBeNull();
  });

  it('lets a viewer look at keys and change none', async () => {
    const keyId = await site.issue();
    const cookie = site.signIn('chi@example.com');
    const list = await site.get(KEYS, cookie);
    const one = await site.get(`${KEYS}/${keyId}`, cookie);
    expect([list.status, list.text.includes('Create API Key')]).toEqual([200, false]);
    expect([one.status, one.text.includes('Revoke')]).toEqual([200, false]);
    const before = await site.countOf();
    const attempts = [
      await site.get(`${KEYS}/new`, cookie),
      await site.post(KEYS, WHOLE, cookie),
      await site.post(`${KEYS}/${keyId}`, { action: 'revoke' }, cookie),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(await site.countOf()).toBe(before);
    const info = await site.infoOf(keyId);
    expect(info.revokedAt).toBeNull();
  });

  it('does not show the keys of another organization', async () => {
    const ana = site.signIn('ana@example.com');
    const dan = site.signIn('dan@example.com');
    const { key_id } = await site.me(keyOf(await site.create(ana)));
    const path = `${KEYS}/${key_id}`;
    const attempts = [
      await site.get(path, dan),
      await site.post(path, { action: 'revoke' }, dan),
      await site.post(path, { action: 'rotate', overlap: '0' }, dan),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await site.get(KEYS, dan)).text).not.toContain(key_id);
    const info = await site.infoOf(key_id);
    expect([info.revokedAt, info.retireAt]).toEqual([null, null]);
  });
});
