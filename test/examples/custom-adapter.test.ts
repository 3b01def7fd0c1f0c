/** The custom adapters in docs and examples, with the contract as a user runs it. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { causeOf } from 'keyscope';
import { describe, expect, test } from 'vitest';
import type { Handler } from '../../examples/custom-adapter/adapter.ts';
import { createGuard } from '../../examples/custom-adapter/adapter.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import type { StoreError } from '../../src/index.js';
import { createKeyring } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory/index.js';
import { runByNode } from '../support/run-by-node.ts';

const path = (from: string) => fileURLToPath(new URL(`../../${from}`, import.meta.url));
const keyring = createKeyring({ prefix: 'lure', policy, store: memoryStore(), peppers: 'none' });

test('the adapter in the docs passes its contract as printed', async () => {
  const page = readFileSync(path('docs/adapters.md'), 'utf8');
  const blocks = page.matchAll(/^```ts\n([\s\S]*?)^```/gm);
  const [guard = '', contract = ''] = Array.from(blocks, ([, code]) => code);
  expect(guard).toContain('guard.mark');
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-'));
  try {
    writeFileSync(join(folder, 'guard.ts'), guard);
    writeFileSync(join(folder, 'contract.ts'), contract);
    expect(await runByNode(join(folder, 'contract.ts'))).toEqual({ pass: 22, fail: 0 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('the adapter for node:http', () => {
  test('is short, imports only keyscope and types, and reads no Authorization header', () => {
    const source = readFileSync(path('examples/custom-adapter/adapter.ts'), 'utf8');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    expect(source.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')).not.toMatch(/authorization/i);
    const imports = [...source.matchAll(/^import (type )?.* from '(.*)';$/gm)].map(
      ([, type, from]) => [from, type],
    );
    expect(imports).toEqual([
      ['node:http', 'type '],
      ['keyscope', 'type '],
      ['keyscope', undefined],
    ]);
  });

  test('passes its contract in its folder with the test runner of Node', async () => {
    expect(await runByNode(path('examples/custom-adapter/contract.ts'))).toEqual({
      pass: 22,
      fail: 0,
    });
  });

  test('refuses an unknown option', () => {
    const guard = createGuard({ keyring, realm: 'test' }) as (
      name: string,
      options?: unknown,
    ) => unknown;
    for (const options of [{ entityId: () => '' }, () => '', null]) {
      expect(() => guard('whoami', options)).toThrow(TypeError);
    }
    expect(() => createGuard({ keyring, relam: 'test' } as never)).toThrow(TypeError);
  });

  test('throws a bug to its caller, and reports an outage to onError', async () => {
    const bug = new TypeError('a bug');
    const ended: unknown[] = [];
    const res = {
      setHeader() {},
      writeHead: (status: number) => ({ end: () => ended.push(status) }),
    } as never;
    const handler: Handler = () => ended.push('handled');
    const call = (admit: () => Promise<never>, onError: (error: StoreError) => void) => {
      const guard = createGuard({ keyring: { ...keyring, admit }, onError });
      const route = guard('whoami')(handler);
      return route({} as never, res);
    };
    const told: unknown[] = [];
    const failing = () => Promise.reject(bug);
    const tell = (error: StoreError) => told.push(error);
    await expect(call(failing, tell)).rejects.toBe(bug);
    expect({ told, ended }).toEqual({ told: [], ended: [] });
    const away = new Error('away');
    const store = { ...memoryStore(), findByDigest: () => Promise.reject(away) };
    const broken = createKeyring({ prefix: 'lure', policy, store, peppers: 'none' });
    const { key } = await keyring.issue(
      { name: 'test', scopes: [], expiresAt: 'never' },
      { entityId: 'aaaaaaaa-0000-4000-8000-00000000000a', scopes: 'all' },
    );
    const admit = () => broken.admit(`Bearer ${key}`, { operation: 'whoami' });
    const tellAndThrow = (error: StoreError) => {
      told.push(causeOf(error));
      throw bug;
    };
    await call(admit as () => Promise<never>, tellAndThrow);
    expect({ told, ended }).toEqual({ told: [away], ended: [503] });
  });
});
