/** Checks the output of `keyscope lock --sarif` against the schema of SARIF. */
import { readFileSync } from 'node:fs';
import { diffLocks, lockSarif } from 'keyscope/lock';
import { expect, it } from 'vitest';
import { installedIn } from '../../support/installed.ts';
import { lockWith } from '../../support/locks.ts';

interface Validate {
  (value: unknown): boolean;
  readonly errors?: unknown;
}
interface Ajv {
  readonly default: new (options: object) => { compile(schema: object): Validate };
}
interface Formats {
  readonly default: { readonly default: (ajv: object) => void };
}

const { describe, load } = installedIn('outside', 'ajv-draft-04');
const SCHEMA = new URL(
  '../node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json',
  import.meta.url,
);

async function createValidate(): Promise<Validate> {
  const { default: Ajv } = (await load('ajv-draft-04')) as Ajv;
  const { default: formats } = (await load('ajv-formats')) as Formats;
  const ajv = new Ajv({ strict: false, unicodeRegExp: false });
  formats.default(ajv);
  return ajv.compile(JSON.parse(readFileSync(SCHEMA, 'utf8')) as object);
}

describe('lockSarif', () => {
  const scopes = { 'threats:read': 'open' } as const;
  const before = lockWith(scopes, { 'GET /threats': ['threats:read'], 'GET /old': [] });
  const after = lockWith(scopes, { 'GET /threats': [], 'GET /bare': null });

  it('writes a valid log, with changes and without', async () => {
    const validate = await createValidate();
    for (const path of ['a b/ü%.json', '../x.json', 'a\nb', undefined]) {
      for (const diff of [diffLocks(before, after), diffLocks(after, after)]) {
        const log = lockSarif(diff, path === undefined ? { lock: after } : { lock: after, path });
        const value = JSON.parse(JSON.stringify(log)) as object;
        expect({ valid: validate(value), errors: validate.errors }).toEqual({
          valid: true,
          errors: null,
        });
      }
    }
  });

  it('is held to a schema that rejects a log without its fields', async () => {
    const validate = await createValidate();
    expect(validate({ version: '2.1.0' })).toBe(false);
    expect(validate({ version: '2.1.0', runs: [{ tool: {} }] })).toBe(false);
  });
});
