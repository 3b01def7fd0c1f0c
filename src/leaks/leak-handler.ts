/** The doors for leaked keys, as one handler of fetch requests. */
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

/** Answers a request. Whatever servers pass beside it is ignored. */
export type LeakHandler = (request: Request) => Promise<Response>;

/** What is done with requests for one path. */
interface Door {
  readonly method: 'GET' | 'POST';
  readonly answer: (request: Request) => Promise<Response>;
}

/**
 * Makes the handler to which leaked keys are reported, to be mounted under `basePath`, before any
 * body parser. Of these, only what an option names is there:
 *
 * - `github`: `POST …/github`, GitHub's secret scanning partner programme. The signature (ECDSA,
 *   P-256, SHA-256) is checked over the raw body by the key that the request names in the published
 *   list. The answer says of each token whether it is a key, by its SHA-256.
 * - `gitlab`: `GET …/gitlab/v1/revocable_token_types` and `POST …/gitlab/v1/revoke_tokens`,
 *   GitLab's Token Revocation API, for whoever has the secret. The answer is 204.
 * - `holder`: `POST …/revoke`, for whoever holds a key (RFC 7009). The answer is 200, whatever the
 *   string was.
 *
 * Strings that fail the format or checksum test never reach the store, nor does a report that is
 * not signed or lacks the secret. At most 4 strings of strangers are looked up at once; signed
 * reports and keys that were found have 4 places of their own. The same report changes nothing the
 * second time, even if the key was resumed: the last 10,000 that suspended one are remembered, in
 * this process alone. `onLeak` hears of every key that was found, and the keyring's own events say
 * who ended it and where it was found; none has the key, in any spelling but base64 and the like.
 *
 * Refused are another path (404) or method (405), no valid signature (403), another secret (401), a
 * malformed body or unknown type (400), more than 1 MiB (413; 8 KiB from a holder). If the store or
 * the list of public keys is out of reach, or the list was fetched less than a minute ago and does
 * not have the key of the signature, the answer is 503: what was ended until then has ended.
 *
 * Not checked: how often somebody asks, so put a rate limit in front; who a holder is.
 *
 * @throws TypeError on an invalid option; later, on what is not a fetch `Request`.
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
