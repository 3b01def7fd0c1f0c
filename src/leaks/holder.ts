/**
 * Lets anyone who holds a key revoke it (RFC 7009). The answer is the same for every string, and a
 * string with a wrong checksum never reaches a store.
 */
import { StoreError } from '../core/errors.js';
import { answerError, answerNothing } from '../http/answer.js';
import { Refusal } from '../http/fetch-handler.js';
import type { LeakEnder } from './ender.js';
import { endAll, MALFORMED, readReport } from './report.js';
import { CHALLENGE, type Source } from './sources.js';

/** Enough for a key and a type hint, even if every character is escaped. */
const MAX_BODY_BYTES = 8 * 1024;

const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** Makes the route that ends a key sent as a form, `token=…`. */
export function createHolderDoor(
  holder: Source,
  ender: LeakEnder,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!FORM.test(request.headers.get('content-type') ?? '')) throw new Refusal(MALFORMED);
    const text = new TextDecoder().decode(await readReport(request, MAX_BODY_BYTES));
    const [token, another] = new URLSearchParams(text).getAll('token');
    if (token === undefined || another !== undefined) throw new Refusal(MALFORMED);
    // Not reported, because a stranger who floods this route would fill the log.
    if (ender.isFull()) return answerError(new StoreError('too many reports at once'), CHALLENGE);
    await endAll(ender, holder, [{ token, where: null }]);
    return answerNothing({}, 200);
  };
}
