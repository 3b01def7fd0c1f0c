/** The inputs of the operations: texts, pages, and the entity to act on. */
import { z } from 'zod';
import type { Position } from './rows.ts';

/** `entity_uuid`, which every operation accepts. This only describes it; the guard checks it. */
export const entity = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ format: 'uuid', description: "The entity to act on. Default: the key's own." });

/** `:id` of a path. */
export const id = z.string('a text').describe('The id of the object.');

// ── Texts ───────────────────────────────────────────────────────────────────────────────────────

/** Checks for half surrogate pairs and NUL, which JSON allows and SQLite does not. */
function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

function textOf(maxLength: number): z.ZodString {
  return z.string().max(maxLength).refine(isStorable, 'well-formed text without NUL');
}

export const line = textOf(100).regex(/^\P{Cc}+$/u, '1 to 100 characters, no control characters');

export const notes = textOf(2000);

/** Returns the schema of a body with at least one of these fields. */
export function someOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .strictObject(shape)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'name at least one field')
    .meta({ minProperties: 1 });
}

// ── Pages ───────────────────────────────────────────────────────────────────────────────────────

/** Encodes a position for clients, who send it back unchanged. */
export function encodeCursor({ created_at, id }: Position): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

/** Returns `null` for a text that is not a cursor. */
function decodeCursor(text: string): Position | null {
  const parts = Buffer.from(text, 'base64url').toString().split(' ');
  const created_at = parts[0];
  const id = parts[1];
  if (parts.length !== 2 || created_at === undefined || id === undefined) return null;
  const position = { created_at, id };
  // Encoding it again catches every text that Buffer reads leniently.
  if (encodeCursor(position) !== text) return null;
  return position;
}

const cursor = z.string().transform((text, context): Position => {
  const position = decodeCursor(text);
  if (position !== null) return position;
  context.addIssue({ code: 'custom', message: 'pass "next" of the page before' });
  return z.NEVER;
});

/** Reads a number, which is text in a query and a number in a tool's argument. */
function readNumber(sent: unknown): unknown {
  if (typeof sent === 'string' && /^[1-9][0-9]{0,2}$/.test(sent)) return Number(sent);
  return sent;
}

const WHOLE = 'a whole number from 1 to 100';
const limit = z
  .preprocess(readNumber, z.int(WHOLE).min(1, WHOLE).max(100, WHOLE))
  .default(20)
  .describe('The maximum number of items. Default: 20.');

export const paging = z.strictObject({
  limit,
  after: cursor
    .optional()
    .transform((position) => position ?? null)
    .describe('"next" of the previous page.'),
});
