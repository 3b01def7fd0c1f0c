/**
 * GitLab's Token Revocation API, which an instance of one's own is configured to call
 * (https://docs.gitlab.com/development/sec/token_revocation_api).
 */
import { equalText } from '../core/bytes.js';
import { digestKey } from '../core/keys.js';
import { answerJson, answerNothing } from '../http/answer.js';
import { readBody } from '../http/body.js';
import { refuse } from './answer.js';
import type { LeakEnder } from './ender.js';
import { endAll, MAX_BODY_BYTES, readFinds } from './finds.js';
import type { GitLab } from './sources.js';

/** Says which types can be revoked. */
export function createTypesDoor({
  secret,
  types,
}: GitLab): (request: Request) => Promise<Response> {
  return async (request) => {
    return hasSecret(request, secret) ? answerJson(200, { types: [...types] }) : refuseSecret();
  };
}

/** Answers what GitLab found; which of it was a key is told to nobody. */
export function createTokensDoor(
  gitlab: GitLab,
  ender: LeakEnder,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!hasSecret(request, gitlab.secret)) return refuseSecret();
    const text = await readBody(request, MAX_BODY_BYTES);
    if (text === undefined) return refuse('read_before');
    if (text === null) return refuse('too_long');
    const finds = readFinds(text, 'location');
    if (finds === null) return refuse('malformed');
    if (!finds.every(({ type }) => gitlab.types.has(type))) return refuse('unknown_type');
    await endAll(ender, gitlab, finds);
    return answerNothing();
  };
}

/**
 * Compares digests, so that the time tells neither length nor beginning of the secret. GitLab sends
 * it bare; a proxy that wants an auth-scheme may have written one.
 */
function hasSecret({ headers }: Request, secret: string): boolean {
  const given = headers.get('authorization') ?? '';
  const bare = given.replace(/^Bearer +/i, '');
  return equalText(digestKey(bare), digestKey(secret));
}

function refuseSecret(): Response {
  return refuse('wrong_secret', { 'WWW-Authenticate': 'Bearer realm="leaks"' });
}
