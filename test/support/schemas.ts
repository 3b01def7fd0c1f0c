/**
 * Fixtures of the schema tests: the vectors of `issue`'s input with their catalog, time and
 * authority, a keyring with these, and a validator of JSON Schemas.
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
  /** The field that the core's `InputError` names, if the input is refused. */
  readonly field?: string;
  /** The time that the text in `expiresAt` means, if any. */
  readonly expiresAtMs?: number;
}

interface InputFile {
  readonly now: number;
  readonly catalog: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly reserved: readonly string[];
  readonly authority: {
    readonly entityId: string;
    readonly entities: Json;
    readonly scopes: 'all';
  };
  readonly tests: readonly InputVector[];
}

/** The fields of any object that these tests inspect. */
export interface Fields {
  readonly [name: string]: unknown;
}

const file = readVectors<InputFile>('issue-input');

/** The vectors, each an input of `issue`. */
export const inputVectors: readonly InputVector[] = file.tests;

/** The time of the vectors. */
export const NOW: number = file.now;

/** The argument of `defineScopes` for {@link catalog}. */
export const definition: InputFile['catalog'] = file.catalog;

export const catalog: Catalog = defineScopes(file.catalog, { reserved: file.reserved as [] });

export const authority: GrantAuthority = {
  ...file.authority,
  entities: unfold(file.authority.entities) as string[],
};

export const inputSchemaForCatalog: z.ZodType<IssueInput, IssueInputJson> = issueInputSchemaFor(
  { catalog },
  { now: () => NOW },
);

/** A key that nobody issued. */
export const KEY: string = generateKey({ prefix: 'acme' });

/** Makes a keyring at the time of the vectors. */
export function createVectorKeyring(store: KeyStore = memoryStore()): Keyring {
  return createKeyring({ prefix: 'acme', catalog, store, peppers: 'none', now: () => NOW });
}

/**
 * Returns the field that the core refuses with an `InputError`, or null. Any other error is a
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

/**
 * Returns the field of an input of `issue` that the core refuses, or null if it accepts the input.
 */
export function fieldRefusedByCore(input: unknown): Promise<string | null> {
  return refusedField(() => createVectorKeyring().issue(input as IssueInput, authority));
}

/** Returns the fields of a failed parse: the first part of each path. */
export function fieldsOfIssues(error: z.ZodError | undefined): readonly unknown[] {
  const fields = error?.issues.map(({ path }) => path[0]) ?? [];
  return [...new Set(fields)];
}

/** Says whether a body is valid. */
type Validate = (body: Json) => Promise<boolean>;

/** Makes a validator of bodies like a framework's: Fastify's ajv, configured to change nothing. */
export async function createValidator(schema: object): Promise<Validate> {
  const app = fastify({
    bodyLimit: 8_000_000,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    // Otherwise the framework would reject `__proto__` before any schema.
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
