/**
 * GitHub's secret scanning partner programme: GitHub sends a signed list of tokens found in public,
 * and the answer says which of them are keys (https://docs.github.com/code-security, "Secret
 * scanning partner program").
 */
import { StoreError } from '../core/errors.js';
import { answerError, answerJson, type Problem } from '../http/answer.js';
import { Refusal } from '../http/fetch-handler.js';
import { digestKey } from '../notation/keys.js';
import type { LeakEnder } from './ender.js';
import { createPublishedKeys } from './published-keys.js';
import {
  endAll,
  MALFORMED,
  MAX_BODY_BYTES,
  type ReportedFind,
  readFinds,
  readReport,
} from './report.js';
import { isSignedBy } from './signature.js';
import { CHALLENGE, type GitHub } from './sources.js';

const IDENTIFIER = /^[0-9A-Za-z_-]{1,128}$/;
const SIGNATURE = /^[0-9A-Za-z+/]{64,100}={0,2}$/;

const NOT_SIGNED: Problem = {
  status: 403,
  detail: 'The signature is missing, does not match these bytes, or is by a key not listed.',
};

/** The feedback on a find, from which GitHub learns how good its pattern is. */
interface KeyLabel {
  /** The SHA-256 of the token. The token itself is never sent back. */
  readonly token_hash: string;
  readonly token_type: string;
  readonly label: 'true_positive' | 'false_positive';
}

/** Makes the route for GitHub's reports. */
export function createGitHubDoor(
  github: GitHub,
  ender: LeakEnder,
  report: (error: unknown) => void,
): (request: Request) => Promise<Response> {
  const publishedKeys = createPublishedKeys(github.fetch, report);
  return async (request) => {
    // 1. Require a signature by a listed key, before reading the body.
    const identifier = request.headers.get('github-public-key-identifier') ?? '';
    const signature = request.headers.get('github-public-key-signature') ?? '';
    if (!IDENTIFIER.test(identifier) || !SIGNATURE.test(signature)) throw new Refusal(NOT_SIGNED);
    // A failed fetch has been reported.
    const key = await publishedKeys.find(identifier).catch(() => undefined);
    // GitHub retries. Not reported, because strangers could fill the log with made-up identifiers.
    if (key === undefined) return answerError(new StoreError('not known yet'), CHALLENGE);
    if (key === null) throw new Refusal(NOT_SIGNED);
    // 2. Verify the signature over the raw bytes.
    const bytes = await readReport(request, MAX_BODY_BYTES);
    if (!(await isSignedBy(key, signature, bytes))) throw new Refusal(NOT_SIGNED);
    // 3. Read the finds and end their keys.
    const finds = readFinds(bytes, 'url');
    if (finds === null) throw new Refusal(MALFORMED);
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
