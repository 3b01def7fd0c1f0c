/**
 * `npm run lab -- screenshots` walks through the console in Chromium and takes the pictures of the
 * documentation again. With `-- FOLDER` it takes every page, light, dark and on a phone, to check a
 * change of the design.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDemoLink, createServer } from '../../examples/console/server.ts';
import { openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import type { Browser, Page } from '../support/browser.ts';
import { launch } from '../support/browser.ts';
import { folder } from '../support/folder.ts';
import type { Year } from './keys.ts';
import { makeKeys, TODAY } from './keys.ts';
import { withPalette } from './palette.ts';

interface Look {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

const LOOKS: readonly Look[] = [
  { name: 'light', options: { colorScheme: 'light', viewport: { width: 1280, height: 1110 } } },
  { name: 'dark', options: { colorScheme: 'dark', viewport: { width: 1280, height: 1110 } } },
  {
    name: 'phone',
    options: { colorScheme: 'light', viewport: { width: 390, height: 700 }, deviceScaleFactor: 2 },
  },
];

const IN_README = ['list-light', 'list-dark', 'key-light', 'key-dark', 'shown-once-phone'];
const README_FOLDER = 'examples/console/screenshots';

const everything = process.argv[2];
const destination = everything ?? README_FOLDER;

type Take = (name: string) => Promise<void>;

async function signIn(page: Page, take: Take): Promise<void> {
  await take('sign-in');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'API Keys' }).waitFor();
  await take('list');
}

async function search(page: Page, take: Take): Promise<void> {
  await page.getByLabel('Search').fill('threats');
  await page.getByRole('button', { name: 'Search' }).click();
  await take('search');
  await page.getByLabel('Search').fill('nothing of that name');
  await page.getByRole('button', { name: 'Search' }).click();
  await take('search-empty');
  await page.getByRole('link', { name: 'Show all keys' }).click();
}

async function create(page: Page, take: Take): Promise<void> {
  await page.getByRole('link', { name: 'Create API Key' }).click();
  await take('form');
  await page.getByLabel('Name').fill(' ');
  await page.getByRole('checkbox', { name: /^threats:read/ }).check();
  await page.getByRole('checkbox', { name: /^users:delete/ }).check();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('alert').waitFor();
  await take('form-faults');
  await page.getByLabel('Name').fill('Leavers of the week');
  await page.getByLabel('Reason for the reserved scopes').fill('Deletes users who leave.');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied.').waitFor();
  await take('shown-once');
  await page.getByRole('link', { name: 'Done' }).click();
}

async function manage(page: Page, take: Take): Promise<void> {
  const open = async (name: string) => {
    await page.getByRole('link', { name }).first().click();
    await page.getByRole('heading', { name }).waitFor();
  };
  const back = () => page.getByRole('link', { name: 'API Keys' }).click();
  await open('SOC dashboard');
  await take('key');
  await page.getByLabel('Reason (optional').first().fill('looks odd');
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('row', { name: /looks odd$/ }).waitFor();
  await page.getByText('Revoke…').click();
  await take('key-suspended');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Rotate key' }).click();
  await take('rotated');
  await page.getByRole('link', { name: 'Done' }).click();
  await page
    .getByRole('row', { name: /^SOC dashboard .*Live, replaced/ })
    .getByRole('link')
    .click();
  await page.getByText('Revoke…').click();
  await take('key-rotated');
  for (const name of ['Offboarding', 'Decoy roll-out', 'Canary watch', 'Unreadable']) {
    await back();
    await open(name);
    await take(`key-${name.toLowerCase().replace(' ', '-')}`);
  }
  await back();
}

async function others(page: Page, take: Take): Promise<void> {
  await page.getByRole('link', { name: 'Keys of other organizations' }).click();
  await page.getByRole('heading', { name: 'Keys of other organizations' }).waitFor();
  await take('others');
  await page.getByLabel('Withdraw access of Night shift').first().click();
  await take('others-withdraw');
  await page.getByRole('button', { name: /^Withdraw access of Night shift/ }).click();
  await page.getByRole('row', { name: /^Night shift .* Withdrawn$/ }).waitFor();
  await take('others-withdrawn');
}

interface Opened extends Year {
  /** Signs in. */
  readonly link: string;
  close(): Promise<void>;
}

async function open(file: string): Promise<Opened> {
  const clock = { at: TODAY };
  const platform = await openPlatform(file, { now: () => clock.at });
  const link = createDemoLink(platform);
  const server = createServer(platform, link);
  const { origin } = new URL(await listen(server, 0));
  const close = async () => {
    await stop(server);
    await platform.close();
  };
  const { pathname, search } = new URL(link.open());
  return { platform, clock, origin, link: `${origin}${pathname}${search}`, close };
}

/** Each look gets its own platform, because the walk changes keys. */
async function walk(browser: Browser, look: Look, file: string): Promise<void> {
  const year = await open(file);
  await makeKeys(year);
  const permissions = ['clipboard-read', 'clipboard-write'];
  const context = await browser.newContext({ permissions, ...look.options });
  const page = await context.newPage();
  const take: Take = async (name) => {
    const picture = `${name}-${look.name}`;
    if (everything === undefined && !IN_README.includes(picture)) return;
    await page.waitForLoadState('load');
    // The documentation shows the part that is visible without scrolling.
    const png = withPalette(await page.screenshot({ fullPage: everything !== undefined }));
    writeFileSync(join(destination, `${picture}.png`), png);
    console.log(`${picture}.png, ${Math.ceil(png.length / 1000)} kB`);
  };
  await page.goto(year.link);
  await signIn(page, take);
  await search(page, take);
  await create(page, take);
  await manage(page, take);
  await others(page, take);
  await context.close();
  await year.close();
}

mkdirSync(destination, { recursive: true });
const files = folder();
const browser = await launch();
try {
  for (const look of LOOKS) await walk(browser, look, files.file(look.name));
} finally {
  await browser.close();
  files.remove();
}
