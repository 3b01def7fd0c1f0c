/** Properties of all answers of the console: they are not stored and reveal no secret. */
import { readFileSync } from 'node:fs';
import { StoreError } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { createDemoLink, serviceOf } from '../../examples/console/server.ts';
import { type CacheOptions, startCache } from '../support/shared-cache.ts';
import type { Fields } from './console-site.ts';
import { cookieOf, csrfOf, formBody, KEYS, keyOf, linkIn, useSite, WHOLE } from './console-site.ts';

const site = useSite();

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

describe('an answer of the console', () => {
  it('forbids storing, framing and foreign scripts', async () => {
    const cookie = site.signIn('ana@example.com');
    const pages = [
      await site.get('/sign-in'),
      await site.get(''),
      await site.get(KEYS, cookie),
      await site.create(cookie),
      await site.get('/none', cookie),
    ];
    expect(pages.map(({ status }) => status)).toEqual([200, 303, 200, 201, 404]);
    for (const { headers } of pages) {
      expect(headers.get('Cache-Control')).toBe('no-store');
      expect(headers.get('X-Frame-Options')).toBe('DENY');
      expect(headers.get('Content-Security-Policy')).toBe(POLICY.join('; '));
    }
  });

  it('says no-store, so that a shared cache does not give it to another visitor', async () => {
    const ana = site.signIn('ana@example.com');
    const dan = site.signIn('dan@example.com');
    const port = Number(new URL(site.origin).port);
    const through = async (options: CacheOptions) => {
      const cache = await startCache(port, options);
      const ask = async (cookie: string) =>
        (await site.send(KEYS, { headers: { Cookie: cookie } }, cache.origin)).text;
      const texts = [await ask(ana), await ask(dan), await ask('')];
      await cache.stop();
      return { texts, hits: cache.hits() };
    };
    const own = [(await site.get(KEYS, ana)).text, (await site.get(KEYS, dan)).text, ''];
    expect(await through({ credulous: false })).toEqual({ texts: own, hits: 0 });
    const shared = await through({ credulous: false, insteadOfNoStore: 'max-age=3600' });
    expect(shared).toEqual({ texts: [own[0], own[0], own[0]], hits: 2 });
  });

  it('reveals nothing about a broken store', async () => {
    const reported: unknown[] = [];
    const broken = new StoreError('store.insert failed: see causeOf', new Error('secret row'));
    const fail = () => Promise.reject(broken);
    const keyring = { ...site.platform.keyring, issue: fail, list: fail };
    const link = createDemoLink(site.platform);
    const app = createConsole({
      ...serviceOf(site.platform, link),
      keyring,
      report: (error) => reported.push(error),
    });
    const ask = async (path: string, init: RequestInit = {}) =>
      app.request(`${site.origin}/console${path}`, init);
    const postTo = (path: string, fields: Fields, Cookie = '') =>
      ask(path, {
        method: 'POST',
        body: formBody(fields),
        headers: { Origin: site.origin, Cookie },
      });
    const entered = await postTo('/sign-in', { link: linkIn(link.open()) });
    const cookie = cookieOf(entered);
    const form = await ask(`${KEYS}/new`, { headers: { Cookie: cookie } });
    const csrf = csrfOf({ text: await form.text() });
    const answer = await postTo(KEYS, { csrf, ...WHOLE }, cookie);
    const text = await answer.text();
    expect([answer.status, answer.headers.get('Retry-After'), reported]).toEqual([
      503,
      '1',
      [broken],
    ]);
    expect(text).toContain('Check the list of keys before you try again');
    const list = await ask(KEYS, { headers: { Cookie: cookie } });
    const listed = await list.text();
    expect([list.status, reported]).toEqual([503, [broken, broken]]);
    expect(listed).toContain('The key store did not answer. Try again in a moment.');
    for (const page of [text, listed]) expect(page).not.toContain('secret row');
  });

  it('contains a key on one page only, and the disk never contains it', async () => {
    const cookie = site.signIn('ana@example.com');
    const key = keyOf(await site.create(cookie));
    const { key_id } = await site.me(key);
    await site.get(KEYS, cookie);
    await site.get(`${KEYS}/${key_id}`, cookie);
    expect(site.answers.filter((text) => text.includes(key))).toHaveLength(1);
    const stored = readFileSync(site.platform.file, 'latin1');
    expect(stored.includes(key)).toBe(false);
  });
});
