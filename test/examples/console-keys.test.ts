/** Keys in the console: how people create, rotate, suspend and revoke them. */
import { isKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { ENTITY, OTHER_ENTITY, PREFIX } from '../../examples/platform/host/boot.ts';
import type { Page } from './console-site.ts';
import { csrfOf, KEYS, keyOf, useSite, WHOLE } from './console-site.ts';

const site = useSite();

/** The notice on a page: the result of the last action. */
function noticeOn({ text }: Page): string {
  return /<p role="status" class="notice">([^<]*)<\/p>/.exec(text)?.[1] ?? 'none';
}

/** The rows of the history on a page: event, time, actor and reason, without tags. */
function historyOn({ text }: Page): readonly string[] {
  const table = /aria-label="History">(.*?)<\/table>/s.exec(text)?.[1] ?? '';
  const body = table.slice(table.indexOf('<tbody>'));
  const rows = body.match(/<tr>.*?<\/tr>/gs) ?? [];
  return rows.map((row) =>
    row
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
}

/** A time as the console shows it. */
function shown(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

describe('the way to the keys', () => {
  it.each(['', '/settings', '/settings/configuration'])(
    'leads straight from /console%s to the list, which links to the form',
    async (path) => {
      const cookie = site.signIn('ana@example.com');
      const { status, headers } = await site.get(path, cookie);
      expect([status, headers.get('Location')]).toEqual([303, `/console${KEYS}`]);
      const { text } = await site.get(KEYS, cookie);
      expect(text).toContain(`<nav><a href="/console${KEYS}">API Keys</a></nav>`);
      expect(text).toContain(`href="/console${KEYS}/new">Create API Key</a>`);
    },
  );

  it('names the organization', async () => {
    const { text } = await site.get(KEYS, site.signIn('ana@example.com'));
    expect(text.replace(/\s+/g, ' ')).toContain('call the API on behalf of Acme.');
  });
});

describe('creating a key', () => {
  it('shows the key once, and the key has the selected scopes', async () => {
    const cookie = site.signIn('ana@example.com');
    const page = await site.create(cookie);
    const key = keyOf(page);
    expect(page.status).toBe(201);
    expect(noticeOn(page)).toBe('Key created. Copy the new key now; you will not see it again.');
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

  it('requires a reason for reserved scopes, and keeps the input', async () => {
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
        'Say why the key needs the reserved scopes, in at most 500 characters. ' +
        'Invisible characters and API keys are not allowed.</small>',
    );
    expect(page.text).toContain(
      ' aria-invalid="true" aria-describedby="justification-fault" autofocus>',
    );
    expect(page.text).toContain('value="Off &quot;boarding&quot;"');
    expect(page.text).toContain('value="users:delete" checked');
    expect(page.text).toContain('<option value="365" selected>');
    const fields = { csrf: csrfOf(page), ...wanting, justification: ' Leavers ' };
    const again = await site.post(KEYS, fields, cookie);
    expect(again.status).toBe(201);
    const { key_id } = await site.me(keyOf(again));
    const info = await site.infoOf(key_id);
    expect([info.justification, info.name]).toEqual(['Leavers', 'Off "boarding"']);
  });

  it.each([
    ['no name', { name: '  ' }, 'name', 'Write 1 to 100 characters.'],
    ['a name that is too long', { name: 'n'.repeat(101) }, 'name', 'Write 1 to 100 characters.'],
    ['a wildcard', { scopes: ['threats:*', 'users:*'] }, 'scopes', 'Select at least one'],
    ['no scope', { scopes: [] }, 'scopes', 'Select at least one of these scopes.'],
    ['an unknown scope', { scopes: ['threats:raed'] }, 'scopes', 'Select at least one'],
    [
      'a lifetime that the form does not offer',
      { lifetime: '36500' },
      'expiresAt',
      'Select one of these times.',
    ],
    [
      'a property name of Object',
      { lifetime: 'constructor' },
      'expiresAt',
      'Select one of these times.',
    ],
  ])('answers %s with the form and a message at its field', async (_, fields, name, sentence) => {
    const cookie = site.signIn('ana@example.com');
    const before = await site.countOf();
    const page = await site.create(cookie, fields);
    expect([page.status, await site.countOf()]).toEqual([400, before]);
    expect(page.text).toContain('<p role="alert">Correct the marked field.</p>');
    expect(page.text).toContain(`<small id="${name}-fault" class="fault">${sentence}`);
    const marked = page.text.match(/ aria-invalid="true" aria-describedby="[^"]*"[^>]*/g);
    expect(marked).toEqual([` aria-invalid="true" aria-describedby="${name}-fault" autofocus`]);
  });

  it('refuses a key as a name, which only the keyring notices', async () => {
    const cookie = site.signIn('ana@example.com');
    const name = keyOf(await site.create(cookie));
    const { status, text } = await site.create(cookie, { name });
    expect(status).toBe(400);
    expect(text).toContain('<small id="name-fault" class="fault">Write 1 to 100 characters.');
  });

  it('escapes names', async () => {
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
  it('can be found by its name, its last characters, a scope and its state', async () => {
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

describe('a key of another organization that addresses this one', () => {
  it('is listed with the name of its owner, until access is withdrawn for good', async () => {
    const input = {
      name: 'From there',
      scopes: ['threats:read'],
      expiresAt: 'never',
      accessibleEntities: [ENTITY],
    } as const;
    const authority = { entityId: OTHER_ENTITY, entities: [ENTITY], scopes: 'all' } as const;
    const { key, info } = await site.platform.keyring.issue(input, authority);
    const chi = site.signIn('chi@example.com');
    const path = `${KEYS}/addressing`;
    const seen = await site.get(path, chi);
    expect(seen.text).toContain('From there');
    expect(seen.text).toContain('<td data-column="Organization">Globex</td>');
    expect(seen.text).not.toContain(`<code>${OTHER_ENTITY}`);
    expect(seen.text).not.toContain('Withdraw access');
    expect((await site.post(`${path}/${info.keyId}`, {}, chi)).status).toBe(403);
    const ana = site.signIn('ana@example.com');
    expect((await site.get(path, ana)).text).toContain('Withdraw access of From there');
    const withdrawn = await site.change(`${path}/${info.keyId}`, {}, ana);
    expect(withdrawn.status).toBe(200);
    expect(withdrawn.text).toContain('>Withdrawn</td>');
    expect(noticeOn(withdrawn)).toBe(
      'Access withdrawn. The key can no longer reach your organization.',
    );
    expect(noticeOn(await site.get(path, ana))).toBe('none');
    const dan = site.signIn('dan@example.com');
    const own = await site.get(`${KEYS}/${info.keyId}`, dan);
    expect(own.text).toContain('<div>Globex</div><div>Acme (withdrew access)</div>');
    expect(await site.me(key)).toMatchObject({ accessible_entities: [OTHER_ENTITY] });
  });
});

describe('an own key', () => {
  it('is revoked at once and for good', async () => {
    const cookie = site.signIn('ana@example.com');
    const key = keyOf(await site.create(cookie));
    const { key_id } = await site.me(key);
    const path = `${KEYS}/${key_id}`;
    const page = await site.change(path, { action: 'revoke', reason: ' leaked ' }, cookie);
    expect((await site.me(key)).status).toBe(401);
    expect(page.text).toContain('<dd><span class="state over">Revoked</span></dd>');
    expect(page.text).not.toContain('name="action"');
    expect(noticeOn(page)).toBe('Key revoked. It cannot be used again.');
    const { createdAt, revokedAt } = await site.infoOf(key_id);
    expect(historyOn(page)).toEqual([
      `Created ${shown(createdAt)} ana@example.com –`,
      `Revoked ${shown(revokedAt ?? new Date(0))} ana@example.com leaked`,
    ]);
  });

  it('is rotated with an overlap, and the new key is shown once', async () => {
    const cookie = site.signIn('ana@example.com');
    const old = keyOf(await site.create(cookie));
    const { key_id } = await site.me(old);
    const path = `${KEYS}/${key_id}`;
    const fields = { action: 'rotate', overlap: '1' };
    const rotated = await site.post(path, fields, cookie);
    const next = keyOf(rotated);
    expect(rotated.status).toBe(201);
    expect(noticeOn(rotated)).toBe(
      'Key rotated. The old key works for another hour. ' +
        'Copy the new key now; you will not see it again.',
    );
    expect((await site.post(path, fields, cookie)).status).toBe(409);
    expect([(await site.me(old)).status, (await site.me(next)).scopes]).toEqual([
      200,
      WHOLE.scopes,
    ]);
    const both = await site.get(path, cookie);
    expect(both.text).toContain('Live, replaced');
    expect(both.text).not.toContain('value="rotate"');
    site.clock.ahead = 3_600_001;
    expect([(await site.me(old)).status, (await site.me(next)).status]).toEqual([401, 200]);
  });

  // A rotated key always ended with its predecessor's expiry.
  it.each([
    ['', 30],
    ['365', 365],
    ['never', null],
    ['36500', undefined],
  ])('is rotated with the lifetime %j to a key that expires after %s days', async (...given) => {
    const [lifetime, days] = given;
    const cookie = site.signIn('ana@example.com');
    const { key_id } = await site.me(keyOf(await site.create(cookie)));
    const path = `${KEYS}/${key_id}`;
    const rotated = await site.post(path, { action: 'rotate', overlap: '1', lifetime }, cookie);
    expect(rotated.status).toBe(days === undefined ? 400 : 201);
    if (days === undefined) return;
    const next = await site.me(keyOf(rotated));
    const { createdAt, expiresAt } = await site.infoOf(next.key_id);
    const life = expiresAt && Math.round((expiresAt.getTime() - createdAt.getTime()) / 86_400_000);
    expect(life).toBe(days);
  });

  it('is rotated to a key without the scopes that were unused for 90 days', async () => {
    const unused = ({ text }: Page) => text.match(/Not used for 90 days/g)?.length ?? 0;
    const before = site.signIn('ana@example.com');
    const key = keyOf(await site.create(before, { lifetime: 'never' }));
    const path = `${KEYS}/${(await site.me(key)).key_id}`;
    expect(unused(await site.get(path, before))).toBe(0);
    site.clock.ahead = 91 * 86_400_000;
    const cookie = site.signIn('ana@example.com');
    // Without any recent use, nobody knows which scopes are unused.
    expect(unused(await site.get(path, cookie))).toBe(0);
    await site.me(key);
    const page = await site.get(path, cookie);
    expect(unused(page)).toBe(2);
    expect(page.text).toContain('<legend>Scopes of the new key</legend>');
    const fields = { action: 'rotate', overlap: '1', narrow: 'yes' };
    expect((await site.post(path, fields, cookie)).status).toBe(400);
    const posted = await site.post(path, { ...fields, scopes: ['decoys:read'] }, cookie);
    const next = keyOf(posted);
    expect((await site.me(next)).scopes).toEqual(['decoys:read']);
  });

  it('is suspended with a reason, and resumed', async () => {
    const cookie = site.signIn('ana@example.com');
    const key = keyOf(await site.create(cookie));
    const path = `${KEYS}/${(await site.me(key)).key_id}`;
    const page = await site.change(path, { action: 'suspend', reason: 'looks odd' }, cookie);
    expect((await site.me(key)).status).toBe(401);
    expect(page.text).toContain('<dd><span class="state wary">Suspended</span></dd>');
    expect(historyOn(page)[1]).toMatch(/^Suspended .* UTC ana@example\.com looks odd$/);
    expect(page.text).not.toContain('value="rotate"');
    expect(noticeOn(page)).toBe('Key suspended. Requests with it are refused until you resume it.');
    expect((await site.get(`${KEYS}?state=suspended`, cookie)).text).toContain(path);
    const resumed = await site.change(path, { action: 'resume' }, cookie);
    expect((await site.me(key)).status).toBe(200);
    expect(resumed.text).toContain('<span class="state good">Live</span>');
    expect(noticeOn(resumed)).toBe('Key resumed.');
    expect(historyOn(resumed)).toHaveLength(1);
  });

  it('refuses a reason with invisible characters, and says so', async () => {
    const cookie = site.signIn('ana@example.com');
    const keyId = await site.issue();
    const reason = 'right\u202eleft';
    const page = await site.post(`${KEYS}/${keyId}`, { action: 'suspend', reason }, cookie);
    expect([page.status, page.text.includes(reason)]).toEqual([400, false]);
    expect(page.text).toContain('Write a reason of at most 200 characters.');
    expect((await site.infoOf(keyId)).state).toBe('live');
  });

  it('is revoked with all keys that it was rotated from and to', async () => {
    const cookie = site.signIn('ana@example.com');
    const old = keyOf(await site.create(cookie));
    const path = `${KEYS}/${(await site.me(old)).key_id}`;
    const next = keyOf(await site.post(path, { action: 'rotate', overlap: '168' }, cookie));
    expect((await site.get(path, cookie)).text).toContain('value="revoke-lineage"');
    const page = await site.change(path, { action: 'revoke-lineage', reason: 'leaked' }, cookie);
    expect([(await site.me(old)).status, (await site.me(next)).status]).toEqual([401, 401]);
    expect(noticeOn(page)).toBe('Keys revoked: 2. This key and all related keys have ended.');
  });

  it('cannot be rotated after it has ended, and the visitor stays signed in', async () => {
    const cookie = site.signIn('ana@example.com');
    const { key_id } = await site.me(keyOf(await site.create(cookie)));
    await site.platform.keyring.revoke(String(key_id), { entityId: ENTITY, scopes: 'all' });
    const fields = { action: 'rotate', overlap: '0' };
    const page = await site.post(`${KEYS}/${key_id}`, fields, cookie);
    expect(page.status).toBe(409);
    expect(page.text).toContain('The key is not live');
  });

  it('has a history that links the keys of a rotation', async () => {
    const cookie = site.signIn('ana@example.com');
    const first = String((await site.me(keyOf(await site.create(cookie)))).key_id);
    const { keyring } = site.platform;
    const ben = { entityId: ENTITY, scopes: 'all', actor: 'ben', reason: 'quarterly' } as const;
    const { info: second } = await keyring.rotate(first, { overlapMs: 3_600_000 }, ben);
    const page = await site.get(`${KEYS}/${first}`, cookie);
    const { createdAt, prefix, hint } = await site.infoOf(first);
    expect(historyOn(page)).toEqual([
      `Created ${shown(createdAt)} ana@example.com –`,
      `Rotated to ${prefix}_…${second.hint} ${shown(second.createdAt)} ben quarterly`,
    ]);
    expect(page.text).toContain(`Rotated to <a href="/console${KEYS}/${second.keyId}">`);
    expect(page.text).toContain('<dt>Stops working</dt><dd><time');
    const next = await site.get(`${KEYS}/${second.keyId}`, cookie);
    expect(historyOn(next)).toEqual([
      `Created by rotating ${prefix}_…${hint} ${shown(second.createdAt)} ben –`,
    ]);
    expect(next.text).toContain(`by rotating <a href="/console${KEYS}/${first}">`);

    site.clock.ahead = 2 * 3_600_000;
    await keyring.revoke(first, { ...ben, reason: 'late' });
    const later = historyOn(await site.get(`${KEYS}/${first}`, site.signIn('ana@example.com')));
    expect(later.map((row) => row.replace(/ \d{4}-.*UTC/, ' at'))).toEqual([
      'Created at ana@example.com –',
      `Rotated to ${prefix}_…${second.hint} at ben –`,
      'Stopped working after the rotation at – –',
      'Revoked at ben late',
    ]);
  });

  it('has a history that ends with its expiry', async () => {
    const cookie = site.signIn('ana@example.com');
    const { key_id } = await site.me(keyOf(await site.create(cookie)));
    site.clock.ahead = 31 * 86_400_000;
    const rows = historyOn(await site.get(`${KEYS}/${key_id}`, site.signIn('ana@example.com')));
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatch(/^Expired .* UTC – –$/);
  });

  it.each([
    ['no action', {}],
    ['another action', { action: 'delete' }],
    ['another overlap', { action: 'rotate', overlap: '99999' }],
    ['a property name of Object', { action: 'rotate', overlap: 'toString' }],
  ])('stays unchanged after a form with %s', async (_, fields) => {
    const cookie = site.signIn('ana@example.com');
    const { key_id } = await site.me(keyOf(await site.create(cookie)));
    expect((await site.post(`${KEYS}/${key_id}`, fields, cookie)).status).toBe(400);
    const info = await site.infoOf(key_id);
    expect([info.revokedAt, info.retireAt]).toEqual([null, null]);
  });

  it('can be on the second page; a page that does not exist is 400', async () => {
    const dan = site.signIn('dan@example.com');
    for (let index = 0; index < 52; index++) {
      const input = { name: `n${index}`, scopes: [], expiresAt: 'never' } as const;
      await site.platform.keyring.issue(input, { entityId: OTHER_ENTITY, scopes: 'all' });
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
