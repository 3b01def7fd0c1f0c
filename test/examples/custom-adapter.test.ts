/** The example of an adapter for a framework of one's own: how small it is, and the contract as a user runs it. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Handler } from '../../examples/custom-adapter/adapter.ts';
import { createGuard } from '../../examples/custom-adapter/adapter.ts';
import { catalog } from '../../examples/platform/catalog.ts';
import { policy } from '../../examples/platform/policy.ts';
import type { StoreError } from '../../src/index.js';
import { createKeyring } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';

const path = (from: string) => fileURLToPath(new URL(`../../${from}`, import.meta.url));
const keyring = createKeyring({ prefix: 'lure', catalog, store: memoryStore(), peppers: 'none' });

describe('an adapter for no framework', () => {
  test('is at most 50 lines, imports no more than keyscope and types, and never reads the Authorization header', () => {
    const source = readFileSync(path('examples/custom-adapter/adapter.ts'), 'utf8');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    expect(source.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')).not.toMatch(/authorization/i);
    const imports = [...source.matchAll(/^import (type )?.* from '(.*)';$/gm)].map(([, type, from]) => [from, type]);
    expect(imports).toEqual([
      ['node:http', 'type '],
      ['keyscope', 'type '],
      ['keyscope', undefined],
    ]);
  });

  test('passes its contract where it stands, by the runner of Node', { timeout: 60_000 }, async () => {
    const hooks = ['--disable-warning=ExperimentalWarning', '--import', path('test/support/typescript.ts')];
    const args = [...hooks, '--test-reporter=tap', '--test', path('examples/custom-adapter/contract.ts')];
    // A test that is run within a test says so to its children, which then report to it and to nobody else.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBe(21);
    expect(stdout).toMatch(/^# fail 0$/m);
  });

  test('takes no option that it does not know', () => {
    const guard = createGuard({ keyring, policy, realm: 'test' }) as (name: string, options?: unknown) => unknown;
    for (const options of [{ entityUuid: () => '' }, () => '', null]) {
      expect(() => guard('whoami', options)).toThrow(TypeError);
    }
    expect(() => createGuard({ keyring, policy, relam: 'test' } as never)).toThrow(TypeError);
  });

  test('hands a bug to whoever called, and tells onOutage of an outage', async () => {
    const bug = new TypeError('a bug');
    const ended: unknown[] = [];
    const res = { setHeader() {}, writeHead: (status: number) => ({ end: () => ended.push(status) }) } as never;
    const call = (admit: () => Promise<never>, onOutage: (error: StoreError) => void) => {
      const handler: Handler = () => ended.push('handled');
      return createGuard({ keyring: { admit }, policy, realm: 'test', onOutage })('whoami')(handler)({} as never, res);
    };
    const told: unknown[] = [];
    await expect(
      call(
        () => Promise.reject(bug),
        (error) => told.push(error),
      ),
    ).rejects.toBe(bug);
    expect({ told, ended }).toEqual({ told: [], ended: [] });
    const away = new Error('away');
    const store = { ...memoryStore(), findByDigest: () => Promise.reject(away) };
    const broken = createKeyring({ prefix: 'lure', catalog, store, peppers: 'none' });
    const { key } = await keyring.issue(
      { name: 'test', scopes: [], expiresAt: 'never' },
      { entityUuid: 'aaaaaaaa-0000-4000-8000-00000000000a' },
    );
    await call(
      () => broken.admit(`Bearer ${key}`, { policy, operation: 'whoami' }) as Promise<never>,
      (error) => {
        told.push(error.cause);
        throw bug;
      },
    );
    expect({ told, ended }).toEqual({ told: [away], ended: [503] });
  });
});
