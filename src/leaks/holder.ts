/**
 * Revocation by whoever holds the key (RFC 7009). The answer is the same whatever the string was,
 * and whether it was a key is not asked of anybody if its checksum says no.
 */
import { StoreError } from '../core/errors.js';
import { answerError, answerNothing } from '../http/answer.js';
import { readBody } from '../http/body.js';
import { Refusal, requireBody } from '../http/fetch-handler.js';
import type { LeakEnder } from './ender.js';
import { endAll } from './finds.js';
import { CHALLENGE, type Source } from './sources.js';

/** Longer than a key and a hint of its type, whatever is escaped. */
const MAX_BODY_BYTES = 8 * 1024;

const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** Ends the key that is sent: `token=…` as a form. */
export function createHolderDoor(
  holder: Source,
  ender: LeakEnder,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!FORM.test(request.headers.get('content-type') ?? ''))
      throw new Refusal('malformed_report');
    const text = requireBody(await readBody(request, MAX_BODY_BYTES), 'read_before_leaks');
    const [token, another] = new URLSearchParams(text).getAll('token');
    if (token === undefined || another !== undefined) throw new Refusal('malformed_report');
    // Not reported: a stranger who floods this door would fill the log.
    if (ender.isFull()) return answerError(new StoreError('too many reports at once'), CHALLENGE);
    await endAll(ender, holder, [{ token, where: null }]);
    return answerNothing({}, 200);
  };
}
