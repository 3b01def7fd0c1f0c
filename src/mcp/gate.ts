/** The HTTP gate of an MCP endpoint, which admits or denies requests. */
import { parseAuthorization } from '../core/authorization.js';
import { AccessError, isAccessError, isStoreError } from '../core/errors.js';
import { type EventContext, quietly } from '../core/events.js';
import { readFields } from '../core/input.js';
import type { Principal } from '../core/principal.js';
import { type RequestLike, readAuthorization } from '../core/request.js';
import { answerError, type Problem } from '../http/answer.js';
import { createFetchHandler, Refusal } from '../http/fetch-handler.js';
import { requireAudience } from './audience.js';
import { createAuthInfo, type McpAuthInfo } from './auth-info.js';
import { type GateConfig, type McpGateOptions, readGateOptions } from './gate-options.js';
import type { Watched } from './key-watch.js';
import { type McpGateInput, readMessage } from './message-body.js';
import { requestIdOf, type ToolCall, toolCallsOf } from './messages.js';
import { sessionOwnerOf } from './session-owner.js';
import { answerUnknownTool, tellUnknownTools } from './unknown-tools.js';

const FOREIGN_SESSION: Problem = {
  status: 404,
  detail: 'There is no such session; start a new one.',
};

/** The argument in which a call of a tool names its entity. */
const ENTITY_ARGUMENT = 'entity_uuid';

/** An admitted caller. Pass it to the SDK's handlers: `handler.fetch(request, entry)`. */
export interface McpEntry {
  readonly principal: Principal;
  readonly authInfo: McpAuthInfo;
  /**
   * The message that the gate checked. Pass it on, so that the SDK serves exactly this message: the
   * gate has read the body of a POST. `undefined` for other methods, whose body the gate does not
   * read, because MCP sends messages by POST.
   */
  readonly parsedBody: unknown;
  /**
   * The owner of the session if this request starts one. Store it with the session id, for the
   * gate's `sessionOwner` option. It begins with the key id and contains the other entities that
   * the key can address, and for a token also its scopes. A session can replay earlier results, so
   * it closes once an entity withdraws, and a token does not share sessions with its key or with
   * tokens that have other rights.
   */
  readonly sessionOwner: string;
  /**
   * Aborted when the key expires, is revoked or suspended, when an entity withdraws from it, or
   * when it can no longer be checked. The reason is the error that would deny a request. Pass
   * streams to `endWithKey`. Reading this property starts to watch the key until it ends or the
   * client disconnects, so it is not enumerable. Do not read it if nothing stays open.
   */
  readonly signal: AbortSignal;
}

/**
 * Admits a request or answers it with a denial. Rejects with errors that are neither denials nor
 * outages, and with a `TypeError` if the argument is not a fetch `Request`.
 *
 * Behind a body parser, pass the parsed body: `gate(request, { parsedBody: req.body })`.
 */
export type McpGate = (request: Request, input?: McpGateInput) => Promise<McpEntry | Response>;

/**
 * Makes the HTTP gate of an MCP endpoint. It authenticates every request with one look-up, then
 * reads the JSON-RPC message and admits each tool call by the policy, before the SDK sees it. A
 * call names its entity in the argument `entity_uuid`; without it, the key's own entity counts. If
 * your tool names it elsewhere, check it there with `guardTool`.
 *
 * Denials are HTTP responses (MCP authorization, "Runtime insufficient scope errors"): 401, 400,
 * 403 and 503. Every challenge has `resource_metadata`, and that of a 401 the scopes that every
 * request needs. Invalid JSON gets 400, a session of another caller or of a stateless server 404,
 * and a body that is too long 413. If the policy denies one call of a batch, the gate refuses the
 * whole batch: earlier calls have events that say granted, but none of them runs. The gate never
 * reads the body of an unauthenticated request. If a parser has read the body and you did not pass
 * it, the answer is 500 and says what to do.
 *
 * A call of a tool that is not in `tools` gets MCP's answer for unknown tools, the JSON-RPC error
 * -32602 (400 in a batch). It never reaches the SDK, even if the SDK has the tool. To help you
 * notice a forgotten tool, its event is a denial of `tools/call` with the code `not_found`, the
 * reason `unknown_tool`, and the name as `tool` in the context.
 *
 * Not checked: resources and prompts, which you guard with `guardTool` in their handlers;
 * completions, whose handlers do not know the caller; `Origin`, which the SDK or your server must
 * check; whether the key ends while the body arrives, which the next request notices; streams that
 * are open when a key ends or an entity withdraws, unless you pass them to `endWithKey`; the owner
 * of requested tasks and replayed events (`Last-Event-ID`). The SDK separates tasks only by
 * session, and not at all without sessions, so give each `sessionOwner` its own task store and
 * event store.
 *
 * @throws TypeError if the policy lacks a tool, or on any other invalid configuration.
 * @example
 * const resource = 'https://api.example.com/mcp';
 * const gate = createMcpGate({ keyring, tools, resource });
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
 * Adds the scopes that every request needs to a 401, so that clients ask for them at once (RFC 6750
 * §3; MCP authorization, "Scope Selection Strategy").
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
  // 1. Authenticate the caller before answering or reading anything else. The lines are read once,
  //    so that the keyring verifies the same lines whose audience was checked.
  const lines = readAuthorization(request) as RequestLike;
  const principal = await authenticateLines(config, lines, context);
  // 2. If the request names a session, require that it is the caller's own.
  const sessionOwner = sessionOwnerOf(principal);
  if (!(await isOwnSession(config, request, sessionOwner))) throw new Refusal(FOREIGN_SESSION);
  // 3. Read the message of a POST, once and up to a limit. The parsed message is passed on, so that
  //    nothing else parses it differently.
  const isMessage = request.method === 'POST';
  const parsedBody = isMessage ? await readMessage(request, config.maxBodyBytes, input) : undefined;
  // 4. Reject tools that the gate does not know. The SDK may have them, but unguarded.
  const calls = toolCallsOf(parsedBody);
  const unknown = calls.filter(({ name }) => !config.tools.has(name));
  if (unknown.length > 0) {
    await tellUnknownTools(config.keyring, principal, unknown, context);
    return answerUnknownTool(requestIdOf(parsedBody));
  }
  // 5. Admit each call like a REST request, with an event and usage.
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

/** Makes the signal on first read, because most requests leave nothing open. */
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
  const { keyring, operation, resource } = config;
  const credential = parseAuthorization(lines);

  async function authenticate(): Promise<Principal> {
    if (credential.kind === 'bearer') requireAudience(credential.token, resource);
    // The keyring denies requests without exactly one bearer credential, and gives the reason.
    return keyring.authenticate(lines);
  }
  if (operation === undefined) return authenticate();
  const { principal } = await keyring.admit(authenticate, { operation, context });
  return principal;
}

/** Whether the request names no session, or one that belongs to the caller. */
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

/** Admits each call in order. Throws the first denial. */
async function admitToolCalls(
  config: GateConfig,
  principal: Principal,
  calls: readonly ToolCall[],
  context: EventContext | undefined,
): Promise<void> {
  const authenticate = (): Principal => principal;
  for (const { name, args } of calls) {
    const entityId = args[ENTITY_ARGUMENT];
    const operation = String(name);
    await config.keyring.admit(authenticate, { operation, entityId, context });
  }
}
