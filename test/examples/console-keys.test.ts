/** Keys in the console: making them, and ending and replacing one's own. */
import { isKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { ENTITY, OTHER_ENTITY, PREFIX } from '../../examples/platform/host/boot.ts';
import type { Page } from './console-site.ts';
import { KEYS, keyOf, onceOf, useSite, WHOLE } from './console-site.ts';

const site = useSite();

describe('making a key', () => {
  it('leads through Settings, Configuration and API Keys to the form', async () => {
    const cookie = site.signIn('ana@example.com');
    let path = '';
    for (const name of ['Settings', 'Configuration', 'API Keys', 'Create API Key']) {
      const { text } = await site.get(path, cookie);
      const main = text.slice(text.indexOf('<main>'));
      path = new RegExp(`href="/console([^"]*)">${name}</a>`).exec(main)?.[1] ?? 'no link';
    }
    expect(path).toBe(`${KEYS}/new`);
  });

  it('shows the key once, and it reaches what was ticked', async () => {
    const cookie = site.signIn('ana@example.com');
    const page = await site.create(cookie);
    const key = keyOf(page);
    expect(page.status).toBe(200);
    expect(isKey(key, { prefix: PREFIX })).toBe(true);
    const { status, scopes, key_id } = await site.me(key);
    expect({ status, scopes }).toEqual({ status: 200, scopes: WHOLE.scopes });
    const info = await site.infoOf(key_id);
    expect(info.expiresAt?.getTime()).toBe(Number(info.createdAt.getTime()) + 30 * 86_400_000);

    for (const path of [KEYS, `${KEYS}/${key_id}`])
      expect((await site.get(path, cookie)).text).not.toContain(key.slice(-32));
    await site.platform.keyring.flush();
    const { text } = await site.get(`${KEYS}/${key_id}`, cookie);
    expect(text).toMatch(/<dt>Last used<\/dt><dd><time/);
  });

  it('makes no second key of one form, however often it is sent', async () => {
    const cookie = site.signIn('ana@example.com');
    const once = onceOf(await site.get(`${KEYS}/new`, cookie));
    const before = await site.countOf();
    const twice = await Promise.all([1, 2].map(() => site.post(KEYS, { once, ...WHOLE }, cookie)));
    const later = await site.post(KEYS, { once, ...WHOLE }, cookie);
    expect([...twice, later].map(({ status }) => status).sort()).toEqual([303, 409, 409]);
    expect(await site.countOf()).toBe(before + 1);
  });

  it('keeps fifty forms open, of those who can send them', async () => {
    const ana = site.signIn('ana@example.com');
    const chi = site.signIn('chi@example.com');
    const once = onceOf(await site.get(`${KEYS}/new`, ana));
    const keyId = await site.issue();
    expect(onceOf(await site.get(`${KEYS}/${keyId}`, chi))).toBe('none');
    for (let i = 0; i < 49; i++) await site.get(`${KEYS}/${keyId}`, ana);
    expect((await site.post(KEYS, { once, ...WHOLE }, ana)).status).toBe(303);
    const late = onceOf(await site.get(`${KEYS}/new`, ana));
    for (let i = 0; i < 50; i++) await site.get(`${KEYS}/${keyId}`, ana);
    expect((await site.post(KEYS, { once: late, ...WHOLE }, ana)).text).toContain(
      'sent before, or is too old',
    );
  });

  it('takes no form that was shown in another session, or none at all', async () => {
    const ana = site.signIn('ana@example.com');
    const ben = site.signIn('ben@example.com');
    const once = onceOf(await site.get(`${KEYS}/new`, ana));
    expect((await site.post(KEYS, { once, ...WHOLE }, ben)).status).toBe(409);
    expect((await site.post(KEYS, WHOLE, ana)).status).toBe(409);
  });

  it('wants a reason for reserved scopes, and keeps what was entered', async () => {
    const cookie = site.signIn('ana@example.com');
    const before = await site.countOf();
    const wanting = {
      name: 'Off "boarding"',
      scopes: ['threats:read', 'users:delete'],
      lifetime: '365',
    };
    const page = await site.create(cookie, wanting);
    expect([page.status, await site.countOf()]).toEqual([400, before]);
    expect(page.text).toContain(
      '<small id="justification-fault" class="fault">' +
        'justification: say why the key needs users:delete</small>',
    );
    expect(page.text).toContain(
      ' aria-invalid="true" aria-describedby="justification-fault" autofocus>',
    );
    expect(page.text).toContain('value="Off &quot;boarding&quot;"');
    expect(page.text).toContain('value="users:delete" checked');
    expect(page.text).toContain('<option value="365" selected>');
    const again = await site.post(
      KEYS,
      { once: onceOf(page), ...wanting, justification: ' Leavers ' },
      cookie,
    );
    expect(again.status).toBe(303);
    const { key_id } = await site.me(keyOf(await site.follow(again, cookie)));
    const info = await site.infoOf(key_id);
    expect([info.justification, info.name]).toEqual(['Leavers', 'Off "boarding"']);
  });

  it.each([
    ['no name', { name: '  ' }, 'name', 'name: '],
    ['a name that is too long', { name: 'n'.repeat(101) }, 'name', 'name: '],
    ['a wildcard', { scopes: ['threats:*', 'users:*'] }, 'scopes', 'a scope of this service'],
    [
      'a scope that there is not',
      { scopes: ['threats:raed'] },
      'scopes',
      'a scope of this service',
    ],
    ['a life that nobody offered', { lifetime: '36500' }, 'expiresAt', 'expiresAt: '],
    ['a name of Object', { lifetime: 'constructor' }, 'expiresAt', 'expiresAt: '],
  ])('answers %s with the form and a sentence at its field', async (_, fields, name, sentence) => {
    const cookie = site.signIn('ana@example.com');
    const before = await site.countOf();
    const page = await site.create(cookie, fields);
    expect([page.status, await site.countOf()]).toEqual([400, before]);
    expect(page.text).toContain('<p role="alert">One field needs another look.</p>');
    expect(page.text).toContain(`<small id="${name}-fault" class="fault">${sentence}`);
    const marked = page.text.match(/ aria-invalid="true" aria-describedby="[^"]*"[^>]*/g);
    expect(marked).toEqual([` aria-invalid="true" aria-describedby="${name}-fault" autofocus`]);
  });

  it('shows names as text', async () => {
    const cookie = site.signIn('ana@example.com');
    const name = `<script>alert(1)</script>"'&`;
    const { key_id } = await site.me(keyOf(await site.create(cookie, { name })));
    for (const path of [KEYS, `${KEYS}/${key_id}`]) {
      const { text } = await site.get(path, cookie);
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
      expect(text).not.toContain('<script>alert');
    }
  });
});

describe('a new key', () => {
  it('waits for its page a minute at most, and is shown once', async () => {
    const cookie = site.signIn('ana@example.com');
    const open = async () => {
      const once = onceOf(await site.get(`${KEYS}/new`, cookie));
      const { headers } = await site.post(KEYS, { once, ...WHOLE }, cookie);
      return String(headers.get('Location')).replace('/console', '');
    };
    const path = await open();
    const other = site.signIn('ana@example.com');
    expect((await site.get(path, other)).status).toBe(303);
    const first = await site.get(path, cookie);
    expect(isKey(keyOf(first), { prefix: PREFIX })).toBe(true);
    expect(first.text).toContain(keyOf(first).slice(-4));
    const again = await site.get(path, cookie);
    expect([again.status, again.headers.get('Location')]).toEqual([
      303,
      `/console${path.replace('/new', '')}`,
    ]);
    const late = await open();
    site.clock.ahead = 60_001;
    expect((await site.get(late, cookie)).status).toBe(303);
  });

  it('is found by its name, its end, a scope or its state', async () => {
    const cookie = site.signIn('ana@example.com');
    const key = keyOf(await site.create(cookie, { name: 'Needle', scopes: ['canaries:read'] }));
    const { key_id } = await site.me(key);
    const finds = async (query: string) =>
      (await site.get(`${KEYS}?${query}`, cookie)).text.includes(`${KEYS}/${key_id}"`);
    for (const query of ['q=needle', `q=${key.slice(-4)}`, 'q=canaries', 'q=needle&state=live'])
      expect([query, await finds(query)]).toEqual([query, true]);
    for (const query of ['q=haystack', 'q=needle&state=revoked'])
      expect([query, await finds(query)]).toEqual([query, false]);
  });
});

describe('a key of another organization', () => {
  it('that addresses this one is listed, and withdrawn from for good', async () => {
    const input = {
      name: 'From there',
      scopes: ['threats:read'],
      expiresAt: 'never',
      accessibleEntities: [ENTITY],
    } as const;
    const authority = { entityUuid: OTHER_ENTITY, entities: [ENTITY], scopes: 'all' } as const;
    const { key, info } = await site.platform.keyring.issue(input, authority);
    const chi = site.signIn('chi@example.com');
    const path = `${KEYS}/addressing`;
    const seen = await site.get(path, chi);
    expect(seen.text).toContain('From there');
    expect(seen.text).not.toContain('Withdraw from');
    expect((await site.post(`${path}/${info.keyId}`, {}, chi)).status).toBe(403);
    const ana = site.signIn('ana@example.com');
    expect((await site.get(path, ana)).text).toContain('Withdraw from From there');
    expect((await site.post(`${path}/${info.keyId}`, {}, ana)).status).toBe(303);
    expect((await site.get(path, ana)).text).toContain('>Withdrawn</td>');
    expect(await site.me(key)).toMatchObject({ accessible_entities: [OTHER_ENTITY] });
  });
});

describe('a key of one’s own', () => {
  it('is revoked at once and for good', async () => {
    const cookie = site.signIn('ana@example.com');
    const key = keyOf(await site.create(cookie));
    const { key_id } = await site.me(key);
    const path = `${KEYS}/${key_id}`;
    expect(
      (await site.post(path, { action: 'revoke', reason: ' leaked ' }, cookie)).headers.get(
        'Location',
      ),
    ).toBe(`/console${path}`);
    expect((await site.me(key)).status).toBe(401);
    const { text } = await site.get(path, cookie);
    expect(text).toContain('<dd><span class="state over">Revoked</span></dd>');
    expect(text).toContain('by ana@example.com: leaked');
    expect(text).not.toContain('name="action"');
  });

  it('is replaced with an overlap, and the new key is shown once', async () => {
    const cookie = site.signIn('ana@example.com');
    const old = keyOf(await site.create(cookie));
    const { key_id } = await site.me(old);
    const path = `${KEYS}/${key_id}`;
    const page = await site.get(path, cookie);
    const fields = { once: onceOf(page), action: 'rotate', overlap: '1' };
    const rotated = await site.post(path, fields, cookie);
    const next = keyOf(await site.follow(rotated, cookie));
    expect(rotated.status).toBe(303);
    expect((await site.post(path, fields, cookie)).status).toBe(409);
    expect([(await site.me(old)).status, (await site.me(next)).scopes]).toEqual([
      200,
      WHOLE.scopes,
    ]);
    const both = await site.get(path, cookie);
    expect(both.text).toContain('Replaced, in its overlap');
    expect(both.text).not.toContain('value="rotate"');
    site.clock.ahead = 3_600_001;
    expect([(await site.me(old)).status, (await site.me(next)).status]).toEqual([401, 200]);
  });

  it('is replaced by one without the scopes that nobody has called for long', async () => {
    const unused = ({ text }: Page) => text.match(/could do without/g)?.length ?? 0;
    const before = site.signIn('ana@example.com');
    const key = keyOf(await site.create(before, { lifetime: 'never' }));
    const path = `${KEYS}/${(await site.me(key)).key_id}`;
    expect(unused(await site.get(path, before))).toBe(0);
    site.clock.ahead = 91 * 86_400_000;
    const cookie = site.signIn('ana@example.com');
    // Not used lately: unknown, which is not unused.
    expect(unused(await site.get(path, cookie))).toBe(0);
    await site.me(key);
    const page = await site.get(path, cookie);
    expect(unused(page)).toBe(2);
    expect(page.text).toContain('<legend>Keep these scopes</legend>');
    const fields = { once: onceOf(page), action: 'rotate', overlap: '1', narrow: 'yes' };
    const posted = await site.post(path, { ...fields, scopes: ['decoys:read'] }, cookie);
    const next = keyOf(await site.follow(posted, cookie));
    expect((await site.me(next)).scopes).toEqual(['decoys:read']);
  });

  it('is suspended with a reason, and taken back into use', async () => {
    const cookie = site.signIn('ana@example.com');
    const key = keyOf(await site.create(cookie));
    const path = `${KEYS}/${(await site.me(key)).key_id}`;
    await site.post(path, { action: 'suspend', reason: 'looks odd' }, cookie);
    const { text } = await site.get(path, cookie);
    expect((await site.me(key)).status).toBe(401);
    expect(text).toContain('<dd><span class="state wary">Suspended</span></dd>');
    expect(text).toContain('by ana@example.com: looks odd');
    expect(text).not.toContain('value="rotate"');
    expect((await site.get(`${KEYS}?state=suspended`, cookie)).text).toContain(path);
    await site.post(path, { action: 'resume' }, cookie);
    expect((await site.me(key)).status).toBe(200);
    expect((await site.get(path, cookie)).text).toContain('<span class="state good">Active</span>');
  });

  it('takes no reason that nobody can read, and says so', async () => {
    const cookie = site.signIn('ana@example.com');
    const keyId = await site.issue();
    const reason = 'right\u202eleft';
    const page = await site.post(`${KEYS}/${keyId}`, { action: 'suspend', reason }, cookie);
    expect([page.status, page.text.includes(reason)]).toEqual([400, false]);
    expect(page.text).toContain('reason: ');
    expect((await site.infoOf(keyId)).state).toBe('live');
  });

  it('ends with all that it was rotated from and to', async () => {
    const cookie = site.signIn('ana@example.com');
    const old = keyOf(await site.create(cookie));
    const path = `${KEYS}/${(await site.me(old)).key_id}`;
    const once = onceOf(await site.get(path, cookie));
    const fields = { once, action: 'rotate', overlap: '168' };
    const next = keyOf(await site.follow(await site.post(path, fields, cookie), cookie));
    expect((await site.get(path, cookie)).text).toContain('value="revoke-lineage"');
    await site.post(path, { action: 'revoke-lineage', reason: 'leaked' }, cookie);
    expect([(await site.me(old)).status, (await site.me(next)).status]).toEqual([401, 401]);
  });

  it('that has ended is not replaced, which is no matter of who is signed in', async () => {
    const cookie = site.signIn('ana@example.com');
    const { key_id } = await site.me(keyOf(await site.create(cookie)));
    const once = onceOf(await site.get(`${KEYS}/${key_id}`, cookie));
    await site.platform.keyring.revoke(String(key_id), { entityUuid: ENTITY, scopes: 'all' });
    const page = await site.post(
      `${KEYS}/${key_id}`,
      { once, action: 'rotate', overlap: '0' },
      cookie,
    );
    expect(page.status).toBe(409);
    expect(page.text).toContain('This key has ended');
  });

  it.each([
    ['no action', {}],
    ['another action', { action: 'delete' }],
    ['another overlap', { action: 'rotate', overlap: '99999' }],
    ['a name of Object', { action: 'rotate', overlap: 'toString' }],
  ])('is left as it is by a form with %s', async (_, fields) => {
    const cookie = site.signIn('ana@example.com');
    const { key_id } = await site.me(keyOf(await site.create(cookie)));
    const once = onceOf(await site.get(`${KEYS}/${key_id}`, cookie));
    expect((await site.post(`${KEYS}/${key_id}`, { once, ...fields }, cookie)).status).toBe(400);
    const info = await site.infoOf(key_id);
    expect([info.revokedAt, info.retireAt]).toEqual([null, null]);
  });

  it('is found behind the first page, and an unknown page is a wrong address', async () => {
    const dan = site.signIn('dan@example.com');
    for (let index = 0; index < 52; index++) {
      const input = { name: `n${index}`, scopes: [], expiresAt: 'never' } as const;
      await site.platform.keyring.issue(input, { entityUuid: OTHER_ENTITY, scopes: 'all' });
    }
    const first = await site.get(KEYS, dan);
    const link = /href="\/console([^"]*)">Older keys/.exec(first.text)?.[1] ?? 'none';
    const older = await site.get(link.replaceAll('&amp;', '&'), dan);
    const namesOn = ({ text }: Page) => text.match(/api-keys\/[0-9a-f-]{36}"/g)?.length;
    expect(namesOn(first)).toBe(50);
    expect(namesOn(older)).toBe((await site.countOf(OTHER_ENTITY)) - 50);
    expect((await site.get(`${KEYS}?after=x`, dan)).status).toBe(400);
  });
});
