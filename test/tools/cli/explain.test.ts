/** Messages and exit codes of errors. */
import { AccessError, InputError, StoreError } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CommandError } from '../../../src/tools/cli/command-error.js';
import { explain, hintOf, withoutSecrets } from '../../../src/tools/cli/explain.js';

afterEach(() => vi.unstubAllEnvs());

describe('the exit code', () => {
  it.each([
    [new AccessError('not_found', 'no_such_key'), 1],
    [new CommandError('refused', 'no'), 1],
    [new CommandError('usage', 'no'), 2],
    [new InputError('name', 'name: 1 to 100 characters'), 2],
    [new TypeError('authority.actor: no control characters'), 2],
    [new CommandError('config', 'no'), 3],
    [new StoreError('store.list failed'), 4],
    [new CommandError('store', 'no'), 4],
    [new TypeError('x is not a function'), 5],
    ['thrown', 5],
    [null, 5],
  ])('of %s is %i', (error, exit) => {
    expect(explain(error).exit).toBe(exit);
  });

  it('is that of the signal that stopped the command', () => {
    expect(explain(new CommandError('refused', 'Interrupted', 130)).exit).toBe(130);
  });
});

describe('the message', () => {
  it('names the excess', () => {
    const details = { excess: ['users:delete'] };
    const error = new AccessError('ceiling_exceeded', 'scopes_beyond_authority', details);
    expect(explain(error).message).toContain('Not allowed: users:delete.');
  });

  it('says what to do if a rotation asks for more', () => {
    const error = new AccessError('ceiling_exceeded', 'scopes_beyond_predecessor');
    expect(explain(error).message).toMatch(/^A rotation cannot add rights. Issue a new key/);
  });

  it('names the option if a life is too long', () => {
    const detail = 'expiresAt: pass at most 2030-01-01T00:00:00.000Z.';
    const details = { excess: ['expiresAt'], detail };
    const error = new AccessError('ceiling_exceeded', 'lifetime_beyond_authority', details);
    expect(explain(error).message).toMatch(/--expires: pass at most 2030-\S+Z\. \(lifetime/);
    expect(explain(error).message).not.toContain('expiresAt');
  });

  it.each([
    ['name', '--name'],
    ['expiresAt', '--expires'],
    ['trust.claims', '--claim'],
    ['trust', 'trust'],
    ['constructor', 'constructor'],
  ])('begins with the option behind the field, if there is one: %s', (field, shown) => {
    expect(explain(new InputError(field, `${field}: no`)).message).toBe(`${shown}: no`);
  });

  it.each([
    ['permission denied for table keyscope_schema', 'a right on table keyscope_schema'],
    ['permission denied for schema keyscope', 'a right on schema keyscope'],
    [
      "UPDATE command denied to user 'ada'@'10.0.0.1' for table `app`.`keyscope_keys`",
      'UPDATE on table keyscope_keys',
    ],
    [
      "INSERT, UPDATE command denied to user 'ada'@'h' for table `my-db`.`keyscope_keys`",
      'INSERT, UPDATE on table keyscope_keys',
    ],
    ['permission denied for schema my-schema', 'a right on schema my-schema'],
    [
      "SELECT command denied to user 'ada'@'h' for table 'keyscope_keys'",
      'SELECT on table keyscope_keys',
    ],
  ])('names the right that the database user lacks, and not the user: %s', (denied, missing) => {
    const cause = Object.assign(new Error(denied), { code: '42501' });
    const { message } = explain(new StoreError('store.list failed', cause));
    expect(message).toContain(`The database user lacks ${missing}.`);
    expect(message).not.toContain('ada');
  });

  it('contains the code of a driver error, and its text only if it is our own', () => {
    const refused = Object.assign(new Error('password hunter2 refused'), { code: 'ECONNREFUSED' });
    expect(hintOf(refused)).toBe(' (ECONNREFUSED)');
    expect(hintOf(new Error('duplicate digest h1.p1$00'))).toBe('');
    expect(hintOf({ code: 'digest h1.p1$00' })).toBe('');
    expect(hintOf(new Error('keyscope: upgrade it'))).toBe(' (keyscope: upgrade it)');
    expect(hintOf(undefined)).toBe('');
    const message = explain(new StoreError('store.list failed', refused)).message;
    expect(message).toMatch(/^store\.list failed \(ECONNREFUSED\)\. No database listens at this/);
    expect(message).not.toContain('hunter2');
  });
});

describe('withoutSecrets', () => {
  it.each([
    ['connect postgres://ada:hunter2@db:5432/keys', 'connect postgres://[masked]@db:5432/keys'],
    ['postgres://ada:hun@ter2@db/keys', 'postgres://[masked]@db/keys'],
    ['password=hunter2 host=db', 'password=[masked] host=db'],
    [`{"secret": "hunter2"}`, `{"secret": "[masked]"}`],
    [`key acme_${'a1B2'.repeat(8)} is odd`, 'key [masked] is odd'],
    [`digest ${'0a'.repeat(32)}`, 'digest [masked]'],
    ['pepper q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA', 'pepper [masked]'],
    ['ERR_MODULE_NOT_FOUND in 0a0a0a0a-0000-4000-8000-00000000000a', null],
    ['no entity 0A0A0A0A-0000-4000-8000-00000000000A', null],
    ["Cannot find module './keyscope/keyring.mjs'", null],
    ["No export 'Pool'.\n\n  import pg from 'pg';\r\n", "No export 'Pool'. import pg from 'pg'; "],
  ])('masks secrets in %s', (text, masked) => {
    expect(withoutSecrets(text)).toBe(masked ?? text);
  });

  it('masks the values of secret environment variables', () => {
    vi.stubEnv('PEPPER', 'correct horse battery staple');
    vi.stubEnv('SHORT_TOKEN', 'a');
    const text = withoutSecrets('a pepper: correct horse battery staple');
    expect(text).not.toContain('horse');
    expect(text).toContain('a pepper');
    vi.stubEnv('SIGNING_SECRET', 'correct\n  horse\n');
    expect(withoutSecrets('no key: correct\n  horse\n!')).toBe('no key: [masked]!');
  });
});
