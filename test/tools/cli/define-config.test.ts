/** Valid and invalid configs. */
import { createKeyring, defineScopes } from 'keyscope';
import { type CommandConfig, defineConfig } from 'keyscope/cli';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { isConfig } from '../../../src/tools/cli/define-config.js';

const catalog = defineScopes({ threats: { read: 'Read.' } });
const store = memoryStore();
const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
const SOUND: CommandConfig = { keyring, store };

describe('defineConfig', () => {
  it('returns a frozen copy with the same keyring, which isConfig recognizes', () => {
    const config = defineConfig(SOUND);
    expect(config).toEqual(SOUND);
    expect(config.keyring).toBe(keyring);
    expect(Object.isFrozen(config)).toBe(true);
    expect(isConfig(config)).toBe('config');
    for (const value of [SOUND, null, undefined, 1, 'x', []]) expect(isConfig(value)).toBe('other');
  });

  it('accepts everything that the command may use', () => {
    const sql = { dialect: 'sqlite', query: () => [] } as const;
    const all = {
      ...SOUND,
      peppers: 'none',
      prefixes: ['acme', 'acme_test'],
      sql,
      connections: 10,
      maxLifetimeMs: 86_400_000,
      migrate() {},
      close() {},
    } as const;
    expect(isConfig(defineConfig(all))).toBe('config');
  });

  it('accepts several keyrings', () => {
    const other = createKeyring({ prefix: 'acme_test', catalog, store, peppers: 'none' });
    expect(defineConfig({ keyring: [keyring, other], store }).keyring).toEqual([keyring, other]);
  });

  it.each([
    ['keyring', Promise.resolve(keyring)],
    ['keyring', { issue() {} }],
    ['store', {}],
    ['keyring', []],
    ['keyring', [keyring, {}]],
    ['catalog', catalog],
    ['peppers', 'p1'],
    ['peppers', ['P1']],
    ['peppers', [{ id: 'p1', secret: 'hunter2' }]],
    // biome-ignore lint/suspicious/noSparseArray: a hole is not an id
    ['peppers', [, 'p1']],
    ['prefixes', 'acme'],
    ['prefixes', []],
    ['prefixes', ['acme', 'ACME']],
    ['prefixes', [undefined]],
    ['sql', { dialect: 'sqlite' }],
    ['sql', { dialect: 'constructor', query() {} }],
    ['connections', '10'],
    ['maxLifetimeMs', '1d'],
    ['maxLifetimeMs', 0],
    ['migrate', 'yes'],
    ['close', {}],
    ['clse', () => {}],
  ])('throws, without quoting the value, if %s is %j', (field, value) => {
    const given = { ...SOUND, [field]: value } as unknown as CommandConfig;
    expect(() => defineConfig(given)).toThrow(new RegExp(`^defineConfig.*${field}`));
    expect(() => defineConfig(given)).not.toThrow('hunter2');
  });
});
