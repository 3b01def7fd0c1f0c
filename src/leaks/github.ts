/**
 * GitHub's secret scanning partner programme: a signed list of what was found in public, answered
 * with what of it is a key (https://docs.github.com/code-security, "Secret scanning partner
 * program").
 */
import { StoreError } from '../core/errors.js';
import { answerError, answerJson } from '../http/answer.js';
import { readBytes } from '../http/body.js';
import { Refusal, requireBody } from '../http/fetch-handler.js';
import { digestKey } from '../management/keys.js';
import type { LeakEnder } from './ender.js';
import { endAll, MAX_BODY_BYTES, type ReportedFind, readFinds } from './finds.js';
import { createPublishedKeys } from './published-keys.js';
import { isSignedBy } from './signature.js';
import { CHALLENGE, type GitHub } from './sources.js';

const IDENTIFIER = /^[0-9A-Za-z_-]{1,128}$/;
const SIGNATURE = /^[0-9A-Za-z+/]{64,100}={0,2}$/;

/** What GitHub is told of a find, so that it learns which patterns are worth their while. */
interface KeyLabel {
  /** SHA-256 of the token, which is sent back nowhere. */
  readonly token_hash: string;
  readonly token_type: string;
  readonly label: 'true_positive' | 'false_positive';
}

/** Answers what GitHub sends. */
export function createGitHubDoor(
  github: GitHub,
  ender: LeakEnder,
  report: (error: unknown) => void,
): (request: Request) => Promise<Response> {
  const now = (): number => performance.now();
  const publishedKeys = createPublishedKeys(github.publicKeysUrl, github.fetch, now, report);
  return async (request) => {
    // 1. Is there a signature, of a key that is in use? Nothing of the body is read before.
    const identifier = request.headers.get('github-public-key-identifier') ?? '';
    const signature = request.headers.get('github-public-key-signature') ?? '';
    if (!IDENTIFIER.test(identifier) || !SIGNATURE.test(signature)) throw new Refusal('not_signed');
    const key = await publishedKeys.find(identifier);
    // GitHub sends it again. Not reported: a stranger who makes identifiers up would fill the log.
    if (key === undefined) return answerError(new StoreError('not known yet'), CHALLENGE);
    if (key === null) throw new Refusal('not_signed');
    // 2. Of these very bytes?
    const read = await readBytes(request, MAX_BODY_BYTES);
    const bytes = requireBody(read, 'read_before_leaks');
    if (!(await isSignedBy(key, signature, bytes))) throw new Refusal('not_signed');
    // 3. What was found?
    const finds = readFinds(new TextDecoder().decode(bytes), 'url');
    if (finds === null) throw new Refusal('malformed_report');
    const known = await endAll(ender, github, finds);
    return answerJson(
      200,
      finds.map((find) => labelOf(find, known)),
    );
  };
}

function labelOf({ token, type }: ReportedFind, known: ReadonlySet<string>): KeyLabel {
  const label = known.has(token) ? 'true_positive' : 'false_positive';
  const [, hash = ''] = digestKey(token).split('$');
  return { token_hash: hash, token_type: type, label };
}
