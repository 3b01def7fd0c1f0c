/** What may be sent to the operations: texts, pages, and the entity to act on. */
import { z } from 'zod';
import type { Position } from './rows.ts';

/**
 * `entity_uuid`, which every operation accepts and the guard reads: here it is described, not
 * checked.
 */
export const entity = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ format: 'uuid', description: "The entity to act on. Left out, it is the key's own." });

/** `:id` of a path. */
export const id = z.string('a text').describe('Of what it is done to.');

// ── Texts ───────────────────────────────────────────────────────────────────────────────────────

/** Half a surrogate pair and NUL are valid text in JSON but not in SQLite. */
function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

function textOf(maxLength: number): z.ZodString {
  return z.string().max(maxLength).refine(isStorable, 'well-formed text without NUL');
}

export const line = textOf(100).regex(/^\P{Cc}+$/u, '1 to 100 characters, no control characters');

export const notes = textOf(2000);

/** A body with some of these fields, and at least one. */
export function someOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .strictObject(shape)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'name at least one field')
    .meta({ minProperties: 1 });
}

// ── Pages ───────────────────────────────────────────────────────────────────────────────────────

/** A position as clients have it, who are to send it back as it is. */
export function encodeCursor({ created_at, id }: Position): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

/** `null` for a text that is no cursor. */
function decodeCursor(text: string): Position | null {
  const parts = Buffer.from(text, 'base64url').toString().split(' ');
  const created_at = parts[0];
  const id = parts[1];
  if (parts.length !== 2 || created_at === undefined || id === undefined) return null;
  const position = { created_at, id };
  // Encoding it again refuses every text that Buffer reads leniently.
  if (encodeCursor(position) !== text) return null;
  return position;
}

const cursor = z.string().transform((text, context): Position => {
  const position = decodeCursor(text);
  if (position !== null) return position;
  context.addIssue({ code: 'custom', message: 'pass "next" of the page before' });
  return z.NEVER;
});

/** In a query it is text; a tool's argument keeps its type. */
function readNumber(sent: unknown): unknown {
  if (typeof sent === 'string' && /^[1-9][0-9]{0,2}$/.test(sent)) return Number(sent);
  return sent;
}

const WHOLE = 'a whole number from 1 to 100';
const limit = z
  .preprocess(readNumber, z.int(WHOLE).min(1, WHOLE).max(100, WHOLE))
  .default(20)
  .describe('How many at the most. Left out, it is 20.');

export const paging = z.strictObject({
  limit,
  after: cursor
    .optional()
    .transform((position) => position ?? null)
    .describe('"next" of the page before.'),
});
