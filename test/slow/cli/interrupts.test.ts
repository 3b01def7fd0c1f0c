/** Signals at any moment. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import {
  ENTITY,
  ended,
  issueIn,
  openPlace,
  type Place,
  sqliteConfig,
} from '../../support/command.ts';

let place: Place;
afterEach(() => place.remove());

const ON = ['--entity', ENTITY];
const ISSUE = ['issue', ...ON, '--name', 'CI', '--scopes', '', '--expires', 'never'];

/** A store with a slow method that logs its calls. */
function slow(method: string, ms: number): string {
  return `
    const fast = store;
    store = { ...fast, async ${method}(...args) {
      console.error('now');
      await new Promise((resolve) => setTimeout(resolve, ${ms}));
      return fast.${method}(...args);
    } };`;
}

/** Sends each signal after the next output on standard error. */
async function interrupt(args: readonly string[], signals: readonly NodeJS.Signals[]) {
  const child = place.start(args);
  const ran = ended(child);
  for (const signal of signals) {
    const heard = once(child.stderr, 'data');
    await heard;
    child.kill(signal);
  }
  return ran;
}

async function countKeys(): Promise<number> {
  place.write('plain.mjs', sqliteConfig());
  const { stdout } = await place.run(['list', ...ON, '--json', '--config', 'plain.mjs']);
  return stdout.split('\n').length - 1;
}

describe('a signal', () => {
  it('during an issue lets the command finish and deliver the key', async () => {
    place = openPlace(sqliteConfig(slow('insert', 500)));
    const { stdout, stderr, exit } = await interrupt(ISSUE, ['SIGINT']);
    expect(stdout).toMatch(/^acme_\w{32}\n$/);
    expect(stderr).toContain('Finishing the change.');
    expect(stderr).toContain('and was completed');
    expect(exit).toBe(130);
    expect(await countKeys()).toBe(1);
  });

  it('that is sent twice stops the command, which says that the outcome is unknown', async () => {
    place = openPlace(sqliteConfig(slow('insert', 60_000)));
    const { stdout, stderr, exit } = await interrupt(ISSUE, ['SIGINT', 'SIGTERM']);
    expect(stdout).toBe('');
    expect(stderr).toContain('The change may or may not be written.');
    expect(exit).toBe(143);
  });

  it('during a read stops the command, which has changed nothing', async () => {
    place = openPlace(sqliteConfig(slow('list', 60_000)));
    const { stderr, exit } = await interrupt(['list', ...ON], ['SIGTERM']);
    expect(stderr).toContain('Interrupted. Nothing was changed.');
    expect(exit).toBe(143);
  });

  it('before a change prevents it, however long close takes', async () => {
    const closing = 'async close() { await new Promise((r) => setTimeout(r, 1_000)); },';
    place = openPlace(sqliteConfig(slow('findById', 300), closing));
    place.write('plain.mjs', sqliteConfig());
    const { keyId } = await issueIn(place, 'CI', ['--config', 'plain.mjs']);
    const { exit } = await interrupt(['revoke', keyId, ...ON, '--yes'], ['SIGINT']);
    expect(exit).toBe(130);
    const shown = await place.run(['show', keyId, ...ON, '--json', '--config', 'plain.mjs']);
    expect(shown.stdout).toContain('"state":"live"');
  });

  it('before the config has loaded leaves no file of --out', async () => {
    const config = `console.error('now'); await new Promise((r) => setTimeout(r, 300));`;
    place = openPlace(sqliteConfig(config));
    const { exit } = await interrupt([...ISSUE, '--out', 'key.txt'], ['SIGINT']);
    expect(exit).toBe(130);
    expect(existsSync(place.file('key.txt'))).toBe(false);
    expect(await countKeys()).toBe(0);
  });
});
