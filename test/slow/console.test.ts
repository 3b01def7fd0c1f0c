/**
 * The console as somebody uses it: "Obtaining a key" of the interface, step by step, in Chromium.
 */
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

/** What in a page is wider than its place, so that a part of it is not seen. */
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

  // What a page complains of, a script or a style that its policy keeps out among it.
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
    // As it is printed, where this server is.
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
    for (const name of ['Settings', 'Configuration', 'API Keys'])
      await main(page).getByRole('link', { name }).click();
    await page.getByRole('link', { name: 'Create API Key' }).click();
  }
  const me = async (key: string) =>
    (
      await fetch(`${origin}/v1/me`, { headers: { Authorization: `Bearer ${key}` } })
    ).json() as Promise<object>;
  const count = async () =>
    (await platform.keyring.list({ limit: 1000 }, { entityUuid: ENTITY })).keys.length;

  it('makes a key by the six steps of the interface; it works and is not shown again', async () => {
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
      name: /^Nightly export \w+_…\w{4} Active threats:read reports:read/,
    });
    expect(await row.count()).toBe(1);
    expect(await page.content()).not.toContain(key);
    await row.getByRole('link', { name: 'Nightly export' }).click();
    await page.getByRole('heading', { name: 'Nightly export' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('sends the link in no Referer, on the way in', async () => {
    const referers: unknown[] = [];
    server.on('request', ({ headers }) => referers.push(headers.referer));
    const page = await visit();
    await signIn(page);
    await page.getByText('ana@example.com, admin').waitFor();
    expect(page.url()).toBe(`${origin}/console`);
    expect(referers).toContain(`${origin}/`);
    expect(referers.filter((referer) => String(referer).includes('link'))).toEqual([]);
  });

  /** Signs in and fills the form in, up to the last step. */
  async function fillIn(page: Page, name: string): Promise<void> {
    await signIn(page);
    await openForm(page);
    await page.getByLabel('Name').fill(name);
  }

  it('does the same where no script runs', async () => {
    const page = await visit({ javaScriptEnabled: false });
    await fillIn(page, 'Without scripts');
    await page.getByRole('button', { name: 'Create' }).click();
    expect(await me(await page.getByLabel('API key', { exact: true }).inputValue())).toMatchObject({
      scopes: [],
    });
  });

  it('makes one key of two clicks, and shows it', async () => {
    // Slow, so that the second click comes before the answer to the first.
    const issue: Platform['keyring']['issue'] = async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return platform.keyring.issue(...given);
    };
    const slow = createServer({ ...platform, keyring: { ...platform.keyring, issue } }, link);
    const page = await visit({}, new URL(await listen(slow, 0)).origin);
    await fillIn(page, 'Two clicks');
    const before = await count();
    // In two turns of the page, as a hand does it; of two clicks in one, Chromium drops the first.
    const click = "() => document.querySelector('form button.button').click()";
    await page.evaluate(`for (const ms of [0, 100]) setTimeout(${click}, ms)`);
    const key = await page.getByLabel('API key', { exact: true }).inputValue();
    expect(await me(key)).toMatchObject({ entity_uuid: ENTITY });
    expect(await count()).toBe(before + 1);
    await stop(slow);
  });

  it('neither shows the key again nor makes another when its page is loaded again', async () => {
    const page = await visit();
    await fillIn(page, 'Reloaded');
    await page.getByRole('button', { name: 'Create' }).click();
    const key = await page.getByLabel('API key', { exact: true }).inputValue();
    const before = await count();
    await page.reload();
    await page.getByRole('heading', { name: 'Reloaded' }).waitFor();
    expect(await page.content()).not.toContain(key);
    expect(await count()).toBe(before);
    await page.goBack();
    await page.getByRole('heading', { name: 'Create API Key' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('takes the key out of its page when that is left, for it may come back', async () => {
    const page = await visit();
    await fillIn(page, 'Left');
    await page.getByRole('button', { name: 'Create' }).click();
    const field = page.getByLabel('API key', { exact: true });
    const key = await field.inputValue();
    await page.waitForLoadState('load'); // The page's script listens.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    expect(await field.inputValue()).toBe('');
    expect(await page.content()).not.toContain(key);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await page.getByRole('heading', { name: 'Left' }).waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('replaces a key, and revokes one with a second look', async () => {
    const page = await visit();
    await fillIn(page, 'Replaced');
    await page.getByRole('button', { name: 'Create' }).click();
    const old = await page.getByLabel('API key', { exact: true }).inputValue();
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Replaced' }).click();
    await page.getByRole('button', { name: 'Replace by a new key' }).click();
    const next = await page.getByLabel('API key', { exact: true }).inputValue();
    expect(await Promise.all([me(old), me(next)])).toMatchObject([
      { entity_uuid: ENTITY },
      { entity_uuid: ENTITY },
    ]);

    await page.getByRole('link', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /^Replaced \w+_…\w{4} Replaced, in its overlap/ })
      .getByRole('link')
      .click();
    expect(await page.getByRole('button', { name: 'Revoke for good' }).count()).toBe(0);
    await page.getByText('Revoke', { exact: true }).click();
    await page.getByRole('button', { name: 'Revoke for good' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    expect(await Promise.all([me(old), me(next)])).toMatchObject([
      { status: 401 },
      { entity_uuid: ENTITY },
    ]);
  });

  /** A key of another organization, which reaches this one. */
  async function issueElsewhere(name: string): Promise<void> {
    const input = { name, scopes: ['threats:*', 'decoys:read'], expiresAt: 'never' } as const;
    const authority = { entityUuid: OTHER_ENTITY, entities: [ENTITY], scopes: 'all' } as const;
    await platform.keyring.issue({ ...input, accessibleEntities: [ENTITY] }, authority);
  }

  // On a phone, the tables were cut behind the second column, and the new key behind its middle.
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const)('keeps nobody out: %s, %i pixels wide', async (colorScheme, width) => {
    const page = await visit({ colorScheme, viewport: { width, height: 800 } });
    // No page is wider than the screen.
    const wide = () => page.evaluate('document.documentElement.scrollWidth');
    const look = async () => {
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
    // The first field that was wrong has the focus, so the next word goes into it.
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
    await page.getByLabel('Why').first().fill('looks odd');
    await page.getByRole('button', { name: 'Suspend' }).press('Enter');
    await page.getByText(': looks odd').waitFor();
    await look();
    await page.getByRole('button', { name: 'Resume' }).press('Enter');
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
    await page.getByText('Revoke', { exact: true }).press('Enter');
    await look();
    await page.getByRole('link', { name: 'API Keys' }).click();
    await page.getByRole('link', { name: 'Keys of others' }).click();
    await page.getByRole('heading', { name: 'Keys of others' }).waitFor();
    const withdraw = page.getByRole('button', { name: `Withdraw for good from ${name}` });
    expect(await withdraw.count()).toBe(0);
    await page.getByLabel(`Withdraw from ${name}`).press('Enter');
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
  });
});
