/**
 * `rotate`'s input: the schema and its JSON Schema against the core, over the vectors of `issue`.
 */
import type { RotateInput } from 'keyscope';
import { isAccessError } from 'keyscope';
import { rotateInputJsonSchema, rotateInputSchema } from 'keyscope/schemas';
import { describe, expect, test } from 'vitest';
import { untyped } from '../support/keyring.ts';
import {
  authority,
  catalog,
  createValidator,
  createVectorKeyring,
  type Fields,
  fieldsOfIssues,
  inputVectors,
  NOW,
  refusedField,
} from '../support/schemas.ts';
import { failures, type Json, unfold, uuid } from '../support/vectors.ts';

const schema = rotateInputSchema({ catalog }, { now: () => NOW });

/** A key with every scope and two entities, so that most vectors ask for less. */
const WIDE = {
  name: 'wide',
  scopes: ['threats:*', 'constructor:read', 'users:read', 'users:delete'],
  expiresAt: 'never',
  accessibleEntities: [uuid(1), uuid(2)],
  justification: 'Off-boarding.',
} as const;

/** The field of an input of `rotate` that the core refuses; null if the input is well-formed. */
async function fieldRefusedByRotate(input: unknown): Promise<string | null> {
  const keyring = createVectorKeyring();
  const { info } = await keyring.issue(WIDE, authority);
  return refusedField(async () => {
    try {
      await keyring.rotate(info.keyId, input as RotateInput, authority);
    } catch (error) {
      // Well-formed, but more than the predecessor has.
      if (!isAccessError(error)) throw error;
    }
  });
}

/** A body, and the input that the core gets from it. */
interface Both {
  readonly body: Json;
  readonly input: unknown;
}

/** An input of `issue` as one of `rotate`, which has no metadata and no required fields. */
function asRotation(vector: (typeof inputVectors)[number]): Both {
  const unfolded = unfold(vector.input);
  const isTable = typeof unfolded === 'object' && unfolded !== null && !Array.isArray(unfolded);
  if (!isTable) return { body: unfolded, input: unfolded };
  const { metadata: _metadata, ...rest } = unfolded as Fields;
  const body = { overlapMs: 0, ...rest };
  const { expiresAtMs } = vector;
  const input = expiresAtMs === undefined ? body : { ...body, expiresAt: new Date(expiresAtMs) };
  return { body: body as unknown as Json, input };
}

describe('rotateInputSchema', () => {
  test('refuses the same as the core for all vectors, and names the same field', async () => {
    let accepted = 0;
    const failed = await failures(inputVectors, async (vector) => {
      const { body, input } = asRotation(vector);
      // A schema counts the elements as sent; see the notes of the vectors.
      if (vector.flags.includes('OwnEntity') || vector.flags.includes('EntityIds')) return;
      const field = await fieldRefusedByRotate(input);
      const { success, error } = schema.safeParse(body);
      expect(success).toBe(field === null);
      if (success) accepted += 1;
      else expect(fieldsOfIssues(error)).toEqual([field]);
    });
    expect(failed).toEqual([]);
    expect(accepted).toBeGreaterThan(80);
  });

  test.each([
    [0, true],
    [1, true],
    [365 * 86_400_000, true],
    [365 * 86_400_000 + 1, false],
    [-1, false],
    [0.5, false],
    ['0', false],
    [null, false],
    [undefined, false],
  ])('agrees with the core on an overlap of %j', async (overlapMs, isRight) => {
    const field = await fieldRefusedByRotate({ overlapMs });
    expect(field).toBe(isRight ? null : 'overlapMs');
    const { success, error } = schema.safeParse({ overlapMs });
    expect(success).toBe(isRight);
    if (!success) expect(fieldsOfIssues(error)).toEqual(['overlapMs']);
  });

  test.each(['threats:*', '*:*', '*:read', 'users:*'])(
    'accepts only concrete scopes, like the core: not %s',
    async (pattern) => {
      const input = { overlapMs: 0, scopes: [pattern] };
      expect(await fieldRefusedByRotate(input)).toBe('scopes');
      expect(fieldsOfIssues(schema.safeParse(input).error)).toEqual(['scopes']);
    },
  );

  test('returns the input for rotate, without omitted fields', async () => {
    const keyring = createVectorKeyring();
    const { info } = await keyring.issue(WIDE, authority);
    const body = {
      overlapMs: 5,
      expiresAt: '2030-01-31T12:00:00Z',
      name: 'e\u0301',
      scopes: ['users:read', 'threats:read'],
      accessibleEntities: [uuid(2)],
      justification: 'Less.',
    };
    const input = schema.parse(body);
    expect(input).toEqual({ ...body, expiresAt: new Date('2030-01-31T12:00:00Z'), name: '\u00e9' });
    const next = await keyring.rotate(info.keyId, input, authority);
    expect(next.info).toMatchObject({
      name: '\u00e9',
      scopes: ['threats:read', 'users:read'],
      accessibleEntities: [authority.entityId, uuid(2)],
      justification: 'Less.',
    });
    expect(schema.parse({ overlapMs: 5 })).toEqual({ overlapMs: 5 });
  });

  test('uses Date.now by default', () => {
    const day = 86_400_000;
    const isAccepted = (time: number): boolean => {
      const body = { overlapMs: 0, expiresAt: new Date(time).toISOString() };
      return rotateInputSchema({ catalog }).safeParse(body).success;
    };
    expect(isAccepted(Date.now() + day)).toBe(true);
    expect(isAccepted(Date.now() - day)).toBe(false);
  });

  test('takes a keyring', () => {
    const json = rotateInputJsonSchema(createVectorKeyring());
    expect(json).toEqual(rotateInputJsonSchema({ catalog }));
  });

  test('refuses anything that has no catalog', () => {
    for (const odd of [undefined, null, {}, catalog, { catalog: { all: 'a:b' } }]) {
      const act = () => rotateInputSchema(untyped(odd));
      expect(act).toThrow(/^pass the keyring or its policy$/);
    }
  });

  // The core accepted a list of any length if it repeated scopes of the predecessor.
  test.each([
    [256, null],
    [257, 'scopes'],
  ])('treats %i repeated scopes like the core: it refuses %s', async (length, field) => {
    const input = { overlapMs: 0, scopes: Array.from({ length }, () => 'threats:read') };
    expect(await fieldRefusedByRotate(input)).toBe(field);
    expect(schema.safeParse(input).success).toBe(field === null);
  });
});

describe('rotateInputJsonSchema', () => {
  test('accepts the same as the schema, and more only if a vector says so', async () => {
    const isValid = await createValidator(rotateInputJsonSchema({ catalog }));
    const failed = await failures(inputVectors, async (vector) => {
      if (vector.flags.includes('Prototype')) return;
      const { body } = asRotation(vector);
      const { success } = schema.safeParse(body);
      const isBeyond = vector.flags.some((flag) => ['BeyondJsonSchema', 'Clock'].includes(flag));
      const isCounted = vector.flags.includes('CountedBeforeNfc');
      expect(await isValid(body)).toBe((success || isBeyond) && !isCounted);
    });
    expect(failed).toEqual([]);
  });

  test('lists the scopes of the catalog without wildcards', () => {
    expect(rotateInputJsonSchema({ catalog })).toMatchObject({
      required: ['overlapMs'],
      properties: { scopes: { items: { enum: catalog.all } } },
    });
  });
});
