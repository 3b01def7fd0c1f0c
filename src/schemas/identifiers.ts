/** Scopes, entities and key ids: texts with a fixed form. */
import * as z from 'zod';

/** At most this many scopes on a key. */
export const MAX_SCOPES = 256;

/** At most this many accessible entities on a key. */
export const MAX_ENTITIES = 1000;

/** A UUID in lower case, the whole text. */
export const UUID: RegExp = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const SEGMENT = '[a-z][a-z0-9_-]{0,63}';
const SCOPE = new RegExp(`^${SEGMENT}:${SEGMENT}$`);
const PATTERN = new RegExp(`^(?:\\*|${SEGMENT}):(?:\\*|${SEGMENT})$`);

const uuidRule = 'a UUID in lower case';
const scopeRule = 'a scope resource:action, in lower case';
const patternRule = 'a scope resource:action in lower case, or * for a whole segment';

export const uuid: z.ZodString = z.string(uuidRule).regex(UUID, uuidRule).meta({ format: 'uuid' });

/** A concrete scope. Not checked: whether a catalog has it. */
export const scope: z.ZodString = z.string(scopeRule).regex(SCOPE, scopeRule);

/** A scope, or a wildcard. Not checked: whether a catalog has it. */
export const scopePattern: z.ZodString = z.string(patternRule).regex(PATTERN, patternRule);

/** Granted scopes, which are concrete. */
export const scopes: z.ZodArray<z.ZodString> = scopeList(scope);

export const entities: z.ZodArray<z.ZodString> = listOf(uuid, MAX_ENTITIES, 'entities');

/** A list of `element`, as long as the scopes of a key can be. */
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
