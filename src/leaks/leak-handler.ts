/** The handler of fetch requests that report leaked keys. */
import { answerError } from '../http/answer.js';
import { createFetchHandler, requireRoute } from '../http/fetch-handler.js';
import { createEnder } from './ender.js';
import { createGitHubDoor } from './github.js';
import { createTokensDoor, createTypesDoor } from './gitlab.js';
import { createHolderDoor } from './holder.js';
import {
  type LeakConfig,
  type LeakHandlerOptions,
  readLeakHandlerOptions,
} from './leak-handler-options.js';
import { CHALLENGE } from './sources.js';

/** Answers a request. It ignores any further arguments that a server passes. */
export type LeakHandler = (request: Request) => Promise<Response>;

/** The method of a path and its answer. */
interface Door {
  readonly method: 'GET' | 'POST';
  readonly answer: (request: Request) => Promise<Response>;
}

/**
 * Makes the handler that receives reports of leaked keys. Mount it under `basePath`, before any
 * body parser. It serves these routes, each only if you pass the option:
 *
 * - `github`: `POST …/github`, GitHub's secret scanning partner programme. The handler verifies the
 *   signature (ECDSA, P-256, SHA-256) over the raw body, with the key that the request names in the
 *   published list. The answer says for the SHA-256 of each token whether it is a key.
 * - `gitlab`: `GET …/gitlab/v1/revocable_token_types` and `POST …/gitlab/v1/revoke_tokens`,
 *   GitLab's Token Revocation API, for anyone with the secret. The answer is 204.
 * - `holder`: `POST …/revoke`, for anyone who holds a key (RFC 7009). The answer is 200 for every
 *   string.
 *
 * Strings that fail the format or checksum test never reach the store, and neither do reports
 * without a valid signature or secret. The handler looks up at most 4 strings from strangers at
 * once; signed reports and found keys each have 4 separate slots. A repeated report changes
 * nothing, even if you have resumed the key: this process remembers the last 10,000 reports that
 * suspended one. The handler calls `onLeak` for every key found (once if it is dead), and the
 * keyring's events say who ended it and where it was found. Neither contains the key in any
 * spelling, except encodings such as base64.
 *
 * It rejects other paths (404) and methods (405), invalid signatures (403), wrong secrets (401),
 * malformed bodies and unknown types (400), and bodies above 1 MiB (413; 8 KiB from a holder). It
 * answers 503 if it cannot reach the store or the list of public keys, or if it fetched the list
 * less than a minute ago and the list lacks the key of the signature. Keys ended before a 503 stay
 * ended.
 *
 * Not checked: the rate of requests, so put a rate limit in front; the identity of a holder.
 *
 * @throws TypeError on an invalid option. The handler rejects with one if its argument is not a
 *   fetch `Request`.
 * @example
 * const leaks = createLeakHandler({ keyrings: { acme: keyring }, github: {}, onLeak: tellOwner });
 * const response = await leaks(request);
 */
export function createLeakHandler(options: LeakHandlerOptions): LeakHandler {
  const config = readLeakHandlerOptions(options);
  const doors = doorsOf(config);
  return createFetchHandler<unknown, Response>(
    'leaks',
    async (request) => {
      const atPath = doors.get(new URL(request.url).pathname) ?? [];
      const methods = atPath.map(({ method }) => method);
      return requireRoute(atPath, request.method, methods).answer(request);
    },
    (error) => {
      config.report(error);
      return answerError(error, CHALLENGE);
    },
    config.report,
  );
}

function doorsOf(config: LeakConfig): ReadonlyMap<string, readonly Door[]> {
  const { basePath, github, gitlab, holder } = config;
  const ender = createEnder(config);
  const doors = new Map<string, readonly Door[]>();
  function mount(path: string, method: Door['method'], answer: Door['answer']): void {
    doors.set(`${basePath}/${path}`, [{ method, answer }]);
  }
  if (github !== null) mount('github', 'POST', createGitHubDoor(github, ender, config.report));
  if (gitlab !== null) {
    mount('gitlab/v1/revocable_token_types', 'GET', createTypesDoor(gitlab));
    mount('gitlab/v1/revoke_tokens', 'POST', createTokensDoor(gitlab, ender));
  }
  if (holder !== null) mount('revoke', 'POST', createHolderDoor(holder, ender));
  return doors;
}
