/** The first argument of `list`: the schema and its JSON Schema against the core. */
import { listInputJsonSchema, listInputSchema } from 'keyscope/schemas';
import { describe, expect, test } from 'vitest';
import {
  authority,
  createValidator,
  createVectorKeyring,
  type Fields,
  fieldsOfIssues,
  refusedField,
} from '../support/schemas.ts';
import { type Json, uuid } from '../support/vectors.ts';

const ID = uuid(1);

function cursor(time: number): string {
  return `${time.toString(36)}.${ID}`;
}

function limits(values: readonly unknown[]): readonly Fields[] {
  return values.map((limit) => ({ limit }));
}

function afters(values: readonly unknown[]): readonly Fields[] {
  return values.map((after) => ({ after }));
}

/** Accepted by the core and by the schema. */
const ACCEPTED: readonly Fields[] = [
  {},
  { after: undefined, limit: undefined },
  { after: null },
  ...limits([1, 50, 1000]),
  ...afters([0, 1, -1, 1.8e12].map(cursor)),
  ...afters([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER].map(cursor)),
  { after: cursor(0), limit: 1000 },
  { addressing: true },
  { addressing: false, limit: 5 },
];

/** Accepted by the schema, which turns them into numbers. */
const DIGITS = ['1', '9', '50', '100', '999', '1000'];

/** Accepted by the schema, which turns them into booleans. */
const WORDS = ['true', 'false'];

/** Accepted only by the JSON Schema, which cannot express that a number is safe. */
const BEYOND_JSON_SCHEMA = [`00.${ID}`, cursor(Number.MAX_SAFE_INTEGER + 1)];

const REFUSED: readonly unknown[] = [
  ...[undefined, null, 'x', 5, [], [{ limit: 5 }]],
  ...limits([0, -1, 1001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, null, true, [5]]),
  ...limits(['', '0', '01', '1001', '5 ', ' 5', '+5', '5.0', '1e2', '0x5', '٥']),
  ...afters(['', 'x', '.', ID, `.${ID}`, `${cursor(0)}.`, ` ${cursor(0)}`, `A.${ID}`, 5, {}]),
  ...afters([`0.${ID.slice(1)}`, `0.${'A'.repeat(36)}`, 'z'.repeat(1e6)]),
  ...afters(BEYOND_JSON_SCHEMA),
  ...[null, 0, 1, '', 'yes', 'TRUE', 'true ', [true], {}].map((addressing) => ({ addressing })),
  { limit: 5, offset: 5 },
  { ['__proto__']: 5, limit: 5 },
];

const keyring = createVectorKeyring();

function fieldRefusedByList(input: unknown): Promise<string | null> {
  return refusedField(() => keyring.list(input as Fields, authority));
}

async function coreLists(input: unknown): Promise<boolean> {
  return (await fieldRefusedByList(input)) === null;
}

function asJson(input: unknown): Json {
  return JSON.parse(JSON.stringify(input)) as Json;
}

/** Undefined if it is not an object. */
function fieldsOf(input: unknown): Fields | undefined {
  return typeof input === 'object' && input !== null ? (input as Fields) : undefined;
}

describe('listInputSchema', () => {
  test('accepts the same as the core, and a limit as digits', async () => {
    for (const input of ACCEPTED) {
      expect([input, await coreLists(input)]).toEqual([input, true]);
      expect(listInputSchema.parse(input)).toEqual(input);
    }
    for (const limit of DIGITS) {
      expect([limit, await coreLists({ limit })]).toEqual([limit, false]);
      expect(listInputSchema.parse({ limit })).toEqual({ limit: Number(limit) });
    }
    for (const addressing of WORDS) {
      expect([addressing, await coreLists({ addressing })]).toEqual([addressing, false]);
      const parsed = listInputSchema.parse({ addressing });
      expect(parsed).toEqual({ addressing: addressing === 'true' });
    }
    for (const input of REFUSED) {
      // For the core, missing input is the first page.
      if (input !== undefined) expect([input, await coreLists(input)]).toEqual([input, false]);
      expect([input, listInputSchema.safeParse(input).success]).toEqual([input, false]);
    }
  });

  test('accepts the cursor of a page in a query string', async () => {
    const own = createVectorKeyring();
    for (let index = 0; index < 3; index++) {
      await own.issue({ name: 'n', scopes: [], expiresAt: 'never' }, authority);
    }
    const { next } = await own.list({ limit: 2 }, authority);
    const query = new URLSearchParams({ after: String(next), limit: '2' });
    const page = await own.list(listInputSchema.parse(Object.fromEntries(query)), authority);
    expect(page).toMatchObject({ keys: [{ name: 'n' }], next: null });
  });

  test('names the same field as the core', async () => {
    for (const input of REFUSED) {
      if (input === undefined) continue;
      const { error } = listInputSchema.safeParse(input);
      expect([input, fieldsOfIssues(error)]).toEqual([input, [await fieldRefusedByList(input)]]);
    }
  });

  test('names the field in each message, and quotes no input', () => {
    for (const input of REFUSED) {
      const { error } = listInputSchema.safeParse(input);
      const messages = error?.issues.map(({ message }) => message) ?? [];
      expect(messages.join()).not.toContain('zzz');
      const names = Object.keys(fieldsOf(input) ?? {});
      for (const field of ['after', 'limit', 'addressing']) {
        if (names.join() !== field) continue;
        expect(messages).toEqual([expect.stringMatching(`^${field}: `)]);
        expect(fieldsOfIssues(error)).toEqual([field]);
      }
    }
  });
});

describe('listInputJsonSchema', () => {
  test('accepts the same as the schema, and more only in cursors', async () => {
    const isValid = await createValidator(listInputJsonSchema);
    const words = WORDS.map((addressing) => ({ addressing }));
    for (const input of [...ACCEPTED, ...limits(DIGITS), ...words]) {
      expect([input, await isValid(asJson(input))]).toEqual([input, true]);
    }
    for (const input of REFUSED) {
      // JSON has no undefined and no NaN, and Fastify drops a `__proto__` before its validator sees
      // it.
      if (input === undefined) continue;
      const fields = fieldsOf(input);
      const { after, limit } = fields ?? {};
      if (typeof limit === 'number' && !Number.isFinite(limit)) continue;
      if (fields !== undefined && Object.hasOwn(fields, '__proto__')) continue;
      const isBeyond = BEYOND_JSON_SCHEMA.some((each) => each === after);
      expect([input, await isValid(asJson(input))]).toEqual([input, isBeyond]);
    }
  });
});
