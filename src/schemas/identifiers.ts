/** The schemas of scopes, entities and key ids. */
import * as z from 'zod';
import { isEntityId } from '../core/entity.js';

/** The most scopes of a key. */
export const MAX_SCOPES = 256;

/** The most accessible entities of a key. */
export const MAX_ENTITIES = 1000;

/** A UUID in lower case. Matches the whole text. */
export const UUID: RegExp = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const SEGMENT = '[a-z][a-z0-9_-]{0,63}';
const SCOPE = new RegExp(`^${SEGMENT}:${SEGMENT}$`);
const PATTERN = new RegExp(`^(?:\\*|${SEGMENT}):(?:\\*|${SEGMENT})$`);

const uuidRule = 'a UUID in lower case';
const entityRule = '1 to 64 letters, digits and . _ ~ : @ | -, and no API key';
const scopeRule = 'a scope resource:action, in lower case';
const patternRule = 'a scope resource:action in lower case, or * for a whole segment';

export const uuid: z.ZodString = z.string(uuidRule).regex(UUID, uuidRule).meta({ format: 'uuid' });

/** A concrete scope. Not checked: whether it is in a catalog. */
export const scope: z.ZodString = z.string(scopeRule).regex(SCOPE, scopeRule);

/** A scope or a wildcard. Not checked: whether it is in a catalog. */
export const scopePattern: z.ZodString = z.string(patternRule).regex(PATTERN, patternRule);

/** A list of granted scopes, which are concrete. */
export const scopes: z.ZodArray<z.ZodString> = scopeList(scope);

/** The id of an entity, of either kind. Its JSON Schema also accepts `.`, `..` and keys. */
export const entityId: z.ZodString = z
  .string(entityRule)
  .regex(/^[A-Za-z0-9._~:@|-]{1,64}$/, entityRule)
  .refine(isEntityId, entityRule);

export const entities: z.ZodArray<z.ZodString> = listOf(entityId, MAX_ENTITIES, 'entities');

/** Makes the schema of a list with at most as many elements as a key can have scopes. */
export function scopeList<Element extends z.ZodType<string, string>>(
  element: Element,
): z.ZodArray<Element> {
  return listOf(element, MAX_SCOPES, 'scopes');
}

function listOf<Element extends z.ZodType>(
  element: Element,
  max: number,
  what: string,
): z.ZodArray<Element> {
  return z.array(element, `${what}: a list of texts`).max(max, `${what}: at most ${max} elements`);
}
