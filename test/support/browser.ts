/** A real Chromium. It comes from npm and runs on Linux; elsewhere these tests are skipped. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe } from 'vitest';

const { CI } = process.env;

/**
 * The part of playwright-core in use. It is installed only for these tests and has no types here.
 */
export interface Browser {
  newContext(options?: Readonly<Record<string, unknown>>): Promise<BrowserContext>;
  close(): Promise<void>;
}
export interface BrowserContext {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}
export interface Page {
  goto(url: string): Promise<unknown>;
  goBack(): Promise<unknown>;
  goForward(): Promise<unknown>;
  reload(): Promise<unknown>;
  waitForURL(url: string): Promise<void>;
  waitForLoadState(state: 'load'): Promise<void>;
  url(): string;
  content(): Promise<string>;
  screenshot(options: { readonly fullPage: boolean }): Promise<Buffer>;
  evaluate<T>(script: string): Promise<T>;
  getByRole(
    role: string,
    options?: { readonly name?: string | RegExp; readonly exact?: boolean },
  ): Locator;
  getByText(text: string, options?: { readonly exact?: boolean }): Locator;
  getByLabel(text: string, options?: { readonly exact?: boolean }): Locator;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  on(
    event: 'console' | 'pageerror',
    heard: (message: { text?(): string; message?: string }) => void,
  ): unknown;
}
export interface Locator {
  getByRole: Page['getByRole'];
  first(): Locator;
  fill(text: string): Promise<void>;
  press(key: string): Promise<void>;
  check(): Promise<void>;
  click(): Promise<void>;
  count(): Promise<number>;
  waitFor(): Promise<void>;
  inputValue(): Promise<string>;
  textContent(): Promise<string | null>;
}

const load = createRequire(new URL('../browser/package.json', import.meta.url));

interface Installed {
  readonly playwright: { readonly chromium: { launch(options: object): Promise<Browser> } };
  readonly chromium: { executablePath(): Promise<string> };
  /** The source of axe, to run in a page. */
  readonly axe: string;
}

async function installed(): Promise<Installed> {
  const { default: chromium } = (await import(load.resolve('@sparticuz/chromium'))) as {
    readonly default: Installed['chromium'];
  };
  const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
  return { playwright: load('playwright-core') as Installed['playwright'], chromium, axe };
}

function isThere(): boolean {
  try {
    return (
      process.platform === 'linux' &&
      process.arch === 'x64' &&
      load.resolve('@sparticuz/chromium') !== ''
    );
  } catch {
    return false;
  }
}

/**
 * `describe` for tests that need a browser. Without one they are skipped by name; with `CI=true`
 * they fail.
 */
export const describeWithBrowser: typeof describe.skip =
  isThere() || CI === 'true' ? describe : describe.skip;

export async function launch(): Promise<Browser> {
  const { playwright, chromium } = await installed();
  // Without the flags of the package, which turn off the separation of origins. The sandbox needs
  // more than a container allows, and these tests only visit their own pages.
  return playwright.chromium.launch({
    executablePath: await chromium.executablePath(),
    chromiumSandbox: false,
  });
}

/** Returns the accessibility violations that axe finds on a page: rule and elements. */
export async function barriers(page: Page): Promise<readonly string[]> {
  const { axe } = await installed();
  const script = `${axe}; axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`;
  return page.evaluate(script);
}
