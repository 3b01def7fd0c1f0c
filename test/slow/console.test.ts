/** The console in Chromium: "Obtaining a key" of the interface step by step, and all pages. */
import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Link } from '../../examples/console/link.ts';
import { createDemoLink, createServer } from '../../examples/console/server.ts';
import type { Platform } from '../../examples/platform/host/boot.ts';
import { ENTITY, OTHER_ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import type { Browser, BrowserContext, Page } from '../support/browser.ts';
import { barriers, describeWithBrowser, launch } from '../support/browser.ts';
import { folder } from '../support/folder.ts';

/** The elements of a page that are wider than their place, so that a part is cut off. */
const CUT = `[...document.querySelectorAll('main *')]
  .filter(({ clientWidth, scrollWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
  .map(({ outerHTML }) => outerHTML.slice(0, 100))`;

describeWithBrowser('the console in a browser', { timeout: 30_000 }, () => {
  const files = folder();
  let platform: Platform;
  let link: Link;
  let server: Server;
  let origin: string;
  let browser: Browser;

  beforeAll(async () => {
    platform = await openPlatform(files.file('console'));
    link = createDemoLink(platform);
    server = createServer(platform, link);
    origin = new URL(await listen(server, 0)).origin;
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await stop(server);
    await platform.close();
    files.remove();
  });

  // The console messages of the pages, for example about a script that their policy blocks.
  let complaints: string[] = [];
  let context: BrowserContext;
  const visit = async (options: object = {}, at = origin): Promise<Page> => {
    context = await browser.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    });
    const page = await context.newPage();
    for (const event of ['console', 'pageerror'] as const)
      page.on(event, (message) => complaints.push(String(message.text?.() ?? message.message)));
    // The demo prints this path; the server of the test has its own origin.
    const { pathname, search } = new URL(link.open());
    await page.goto(`${at}${pathname}${search}`);
    return page;
  };
  beforeEach(() => {
    complaints = [];
  });
  afterEach(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });

  const main = (page: Page) => page.getByRole('main');
  async function signIn(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  async function openForm(page: Page): Promise<void> {
    // Signing in leads to Settings, Configuration, API Keys.
    await main(page).getByRole('heading', { name: 'API Keys' }).waitFor();
    await page.getByRole('link', { name: 'Create API Key' }).click();
  }
  const me = async (key: string) =>
    (
      await fetch(`${origin}/v1/me`, { headers: { Authorization: `Bearer ${key}` } })
    ).json() as Promise<object>;
  const count = async () =>
    (await platform.keyring.list({ limit: 1000 }, { entityId: ENTITY })).keys.length;

  it('creates a key in the six steps of the interface, and shows it once', async () => {
    const page = await visit();
    await signIn(page); // 1
    await openForm(page); // 2, 3
    await page.getByLabel('Name').fill('Nightly export'); // 4
    await page.getByRole('checkbox', { name: /^threats:read/ }).check(); // 5
    await page.getByRole('checkbox', { name: /^reports:read/ }).check();
    await page.getByRole('button', { name: 'Create' }).click(); // 6
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    const key = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(await page.getByLabel('API key', { exact: true }).inputValue()).toBe(key);
    expect(await me(key)).toMatchObject({
      entity_uuid: ENTITY,
      scopes: ['threats:read', 'reports:read'],
    });

    await page.getByRole('link', { name: 'Done' }).click();
    const row = page.getByRole('row', {
      name: /^Nightly export \w+_…\w{4} Live threats:read reports:read/,
    });
    expect(await row.count()).toBe(1);
    expect(await page.content()).not.toContain(key);
    await row.getByRole('link', { name: 'Nightly export' }).click();
    await page.getByRole('heading', { name: 'Nightly export' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('sends the link in no Referer', async () => {
    const referers: unknown[] = [];
    server.on('request', ({ headers }) => referers.push(headers.referer));
    const page = await visit();
    await signIn(page);
    await page.getByText('ana@example.com, admin').waitFor();
    expect(page.url()).toBe(`${origin}/console/settings/configuration/api-keys`);
    expect(referers).toContain(`${origin}/`);
    expect(referers.filter((referer) => String(referer).includes('link'))).toEqual([]);
  });

  /** Signs in and fills in the form, up to the last step. */
  async function fillIn(page: Page, name: string): Promise<void> {
    await signIn(page);
    await openForm(page);
    await page.getByLabel('Name').fill(name);
    await page.getByRole('checkbox', { name: /^threats:read/ }).check();
  }

  it('creates a key without script', async () => {
    const page = await visit({ javaScriptEnabled: false });
    await fillIn(page, 'Without scripts');
    await page.getByRole('button', { name: 'Create' }).click();
    expect(await me(await page.getByLabel('API key', { exact: true }).inputValue())).toMatchObject({
      scopes: ['threats:read'],
    });
  });

  it('creates one key from two clicks, and shows it', async () => {
    // Slow, so that the second click comes before the answer to the first.
    const issue: Platform['keyring']['issue'] = async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return platform.keyring.issue(...given);
    };
    const slow = createServer({ ...platform, keyring: { ...platform.keyring, issue } }, link);
    const page = await visit({}, new URL(await listen(slow, 0)).origin);
    await fillIn(page, 'Two clicks');
    const before = await count();
    // In two turns of the page, like a hand. Chromium drops the first of two clicks in one turn.
    const click = "() => document.querySelector('form button.button').click()";
    await page.evaluate(`for (const ms of [0, 100]) setTimeout(${click}, ms)`);
    const key = await page.getByLabel('API key', { exact: true }).inputValue();
    expect(await me(key)).toMatchObject({ entity_uuid: ENTITY });
    expect(await count()).toBe(before + 1);
    await stop(slow);
  });

  it('neither shows the key again nor creates another when its page is reloaded', async () => {
    const page = await visit();
    await fillIn(page, 'Reloaded');
    await page.getByRole('button', { name: 'Create' }).click();
    const key = await page.getByLabel('API key', { exact: true }).inputValue();
    const before = await count();
    await page.waitForLoadState('load'); // The page's script has set its address.
    await page.reload();
    await page.getByRole('heading', { name: 'Reloaded' }).waitFor();
    expect(await page.content()).not.toContain(key);
    expect(await count()).toBe(before);
    await page.goBack();
    await page.getByRole('heading', { name: 'Create API Key' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('removes the key from its page when the visitor leaves', async () => {
    const page = await visit();
    await fillIn(page, 'Left');
    await page.getByRole('button', { name: 'Create' }).click();
    const field = page.getByLabel('API key', { exact: true });
    const key = await field.inputValue();
    await page.waitForLoadState('load'); // Now the page's script listens.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    expect(await field.inputValue()).toBe('');
    expect(await page.content()).not.toContain(key);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await page.getByRole('heading', { name: 'Left' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('rotates a key, revokes one after a second click, and reports both', async () => {
    const page = await visit();
    await fillIn(page, 'Replaced');
    await page.getByRole('button', { name: 'Create' }).click();
    const old = await page.getByLabel('API key', { exact: true }).inputValue();
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Replaced' }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page
      .getByText('Key rotated. The old key works for another day. Copy the new key now')
      .waitFor();
    const next = await page.getByLabel('API key', { exact: true }).inputValue();
    expect(await Promise.all([me(old), me(next)])).toMatchObject([
      { entity_uuid: ENTITY },
      { entity_uuid: ENTITY },
    ]);

    await page.getByRole('link', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /^Replaced \w+_…\w{4} Live, replaced/ })
      .getByRole('link')
      .click();
    const revoke = page.getByRole('button', { name: 'Revoke', exact: true });
    expect(await revoke.count()).toBe(0);
    await page.getByText('Revoke…').click();
    await revoke.click();
    await page.getByText('Key revoked. It cannot be used again.').waitFor();
    await page.getByRole('row', { name: /^Revoked .* ana@example\.com/ }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Replaced' }).waitFor();
    expect(await page.getByText('Key revoked.').count()).toBe(0);
    expect(await Promise.all([me(old), me(next)])).toMatchObject([
      { status: 401 },
      { entity_uuid: ENTITY },
    ]);
  });

  /** A key of another organization, which reaches this one. */
  async function issueElsewhere(name: string): Promise<void> {
    const input = { name, scopes: ['threats:*', 'decoys:read'], expiresAt: 'never' } as const;
    const authority = { entityId: OTHER_ENTITY, entities: [ENTITY], scopes: 'all' } as const;
    await platform.keyring.issue({ ...input, accessibleEntities: [ENTITY] }, authority);
  }

  // On a phone, tables were once cut off after the second column, and new keys in the middle.
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const)(
    'has no barriers and cuts nothing off: %s, %i px wide',
    async (colorScheme, width) => {
      const page = await visit({ colorScheme, viewport: { width, height: 800 } });
      // No page is wider than the screen.
      const wide = () => page.evaluate('document.documentElement.scrollWidth');
      const look = async () => {
        await page.waitForLoadState('load'); // The script of a new key's page sets its address.
        const seen = [page.url(), await barriers(page), await wide(), await page.evaluate(CUT)];
        expect(seen).toEqual([page.url(), [], width, []]);
      };
      const name = `A ${colorScheme} key of ${width}`;
      await issueElsewhere(name);
      await look();
      await fillIn(page, ' ');
      await look();
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('alert').waitFor();
      await look();
      // The first wrong field has the focus, so typing corrects it.
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Copy' }).waitFor();
      await look();
      await page.getByRole('link', { name: 'Done' }).click();
      await look();
      await page.getByLabel('Search').fill(name);
      await page.getByLabel('Search').press('Enter');
      await page.getByRole('link', { name: 'All keys' }).waitFor();
      await look();
      await page.getByRole('link', { name }).click();
      await look();
      await page.getByLabel('Reason (optional').first().fill('looks odd');
      await page.getByRole('button', { name: 'Suspend' }).press('Enter');
      await page.getByRole('row', { name: /^Suspended .* looks odd$/ }).waitFor();
      await look();
      await page.getByRole('button', { name: 'Resume' }).press('Enter');
      await page.getByRole('button', { name: 'Suspend' }).waitFor();
      await page.getByText('Revoke…').press('Enter');
      await look();
      await page.getByRole('link', { name: 'API Keys' }).click();
      await page.getByRole('link', { name: 'Keys of other organizations' }).click();
      await page.getByRole('heading', { name: 'Keys of other organizations' }).waitFor();
      const withdraw = page.getByRole('button', { name: `Withdraw access of ${name} permanently` });
      expect(await withdraw.count()).toBe(0);
      await page.getByLabel(`Withdraw access of ${name}`).first().press('Enter');
      await look();
      await withdraw.press('Enter');
      await page.getByRole('row', { name: new RegExp(`^${name} .* Withdrawn$`) }).waitFor();
      await look();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('Open the link that the demo printed').waitFor();
      await look();
      const { pathname, search } = new URL(link.open());
      await page.goto(`${origin}${pathname}${search}x`);
      await page.getByRole('alert').waitFor();
      await look();
      const statuses = [expect.stringContaining('400'), expect.stringContaining('403')];
      expect(complaints).toEqual(statuses);
      complaints = [];
    },
  );
});
