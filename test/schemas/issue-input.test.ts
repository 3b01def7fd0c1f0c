/** `issue`'s input: the schemas and their JSON Schemas against the core, over one table. */
import type { IssueInput } from 'keyscope';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import {
  issueInputJsonSchema,
  issueInputJsonSchemaFor,
  issueInputSchema,
  issueInputSchemaFor,
} from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, test } from 'vitest';
import { untyped } from '../support/keyring.ts';
import {
  authority,
  catalog,
  createValidator,
  createVectorKeyring,
  definition,
  type Fields,
  fieldRefusedByCore,
  fieldsOfIssues,
  type InputVector,
  inputSchemaForCatalog,
  inputVectors,
} from '../support/schemas.ts';
import { failures, unfold } from '../support/vectors.ts';

const PLAIN = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' };

/** The checks that a schema without a catalog and a clock cannot make. */
const BEYOND = ['Catalog', 'Clock', 'OwnEntity', 'EntityIds'];

function isAccepted({ result }: InputVector): boolean {
  return result === 'accept';
}

function hasFlag({ flags }: InputVector, ...names: readonly string[]): boolean {
  return names.some((name) => flags.includes(name));
}

/** The input for the core: with a time instead of its text. */
function coreInputOf({ input, expiresAtMs }: InputVector): unknown {
  const unfolded = unfold(input);
  if (expiresAtMs === undefined) return unfolded;
  return { ...(unfolded as Fields), expiresAt: new Date(expiresAtMs) };
}

describe('the vectors', () => {
  test('hold for the core, which names the field', async () => {
    expect(inputVectors.length).toBeGreaterThan(300);
    const failed = await failures(inputVectors, async (vector) => {
      const field = await fieldRefusedByCore(coreInputOf(vector));
      expect(field).toBe(isAccepted(vector) ? null : (vector.field ?? 'none'));
    });
    expect(failed).toEqual([]);
  });

  // If several fields are wrong, the core names one of them, and the schemas name all.
  test('hold for the fields that the issues of the schemas name', async () => {
    let refused = 0;
    const failed = await failures(inputVectors, (vector) => {
      for (const schema of [issueInputSchema, inputSchemaForCatalog]) {
        const { error } = schema.safeParse(unfold(vector.input));
        if (error === undefined || isAccepted(vector)) continue;
        refused += 1;
        const fields = fieldsOfIssues(error);
        expect(fields).toContain(vector.field);
        if (!hasFlag(vector, 'Several')) expect(fields).toHaveLength(1);
      }
    });
    expect(failed).toEqual([]);
    expect(refused).toBeGreaterThan(400);
  });

  test('hold for issueInputSchema, except the checks that it cannot make', async () => {
    const failed = await failures(inputVectors, (vector) => {
      const expected = isAccepted(vector) || hasFlag(vector, ...BEYOND);
      const { success, data } = issueInputSchema.safeParse(unfold(vector.input));
      expect(success).toBe(expected);
      if (data === undefined || vector.expiresAtMs === undefined) return;
      expect(data.expiresAt).toEqual(new Date(vector.expiresAtMs));
    });
    expect(failed).toEqual([]);
  });

  // A wildcard next to the reserved scopes that it matches is still refused.
  test('hold for issueInputSchemaFor, except for the own entity', async () => {
    const failed = await failures(inputVectors, (vector) => {
      const expected = isAccepted(vector) || hasFlag(vector, 'OwnEntity', 'EntityIds');
      const isStricter = hasFlag(vector, 'NamedReserved');
      const { success } = inputSchemaForCatalog.safeParse(unfold(vector.input));
      expect(success).toBe(expected && !isStricter);
    });
    expect(failed).toEqual([]);
  });

  test('hold for the JSON Schemas, which accept more only if a vector says so', async () => {
    const general = await createValidator(issueInputJsonSchema);
    const particular = await createValidator(issueInputJsonSchemaFor({ catalog }));
    const failed = await failures(inputVectors, async (vector) => {
      const body = unfold(vector.input);
      // Fastify drops a `__proto__` before its validator sees it.
      if (hasFlag(vector, 'Prototype')) return;
      const isBeyond = hasFlag(vector, ...BEYOND, 'BeyondJsonSchema');
      const isCounted = hasFlag(vector, 'CountedBeforeNfc');
      const isGeneral = (isAccepted(vector) || isBeyond) && !isCounted;
      expect(await general(body), 'general').toBe(isGeneral);
      const isWider = isBeyond && (!hasFlag(vector, 'Catalog') || hasFlag(vector, 'Clock'));
      const isParticular = (isAccepted(vector) || isWider) && !isCounted;
      const isNamed = hasFlag(vector, 'NamedReserved');
      expect(await particular(body), 'for the catalog').toBe(isParticular && !isNamed);
    });
    expect(failed).toEqual([]);
  });
});

describe('the result of a schema', () => {
  test('is accepted by the core, and stored as requested', async () => {
    const failed = await failures(inputVectors, async (vector) => {
      if (hasFlag(vector, ...BEYOND)) return;
      for (const schema of [issueInputSchema, inputSchemaForCatalog]) {
        const { data } = schema.safeParse(unfold(vector.input));
        if (data === undefined) continue;
        const { info } = await createVectorKeyring().issue(data, authority);
        expect(info.name).toBe(data.name);
        expect(info.expiresAt).toEqual(data.expiresAt === 'never' ? null : data.expiresAt);
        expect(info.justification).toBe(data.justification ?? null);
        expect(Object.entries(info.metadata)).toEqual(Object.entries(data.metadata ?? {}));
        expect(info.scopes).toEqual(catalog.expand(data.scopes));
      }
    });
    expect(failed).toEqual([]);
  });

  test('comes only from own fields, not from a prototype', () => {
    const prototype: object = { justification: 'Inherited.' };
    const own = { name: 'ci', scopes: ['users:read'], expiresAt: 'never' };
    const inherited: unknown = Object.assign(Object.create(prototype) as object, own);
    expect(inputSchemaForCatalog.safeParse(inherited).success).toBe(false);
    expect(issueInputSchema.parse(inherited)).not.toHaveProperty('justification', 'Inherited.');
    const empty: unknown = Object.create({ name: 'ci', scopes: [], expiresAt: 'never' });
    expect(issueInputSchema.safeParse(empty).success).toBe(false);
  });
});

describe('large and deep inputs', () => {
  test('have their fields and pairs counted before they are read', async () => {
    let reads = 0;
    const names = Array.from({ length: 100_000 }, (_, index) => `name${index}`);
    const many = new Proxy(Object.fromEntries(names.map((name) => [name, 'x'])), {
      get(target, name): unknown {
        if (typeof name === 'string') reads += 1;
        return Reflect.get(target, name);
      },
    });
    for (const input of [many, { ...PLAIN, metadata: many }]) {
      expect(await fieldRefusedByCore(input)).not.toBeNull();
      for (const schema of [issueInputSchema, inputSchemaForCatalog]) {
        expect(schema.safeParse(input).success).toBe(false);
      }
    }
    expect(reads).toBe(0);
  });

  // As deep as a megabyte of JSON can be: a recursive walk would end in a RangeError.
  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('of nested %s are refused in any place', async (_what, open, end) => {
    const times = Math.floor(1_000_000 / (open.length + end.length));
    const deep: unknown = JSON.parse(`${open.repeat(times)}1${end.repeat(times)}`);
    expect(await fieldRefusedByCore(PLAIN)).toBeNull();
    const fields = [
      'name',
      'scopes',
      'expiresAt',
      'accessibleEntities',
      'justification',
      'metadata',
      'unknown',
    ];
    const inputs = [deep];
    for (const name of fields) {
      for (const value of [deep, [deep], { a: deep }]) inputs.push({ ...PLAIN, [name]: value });
    }
    for (const input of inputs) {
      expect(await fieldRefusedByCore(input)).not.toBeNull();
      for (const schema of [issueInputSchema, inputSchemaForCatalog]) {
        expect(schema.safeParse(input).success).toBe(false);
      }
    }
  });
});

describe('issueInputJsonSchemaFor', () => {
  test('lists the scopes of the catalog and the wildcards that match no reserved scope', () => {
    const jsonSchema = issueInputJsonSchemaFor({ catalog });
    const legal = [...catalog.all, 'threats:*', '*:write', 'constructor:*'];
    const reserved = ['users:read', 'users:delete'];
    expect(jsonSchema).toMatchObject({
      properties: { scopes: { items: { enum: legal } } },
      if: { properties: { scopes: { type: 'array', contains: { enum: reserved } } } },
    });
    expect(jsonSchema).toHaveProperty('then', { required: ['justification'] });
  });

  test('requires no justification if no scope is reserved', () => {
    const open = issueInputJsonSchemaFor({ catalog: defineScopes({ a: { b: 'A sentence.' } }) });
    expect(open).not.toHaveProperty('if');
    expect(open).toMatchObject({
      properties: { scopes: { items: { enum: ['a:b', '*:*', 'a:*', '*:b'] } } },
    });
  });
});

describe('issueInputSchemaFor', () => {
  test('refuses a wildcard for more than 256 scopes, as the core does', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 257 }, (_, index) => [`r${index}`, { read: 'A sentence.' }]),
    );
    const large = defineScopes(many);
    const store = memoryStore();
    const keyring = createKeyring({ prefix: 'acme', catalog: large, store, peppers: 'none' });
    const body = { name: 'ci', scopes: ['*:*'], expiresAt: 'never' } as const;
    const input: IssueInput = body;
    await expect(keyring.issue(input as IssueInput<never>, authority)).rejects.toThrow(TypeError);
    expect(issueInputSchemaFor(keyring).safeParse(body).error?.issues).toMatchObject([
      { path: ['scopes'] },
    ]);
  });

  test('uses Date.now by default', () => {
    const schema = issueInputSchemaFor({ catalog });
    const bodyUntil = (time: number) => ({
      name: 'ci',
      scopes: [],
      expiresAt: new Date(time).toISOString(),
    });
    const day = 86_400_000;
    expect(schema.safeParse(bodyUntil(Date.now() + day)).success).toBe(true);
    expect(schema.safeParse(bodyUntil(Date.now() - day)).success).toBe(false);
  });

  test('takes a keyring, with or without a policy, or a policy', () => {
    const policy = definePolicy(catalog, { whoami: [] });
    const others = { prefix: 'acme', store: memoryStore(), peppers: 'none' } as const;
    const holders = [createKeyring({ ...others, policy }), createVectorKeyring(), policy];
    const expected = issueInputJsonSchemaFor({ catalog });
    for (const holder of holders) expect(issueInputJsonSchemaFor(holder)).toEqual(expected);
  });

  test('refuses anything that has no catalog', () => {
    for (const odd of [
      undefined,
      null,
      'acme',
      {},
      { all: 'a:b' },
      catalog,
      { catalog: definition },
    ]) {
      const act = () => issueInputSchemaFor(untyped<{ catalog: typeof catalog }>(odd));
      expect(act).toThrow(/^pass the keyring or its policy$/);
    }
  });

  test('says what to write instead, and where', () => {
    const issuesOf = (change: object): unknown =>
      inputSchemaForCatalog
        .safeParse({ ...PLAIN, ...change })
        .error?.issues.map(({ path, message }) => [path[0], message]);
    const says = (pattern: RegExp): unknown => expect.stringMatching(pattern);
    expect(issuesOf({ name: '' })).toEqual([['name', says(/1 to 100 characters/)]]);
    expect(issuesOf({ scopes: ['users:*'] })).toEqual([['scopes', says(/matches no reserved/)]]);
    expect(issuesOf({ expiresAt: 'soon' })).toEqual([['expiresAt', says(/ISO 8601.*'never'/)]]);
    expect(issuesOf({ scopes: ['users:read'] })).toEqual([['justification', says(/users:read/)]]);
    expect(issuesOf({ extra: 1 })).toEqual([['input', says(/unknown field.*justification/)]]);
    expect(issuesOf({ metadata: 1 })).toEqual([['metadata', says(/16 pairs/)]]);
  });
});
