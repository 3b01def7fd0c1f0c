/** The console in Chromium, served by two processes: each page and form goes to the other one. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ENTITY, openPlatform, type Platform } from '../../examples/platform/host/boot.ts';
import { type AlternatingProxy, openAlternatingProxy } from '../support/alternating-proxy.ts';
import type { Browser, BrowserContext, Page } from '../support/browser.ts';
import { describeWithBrowser, launch } from '../support/browser.ts';
import { folder } from '../support/folder.ts';
import {
  environmentWith,
  PROGRAMS,
  type RunningServer,
  START_TIMEOUT,
  startServer,
} from '../support/service-process.ts';

describeWithBrowser('the console in two processes', { timeout: START_TIMEOUT }, () => {
  const files = folder();
  let proxy: AlternatingProxy;
  let processes: readonly RunningServer[];
  let platform: Platform;
  let browser: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    proxy = await openAlternatingProxy((path) => /^\/console\/(?:style|script)$/.test(path));
    const own = { FOLDER: files.file('console'), PUBLIC_URL: proxy.origin };
    const env = environmentWith(files.file('cache'), own);
    const start = () => startServer(PROGRAMS.consoleChild, [], env);
    processes = await Promise.all([start(), start()]);
    proxy.servers.push(...processes.map(({ origin }) => origin));
    platform = await openPlatform(files.file('console'));
    browser = await launch();
  }, START_TIMEOUT);
  afterEach(() => context.close());
  afterAll(async () => {
    await browser.close();
    await platform.close();
    await proxy.close();
    await Promise.all(processes.map((each) => each.stop()));
    files.remove();
  });

  async function signIn(options: Readonly<Record<string, unknown>> = {}): Promise<Page> {
    context = await browser.newContext(options);
    const page = await context.newPage();
    await page.goto(`${proxy.origin}/console`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'API Keys' }).waitFor();
    return page;
  }

  /** Creates a key from the list. @returns The key that the page shows. */
  async function create(page: Page, name: string): Promise<string> {
    await page.getByRole('link', { name: 'Create API Key' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('checkbox', { name: /^threats:read/ }).check();
    await page.getByRole('button', { name: 'Create' }).click();
    return shownOn(page);
  }

  async function shownOn(page: Page): Promise<string> {
    await page.getByText('Copy the new key now').waitFor();
    await page.waitForLoadState('load'); // The page's script has set its address.
    return page.getByLabel('API key', { exact: true }).inputValue();
  }

  async function open(page: Page, name: string): Promise<void> {
    await page.getByRole('link', { name: 'API Keys' }).click();
    await page.getByRole('link', { name }).first().click();
    await page.getByRole('heading', { name }).waitFor();
  }

  const statusOf = async (key: string): Promise<number> => {
    const headers = { Authorization: `Bearer ${key}` };
    return (await fetch(`${proxy.origin}/v1/me`, { headers })).status;
  };
  const count = async (): Promise<number> =>
    (await platform.keyring.list({ limit: 1000 }, { entityId: ENTITY })).keys.length;

  it('shows each of several keys in a row once', async () => {
    const page = await signIn();
    const before = await count();
    const keys: string[] = [];
    for (const name of ['Row 1', 'Row 2', 'Row 3', 'Row 4']) {
      keys.push(await create(page, name));
      await page.getByRole('link', { name: 'Done' }).click();
      await page.getByRole('link', { name }).waitFor();
      const text = await page.content();
      for (const key of keys) expect(text).not.toContain(key);
    }
    expect(new Set(keys).size).toBe(4);
    expect(await Promise.all(keys.map(statusOf))).toEqual([200, 200, 200, 200]);
    expect(await count()).toBe(before + 4);
    const posts = proxy.passed.filter((line) => line.startsWith('POST /console/settings'));
    expect(new Set(posts.map((line) => line.slice(-1)))).toEqual(new Set(['0', '1']));
  });

  it('creates no other key at a reload, Back or Forward, and shows the key no more', async () => {
    const page = await signIn();
    const key = await create(page, 'Moved');
    const before = await count();
    const look = async (heading: string) => {
      await page.getByRole('heading', { name: heading }).waitFor();
      expect(await page.content()).not.toContain(key);
      expect(await count()).toBe(before);
    };
    await page.reload();
    await look('Moved');
    await page.goBack();
    await look('Create API Key');
    await page.goForward();
    await look('Moved');
    await page.goBack();
    await page.goBack();
    await look('API Keys');
    expect(await create(page, 'Moved on')).not.toBe(key);
    await page.goBack();
    await page.goForward();
    await page.getByRole('heading', { name: 'Moved on' }).waitFor();
    expect(await count()).toBe(before + 1);
  });

  it.each([true, false])(
    'rotates, suspends, resumes and revokes a key, and says so once; with script: %s',
    async (javaScriptEnabled) => {
      const page = await signIn({ javaScriptEnabled });
      const name = `Life ${javaScriptEnabled}`;
      const old = await create(page, name);
      await open(page, name);
      await page.getByRole('button', { name: 'Rotate key' }).click();
      const key = await shownOn(page);
      expect(await Promise.all([old, key].map(statusOf))).toEqual([200, 200]);

      /** Clicks, and looks at the notice, which a reload removes. */
      const act = async (button: string, notice: string) => {
        await page.getByRole('button', { name: button, exact: true }).click();
        await page.getByText(notice).waitFor();
        await page.reload();
        await page.getByRole('heading', { name }).waitFor();
        expect(await page.getByText(notice).count()).toBe(0);
      };
      // The newest key is the first of the list.
      await open(page, name);
      await act('Suspend', 'Key suspended. Requests with it are refused until you resume it.');
      expect(await statusOf(key)).toBe(401);
      await act('Resume', 'Key resumed.');
      expect(await statusOf(key)).toBe(200);
      await page.getByText('Revoke…').click();
      await act('Revoke', 'Key revoked. It cannot be used again.');
      expect(await Promise.all([old, key].map(statusOf))).toEqual([200, 401]);
      await page.goBack();
      await page.getByRole('heading', { name }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
    },
  );
});
