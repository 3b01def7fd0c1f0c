/** Reads a report, and handles each of its tokens once. */
import type { Problem } from '../http/answer.js';
import { readBytes } from '../http/body.js';
import { Refusal, requireBody } from '../http/fetch-handler.js';
import type { LeakEnder } from './ender.js';
import type { Find } from './leak-handler-options.js';
import { createPlaceMask } from './masked-place.js';
import type { Source } from './sources.js';

/** Enough for more than a thousand finds. */
export const MAX_BODY_BYTES: number = 1024 * 1024;

/** A body that is not a report, with the code of RFC 6749 §5.2, which RFC 7009 §2.2.1 refers to. */
export const MALFORMED: Problem = {
  status: 400,
  detail: 'The body does not follow this protocol.',
  error: 'invalid_request',
};

/** A mistake of the service, which its developer must see at the first request. */
const READ_BEFORE: Problem = {
  status: 500,
  detail:
    'A body parser in front of the leak handler has read the body, but the signature is over ' +
    'its exact bytes. In the server, mount the handler before the parser.',
};

/**
 * Reads the body of a report. `onError` must not receive mistakes of strangers: an empty body in
 * chunks is empty, not read before, and a body that breaks off is malformed.
 *
 * @throws Refusal also if the body is too long, or if something else has read it.
 */
export async function readReport(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const mayBeEmpty = !request.bodyUsed && request.headers.has('transfer-encoding');
  const bytes = await readBytes(request, maxBytes).catch(() => {
    throw new Refusal(MALFORMED);
  });
  return bytes === undefined && mayBeEmpty ? new Uint8Array() : requireBody(bytes, READ_BEFORE);
}

/** A find, and the sender's name for this type of token. */
export interface ReportedFind extends Find {
  readonly type: string;
}

/**
 * Reads `[{ token, type, … }]`. The field named by `place` may say where the token was found.
 *
 * @returns `null` for anything else.
 */
export function readFinds(
  bytes: Uint8Array,
  place: 'url' | 'location',
): readonly ReportedFind[] | null {
  const list = listIn(new TextDecoder().decode(bytes));
  if (list === null) return null;
  const finds: ReportedFind[] = [];
  for (const each of list) {
    const { token, type, [place]: where } = Object(each) as Readonly<Record<string, unknown>>;
    if (typeof token !== 'string' || typeof type !== 'string') return null;
    const isSaid = typeof where === 'string' && where !== '';
    finds.push({ token, type, where: isSaid ? where : null });
  }
  return finds;
}

function listIn(text: string): readonly unknown[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : null;
  } catch {
    return null;
  }
}

/** How many tokens of one report are handled at once. */
const AT_ONCE = 4;

/** After so many failures, the store is broken, and trying the other tokens would take hours. */
const MOST_FAILURES = 50;

/**
 * Handles each token once, also after a few failures: otherwise rows that always fail would keep
 * the other keys of every report alive.
 *
 * @returns The tokens that are keys.
 * @throws The first error, at the end, so that the sender reports the tokens again.
 */
export async function endAll(
  ender: LeakEnder,
  source: Source,
  finds: readonly Find[],
): Promise<ReadonlySet<string>> {
  const byToken = new Map(finds.map((find) => [find.token, find]));
  // The place of one find may contain the key of another.
  const maskPlace = createPlaceMask([...byToken.keys()]);
  // All workers take from this iterator.
  const left = byToken.values();
  const known = new Set<string>();
  const errors: unknown[] = [];
  async function work(): Promise<void> {
    for (const find of left) {
      if (errors.length >= MOST_FAILURES) return;
      const end = ender.end(source, find, maskPlace);
      const isKnown = await end.catch((error: unknown) => void errors.push(error));
      if (isKnown) known.add(find.token);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (errors.length > 0) throw errors[0];
  return known;
}
