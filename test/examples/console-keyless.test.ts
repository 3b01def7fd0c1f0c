/** Keys without a secret in the console: shown and ended, but not made or rotated. */
import { githubTrust } from 'keyscope/keyless';
import { describe, expect, it } from 'vitest';
import { ENTITY } from '../../examples/platform/host/boot.ts';
import { KEYS, keyOf, useSite } from './console-site.ts';

const site = useSite();

describe('a key without a secret', () => {
  const trust = githubTrust({ repositoryId: '123', ownerId: '45', branch: 'main' });
  const grant = { entityId: ENTITY, scopes: 'all' } as const;

  async function makeKeyless(): Promise<string> {
    const input = { name: 'Deploy', scopes: ['threats:read'], expiresAt: 'never', trust } as const;
    return (await site.platform.keyring.issueKeyless(input, grant)).info.keyId;
  }

  it('is listed as (keyless), and its page says which tokens act as it', async () => {
    const cookie = site.signIn('ana@example.com');
    const keyId = await makeKeyless();
    const list = await site.get(`${KEYS}?q=${encodeURIComponent('(keyless)')}`, cookie);
    expect(list.text).toContain(`${KEYS}/${keyId}">Deploy</a> <small><code>(keyless)</code>`);
    const { text } = await site.get(`${KEYS}/${keyId}`, cookie);
    expect(text).toContain('<dt>Key</dt><dd><code>(keyless)</code></dd>');
    expect(text).toContain(`iss: &quot;${trust.issuer}&quot;`);
    expect(text).toContain('ref: &quot;refs/heads/main&quot;');
    expect(text).toContain('event_name: [&quot;push&quot;,');
    expect((await site.get(`${KEYS}/${await site.issue()}`, cookie)).text).not.toContain(
      'act as it',
    );
  });

  it('has no form that rotates it, but those that suspend and revoke it', async () => {
    const cookie = site.signIn('ana@example.com');
    const keyId = await makeKeyless();
    const path = `${KEYS}/${keyId}`;
    const { text } = await site.get(path, cookie);
    expect(text).not.toContain('value="rotate"');
    for (const action of ['suspend', 'revoke']) expect(text).toContain(`value="${action}"`);
    const rotated = await site.post(path, { action: 'rotate', overlap: '0' }, cookie);
    expect(rotated.status).toBe(409);
    expect(rotated.text).toContain('Nobody holds a text of this key, so there is none to replace.');
    await site.post(path, { action: 'suspend' }, cookie);
    expect((await site.infoOf(keyId)).state).toBe('suspended');
  });

  it('is not made by the form, whatever that sends', async () => {
    const cookie = site.signIn('ana@example.com');
    const page = await site.create(cookie, { name: 'Sly', trust: JSON.stringify(trust) });
    expect((await site.infoOf((await site.me(keyOf(page))).key_id)).trust).toBeNull();
  });
});
