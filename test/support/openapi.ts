/** A small service and its OpenAPI document, as somebody wrote it before it was secured. */
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
  // In catalog order, whatever the order here.
  mergeThreats: ['threats:write', 'threats:read'],
});

/** A part of a document. */
export interface Part {
  readonly [name: string]: unknown;
}

const OK: Part = { 200: { description: 'OK' } };

/** An operation with some fields more. */
export function operation(operationId: string, more: Part = {}): Part {
  return { operationId, responses: OK, ...more };
}

/** A document with these paths, and with some fields more. */
export function documentOf(paths: Part, more: Part = {}): Part {
  return { openapi: '3.1.0', info: { title: 'Threats', version: '1' }, paths, ...more };
}

/** One operation for each of the policy, and one for anybody. */
export const PATHS: Readonly<Record<string, Part>> = {
  '/me': { get: operation('whoami') },
  '/threats': { get: operation('listThreats'), parameters: [] },
  '/threats/merge': { post: operation('mergeThreats') },
  '/health': { get: operation('readHealth', { security: [] }) },
};

/** The value at a path of names; fails where there is none. */
export function at(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) found = (found as Part)[name];
  return found;
}
