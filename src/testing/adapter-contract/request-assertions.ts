/** Assertions about the outcome of a request: denied, let in, or failed in the service itself. */
import { toResponse } from '../../http/challenge.js';
import { check, same } from '../assertions.js';
import type { AdapterFixture } from './contract-client.js';
import { type Answer, type HeaderLine, headerValues } from './http-exchange.js';
import { type HandlerCall, handlerText, keyIdOf } from './service.js';

/** A GET request of a test. Error messages start with `what`. */
export interface TestRequest {
  readonly what: string;
  readonly path: string;
  readonly lines: readonly HeaderLine[];
}

/**
 * Fails unless the adapter denies the request: it answers as `toResponse` does for `error` and does
 * not run the handler.
 */
export async function assertDenied(
  { setup, calls, send }: AdapterFixture,
  error: unknown,
  { what, path, lines }: TestRequest,
): Promise<Answer> {
  const before = calls.length;
  const answer = await send('GET', path, ...lines);
  check(calls.length === before, `${what}: the handler must not run`);
  const { realm, resourceMetadata } = setup;
  const { status, headers, body } = toResponse(error, { realm, resourceMetadata });
  // Also compares headers that `toResponse` omits, because the adapter must not add them.
  const compared = new Set([...Object.keys(headers), 'WWW-Authenticate', 'Retry-After']);
  const gotHeaders: Record<string, readonly string[]> = {};
  const expectedHeaders: Record<string, readonly string[]> = {};
  for (const name of compared) {
    const value = headers[name];
    gotHeaders[name] = headerValues(answer, name);
    expectedHeaders[name] = value === undefined ? [] : [value];
  }
  const got = { status: answer.status, headers: gotHeaders, body: answer.body };
  same(got, { status, headers: expectedHeaders, body }, `${what}: the denial`);
  return answer;
}

/** Fails unless the handler runs once, for this key and this entity. */
export async function assertLetIn(
  { calls, send }: AdapterFixture,
  { keyId, entityId }: { readonly keyId: string; readonly entityId: string },
  { what, path, lines }: TestRequest,
): Promise<HandlerCall> {
  const before = calls.length;
  const { status, body } = await send('GET', path, ...lines);
  const ran = calls.slice(before);
  const [call] = ran;
  check(call !== undefined, `${what}: the handler must run, but the answer was ${status}`);
  check(ran.length === 1, `${what}: the handler must run once, not ${ran.length} times`);
  const got = { keyId: keyIdOf(call.principal), entityId: call.entityId };
  same(got, { keyId, entityId }, `${what}: the caller and entity in the handler`);
  const expected = { status: 200, body: handlerText(keyId, entityId) };
  same({ status, body }, expected, `${what}: the answer of the handler`);
  return call;
}

/** Fails unless the answer is a server error, which is neither a success nor a denial. */
export function assertFailure(answer: Answer, what: string): void {
  const { status } = answer;
  check(status >= 500, `${what}: the status must be 500 or above, not ${status}`);
  const challenges = headerValues(answer, 'WWW-Authenticate');
  check(challenges.length === 0, `${what}: the answer must not contain a challenge`);
}
