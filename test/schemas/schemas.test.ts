/**
 * The zod schemas and their JSON Schemas against the core: one table of vectors, the same answers.
 */

import fc from 'fast-check';
import fastify from 'fastify';
import {
  createKeyring,
  defineScopes,
  digestKey,
  generateKey,
  isAccessError,
  isStoreError,
  toMe,
} from 'keyscope';
import {
  issueInputJsonSchema,
  issueInputJsonSchemaFor,
  issueInputSchema,
  issueInputSchemaFor,
  keyInfoJsonSchema,
  keyInfoSchema,
  listInputJsonSchema,
  listInputSchema,
  meJsonSchema,
  meSchema,
} from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { IssueInput, KeyRecord, KeyStore, Me } from '../../src/index.js';
import { runs } from '../support/runs.ts';
import type { Json, Vector } from '../support/vectors.ts';
import { failures, readVectors, unfold, uuid } from '../support/vectors.ts';

interface Object_ {
  readonly [name: string]: unknown;
}
/** Of a JSON Schema what these tests look at. */
interface Shown {
  readonly properties?: object;
  readonly required?: readonly string[];
}
type Answer = { readonly result: 'accept' | 'refuse' };
type InputVector = Vector & Answer & { readonly input: Json; readonly expiresAtMs?: number };
interface InputFile {
  readonly now: number;
  readonly catalog: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly reserved: readonly string[];
  readonly authority: { readonly entityUuid: string; readonly entities: Json };
  readonly tests: readonly InputVector[];
}

const KEY = generateKey({ prefix: 'acme' });
const file = readVectors<InputFile>('issue-input');
const me = readVectors<{ tests: readonly (Vector & Answer & { readonly input: Json })[] }>('me');
const catalog = defineScopes(file.catalog, { reserved: file.reserved as [] });
const now = () => file.now;
const authority = {
  entityUuid: file.authority.entityUuid,
  entities: unfold(file.authority.entities) as string[],
};
const forCatalog = issueInputSchemaFor(catalog, { now });

/** A validator of bodies as a framework has it: Fastify's own ajv, told to change nothing. */
async function jsonValidator(schema: object): Promise<(body: Json) => Promise<boolean>> {
  const app = fastify({
    bodyLimit: 8_000_000,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    // The framework would refuse `__proto__` before any schema.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
  });
  app.post('/', { schema: { body: schema } }, () => 'taken');
  await app.ready();
  return async (body) => {
    const headers = { 'content-type': 'application/json' };
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/',
      headers,
      payload: JSON.stringify(body),
    });
    if (statusCode !== 200 && statusCode !== 400) throw new Error(`answered ${statusCode}`);
    return statusCode === 200;
  };
}

/**
 * What the core says to the same input: taken, or refused with a `TypeError`; any other error is a
 * failure.
 */
async function coreTakes(input: unknown): Promise<boolean> {
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    store: memoryStore(),
    peppers: 'none',
    now,
  });
  try {
    await keyring.issue(input as IssueInput<never>, authority);
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

const withDate = (input: Json, expiresAtMs: number | undefined): unknown =>
  expiresAtMs === undefined ? input : { ...(input as Object_), expiresAt: new Date(expiresAtMs) };

describe("issue's input", () => {
  const accepts = ({ result }: Answer) => result === 'accept';
  const says = (flags: readonly string[], ...names: readonly string[]) =>
    names.some((name) => flags.includes(name));

  test('the core', async () => {
    expect(file.tests.length).toBeGreaterThan(250);
    const failed = await failures(file.tests, async (vector) => {
      expect(await coreTakes(withDate(unfold(vector.input), vector.expiresAtMs))).toBe(
        accepts(vector),
      );
    });
    expect(failed).toEqual([]);
  });

  test('issueInputSchema: as the core, but for what only a catalog, a clock or the own entity tells', async () => {
    const failed = await failures(file.tests, (vector) => {
      const unknown = says(vector.flags, 'Catalog', 'Clock', 'OwnEntity');
      const { success, data } = issueInputSchema.safeParse(unfold(vector.input));
      expect(success).toBe((accepts(vector) || unknown) && !says(vector.flags, 'Repeated'));
      if (data && vector.expiresAtMs !== undefined)
        expect(data.expiresAt).toEqual(new Date(vector.expiresAtMs));
    });
    expect(failed).toEqual([]);
  });

  test('issueInputSchemaFor: as the core, but for the own entity; a named wildcard stays refused, and so do repetitions', async () => {
    const failed = await failures(file.tests, (vector) => {
      const { success } = forCatalog.safeParse(unfold(vector.input));
      expect(success).toBe(
        (accepts(vector) || says(vector.flags, 'OwnEntity')) &&
          !says(vector.flags, 'NamedReserved', 'Repeated'),
      );
    });
    expect(failed).toEqual([]);
  });

  test('whatever a schema yields, the core takes, and keeps what was asked', async () => {
    const failed = await failures(file.tests, async ({ input, flags }) => {
      for (const schema of [issueInputSchema, forCatalog]) {
        const { data } = schema.safeParse(unfold(input));
        if (data === undefined || says(flags, 'Catalog', 'Clock', 'OwnEntity')) continue;
        const keyring = createKeyring({
          prefix: 'acme',
          catalog,
          store: memoryStore(),
          peppers: 'none',
          now,
        });
        const { info } = await keyring.issue(data as unknown as IssueInput<never>, authority);
        expect(info.name).toBe(data.name);
        expect(info.expiresAt).toEqual(data.expiresAt === 'never' ? null : data.expiresAt);
        expect(info.justification).toBe(data.justification ?? null);
        expect(Object.entries(info.metadata)).toEqual(Object.entries(data.metadata ?? {}));
        expect(info.scopes).toEqual(catalog.expand(data.scopes));
      }
    });
    expect(failed).toEqual([]);
  });

  test('fields and pairs are counted before they are read, by the core and the schemas', async () => {
    let reads = 0;
    const names = Array.from({ length: 100_000 }, (_, i) => `name${i}`);
    const many = new Proxy(Object.fromEntries(names.map((name) => [name, 'x'])), {
      get(target, name) {
        if (typeof name === 'string') reads += 1;
        return Reflect.get(target, name);
      },
    });
    const plain = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };
    for (const input of [many, { ...plain, metadata: many }]) {
      expect(await coreTakes(input)).toBe(false);
      for (const schema of [issueInputSchema, forCatalog])
        expect(schema.safeParse(input).success).toBe(false);
    }
    expect(reads).toBe(0);
  });

  // As deep as a megabyte of JSON goes: what walked through it by calling itself would end in a
  // RangeError.
  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])(
    '%s in each other are refused by the core and the schemas, wherever they stand',
    async (_what, open, end) => {
      const times = Math.floor(1_000_000 / (open.length + end.length));
      const deep = JSON.parse(`${open.repeat(times)}1${end.repeat(times)}`);
      const plain = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };
      expect(await coreTakes(plain)).toBe(true);
      const fields = [
        'name',
        'scopes',
        'expiresAt',
        'accessibleEntities',
        'justification',
        'metadata',
        'unknown',
      ];
      const inputs = [
        deep,
        ...fields.flatMap((name) =>
          [deep, [deep], { a: deep }].map((v) => ({ ...plain, [name]: v })),
        ),
      ];
      for (const input of inputs) {
        expect(await coreTakes(input)).toBe(false);
        for (const schema of [issueInputSchema, forCatalog])
          expect(schema.safeParse(input).success).toBe(false);
      }
    },
  );

  test('the JSON Schemas never refuse what the core takes, and take more only where the vector says so', async () => {
    const general = await jsonValidator(issueInputJsonSchema);
    const particular = await jsonValidator(issueInputJsonSchemaFor(catalog));
    const failed = await failures(file.tests, async (vector) => {
      const { input, flags } = vector;
      const body = unfold(input);
      // Fastify drops a `__proto__` before its validator sees it, and reads a text as no JSON
      // object.
      if (says(flags, 'Prototype')) return;
      const beyond = says(flags, 'Catalog', 'Clock', 'OwnEntity', 'BeyondJsonSchema');
      const counted = says(flags, 'CountedBeforeNfc', 'Repeated');
      expect(await general(body), 'general').toBe((accepts(vector) || beyond) && !counted);
      const wider = beyond && (!says(flags, 'Catalog') || says(flags, 'Clock'));
      const taken = (accepts(vector) || wider) && !counted && !says(flags, 'NamedReserved');
      expect(await particular(body), 'for the catalog').toBe(taken);
    });
    expect(failed).toEqual([]);
  });

  test('the JSON Schema for a catalog lists its scopes and the wildcards that catch no reserved one', () => {
    const {
      properties,
      if: condition,
      then,
    } = issueInputJsonSchemaFor(catalog) as Record<string, Object_>;
    expect(properties).toMatchObject({
      scopes: { items: { enum: [...catalog.all, 'threats:*', '*:write', 'constructor:*'] } },
    });
    expect(condition).toEqual({
      properties: { scopes: { type: 'array', contains: { enum: ['users:read', 'users:delete'] } } },
    });
    expect(then).toEqual({ required: ['justification'] });
    const open = issueInputJsonSchemaFor(defineScopes({ a: { b: 'A sentence.' } }));
    expect(open).not.toHaveProperty('if');
    expect(open).toMatchObject({
      properties: { scopes: { items: { enum: ['a:b', '*:*', 'a:*', '*:b'] } } },
    });
  });

  test('a wildcard that would expand to more than 256 scopes is refused here as in the core', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 257 }, (_, i) => [`r${i}`, { read: 'A sentence.' }]),
    );
    const large = defineScopes(many);
    const body = { name: 'ci', scopes: ['*:*'], expiresAt: 'never' };
    const keyring = createKeyring({
      prefix: 'acme',
      catalog: large,
      store: memoryStore(),
      peppers: 'none',
    });
    await expect(keyring.issue(body as unknown as IssueInput<never>, authority)).rejects.toThrow(
      TypeError,
    );
    expect(issueInputSchemaFor(large).safeParse(body).error?.issues).toMatchObject([
      { path: ['scopes'] },
    ]);
  });

  test('the clock is Date.now unless given', () => {
    const body = (time: number) => ({
      name: 'ci',
      scopes: [],
      expiresAt: new Date(time).toISOString(),
    });
    const schema = issueInputSchemaFor(catalog);
    expect(schema.safeParse(body(Date.now() + 60_000)).success).toBe(true);
    expect(schema.safeParse(body(Date.now() - 60_000)).success).toBe(false);
  });

  test('anything that is no catalog is a TypeError', () => {
    for (const odd of [undefined, null, 'acme', {}, { all: 'a:b' }, file.catalog]) {
      expect(() => issueInputSchemaFor(odd as unknown as typeof catalog)).toThrow(
        /^catalog: pass what defineScopes returned/,
      );
    }
  });

  test('own fields alone are read: a prototype adds none', () => {
    const inherited = Object.assign(Object.create({ justification: 'Inherited.' }), {
      name: 'ci',
      scopes: ['users:read'],
      expiresAt: 'never',
    });
    expect(forCatalog.safeParse(inherited).success).toBe(false);
    expect(issueInputSchema.parse(inherited)).not.toHaveProperty('justification', 'Inherited.');
    expect(
      issueInputSchema.safeParse(Object.create({ name: 'ci', scopes: [], expiresAt: 'never' }))
        .success,
    ).toBe(false);
  });
});

describe("list's first argument", () => {
  const ID = uuid(1);
  const cursor = (time: number) => `${time.toString(36)}.${ID}`;
  const DIGITS = ['1', '9', '50', '100', '999', '1000'].map((limit) => ({ limit }));
  const TAKEN = [
    {},
    { after: undefined, limit: undefined },
    { after: null },
    ...[1, 50, 1000].map((limit) => ({ limit })),
    ...[0, 1, -1, 1.8e12, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER].map((time) => ({
      after: cursor(time),
    })),
    { after: cursor(0), limit: 1000 },
  ];
  const REFUSED = [
    ...[undefined, null, 'x', 5, [], [{ limit: 5 }]],
    ...[0, -1, 1001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, null, true, [5]].map((limit) => ({
      limit,
    })),
    ...['', '0', '01', '1001', '5 ', ' 5', '+5', '5.0', '1e2', '0x5', '٥'].map((limit) => ({
      limit,
    })),
    ...[
      '',
      'x',
      '.',
      ID,
      `.${ID}`,
      `${cursor(0)}.`,
      ` ${cursor(0)}`,
      `00.${ID}`,
      `A.${ID}`,
      5,
      {},
    ].map((after) => ({ after })),
    ...[
      `0.${ID.slice(1)}`,
      `0.${'A'.repeat(36)}`,
      cursor(Number.MAX_SAFE_INTEGER + 1),
      'z'.repeat(1e6),
    ].map((after) => ({ after })),
    { limit: 5, offset: 5 },
    { ['__proto__']: 5, limit: 5 },
  ];
  const keyring = createKeyring({
    prefix: 'acme',
    catalog,
    store: memoryStore(),
    peppers: 'none',
    now,
  });
  const coreLists = (input: unknown) =>
    keyring.list(input as Record<never, never>, authority).then(
      () => true,
      (error) => {
        if (error instanceof TypeError) return false;
        throw error;
      },
    );

  test('the schema takes what the core takes, and the digits of a limit', async () => {
    for (const input of TAKEN) {
      expect([input, await coreLists(input)]).toEqual([input, true]);
      expect(listInputSchema.parse(input)).toEqual(input);
    }
    for (const input of DIGITS) {
      expect([input, await coreLists(input)]).toEqual([input, false]);
      expect(listInputSchema.parse(input)).toEqual({ limit: Number(input.limit) });
    }
    for (const input of REFUSED) {
      // Nothing at all is the first page to the core.
      if (input !== undefined) expect([input, await coreLists(input)]).toEqual([input, false]);
      expect([input, listInputSchema.safeParse(input).success]).toEqual([input, false]);
    }
  });

  test('the schema takes the next page of every page, as a query string carries it', async () => {
    for (let i = 0; i < 3; i++)
      await keyring.issue({ name: 'n', scopes: [], expiresAt: 'never' }, authority);
    const { next } = await keyring.list({ limit: 2 }, authority);
    const query = new URLSearchParams({ after: String(next), limit: '2' });
    const page = await keyring.list(listInputSchema.parse(Object.fromEntries(query)), authority);
    expect(page).toMatchObject({ keys: [{ name: 'n' }], next: null });
  });

  test('each message names its field, and none quotes what was sent', () => {
    for (const input of REFUSED) {
      const messages =
        listInputSchema.safeParse(input).error?.issues.map(({ message }) => message) ?? [];
      expect(messages.join()).not.toContain('zzz');
      for (const field of ['after', 'limit'] as const)
        if (Object.keys(Object(input)).join() === field)
          expect(messages).toEqual([expect.stringMatching(`^${field}: `)]);
    }
  });

  test('the JSON Schema never refuses what the schema takes, and takes more only in cursors', async () => {
    const takes = await jsonValidator(listInputJsonSchema);
    const asJson = (input: unknown) => JSON.parse(JSON.stringify(input)) as Json;
    for (const input of [...TAKEN, ...DIGITS])
      expect([input, await takes(asJson(input))]).toEqual([input, true]);
    const beyond = [`00.${ID}`, cursor(Number.MAX_SAFE_INTEGER + 1)];
    for (const input of REFUSED) {
      const { after, limit } = Object(input);
      // JSON has no undefined and no NaN, and Fastify drops a `__proto__` before its validator sees
      // it.
      if (input === undefined || Number.isNaN(limit) || limit === Number.POSITIVE_INFINITY)
        continue;
      if (Object.hasOwn(Object(input), '__proto__')) continue;
      expect([input, await takes(asJson(input))]).toEqual([input, beyond.includes(after)]);
    }
  });
});

describe('/me', () => {
  /** A store that answers with one row: the vector's values on the record of a real key. */
  function storeWith(body: Partial<Record<keyof Me, unknown>>): KeyStore {
    const row = {
      keyId: body.key_id,
      name: 'ci',
      digest: digestKey(KEY),
      seal: null,
      entityUuid: body.entity_uuid,
      accessibleEntities: body.accessible_entities,
      scopes: body.scopes,
      justification: null,
      metadata: {},
      createdAt: 0,
      expiresAt: null,
      revokedAt: null,
      retireAt: null,
      rotatedFrom: null,
      lastUsedAt: null,
      scopesUsed: {},
    };
    return { ...memoryStore(), findByDigest: () => [row as unknown as KeyRecord] };
  }

  test('the schema', async () => {
    const failed = await failures(me.tests, ({ input, result }) => {
      const body = unfold(input);
      const parsed = meSchema.safeParse(body);
      expect(parsed.success).toBe(result === 'accept');
      if (parsed.success) expect(JSON.stringify(parsed.data)).toBe(JSON.stringify(body));
    });
    expect(failed).toEqual([]);
  });

  test('the core, by way of a stored record: the same bytes, or the row is refused', async () => {
    const asked = me.tests.filter(
      ({ flags }) => !flags.includes('Shape') && !flags.includes('Syntax'),
    );
    expect(asked.length).toBeGreaterThan(45);
    const failed = await failures(asked, async ({ input, result }) => {
      const body = unfold(input) as Object_;
      const keyring = createKeyring({
        prefix: 'acme',
        catalog,
        store: storeWith(body),
        peppers: 'none',
      });
      try {
        expect(JSON.stringify(toMe(await keyring.verify(KEY)))).toBe(JSON.stringify(body));
        expect(result).toBe('accept');
      } catch (error) {
        if (!isAccessError(error) && !isStoreError(error)) throw error;
        expect(result).toBe('refuse');
      }
    });
    expect(failed).toEqual([]);
  });

  test('the JSON Schema, but for the own entity among the accessible ones', async () => {
    const taken = await jsonValidator(meJsonSchema);
    const failed = await failures(me.tests, async ({ input, result, flags, comment }) => {
      if (flags.includes('Prototype') && result === 'refuse') return;
      expect(await taken(unfold(input))).toBe(
        result === 'accept' || comment.endsWith('the own entity is missing'),
      );
    });
    expect(failed).toEqual([]);
  });
});

describe('a listed key', () => {
  const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
  const mark = fc.option(time);
  const scope = fc.stringMatching(/^[a-z][a-z0-9_-]{0,63}:[a-z][a-z0-9_-]{0,63}$/);
  const words = fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .filter((text) => text.isWellFormed());
  const record: fc.Arbitrary<KeyRecord> = fc.record({
    keyId: fc.uuid(),
    name: words,
    digest: fc.constant(digestKey(KEY)),
    seal: fc.option(words),
    entityUuid: fc.constant(uuid(1)),
    accessibleEntities: fc.array(fc.uuid(), { maxLength: 4 }).map((others) => [uuid(1), ...others]),
    scopes: fc.array(scope, { maxLength: 4 }),
    justification: fc.option(words),
    // `zod` drops a key `__proto__` from its records: what is shown may not.
    metadata: fc.dictionary(fc.oneof(words, fc.constant('__proto__')), words, { maxKeys: 4 }),
    createdAt: time,
    expiresAt: mark,
    revokedAt: mark,
    retireAt: mark,
    rotatedFrom: fc.option(fc.uuid()),
    lastUsedAt: mark,
    scopesUsed: fc.dictionary(scope, time, { maxKeys: 4 }),
  });

  test('whatever the core shows of any record, the schema takes as it is', async () => {
    const property = fc.asyncProperty(record, async (row) => {
      const store: KeyStore = { ...memoryStore(), list: () => [row] };
      const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
      const { keys } = await keyring.list({}, { entityUuid: uuid(1) });
      const shown: unknown = JSON.parse(JSON.stringify(keys[0]));
      expect(keyInfoSchema.parse(shown)).toEqual(shown);
      expect(keyInfoSchema.parse(keys[0])).toEqual(shown);
    });
    await fc.assert(property, { numRuns: runs(300) });
  });

  // It took the JSON alone: whoever parsed before `JSON.stringify` was refused for the `Date`s.
  test('what issue, list and get return is taken as it is, and becomes its JSON', async () => {
    const store = memoryStore();
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none', now });
    const input = { name: 'ci', scopes: ['threats:read'], expiresAt: new Date(file.now + 1) };
    const { info } = await keyring.issue(input as unknown as IssueInput<never>, authority);
    const { keyId } = info;
    await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: { 'threats:read': 5 } }]);
    await store.markEnded(keyId, { retireAt: file.now + 1 });
    await store.markEnded(keyId, { revokedAt: file.now });
    const { keys } = await keyring.list({}, authority);
    const found = await keyring.get(keyId, authority);
    for (const shown of [info, ...keys, found]) {
      const before = structuredClone(shown);
      const parsed = keyInfoSchema.parse(shown);
      expect(parsed).toEqual(JSON.parse(JSON.stringify(shown)));
      expect(shown).toEqual(before);
    }
    const scopesUsed = Object.fromEntries([['__proto__', new Date(6)]]);
    const { scopesUsed: parsed } = keyInfoSchema.parse({ ...info, scopesUsed });
    expect(Object.entries(parsed)).toEqual([['__proto__', '1970-01-01T00:00:00.006Z']]);
  });

  const bad = new Date(Number.NaN);
  test.each<[string, Object_]>([
    ...['createdAt', 'expiresAt', 'revokedAt', 'retireAt', 'lastUsedAt'].map(
      (field): [string, Object_] => [`an invalid Date as ${field}`, { [field]: bad }],
    ),
    [
      'an invalid Date in scopesUsed',
      { scopesUsed: { 'threats:read': new Date(0), 'threats:write': bad } },
    ],
    ['a list of Dates as scopesUsed', { scopesUsed: [new Date(0)] }],
    ['what looks like a Date and is none', { expiresAt: Object.create(Date.prototype) }],
    ['a year beyond 9999', { expiresAt: new Date(8.64e15) }],
    ['a Date as a name', { name: new Date(0) }],
    ['a Date in metadata', { metadata: { a: new Date(0) } }],
  ])('%s is refused, never taken for null', async (_, change) => {
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      now,
    });
    const { info } = await keyring.issue({ name: 'ci', scopes: [], expiresAt: 'never' }, authority);
    expect(keyInfoSchema.safeParse(info).success).toBe(true);
    const { error } = keyInfoSchema.safeParse({ ...info, ...change });
    expect(error?.issues.map(({ path }) => path[0])).toEqual(Object.keys(change));
  });

  test('a real key through Fastify, its schema as the response schema', async () => {
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      now,
    });
    const input = {
      name: 'ci',
      scopes: ['threats:*'],
      expiresAt: new Date(file.now + 1),
      metadata: { a: 'b' },
    };
    await keyring.issue(input as unknown as IssueInput<never>, authority);
    const app = fastify();
    const answer = { 200: { type: 'array', items: keyInfoJsonSchema } };
    app.get(
      '/',
      { schema: { response: answer } },
      async () => (await keyring.list({}, authority)).keys,
    );
    const { body } = await app.inject('/');
    const { keys } = await keyring.list({}, authority);
    expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(keys)));
    expect(keyInfoSchema.array().safeParse(JSON.parse(body)).success).toBe(true);
  });

  test.each<[string, Object_]>([
    ['a digest', { digest: 's1$00' }],
    ['a seal', { seal: null }],
    ['the key', { key: KEY }],
    ['a time in milliseconds', { createdAt: 0 }],
    ['a time without milliseconds', { createdAt: '2030-01-01T00:00:00Z' }],
    ['a time with an offset', { expiresAt: '2030-01-01T00:00:00.000+00:00' }],
    ['no creation time', { createdAt: null }],
    ['a wildcard', { scopes: ['users:*'] }],
    ['an upper-case UUID', { keyId: 'ABCDEF00-0000-4000-8000-000000000001' }],
    ['a number in metadata', { metadata: { a: 1 } }],
    ['a number in scopesUsed', { scopesUsed: { 'a:b': 1 } }],
    ['a field left out', { lastUsedAt: undefined }],
  ])('%s is refused', async (_, change) => {
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      now,
    });
    const { info } = await keyring.issue({ name: 'ci', scopes: [], expiresAt: 'never' }, authority);
    const shown = JSON.parse(JSON.stringify(info));
    expect(keyInfoSchema.safeParse(shown).success).toBe(true);
    expect(
      keyInfoSchema.safeParse(JSON.parse(JSON.stringify({ ...shown, ...change }))).success,
    ).toBe(false);
  });
});

describe('errors', () => {
  // Where a key could be pasted: as a field's name, a value, an element, within metadata, as the
  // whole.
  const secret = KEY.slice(5);
  const base = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };
  const bodies: readonly unknown[] = [
    KEY,
    [KEY],
    { ...base, [KEY]: 1 },
    { [KEY]: KEY },
    { ...base, name: `${KEY}\n` },
    { ...base, name: [KEY] },
    { ...base, name: KEY.repeat(5) },
    { ...base, scopes: KEY },
    { ...base, scopes: [KEY] },
    { ...base, scopes: [`${KEY}:read`] },
    { ...base, expiresAt: KEY },
    { ...base, accessibleEntities: [KEY] },
    { ...base, justification: `${KEY}\0` },
    { ...base, metadata: { [KEY]: 1 } },
    { ...base, metadata: { a: [KEY] } },
    { ...base, metadata: KEY },
  ];

  test('no issue, message or path of any schema quotes what was sent', () => {
    for (const body of bodies) {
      for (const schema of [issueInputSchema, forCatalog, meSchema]) {
        const { error } = schema.safeParse(body);
        expect(error).toBeDefined();
        const printed = [
          error?.message,
          JSON.stringify(error?.issues),
          error && z.prettifyError(error),
          String(error),
        ];
        expect(printed.join('\n')).not.toContain(secret);
      }
    }
  });

  test('each says what to write instead, and where', () => {
    const issue = (body: unknown) =>
      forCatalog.safeParse(body).error?.issues.map(({ path, message }) => [path[0], message]);
    expect(issue({ ...base, name: '' })).toEqual([
      ['name', expect.stringMatching(/1 to 100 characters/)],
    ]);
    expect(issue({ ...base, scopes: ['users:*'] })).toEqual([
      ['scopes', expect.stringMatching(/catches no reserved/)],
    ]);
    expect(issue({ ...base, expiresAt: 'soon' })).toEqual([
      ['expiresAt', expect.stringMatching(/ISO 8601.*'never'/)],
    ]);
    expect(issue({ ...base, scopes: ['users:read'] })).toEqual([
      ['justification', expect.stringMatching(/users:read/)],
    ]);
    expect(issue({ ...base, extra: 1 })).toEqual([
      [undefined, expect.stringMatching(/unknown field.*justification/)],
    ]);
    expect(issue({ ...base, metadata: 1 })).toEqual([
      ['metadata', expect.stringMatching(/16 pairs/)],
    ]);
  });
});

describe('JSON Schemas', () => {
  const all = {
    meJsonSchema,
    keyInfoJsonSchema,
    issueInputJsonSchema,
    particular: issueInputJsonSchemaFor(catalog),
  };

  test.each(Object.entries(all))(
    '%s is plain JSON of a closed object, and what zod itself says',
    (name, schema: Shown) => {
      expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
      expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
      const schemas = {
        meJsonSchema: meSchema,
        keyInfoJsonSchema: keyInfoSchema,
        issueInputJsonSchema: issueInputSchema,
      };
      const zod = schemas[name as keyof typeof schemas] ?? forCatalog;
      const { properties, required } = z.toJSONSchema(zod, { io: 'input' });
      expect(Object.keys(schema.properties ?? {})).toEqual(Object.keys(properties ?? {}));
      expect(schema.required).toEqual(required);
    },
  );

  test("/me has exactly its four fields; issue's input wants three of six", () => {
    const required = ({ required: names }: Shown) => names;
    expect(required(meJsonSchema)).toEqual([
      'entity_uuid',
      'key_id',
      'scopes',
      'accessible_entities',
    ]);
    expect(required(issueInputJsonSchema)).toEqual(['name', 'scopes', 'expiresAt']);
  });
});
