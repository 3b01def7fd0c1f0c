/** A small service and its OpenAPI document before `secureDocument`. */
import { definePolicy, defineScopes } from 'keyscope';

export const catalog = defineScopes(
  {
    threats: { read: 'List and read threats.', write: 'Update a threat.' },
    users: { delete: 'Delete users.' },
  },
  { reserved: ['users:*'] },
);

export const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  // Not in catalog order, which `requires` returns.
  mergeThreats: ['threats:write', 'threats:read'],
});

/** A part of a document. */
export interface Part {
  readonly [name: string]: unknown;
}

const OK: Part = { 200: { description: 'OK' } };

/** Makes an operation with extra fields. */
export function operation(operationId: string, more: Part = {}): Part {
  return { operationId, responses: OK, ...more };
}

/** Makes a document with these paths and extra fields. */
export function documentOf(paths: Part, more: Part = {}): Part {
  return { openapi: '3.1.0', info: { title: 'Threats', version: '1' }, paths, ...more };
}

/** Paths with each operation of the policy and an open one. */
export const PATHS: Readonly<Record<string, Part>> = {
  '/me': { get: operation('whoami') },
  '/threats': { get: operation('listThreats'), parameters: [] },
  '/threats/merge': { post: operation('mergeThreats') },
  '/health': { get: operation('readHealth', { security: [] }) },
};

/** Returns the value at a path of names; throws if it is missing. */
export function at(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) found = (found as Part)[name];
  return found;
}
