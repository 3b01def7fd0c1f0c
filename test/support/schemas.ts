/**
 * Shared fixtures of the schema tests: the vectors for `issue`'s input with their catalog, time and
 * authority, a keyring with these, and a JSON Schema validator.
 */
import fastify from 'fastify';
import type { Catalog, GrantAuthority, IssueInput, Keyring, KeyStore } from 'keyscope';
import { createKeyring, defineScopes, generateKey, isInputError } from 'keyscope';
import type { IssueInputJson } from 'keyscope/schemas';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import type * as z from 'zod';
import { type Json, readVectors, unfold, type Vector } from './vectors.ts';

/** A vector for an input that is either accepted or rejected. */
export interface InputVector extends Vector {
  readonly input: Json;
  readonly result: 'accept' | 'refuse';
  /** The field that the core's `InputError` names if it rejects the input. */
  readonly field?: string;
  /** The time that the text in `expiresAt` denotes, if it is valid. */
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

/** Any object that these tests inspect. */
export interface Fields {
  readonly [name: string]: unknown;
}

const file = readVectors<InputFile>('issue-input');

/** Each is an input of `issue`. */
export const inputVectors: readonly InputVector[] = file.tests;

/** The time of the vectors. */
export const NOW: number = file.now;

/** The arguments of `defineScopes` for {@link catalog}. */
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

/** A well-formed key that no store has. */
export const KEY: string = generateKey({ prefix: 'acme' });

/** A keyring at the time of the vectors. */
export function createVectorKeyring(store: KeyStore = memoryStore()): Keyring {
  return createKeyring({ prefix: 'acme', catalog, store, peppers: 'none', now: () => NOW });
}

/**
 * The field that the core rejects with an `InputError`; null if it accepts. Any other error fails
 * the test.
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

/** The field of an `issue` input that the core rejects; null if it accepts. */
export function fieldRefusedByCore(input: unknown): Promise<string | null> {
  return refusedField(() => createVectorKeyring().issue(input as IssueInput, authority));
}

/** The fields named by the issues of a failed parse: the first part of each path. */
export function fieldsOfIssues(error: z.ZodError | undefined): readonly unknown[] {
  const fields = error?.issues.map(({ path }) => path[0]) ?? [];
  return [...new Set(fields)];
}

/** Checks whether a body is valid. */
type Validate = (body: Json) => Promise<boolean>;

/** A body validator as frameworks use it: Fastify's own ajv, configured to modify nothing. */
export async function createValidator(schema: object): Promise<Validate> {
  const app = fastify({
    bodyLimit: 8_000_000,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    // The framework would reject `__proto__` before any schema runs.
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
