/**
 * GitLab's Token Revocation API, which you configure your own GitLab instance to call
 * (https://docs.gitlab.com/development/sec/token_revocation_api).
 */
import { equalText } from '../core/bytes.js';
import { answerJson, answerNothing, type Problem } from '../http/answer.js';
import { Refusal } from '../http/fetch-handler.js';
import { digestKey } from '../notation/keys.js';
import type { LeakEnder } from './ender.js';
import { endAll, MALFORMED, MAX_BODY_BYTES, readFinds, readReport } from './report.js';
import type { GitLab } from './sources.js';

const WRONG_SECRET: Problem = {
  status: 401,
  detail: 'The Authorization header does not contain the agreed secret.',
};

const UNKNOWN_TYPE: Problem = {
  status: 400,
  detail: 'The report has a token type that cannot be revoked here.',
};

/** Makes the route that lists the revocable types. */
export function createTypesDoor({
  secret,
  types,
}: GitLab): (request: Request) => Promise<Response> {
  return async (request) => {
    requireSecret(request, secret);
    return answerJson(200, { types: [...types] });
  };
}

/** Makes the route for found tokens. Its answer does not reveal which of them are keys. */
export function createTokensDoor(
  gitlab: GitLab,
  ender: LeakEnder,
): (request: Request) => Promise<Response> {
  return async (request) => {
    requireSecret(request, gitlab.secret);
    const finds = readFinds(await readReport(request, MAX_BODY_BYTES), 'location');
    if (finds === null) throw new Refusal(MALFORMED);
    if (!finds.every(({ type }) => gitlab.types.has(type))) throw new Refusal(UNKNOWN_TYPE);
    await endAll(ender, gitlab, finds);
    return answerNothing();
  };
}

/**
 * Compares digests, so that the timing reveals neither the length nor a prefix of the secret.
 * GitLab sends the secret without a scheme, but a proxy may have added one.
 */
function requireSecret({ headers }: Request, secret: string): void {
  const given = headers.get('authorization') ?? '';
  const bare = given.replace(/^Bearer +/i, '');
  if (equalText(digestKey(bare), digestKey(secret))) return;
  throw new Refusal(WRONG_SECRET, { 'WWW-Authenticate': 'Bearer realm="leaks"' });
}
