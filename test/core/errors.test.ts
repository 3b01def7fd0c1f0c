import { PassThrough } from 'node:stream';
import { format, inspect } from 'node:util';
import {
  AccessError,
  causeOf,
  InputError,
  isAccessError,
  isInputError,
  isStoreError,
  StoreError,
} from 'keyscope';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import winston from 'winston';
import {
  AUTHORITY,
  issue,
  NOWHERE,
  OWN,
  PLAIN,
  setUp,
  thrown,
  untyped,
  untypedInput,
} from '../support/keyring.ts';

const ACCESS = Symbol.for('keyscope.AccessError');
const INPUT = Symbol.for('keyscope.InputError');
const STORE = Symbol.for('keyscope.StoreError');

describe('AccessError', () => {
  it('keeps its reason and key id out of JSON and spreads', async () => {
    const { keyring } = setUp();
    const { key, info } = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    const error = await thrown(() => keyring.verify(key));
    expect(isAccessError(error) && [error.reason, error.keyId]).toEqual(['revoked', info.keyId]);
    expect(JSON.stringify(error)).toBe('{"code":"invalid_token"}');
    expect({ ...(error as object) }).toEqual({ code: 'invalid_token' });
  });

  // Otherwise, an edited row could put any text into an audit trail as its key id.
  it('accepts only a UUID as its key id', () => {
    const named = (keyId: unknown) =>
      new AccessError('invalid_token', 'revoked', { keyId: untyped<string>(keyId) }).keyId;
    expect(named(NOWHERE)).toBe(NOWHERE);
    for (const odd of [undefined, null, 7, '', 'acme_x', `${NOWHERE}\n`, [NOWHERE]])
      expect(named(odd)).toBeUndefined();
  });

  it('has the same sentence for a code, whatever the reason', () => {
    const revoked = new AccessError('invalid_token', 'revoked', { keyId: NOWHERE });
    const unknown = new AccessError('invalid_token', 'unknown_key');
    expect(revoked.message).toBe(unknown.message);
    expect([revoked.name, String(revoked)]).toEqual([
      'AccessError',
      `AccessError: ${unknown.message}`,
    ]);
  });
});

// Each denial captured a stack, so refusing garbage took three times as long as admitting a key.
describe('the stack of a denial', () => {
  it('has no frames, only the name and message', () => {
    const error = new AccessError('not_found', 'no_such_key');
    expect(error).toBeInstanceOf(Error);
    expect(error.stack).toBe('AccessError: There is no such key.');
    expect(inspect(error)).toBe("[AccessError: There is no such key.] { code: 'not_found' }");
  });

  it('removes no frames from any other error', () => {
    const framesOf = (error: Error) => error.stack?.split('\n').length;
    const before = framesOf(new Error('x'));
    const { stackTraceLimit } = Error;
    for (const limit of [stackTraceLimit, 3, 0, Number.POSITIVE_INFINITY]) {
      Error.stackTraceLimit = limit;
      new AccessError('not_found', 'no_such_key');
      expect(Error.stackTraceLimit).toBe(limit);
    }
    Error.stackTraceLimit = stackTraceLimit;
    expect(framesOf(new Error('x'))).toBe(before);
    expect(framesOf(new StoreError('x'))).toBe(before);
  });

  // For example in a hardened realm, or in an engine without the setting.
  it.each<readonly [string, PropertyDescriptor | null]>([
    ['read-only', { value: 7, writable: false, configurable: true }],
    ['absent', null],
    ['not a number', { value: 'all', writable: true, configurable: true }],
  ])('leaves a limit that is %s unchanged', (_how, descriptor) => {
    const own = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit') ?? {};
    try {
      if (descriptor === null) Reflect.deleteProperty(Error, 'stackTraceLimit');
      else Object.defineProperty(Error, 'stackTraceLimit', descriptor);
      const there = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit');
      const error = new AccessError('invalid_token', 'revoked');
      expect([error.code, error.reason]).toEqual(['invalid_token', 'revoked']);
      expect(Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')).toEqual(there);
    } finally {
      Object.defineProperty(Error, 'stackTraceLimit', own);
    }
  });
});

describe('StoreError', () => {
  const driver = new Error('row quoted');
  const outage = () => new StoreError('store.x failed: see causeOf', driver);

  it('gives the driver’s error only to causeOf', () => {
    const error = outage();
    expect(causeOf(error)).toBe(driver);
    expect(error.cause).toBeUndefined();
    expect(Reflect.ownKeys(error)).toEqual(['stack', 'message']);
    expect(JSON.stringify(error)).toBe('{}');
    expect(causeOf(new StoreError('store.x did not answer'))).toBeUndefined();
  });

  it.each([undefined, null, 'x', driver, new Error('x', { cause: driver }), { cause: driver }])(
    'is the only value that causeOf reads: case %#',
    (other) => {
      expect(causeOf(other)).toBeUndefined();
    },
  );

  // Loggers print any `cause`: pino printed the driver's text, which quotes rows.
  it('shows no driver text to a logger or an inspector', () => {
    // One error each, because winston adds properties to an error that it logs.
    const error = outage();
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
    logger.error(error);
    logger.error({ err: error, error }, 'an outage');
    logger.child({ error }).fatal(new Error('outer', { cause: error }));
    const stream = new PassThrough();
    stream.on('data', (line: Buffer) => lines.push(String(line)));
    const { combine, errors, json, prettyPrint } = winston.format;
    for (const shape of [json(), combine(errors({ stack: true, cause: true }), prettyPrint())]) {
      const transports = [new winston.transports.Stream({ stream })];
      const other = winston.createLogger({ format: shape, transports });
      other.error(error);
      other.error('an outage', { error });
    }
    const shown = [
      ...lines,
      inspect(error, { customInspect: false, depth: 5 }),
      inspect(error, { getters: true, showHidden: true, depth: 5 }),
      inspect(new AggregateError([error]), { showHidden: true, getters: true, depth: 9 }),
      format('%s %o %O %j', error, error, error, error),
    ];
    for (const text of shown) expect(text).not.toContain('row quoted');
    expect(lines.filter((line) => line.includes('store.x failed')).length).toBeGreaterThan(4);
    const untouched = outage();
    expect(inspect(untouched, { getters: true })).toBe(untouched.stack);
    expect(untouched.stack).toMatch(/^StoreError: store\.x failed: see causeOf\n +at /);
  });
});

describe('InputError', () => {
  const error = new InputError('expiresAt', 'expiresAt: pass a valid Date in the future');

  it('is a TypeError that names the field and says what to write instead', () => {
    expect(error).toBeInstanceOf(TypeError);
    expect([error.name, error.field]).toEqual(['InputError', 'expiresAt']);
    expect(String(error)).toBe('InputError: expiresAt: pass a valid Date in the future');
  });

  it('lists only its field', () => {
    expect(Object.keys(error)).toEqual(['field']);
    expect(JSON.stringify(error)).toBe('{"field":"expiresAt"}');
    expect({ ...error }).toEqual({ field: 'expiresAt' });
    expect(Reflect.ownKeys(error)).toEqual(['stack', 'message', 'field']);
  });

  const SECRET = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';
  const { keyring } = setUp();
  const issuing = (over: object) => keyring.issue(untypedInput(over), AUTHORITY);
  const rotating = (over: object) =>
    keyring.rotate(NOWHERE, untyped({ overlapMs: 0, ...over }), AUTHORITY);
  const listing = (input: object) => keyring.list(untyped(input), AUTHORITY);

  it.each<readonly [string, string, () => Promise<unknown>]>([
    ['input', 'no object', () => keyring.issue(untyped(SECRET), AUTHORITY)],
    ['input', 'an unknown field', () => issuing({ [SECRET]: 1 })],
    ['name', 'a control character', () => issuing({ name: `${SECRET}\n` })],
    ['name', 'no text', () => issuing({ name: { SECRET } })],
    ['scopes', 'no scope', () => issuing({ scopes: [SECRET] })],
    ['scopes', 'no list', () => issuing({ scopes: SECRET })],
    ['expiresAt', 'no date', () => issuing({ expiresAt: SECRET })],
    ['accessibleEntities', 'no UUID', () => issuing({ accessibleEntities: [SECRET] })],
    ['justification', 'too long', () => issuing({ justification: SECRET.repeat(20) })],
    ['justification', 'none where one is needed', () => issuing({ scopes: ['users:delete'] })],
    ['metadata', 'no texts', () => issuing({ metadata: { [SECRET]: 7 } })],
    ['overlapMs', 'no number', () => rotating({ overlapMs: SECRET })],
    ['input', 'an unknown field', () => rotating({ [SECRET]: 1 })],
    ['limit', 'no number', () => listing({ limit: SECRET })],
    ['after', 'no cursor', () => listing({ after: SECRET })],
    ['addressing', 'no flag', () => listing({ addressing: SECRET })],
    ['keyId', 'no text', () => keyring.get(untyped([SECRET]), AUTHORITY)],
    ['keyId', 'no text', () => keyring.revoke(untyped({ SECRET }), AUTHORITY)],
    ['reason', 'a line break', () => keyring.list({}, { ...AUTHORITY, reason: `${SECRET}\r` })],
  ])('has the field %s for %s and quotes no value', async (field, _what, act) => {
    const error = await thrown(act);
    if (!isInputError(error)) throw error;
    expect(error.field).toBe(field);
    const shown = inspect(error, { showHidden: true, depth: null });
    expect(shown).not.toContain(SECRET.slice(5, 25));
  });

  // The service's own mistakes must not appear in answers to its callers.
  it.each<readonly [string, () => Promise<unknown>]>([
    ['no authority', () => keyring.list({}, untyped(undefined))],
    ['an authority without scopes', () => keyring.issue(PLAIN, untyped({ entityId: OWN }))],
    ['an actor that is not a text', () => keyring.list({}, untyped({ ...AUTHORITY, actor: 7 }))],
    ['an entity that is not a UUID', () => keyring.list({}, { entityId: 'x' })],
    ['a field of an authority', () => keyring.list({}, untyped({ ...AUTHORITY, name: 'x' }))],
    ['an operation', () => keyring.admit('x', untyped<never>({ operation: 'lists' }))],
    ['a request', () => keyring.authenticate(untyped(new URL('https://x')))],
  ])('is not thrown for a mistake in %s', async (_what, act) => {
    const error = await thrown(act);
    expect(error).toBeInstanceOf(TypeError);
    expect(isInputError(error)).toBe(false);
    expect((error as TypeError).name).toBe('TypeError');
  });
});

describe('isAccessError, isInputError and isStoreError', () => {
  const areAll = (value: unknown) => [
    isAccessError(value),
    isInputError(value),
    isStoreError(value),
  ];

  it('distinguish the three classes', () => {
    expect(areAll(new AccessError('conflict', 'already_ended'))).toEqual([true, false, false]);
    expect(areAll(new InputError('name', 'name: pass a string'))).toEqual([false, true, false]);
    expect(areAll(new StoreError('down'))).toEqual([false, false, true]);
    expect(areAll(new TypeError('x'))).toEqual([false, false, false]);
  });

  it('accept errors from another copy of the package, by brand', async () => {
    expect(isAccessError({ [ACCESS]: true, code: 'not_found' })).toBe(true);
    expect(isInputError({ [INPUT]: true, field: 'name' })).toBe(true);
    expect(isStoreError({ [STORE]: true })).toBe(true);
    expect(isAccessError({ [ACCESS]: true, code: ['not_found'] })).toBe(false);
    vi.resetModules();
    const copy = await import('../../src/core/errors.js');
    const denial = new copy.AccessError('conflict', 'already_ended');
    const malformed = new copy.InputError('name', 'name: pass a string');
    expect(denial).not.toBeInstanceOf(AccessError);
    expect(malformed).not.toBeInstanceOf(InputError);
    expect(areAll(denial)).toEqual([true, false, false]);
    expect(areAll(malformed)).toEqual([false, true, false]);
    expect(areAll(new copy.StoreError('down'))).toEqual([false, false, true]);
    expect(causeOf(new copy.StoreError('down', 'why'))).toBe('why');
    expect(causeOf({ [STORE]: true })).toBeUndefined();
    expect(copy.isInputError(new InputError('name', 'x'))).toBe(true);
  });

  it.each([
    [undefined],
    [null],
    ['AccessError'],
    [new Error('x')],
    [{ code: 'not_found' }],
    [{ name: 'StoreError' }],
    [{ name: 'InputError', field: 'name' }],
    [Object.assign(new TypeError('x'), { name: 'InputError', field: 'name' })],
    [{ [ACCESS]: 'true', [INPUT]: 'true', [STORE]: 1, code: 'not_found' }],
    [{ [ACCESS]: true }],
    [{ [ACCESS]: true, code: 'toString' }],
    [{ [ACCESS]: true, code: '__proto__' }],
    [{ [ACCESS]: true, code: 'of_a_later_version' }],
  ])('refuse anything else: case %#', (value) => {
    expect(areAll(value)).toEqual([false, false, false]);
  });
});
