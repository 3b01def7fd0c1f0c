/**
 * What the tests of the schemas share: the vectors of `issue`'s input with the catalog, the time
 * and the authority that they assume, a keyring with these, and a validator of JSON Schemas.
 */
import fastify from 'fastify';
import type { Catalog, GrantAuthority, IssueInput, Keyring, KeyStore } from 'keyscope';
import { createKeyring, defineScopes, generateKey, isInputError } from 'keyscope';
import type { IssueInputJson } from 'keyscope/schemas';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import type * as z from 'zod';
import { type Json, readVectors, unfold, type Vector } from './vectors.ts';

/** A vector that says whether its input is accepted. */
export interface InputVector extends Vector {
  readonly input: Json;
  readonly result: 'accept' | 'refuse';
  /** The field that the core's `InputError` names, if it is refused. */
  readonly field?: string;
  /** What the text in `expiresAt` means, if it means a time. */
  readonly expiresAtMs?: number;
}

interface InputFile {
  readonly now: number;
  readonly catalog: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly reserved: readonly string[];
  readonly authority: {
    readonly entityUuid: string;
    readonly entities: Json;
    readonly scopes: 'all';
  };
  readonly tests: readonly InputVector[];
}

/** Of any object that these tests look into. */
export interface Fields {
  readonly [name: string]: unknown;
}

const file = readVectors<InputFile>('issue-input');

/** Each is an input of `issue`. */
export const inputVectors: readonly InputVector[] = file.tests;

/** The time of the vectors. */
export const NOW: number = file.now;

/** What `defineScopes` takes to make {@link catalog}. */
export const definition: InputFile['catalog'] = file.catalog;

export const catalog: Catalog = defineScopes(file.catalog, { reserved: file.reserved as [] });

export const authority: GrantAuthority = {
  ...file.authority,
  entities: unfold(file.authority.entities) as string[],
};

export const inputSchemaForCatalog: z.ZodType<IssueInput, IssueInputJson> = issueInputSchemaFor(
  catalog,
  { now: () => NOW },
);

/** A key of nobody. */
export const KEY: string = generateKey({ prefix: 'acme' });

/** A keyring at the time of the vectors. */
export function createVectorKeyring(store: KeyStore = memoryStore()): Keyring {
  return createKeyring({ prefix: 'acme', catalog, store, peppers: 'none', now: () => NOW });
}

/**
 * Which field the core refuses with an `InputError`; null if it does not. Any other error is a
 * failure.
 */
export async function refusedField(act: () => Promise<unknown>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    if (isInputError(error)) return error.field;
    throw error;
  }
}

/** Which field of an input of `issue` the core refuses; null if it accepts it. */
export function fieldRefusedByCore(input: unknown): Promise<string | null> {
  return refusedField(() => createVectorKeyring().issue(input as IssueInput, authority));
}

/** The fields that the issues of a failed parse name: the first part of each path. */
export function fieldsOfIssues(error: z.ZodError | undefined): readonly unknown[] {
  const fields = error?.issues.map(({ path }) => path[0]) ?? [];
  return [...new Set(fields)];
}

/** Says whether a body is valid. */
type Validate = (body: Json) => Promise<boolean>;

/** A validator of bodies as a framework has it: Fastify's own ajv, told to change nothing. */
export async function createValidator(schema: object): Promise<Validate> {
  const app = fastify({
    bodyLimit: 8_000_000,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    // The framework would refuse `__proto__` before any schema.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
  });
  app.post('/', { schema: { body: schema } }, () => 'accepted');
  await app.ready();
  return async (body) => {
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    });
    if (statusCode !== 200 && statusCode !== 400) throw new Error(`answered ${statusCode}`);
    return statusCode === 200;
  };
}
