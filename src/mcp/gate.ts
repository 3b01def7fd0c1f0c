/** The HTTP gate of an MCP endpoint: admits a request, or answers it with a denial. */
import { parseAuthorization } from '../core/authorization.js';
import { AccessError, isAccessError, isStoreError } from '../core/errors.js';
import { type EventContext, quietly } from '../core/events.js';
import { readFields } from '../core/input.js';
import type { Principal } from '../core/principal.js';
import { type RequestLike, readAuthorization } from '../core/request.js';
import { answerError } from '../http/answer.js';
import { createFetchHandler, Refusal } from '../http/fetch-handler.js';
import { requireAudience } from './audience.js';
import { createAuthInfo, type McpAuthInfo } from './auth-info.js';
import { type GateConfig, type McpGateOptions, readGateOptions } from './gate-options.js';
import type { Watched } from './key-watch.js';
import { type McpGateInput, readMessage } from './message-body.js';
import { requestIdOf, type ToolCall, toolCallsOf } from './messages.js';
import { sessionOwnerOf } from './session-owner.js';
import { answerUnknownTool, tellUnknownTools } from './unknown-tools.js';

/** An admitted caller. The SDK's handlers accept it as it is: `handler.fetch(request, entry)`. */
export interface McpEntry {
  readonly principal: Principal;
  readonly authInfo: McpAuthInfo;
  /**
   * The message that the gate checked, also if it was handed over. Pass it on, so that the SDK
   * serves exactly this message: the body of a POST has been read. `undefined` for other methods,
   * whose body is not read: messages are sent by POST.
   */
  readonly parsedBody: unknown;
  /**
   * The owner of the session if this request starts one: store it with the session id, for the
   * gate's `sessionOwner` option. It begins with the key id, and contains the other entities that a
   * key can address, for a token its scopes, too: a session can replay its earlier results, so it
   * is closed once an entity has withdrawn, and a token does not share sessions with its key or
   * with tokens that have other rights.
   */
  readonly sessionOwner: string;
  /**
   * Aborted when the key ends, by expiry, revocation or suspension, when an entity withdraws from
   * it, or when it can no longer be checked; the reason is the error that a request would be
   * refused with. Pass streams to `endWithKey`. Reading this property begins to watch the key,
   * until it ends or the client goes, so it is not enumerable: leave it alone where nothing stays
   * open.
   */
  readonly signal: AbortSignal;
}

/**
 * Admits a request, or answers it with a denial. Rejects if an error is neither a denial nor an
 * outage, and with a `TypeError` if the argument is not a fetch `Request`.
 *
 * Behind a body parser, hand over what it has read: `gate(request, { parsedBody: req.body })`.
 */
export type McpGate = (request: Request, input?: McpGateInput) => Promise<McpEntry | Response>;

/**
 * Makes the HTTP gate of an MCP endpoint. It authenticates every request anew, with one look-up,
 * then reads the JSON-RPC message and admits each tool call by the policy, before the SDK sees it.
 * Denials are HTTP responses (MCP authorization, "Runtime insufficient scope errors"): 401, 400,
 * 403, 503, with `resource_metadata` in every challenge, and in that of a 401 the scopes that every
 * request needs. Invalid JSON is 400, the session of another caller or of a stateless server 404,
 * and a body that is too long 413. If one call of a batch is denied, the whole batch is refused:
 * the calls before it have events that say granted, but none of them is executed. The body of an
 * unauthenticated request is never read. If somebody else has read the body and did not hand it
 * over, the answer is 500 and says what to do.
 *
 * A tool that is not among `tools` is answered as MCP answers unknown tools, with the JSON-RPC
 * error -32602 (in a batch with 400), and never reaches the SDK, which may have it. Its event is a
 * denial of `tools/call` with the code `not_found`, the reason `unknown_tool`, and its name as the
 * text `tool` of the context, so that a tool that was forgotten is noticed.
 *
 * Not checked: resources and prompts, which `guardTool` guards within their handlers; completions,
 * whose handlers do not know who is calling; `Origin`, which the SDK or your server has to check;
 * whether the key ends while the body arrives, which the next request notices; streams that are
 * open when a key ends or an entity withdraws, which stay open unless they are passed to
 * `endWithKey`; whose tasks and replayed events (`Last-Event-ID`) a request asks for. The SDK
 * separates tasks only by session, and not at all without sessions, so give each `sessionOwner` its
 * own task store and event store.
 *
 * @throws TypeError if the policy does not have a tool, or on any other invalid configuration.
 * @example
 * const resource = 'https://api.example.com/mcp';
 * const gate = createMcpGate({ keyring, policy, tools, realm: 'acme', resource });
 * const entry = await gate(request);
 * return entry instanceof Response ? entry : handler.fetch(request, entry);
 */
export function createMcpGate<Operation extends string>(
  options: McpGateOptions<Operation>,
): McpGate {
  const config = readGateOptions(options);
  return createFetchHandler(
    'gate',
    async (request, input: McpGateInput = {}) => {
      readFields(input, ['parsedBody'], 'gate');
      return admitRequest(config, request, input);
    },
    (error) => {
      if (!isAccessError(error) && !isStoreError(error)) throw error;
      config.reportOutage(error);
      const named = isAccessError(error) ? nameScopes(config, error) : error;
      return answerError(named, config.challenge);
    },
  );
}

/**
 * Adds the scopes that every request needs to a denial that will be a 401, so that a client asks
 * for them at once (RFC 6750 §3; MCP authorization, "Scope Selection Strategy").
 */
function nameScopes({ scopes }: GateConfig, error: AccessError): AccessError {
  const { code, reason, keyId } = error;
  const is401 = code === 'missing_credentials' || code === 'invalid_token';
  if (!is401 || scopes.length === 0) return error;
  return new AccessError(code, reason, { keyId, requiredScopes: scopes });
}

async function admitRequest(
  config: GateConfig,
  request: Request,
  input: McpGateInput,
): Promise<McpEntry | Response> {
  const context = quietly(() => config.context?.(request));
  // 1. Who is calling? Authentication is complete before anything else is answered or read.
  // Read once, so that the keyring verifies the same lines whose audience was checked.
  const lines = readAuthorization(request) as RequestLike;
  const principal = await authenticateLines(config, lines, context);
  // 2. If the request names a session, is it the caller's own?
  const sessionOwner = sessionOwnerOf(principal);
  if (!(await isOwnSession(config, request, sessionOwner))) throw new Refusal('foreign_session');
  // 3. What does it call? Messages come by POST. The body is read once, up to a limit, and the
  //    parsed message is passed on, so that nobody parses it differently.
  const isMessage = request.method === 'POST';
  const parsedBody = isMessage ? await readMessage(request, config.maxBodyBytes, input) : undefined;
  // 4. Does the gate know every tool? Whatever else the SDK has was forgotten here, and unguarded.
  const calls = toolCallsOf(parsedBody);
  const unknown = calls.filter(({ name }) => !config.tools.has(name));
  if (unknown.length > 0) {
    await tellUnknownTools(config, principal, unknown, context);
    return answerUnknownTool(requestIdOf(parsedBody));
  }
  // 5. Is the caller allowed to? Each call is admitted like a REST request, with event and usage.
  await admitToolCalls(config, principal, calls, context);
  const authInfo = createAuthInfo(principal, config.resource);
  const watched: Watched = {
    principal,
    authenticate: (options) => config.keyring.authenticate(lines, options),
    left: request.signal,
  };
  const fields = { principal, authInfo, parsedBody, sessionOwner };
  return createEntry(fields, () => config.startWatch(watched));
}

/** The signal is made when it is first read, because most requests leave nothing open. */
function createEntry(fields: Omit<McpEntry, 'signal'>, start: () => AbortSignal): McpEntry {
  let signal: AbortSignal | undefined;
  function get(): AbortSignal {
    signal ??= start();
    return signal;
  }
  return Object.freeze(Object.defineProperty(fields, 'signal', { get }) as McpEntry);
}

/** Verifies the credential, with the only look-up of a request. */
async function authenticateLines(
  config: GateConfig,
  lines: RequestLike,
  context: EventContext | undefined,
): Promise<Principal> {
  const { keyring, policy, operation, resource } = config;
  const credential = parseAuthorization(lines);

  async function authenticate(): Promise<Principal> {
    if (credential.kind === 'bearer') requireAudience(credential.token, resource);
    // The keyring also denies requests without one bearer credential, and gives the reason.
    return keyring.authenticate(lines);
  }
  if (operation === undefined) return authenticate();
  const { principal } = await keyring.admit(authenticate, { policy, operation, context });
  return principal;
}

/** Whether the session is the caller's: if none is named, or if the service says so. */
async function isOwnSession(
  config: GateConfig,
  request: Request,
  sessionOwner: string,
): Promise<boolean> {
  const sessionId = request.headers.get('mcp-session-id');
  if (sessionId === null) return true;
  const owner = await config.sessionOwner?.(sessionId);
  return owner === sessionOwner;
}

/** Admits each call, in order; the first denial is thrown. */
async function admitToolCalls(
  config: GateConfig,
  principal: Principal,
  calls: readonly ToolCall[],
  context: EventContext | undefined,
): Promise<void> {
  const { keyring, policy, entityArgument } = config;
  const authenticate = (): Principal => principal;
  for (const { name, args } of calls) {
    const entityUuid = args[entityArgument];
    const operation = String(name);
    await keyring.admit(authenticate, { policy, operation, entityUuid, context });
  }
}
